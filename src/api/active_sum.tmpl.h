/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic reductions of one TYPE over active sets. Spec 9.10.9. */

void STP_FN(sum_to_all)(TYPE *dest, const TYPE *source, int nreduce, int PE_start, int logPE_stride,
                        int PE_size, TYPE *pWrk, long *pSync)
{
    struct stp_team *set = stp_active_set(PE_start, logPE_stride, PE_size, pSync, __func__);

    (void)pWrk;
    stp_coll_reduce(set, STP_SUM, STP_DTYPE(TYPE), dest, source, api_nreduce(nreduce, __func__),
                    __func__);
}
STP_PUBLISH_ONE(sum_to_all);

void STP_FN(prod_to_all)(TYPE *dest, const TYPE *source, int nreduce, int PE_start,
                         int logPE_stride, int PE_size, TYPE *pWrk, long *pSync)
{
    struct stp_team *set = stp_active_set(PE_start, logPE_stride, PE_size, pSync, __func__);

    (void)pWrk;
    stp_coll_reduce(set, STP_PROD, STP_DTYPE(TYPE), dest, source, api_nreduce(nreduce, __func__),
                    __func__);
}
STP_PUBLISH_ONE(prod_to_all);
