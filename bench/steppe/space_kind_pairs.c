/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures puts for each pair of memory kinds. The source is in a space of the first kind on this
 * PE. The destination is in a space of the second kind on the peer. These benches have no raw side.
 * For GPU memory, the device benches have a raw side.
 */
#include "space_setup_helpers.h"

#include <stdio.h>
#include <string.h>

#define ROOM ((size_t)1 << 20)

static const int kinds[] = {SHMEM_DEVICE_CPU, SHMEM_DEVICE_GPU, SHMEM_DEVICE_FAM};
static const char *const words[] = {"cpu-cpu", "cpu-gpu", "cpu-fam", "gpu-cpu", "gpu-gpu",
                                    "gpu-fam", "fam-cpu", "fam-gpu", "fam-fam"};

static struct bench_space source_space, dest_space;

/* Creates a space with memory for the row. Returns 0, or -errno with the reason in `reason`. */
static int make_space(struct bench_run *run, int kind, struct bench_space *space, char *reason,
                      size_t len)
{
    int status;

    run->kind = kind;
    status = bench_kind_check(run, reason, len);
    if (status != 0) return status;
    return bench_space_make(run, run->span + ROOM, run->span, space, reason, len);
}

static int open_kinds(struct bench_run *run, const struct bench *bench, char *reason, size_t len)
{
    int status = make_space(run, kinds[run->value / 3], &source_space, reason, len);

    (void)bench;
    if (status != 0) return status;
    status = make_space(run, kinds[run->value % 3], &dest_space, reason, len);
    if (status != 0) {
        bench_space_drop(&source_space);
        return status;
    }
    bench_use_remote(run, &dest_space, dest_space.memory);
    run->local = source_space.memory;
    return 0;
}

static void close_kinds(struct bench_run *run)
{
    bench_use_heap(run);
    bench_space_drop(&dest_space);
    bench_space_drop(&source_space);
}

static void values(const struct bench_run *run, const struct bench_options *options,
                   struct bench_values *values)
{
    (void)run;
    (void)options;
    for (values->n = 0; values->n < 9; values->n++)
        values->value[values->n] = values->n;
}

static const struct bench_parameter pairs = {"kinds", words, values};

#define KINDS .group = "kinds", .parameter = &pairs, .open = open_kinds, .close = close_kinds

static const struct bench rows[] = {
    {.name = "space-kinds-latency",
     .description =
         "shmem_putmem of 8 bytes + shmem_quiet between spaces, for all pairs of memory kinds",
     KINDS,
     .metric = BENCH_LATENCY,
     .steppe = {bench_put, NULL}},
    {.name = "space-kinds-bandwidth",
     .description =
         "a window of shmem_putmem_nbi of 256 KiB + shmem_quiet, for all pairs of memory kinds",
     KINDS,
     .metric = BENCH_BANDWIDTH,
     .nbytes = (size_t)256 << 10,
     .windowed = true,
     .steppe = {bench_put_window, NULL}},
};
BENCH_LIST(bench_list_space_kinds, rows);
