/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the C11 generics of wait_until and test on one TYPE, with values that convert to the
 * type.
 */

static void T(wait)(const shmem_ctx_t ctx)
{
    TYPE *ivar = typed_dest, (*box)[1] = typed_dest;

    (void)ctx;
    *ivar = (TYPE)-2;
    shmem_wait_until(ivar, SHMEM_CMP_EQ, -2);
    shmem_wait_until(*box, (TYPE)-1 < (TYPE)1 ? SHMEM_CMP_LT : SHMEM_CMP_GT, 0);
    PE_CHECK_EQ(shmem_test(*box, SHMEM_CMP_NE, -2), 0);
    PE_CHECK_EQ(shmem_test(ivar, SHMEM_CMP_GT, 1), (TYPE)-2 > (TYPE)1);
}
