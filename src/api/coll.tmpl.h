/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that move elements of one TYPE. Spec 9.10.5 to 9.10.8. */

int STP_FN(alltoall)(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems)
{
    return stp_coll_alltoall(stp_team_check(team, __func__), dest, source,
                             stp_bytes(nelems, sizeof(TYPE), __func__), __func__);
}
STP_PUBLISH_ONE(alltoall);

int STP_FN(alltoalls)(shmem_team_t team, TYPE *dest, const TYPE *source, ptrdiff_t dst,
                      ptrdiff_t sst, size_t nelems)
{
    return stp_coll_alltoalls(stp_team_check(team, __func__), dest, source, dst, sst, sizeof(TYPE),
                              nelems, __func__);
}
STP_PUBLISH_ONE(alltoalls);

int STP_FN(broadcast)(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems, int PE_root)
{
    return stp_coll_broadcast(stp_team_check(team, __func__), dest, source,
                              stp_bytes(nelems, sizeof(TYPE), __func__), PE_root, __func__);
}
STP_PUBLISH_ONE(broadcast);

int STP_FN(collect)(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems)
{
    return stp_coll_collect(stp_team_check(team, __func__), dest, source,
                            stp_bytes(nelems, sizeof(TYPE), __func__), __func__);
}
STP_PUBLISH_ONE(collect);

int STP_FN(fcollect)(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems)
{
    return stp_coll_fcollect(stp_team_check(team, __func__), dest, source,
                             stp_bytes(nelems, sizeof(TYPE), __func__), __func__);
}
STP_PUBLISH_ONE(fcollect);
