/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of benches and their bodies on Steppe's side: public OpenSHMEM calls only.
 */
#include "bench.h"

#include <shmem.h>
#include <string.h>

static void put_loop(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_putmem(run->remote, run->local, run->nbytes, run->peer);
        shmem_quiet();
    }
}

static void get_loop(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_getmem(run->local, run->remote, run->nbytes, run->peer);
}

static void put_window_loop(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++)
            shmem_putmem_nbi(run->remote, run->local, run->nbytes, run->peer);
        shmem_quiet();
    }
}

static void get_window_loop(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++)
            shmem_getmem_nbi(run->local, run->remote, run->nbytes, run->peer);
        shmem_quiet();
    }
}

static void p_loop(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *dest = (uint64_t *)run->remote;

    for (uint64_t i = 0; i < n_ops; i++)
        shmem_uint64_p(dest, i, run->peer);
    shmem_quiet();
}

static void rate_loop(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_putmem_nbi(run->remote, run->local, run->nbytes, run->peer);
    shmem_quiet();
}

static void fadd_loop(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *counter = &run->shared->side[BENCH_STEPPE].counter.value;

    for (uint64_t i = 0; i < n_ops; i++)
        (void)shmem_uint64_atomic_fetch_add(counter, 1, run->peer);
}

static void ping_loop(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *turn = &run->shared->side[BENCH_STEPPE].turn.value;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_uint64_p(turn, ++run->token, run->peer);
        shmem_uint64_wait_until(turn, SHMEM_CMP_GE, run->token);
    }
}

static void pong_loop(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *turn = &run->shared->side[BENCH_STEPPE].turn.value;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_uint64_wait_until(turn, SHMEM_CMP_GE, ++run->token);
        shmem_uint64_p(turn, run->token, run->peer);
    }
}

static void barrier_loop(struct bench_run *run, uint64_t n_ops)
{
    (void)run;
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_barrier_all();
}

#define SERVED(loop)                                                                               \
    {                                                                                              \
        loop, NULL                                                                                 \
    }

const struct bench bench_table[] = {
    {.name = "put-latency",
     .what = "shmem_putmem + shmem_quiet",
     .metric = BENCH_LATENCY,
     .sized = true,
     .per_op = 1,
     .steppe = SERVED(put_loop),
     .node = SERVED(node_put),
     .fabric = SERVED(fabric_put)},
    {.name = "get-latency",
     .what = "shmem_getmem",
     .metric = BENCH_LATENCY,
     .sized = true,
     .per_op = 1,
     .steppe = SERVED(get_loop),
     .node = SERVED(node_get),
     .fabric = SERVED(fabric_get)},
    {.name = "put-bandwidth",
     .what = "a window of shmem_putmem_nbi + shmem_quiet",
     .metric = BENCH_BANDWIDTH,
     .sized = true,
     .windowed = true,
     .per_op = 1,
     .steppe = SERVED(put_window_loop),
     .node = SERVED(node_put_window),
     .fabric = SERVED(fabric_put_window)},
    {.name = "get-bandwidth",
     .what = "a window of shmem_getmem_nbi + shmem_quiet",
     .metric = BENCH_BANDWIDTH,
     .sized = true,
     .windowed = true,
     .per_op = 1,
     .steppe = SERVED(get_window_loop),
     .node = SERVED(node_get_window),
     .fabric = SERVED(fabric_get_window)},
    {.name = "p",
     .what = "shmem_uint64_p back to back, one shmem_quiet a sample",
     .metric = BENCH_LATENCY,
     .per_op = 1,
     .min_ops = 1000,
     .steppe = SERVED(p_loop),
     .node = SERVED(node_p),
     .fabric = SERVED(fabric_p)},
    {.name = "put-rate",
     .what = "shmem_putmem_nbi of 8 bytes back to back, one shmem_quiet a sample",
     .metric = BENCH_RATE,
     .per_op = 1,
     .min_ops = 1000,
     .steppe = SERVED(rate_loop),
     .node = SERVED(node_rate),
     .fabric = SERVED(fabric_rate)},
    {.name = "fetch-add",
     .what = "shmem_uint64_atomic_fetch_add",
     .metric = BENCH_LATENCY,
     .per_op = 1,
     .steppe = SERVED(fadd_loop),
     .node = SERVED(node_fadd),
     .fabric = SERVED(fabric_fadd)},
    {.name = "flag",
     .what = "8-byte flag one way: half of flag-round-trip",
     .metric = BENCH_LATENCY,
     .per_op = 2,
     .steppe = {ping_loop, pong_loop},
     .node = {node_ping, node_pong},
     .fabric = {fabric_ping, fabric_pong}},
    {.name = "flag-round-trip",
     .what = "8-byte flag there and back: shmem_uint64_p + shmem_uint64_wait_until",
     .metric = BENCH_LATENCY,
     .per_op = 1,
     .steppe = {ping_loop, pong_loop},
     .node = {node_ping, node_pong},
     .fabric = {fabric_ping, fabric_pong}},
    {.name = "barrier",
     .what = "shmem_barrier_all over all PEs",
     .metric = BENCH_LATENCY,
     .all_pes = true,
     .per_op = 1,
     .steppe = {barrier_loop, barrier_loop},
     .node = {node_barrier, node_barrier},
     .fabric = {fabric_barrier, fabric_barrier}},
};

const int bench_n_table = sizeof(bench_table) / sizeof(bench_table[0]);

const struct bench *bench_find(const char *name)
{
    for (int i = 0; i < bench_n_table; i++)
        if (strcmp(bench_table[i].name, name) == 0) return &bench_table[i];
    return NULL;
}
