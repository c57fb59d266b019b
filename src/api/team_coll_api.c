/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the barriers and syncs of teams. Also defines the other team collectives for every type
 * and for bytes, including reductions and scans.
 *
 * This file sets macros for the template coll_move.tmpl.h. ELEM is the type of an element, and
 * ELEM_SIZE is the size of an element in bytes. COLL_FN(op) is the name of a routine.
 */
#include "api/api.h"

/* ---- barriers and syncs --------------------------------------------------------- */

int pshmem_team_sync(shmem_team_t team)
{
    stp_coll_sync(stp_coll_checked(stp_team_check(team, __func__), __func__));
    return 0;
}
STP_PROFILED(shmem_team_sync);

void pshmem_sync_all(void)
{
    stp_coll_sync(stp_coll_checked(stp_team_check(SHMEM_TEAM_WORLD, __func__), __func__));
    STP_API_KEEP_FRAME();
}
STP_PROFILED(shmem_sync_all);

void pshmem_barrier_all(void)
{
    struct stp_team *world = stp_coll_checked(stp_team_check(SHMEM_TEAM_WORLD, __func__), __func__);

    stp_quiet(&stp_ctx_default);
    stp_coll_sync(world);
    STP_API_KEEP_FRAME();
}
STP_PROFILED(shmem_barrier_all);

/* ---- types: shmem_int_broadcast ----------------------------------------------- */

#define ELEM TYPE
#define ELEM_SIZE sizeof(TYPE)
#define COLL_FN(op) STP_FN(op)
#define COLL_PUBLISH(op) STP_PUBLISH_ONE(op)

#define TEMPLATE "api/coll_move.tmpl.h"
#include "api/gen/types_rma.h"
#undef TEMPLATE

#undef ELEM
#undef ELEM_SIZE
#undef COLL_FN
#undef COLL_PUBLISH

#define OP_TEMPLATE "api/reduce_op.tmpl.h"

#define TEMPLATE "api/reduce_bit.tmpl.h"
#include "api/gen/types_reduce_bit.h"
#undef TEMPLATE

#define TEMPLATE "api/reduce_order.tmpl.h"
#include "api/gen/types_rma.h"
#undef TEMPLATE

#define TEMPLATE "api/reduce_arith.tmpl.h"
#include "api/gen/types_reduce_sum.h"
#undef TEMPLATE

#define TEMPLATE "api/scan.tmpl.h"
#include "api/gen/types_reduce_sum.h"
#undef TEMPLATE

/* ---- bytes: shmem_broadcastmem ------------------------------------------------ */

#define ELEM void
#define ELEM_SIZE 1
#define SIZE mem
#define COLL_FN(op) STP_SIZED_FN(op, )
#define COLL_PUBLISH(op) STP_SIZED_PUBLISH_ONE(op, )
#include "api/coll_move.tmpl.h"
