/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations in the order of streams: every type, bytes.
 *
 * The template of put and get defines routines of elements of type ELEM and ELEM_SIZE bytes.
 * STREAM_FN(op, tail) is the name of one.
 */
#include "gpu/stream_engine.h"

#include "api/api.h"

#undef STP_API_PREFIX
#define STP_API_PREFIX shmemx_

/* ---- types: shmemx_int_put_on_stream -------------------------------------------- */

#define ELEM TYPE
#define ELEM_SIZE sizeof(TYPE)
#define STREAM_FN(op, tail) STP_FN(op##tail)
#define STREAM_PUBLISH(op, tail) STP_PUBLISH_ONE(op##tail)

#define TEMPLATE "api/stream_rma.tmpl.h"
#include "api/gen/types_rma.h"
#undef TEMPLATE

#undef ELEM
#undef ELEM_SIZE
#undef STREAM_FN
#undef STREAM_PUBLISH

#define TEMPLATE "api/stream_sum.tmpl.h"
#include "api/gen/types_reduce_sum.h"
#undef TEMPLATE

/* ---- bytes: shmemx_putmem_on_stream --------------------------------------------- */

#define ELEM void
#define ELEM_SIZE 1
#define STREAM_FN(op, tail) pshmemx_##op##mem##tail
#define STREAM_PUBLISH(op, tail) STP_PROFILED(shmemx_##op##mem##tail)
#include "api/stream_rma.tmpl.h"
