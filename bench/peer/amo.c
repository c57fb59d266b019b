/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics and locks between PE 0 and its partner.
 */
#include <shmem.h>
#include "shmem_peer.h"

static void fetch_add(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        (void)shmem_long_atomic_fetch_add(&peer_shmem.words->counter.value, 1, run->other);
}

static void add(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_long_atomic_add(&peer_shmem.words->counter.value, 1, run->other);
    shmem_quiet();
}

static void swap(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        (void)shmem_long_atomic_swap(&peer_shmem.words->counter.value, (long)i, run->other);
}

/* Each one succeeds but perhaps the first. */
static void compare_swap(struct peer_run *run, uint64_t n_ops)
{
    static long seen;

    for (uint64_t i = 0; i < n_ops; i++) {
        long *counter = &peer_shmem.words->counter.value;
        long old = shmem_long_atomic_compare_swap(counter, seen, seen + 1, run->other);

        seen = old == seen ? seen + 1 : old;
    }
}

/* A lock whose state, while it is held, is on the partner; the first one where there is none. */
static long *lock_of_partner(const struct peer_run *run)
{
    for (int i = 0; i < PEER_LOCKS; i++) {
        long *lock = &peer_shmem.words->locks[i], there;

        shmem_set_lock(lock);
        there = shmem_long_g(lock, run->other);
        shmem_clear_lock(lock);
        if (there != 0) return lock;
    }
    return peer_shmem.words->locks;
}

static void lock(struct peer_run *run, uint64_t n_ops)
{
    static long *state;

    if (state == NULL) state = lock_of_partner(run);
    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_set_lock(state);
        shmem_clear_lock(state);
    }
}

const struct peer_bench peer_amo[] = {
    {.name = "atomic-fetch-add",
     .group = "amo",
     .what = "shmem_long_atomic_fetch_add",
     .origin = fetch_add,
     .raw_origin = raw_fetch_add},
    {.name = "atomic-add",
     .group = "amo",
     .what = "shmem_long_atomic_add back to back, one shmem_quiet a sample",
     .min_ops = 1000,
     .origin = add,
     .raw_origin = raw_fetch_add},
    {.name = "atomic-swap",
     .group = "amo",
     .what = "shmem_long_atomic_swap",
     .origin = swap,
     .raw_origin = raw_swap},
    {.name = "atomic-cswap",
     .group = "amo",
     .what = "shmem_long_atomic_compare_swap",
     .origin = compare_swap,
     .raw_origin = raw_compare_swap},
    {.name = "lock",
     .group = "amo",
     .what = "shmem_set_lock + shmem_clear_lock, nobody else wants it",
     .origin = lock,
     .raw_origin = raw_lock},
    {.name = NULL},
};
