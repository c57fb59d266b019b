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
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_putmem(run->remote + at, run->local + at, run->nbytes, run->peer);
        shmem_quiet();
        at = bench_next(run, at);
    }
    run->at = at;
}

void bench_node_put(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        memcpy(run->remote_there + at, run->local + at, run->nbytes);
        bench_full_fence();
        at = bench_next(run, at);
    }
    run->at = at;
}

void bench_fabric_put(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        run->fabric->put(run->peer, at, bench_fabric_local(run) + at, run->nbytes);
        run->fabric->wait();
        at = bench_next(run, at);
    }
    run->at = at;
}

void bench_get(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_getmem(run->local + at, run->remote + at, run->nbytes, run->peer);
        at = bench_next(run, at);
    }
    run->at = at;
}

void bench_node_get(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        memcpy(run->local + at, run->remote_there + at, run->nbytes);
        bench_touch();
        at = bench_next(run, at);
    }
    run->at = at;
}

void bench_fabric_get(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        run->fabric->get(run->peer, at, bench_fabric_local(run) + at, run->nbytes);
        run->fabric->wait();
        at = bench_next(run, at);
    }
    run->at = at;
}

static void put_nbi(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_putmem_nbi(run->remote + at, run->local + at, run->nbytes, run->peer);
        shmem_quiet();
        at = bench_next(run, at);
    }
    run->at = at;
}

static void get_nbi(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_getmem_nbi(run->local + at, run->remote + at, run->nbytes, run->peer);
        shmem_quiet();
        at = bench_next(run, at);
    }
    run->at = at;
}

static const struct bench rows[] = {
    {.name = "put-latency",
     .group = "rma",
     .what = "shmem_putmem + shmem_quiet",
     .metric = BENCH_LATENCY,
     .sized = true,
     .moves = BENCH_PUTS,
     .steppe = {bench_put, NULL},
     .node = {bench_node_put, NULL},
     .fabric = {bench_fabric_put, NULL}},
    {.name = "get-latency",
     .group = "rma",
     .what = "shmem_getmem",
     .metric = BENCH_LATENCY,
     .sized = true,
     .moves = BENCH_GETS,
     .steppe = {bench_get, NULL},
     .node = {bench_node_get, NULL},
     .fabric = {bench_fabric_get, NULL}},
    {.name = "put-nbi-latency",
     .group = "rma",
     .what = "shmem_putmem_nbi + shmem_quiet",
     .metric = BENCH_LATENCY,
     .sized = true,
     .moves = BENCH_PUTS,
     .steppe = {put_nbi, NULL},
     .node = {bench_node_put, NULL},
     .fabric = {bench_fabric_put, NULL}},
    {.name = "get-nbi-latency",
     .group = "rma",
     .what = "shmem_getmem_nbi + shmem_quiet",
     .metric = BENCH_LATENCY,
     .sized = true,
     .moves = BENCH_GETS,
     .steppe = {get_nbi, NULL},
     .node = {bench_node_get, NULL},
     .fabric = {bench_fabric_get, NULL}},
};
BENCH_LIST(bench_list_latency, rows);
