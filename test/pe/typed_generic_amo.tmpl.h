/* SPDX-License-Identifier: BSD-3-Clause */
/* The C11 generics of compare_swap, inc, add and of waits on arrays, on one TYPE. */

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

/* On an array at rest: the values 0, 1, 2. */
static void T(wait_many)(const shmem_ctx_t ctx)
{
    TYPE (*box)[3] = typed_dest, *ivars = *box;
    const TYPE same[3] = {0, 1, 2};
    size_t indices[3];

    (void)ctx;
    memcpy(ivars, same, sizeof(same));
    shmem_wait_until_all(ivars, 3, NULL, SHMEM_CMP_LT, 3);
    shmem_wait_until_all_vector(*box, 3, NULL, SHMEM_CMP_EQ, same);
    PE_CHECK_EQ(shmem_wait_until_any(*box, 3, NULL, SHMEM_CMP_EQ, 2), 2);
    PE_CHECK(shmem_wait_until_any_vector(ivars, 3, NULL, SHMEM_CMP_EQ, same) < 3, "any_vector");
    PE_CHECK_EQ(shmem_wait_until_some(ivars, 3, indices, NULL, SHMEM_CMP_GE, 1), 2);
    PE_CHECK_EQ(shmem_wait_until_some_vector(*box, 3, indices, NULL, SHMEM_CMP_EQ, same), 3);
    PE_CHECK_EQ(shmem_test_all(*box, 3, NULL, SHMEM_CMP_LT, 2), 0);
    PE_CHECK_EQ(shmem_test_all_vector(ivars, 3, NULL, SHMEM_CMP_EQ, same), 1);
    PE_CHECK_EQ(shmem_test_any(ivars, 3, NULL, SHMEM_CMP_EQ, 1), 1);
    PE_CHECK(shmem_test_any_vector(*box, 3, NULL, SHMEM_CMP_NE, same) == SIZE_MAX, "any_vector");
    PE_CHECK_EQ(shmem_test_some(*box, 3, indices, NULL, SHMEM_CMP_GT, 0), 2);
    PE_CHECK_EQ(shmem_test_some_vector(ivars, 3, indices, NULL, SHMEM_CMP_GE, same), 3);
}
