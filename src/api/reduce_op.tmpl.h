/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines the team reduction with operation OP (enumerator CODE) on one TYPE. Spec 9.10.9. */

int STP_OP_FN(, _reduce)(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce)
{
    return stp_coll_reduce(stp_team_check(team, __func__), CODE, STP_DTYPE(TYPE), dest, source,
                           nreduce, __func__);
}
STP_OP_PUBLISH_ONE(, _reduce);
