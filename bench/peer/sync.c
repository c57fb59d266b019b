/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flags, barriers, and allocation, which has a barrier in it.
 */
#include <shmem.h>
#include "shmem_peer.h"

static void ping(struct peer_run *run, uint64_t n_ops)
{
    long *turn = &peer_shmem.words->turn.value;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_long_p(turn, ++run->token, run->other);
        shmem_long_wait_until(turn, SHMEM_CMP_GE, run->token);
    }
}

static void pong(struct peer_run *run, uint64_t n_ops)
{
    long *turn = &peer_shmem.words->turn.value;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_long_wait_until(turn, SHMEM_CMP_GE, ++run->token);
        shmem_long_p(turn, run->token, run->other);
    }
}

static void barrier(struct peer_run *run, uint64_t n_ops)
{
    (void)run;
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_barrier_all();
}

static void sync(struct peer_run *run, uint64_t n_ops)
{
    (void)run;
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_sync_all();
}

static void malloc_free(struct peer_run *run, uint64_t n_ops)
{
    (void)run;
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_free(shmem_malloc(64));
}

const struct peer_bench peer_sync[] = {
    {.name = "flag-round-trip",
     .group = "sync",
     .what = "8-byte flag there and back: shmem_long_p + shmem_long_wait_until",
     .origin = ping,
     .target = pong,
     .raw_origin = raw_ping,
     .raw_target = raw_pong},
    {.name = "barrier",
     .group = "sync",
     .what = "shmem_barrier_all",
     .all_pes = true,
     .origin = barrier,
     .raw_origin = raw_barrier},
    {.name = "sync",
     .group = "sync",
     .what = "shmem_sync_all",
     .all_pes = true,
     .origin = sync,
     .raw_origin = raw_barrier},
    {.name = "malloc",
     .group = "sync",
     .what = "shmem_malloc of 64 bytes + shmem_free, all PEs",
     .all_pes = true,
     .origin = malloc_free},
    {.name = NULL},
};
