/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks compare_swap, inc and add of one TYPE: one PE alone on the cell of the right PE, with
 * values of full width that wrap, then all PEs at once on a cell of PE 0.
 */

/* a + b as the standard's integers have it: wrapped in TYPE. */
static TYPE T(plus)(TYPE a, TYPE b)
{
    return (TYPE)((uint64_t)a + (uint64_t)b);
}

/* One more than all ones in the lower half must reach the upper half, whoever adds it. */
static void T(amo_carry)(shmem_ctx_t ctx, TYPE *cell, int pe)
{
    TYPE edge = (TYPE)(((uint64_t)1 << sizeof(TYPE) * 4) - 1), carried = (TYPE)(edge + 1), got;

    for (int form = 0; form < 8; form++) {
        FN(atomic_set)(cell, edge, pe);
        shmem_quiet();
        switch (form) {
        case 0: FN(atomic_inc)(cell, pe); break;
        case 1: CTX_FN(atomic_inc)(ctx, cell, pe); break;
        case 2: FN(atomic_fetch_inc)(cell, pe); break;
        case 3: CTX_FN(atomic_fetch_inc)(ctx, cell, pe); break;
        case 4: FN(atomic_fetch_inc_nbi)(&got, cell, pe); break;
        case 5: CTX_FN(atomic_fetch_inc_nbi)(ctx, &got, cell, pe); break;
        case 6: FN(atomic_add)(cell, 1, pe); break;
        default: CTX_FN(atomic_add)(ctx, cell, 1, pe);
        }
        shmem_quiet();
        shmem_ctx_quiet(ctx);
        T(same)(&(TYPE){FN(atomic_fetch)(cell, pe)}, &carried, 1, "carry", form);
    }
    FN(atomic_set)(cell, 0, pe);
    shmem_quiet();
}

/* Form 0..3 of fetch_add: plain, with a context, and the same nonblocking. */
static TYPE T(fetch_add_by)(int form, shmem_ctx_t ctx, TYPE *cell, TYPE value, int pe)
{
    TYPE got;

    switch (form) {
    case 0: return FN(atomic_fetch_add)(cell, value, pe);
    case 1: return CTX_FN(atomic_fetch_add)(ctx, cell, value, pe);
    case 2: FN(atomic_fetch_add_nbi)(&got, cell, value, pe); break;
    default: CTX_FN(atomic_fetch_add_nbi)(ctx, &got, cell, value, pe);
    }
    shmem_quiet();
    shmem_ctx_quiet(ctx);
    return got;
}

static TYPE T(compare_swap_by)(int form, shmem_ctx_t ctx, TYPE *cell, TYPE cond, TYPE value, int pe)
{
    TYPE got;

    switch (form) {
    case 0: return FN(atomic_compare_swap)(cell, cond, value, pe);
    case 1: return CTX_FN(atomic_compare_swap)(ctx, cell, cond, value, pe);
    case 2: FN(atomic_compare_swap_nbi)(&got, cell, cond, value, pe); break;
    default: CTX_FN(atomic_compare_swap_nbi)(ctx, &got, cell, cond, value, pe);
    }
    shmem_quiet();
    shmem_ctx_quiet(ctx);
    return got;
}

/*
 * Corner plus corner wraps in TYPE; compare_swap looks at all bits of cond, the highest too, and
 * stores all bits of value.
 */
static void T(amo_corners)(shmem_ctx_t ctx, TYPE *cell, int pe)
{
    const TYPE high = T(corner)(3);

    for (int k = 0; k < T(n_corners) * T(n_corners); k++) {
        TYPE a = T(corner)(k / T(n_corners)), b = T(corner)(k), sum = T(plus)(a, b);
        int form = k % 4;

        FN(atomic_set)(cell, a, pe);
        shmem_quiet();
        T(same)(&(TYPE){T(fetch_add_by)(form, ctx, cell, b, pe)}, &a, 1, "corner before add", k);
        T(same)(&(TYPE){T(compare_swap_by)(form, ctx, cell, sum ^ high, b, pe)}, &sum, 1,
                "corner of another high bit", k);
        T(same)(&(TYPE){T(compare_swap_by)(form, ctx, cell, sum ^ 1, b, pe)}, &sum, 1,
                "corner of another low bit", k);
        T(same)(&(TYPE){T(compare_swap_by)(form, ctx, cell, sum, b, pe)}, &sum, 1, "corner", k);
        T(same)(&(TYPE){FN(atomic_fetch)(cell, pe)}, &b, 1, "swapped corner", k);
        FN(atomic_set)(cell, a, pe);
        shmem_quiet();
        if (form % 2) CTX_FN(atomic_add)(ctx, cell, b, pe);
        else FN(atomic_add)(cell, b, pe);
        shmem_quiet();
        shmem_ctx_quiet(ctx);
        T(same)(&(TYPE){FN(atomic_fetch)(cell, pe)}, &sum, 1, "sum of corners", k);
    }
    FN(atomic_set)(cell, 0, pe);
    shmem_quiet();
}

static void T(amo_alone)(shmem_ctx_t ctx, TYPE *cell, int pe)
{
    TYPE v[4], now = T(plus)(0, 0), got[6];

    T(fill)(v, 4, typed_seed(pe_me, 0));
    T(same)(&(TYPE){FN(atomic_compare_swap)(cell, 1, v[0], pe)}, &now, 1, "refused swap", 0);
    T(same)(&(TYPE){FN(atomic_compare_swap)(cell, now, v[0], pe)}, &now, 1, "compare_swap", 0);
    T(same)(&(TYPE){CTX_FN(atomic_compare_swap)(ctx, cell, v[0], v[1], pe)}, &v[0], 1,
            "ctx compare_swap", 0);
    now = v[1];
    T(same)(&(TYPE){FN(atomic_fetch_inc)(cell, pe)}, &now, 1, "fetch_inc", 0);
    now = T(plus)(now, 1);
    T(same)(&(TYPE){CTX_FN(atomic_fetch_inc)(ctx, cell, pe)}, &now, 1, "ctx fetch_inc", 0);
    now = T(plus)(now, 1);
    T(same)(&(TYPE){FN(atomic_fetch_add)(cell, v[2], pe)}, &now, 1, "fetch_add", 0);
    now = T(plus)(now, v[2]);
    T(same)(&(TYPE){CTX_FN(atomic_fetch_add)(ctx, cell, v[3], pe)}, &now, 1, "ctx fetch_add", 0);
    now = T(plus)(now, v[3]);

    FN(atomic_compare_swap_nbi)(&got[0], cell, now, v[0], pe);
    shmem_quiet();
    CTX_FN(atomic_compare_swap_nbi)(ctx, &got[1], cell, now, v[1], pe);
    shmem_ctx_quiet(ctx);
    T(same)(got, (TYPE[]){now, v[0]}, 2, "compare_swap_nbi", 0);
    FN(atomic_fetch_inc_nbi)(&got[2], cell, pe);
    shmem_quiet();
    CTX_FN(atomic_fetch_inc_nbi)(ctx, &got[3], cell, pe);
    shmem_ctx_quiet(ctx);
    FN(atomic_fetch_add_nbi)(&got[4], cell, v[3], pe);
    shmem_quiet();
    CTX_FN(atomic_fetch_add_nbi)(ctx, &got[5], cell, v[2], pe);
    shmem_ctx_quiet(ctx);
    now = T(plus)(v[0], 2);
    T(same)(&got[2], (TYPE[]){v[0], T(plus)(v[0], 1), now, T(plus)(now, v[3])}, 4, "nbi", 0);
}

/* Every PE changes the cell of PE 0 by the same sum; pe_n times that must be there at the end. */
static TYPE T(amo_together)(shmem_ctx_t ctx, TYPE *cell)
{
    TYPE big = (TYPE)0x4000000000000001, big32 = (TYPE)0x40000001, got;
    TYPE step = sizeof(TYPE) == 8 ? big : big32;

    FN(atomic_inc)(cell, 0);
    CTX_FN(atomic_inc)(ctx, cell, 0);
    FN(atomic_add)(cell, step, 0);
    CTX_FN(atomic_add)(ctx, cell, step, 0);
    FN(atomic_fetch_add)(cell, 3, 0);
    FN(atomic_fetch_inc_nbi)(&got, cell, 0);
    shmem_quiet();
    shmem_ctx_quiet(ctx);
    return T(plus)(T(plus)(step, step), 6);
}

static void T(amo)(shmem_ctx_t ctx)
{
    TYPE *cell = (TYPE *)typed_dest + 1, v[4], each, sum = 0;

    cell[-1] = cell[1] = (TYPE)1;
    cell[0] = 0;
    shmem_barrier_all();
    T(amo_carry)(ctx, cell, pe_right());
    T(amo_corners)(ctx, cell, pe_right());
    T(amo_alone)(ctx, cell, pe_right());
    shmem_barrier_all();
    T(fill)(v, 4, typed_seed(pe_left(), 0));
    T(same)(cell, &(TYPE){T(plus)(T(plus)(T(plus)(v[0], 2), v[3]), v[2])}, 1, "add at the end", 1);
    T(guards)(cell, "add");

    cell[0] = 0;
    shmem_barrier_all();
    each = T(amo_together)(ctx, cell);
    shmem_barrier_all();
    for (int pe = 0; pe < pe_n; pe++) sum = T(plus)(sum, each);
    if (pe_me == 0) T(same)(cell, &sum, 1, "sum of all", 1);
    T(guards)(cell, "sum of all");
    shmem_barrier_all();
}
