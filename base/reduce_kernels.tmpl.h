/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Template for the reduction kernels of one level of vector instructions, and for their table. Each
 * level has its own source file. It defines two macros and then includes this template once:
 *   STP_KERNELS   the name of the table
 *   STP_TARGET    the function attribute that enables the vector instructions; may be empty
 */
#include "base/reduce_kernels.h"

#define STP_KERNEL static STP_TARGET

/*
 * Declares that the iterations of the next loop may run in any order. The head comment of
 * reduce_one_type_op.tmpl.h explains why this is true. Clang has a pragma for this purpose, too,
 * but would warn about each loop that it cannot vectorize. Code that is compiled by clang therefore
 * checks at run time whether the arrays overlap.
 */
#ifdef __clang__
#define STP_INDEPENDENT
#else
#define STP_INDEPENDENT _Pragma("GCC ivdep")
#endif

#define STP_KERNEL_JOIN(op, tail, suffix) op##tail##suffix
#define STP_KERNEL_NAME(op, suffix) STP_KERNEL_JOIN(op, _, suffix)
#define STP_KERNEL_NAME_TWO(op, suffix) STP_KERNEL_JOIN(op, _two_, suffix)

/* The following types are integers, for which all operators exist. */
#define HAS_ORDER 1
#define HAS_BITS 1
#define CALC unsigned

#define TYPE int8_t
#define SUFFIX i8
#include "base/reduce_all_ops_of_type.tmpl.h"

#define TYPE uint8_t
#define SUFFIX u8
#include "base/reduce_all_ops_of_type.tmpl.h"

#define TYPE int16_t
#define SUFFIX i16
#include "base/reduce_all_ops_of_type.tmpl.h"

#define TYPE uint16_t
#define SUFFIX u16
#include "base/reduce_all_ops_of_type.tmpl.h"

#define TYPE int32_t
#define SUFFIX i32
#include "base/reduce_all_ops_of_type.tmpl.h"

#define TYPE uint32_t
#define SUFFIX u32
#include "base/reduce_all_ops_of_type.tmpl.h"

#undef CALC
#define CALC uint64_t

#define TYPE int64_t
#define SUFFIX i64
#include "base/reduce_all_ops_of_type.tmpl.h"

#define TYPE uint64_t
#define SUFFIX u64
#include "base/reduce_all_ops_of_type.tmpl.h"

#undef CALC
#undef HAS_BITS
#define CALC TYPE
#define HAS_BITS 0

#define TYPE float
#define SUFFIX f32
#include "base/reduce_all_ops_of_type.tmpl.h"

#define TYPE double
#define SUFFIX f64
#include "base/reduce_all_ops_of_type.tmpl.h"

#define TYPE long double
#define SUFFIX fld
#include "base/reduce_all_ops_of_type.tmpl.h"

#undef HAS_ORDER
#define HAS_ORDER 0

#define TYPE float _Complex
#define SUFFIX c32
#include "base/reduce_all_ops_of_type.tmpl.h"

#define TYPE double _Complex
#define SUFFIX c64
#include "base/reduce_all_ops_of_type.tmpl.h"

#define ARITH(type) [STP_SUM] = sum_##type, [STP_PROD] = prod_##type
#define ORDERED(type) ARITH(type), [STP_MAX] = max_##type, [STP_MIN] = min_##type
#define INTEGER(type)                                                                              \
    ORDERED(type), [STP_AND] = and_##type, [STP_OR] = or_##type, [STP_XOR] = xor_##type

const struct stp_kernels STP_KERNELS = {
    .reduce =
        {
            [STP_I8] = {INTEGER(i8)},
            [STP_U8] = {INTEGER(u8)},
            [STP_I16] = {INTEGER(i16)},
            [STP_U16] = {INTEGER(u16)},
            [STP_I32] = {INTEGER(i32)},
            [STP_U32] = {INTEGER(u32)},
            [STP_I64] = {INTEGER(i64)},
            [STP_U64] = {INTEGER(u64)},
            [STP_F32] = {ORDERED(f32)},
            [STP_F64] = {ORDERED(f64)},
            [STP_FLD] = {ORDERED(fld)},
            [STP_C32] = {ARITH(c32)},
            [STP_C64] = {ARITH(c64)},
        },
    .combine =
        {
            [STP_I8] = {INTEGER(two_i8)},
            [STP_U8] = {INTEGER(two_u8)},
            [STP_I16] = {INTEGER(two_i16)},
            [STP_U16] = {INTEGER(two_u16)},
            [STP_I32] = {INTEGER(two_i32)},
            [STP_U32] = {INTEGER(two_u32)},
            [STP_I64] = {INTEGER(two_i64)},
            [STP_U64] = {INTEGER(two_u64)},
            [STP_F32] = {ORDERED(two_f32)},
            [STP_F64] = {ORDERED(two_f64)},
            [STP_FLD] = {ORDERED(two_fld)},
            [STP_C32] = {ARITH(two_c32)},
            [STP_C64] = {ARITH(two_c64)},
        },
};
