/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures puts with a signal. One bench calls quiet after each put. A second bench issues
 * nonblocking puts back to back. A third bench measures the round trip between two PEs. On the
 * node, the raw side uses memcpy() for the data and a store for the signal. On the fabric, it uses
 * a libfabric write, waits for this write, and then sends the signal with an atomic write.
 */
#include "../raw_fabric_wait_and_flush.h"

#include <string.h>

#if BENCH_TEAMS

static void put_signal(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *signal = bench_counter(run->shared, BENCH_STEPPE);
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_putmem_signal(run->remote + offset, run->local + offset, run->nbytes, signal, i,
                            SHMEM_SIGNAL_SET, run->peer);
        shmem_quiet();
        offset = bench_next(run, offset);
    }
    run->offset = offset;
}

static void put_signal_nbi(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *signal = bench_counter(run->shared, BENCH_STEPPE);
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_putmem_signal_nbi(run->remote + offset, run->local + offset, run->nbytes, signal, i,
                                SHMEM_SIGNAL_SET, run->peer);
        offset = bench_next(run, offset);
    }
    shmem_quiet();
    run->offset = offset;
}

static void node_one(struct bench_run *run, size_t offset, uint64_t *signal, uint64_t value)
{
    memcpy(run->remote_ptr + offset, run->local + offset, run->nbytes);
    __atomic_store_n(signal, value, __ATOMIC_RELEASE);
}

static void node_put_signal(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *signal = bench_counter(run->shared_ptr, BENCH_STEPPE);
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        node_one(run, offset, signal, i);
        bench_full_fence();
        offset = bench_next(run, offset);
    }
    run->offset = offset;
}

static void node_put_signal_nbi(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *signal = bench_counter(run->shared_ptr, BENCH_STEPPE);
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        node_one(run, offset, signal, i);
        offset = bench_next(run, offset);
    }
    bench_full_fence();
    run->offset = offset;
}

static void fabric_one(struct bench_run *run, size_t offset, size_t flag, uint64_t value)
{
    run->fabric->put(run->peer, offset, bench_fabric_local(run) + offset, run->nbytes);
    run->fabric->wait();
    run->fabric->store(run->peer, flag, value);
}

static void fabric_put_signal(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        fabric_one(run, offset, BENCH_FABRIC_FLAG(run, counter), i);
        bench_fabric_flush(run, run->peer);
        offset = bench_next(run, offset);
    }
    run->offset = offset;
}

static void fabric_put_signal_nbi(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        fabric_one(run, offset, BENCH_FABRIC_FLAG(run, counter), i);
        offset = bench_next(run, offset);
    }
    bench_fabric_flush(run, run->peer);
    run->offset = offset;
}

/* ---- transfers in both directions ------------------------------------------------------ */

static void send(struct bench_run *run)
{
    shmem_putmem_signal_nbi(run->remote, run->local, run->nbytes,
                            bench_turn(run->shared, BENCH_STEPPE), run->token, SHMEM_SIGNAL_SET,
                            run->peer);
}

static void await(struct bench_run *run)
{
    shmem_signal_wait_until(bench_turn(run->shared, BENCH_STEPPE), SHMEM_CMP_GE, run->token);
}

static void ping(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        run->token++;
        send(run);
        await(run);
    }
}

static void pong(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        run->token++;
        await(run);
        send(run);
    }
}

static void node_turn(struct bench_run *run, bool first)
{
    run->token++;
    if (first) node_one(run, 0, bench_turn(run->shared_ptr, BENCH_RAW), run->token);
    bench_spin_until(bench_turn(run->shared, BENCH_RAW), run->token, run->polls);
    if (!first) node_one(run, 0, bench_turn(run->shared_ptr, BENCH_RAW), run->token);
}

static void node_ping(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        node_turn(run, true);
}

static void node_pong(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        node_turn(run, false);
}

static void fabric_turn(struct bench_run *run, bool first)
{
    run->token++;
    if (first) fabric_one(run, 0, BENCH_FABRIC_FLAG(run, turn), run->token);
    bench_fabric_wait(run, &bench_fabric_flags(run)->turn.value, run->token);
    if (!first) fabric_one(run, 0, BENCH_FABRIC_FLAG(run, turn), run->token);
}

static void fabric_ping(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        fabric_turn(run, true);
}

static void fabric_pong(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        fabric_turn(run, false);
}

/* Steppe sends the data and the signal in one message. */
#define SIGNAL                                                                                     \
    .group = "signal", .metric = BENCH_LATENCY, .sized = true, .joined_up_to = BENCH_JOINED_SIGNAL

static const struct bench rows[] = {
    {.name = "put-signal",
     .description = "shmem_putmem_signal + shmem_quiet",
     SIGNAL,
     .moves = BENCH_PUTS,
     .steppe = {put_signal, NULL},
     .node = {node_put_signal, NULL},
     .fabric = {fabric_put_signal, NULL}},
    {.name = "put-signal-nbi",
     .description = "shmem_putmem_signal_nbi called back to back, with one shmem_quiet per sample",
     SIGNAL,
     .min_ops = 100,
     .moves = BENCH_PUTS,
     .steppe = {put_signal_nbi, NULL},
     .node = {node_put_signal_nbi, NULL},
     .fabric = {fabric_put_signal_nbi, NULL}},
    {.name = "signal-round-trip",
     .description = "shmem_putmem_signal_nbi + shmem_signal_wait_until, to the peer and back",
     SIGNAL,
     .steppe = {ping, pong},
     .node = {node_ping, node_pong},
     .fabric = {fabric_ping, fabric_pong}},
};
BENCH_LIST(bench_list_signal, rows);

#endif
