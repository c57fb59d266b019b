/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks: nobody else wants it, or all PEs at once.
 */
#include "../bench_definition.h"

/* A lock whose state, while it is held, is on the peer; the first one where there is none. */
static long *lock_of_peer(struct bench_run *run)
{
    for (int i = 0; i < BENCH_LOCKS; i++) {
        long *lock = &run->shared->locks[i], there;

        shmem_set_lock(lock);
        there = shmem_long_g(lock, run->peer);
        shmem_clear_lock(lock);
        if (there != 0) return lock;
    }
    return run->shared->locks;
}

static long *chosen;

/* Every PE goes through the locks in turn, so that each is met by one. */
static int open_lock(struct bench_run *run, const struct bench *bench, char *why, size_t len)
{
    (void)bench;
    (void)why;
    (void)len;
    if (run->me == 0) chosen = lock_of_peer(run);
    shmem_barrier_all();
    return 0;
}

static int open_contended(struct bench_run *run, const struct bench *bench, char *why, size_t len)
{
    (void)bench;
    (void)why;
    (void)len;
    chosen = run->shared->locks;
    return 0;
}

static void lock(struct bench_run *run, uint64_t n_ops)
{
    (void)run;
    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_set_lock(chosen);
        shmem_clear_lock(chosen);
    }
}

static const struct bench rows[] = {
    {.name = "lock",
     .group = "lock",
     .what = "shmem_set_lock + shmem_clear_lock, nobody else wants it",
     .metric = BENCH_LATENCY,
     .open = open_lock,
     .steppe = {lock, NULL}},
    {.name = "contend-lock",
     .group = "lock",
     .what = "shmem_set_lock + shmem_clear_lock by all PEs at once",
     .metric = BENCH_LATENCY,
     .shape = BENCH_TO_ONE,
     .open = open_contended,
     .steppe = {lock, NULL}},
};
BENCH_LIST(bench_list_lock, rows);
