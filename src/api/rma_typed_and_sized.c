/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines remote memory access and put-with-signal for every type, every element size, and bytes.
 *
 * This file sets macros for the contiguous and the strided template. ELEM is the type of an
 * element, and ELEM_SIZE is the size of an element in bytes. RMA_FN(op, tail) is the name of a
 * routine, and RMA_CTX_FN(op, tail) is the name of its form with a context.
 */
#include "api/api.h"

#define TEMPLATE "api/rma_single.tmpl.h"
#include "api/gen/types_rma.h"
#undef TEMPLATE

/* ---- types: shmem_int_put_nbi --------------------------------------------------- */

#define ELEM TYPE
#define ELEM_SIZE sizeof(TYPE)
#define RMA_FN(op, tail) STP_FN(op##tail)
#define RMA_CTX_FN(op, tail) STP_CTX_FN(op##tail)
#define RMA_PUBLISH(op, tail) STP_PUBLISH(op##tail)

#define TEMPLATE "api/rma_contiguous.tmpl.h"
#include "api/gen/types_rma.h"
#undef TEMPLATE

#define TEMPLATE "api/rma_strided.tmpl.h"
#include "api/gen/types_rma.h"
#undef TEMPLATE

#undef ELEM
#undef ELEM_SIZE
#undef RMA_FN
#undef RMA_CTX_FN
#undef RMA_PUBLISH

/* ---- sizes: shmem_put32_nbi ----------------------------------------------------- */

#define ELEM void
#define ELEM_SIZE (SIZE / 8)
#define RMA_FN(op, tail) STP_SIZED_FN(op, tail)
#define RMA_CTX_FN(op, tail) STP_SIZED_CTX_FN(op, tail)
#define RMA_PUBLISH(op, tail) STP_SIZED_PUBLISH(op, tail)

#define TEMPLATE "api/rma_contiguous.tmpl.h"
#include "api/gen/sizes_rma.h"
#undef TEMPLATE

#define TEMPLATE "api/rma_strided.tmpl.h"
#include "api/gen/sizes_rma.h"
#undef TEMPLATE

/* ---- bytes: shmem_putmem_nbi ---------------------------------------------------- */

#undef ELEM_SIZE
#define ELEM_SIZE 1
#define SIZE mem
#include "api/rma_contiguous.tmpl.h"
