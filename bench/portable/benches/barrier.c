/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures shmem_barrier_all(), shmem_sync_all() and shmem_team_sync().
 */
#include "../bench_definition.h"

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
     .description = "shmem_barrier_all over all PEs",
     ALL,
     .steppe = {barrier, NULL},
     .node = {bench_node_barrier, NULL},
     .fabric = {bench_fabric_barrier, NULL}},
    {.name = "sync",
     .description = "shmem_sync_all over all PEs",
     ALL,
     .steppe = {sync_all, NULL},
     .node = {bench_node_barrier, NULL},
     .fabric = {bench_fabric_barrier, NULL}},
#if BENCH_TEAMS
    {.name = "sync-team",
     .description = "shmem_team_sync",
     ALL,
     .parameter = &bench_pes,
     .steppe = {sync_team, NULL},
     .node = {bench_node_team_barrier, NULL},
     .fabric = {bench_fabric_team_barrier, NULL}},
#endif
};
BENCH_LIST(bench_list_barrier, rows);
