/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines the active-set collectives that move elements of SIZE bits. Spec 9.10.5 to 9.10.8. */

void STP_SIZED_FN(alltoall, )(void *dest, const void *source, size_t nelems, int PE_start,
                              int logPE_stride, int PE_size, long *pSync)
{
    struct stp_team *set = stp_active_set(PE_start, logPE_stride, PE_size, pSync, __func__);

    stp_coll_alltoall(set, dest, source, nelems, SIZE / 8, __func__);
}
STP_SIZED_PUBLISH_ONE(alltoall, );

void STP_SIZED_FN(alltoalls, )(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                               size_t nelems, int PE_start, int logPE_stride, int PE_size,
                               long *pSync)
{
    struct stp_team *set = stp_active_set(PE_start, logPE_stride, PE_size, pSync, __func__);

    stp_coll_alltoalls(set, dest, source, dst, sst, SIZE / 8, nelems, __func__);
}
STP_SIZED_PUBLISH_ONE(alltoalls, );

void STP_SIZED_FN(broadcast, )(void *dest, const void *source, size_t nelems, int PE_root,
                               int PE_start, int logPE_stride, int PE_size, long *pSync)
{
    struct stp_team *set = stp_active_set(PE_start, logPE_stride, PE_size, pSync, __func__);

    stp_coll_broadcast(set, dest, source, stp_bytes(nelems, SIZE / 8, __func__), PE_root,
                       __func__);
}
STP_SIZED_PUBLISH_ONE(broadcast, );

void STP_SIZED_FN(collect, )(void *dest, const void *source, size_t nelems, int PE_start,
                             int logPE_stride, int PE_size, long *pSync)
{
    struct stp_team *set = stp_active_set(PE_start, logPE_stride, PE_size, pSync, __func__);

    stp_coll_collect(set, dest, source, nelems, SIZE / 8, __func__);
}
STP_SIZED_PUBLISH_ONE(collect, );

void STP_SIZED_FN(fcollect, )(void *dest, const void *source, size_t nelems, int PE_start,
                              int logPE_stride, int PE_size, long *pSync)
{
    struct stp_team *set = stp_active_set(PE_start, logPE_stride, PE_size, pSync, __func__);

    stp_coll_fcollect(set, dest, source, nelems, SIZE / 8, __func__);
}
STP_SIZED_PUBLISH_ONE(fcollect, );
