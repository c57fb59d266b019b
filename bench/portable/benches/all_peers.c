/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures puts to several PEs, or gets from several PEs, followed by one quiet. In some benches
 * one PE accesses all others. In others all PEs access all others, or each PE puts to its two
 * neighbours.
 */
#include "../bench_definition.h"

#include <string.h>

/* Returns the number of target PEs: the two neighbours, or all other PEs. */
static int n_others(const struct bench_run *run, bool neighbours)
{
    int n = run->n_pes - 1;

    return neighbours && n > 2 ? 2 : n;
}

/*
 * Returns the target PE with index i. Each PE begins with a different target, to spread the load.
 */
static int target_pe(const struct bench_run *run, bool neighbours, int i)
{
    int step = neighbours && i == 1 ? run->n_pes - 1 : i + 1;

    return (run->me + step) % run->n_pes;
}

/* Returns the offset of the message for PE pe. The messages for different PEs do not overlap. */
static size_t message_offset(const struct bench_run *run, int pe)
{
    return run->offset + (size_t)pe * run->nbytes;
}

static void steppe(struct bench_run *run, uint64_t n_ops, bool puts, bool neighbours)
{
    int n = n_others(run, neighbours);

    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < n; k++) {
            int pe = target_pe(run, neighbours, k);

            if (puts)
                shmem_putmem_nbi(run->remote + message_offset(run, run->me),
                                 run->local + message_offset(run, pe), run->nbytes, pe);
            else
                shmem_getmem_nbi(run->local + message_offset(run, pe),
                                 run->remote + message_offset(run, run->me), run->nbytes, pe);
        }
        shmem_quiet();
        run->offset = bench_next(run, run->offset);
    }
}

#define LOOPS(name, puts, neighbours)                                                              \
    static void steppe_##name(struct bench_run *run, uint64_t n_ops)                               \
    {                                                                                              \
        steppe(run, n_ops, puts, neighbours);                                                      \
    }                                                                                              \
    struct bench

LOOPS(put, true, false);
LOOPS(get, false, false);
LOOPS(exchange, true, true);

/* For --verify: writes the data that the puts copy. The checks read only the first buffer. */
static void fill(struct bench_run *run, uint64_t block)
{
    bench_pattern_write(run->local, run->span, 0, run->me, block);
    memset(run->remote, 0xa5, run->span);
}

/* For --verify: writes the data that the gets fetch. */
static void fill_get(struct bench_run *run, uint64_t block)
{
    bench_pattern_write(run->remote, run->span, 0, run->me, block);
    memset(run->local, 0xa5, run->span);
}

/* Checks the block that PE pe put to this PE, or that this PE got from PE pe. */
static void check_from(const struct bench_run *run, const char *memory, int pe, uint64_t block)
{
    bench_pattern_check(run, "transfer among many PEs", memory + (size_t)pe * run->nbytes,
                        run->nbytes, (size_t)run->me * run->nbytes, pe, block);
}

static void check_one(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    (void)n_ops;
    if (run->me != 0) check_from(run, run->remote, 0, block);
}

static void check_others(const struct bench_run *run, const char *memory, bool neighbours,
                         uint64_t block)
{
    for (int k = 0; k < n_others(run, neighbours); k++)
        check_from(run, memory, target_pe(run, neighbours, k), block);
}

static void check_all(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    (void)n_ops;
    check_others(run, run->remote, false, block);
}

static void check_neighbours(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    (void)n_ops;
    check_others(run, run->remote, true, block);
}

static void check_get(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    (void)n_ops;
    if (run->measures) check_others(run, run->local, false, block);
}

#define FAN(loop)                                                                                  \
    .group = "fan", .metric = BENCH_LATENCY, .sized = true, .per_pe = true, .walks = true,         \
    .default_max = (size_t)1 << 20, .steppe = {steppe_##loop, NULL}

static const struct bench rows[] = {
    {.name = "put-one-all",
     .description =
         "shmem_putmem_nbi from PE 0 to each other PE + shmem_quiet; the size is per target PE",
     .shape = BENCH_ONE_ALL,
     FAN(put),
     .fill = fill,
     .check = check_one},
    {.name = "get-one-all",
     .description =
         "shmem_getmem_nbi by PE 0 from each other PE + shmem_quiet; the size is per target PE",
     .shape = BENCH_ONE_ALL,
     FAN(get),
     .fill = fill_get,
     .check = check_get},
    {.name = "put-all-all",
     .description = "put-one-all, run by all PEs at once",
     .shape = BENCH_ALL_ALL,
     FAN(put),
     .fill = fill,
     .check = check_all},
    {.name = "get-all-all",
     .description = "get-one-all, run by all PEs at once",
     .shape = BENCH_ALL_ALL,
     FAN(get),
     .fill = fill_get,
     .check = check_get},
    {.name = "put-exchange",
     .description =
         "shmem_putmem_nbi to the next and previous PE + shmem_quiet, run by all PEs at once",
     .shape = BENCH_ALL_ALL,
     FAN(exchange),
     .fill = fill,
     .check = check_neighbours},
};
BENCH_LIST(bench_list_fan, rows);
