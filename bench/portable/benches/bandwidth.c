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
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++) {
            shmem_putmem_nbi(run->remote + offset, run->local + offset, run->nbytes, run->peer);
            offset = bench_next(run, offset);
        }
        shmem_quiet();
    }
    run->offset = offset;
}

void bench_node_put_window(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++) {
            memcpy(run->remote_ptr + offset, run->local + offset, run->nbytes);
            bench_touch();
            offset = bench_next(run, offset);
        }
        bench_full_fence();
    }
    run->offset = offset;
}

void bench_fabric_put_window(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        bench_fabric_put_stream(run, (uint64_t)run->window);
}

void bench_get_window(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++) {
            shmem_getmem_nbi(run->local + offset, run->remote + offset, run->nbytes, run->peer);
            offset = bench_next(run, offset);
        }
        shmem_quiet();
    }
    run->offset = offset;
}

void bench_node_get_window(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++)
        for (int k = 0; k < run->window; k++) {
            memcpy(run->local + offset, run->remote_ptr + offset, run->nbytes);
            bench_touch();
            offset = bench_next(run, offset);
        }
    run->offset = offset;
}

void bench_fabric_get_window(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++) {
            run->fabric->get(run->peer, offset, bench_fabric_local(run) + offset, run->nbytes);
            offset = bench_next(run, offset);
        }
        run->fabric->wait();
    }
    run->offset = offset;
}

#define PUTS                                                                                       \
    .moves = BENCH_PUTS, .joined_up_to = BENCH_JOINED_PUT, .steppe = {bench_put_window, NULL},     \
    .node = {bench_node_put_window, NULL}, .fabric = {bench_fabric_put_window, NULL}
#define GETS                                                                                       \
    .moves = BENCH_GETS, .steppe = {bench_get_window, NULL},                                       \
    .node = {bench_node_get_window, NULL}, .fabric = {bench_fabric_get_window, NULL}
#define BANDWIDTH .group = "rma", .metric = BENCH_BANDWIDTH, .sized = true, .windowed = true

static const struct bench rows[] = {
    {.name = "put-bandwidth",
     .description = "a window of shmem_putmem_nbi calls + shmem_quiet",
     BANDWIDTH,
     PUTS},
    {.name = "get-bandwidth",
     .description = "a window of shmem_getmem_nbi calls + shmem_quiet",
     BANDWIDTH,
     GETS},
    {.name = "put-bibw",
     .description = "put-bandwidth, with both PEs of the pair sending at once",
     .shape = BENCH_BOTH,
     BANDWIDTH,
     PUTS},
    {.name = "get-bibw",
     .description = "get-bandwidth, with both PEs of the pair reading at once",
     .shape = BENCH_BOTH,
     BANDWIDTH,
     GETS},
    {.name = "put-bandwidth-pairs",
     .description = "total put-bandwidth of many pairs of PEs that transfer at once",
     .shape = BENCH_PAIRS,
     .parameter = &bench_pairs,
     BANDWIDTH,
     PUTS},
};
BENCH_LIST(bench_list_bandwidth, rows);
