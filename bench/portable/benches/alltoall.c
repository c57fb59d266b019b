/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures alltoall and alltoalls. The elements of alltoalls have 8 bytes, and both strides are 2.
 * There is no raw side.
 */
#include "coll_verify_and_raw_put.h"

#if BENCH_TEAMS

#define STRIDE 2

static void alltoall(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_alltoallmem(run->team, run->remote + run->offset, run->source + run->offset,
                          run->nbytes);
        run->offset = bench_next(run, run->offset);
    }
}

static void alltoalls(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_uint64_alltoalls(run->team, (uint64_t *)(run->remote + run->offset),
                               (uint64_t *)(run->source + run->offset), STRIDE, STRIDE,
                               run->nbytes / sizeof(uint64_t));
        run->offset = bench_next(run, run->offset);
    }
}

/* Checks the block that each member has sent to this PE. */
static void check(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    (void)n_ops;
    for (int i = 0; run->team_rank >= 0 && i < run->team_size; i++)
        bench_collective_check(run, "alltoall", i, (size_t)run->team_rank * run->nbytes, block);
}

static void check_strided(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    size_t n = run->nbytes / sizeof(uint64_t), width = sizeof(uint64_t);

    (void)n_ops;
    for (int i = 0; run->team_rank >= 0 && i < run->team_size; i++)
        for (size_t j = 0; j < n; j++)
            bench_pattern_check(
                run, "alltoalls", run->remote + (((size_t)i * n + j) * STRIDE) * width, width,
                (((size_t)run->team_rank * n + j) * STRIDE) * width, bench_team_pe(run, i), block);
}

static size_t strided_extent(const struct bench_run *run)
{
    return run->nbytes * STRIDE * (size_t)run->n_pes;
}

static const struct bench rows[] = {
    {.name = "alltoall",
     .description = "shmem_alltoallmem; the size is the block for one PE",
     BENCH_COLLECTIVE,
     .fill = bench_collective_fill,
     .check = check,
     .steppe = {alltoall, NULL}},
    {.name = "alltoalls",
     .description = "shmem_uint64_alltoalls with strides of 2; the size is the block for one PE",
     BENCH_COLLECTIVE,
     .min_size = sizeof(uint64_t),
     .extent = strided_extent,
     .fill = bench_collective_fill,
     .check = check_strided,
     .steppe = {alltoalls, NULL}},
};
BENCH_LIST(bench_list_alltoall, rows);

#endif
