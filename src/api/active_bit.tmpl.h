/* SPDX-License-Identifier: BSD-3-Clause */
/* Bitwise reductions of one TYPE over active sets. Spec 9.10.9. */

void STP_FN(and_to_all)(TYPE *dest, const TYPE *source, int nreduce, int PE_start, int logPE_stride,
                        int PE_size, TYPE *pWrk, long *pSync)
{
    struct stp_team *set = stp_active_set(PE_start, logPE_stride, PE_size, pSync, __func__);

    (void)pWrk;
    stp_coll_reduce(set, STP_AND, STP_DTYPE(TYPE), dest, source, api_nreduce(nreduce, __func__),
                    __func__);
}
STP_PUBLISH_ONE(and_to_all);

void STP_FN(or_to_all)(TYPE *dest, const TYPE *source, int nreduce, int PE_start, int logPE_stride,
                       int PE_size, TYPE *pWrk, long *pSync)
{
    struct stp_team *set = stp_active_set(PE_start, logPE_stride, PE_size, pSync, __func__);

    (void)pWrk;
    stp_coll_reduce(set, STP_OR, STP_DTYPE(TYPE), dest, source, api_nreduce(nreduce, __func__),
                    __func__);
}
STP_PUBLISH_ONE(or_to_all);

void STP_FN(xor_to_all)(TYPE *dest, const TYPE *source, int nreduce, int PE_start, int logPE_stride,
                        int PE_size, TYPE *pWrk, long *pSync)
{
    struct stp_team *set = stp_active_set(PE_start, logPE_stride, PE_size, pSync, __func__);

    (void)pWrk;
    stp_coll_reduce(set, STP_XOR, STP_DTYPE(TYPE), dest, source, api_nreduce(nreduce, __func__),
                    __func__);
}
STP_PUBLISH_ONE(xor_to_all);
