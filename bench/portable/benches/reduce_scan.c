/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the sum of doubles with reduce, inscan and exscan. Only reduce has a raw side, and only
 * on the fabric. On this raw side, every member writes its vector to all other members. Then each
 * member adds all vectors.
 */
#include "coll_verify_and_raw_put.h"

#if BENCH_TEAMS

/* ---- reduce ----------------------------------------------------------------------------- */

/* Fills the source with ones, because arbitrary bytes could be denormal numbers, which are slow. */
static int open_reduce(struct bench_run *run, const struct bench *bench, char *reason, size_t len)
{
    double *source = (double *)run->source;

    (void)bench;
    (void)reason;
    (void)len;
    for (size_t i = 0; i < run->span / sizeof(*source); i++)
        source[i] = 1;
    return 0;
}

static void reduce(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_double_sum_reduce(run->team, (double *)(run->remote + run->offset),
                                (const double *)(run->source + run->offset),
                                run->nbytes / sizeof(double));
        run->offset = bench_next(run, run->offset);
    }
}

static void add(double *dest, const double *source, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dest[i] += source[i];
}

static void fabric_reduce(struct bench_run *run, uint64_t n_ops)
{
    size_t n = run->nbytes / sizeof(double);

    for (uint64_t i = 0; i < n_ops; i++) {
        char *blocks = run->fabric->memory + run->offset;
        char *my_block = blocks + (size_t)run->team_rank * run->nbytes;

        bench_fabric_put_to_all(run, (size_t)run->team_rank * run->nbytes, run->nbytes);
        bench_fabric_team_barrier(run, 1);
        for (int k = 0; k < run->team_size; k++)
            if (k != run->team_rank)
                add((double *)my_block, (const double *)(blocks + (size_t)k * run->nbytes), n);
        bench_fabric_team_barrier(run, 1);
        run->offset = bench_next(run, run->offset);
    }
}

/* ---- scans -------------------------------------------------------------------------------- */

static void inscan(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_double_sum_inscan(run->team, (double *)(run->remote + run->offset),
                                (const double *)(run->source + run->offset),
                                run->nbytes / sizeof(double));
        run->offset = bench_next(run, run->offset);
    }
}

static void exscan(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_double_sum_exscan(run->team, (double *)(run->remote + run->offset),
                                (const double *)(run->source + run->offset),
                                run->nbytes / sizeof(double));
        run->offset = bench_next(run, run->offset);
    }
}

/* ---- --verify -------------------------------------------------------------------------------- */

/* Fills the buffer of the first call with small integers, because their sums are exact. */
static void fill_doubles(struct bench_run *run, uint64_t block)
{
    double *source = (double *)run->source, *dest = (double *)run->remote;

    for (size_t i = 0; i < run->nbytes / sizeof(double); i++) {
        source[i] = (double)((i + block) % 64 + (uint64_t)run->me);
        dest[i] = -1;
    }
}

static void check_sum(struct bench_run *run, uint64_t block, int first_rank, int end_rank)
{
    const double *dest = (const double *)run->remote;

    for (size_t i = 0; i < run->nbytes / sizeof(double); i++) {
        double expected = 0;

        for (int k = first_rank; k < end_rank; k++)
            expected += (double)((i + block) % 64 + (uint64_t)bench_team_pe(run, k));
        if (dest[i] != expected)
            bench_die(run,
                      "--verify: wrong data: sum of %zu doubles: element %zu is %g, but must be "
                      "%g",
                      run->nbytes / sizeof(double), i, dest[i], expected);
    }
}

static void check_reduce(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    (void)n_ops;
    if (run->team_rank >= 0) check_sum(run, block, 0, run->team_size);
}

static void check_inscan(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    (void)n_ops;
    if (run->team_rank >= 0) check_sum(run, block, 0, run->team_rank + 1);
}

static void check_exscan(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    (void)n_ops;
    if (run->team_rank >= 0) check_sum(run, block, 0, run->team_rank);
}

static const struct bench rows[] = {
    {.name = "reduce",
     .description = "shmem_double_sum_reduce",
     BENCH_COLLECTIVE,
     .min_size = sizeof(double),
     .open = open_reduce,
     .fill = fill_doubles,
     .check = check_reduce,
     .steppe = {reduce, NULL},
     .joined_up_to = SIZE_MAX, /* data and flag are one message */
     .fabric = {fabric_reduce, NULL}},
    {.name = "inscan",
     .description = "shmem_double_sum_inscan",
     BENCH_COLLECTIVE,
     .min_size = sizeof(double),
     .fill = fill_doubles,
     .check = check_inscan,
     .steppe = {inscan, NULL}},
    {.name = "exscan",
     .description = "shmem_double_sum_exscan",
     BENCH_COLLECTIVE,
     .min_size = sizeof(double),
     .fill = fill_doubles,
     .check = check_exscan,
     .steppe = {exscan, NULL}},
};
BENCH_LIST(bench_list_reduce, rows);

#endif
