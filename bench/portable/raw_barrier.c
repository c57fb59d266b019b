/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Raw dissemination barriers over all PEs and over the row's team. In each round, a PE sets a flag
 * of another PE and waits for its own flag. Benches measure these barriers. The harness also uses
 * them between samples.
 */
#include "raw_fabric_wait_and_flush.h"

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Performs n_ops barriers among the n PEs 0, stride, 2 * stride, ... This PE has rank `rank`. */
static void node_rounds(struct bench_run *run, uint64_t n_ops, int rank, int n, int stride)
{
    const struct bench_shared *my_shared = run->shared;

    for (uint64_t i = 0; i < n_ops; i++) {
        run->token++;
        for (int k = 0, step = 1; step < n; k++, step *= 2) {
            struct bench_shared *next = run->shared_of[(rank + step) % n * stride];

            __atomic_store_n(&next->side[BENCH_RAW].round[k].value, run->token, __ATOMIC_RELEASE);
            bench_spin_until(&my_shared->side[BENCH_RAW].round[k].value, run->token, run->polls);
        }
    }
}

static void fabric_rounds(struct bench_run *run, uint64_t n_ops, int rank, int n, int stride)
{
    const struct bench_flags *my_flags = bench_fabric_flags(run);

    for (uint64_t i = 0; i < n_ops; i++) {
        run->token++;
        for (int k = 0, step = 1; step < n; k++, step *= 2) {
            size_t offset = BENCH_FABRIC_FLAG(run, round) + (size_t)k * sizeof(struct bench_word);

            run->fabric->store((rank + step) % n * stride, offset, run->token);
            bench_fabric_wait(run, &my_flags->round[k].value, run->token);
        }
    }
}

void bench_node_barrier(struct bench_run *run, uint64_t n_ops)
{
    node_rounds(run, n_ops, run->me, run->n_pes, 1);
}

void bench_fabric_barrier(struct bench_run *run, uint64_t n_ops)
{
    fabric_rounds(run, n_ops, run->me, run->n_pes, 1);
}

void bench_node_team_barrier(struct bench_run *run, uint64_t n_ops)
{
    node_rounds(run, n_ops, run->team_rank, run->team_size, run->team_stride);
}

void bench_fabric_team_barrier(struct bench_run *run, uint64_t n_ops)
{
    fabric_rounds(run, n_ops, run->team_rank, run->team_size, run->team_stride);
}
