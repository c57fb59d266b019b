/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Element types and the reduction kernels, one per valid pair of operator and type. Which
 * pairs are valid is said once, by the table of kernels. Design: docs/design/base.md.
 */
#include "base/base.h"

#include <assert.h>

/*
 * The next loop's iterations may run in any order; see reduce.tmpl.h. Clang has no pragma that
 * says just that (its own demand vector code, also where there is none): it tests at run time.
 */
#ifdef __clang__
#define STP_INDEPENDENT
#else
#define STP_INDEPENDENT _Pragma("GCC ivdep")
#endif

#define TYPE int8_t
#define CALC unsigned
#define NAME(op) op##_i8
#define HAS_ORDER 1
#define HAS_BITS 1
#include "base/reduce.tmpl.h"

#define TYPE uint8_t
#define CALC unsigned
#define NAME(op) op##_u8
#define HAS_ORDER 1
#define HAS_BITS 1
#include "base/reduce.tmpl.h"

#define TYPE int16_t
#define CALC unsigned
#define NAME(op) op##_i16
#define HAS_ORDER 1
#define HAS_BITS 1
#include "base/reduce.tmpl.h"

#define TYPE uint16_t
#define CALC unsigned
#define NAME(op) op##_u16
#define HAS_ORDER 1
#define HAS_BITS 1
#include "base/reduce.tmpl.h"

#define TYPE int32_t
#define CALC uint32_t
#define NAME(op) op##_i32
#define HAS_ORDER 1
#define HAS_BITS 1
#include "base/reduce.tmpl.h"

#define TYPE uint32_t
#define CALC uint32_t
#define NAME(op) op##_u32
#define HAS_ORDER 1
#define HAS_BITS 1
#include "base/reduce.tmpl.h"

#define TYPE int64_t
#define CALC uint64_t
#define NAME(op) op##_i64
#define HAS_ORDER 1
#define HAS_BITS 1
#include "base/reduce.tmpl.h"

#define TYPE uint64_t
#define CALC uint64_t
#define NAME(op) op##_u64
#define HAS_ORDER 1
#define HAS_BITS 1
#include "base/reduce.tmpl.h"

#define TYPE float
#define CALC float
#define NAME(op) op##_f32
#define HAS_ORDER 1
#define HAS_BITS 0
#include "base/reduce.tmpl.h"

#define TYPE double
#define CALC double
#define NAME(op) op##_f64
#define HAS_ORDER 1
#define HAS_BITS 0
#include "base/reduce.tmpl.h"

#define TYPE long double
#define CALC long double
#define NAME(op) op##_fld
#define HAS_ORDER 1
#define HAS_BITS 0
#include "base/reduce.tmpl.h"

#define TYPE float _Complex
#define CALC float _Complex
#define NAME(op) op##_c32
#define HAS_ORDER 0
#define HAS_BITS 0
#include "base/reduce.tmpl.h"

#define TYPE double _Complex
#define CALC double _Complex
#define NAME(op) op##_c64
#define HAS_ORDER 0
#define HAS_BITS 0
#include "base/reduce.tmpl.h"

typedef void (*reduce_fn)(void *inout, const void *in, size_t nelems);

#define ARITH(type) [STP_SUM] = sum_##type, [STP_PROD] = prod_##type
#define ORDERED(type) ARITH(type), [STP_MAX] = max_##type, [STP_MIN] = min_##type
#define INTEGER(type)                                                                              \
    ORDERED(type), [STP_AND] = and_##type, [STP_OR] = or_##type, [STP_XOR] = xor_##type

static const struct {
    const char *name;
    size_t size;
    reduce_fn reduce[STP_N_OPS]; /* NULL: the standard has no such reduction */
} dtypes[STP_N_DTYPES] = {
    [STP_I8] = {"int8", sizeof(int8_t), {INTEGER(i8)}},
    [STP_U8] = {"uint8", sizeof(uint8_t), {INTEGER(u8)}},
    [STP_I16] = {"int16", sizeof(int16_t), {INTEGER(i16)}},
    [STP_U16] = {"uint16", sizeof(uint16_t), {INTEGER(u16)}},
    [STP_I32] = {"int32", sizeof(int32_t), {INTEGER(i32)}},
    [STP_U32] = {"uint32", sizeof(uint32_t), {INTEGER(u32)}},
    [STP_I64] = {"int64", sizeof(int64_t), {INTEGER(i64)}},
    [STP_U64] = {"uint64", sizeof(uint64_t), {INTEGER(u64)}},
    [STP_F32] = {"float", sizeof(float), {ORDERED(f32)}},
    [STP_F64] = {"double", sizeof(double), {ORDERED(f64)}},
    [STP_FLD] = {"longdouble", sizeof(long double), {ORDERED(fld)}},
    [STP_C32] = {"complexf", sizeof(float _Complex), {ARITH(c32)}},
    [STP_C64] = {"complexd", sizeof(double _Complex), {ARITH(c64)}},
};

size_t stp_dtype_size(enum stp_dtype dtype)
{
    return dtypes[dtype].size;
}

const char *stp_dtype_name(enum stp_dtype dtype)
{
    return dtypes[dtype].name;
}

bool stp_op_valid(enum stp_op op, enum stp_dtype dtype)
{
    return op < STP_N_OPS && dtype < STP_N_DTYPES && dtypes[dtype].reduce[op] != NULL;
}

void stp_op_reduce(enum stp_op op, enum stp_dtype dtype, void *inout, const void *in, size_t nelems)
{
    assert(stp_op_valid(op, dtype));
    dtypes[dtype].reduce[op](inout, in, nelems);
}
