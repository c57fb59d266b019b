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
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_uint64_p((uint64_t *)(run->remote + offset), first + i, run->peer);
        offset = bench_next(run, offset);
    }
    shmem_quiet();
    run->offset = offset;
}

void bench_node_p(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        *(volatile uint64_t *)(run->remote_ptr + offset) = i;
        offset = bench_next(run, offset);
    }
    bench_full_fence();
    run->offset = offset;
}

void bench_fabric_p(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;

    for (uint64_t i = 0; i < n_ops; i++) {
        run->fabric->store(run->peer, offset, i);
        offset = bench_next(run, offset);
    }
    bench_fabric_flush(run, run->peer);
    run->offset = offset;
}

static void g(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;
    volatile uint64_t result;

    for (uint64_t i = 0; i < n_ops; i++) {
        result = shmem_uint64_g((uint64_t *)(run->remote + offset), run->peer);
        offset = bench_next(run, offset);
    }
    (void)result;
    run->offset = offset;
}

static void node_g(struct bench_run *run, uint64_t n_ops)
{
    size_t offset = run->offset;
    volatile uint64_t result;

    for (uint64_t i = 0; i < n_ops; i++) {
        result = *(volatile uint64_t *)(run->remote_ptr + offset);
        offset = bench_next(run, offset);
    }
    (void)result;
    run->offset = offset;
}

/* For --verify: overwrites the old values. check_p() then checks the value of the last store. */
static void fill_p(struct bench_run *run, uint64_t block)
{
    (void)block;
    memset(run->remote, 0xa5, run->span);
}

static void check_p(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    uint64_t n_buffers = run->step == 0 ? 1 : run->span / run->extent, actual, expected;
    size_t offset = 0;

    if (run->peer < 0 || run->measures) return;
    for (uint64_t i = 1; i < n_ops && n_buffers > 1; i++)
        offset = bench_next(run, offset);
    actual = *(const uint64_t *)(run->remote + offset);
    expected = (block << 32) + run->sample_ops - 1;
    if (actual == expected) return;
    bench_die(run, "--verify: wrong data: shmem_p has written %#llx, but must write %#llx",
              (unsigned long long)actual, (unsigned long long)expected);
}

#if BENCH_SESSIONS
int bench_session_open(struct bench_run *run, const struct bench *bench, char *reason, size_t len)
{
    (void)run;
    (void)bench;
    (void)reason;
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
    .joined_up_to = sizeof(uint64_t), .steppe = {bench_p, NULL}, .node = {bench_node_p, NULL},     \
    .fabric = {bench_fabric_p, NULL}

static const struct bench rows[] = {
    {.name = "p",
     .group = "rma",
     .description = "shmem_uint64_p called back to back, with one shmem_quiet per sample",
     P},
    {.name = "g",
     .group = "rma",
     .description = "shmem_uint64_g",
     .metric = BENCH_LATENCY,
     .walks = true,
     .steppe = {g, NULL},
     .node = {node_g, NULL},
     .fabric = {bench_fabric_get, NULL}},
#if BENCH_SESSIONS
    {.name = "batch-p",
     .group = "session",
     .description =
         "bench p in a session with SHMEM_CTX_SESSION_BATCH; the raw side sends each put alone",
     .open = bench_session_open,
     .close = bench_session_close,
     P},
#endif
};
BENCH_LIST(bench_list_p, rows);
