/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions of one TYPE over active sets. Spec 9.10.9. */

void STP_FN(max_to_all)(TYPE *dest, const TYPE *source, int nreduce, int PE_start, int logPE_stride,
                        int PE_size, TYPE *pWrk, long *pSync)
{
    struct stp_team *set = stp_active_set(PE_start, logPE_stride, PE_size, pSync, __func__);

    (void)pWrk;
    stp_coll_reduce(set, STP_MAX, STP_DTYPE(TYPE), dest, source, api_nreduce(nreduce, __func__),
                    __func__);
}
STP_PUBLISH_ONE(max_to_all);

void STP_FN(min_to_all)(TYPE *dest, const TYPE *source, int nreduce, int PE_start, int logPE_stride,
                        int PE_size, TYPE *pWrk, long *pSync)
{
    struct stp_team *set = stp_active_set(PE_start, logPE_stride, PE_size, pSync, __func__);

    (void)pWrk;
    stp_coll_reduce(set, STP_MIN, STP_DTYPE(TYPE), dest, source, api_nreduce(nreduce, __func__),
                    __func__);
}
STP_PUBLISH_ONE(min_to_all);
