/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks compare_swap, inc and add of one TYPE under their old names (cswap, finc, fadd), on the
 * cell of the right PE.
 */

static void T(amo_old)(shmem_ctx_t ctx)
{
    TYPE *cell = (TYPE *)typed_dest + 1, v[4];
    TYPE edge = (TYPE)(((uint64_t)1 << sizeof(TYPE) * 4) - 1); /* 1 more reaches the upper half */
    int pe = pe_right();

    (void)ctx;
    T(fill)(v, 4, typed_seed(pe_me, 0));
    cell[-1] = cell[1] = (TYPE)1;
    cell[0] = 5;
    shmem_barrier_all();
    FN(cswap)(cell, 5, edge, pe);
    FN(finc)(cell, pe);
    T(same)(&(TYPE){FN(cswap)(cell, (TYPE)(edge + 1), edge, pe)}, &(TYPE){(TYPE)(edge + 1)}, 1,
            "carry of finc", 0);
    FN(inc)(cell, pe);
    shmem_quiet();
    T(same)(&(TYPE){FN(cswap)(cell, (TYPE)(edge + 1), 5, pe)}, &(TYPE){(TYPE)(edge + 1)}, 1,
            "carry of inc", 0);
    T(same)(&(TYPE){FN(cswap)(cell, 5, v[0], pe)}, &(TYPE){5}, 1, "cswap", 0);
    T(same)(&(TYPE){FN(finc)(cell, pe)}, &v[0], 1, "finc", 0);
    FN(inc)(cell, pe);
    shmem_quiet();
    T(same)(&(TYPE){FN(fadd)(cell, v[1], pe)}, &(TYPE){T(plus)(v[0], 2)}, 1, "fadd", 0);
    FN(add)(cell, v[2], pe);
    shmem_barrier_all();
    T(fill)(v, 4, typed_seed(pe_left(), 0));
    T(same)(cell, &(TYPE){T(plus)(T(plus)(T(plus)(v[0], 2), v[1]), v[2])}, 1, "old names", 1);
    T(guards)(cell, "old names");
    shmem_barrier_all();
}
