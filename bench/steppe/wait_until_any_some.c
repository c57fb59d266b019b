/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how fast wait_until_any and wait_until_some detect that one of many flags is set. The
 * two PEs take turns. Each PE sets a flag of the other PE, and then waits until one of its own
 * flags is set. The index of the flag is different each time. The result is half of a round trip.
 */
#include "portable/bench_definition.h"

#include <stdio.h>

#define MAX_FLAGS 4096

/* Arrays in symmetric memory. Each array has MAX_FLAGS elements. */
static uint64_t *flags;
static size_t *indices;

static int open_flags(struct bench_run *run, const struct bench *bench, char *reason, size_t len)
{
    (void)bench;
    if (run->value > MAX_FLAGS) {
        snprintf(reason, len, "%ld flags are too many: the maximum is %d", run->value, MAX_FLAGS);
        return -1;
    }
    flags = shmem_calloc(MAX_FLAGS, sizeof(*flags));
    indices = shmem_calloc(MAX_FLAGS, sizeof(*indices));
    if (bench_worst(flags == NULL || indices == NULL) != 0) {
        snprintf(reason, len, "the symmetric heap has no room for %d flags", MAX_FLAGS);
        shmem_free(indices); /* may be NULL */
        shmem_free(flags);
        return -1;
    }
    return 0;
}

static void close_flags(struct bench_run *run)
{
    (void)run;
    shmem_free(indices);
    shmem_free(flags);
}

static size_t flag_index(const struct bench_run *run)
{
    return (size_t)(run->token * 7) % (size_t)run->value;
}

static void wait_any(struct bench_run *run)
{
    size_t n = (size_t)run->value,
           set_index = shmem_uint64_wait_until_any(flags, n, NULL, SHMEM_CMP_NE, 0);

    flags[set_index] = 0;
}

static void wait_some(struct bench_run *run)
{
    size_t n = (size_t)run->value;

    (void)shmem_uint64_wait_until_some(flags, n, indices, NULL, SHMEM_CMP_NE, 0);
    flags[indices[0]] = 0;
}

static void turn(struct bench_run *run, uint64_t n_ops, void (*wait)(struct bench_run *),
                 bool first)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        run->token++;
        if (first) shmem_uint64_p(&flags[flag_index(run)], 1, run->peer);
        wait(run);
        if (!first) shmem_uint64_p(&flags[flag_index(run)], 1, run->peer);
    }
}

static void ping_any(struct bench_run *run, uint64_t n_ops)
{
    turn(run, n_ops, wait_any, true);
}

static void pong_any(struct bench_run *run, uint64_t n_ops)
{
    turn(run, n_ops, wait_any, false);
}

static void ping_some(struct bench_run *run, uint64_t n_ops)
{
    turn(run, n_ops, wait_some, true);
}

static void pong_some(struct bench_run *run, uint64_t n_ops)
{
    turn(run, n_ops, wait_some, false);
}

static void values(const struct bench_run *run, const struct bench_options *options,
                   struct bench_values *values)
{
    (void)run;
    bench_stepping(options, 8, 1, 512, values);
}

static const struct bench_parameter n_flags = {"flags", NULL, values};

#define WAIT(which_ones)                                                                           \
    {                                                                                              \
        .name = "wait-until-" #which_ones, .group = "signal",                                      \
        .description =                                                                             \
            "shmem_uint64_wait_until_" #which_ones " over many flags, in one direction",           \
        .metric = BENCH_LATENCY, .per_op = 2, .parameter = &n_flags, .open = open_flags,           \
        .close = close_flags, .steppe = {                                                          \
            ping_##which_ones,                                                                     \
            pong_##which_ones                                                                      \
        }                                                                                          \
    }

static const struct bench rows[] = {WAIT(any), WAIT(some)};
BENCH_LIST(bench_list_wait, rows);
