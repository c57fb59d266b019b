/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the C11 generics of compare_swap, inc and add on one TYPE.
 */

static void T(amo)(const shmem_ctx_t ctx)
{
    TYPE *cell = typed_dest, (*box)[1] = typed_dest, got[6];
    int pe = pe_right();

    *cell = 1;
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_atomic_compare_swap(cell, 1, 10, pe), 1);
    PE_CHECK_EQ(shmem_atomic_compare_swap(ctx, *box, 10, 20, pe), 10);
    PE_CHECK_EQ(shmem_atomic_fetch_inc(cell, pe), 20);
    PE_CHECK_EQ(shmem_atomic_fetch_inc(ctx, *box, pe), 21);
    PE_CHECK_EQ(shmem_atomic_fetch_add(cell, 5, pe), 22);
    PE_CHECK_EQ(shmem_atomic_fetch_add(ctx, *box, 5, pe), 27);
    shmem_atomic_inc(cell, pe);
    shmem_atomic_add(cell, 2, pe);
    shmem_quiet();
    shmem_atomic_inc(ctx, *box, pe);
    shmem_atomic_add(ctx, *box, 2, pe);
    shmem_ctx_quiet(ctx);
    shmem_atomic_compare_swap_nbi(&got[0], cell, 38, 50, pe);
    shmem_quiet();
    shmem_atomic_compare_swap_nbi(ctx, got + 1, cell, 50, 60, pe);
    shmem_ctx_quiet(ctx);
    shmem_atomic_fetch_inc_nbi(&got[2], cell, pe);
    shmem_quiet();
    shmem_atomic_fetch_inc_nbi(ctx, got + 3, cell, pe);
    shmem_ctx_quiet(ctx);
    shmem_atomic_fetch_add_nbi(&got[4], cell, 8, pe);
    shmem_quiet();
    shmem_atomic_fetch_add_nbi(ctx, got + 5, cell, 30, pe);
    shmem_ctx_quiet(ctx);
    T(same)(got, (TYPE[]){38, 50, 60, 61, 62, 70}, 6, "generic nbi", 0);
    shmem_barrier_all();
    T(same)(cell, &(TYPE){100}, 1, "generic add", 1);
    shmem_barrier_all();
}
