/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reduce (--op, --type) and the scans. The raw side of reduce, over libfabric only: every member
 * writes its vector to all others, and each adds them up as doubles, whatever --op and --type are.
 */
#include "collective.h"

#include <string.h>

#if BENCH_TEAMS

/* ---- operations and types ------------------------------------------------------------- */

typedef int reduce_fn(shmem_team_t team, void *dest, const void *source, size_t n);

typedef void ones_fn(void *to, size_t n);

struct kind {
    const char *op, *type;
    size_t width;
    ones_fn *ones;
    reduce_fn *reduce;
};

#define FUNCTIONS(type, op)                                                                        \
    static int reduce_##type##_##op(shmem_team_t team, void *dest, const void *source, size_t n)   \
    {                                                                                              \
        return shmem_##type##_##op##_reduce(team, dest, source, n);                                \
    }                                                                                              \
    struct kind

FUNCTIONS(int, sum);
FUNCTIONS(int, prod);
FUNCTIONS(int, min);
FUNCTIONS(int, max);
FUNCTIONS(long, sum);
FUNCTIONS(long, prod);
FUNCTIONS(long, min);
FUNCTIONS(long, max);
FUNCTIONS(float, sum);
FUNCTIONS(float, prod);
FUNCTIONS(float, min);
FUNCTIONS(float, max);
FUNCTIONS(double, sum);
FUNCTIONS(double, prod);
FUNCTIONS(double, min);
FUNCTIONS(double, max);

#define ONES(type)                                                                                 \
    static void ones_##type(void *to, size_t n)                                                    \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            ((type *)to)[i] = 1;                                                                   \
    }                                                                                              \
    struct kind

ONES(int);
ONES(long);
ONES(float);
ONES(double);

/* Of bits: the library has them for unsigned types. */
#define BITS(type, name, op)                                                                       \
    static int reduce_##type##_##op(shmem_team_t team, void *dest, const void *source, size_t n)   \
    {                                                                                              \
        return shmem_##name##_##op##_reduce(team, dest, source, n);                                \
    }                                                                                              \
    struct kind

BITS(int, uint, and);
BITS(int, uint, or);
BITS(int, uint, xor);
BITS(long, ulong, and);
BITS(long, ulong, or);
BITS(long, ulong, xor);

#define KIND(type, op)                                                                             \
    {                                                                                              \
#op, #type, sizeof(type), ones_##type, reduce_##type##_##op                                \
    }
static const struct kind kinds[] = {
    KIND(int, sum),    KIND(int, prod),  KIND(int, min),    KIND(int, max),     KIND(long, sum),
    KIND(long, prod),  KIND(long, min),  KIND(long, max),   KIND(float, sum),   KIND(float, prod),
    KIND(float, min),  KIND(float, max), KIND(double, sum), KIND(double, prod), KIND(double, min),
    KIND(double, max), KIND(int, and),   KIND(int, or),     KIND(int, xor),     KIND(long, and),
    KIND(long, or),    KIND(long, xor),
};

static const struct kind *kind;
static uint64_t n_elements;

static int open_reduce(struct bench_run *run, const struct bench *bench, char *why, size_t len)
{
    const char *op, *type;

    bench_reduce_words(run, &op, &type);
    kind = NULL;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].op, op) == 0 && strcmp(kinds[i].type, type) == 0) kind = &kinds[i];
    if (kind == NULL) bench_die(run, "%s: no operation %s of type %s", bench->name, op, type);
    (void)why;
    (void)len;
    n_elements = run->nbytes / kind->width;
    kind->ones(run->source, run->span / kind->width); /* no number that slows a processor down */
    return 0;
}

/* ---- reduce ----------------------------------------------------------------------------- */

static void reduce(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        kind->reduce(run->team, run->remote + run->at, run->source + run->at, n_elements);
        run->at = bench_next(run, run->at);
    }
}

static void add(double *to, const double *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += from[i];
}

static void fabric_reduce(struct bench_run *run, uint64_t n_ops)
{
    size_t n = run->nbytes / sizeof(double);

    for (uint64_t i = 0; i < n_ops; i++) {
        char *all = run->fabric->memory + run->at;
        char *mine = all + (size_t)run->team_me * run->nbytes;

        bench_fabric_push(run, (size_t)run->team_me * run->nbytes, run->nbytes);
        bench_fabric_team_barrier(run, 1);
        for (int k = 0; k < run->team_size; k++)
            if (k != run->team_me)
                add((double *)mine, (const double *)(all + (size_t)k * run->nbytes), n);
        bench_fabric_team_barrier(run, 1);
        run->at = bench_next(run, run->at);
    }
}

/* ---- scans -------------------------------------------------------------------------------- */

static void inscan(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_double_sum_inscan(run->team, (double *)(run->remote + run->at),
                                (const double *)(run->source + run->at),
                                run->nbytes / sizeof(double));
        run->at = bench_next(run, run->at);
    }
}

static void exscan(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_double_sum_exscan(run->team, (double *)(run->remote + run->at),
                                (const double *)(run->source + run->at),
                                run->nbytes / sizeof(double));
        run->at = bench_next(run, run->at);
    }
}

/* ---- --verify: small whole numbers, whose sums no rounding changes ----------------------- */

/* In the first buffer, which the first call of a block works on. */
static void fill_doubles(struct bench_run *run, uint64_t block)
{
    double *source = (double *)run->source, *dest = (double *)run->remote;

    for (size_t i = 0; i < run->nbytes / sizeof(double); i++) {
        source[i] = (double)((i + block) % 64 + (uint64_t)run->me);
        dest[i] = -1;
    }
}

static void check_sum(struct bench_run *run, uint64_t block, int from, int to)
{
    const double *dest = (const double *)run->remote;

    for (size_t i = 0; i < run->nbytes / sizeof(double); i++) {
        double want = 0;

        for (int k = from; k < to; k++)
            want += (double)((i + block) % 64 + (uint64_t)bench_team_pe(run, k));
        if (dest[i] != want)
            bench_die(run, "--verify: sum of %zu doubles: element %zu is %g, not %g",
                      run->nbytes / sizeof(double), i, dest[i], want);
    }
}

static void check_reduce(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    bool sum = strcmp(kind->op, "sum") == 0 && strcmp(kind->type, "double") == 0;

    (void)n_ops;
    if (sum && run->team_me >= 0) check_sum(run, block, 0, run->team_size);
}

static void check_inscan(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    (void)n_ops;
    if (run->team_me >= 0) check_sum(run, block, 0, run->team_me + 1);
}

static void check_exscan(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    (void)n_ops;
    if (run->team_me >= 0) check_sum(run, block, 0, run->team_me);
}

static const struct bench rows[] = {
    {.name = "reduce",
     .what = "shmem_TYPE_OP_reduce (--type, --op)",
     BENCH_COLLECTIVE,
     .min_size = sizeof(double),
     .open = open_reduce,
     .fill = fill_doubles,
     .check = check_reduce,
     .steppe = {reduce, NULL},
     .fabric = {fabric_reduce, NULL}},
    {.name = "inscan",
     .what = "shmem_double_sum_inscan",
     BENCH_COLLECTIVE,
     .min_size = sizeof(double),
     .fill = fill_doubles,
     .check = check_inscan,
     .steppe = {inscan, NULL}},
    {.name = "exscan",
     .what = "shmem_double_sum_exscan",
     BENCH_COLLECTIVE,
     .min_size = sizeof(double),
     .fill = fill_doubles,
     .check = check_exscan,
     .steppe = {exscan, NULL}},
};
BENCH_LIST(bench_list_reduce, rows);

#endif
