/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What raw reductions combine elements with: one loop for both results, with the widest vector
 * instructions that the processor has.
 */
#include "harness.h"

#include <string.h>

#define SUM(x, y) ((x) + (y))
#define PROD(x, y) ((x) * (y))
#define MIN(x, y) ((y) < (x) ? (y) : (x))
#define MAX(x, y) ((y) > (x) ? (y) : (x))
#define AND(x, y) ((x) & (y))
#define OR(x, y) ((x) | (y))
#define XOR(x, y) ((x) ^ (y))

#define NAME_(level, type, op) level##_##type##_##op
#define NAME(level, type, op) NAME_(level, type, op)
#define TABLE_(level) level##_loops
#define TABLE(level) TABLE_(level)

/* Results may stand in the place of operands: no iteration needs another's. */
#ifdef __clang__
#define INDEPENDENT
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

struct combine {
    const char *op, *type;
    bench_combine_fn *combine;
};

#define LEVEL base
#define TARGET
#include "combine.tmpl.h"

#ifdef __x86_64__
#define LEVEL avx2
#define TARGET __attribute__((target("avx2")))
#include "combine.tmpl.h"

#define LEVEL avx512
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#include "combine.tmpl.h"
#endif

static const struct combine *widest(void)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return avx512_loops;
    if (__builtin_cpu_supports("avx2")) return avx2_loops;
#endif
    return base_loops;
}

bench_combine_fn *bench_combine(const char *op, const char *type)
{
    const struct combine *loops = widest();

    for (size_t i = 0; i < sizeof(base_loops) / sizeof(base_loops[0]); i++)
        if (strcmp(loops[i].op, op) == 0 && strcmp(loops[i].type, type) == 0)
            return loops[i].combine;
    return NULL;
}
