/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures bandwidth. One operation is a window of puts or gets, followed by one quiet. The benches
 * named bibw measure both directions at once. The bench put-bandwidth-pairs measures many pairs of
 * PEs at once. On the node, the raw side uses memcpy(). On the fabric, it uses libfabric writes or
 * reads, and waits once for each window.
 */
#include "../raw_fabric_wait_and_flush.h"

#include <string.h>

void bench_put_window(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++) {
            shmem_putmem_nbi(run->remote + at, run->local + at, run->nbytes, run->peer);
            at = bench_next(run, at);
        }
        shmem_quiet();
    }
    run->at = at;
}

void bench_node_put_window(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++) {
            memcpy(run->remote_there + at, run->local + at, run->nbytes);
            bench_touch();
            at = bench_next(run, at);
        }
        bench_full_fence();
    }
    run->at = at;
}

void bench_fabric_put_window(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        bench_fabric_put_stream(run, (uint64_t)run->window);
}

void bench_get_window(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++) {
            shmem_getmem_nbi(run->local + at, run->remote + at, run->nbytes, run->peer);
            at = bench_next(run, at);
        }
        shmem_quiet();
    }
    run->at = at;
}

void bench_node_get_window(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++)
        for (int k = 0; k < run->window; k++) {
            memcpy(run->local + at, run->remote_there + at, run->nbytes);
            bench_touch();
            at = bench_next(run, at);
        }
    run->at = at;
}

void bench_fabric_get_window(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++) {
            run->fabric->get(run->peer, at, bench_fabric_local(run) + at, run->nbytes);
            at = bench_next(run, at);
        }
        run->fabric->wait();
    }
    run->at = at;
}

#define PUTS                                                                                       \
    .moves = BENCH_PUTS, .steppe = {bench_put_window, NULL},                                       \
    .node = {bench_node_put_window, NULL}, .fabric = {bench_fabric_put_window, NULL}
#define GETS                                                                                       \
    .moves = BENCH_GETS, .steppe = {bench_get_window, NULL},                                       \
    .node = {bench_node_get_window, NULL}, .fabric = {bench_fabric_get_window, NULL}
#define BANDWIDTH .group = "rma", .metric = BENCH_BANDWIDTH, .sized = true, .windowed = true

static const struct bench rows[] = {
    {.name = "put-bandwidth",
     .what = "a window of shmem_putmem_nbi calls + shmem_quiet",
     BANDWIDTH,
     PUTS},
    {.name = "get-bandwidth",
     .what = "a window of shmem_getmem_nbi calls + shmem_quiet",
     BANDWIDTH,
     GETS},
    {.name = "put-bibw",
     .what = "put-bandwidth, with both PEs of the pair sending at once",
     .shape = BENCH_BOTH,
     BANDWIDTH,
     PUTS},
    {.name = "get-bibw",
     .what = "get-bandwidth, with both PEs of the pair reading at once",
     .shape = BENCH_BOTH,
     BANDWIDTH,
     GETS},
    {.name = "put-bandwidth-pairs",
     .what = "total put-bandwidth of many pairs of PEs that transfer at once",
     .shape = BENCH_PAIRS,
     .parameter = &bench_pairs,
     BANDWIDTH,
     PUTS},
};
BENCH_LIST(bench_list_bandwidth, rows);
