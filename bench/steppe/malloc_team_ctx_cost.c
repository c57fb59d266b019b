/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the cost of creating and destroying symmetric memory, teams and contexts.
 */
#include "portable/bench_definition.h"

#include <stdlib.h>

static void symmetric_malloc(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        void *memory = shmem_malloc(run->nbytes);

        if (memory == NULL)
            bench_die(run,
                      "shmem_malloc of %zu bytes has failed: raise "
                      "SHMEM_SYMMETRIC_SIZE",
                      run->nbytes);
        shmem_free(memory);
    }
}

static void team_create(struct bench_run *run, uint64_t n_ops)
{
    int stride = run->n_pes > 2 ? 2 : 1, size = (run->n_pes + stride - 1) / stride;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_team_t team = SHMEM_TEAM_INVALID;

        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, stride, size, NULL, 0, &team);
        if (team == SHMEM_TEAM_INVALID && run->me % stride == 0)
            bench_die(run, "shmem_team_split_strided has failed: no further team can be created");
        if (team != SHMEM_TEAM_INVALID) shmem_team_destroy(team);
    }
}

static void make_contexts(struct bench_run *run, uint64_t n_ops, long options)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_ctx_t ctx;

        if (shmem_ctx_create(options, &ctx) != 0)
            bench_die(run, "shmem_ctx_create has failed: no "
                           "further context can be created");
        shmem_ctx_destroy(ctx);
    }
}

static void ctx_create(struct bench_run *run, uint64_t n_ops)
{
    make_contexts(run, n_ops, 0);
}

static void ctx_create_private(struct bench_run *run, uint64_t n_ops)
{
    make_contexts(run, n_ops, SHMEM_CTX_PRIVATE);
}

#define ALL .group = "memory", .metric = BENCH_LATENCY, .shape = BENCH_ALL, .own_pace = true
#define ALONE .group = "memory", .metric = BENCH_LATENCY, .shape = BENCH_ALONE

static const size_t sizes[] = {64, 4096, 1048576, 0};

static const struct bench rows[] = {
    {.name = "malloc",
     .description = "shmem_malloc + shmem_free, called by all PEs",
     ALL,
     .sized = true,
     .sizes = sizes,
     .steppe = {symmetric_malloc, NULL}},
    {.name = "team-create",
     .description = "shmem_team_split_strided for a team of every second PE + shmem_team_destroy",
     ALL,
     .steppe = {team_create, NULL}},
    {.name = "ctx-create",
     .description = "shmem_ctx_create + shmem_ctx_destroy of a shared context",
     ALONE,
     .steppe = {ctx_create, NULL}},
    {.name = "ctx-create-private",
     .description = "shmem_ctx_create + shmem_ctx_destroy of a context with SHMEM_CTX_PRIVATE",
     ALONE,
     .steppe = {ctx_create_private, NULL}},
};
BENCH_LIST(bench_list_memory, rows);
