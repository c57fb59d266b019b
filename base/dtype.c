/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Element types and reductions of them, by the kernels for this processor. Which pairs of operator
 * and type are valid is said once, by the table of kernels. Design: docs/design/base.md.
 */
#include "base/base.h"

#include "base/kernels.h"

#include <assert.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[STP_N_DTYPES] = {
    [STP_I8] = {"int8", sizeof(int8_t)},
    [STP_U8] = {"uint8", sizeof(uint8_t)},
    [STP_I16] = {"int16", sizeof(int16_t)},
    [STP_U16] = {"uint16", sizeof(uint16_t)},
    [STP_I32] = {"int32", sizeof(int32_t)},
    [STP_U32] = {"uint32", sizeof(uint32_t)},
    [STP_I64] = {"int64", sizeof(int64_t)},
    [STP_U64] = {"uint64", sizeof(uint64_t)},
    [STP_F32] = {"float", sizeof(float)},
    [STP_F64] = {"double", sizeof(double)},
    [STP_FLD] = {"longdouble", sizeof(long double)},
    [STP_C32] = {"complexf", sizeof(float _Complex)},
    [STP_C64] = {"complexd", sizeof(double _Complex)},
};

static const struct stp_kernels *kernels = &stp_kernels_base;

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
    return op < STP_N_OPS && dtype < STP_N_DTYPES && kernels->reduce[dtype][op] != NULL;
}

void stp_op_reduce(enum stp_op op, enum stp_dtype dtype, void *inout, const void *in, size_t nelems)
{
    assert(stp_op_valid(op, dtype));
    kernels->reduce[dtype][op](inout, in, nelems);
}

void stp_op_combine(enum stp_op op, enum stp_dtype dtype, void *to, void *also, const void *x,
                    const void *y, size_t nelems)
{
    assert(stp_op_valid(op, dtype));
    kernels->combine[dtype][op](to, also, x, y, nelems);
}

/* ---- levels of vector instructions ------------------------------------------------ */

#ifdef __x86_64__
static const struct stp_kernels *kernels_of(enum stp_isa isa)
{
    if (isa == STP_ISA_AVX512) return &stp_kernels_avx512;
    return isa == STP_ISA_AVX2 ? &stp_kernels_avx2 : &stp_kernels_base;
}

enum stp_isa stp_isa_best(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return STP_ISA_AVX512;
    return __builtin_cpu_supports("avx2") ? STP_ISA_AVX2 : STP_ISA_BASE;
}
#else
static const struct stp_kernels *kernels_of(enum stp_isa isa)
{
    (void)isa;
    return &stp_kernels_base;
}

enum stp_isa stp_isa_best(void)
{
    return STP_ISA_BASE;
}
#endif

bool stp_isa_choose(enum stp_isa isa)
{
    enum stp_isa best = stp_isa_best();

    if (isa == STP_ISA_AUTO) isa = best;
    if (isa > best) return false;
    kernels = kernels_of(isa);
    return true;
}
