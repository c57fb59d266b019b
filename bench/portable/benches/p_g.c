/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures shmem_uint64_p() and shmem_uint64_g(). The calls of shmem_uint64_p() are issued back to
 * back, with one quiet per sample. On the node, the raw side uses volatile stores and loads. On the
 * fabric, the raw side of p uses fi_inject_atomic(), or fi_inject_write() if the provider has no
 * atomics. After the last write it waits for a fetching atomic or a read, so that all writes have
 * arrived. The raw side of g uses fi_read().
 */
#include "../raw_fabric_wait_and_flush.h"

#include <string.h>

void bench_p(struct bench_run *run, uint64_t n_ops)
{
    /* First value to store, which is different in each block. */
    uint64_t first = run->n_blocks << 32;
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_uint64_p((uint64_t *)(run->remote + at), first + i, run->peer);
        at = bench_next(run, at);
    }
    shmem_quiet();
    run->at = at;
}

void bench_node_p(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        *(volatile uint64_t *)(run->remote_there + at) = i;
        at = bench_next(run, at);
    }
    bench_full_fence();
    run->at = at;
}

void bench_fabric_p(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;

    for (uint64_t i = 0; i < n_ops; i++) {
        run->fabric->store(run->peer, at, i);
        at = bench_next(run, at);
    }
    bench_fabric_flush(run, run->peer);
    run->at = at;
}

static void g(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;
    volatile uint64_t seen;

    for (uint64_t i = 0; i < n_ops; i++) {
        seen = shmem_uint64_g((uint64_t *)(run->remote + at), run->peer);
        at = bench_next(run, at);
    }
    (void)seen;
    run->at = at;
}

static void node_g(struct bench_run *run, uint64_t n_ops)
{
    size_t at = run->at;
    volatile uint64_t seen;

    for (uint64_t i = 0; i < n_ops; i++) {
        seen = *(volatile uint64_t *)(run->remote_there + at);
        at = bench_next(run, at);
    }
    (void)seen;
    run->at = at;
}

/* For --verify: overwrites the old values. check_p() then checks the value of the last store. */
static void fill_p(struct bench_run *run, uint64_t block)
{
    (void)block;
    memset(run->remote, 0xa5, run->span);
}

static void check_p(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    uint64_t n_buffers = run->step == 0 ? 1 : run->span / run->extent, got, want;
    size_t at = 0;

    if (run->peer < 0 || run->measures) return;
    for (uint64_t i = 1; i < n_ops && n_buffers > 1; i++)
        at = bench_next(run, at);
    got = *(const uint64_t *)(run->remote + at);
    want = (block << 32) + run->sample_ops - 1;
    if (got == want) return;
    bench_die(run, "--verify: wrong data: shmem_p has written %#llx, but must write %#llx",
              (unsigned long long)got, (unsigned long long)want);
}

#if BENCH_SESSIONS
int bench_session_open(struct bench_run *run, const struct bench *bench, char *why, size_t len)
{
    (void)run;
    (void)bench;
    (void)why;
    (void)len;
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    return 0;
}

void bench_session_close(struct bench_run *run)
{
    (void)run;
    shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
}
#endif

#define P                                                                                          \
    .metric = BENCH_LATENCY, .min_ops = 1000, .fill = fill_p, .check = check_p, .walks = true,     \
    .steppe = {bench_p, NULL}, .node = {bench_node_p, NULL}, .fabric = {bench_fabric_p, NULL}

static const struct bench rows[] = {
    {.name = "p",
     .group = "rma",
     .what = "shmem_uint64_p called back to back, with one shmem_quiet per sample",
     P},
    {.name = "g",
     .group = "rma",
     .what = "shmem_uint64_g",
     .metric = BENCH_LATENCY,
     .walks = true,
     .steppe = {g, NULL},
     .node = {node_g, NULL},
     .fabric = {bench_fabric_get, NULL}},
#if BENCH_SESSIONS
    {.name = "batch-p",
     .group = "session",
     .what = "bench p in a session with SHMEM_CTX_SESSION_BATCH; the raw side sends each put alone",
     .open = bench_session_open,
     .close = bench_session_close,
     P},
#endif
};
BENCH_LIST(bench_list_p, rows);
