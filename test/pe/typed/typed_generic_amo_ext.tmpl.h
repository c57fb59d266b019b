/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the C11 generics of fetch, set and swap on one TYPE.
 */

static void T(amo_ext)(const shmem_ctx_t ctx)
{
    TYPE *cell = typed_dest, (*box)[1] = typed_dest, got[4], v[6];
    const TYPE *const look = cell;
    int pe = pe_right();

    _Static_assert(_Generic(shmem_atomic_fetch(look, 0), TYPE: 1, default: 0), "fetch");
    _Static_assert(_Generic(shmem_atomic_swap(ctx, *box, 0, 0), TYPE: 1, default: 0), "swap");
    T(fill)(v, 6, typed_seed(pe_me, 0));
    shmem_barrier_all();
    shmem_atomic_set(cell, v[0], pe);
    shmem_quiet();
    T(same)(&(TYPE){shmem_atomic_fetch(look, pe)}, &v[0], 1, "generic fetch", 0);
    shmem_atomic_set(ctx, *box, v[1], pe);
    shmem_ctx_quiet(ctx);
    T(same)(&(TYPE){shmem_atomic_fetch(ctx, *(const TYPE (*)[1])box, pe)}, &v[1], 1,
            "generic ctx fetch", 0);
    T(same)(&(TYPE){shmem_atomic_swap(cell, v[2], pe)}, &v[1], 1, "generic swap", 0);
    T(same)(&(TYPE){shmem_atomic_swap(ctx, *box, v[3], pe)}, &v[2], 1, "generic ctx swap", 0);
    shmem_atomic_fetch_nbi(&got[0], look, pe);
    shmem_quiet();
    shmem_atomic_fetch_nbi(ctx, got + 1, cell, pe);
    shmem_ctx_quiet(ctx);
    shmem_atomic_swap_nbi(&got[2], cell, v[4], pe);
    shmem_quiet();
    shmem_atomic_swap_nbi(ctx, got + 3, cell, v[5], pe);
    shmem_ctx_quiet(ctx);
    T(same)(got, (TYPE[]){v[3], v[3], v[3], v[4]}, 4, "generic nbi", 0);
    shmem_barrier_all();
}
