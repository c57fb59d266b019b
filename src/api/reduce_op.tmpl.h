/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the team reduction of one TYPE for the operation OP. CODE is the enumerator of the
 * operation. Spec 9.10.9.
 */

int STP_OP_FN(, _reduce)(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce)
{
    return stp_coll_reduce(stp_team_check(team, __func__), CODE, STP_DTYPE(TYPE), dest, source,
                           nreduce, __func__);
}
STP_OP_PUBLISH_ONE(, _reduce);
