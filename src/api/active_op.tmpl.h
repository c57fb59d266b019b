/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the active-set reduction of one TYPE for the operation OP. CODE is the enumerator of the
 * operation. Spec 9.10.9.
 */

void STP_OP_FN(, _to_all)(TYPE *dest, const TYPE *source, int nreduce, int PE_start,
                          int logPE_stride, int PE_size, TYPE *pWrk, long *pSync)
{
    struct stp_team *set = stp_active_set(PE_start, logPE_stride, PE_size, pSync, __func__);

    (void)pWrk;
    stp_coll_reduce(set, CODE, STP_DTYPE(TYPE), dest, source, api_nreduce(nreduce, __func__),
                    __func__);
}
STP_OP_PUBLISH_ONE(, _to_all);
