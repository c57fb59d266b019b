/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives over all PEs, by teams where the implementation has 1.5, else by active sets.
 * Messages are of nbytes a PE. Roots take turns, so that no call can run ahead of the others.
 */
#include <shmem.h>
#include "shmem_peer.h"

static int next_root(struct peer_run *run)
{
    return (int)(run->n_calls % (uint64_t)run->n_pes);
}

#if PEER_ACTIVE_SETS

#define WORDS (run->nbytes / 8)

static long *next_psync(struct peer_run *run)
{
    return peer_shmem.psync + run->n_calls % peer_shmem.n_psync * SHMEM_SYNC_SIZE;
}

static void one_broadcast(struct peer_run *run)
{
    shmem_broadcast64(run->dest, run->source, WORDS, next_root(run), 0, 0, run->n_pes,
                      next_psync(run));
}

/* A PE that ends a reduction knows that all others have ended the one before: two are enough. */
static void one_reduce(struct peer_run *run)
{
    shmem_double_sum_to_all((double *)(void *)run->dest, (double *)(void *)run->source, (int)WORDS,
                            0, 0, run->n_pes, peer_shmem.pwrk[run->n_calls % 2], next_psync(run));
}

static void one_fcollect(struct peer_run *run)
{
    shmem_fcollect64(run->dest, run->source, WORDS, 0, 0, run->n_pes, next_psync(run));
}

static void one_collect(struct peer_run *run)
{
    shmem_collect64(run->dest, run->source, WORDS, 0, 0, run->n_pes, next_psync(run));
}

static void one_alltoall(struct peer_run *run)
{
    shmem_alltoall64(run->dest, run->source, WORDS, 0, 0, run->n_pes, next_psync(run));
}

#else

static void one_broadcast(struct peer_run *run)
{
    shmem_broadcastmem(SHMEM_TEAM_WORLD, run->dest, run->source, run->nbytes, next_root(run));
}

static void one_reduce(struct peer_run *run)
{
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, (double *)(void *)run->dest,
                            (double *)(void *)run->source, run->nbytes / sizeof(double));
}

static void one_fcollect(struct peer_run *run)
{
    shmem_fcollectmem(SHMEM_TEAM_WORLD, run->dest, run->source, run->nbytes);
}

static void one_collect(struct peer_run *run)
{
    shmem_collectmem(SHMEM_TEAM_WORLD, run->dest, run->source, run->nbytes);
}

static void one_alltoall(struct peer_run *run)
{
    shmem_alltoallmem(SHMEM_TEAM_WORLD, run->dest, run->source, run->nbytes);
}

#endif

static void broadcast(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++, run->n_calls++)
        one_broadcast(run);
}

static void reduce(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++, run->n_calls++)
        one_reduce(run);
}

static void fcollect(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++, run->n_calls++)
        one_fcollect(run);
}

static void collect(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++, run->n_calls++)
        one_collect(run);
}

static void alltoall(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++, run->n_calls++)
        one_alltoall(run);
}

#if PEER_ACTIVE_SETS
#define NAME(teams, active_sets) active_sets
#else
#define NAME(teams, active_sets) teams
#endif

const struct peer_bench peer_coll[] = {
    {.name = "broadcast",
     .group = "coll",
     .what = NAME("shmem_broadcastmem", "shmem_broadcast64") ", roots in turn",
     .sized = true,
     .all_pes = true,
     .origin = broadcast},
    {.name = "reduce",
     .group = "coll",
     .what = NAME("shmem_double_sum_reduce", "shmem_double_sum_to_all"),
     .sized = true,
     .all_pes = true,
     .origin = reduce},
    {.name = "fcollect",
     .group = "coll",
     .what = NAME("shmem_fcollectmem", "shmem_fcollect64"),
     .sized = true,
     .all_pes = true,
     .blocks = true,
     .origin = fcollect},
    {.name = "collect",
     .group = "coll",
     .what = NAME("shmem_collectmem", "shmem_collect64"),
     .sized = true,
     .all_pes = true,
     .blocks = true,
     .origin = collect},
    {.name = "alltoall",
     .group = "coll",
     .what = NAME("shmem_alltoallmem", "shmem_alltoall64"),
     .sized = true,
     .all_pes = true,
     .blocks = true,
     .origin = alltoall},
    {.name = NULL},
};
