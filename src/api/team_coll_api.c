/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the team collectives for every type and for bytes, including reductions and scans.
 *
 * This file sets macros for the template coll_move.tmpl.h. ELEM is the type of an element, and
 * ELEM_SIZE is the size of an element in bytes. COLL_FN(op) is the name of a routine.
 */
#include "api/api.h"

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
