/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the C11 generics of waits and tests on arrays of one TYPE. The generics on short and
 * unsigned short are extensions of Steppe.
 */

/* On an array at rest: the values 0, 1, 2; then one that a wrong sign or width shows. */
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
    PE_CHECK(shmem_wait_until_any_vector(ivars, 3, NULL, SHMEM_CMP_EQ, same) < 3,
             "generic wait_until_any_vector returned an index outside the array");
    PE_CHECK_EQ(shmem_wait_until_some(ivars, 3, indices, NULL, SHMEM_CMP_GE, 1), 2);
    PE_CHECK_EQ(shmem_wait_until_some_vector(*box, 3, indices, NULL, SHMEM_CMP_EQ, same), 3);
    PE_CHECK_EQ(shmem_test_all(*box, 3, NULL, SHMEM_CMP_LT, 2), 0);
    PE_CHECK_EQ(shmem_test_all_vector(ivars, 3, NULL, SHMEM_CMP_EQ, same), 1);
    PE_CHECK_EQ(shmem_test_any(ivars, 3, NULL, SHMEM_CMP_EQ, 1), 1);
    PE_CHECK(shmem_test_any_vector(*box, 3, NULL, SHMEM_CMP_NE, same) == SIZE_MAX,
             "generic test_any_vector did not return SIZE_MAX when no element satisfies");
    PE_CHECK_EQ(shmem_test_some(*box, 3, indices, NULL, SHMEM_CMP_GT, 0), 2);
    PE_CHECK_EQ(shmem_test_some_vector(ivars, 3, indices, NULL, SHMEM_CMP_GE, same), 3);
    ivars[0] = (TYPE)-2;
    PE_CHECK_EQ(shmem_test_all(ivars, 1, NULL, SHMEM_CMP_GT, 1), (TYPE)-2 > (TYPE)1);
    PE_CHECK_EQ(shmem_wait_until_some(*box, 1, indices, NULL, SHMEM_CMP_EQ, (TYPE)-2), 1);
}
