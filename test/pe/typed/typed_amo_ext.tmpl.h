/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks fetch, set and swap of one TYPE on the cell of the right PE, which only this PE changes.
 */

/* The cell's neighbours must stay as they were. */
static void T(guards)(const TYPE *cell, const char *what)
{
    PE_CHECK(cell[-1] == (TYPE)1 && cell[1] == (TYPE)1,
             "%s: %s changed an element beside its target",
             TYPED_TEXT(NAME), what);
}

/* Every corner of the type goes through every routine; each form hands over to the next. */
static void T(ext_corners)(shmem_ctx_t ctx, TYPE *cell, int pe)
{
    for (int k = 0; k < T(n_corners); k++) {
        TYPE v[6], got[8];

        for (int i = 0; i < 6; i++) v[i] = T(corner)(k + i);
        FN(atomic_set)(cell, v[0], pe);
        shmem_quiet();
        got[0] = FN(atomic_fetch)(cell, pe);
        CTX_FN(atomic_set)(ctx, cell, v[1], pe);
        shmem_ctx_quiet(ctx);
        got[1] = CTX_FN(atomic_fetch)(ctx, cell, pe);
        got[2] = FN(atomic_swap)(cell, v[2], pe);
        got[3] = CTX_FN(atomic_swap)(ctx, cell, v[3], pe);
        FN(atomic_fetch_nbi)(&got[4], cell, pe);
        shmem_quiet();
        CTX_FN(atomic_fetch_nbi)(ctx, &got[5], cell, pe);
        shmem_ctx_quiet(ctx);
        FN(atomic_swap_nbi)(&got[6], cell, v[4], pe);
        shmem_quiet();
        CTX_FN(atomic_swap_nbi)(ctx, &got[7], cell, v[5], pe);
        shmem_ctx_quiet(ctx);
        T(same)(got, (TYPE[]){v[0], v[1], v[1], v[2], v[3], v[3], v[3], v[4]}, 8, "corner", k);
    }
}

static void T(amo_ext)(shmem_ctx_t ctx)
{
    TYPE *cell = (TYPE *)typed_dest + 1, got[4], v[8];
    int pe = pe_right();

    T(fill)(v, 8, typed_seed(pe_me, 0));
    cell[-1] = cell[1] = (TYPE)1;
    cell[0] = (TYPE)3;
    shmem_barrier_all();

    T(same)(&(TYPE){FN(atomic_fetch)(cell, pe)}, &(TYPE){3}, 1, "atomic_fetch", 0);
    T(ext_corners)(ctx, cell, pe);
    FN(atomic_set)(cell, v[0], pe);
    shmem_quiet();
    T(same)(&(TYPE){CTX_FN(atomic_fetch)(ctx, cell, pe)}, &v[0], 1, "ctx atomic_fetch", 0);
    CTX_FN(atomic_set)(ctx, cell, v[1], pe);
    shmem_ctx_quiet(ctx);
    T(same)(&(TYPE){FN(atomic_swap)(cell, v[2], pe)}, &v[1], 1, "atomic_swap", 0);
    T(same)(&(TYPE){CTX_FN(atomic_swap)(ctx, cell, v[3], pe)}, &v[2], 1, "ctx atomic_swap", 0);

    FN(atomic_fetch_nbi)(&got[0], cell, pe);
    shmem_quiet();
    FN(atomic_swap_nbi)(&got[1], cell, v[4], pe);
    shmem_quiet();
    CTX_FN(atomic_fetch_nbi)(ctx, &got[2], cell, pe);
    shmem_ctx_quiet(ctx);
    CTX_FN(atomic_swap_nbi)(ctx, &got[3], cell, v[5], pe);
    shmem_ctx_quiet(ctx);
    T(same)(got, (TYPE[]){v[3], v[3], v[4], v[4]}, 4, "nonblocking", 0);

    shmem_barrier_all();
    T(fill)(v, 8, typed_seed(pe_left(), 0));
    T(same)(cell, &v[5], 1, "fetch, set, swap", 1);
    T(guards)(cell, "fetch, set, swap");
    shmem_barrier_all();
}
