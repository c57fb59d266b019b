/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction kernels of one element type. reduce_kernels.tmpl.h includes this file once for each
 * type, after it has defined
 *   TYPE        the element type
 *   SUFFIX      the suffix of the names of the kernels
 * This file undefines these two macros. The following macros stay defined for several types:
 *   CALC        the type to compute sums and products in: unsigned for integers, so that they wrap
 *   HAS_ORDER   1 if the type has min and max
 *   HAS_BITS    1 if the type has and, or, xor
 */

#define NAME(op) STP_KERNEL_NAME(op, SUFFIX)
#define NAME_TWO(op) STP_KERNEL_NAME_TWO(op, SUFFIX)
#define KERNEL STP_KERNEL

#define OP sum
#define RESULT(x, y) ((TYPE)((CALC)(x) + (CALC)(y)))
#include "base/reduce_one_type_op.tmpl.h"

#if HAS_ORDER
#define OP max
#define RESULT(x, y) ((y) > (x) ? (y) : (x))
#include "base/reduce_one_type_op.tmpl.h"

#define OP min
#define RESULT(x, y) ((y) < (x) ? (y) : (x))
#include "base/reduce_one_type_op.tmpl.h"
#endif

#if HAS_BITS
#define OP and
#define RESULT(x, y) ((TYPE)((x) & (y)))
#include "base/reduce_one_type_op.tmpl.h"

#define OP or
#define RESULT(x, y) ((TYPE)((x) | (y)))
#include "base/reduce_one_type_op.tmpl.h"

#define OP xor
#define RESULT(x, y) ((TYPE)((x) ^ (y)))
#include "base/reduce_one_type_op.tmpl.h"
#endif

/* Complex products get no STP_TARGET, because gcc 12 contracts them despite -ffp-contract=off. */
#if !HAS_ORDER
#undef KERNEL
#define KERNEL static
#endif
#define OP prod
#define RESULT(x, y) ((TYPE)((CALC)(x) * (CALC)(y)))
#include "base/reduce_one_type_op.tmpl.h"

#undef KERNEL
#undef NAME
#undef NAME_TWO
#undef TYPE
#undef SUFFIX
