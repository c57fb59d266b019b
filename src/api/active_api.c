/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the collectives over active sets, which are deprecated since OpenSHMEM 1.5. Each routine
 * looks up the internal team that belongs to the active set and pSync, and calls the collective of
 * that team. The argument pWrk is ignored. Design: docs/design/teams.md.
 */
#include "api/api.h"

/*
 * Converts nreduce to size_t, because the active-set routines pass nreduce as an int. Fatal if
 * nreduce is negative.
 */
static size_t api_nreduce(int nreduce, const char *fn)
{
    if (STP_UNLIKELY(nreduce < 0)) stp_fatal(fn, "nreduce is %d: it must be 0 or more", nreduce);
    return (size_t)nreduce;
}

#define TEMPLATE "api/active.tmpl.h"
#include "api/gen/sizes_active.h"
#undef TEMPLATE

#define OP_TEMPLATE "api/active_op.tmpl.h"

#define TEMPLATE "api/reduce_bit.tmpl.h"
#include "api/gen/types_old_bit.h"
#undef TEMPLATE

#define TEMPLATE "api/reduce_order.tmpl.h"
#include "api/gen/types_old_max.h"
#undef TEMPLATE

#define TEMPLATE "api/reduce_arith.tmpl.h"
#include "api/gen/types_old_sum.h"
#undef TEMPLATE

void pshmem_barrier(int PE_start, int logPE_stride, int PE_size, long *pSync)
{
    struct stp_team *set = stp_active_set(PE_start, logPE_stride, PE_size, pSync, __func__);

    STP_COLL_CHECK_CALL(set, __func__, {0});
    stp_quiet(&stp_ctx_default);
    stp_coll_sync(set);
    STP_API_KEEP_FRAME();
}
STP_PROFILED(shmem_barrier);

void pshmem_sync(int PE_start, int logPE_stride, int PE_size, long *pSync)
{
    stp_coll_sync(stp_coll_checked(stp_active_set(PE_start, logPE_stride, PE_size, pSync, __func__),
                                   __func__));
    STP_API_KEEP_FRAME();
}
STP_PROFILED(shmem_sync);
