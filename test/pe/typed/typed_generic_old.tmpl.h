/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the C11 generics of the old compare_swap, inc and add on one TYPE.
 */

static void T(old)(const shmem_ctx_t ctx)
{
    TYPE *cell = typed_dest, (*box)[1] = typed_dest;
    int pe = pe_right();

    (void)ctx;
    *cell = 1;
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_cswap(cell, 1, 10, pe), 1);
    PE_CHECK_EQ(shmem_finc(*box, pe), 10);
    PE_CHECK_EQ(shmem_fadd(*box, 5, pe), 11);
    shmem_inc(cell, pe);
    shmem_add(*box, 3, pe);
    shmem_barrier_all();
    T(same)(cell, &(TYPE){20}, 1, "generic old add", 1);
    shmem_barrier_all();
}
