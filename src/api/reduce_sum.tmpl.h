/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic reductions of one TYPE. Spec 9.10.9. */

int STP_FN(sum_reduce)(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce)
{
    return stp_coll_reduce(stp_team_check(team, __func__), STP_SUM, STP_DTYPE(TYPE), dest, source,
                           nreduce, __func__);
}
STP_PUBLISH_ONE(sum_reduce);

int STP_FN(prod_reduce)(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce)
{
    return stp_coll_reduce(stp_team_check(team, __func__), STP_PROD, STP_DTYPE(TYPE), dest, source,
                           nreduce, __func__);
}
STP_PUBLISH_ONE(prod_reduce);
