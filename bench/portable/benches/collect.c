/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures fcollect, and collect with blocks of equal size. There is no raw side.
 */
#include "coll_verify_and_raw_put.h"

#if BENCH_TEAMS

static void fcollect(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_fcollectmem(run->team, run->remote + run->offset, run->source + run->offset,
                          run->nbytes);
        run->offset = bench_next(run, run->offset);
    }
}

static void collect(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_collectmem(run->team, run->remote + run->offset, run->source + run->offset,
                         run->nbytes);
        run->offset = bench_next(run, run->offset);
    }
}

static void check(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    (void)n_ops;
    for (int i = 0; run->team_rank >= 0 && i < run->team_size; i++)
        bench_collective_check(run, "collect or fcollect", i, 0, block);
}

#define GATHER BENCH_COLLECTIVE, .fill = bench_collective_fill, .check = check

static const struct bench rows[] = {
    {.name = "fcollect",
     .description = "shmem_fcollectmem; the size is the block of one PE",
     GATHER,
     .steppe = {fcollect, NULL}},
    {.name = "collect",
     .description = "shmem_collectmem of equal blocks; the size is the block of one PE",
     GATHER,
     .steppe = {collect, NULL}},
};
BENCH_LIST(bench_list_collect, rows);

#endif
