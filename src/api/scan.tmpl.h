/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines the inclusive and the exclusive sum scan of one TYPE. Spec 9.10.10. */

int STP_FN(sum_inscan)(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems)
{
    return stp_coll_scan(stp_team_check(team, __func__), STP_DTYPE(TYPE), dest, source, nelems,
                         false, __func__);
}
STP_PUBLISH_ONE(sum_inscan);

int STP_FN(sum_exscan)(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems)
{
    return stp_coll_scan(stp_team_check(team, __func__), STP_DTYPE(TYPE), dest, source, nelems,
                         true, __func__);
}
STP_PUBLISH_ONE(sum_exscan);
