/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p() and small puts while many spaces are alive, and p() into one of them. Rows here have a third
 * side: the same loop with few spaces alive.
 */
#include "../raw_cuda.h"
#include "../spaces.h"

static int open_own(struct bench_run *run, const struct bench *bench, char *why, size_t len)
{
    int status;

    (void)bench;
    if (run->n_few < 1) run->n_few = 1; /* the one that is written to */
    status = bench_spaces_prepare(run, run->n_many, run->n_few, why, len);
    if (status != 0) return status;
    bench_use_remote(run, &bench_spaces[0], bench_spaces[0].memory);
    if (run->cuda != NULL) run->driver_remote = run->cuda->buffer[1];
    return 0;
}

static int open_spaces(struct bench_run *run, const struct bench *bench, char *why, size_t len)
{
    (void)bench;
    return bench_spaces_prepare(run, run->n_many, run->n_few, why, len);
}

#define COMPARED                                                                                   \
    .group = "spaces", .metric = BENCH_LATENCY, .in_spaces = true, .close = bench_spaces_close,    \
    .stage = bench_spaces_stage

static const struct bench rows[] = {
    {.name = "spaces-p",
     .what = "p() as in \"p\", in the default space, while others are alive",
     COMPARED,
     .min_ops = 1000,
     .open = open_spaces,
     .steppe = {bench_p, NULL},
     .node = {bench_node_p, NULL},
     .fabric = {bench_fabric_p, NULL}},
    {.name = "spaces-put8",
     .what = "shmem_putmem of 8 bytes + shmem_quiet, in the default space, while others are alive",
     COMPARED,
     .open = open_spaces,
     .steppe = {bench_put, NULL},
     .node = {bench_node_put, NULL},
     .fabric = {bench_fabric_put, NULL}},
    {.name = "spaces-p-own",
     .what = "p() as in \"p\", into the first of the spaces",
     COMPARED,
     .min_ops = 1000,
     .raw_driver = true,
     .open = open_own,
     .steppe = {bench_p, NULL},
     .node = {bench_node_p, NULL},
     .fabric = {bench_fabric_p, NULL},
     .driver = {bench_driver_p, NULL}},
};
BENCH_LIST(bench_list_space_p, rows);
