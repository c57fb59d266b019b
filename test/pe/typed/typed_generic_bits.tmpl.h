/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the C11 generics of the bitwise reductions on one TYPE.
 */

static void T(bits)(const shmem_ctx_t ctx)
{
    TYPE *dest = typed_dest, (*box)[3] = typed_dest, *source = typed_source;

    (void)ctx;
    *source = pe_me == 0 ? 0x35 : 0x31;
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_and_reduce(SHMEM_TEAM_WORLD, *box, source, 1), 0);
    PE_CHECK_EQ(shmem_or_reduce(SHMEM_TEAM_WORLD, dest + 1, (const TYPE *)source, 1), 0);
    PE_CHECK_EQ(shmem_xor_reduce(SHMEM_TEAM_WORLD, dest + 2, source, 1), 0);
    T(same)(dest, (TYPE[]){pe_n == 1 ? 0x35 : 0x31, 0x35, pe_n % 2 ? 0x35 : 0x04}, 3,
            "generic and, or, xor", 0);
    shmem_barrier_all();
}
