/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures creating and destroying a space, and allocating and freeing blocks in a space.
 */
#include "space_setup_helpers.h"

static int open_create(struct bench_run *run, const struct bench *bench, char *reason, size_t len)
{
    struct bench_space first;
    int status = bench_kind_check(run, reason, len);

    if (status != 0) return status;
    status = bench_space_make(run, bench->nbytes, 0, &first, reason, len);
    if (status == 0) bench_space_drop(&first);
    return status;
}

static void create(struct bench_run *run, uint64_t n_ops)
{
    struct bench_space space;
    shmem_space_config_t config = {
        .device_type = (shmem_device_type_t)run->kind,
        .size = run->nbytes,
        .flags = SHMEM_SPACE_FLAG_DEFAULT,
    };

    for (uint64_t i = 0; i < n_ops; i++) {
        if (shmem_space_create(&config, &space.space, &space.team) != 0)
            bench_die(run, "shmem_space_create of %zu bytes has failed", run->nbytes);
        shmem_team_destroy(space.team);
        shmem_space_destroy(space.space);
    }
}

/* ---- blocks in a space ---------------------------------------------------------------------- */

#define ALLOC_SPACE ((size_t)64 << 10)

/* The space in which the bench space-alloc allocates blocks. */
static struct bench_space alloc_space;

static int open_alloc(struct bench_run *run, const struct bench *bench, char *reason, size_t len)
{
    int status = bench_kind_check(run, reason, len);

    (void)bench;
    if (status != 0) return status;
    return bench_space_make(run, ALLOC_SPACE, 0, &alloc_space, reason, len);
}

static void close_alloc(struct bench_run *run)
{
    (void)run;
    bench_space_drop(&alloc_space);
}

static void alloc(struct bench_run *run, uint64_t n_ops)
{
    shmem_space_t space = alloc_space.space;

    for (uint64_t i = 0; i < n_ops; i++)
        shmem_space_free(space, shmem_space_malloc(space, run->nbytes));
}

#define LIFE .group = "spaces", .shape = BENCH_ALL, .own_pace = true, .in_spaces = true

static const struct bench rows[] = {
    {.name = "space-create",
     .description =
         "shmem_space_create + shmem_team_destroy + shmem_space_destroy, called by all PEs",
     LIFE,
     .metric = BENCH_LONG,
     .nbytes = (size_t)64 << 20,
     .open = open_create,
     .steppe = {create, NULL}},
    {.name = "space-alloc",
     .description = "shmem_space_malloc of 64 bytes + shmem_space_free, called by all PEs",
     LIFE,
     .metric = BENCH_LATENCY,
     .nbytes = 64,
     .open = open_alloc,
     .close = close_alloc,
     .steppe = {alloc, NULL}},
};
BENCH_LIST(bench_list_space_life, rows);
