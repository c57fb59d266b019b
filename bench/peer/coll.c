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

/* ---- are they right? -------------------------------------------------------------- */

/* What a PE has to send: word i of what it has for all others. */
static double word_of(int pe, size_t i)
{
    return pe * 1e7 + (double)i;
}

/* What word i of dest has to be, with n_words a PE. */
typedef double wanted(const struct peer_run *run, size_t n_words, size_t i);

static double want_gathered(const struct peer_run *run, size_t n_words, size_t i)
{
    (void)run;
    return word_of((int)(i / n_words), i % n_words);
}

static double want_exchanged(const struct peer_run *run, size_t n_words, size_t i)
{
    return word_of((int)(i / n_words), (size_t)run->me * n_words + i % n_words);
}

static double want_sum(const struct peer_run *run, size_t n_words, size_t i)
{
    double sum = 0;

    (void)n_words;
    for (int pe = 0; pe < run->n_pes; pe++)
        sum += word_of(pe, i);
    return sum;
}

/* Of the call that comes next. */
static double want_root(const struct peer_run *run, size_t n_words, size_t i)
{
    (void)n_words;
    return word_of((int)(run->n_calls % (uint64_t)run->n_pes), i);
}

static void fill(struct peer_run *run, size_t n)
{
    double *source = (double *)(void *)run->source, *dest = (double *)(void *)run->dest;

    for (size_t i = 0; i < n; i++) {
        source[i] = word_of(run->me, i);
        dest[i] = -1;
    }
    peer_barrier();
}

/* One call; n_blocks blocks of nbytes are to be found in dest. */
static bool is_right(struct peer_run *run, void (*one)(struct peer_run *), wanted *want,
                     size_t n_blocks)
{
    const double *dest = (const double *)(const void *)run->dest;
    size_t n_words = run->nbytes / sizeof(double), n = n_words * n_blocks;
    bool right = true;

    fill(run, n);
    one(run);
    for (size_t i = 0; i < n && right; i++)
        right = dest[i] == want(run, n_words, i);
    run->n_calls++;
    return right;
}

/* Active sets leave the root's dest alone. */
static bool broadcast_is_right(struct peer_run *run)
{
    bool is_root = next_root(run) == run->me;

    return is_right(run, one_broadcast, want_root, 1) || is_root;
}

static bool reduce_is_right(struct peer_run *run)
{
    return is_right(run, one_reduce, want_sum, 1);
}

static bool fcollect_is_right(struct peer_run *run)
{
    return is_right(run, one_fcollect, want_gathered, (size_t)run->n_pes);
}

static bool collect_is_right(struct peer_run *run)
{
    return is_right(run, one_collect, want_gathered, (size_t)run->n_pes);
}

static bool alltoall_is_right(struct peer_run *run)
{
    return is_right(run, one_alltoall, want_exchanged, (size_t)run->n_pes);
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
     .origin = broadcast,
     .is_right = broadcast_is_right},
    {.name = "reduce",
     .group = "coll",
     .what = NAME("shmem_double_sum_reduce", "shmem_double_sum_to_all"),
     .sized = true,
     .all_pes = true,
     .origin = reduce,
     .is_right = reduce_is_right},
    {.name = "fcollect",
     .group = "coll",
     .what = NAME("shmem_fcollectmem", "shmem_fcollect64"),
     .sized = true,
     .all_pes = true,
     .blocks = true,
     .origin = fcollect,
     .is_right = fcollect_is_right},
    {.name = "collect",
     .group = "coll",
     .what = NAME("shmem_collectmem", "shmem_collect64"),
     .sized = true,
     .all_pes = true,
     .blocks = true,
     .origin = collect,
     .is_right = collect_is_right},
    {.name = "alltoall",
     .group = "coll",
     .what = NAME("shmem_alltoallmem", "shmem_alltoall64"),
     .sized = true,
     .all_pes = true,
     .blocks = true,
     .origin = alltoall,
     .is_right = alltoall_is_right},
    {.name = NULL},
};
