/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks fetch, set and swap of one TYPE under their old names, on the cell of the right PE.
 */

static void T(amo_old_ext)(shmem_ctx_t ctx)
{
    TYPE *cell = (TYPE *)typed_dest + 1, v[2];
    int pe = pe_right();

    (void)ctx;
    T(fill)(v, 2, typed_seed(pe_me, 0));
    cell[-1] = cell[1] = (TYPE)1;
    cell[0] = 5;
    shmem_barrier_all();
    T(same)(&(TYPE){FN(fetch)(cell, pe)}, &(TYPE){5}, 1, "fetch", 0);
    FN(set)(cell, v[0], pe);
    shmem_quiet();
    T(same)(&(TYPE){FN(swap)(cell, v[1], pe)}, &v[0], 1, "swap", 0);
    shmem_barrier_all();
    T(fill)(v, 2, typed_seed(pe_left(), 0));
    T(same)(cell, &v[1], 1, "old names", 1);
    T(guards)(cell, "old names");
    shmem_barrier_all();
}
