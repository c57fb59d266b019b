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
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_putmem_nbi(run->remote + offset, run->local + offset, run->nbytes, run->peer);
        offset = bench_next(run, offset);
    }
    shmem_quiet();
    run->offset = offset;
}

void bench_node_put_rate(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        memcpy(run->remote_ptr + offset, run->local + offset, run->nbytes);
        bench_touch();
        offset = bench_next(run, offset);
    }
    bench_full_fence();
    run->offset = offset;
}

/* Starts n puts back to back, and then waits until all of them have arrived. */
void bench_fabric_put_stream(struct bench_run *run, uint64_t n)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n; i++) {
        run->fabric->put(run->peer, offset, bench_fabric_local(run) + offset, run->nbytes);
        offset = bench_next(run, offset);
    }
    run->fabric->wait();
    run->offset = offset;
}

static void put_rate_blocking(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_putmem(run->remote + offset, run->local + offset, run->nbytes, run->peer);
        offset = bench_next(run, offset);
    }
    shmem_quiet();
    run->offset = offset;
}

static void get_rate(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_getmem_nbi(run->local + offset, run->remote + offset, run->nbytes, run->peer);
        offset = bench_next(run, offset);
    }
    shmem_quiet();
    run->offset = offset;
}

static void fabric_get_rate(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        run->fabric->get(run->peer, offset, bench_fabric_local(run) + offset, run->nbytes);
        offset = bench_next(run, offset);
    }
    run->fabric->wait();
    run->offset = offset;
}

#define RATE .metric = BENCH_RATE, .min_ops = 1000
#define PUTS                                                                                       \
    RATE, .moves = BENCH_PUTS, .joined_up_to = BENCH_JOINED_PUT, .steppe = {bench_put_rate, NULL}, \
          .node = {bench_node_put_rate, NULL}, .fabric = {bench_fabric_put_stream, NULL}
#define GETS                                                                                       \
    RATE, .moves = BENCH_GETS, .steppe = {get_rate, NULL}, .node = {bench_node_get, NULL},         \
          .fabric = {fabric_get_rate, NULL}

static const struct bench rows[] = {
    {.name = "put-rate",
     .group = "rma",
     .description =
         "shmem_putmem_nbi of 8 bytes called back to back, with one shmem_quiet per sample",
     PUTS},
    {.name = "put-rate-blocking",
     .group = "rma",
     .description = "shmem_putmem of 8 bytes called back to back, with one shmem_quiet per sample",
     RATE,
     .moves = BENCH_PUTS,
     .joined_up_to = BENCH_JOINED_PUT,
     .steppe = {put_rate_blocking, NULL},
     .node = {bench_node_put_rate, NULL},
     .fabric = {bench_fabric_put_stream, NULL}},
    {.name = "get-rate",
     .group = "rma",
     .description =
         "shmem_getmem_nbi of 8 bytes called back to back, with one shmem_quiet per sample",
     GETS},
    {.name = "put-rate-pairs",
     .group = "rma",
     .description = "total put-rate of many pairs of PEs that transfer at once",
     .shape = BENCH_PAIRS,
     .parameter = &bench_pairs,
     PUTS},
    {.name = "get-rate-pairs",
     .group = "rma",
     .description = "total get-rate of many pairs of PEs that transfer at once",
     .shape = BENCH_PAIRS,
     .parameter = &bench_pairs,
     GETS},
#if BENCH_SESSIONS
    {.name = "batch-put-rate",
     .group = "session",
     .description =
         "put-rate in a session with SHMEM_CTX_SESSION_BATCH; the raw side sends each put alone",
     .open = bench_session_open,
     .close = bench_session_close,
     PUTS},
#endif
};
BENCH_LIST(bench_list_rate, rows);
