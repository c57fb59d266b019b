/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the atomics compare_swap, inc and add under the names that they had before OpenSHMEM 1.4.
 * Spec 9.7.1.
 */

TYPE STP_FN(cswap)(TYPE *dest, TYPE cond, TYPE value, int pe)
{
    return STP_LOCAL(amo_fetch)(&stp_ctx_default, STP_AMO_CSWAP, dest, value, cond, pe, __func__);
}
STP_PUBLISH_ONE(cswap);

TYPE STP_FN(finc)(TYPE *dest, int pe)
{
    return STP_LOCAL(amo_fetch)(&stp_ctx_default, STP_AMO_ADD, dest, 1, 0, pe, __func__);
}
STP_PUBLISH_ONE(finc);

void STP_FN(inc)(TYPE *dest, int pe)
{
    STP_LOCAL(amo_post)(&stp_ctx_default, STP_AMO_ADD, dest, 1, pe, __func__);
}
STP_PUBLISH_ONE(inc);

TYPE STP_FN(fadd)(TYPE *dest, TYPE value, int pe)
{
    return STP_LOCAL(amo_fetch)(&stp_ctx_default, STP_AMO_ADD, dest, value, 0, pe, __func__);
}
STP_PUBLISH_ONE(fadd);

void STP_FN(add)(TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_post)(&stp_ctx_default, STP_AMO_ADD, dest, value, pe, __func__);
}
STP_PUBLISH_ONE(add);
