/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the atomics fetch, set and swap under the names that they had before OpenSHMEM 1.4. Spec
 * 9.7.1.
 */

TYPE STP_FN(fetch)(const TYPE *source, int pe)
{
    return STP_LOCAL(amo_fetch)(&stp_ctx_default, STP_AMO_FETCH, (TYPE *)source, 0, 0, pe,
                                __func__);
}
STP_PUBLISH_ONE(fetch);

void STP_FN(set)(TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_post)(&stp_ctx_default, STP_AMO_SET, dest, value, pe, __func__);
}
STP_PUBLISH_ONE(set);

TYPE STP_FN(swap)(TYPE *dest, TYPE value, int pe)
{
    return STP_LOCAL(amo_fetch)(&stp_ctx_default, STP_AMO_SWAP, dest, value, 0, pe, __func__);
}
STP_PUBLISH_ONE(swap);
