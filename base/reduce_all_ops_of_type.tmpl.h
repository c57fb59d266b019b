/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Template for the reduction kernels of one element type. reduce_kernels.tmpl.h includes this file
 * once for each type. Before each inclusion, it defines two macros, which this file undefines:
 *   TYPE        the element type
 *   SUFFIX      the suffix in the names of the kernels
 * This file also uses the following macros, but does not undefine them:
 *   CALC        the type in which sums and products are computed; for integers, it is an unsigned
 *               type, so that results wrap around on overflow
 *   HAS_ORDER   1 if the operators max and min exist for the type, otherwise 0
 *   HAS_BITS    1 if the bitwise operators (and, or, xor) exist for the type, otherwise 0
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

/*
 * Compile complex products without STP_TARGET. With it, gcc 12 would use fused multiply-add
 * instructions in spite of -ffp-contract=off, and these give results with different bits.
 */
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
