/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Provides the sizes of element types, and reduces arrays. The reductions call kernels (loops) that
 * are compiled for this processor. An operator is valid for a type if the table of kernels has an
 * entry for the operator and the type. Design: docs/design/base.md.
 */
#include "base/base.h"

#include "base/reduce_kernels.h"

#include <assert.h>

static const size_t dtype_sizes[STP_N_DTYPES] = {
    [STP_I8] = sizeof(int8_t),           [STP_U8] = sizeof(uint8_t),
    [STP_I16] = sizeof(int16_t),         [STP_U16] = sizeof(uint16_t),
    [STP_I32] = sizeof(int32_t),         [STP_U32] = sizeof(uint32_t),
    [STP_I64] = sizeof(int64_t),         [STP_U64] = sizeof(uint64_t),
    [STP_F32] = sizeof(float),           [STP_F64] = sizeof(double),
    [STP_FLD] = sizeof(long double),     [STP_C32] = sizeof(float _Complex),
    [STP_C64] = sizeof(double _Complex),
};

static const struct stp_kernels *kernels = &stp_kernels_base;

size_t stp_dtype_size(enum stp_dtype dtype)
{
    return dtype_sizes[dtype];
}

bool stp_op_valid(enum stp_op op, enum stp_dtype dtype)
{
    return op < STP_N_OPS && dtype < STP_N_DTYPES && kernels->reduce[dtype][op] != NULL;
}

void stp_op_reduce(enum stp_op op, enum stp_dtype dtype, void *inoutvec, const void *invec,
                   size_t nelems)
{
    assert(stp_op_valid(op, dtype));
    kernels->reduce[dtype][op](inoutvec, invec, nelems);
}

void stp_op_combine(enum stp_op op, enum stp_dtype dtype, void *dest1, void *dest2, const void *x,
                    const void *y, size_t nelems)
{
    assert(stp_op_valid(op, dtype));
    kernels->combine[dtype][op](dest1, dest2, x, y, nelems);
}

/* ---- levels of vector instructions ------------------------------------------------ */

static const struct stp_kernels *const levels[] = {
    [STP_ISA_BASE] = &stp_kernels_base,
#ifdef __x86_64__
    [STP_ISA_AVX2] = &stp_kernels_avx2,
    [STP_ISA_AVX512] = &stp_kernels_avx512,
#endif
};

enum stp_isa stp_isa_best(void)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return STP_ISA_AVX512;
    if (__builtin_cpu_supports("avx2")) return STP_ISA_AVX2;
#endif
    return STP_ISA_BASE;
}

bool stp_isa_choose(enum stp_isa isa)
{
    enum stp_isa best = stp_isa_best();

    if (isa == STP_ISA_AUTO) isa = best;
    if (isa > best) return false;
    kernels = levels[isa];
    return true;
}
