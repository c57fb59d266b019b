/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * As rules_null_rma.tmpl.h, for routines that only some types have. NULL_ONLY selects sums and
 * scans, bitwise reductions, or waits and tests on arrays.
 */

#if NULL_ONLY == NULL_SUM
static void T(null_sum)(shmem_team_t team, TYPE *d, TYPE *s)
{
    PE_CHECK_EQ(FN(sum_reduce)(team, d, s, 0), 0);
    PE_CHECK_EQ(FN(prod_reduce)(team, d, s, 0), 0);
    PE_CHECK_EQ(FN(sum_inscan)(team, d, s, 0), 0);
    PE_CHECK_EQ(FN(sum_exscan)(team, d, s, 0), 0);
}
#elif NULL_ONLY == NULL_BIT
static void T(null_bit)(shmem_team_t team, TYPE *d, TYPE *s)
{
    PE_CHECK_EQ(FN(and_reduce)(team, d, s, 0), 0);
    PE_CHECK_EQ(FN(or_reduce)(team, d, s, 0), 0);
    PE_CHECK_EQ(FN(xor_reduce)(team, d, s, 0), 0);
}
#else
static void T(null_wait)(TYPE *ivars, TYPE *values, size_t *indices, const int *status)
{
    FN(wait_until_all)(ivars, 0, status, SHMEM_CMP_EQ, 1);
    FN(wait_until_all_vector)(ivars, 0, status, SHMEM_CMP_EQ, values);
    PE_CHECK(FN(wait_until_any)(ivars, 0, status, SHMEM_CMP_EQ, 1) == SIZE_MAX,
             "wait_until_any of no elements did not return SIZE_MAX");
    PE_CHECK(FN(wait_until_any_vector)(ivars, 0, status, SHMEM_CMP_EQ, values) == SIZE_MAX,
             "wait_until_any_vector of no elements did not return SIZE_MAX");
    PE_CHECK_EQ(FN(wait_until_some)(ivars, 0, indices, status, SHMEM_CMP_EQ, 1), 0);
    PE_CHECK_EQ(FN(wait_until_some_vector)(ivars, 0, indices, status, SHMEM_CMP_EQ, values), 0);
    PE_CHECK_EQ(FN(test_all)(ivars, 0, status, SHMEM_CMP_EQ, 1), 1);
    PE_CHECK_EQ(FN(test_all_vector)(ivars, 0, status, SHMEM_CMP_EQ, values), 1);
    PE_CHECK(FN(test_any)(ivars, 0, status, SHMEM_CMP_EQ, 1) == SIZE_MAX,
             "test_any of no elements did not return SIZE_MAX");
    PE_CHECK(FN(test_any_vector)(ivars, 0, status, SHMEM_CMP_EQ, values) == SIZE_MAX,
             "test_any_vector of no elements did not return SIZE_MAX");
    PE_CHECK_EQ(FN(test_some)(ivars, 0, indices, status, SHMEM_CMP_EQ, 1), 0);
    PE_CHECK_EQ(FN(test_some_vector)(ivars, 0, indices, status, SHMEM_CMP_EQ, values), 0);
}
#endif
