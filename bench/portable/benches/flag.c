/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the round trip of an 8-byte flag. Each PE sets the peer's flag with shmem_uint64_p() and
 * waits for its own flag with shmem_uint64_wait_until(). On the node, the raw side sets the flag
 * with a store. On the fabric, it sets the flag with a libfabric atomic write. The raw side waits
 * by polling.
 */
#include "../raw_fabric_wait_and_flush.h"

static void ping(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *turn = bench_turn(run->shared, BENCH_STEPPE);

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_uint64_p(turn, ++run->token, run->peer);
        shmem_uint64_wait_until(turn, SHMEM_CMP_GE, run->token);
    }
}

static void pong(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *turn = bench_turn(run->shared, BENCH_STEPPE);

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_uint64_wait_until(turn, SHMEM_CMP_GE, ++run->token);
        shmem_uint64_p(turn, run->token, run->peer);
    }
}

static void node_ping(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *my_flag = bench_turn(run->shared, BENCH_RAW);
    uint64_t *peer_flag = bench_turn(run->shared_ptr, BENCH_RAW);

    for (uint64_t i = 0; i < n_ops; i++) {
        __atomic_store_n(peer_flag, ++run->token, __ATOMIC_RELEASE);
        bench_spin_until(my_flag, run->token, run->polls);
    }
}

static void node_pong(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *my_flag = bench_turn(run->shared, BENCH_RAW);
    uint64_t *peer_flag = bench_turn(run->shared_ptr, BENCH_RAW);

    for (uint64_t i = 0; i < n_ops; i++) {
        bench_spin_until(my_flag, ++run->token, run->polls);
        __atomic_store_n(peer_flag, run->token, __ATOMIC_RELEASE);
    }
}

static void fabric_ping(struct bench_run *run, uint64_t n_ops)
{
    const uint64_t *my_flag = &bench_fabric_flags(run)->turn.value;

    for (uint64_t i = 0; i < n_ops; i++) {
        run->fabric->store(run->peer, BENCH_FABRIC_FLAG(run, turn), ++run->token);
        bench_fabric_wait(run, my_flag, run->token);
    }
}

static void fabric_pong(struct bench_run *run, uint64_t n_ops)
{
    const uint64_t *my_flag = &bench_fabric_flags(run)->turn.value;

    for (uint64_t i = 0; i < n_ops; i++) {
        bench_fabric_wait(run, my_flag, ++run->token);
        run->fabric->store(run->peer, BENCH_FABRIC_FLAG(run, turn), run->token);
    }
}

#define PING_PONG                                                                                  \
    .group = "signal", .metric = BENCH_LATENCY, .steppe = {ping, pong},                            \
    .node = {node_ping, node_pong}, .fabric = {fabric_ping, fabric_pong}

static const struct bench rows[] = {
    {.name = "flag",
     .description = "time of an 8-byte flag to the peer, which is half of flag-round-trip",
     .per_op = 2,
     PING_PONG},
    {.name = "flag-round-trip",
     .description =
         "an 8-byte flag to the peer and back by shmem_uint64_p + shmem_uint64_wait_until",
     PING_PONG},
};
BENCH_LIST(bench_list_flag, rows);
