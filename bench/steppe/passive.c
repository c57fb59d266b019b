/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures operations on a target PE that makes no library call, and the CPU time that such a PE
 * uses. The target waits for the end of a block by reading a word with plain loads. Therefore only
 * the library's progress thread can serve the operations. On the raw side the target polls the
 * fabric, which gives the shortest possible time.
 */
#include "portable/raw_fabric_wait_and_flush.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

static void sleep_ns(long ns)
{
    struct timespec remaining = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

    while (nanosleep(&remaining, &remaining) != 0)
        continue;
}

/* Sleeps until *word is at least `value`. PE 0 or the progress thread writes the word. */
static void target_sleeps(const uint64_t *word, uint64_t value)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value)
        sleep_ns(1000000);
}

static void target_computes(const uint64_t *word, uint64_t value)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value)
        bench_pause();
}

static void sleep_loop(struct bench_run *run, uint64_t n_ops)
{
    (void)run;
    for (uint64_t i = 0; i < n_ops; i++)
        sleep_ns(BENCH_IDLE_NS);
}

/*
 * Returns whether the progress thread is on. Without this thread, a PE that makes no library call
 * does not serve operations of other PEs.
 */
static bool serves_idle(void)
{
    static const char *const off_values[] = {"0", "off", "no", "false", "n", "f"};
    const char *value = getenv("SHMEM_OFI_PROGRESS_THREAD");

    for (size_t i = 0; value != NULL && i < sizeof(off_values) / sizeof(off_values[0]); i++)
        if (strcasecmp(value, off_values[i]) == 0) return false;
    return true;
}

static int open_passive(struct bench_run *run, const struct bench *bench, char *reason, size_t len)
{
    (void)bench;
    if (run->pair_path != BENCH_FABRIC || serves_idle()) return 0;
    snprintf(reason, len,
             "a PE that makes no calls is served only by its progress thread, and "
             "SHMEM_OFI_PROGRESS_THREAD is off");
    return -ENOTSUP;
}

#define PASSIVE(bench_name, operation, activity, idle_loop, moved, loop)                           \
    {                                                                                              \
        .name = bench_name, .group = "passive",                                                    \
        .description =                                                                             \
            operation " while the target " activity "; on the raw side the target polls",          \
        .metric = BENCH_LATENCY, .idle = idle_loop, .open = open_passive, .moves = moved,          \
        .atomic = (moved) == BENCH_MOVES_NOTHING ? RAW_OFI_ADD : RAW_OFI_NONE, .fetches = true,    \
        .steppe = {bench_##loop, NULL}, .node = {bench_node_##loop, NULL}, .fabric = {             \
            bench_fabric_##loop,                                                                   \
            NULL                                                                                   \
        }                                                                                          \
    }

static const struct bench rows[] = {
    PASSIVE("passive-get", "shmem_getmem of 8 bytes", "sleeps", target_sleeps, BENCH_GETS, get),
    PASSIVE("passive-put", "shmem_putmem of 8 bytes + shmem_quiet", "sleeps", target_sleeps,
            BENCH_PUTS, put),
    PASSIVE("passive-fetch-add", "shmem_uint64_atomic_fetch_add", "sleeps", target_sleeps,
            BENCH_MOVES_NOTHING, fetch_add),
    PASSIVE("passive-get-busy", "shmem_getmem of 8 bytes", "computes", target_computes, BENCH_GETS,
            get),
    PASSIVE("passive-fetch-add-busy", "shmem_uint64_atomic_fetch_add", "computes", target_computes,
            BENCH_MOVES_NOTHING, fetch_add),
    {.name = "idle-cpu",
     .group = "passive",
     .description =
         "CPU time of all threads of a PE that sleeps for a second, as a share of a core",
     .metric = BENCH_SHARE,
     .cpu_time = true,
     .n_samples = 3,
     .idle = target_sleeps,
     .steppe = {sleep_loop, NULL}},
};
BENCH_LIST(bench_list_passive, rows);
