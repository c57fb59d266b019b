/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions of one ordered TYPE. Spec 9.10.9. */

int STP_FN(max_reduce)(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce)
{
    return stp_coll_reduce(stp_team_check(team, __func__), STP_MAX, STP_DTYPE(TYPE), dest, source,
                           nreduce, __func__);
}
STP_PUBLISH_ONE(max_reduce);

int STP_FN(min_reduce)(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce)
{
    return stp_coll_reduce(stp_team_check(team, __func__), STP_MIN, STP_DTYPE(TYPE), dest, source,
                           nreduce, __func__);
}
STP_PUBLISH_ONE(min_reduce);
