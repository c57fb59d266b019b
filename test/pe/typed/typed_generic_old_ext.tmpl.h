/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the C11 generics of the old fetch, set and swap on one TYPE.
 */

static void T(old_ext)(const shmem_ctx_t ctx)
{
    TYPE *cell = typed_dest, (*box)[1] = typed_dest, v[2];
    int pe = pe_right();

    (void)ctx;
    T(fill)(v, 2, typed_seed(pe_me, 0));
    shmem_barrier_all();
    shmem_set(cell, v[0], pe);
    shmem_quiet();
    T(same)(&(TYPE){shmem_swap(*box, v[1], pe)}, &v[0], 1, "generic old swap", 0);
    T(same)(&(TYPE){shmem_fetch((const TYPE *)cell, pe)}, &v[1], 1, "generic old fetch", 0);
    T(same)(&(TYPE){shmem_fetch(*(const TYPE (*)[1])box, pe)}, &v[1], 1, "of an array", 0);
    shmem_barrier_all();
}
