/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how much of the time of a transfer can be hidden by computation. Each sample consists of
 * three measured times. `pure` is the time of a transfer alone. `compute` is the time of a
 * computation of the same length. `total` is the time of a transfer during which the PE performs
 * this computation. The formula is that of the OSU benchmarks:
 *     overlap = 100 * max(0, 1 - (total - compute) / pure)
 */
#include "portable/bench_definition.h"

#include <string.h>

/* Minimum duration of each of the three measurements, so that the clock is precise enough. */
#define MIN_NS 10000.0
#define TRIES 5
#define RECORDED_MAX 1024

/*
 * Computes without memory accesses. The function is aligned and not inlined, because its address
 * affects its speed.
 */
static __attribute__((noinline, aligned(64))) void compute(uint64_t n_turns)
{
    for (uint64_t i = 0; i < n_turns; i++)
        __asm__ __volatile__("" : "+r"(i));
}

static void start(struct bench_run *run, bool put)
{
    if (put)
        shmem_putmem_nbi(run->remote, run->local, run->nbytes, run->peer);
    else
        shmem_getmem_nbi(run->local, run->remote, run->nbytes, run->peer);
}

/*
 * Performs n rounds and returns the mean time of a round in ns. If `transfers` is true, a round
 * contains a transfer. If n_turns is not 0, a round contains a computation with n_turns iterations.
 */
static double time_of(struct bench_run *run, bool transfers, bool put, uint64_t n_turns, uint64_t n)
{
    uint64_t start_ns = bench_now_ns();

    for (uint64_t i = 0; i < n; i++) {
        if (transfers) start(run, put);
        if (n_turns > 0) compute(n_turns);
        if (transfers) shmem_quiet();
    }
    return (double)(bench_now_ns() - start_ns) / (double)n;
}

/*
 * Returns the number of iterations of compute() that take `ns` nanoseconds. The function starts
 * with an estimate, and corrects the estimate by three measurements.
 */
static uint64_t turns_for(struct bench_run *run, double ns, uint64_t n)
{
    double turns = ns > 1 ? ns : 1;

    for (int i = 0; i < 3; i++)
        turns *= ns / time_of(run, false, false, (uint64_t)turns + 1, n);
    return (uint64_t)turns + 1;
}

/* The three times of each sample of the row. The output contains their medians. */
static double recorded[BENCH_DETAILS][RECORDED_MAX];
static int n_recorded;

static int open_overlap(struct bench_run *run, const struct bench *bench, char *reason, size_t len)
{
    (void)run;
    (void)bench;
    (void)reason;
    (void)len;
    n_recorded = 0;
    return 0;
}

static void record(struct bench_run *run, const double *times)
{
    double sorted[RECORDED_MAX];

    if (n_recorded == RECORDED_MAX) return;
    for (int i = 0; i < BENCH_DETAILS; i++) {
        recorded[i][n_recorded] = times[i];
        memcpy(sorted, recorded[i], ((size_t)n_recorded + 1) * sizeof(*sorted));
        run->detail[i] = bench_median_of(sorted, (size_t)n_recorded + 1);
    }
    n_recorded++;
}

static void sample(struct bench_run *run, bool put)
{
    double pure = time_of(run, true, put, 0, 4), computed, total;
    uint64_t n = pure < MIN_NS / 4 ? (uint64_t)(MIN_NS / pure) + 1 : 4, n_turns;

    /* Try again if a disturbance made the computation shorter or longer than the transfer. */
    for (int i = 0; i < TRIES; i++) {
        pure = time_of(run, true, put, 0, n);
        n_turns = turns_for(run, pure, n);
        computed = time_of(run, false, put, n_turns, n);
        if (computed > 0.8 * pure && computed < 1.25 * pure) break;
    }
    total = time_of(run, true, put, n_turns, n);
    run->exposed = 100 * (total - computed) / pure;
    if (run->exposed < 0) run->exposed = 0;
    if (run->exposed > 100) run->exposed = 100;
    record(run, (const double[]){pure, computed, total});
}

static void overlap_put(struct bench_run *run, uint64_t n_ops)
{
    (void)n_ops;
    sample(run, true);
}

static void overlap_get(struct bench_run *run, uint64_t n_ops)
{
    (void)n_ops;
    sample(run, false);
}

#define OVERLAP                                                                                    \
    .group = "overlap", .metric = BENCH_OVERLAP, .sized = true, .one_op = true,                    \
    .open = open_overlap, .details = {"pure", "compute", "total"}

static const struct bench rows[] = {
    {.name = "overlap-put",
     .description =
         "share of a shmem_putmem_nbi transfer that a computation of the same duration hides",
     OVERLAP,
     .moves = BENCH_PUTS,
     .steppe = {overlap_put, NULL}},
    {.name = "overlap-get",
     .description =
         "share of a shmem_getmem_nbi transfer that a computation of the same duration hides",
     OVERLAP,
     .moves = BENCH_GETS,
     .steppe = {overlap_get, NULL}},
};
BENCH_LIST(bench_list_overlap, rows);
