/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines the collectives that move elements of type ELEM. Spec 9.10.5 to 9.10.8. */

int COLL_FN(alltoall)(shmem_team_t team, ELEM *dest, const ELEM *source, size_t nelems)
{
    return stp_coll_alltoall(stp_team_check(team, __func__), dest, source, nelems, ELEM_SIZE,
                             __func__);
}
COLL_PUBLISH(alltoall);

int COLL_FN(alltoalls)(shmem_team_t team, ELEM *dest, const ELEM *source, ptrdiff_t dst,
                       ptrdiff_t sst, size_t nelems)
{
    return stp_coll_alltoalls(stp_team_check(team, __func__), dest, source, dst, sst, ELEM_SIZE,
                              nelems, __func__);
}
COLL_PUBLISH(alltoalls);

int COLL_FN(broadcast)(shmem_team_t team, ELEM *dest, const ELEM *source, size_t nelems,
                       int PE_root)
{
    return stp_coll_broadcast(stp_team_check(team, __func__), dest, source,
                              stp_bytes(nelems, ELEM_SIZE, __func__), PE_root, __func__);
}
COLL_PUBLISH(broadcast);

int COLL_FN(collect)(shmem_team_t team, ELEM *dest, const ELEM *source, size_t nelems)
{
    return stp_coll_collect(stp_team_check(team, __func__), dest, source, nelems, ELEM_SIZE,
                            __func__);
}
COLL_PUBLISH(collect);

int COLL_FN(fcollect)(shmem_team_t team, ELEM *dest, const ELEM *source, size_t nelems)
{
    return stp_coll_fcollect(stp_team_check(team, __func__), dest, source, nelems, ELEM_SIZE,
                             __func__);
}
COLL_PUBLISH(fcollect);
