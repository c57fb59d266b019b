/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures a lock that only PE 0 uses, and a lock that all PEs try to set at the same time.
 */
#include "../bench_definition.h"

/* Returns a lock whose state is on the peer, or the first lock if there is no such lock. */
static long *lock_of_peer(struct bench_run *run)
{
    for (int i = 0; i < BENCH_LOCKS; i++) {
        long *lock = &run->shared->locks[i], peer_value;

        shmem_set_lock(lock);
        peer_value = shmem_long_g(lock, run->peer);
        shmem_clear_lock(lock);
        if (peer_value != 0) return lock;
    }
    return run->shared->locks;
}

static long *measured_lock;

/* PE 0 chooses the lock. Meanwhile the other PEs wait in the barrier and use no lock. */
static int open_lock(struct bench_run *run, const struct bench *bench, char *reason, size_t len)
{
    (void)bench;
    (void)reason;
    (void)len;
    if (run->me == 0) measured_lock = lock_of_peer(run);
    shmem_barrier_all();
    return 0;
}

static int open_contended(struct bench_run *run, const struct bench *bench, char *reason,
                          size_t len)
{
    (void)bench;
    (void)reason;
    (void)len;
    measured_lock = run->shared->locks;
    return 0;
}

static void lock(struct bench_run *run, uint64_t n_ops)
{
    (void)run;
    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_set_lock(measured_lock);
        shmem_clear_lock(measured_lock);
    }
}

static const struct bench rows[] = {
    {.name = "lock",
     .group = "lock",
     .description = "shmem_set_lock + shmem_clear_lock of a lock that no other PE wants",
     .metric = BENCH_LATENCY,
     .open = open_lock,
     .steppe = {lock, NULL}},
    {.name = "contend-lock",
     .group = "lock",
     .description = "shmem_set_lock + shmem_clear_lock of one lock, called by all PEs at once",
     .metric = BENCH_LATENCY,
     .shape = BENCH_TO_ONE,
     .open = open_contended,
     .steppe = {lock, NULL}},
};
BENCH_LIST(bench_list_lock, rows);
