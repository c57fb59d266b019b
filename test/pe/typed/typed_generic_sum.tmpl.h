/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the C11 generics of sum and prod reductions and of sum scans on one TYPE.
 */

static void T(sum)(const shmem_ctx_t ctx)
{
    TYPE *dest = typed_dest, (*box)[2] = typed_dest, *source = typed_source;
    TYPE sum = (TYPE)(2 * pe_n), prod = 1;

    (void)ctx;
    *source = 2;
    for (int i = 0; i < pe_n; i++) prod = (TYPE)(prod * 2);
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_sum_reduce(SHMEM_TEAM_WORLD, *box, (const TYPE *)source, 1), 0);
    PE_CHECK_EQ(shmem_prod_reduce(SHMEM_TEAM_WORLD, dest + 1, source, 1), 0);
    T(same)(dest, (TYPE[]){sum, prod}, 2, "generic sum, prod", 0);
    PE_CHECK_EQ(shmem_sum_inscan(SHMEM_TEAM_WORLD, *box, (const TYPE *)source, 1), 0);
    PE_CHECK_EQ(shmem_sum_exscan(SHMEM_TEAM_WORLD, dest + 1, source, 1), 0);
    T(same)(dest, (TYPE[]){(TYPE)(2 * pe_me + 2), (TYPE)(2 * pe_me)}, 2, "generic scans", 0);
    shmem_barrier_all();
}
