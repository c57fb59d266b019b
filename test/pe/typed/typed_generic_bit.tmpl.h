/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the C11 generics of atomic and, or and xor on one TYPE.
 */

static void T(bit)(const shmem_ctx_t ctx)
{
    TYPE *cell = typed_dest, (*box)[1] = typed_dest, got[6];
    int pe = pe_right();

    *cell = 0x0f;
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_atomic_fetch_or(cell, 0xf0, pe), 0x0f);
    PE_CHECK_EQ(shmem_atomic_fetch_or(ctx, *box, 0x100, pe), 0xff);
    PE_CHECK_EQ(shmem_atomic_fetch_and(cell, 0x1fe, pe), 0x1ff);
    PE_CHECK_EQ(shmem_atomic_fetch_and(ctx, *box, 0x1fc, pe), 0x1fe);
    PE_CHECK_EQ(shmem_atomic_fetch_xor(cell, 0x3, pe), 0x1fc);
    PE_CHECK_EQ(shmem_atomic_fetch_xor(ctx, *box, 0x200, pe), 0x1ff);
    shmem_atomic_and(cell, 0x2ff, pe);
    shmem_quiet();
    shmem_atomic_and(ctx, *box, 0x2f0, pe);
    shmem_ctx_quiet(ctx);
    shmem_atomic_or(cell, 1, pe);
    shmem_quiet();
    shmem_atomic_or(ctx, *box, 2, pe);
    shmem_ctx_quiet(ctx);
    shmem_atomic_xor(cell, 4, pe);
    shmem_quiet();
    shmem_atomic_xor(ctx, *box, 0x2f0, pe);
    shmem_ctx_quiet(ctx);
    shmem_atomic_fetch_or_nbi(&got[0], cell, 8, pe);
    shmem_quiet();
    shmem_atomic_fetch_or_nbi(ctx, got + 1, cell, 0x10, pe);
    shmem_ctx_quiet(ctx);
    shmem_atomic_fetch_and_nbi(&got[2], cell, 0x1e, pe);
    shmem_quiet();
    shmem_atomic_fetch_and_nbi(ctx, got + 3, cell, 0x1c, pe);
    shmem_ctx_quiet(ctx);
    shmem_atomic_fetch_xor_nbi(&got[4], cell, 0x18, pe);
    shmem_quiet();
    shmem_atomic_fetch_xor_nbi(ctx, got + 5, cell, 0x30, pe);
    shmem_ctx_quiet(ctx);
    T(same)(got, (TYPE[]){0x07, 0x0f, 0x1f, 0x1e, 0x1c, 0x04}, 6, "generic bits nbi", 0);
    shmem_barrier_all();
    T(same)(cell, &(TYPE){0x34}, 1, "generic bits", 1);
    shmem_barrier_all();
}
