/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the rate of messages that are issued back to back, with one quiet per sample. In some
 * benches only PE 0 sends. In others many pairs of PEs send at once, or PE 0 sends in a session
 * with batching. On the node, the raw side uses memcpy(). On the fabric, it uses libfabric writes
 * or reads, and waits once for all of them.
 */
#include "../raw_fabric_wait_and_flush.h"

#include <string.h>

void bench_put_rate(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_putmem_nbi(run->remote + at, run->local + at, run->nbytes, run->peer);
        at = bench_next(run, at);
    }
    shmem_quiet();
    run->at = at;
}

void bench_node_put_rate(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        memcpy(run->remote_there + at, run->local + at, run->nbytes);
        bench_touch();
        at = bench_next(run, at);
    }
    bench_full_fence();
    run->at = at;
}

/* Starts n puts back to back, and then waits until all of them have arrived. */
void bench_fabric_put_stream(struct bench_run *run, uint64_t n)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n; i++) {
        run->fabric->put(run->peer, at, bench_fabric_local(run) + at, run->nbytes);
        at = bench_next(run, at);
    }
    run->fabric->wait();
    run->at = at;
}

static void put_rate_blocking(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_putmem(run->remote + at, run->local + at, run->nbytes, run->peer);
        at = bench_next(run, at);
    }
    shmem_quiet();
    run->at = at;
}

static void get_rate(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_getmem_nbi(run->local + at, run->remote + at, run->nbytes, run->peer);
        at = bench_next(run, at);
    }
    shmem_quiet();
    run->at = at;
}

static void fabric_get_rate(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        run->fabric->get(run->peer, at, bench_fabric_local(run) + at, run->nbytes);
        at = bench_next(run, at);
    }
    run->fabric->wait();
    run->at = at;
}

#define RATE .metric = BENCH_RATE, .min_ops = 1000
#define PUTS                                                                                       \
    RATE, .moves = BENCH_PUTS, .steppe = {bench_put_rate, NULL},                                   \
          .node = {bench_node_put_rate, NULL}, .fabric = {bench_fabric_put_stream, NULL}
#define GETS                                                                                       \
    RATE, .moves = BENCH_GETS, .steppe = {get_rate, NULL}, .node = {bench_node_get, NULL},         \
          .fabric = {fabric_get_rate, NULL}

static const struct bench rows[] = {
    {.name = "put-rate",
     .group = "rma",
     .what = "shmem_putmem_nbi of 8 bytes called back to back, with one shmem_quiet per sample",
     PUTS},
    {.name = "put-rate-blocking",
     .group = "rma",
     .what = "shmem_putmem of 8 bytes called back to back, with one shmem_quiet per sample",
     RATE,
     .moves = BENCH_PUTS,
     .steppe = {put_rate_blocking, NULL},
     .node = {bench_node_put_rate, NULL},
     .fabric = {bench_fabric_put_stream, NULL}},
    {.name = "get-rate",
     .group = "rma",
     .what = "shmem_getmem_nbi of 8 bytes called back to back, with one shmem_quiet per sample",
     GETS},
    {.name = "put-rate-pairs",
     .group = "rma",
     .what = "total put-rate of many pairs of PEs that transfer at once",
     .shape = BENCH_PAIRS,
     .parameter = &bench_pairs,
     PUTS},
    {.name = "get-rate-pairs",
     .group = "rma",
     .what = "total get-rate of many pairs of PEs that transfer at once",
     .shape = BENCH_PAIRS,
     .parameter = &bench_pairs,
     GETS},
#if BENCH_SESSIONS
    {.name = "batch-put-rate",
     .group = "session",
     .what =
         "put-rate in a session with SHMEM_CTX_SESSION_BATCH; the raw side sends each put alone",
     .open = bench_session_open,
     .close = bench_session_close,
     PUTS},
#endif
};
BENCH_LIST(bench_list_rate, rows);
