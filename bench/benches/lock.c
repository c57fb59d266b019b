/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks: nobody else wants it, or all PEs at once. Raw: exchange and compare-and-exchange on a word
 * of the peer; two fetching atomics of libfabric.
 */
#include "../fabric.h"

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

static void node_lock(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *word = bench_counter(run->shared_there, BENCH_RAW);

    for (uint64_t i = 0; i < n_ops; i++) {
        uint64_t taken = 1;

        __atomic_exchange_n(word, taken, __ATOMIC_SEQ_CST);
        __atomic_compare_exchange_n(word, &taken, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
}

static void fabric_lock(struct bench_run *run, uint64_t n_ops)
{
    bench_fabric_fetch_add(run, 2 * n_ops);
}

/* A lock of one word: the least that keeps PEs apart, with no order among those that wait. */
static void node_contended(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *word = bench_counter(run->shared_there, BENCH_RAW);

    for (uint64_t i = 0; i < n_ops; i++) {
        for (unsigned n = 1; __atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE) != 0; n++) {
            bench_pause();
            if (n % run->polls == 0) sched_yield();
        }
        __atomic_store_n(word, 0, __ATOMIC_RELEASE);
    }
}

static const struct bench rows[] = {
    {.name = "lock",
     .group = "lock",
     .what = "shmem_set_lock + shmem_clear_lock, nobody else wants it; raw: two fetching atomics",
     .metric = BENCH_LATENCY,
     .open = open_lock,
     .steppe = {lock, NULL},
     .node = {node_lock, NULL},
     .fabric = {fabric_lock, NULL}},
    {.name = "contend-lock",
     .group = "lock",
     .what = "shmem_set_lock + shmem_clear_lock by all PEs at once; raw: one word, first come by "
             "chance",
     .metric = BENCH_LATENCY,
     .shape = BENCH_TO_ONE,
     .open = open_contended,
     .steppe = {lock, NULL},
     .node = {node_contended, NULL}},
};
BENCH_LIST(bench_list_lock, rows);
