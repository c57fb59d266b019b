/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Team collectives: every type, bytes, the reductions and the scans.
 */
#include "api/api.h"

#define TEMPLATE "api/coll.tmpl.h"
#include "api/gen/types_rma.h"
#undef TEMPLATE

#define OP_TEMPLATE "api/reduce_op.tmpl.h"

#define TEMPLATE "api/reduce_bit.tmpl.h"
#include "api/gen/types_reduce_bit.h"
#undef TEMPLATE

#define TEMPLATE "api/reduce_order.tmpl.h"
#include "api/gen/types_rma.h"
#undef TEMPLATE

#define TEMPLATE "api/reduce_sum.tmpl.h"
#include "api/gen/types_reduce_sum.h"
#undef TEMPLATE

#define TEMPLATE "api/scan.tmpl.h"
#include "api/gen/types_reduce_sum.h"
#undef TEMPLATE

/* ---- bytes ------------------------------------------------------------------ */

int pshmem_alltoallmem(shmem_team_t team, void *dest, const void *source, size_t nelems)
{
    return stp_coll_alltoall(stp_team_check(team, __func__), dest, source, nelems, __func__);
}
STP_PROFILED(shmem_alltoallmem);

int pshmem_alltoallsmem(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst,
                        ptrdiff_t sst, size_t nelems)
{
    return stp_coll_alltoalls(stp_team_check(team, __func__), dest, source, dst, sst, 1, nelems,
                              __func__);
}
STP_PROFILED(shmem_alltoallsmem);

int pshmem_broadcastmem(shmem_team_t team, void *dest, const void *source, size_t nelems,
                        int PE_root)
{
    return stp_coll_broadcast(stp_team_check(team, __func__), dest, source, nelems, PE_root,
                              __func__);
}
STP_PROFILED(shmem_broadcastmem);

int pshmem_collectmem(shmem_team_t team, void *dest, const void *source, size_t nelems)
{
    return stp_coll_collect(stp_team_check(team, __func__), dest, source, nelems, __func__);
}
STP_PROFILED(shmem_collectmem);

int pshmem_fcollectmem(shmem_team_t team, void *dest, const void *source, size_t nelems)
{
    return stp_coll_fcollect(stp_team_check(team, __func__), dest, source, nelems, __func__);
}
STP_PROFILED(shmem_fcollectmem);
