/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the atomics on one integer TYPE for the operation OP. AMO is the enumerator of the
 * operation. Spec 9.7.
 */

TYPE STP_OP_FN(atomic_fetch_, )(TYPE *dest, TYPE value, int pe)
{
    return STP_LOCAL(amo_fetch)(&stp_ctx_default, AMO, dest, value, 0, pe, __func__);
}

TYPE STP_OP_CTX_FN(atomic_fetch_, )(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe)
{
    return STP_LOCAL(amo_fetch)(stp_ctx_check(ctx, __func__), AMO, dest, value, 0, pe, __func__);
}
STP_OP_PUBLISH(atomic_fetch_, );

void STP_OP_FN(atomic_, )(TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_post)(&stp_ctx_default, AMO, dest, value, pe, __func__);
}

void STP_OP_CTX_FN(atomic_, )(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_post)(stp_ctx_check(ctx, __func__), AMO, dest, value, pe, __func__);
}
STP_OP_PUBLISH(atomic_, );

void STP_OP_FN(atomic_fetch_, _nbi)(TYPE *fetch, TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_nbi)(&stp_ctx_default, AMO, fetch, dest, value, 0, pe, __func__);
}

void STP_OP_CTX_FN(atomic_fetch_, _nbi)(shmem_ctx_t ctx, TYPE *fetch, TYPE *dest, TYPE value,
                                        int pe)
{
    STP_LOCAL(amo_nbi)(stp_ctx_check(ctx, __func__), AMO, fetch, dest, value, 0, pe, __func__);
}
STP_OP_PUBLISH(atomic_fetch_, _nbi);
