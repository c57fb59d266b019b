/* SPDX-License-Identifier: BSD-3-Clause */
/* Bitwise reductions of one TYPE. Spec 9.10.9. */

int STP_FN(and_reduce)(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce)
{
    return stp_coll_reduce(stp_team_check(team, __func__), STP_AND, STP_DTYPE(TYPE), dest, source,
                           nreduce, __func__);
}
STP_PUBLISH_ONE(and_reduce);

int STP_FN(or_reduce)(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce)
{
    return stp_coll_reduce(stp_team_check(team, __func__), STP_OR, STP_DTYPE(TYPE), dest, source,
                           nreduce, __func__);
}
STP_PUBLISH_ONE(or_reduce);

int STP_FN(xor_reduce)(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce)
{
    return stp_coll_reduce(stp_team_check(team, __func__), STP_XOR, STP_DTYPE(TYPE), dest, source,
                           nreduce, __func__);
}
STP_PUBLISH_ONE(xor_reduce);
