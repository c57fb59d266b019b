/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * barrier and sync, of all PEs and of teams. Raw: dissemination by flags; with two PEs it is one
 * flag each way.
 */
#include "../fabric.h"

/* ---- among n PEs, every stride-th of the job, of which this is number me ---------------- */

static void node_rounds(struct bench_run *run, uint64_t n_ops, int me, int n, int stride)
{
    const struct bench_shared *mine = run->shared;

    for (uint64_t i = 0; i < n_ops; i++) {
        run->token++;
        for (int k = 0, step = 1; step < n; k++, step *= 2) {
            struct bench_shared *next = run->shared_of[(me + step) % n * stride];

            __atomic_store_n(&next->side[BENCH_RAW].round[k].value, run->token, __ATOMIC_RELEASE);
            bench_spin_until(&mine->side[BENCH_RAW].round[k].value, run->token, run->polls);
        }
    }
}

static void fabric_rounds(struct bench_run *run, uint64_t n_ops, int me, int n, int stride)
{
    const struct bench_flags *mine = bench_fabric_flags(run);

    for (uint64_t i = 0; i < n_ops; i++) {
        run->token++;
        for (int k = 0, step = 1; step < n; k++, step *= 2) {
            size_t offset = BENCH_FABRIC_FLAG(run, round) + (size_t)k * sizeof(struct bench_word);

            run->fabric->store((me + step) % n * stride, offset, run->token);
            bench_fabric_wait(run, &mine->round[k].value, run->token);
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
    node_rounds(run, n_ops, run->team_me, run->team_size, run->team_stride);
}

void bench_fabric_team_barrier(struct bench_run *run, uint64_t n_ops)
{
    fabric_rounds(run, n_ops, run->team_me, run->team_size, run->team_stride);
}

/* ---- Steppe ---------------------------------------------------------------------------- */

static void barrier(struct bench_run *run, uint64_t n_ops)
{
    (void)run;
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_barrier_all();
}

static void sync_all(struct bench_run *run, uint64_t n_ops)
{
    (void)run;
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_sync_all();
}

#if BENCH_TEAMS
static void sync_team(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_team_sync(run->team);
}
#endif

#define ALL .group = "collective", .metric = BENCH_LATENCY, .shape = BENCH_ALL, .own_pace = true

static const struct bench rows[] = {
    {.name = "barrier",
     .what = "shmem_barrier_all over all PEs",
     ALL,
     .steppe = {barrier, NULL},
     .node = {bench_node_barrier, NULL},
     .fabric = {bench_fabric_barrier, NULL}},
    {.name = "sync",
     .what = "shmem_sync_all over all PEs",
     ALL,
     .steppe = {sync_all, NULL},
     .node = {bench_node_barrier, NULL},
     .fabric = {bench_fabric_barrier, NULL}},
#if BENCH_TEAMS
    {.name = "sync-team",
     .what = "shmem_team_sync",
     ALL,
     .parameter = &bench_pes,
     .steppe = {sync_team, NULL},
     .node = {bench_node_team_barrier, NULL},
     .fabric = {bench_fabric_team_barrier, NULL}},
#endif
};
BENCH_LIST(bench_list_barrier, rows);
