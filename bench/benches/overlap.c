/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of a transfer is hidden behind computation: a transfer alone (pure), then one started,
 * as long a computation, and the wait for its end (total).
 *     overlap = 100 * max(0, 1 - (total - compute) / pure)
 * as the OSU benchmarks define it. Each sample measures all three; the computation is made as long
 * as the transfer just was.
 */
#include "../bench.h"

#define LEAST_NS 10000.0 /* of each of the three, for the clock */

/* A loop without memory, not inlined: its speed depends on where it lies. */
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

/* n transfers with so much computation in each; or the computation alone. Nanoseconds of one. */
static double time_of(struct bench_run *run, bool transfers, bool put, uint64_t n_turns, uint64_t n)
{
    uint64_t begun = bench_now_ns();

    for (uint64_t i = 0; i < n; i++) {
        if (transfers) start(run, put);
        if (n_turns > 0) compute(n_turns);
        if (transfers) shmem_quiet();
    }
    return (double)(bench_now_ns() - begun) / (double)n;
}

/* Turns that last as long as the transfer: twice corrected by what they took. */
static uint64_t turns_for(struct bench_run *run, double ns, uint64_t n)
{
    double turns = ns > 1 ? ns : 1;

    for (int i = 0; i < 3; i++)
        turns *= ns / time_of(run, false, false, (uint64_t)turns + 1, n);
    return (uint64_t)turns + 1;
}

static void sample(struct bench_run *run, bool put)
{
    double pure = time_of(run, true, put, 0, 4), computed, total;
    uint64_t n = pure < LEAST_NS / 4 ? (uint64_t)(LEAST_NS / pure) + 1 : 4, n_turns;

    pure = time_of(run, true, put, 0, n);
    n_turns = turns_for(run, pure, n);
    computed = time_of(run, false, put, n_turns, n);
    total = time_of(run, true, put, n_turns, n);
    run->exposed = 100 * (total - computed) / pure;
    if (run->exposed < 0) run->exposed = 0;
    if (run->exposed > 100) run->exposed = 100;
    run->detail[0] = pure;
    run->detail[1] = computed;
    run->detail[2] = total;
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
    .details = {"pure", "compute", "total"}, .cycles = 1 << BENCH_SINGLE | 1 << BENCH_NO_PROGRESS

static const struct bench rows[] = {
    {.name = "overlap-put",
     .what = "shmem_putmem_nbi, as much computation, shmem_quiet: hidden share of the transfer",
     OVERLAP,
     .moves = BENCH_PUTS,
     .steppe = {overlap_put, NULL}},
    {.name = "overlap-get",
     .what = "shmem_getmem_nbi, as much computation, shmem_quiet: hidden share of the transfer",
     OVERLAP,
     .moves = BENCH_GETS,
     .steppe = {overlap_get, NULL}},
};
BENCH_LIST(bench_list_overlap, rows);
