/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the latency of puts and gets, blocking and nonblocking. On the node, the raw side uses
 * memcpy(), with a fence after a put. On the fabric, the raw side uses libfabric writes with
 * FI_DELIVERY_COMPLETE for puts and libfabric reads for gets. It waits for each operation.
 */
#include "../raw_fabric_wait_and_flush.h"

#include <string.h>

void bench_put(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_putmem(run->remote + offset, run->local + offset, run->nbytes, run->peer);
        shmem_quiet();
        offset = bench_next(run, offset);
    }
    run->offset = offset;
}

void bench_node_put(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        memcpy(run->remote_ptr + offset, run->local + offset, run->nbytes);
        bench_full_fence();
        offset = bench_next(run, offset);
    }
    run->offset = offset;
}

void bench_fabric_put(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        run->fabric->put(run->peer, offset, bench_fabric_local(run) + offset, run->nbytes);
        run->fabric->wait();
        offset = bench_next(run, offset);
    }
    run->offset = offset;
}

void bench_get(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_getmem(run->local + offset, run->remote + offset, run->nbytes, run->peer);
        offset = bench_next(run, offset);
    }
    run->offset = offset;
}

void bench_node_get(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        memcpy(run->local + offset, run->remote_ptr + offset, run->nbytes);
        bench_touch();
        offset = bench_next(run, offset);
    }
    run->offset = offset;
}

void bench_fabric_get(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        run->fabric->get(run->peer, offset, bench_fabric_local(run) + offset, run->nbytes);
        run->fabric->wait();
        offset = bench_next(run, offset);
    }
    run->offset = offset;
}

static void put_nbi(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_putmem_nbi(run->remote + offset, run->local + offset, run->nbytes, run->peer);
        shmem_quiet();
        offset = bench_next(run, offset);
    }
    run->offset = offset;
}

static void get_nbi(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_getmem_nbi(run->local + offset, run->remote + offset, run->nbytes, run->peer);
        shmem_quiet();
        offset = bench_next(run, offset);
    }
    run->offset = offset;
}

static const struct bench rows[] = {
    {.name = "put-latency",
     .group = "rma",
     .description = "shmem_putmem + shmem_quiet",
     .metric = BENCH_LATENCY,
     .sized = true,
     .moves = BENCH_PUTS,
     .steppe = {bench_put, NULL},
     .node = {bench_node_put, NULL},
     .fabric = {bench_fabric_put, NULL}},
    {.name = "get-latency",
     .group = "rma",
     .description = "shmem_getmem",
     .metric = BENCH_LATENCY,
     .sized = true,
     .moves = BENCH_GETS,
     .steppe = {bench_get, NULL},
     .node = {bench_node_get, NULL},
     .fabric = {bench_fabric_get, NULL}},
    {.name = "put-nbi-latency",
     .group = "rma",
     .description = "shmem_putmem_nbi + shmem_quiet",
     .metric = BENCH_LATENCY,
     .sized = true,
     .moves = BENCH_PUTS,
     .steppe = {put_nbi, NULL},
     .node = {bench_node_put, NULL},
     .fabric = {bench_fabric_put, NULL}},
    {.name = "get-nbi-latency",
     .group = "rma",
     .description = "shmem_getmem_nbi + shmem_quiet",
     .metric = BENCH_LATENCY,
     .sized = true,
     .moves = BENCH_GETS,
     .steppe = {get_nbi, NULL},
     .node = {bench_node_get, NULL},
     .fabric = {bench_fabric_get, NULL}},
};
BENCH_LIST(bench_list_latency, rows);
