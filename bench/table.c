/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of benches. Rows are in the order in which "all" runs them: a live space on a GPU
 * changes the paths of the host's memory, so those come last.
 */
#include "bench.h"

#include <string.h>

#define SERVED(loop)                                                                               \
    {                                                                                              \
        loop, NULL                                                                                 \
    }

/* The target calls nothing meanwhile. That of the raw side polls: the least there can be. */
#define PASSIVE(bench_name, operation, does, idles, loop)                                          \
    {                                                                                              \
        .name = bench_name, .what = operation ", the target " does "; raw: it polls",              \
        .metric = BENCH_LATENCY, .per_op = 1, .idle = idles, .open = bench_passive_open,           \
        .steppe = SERVED(steppe_##loop), .node = SERVED(node_##loop),                              \
        .fabric = SERVED(fabric_##loop)                                                            \
    }

/* How long it takes to find the space of an address. */
#define LOOKUP(bench_name, order, opens)                                                           \
    {                                                                                              \
        .name = bench_name,                                                                        \
        .what = "shmem_get_space, " order "; raw: a binary search of as many ranges",              \
        .metric = BENCH_LATENCY, .per_op = 1, .min_ops = 1000, .alone = true, .in_spaces = true,   \
        .open = opens, .close = bench_spaces_close, .steppe = SERVED(steppe_lookup),               \
        .node = SERVED(raw_lookup)                                                                 \
    }

/* Benches between memory of GPUs and of hosts: local, the PE's own, and remote, the peer's. */
#define DEVICE_PAIR(op, pair, from_to, loop, raw, local_memory, remote_memory)                     \
    {.name = "device-" op "-latency-" pair,                                                        \
     .what = "shmem_" op "mem of 8 bytes from " from_to ", complete",                              \
     .metric = BENCH_LATENCY,                                                                      \
     DEVICE_OPERANDS(local_memory, remote_memory, 1),                                              \
     .steppe = SERVED(steppe_##loop),                                                              \
     .driver = SERVED(driver_##raw)},                                                              \
    {                                                                                              \
        .name = "device-" op "-bandwidth-" pair,                                                   \
        .what = "a window of shmem_" op "mem_nbi from " from_to " + shmem_quiet",                  \
        .metric = BENCH_BANDWIDTH, .sized = true, .windowed = true,                                \
        DEVICE_OPERANDS(local_memory, remote_memory, 1), .steppe = SERVED(steppe_##loop##_window), \
        .driver = SERVED(driver_##raw##_window)                                                    \
    }
#define DEVICE_OPERANDS(local_memory, remote_memory, n_results)                                    \
    .per_op = n_results, .on_gpu = true, .raw_driver = true, .local = local_memory,                \
    .remote = remote_memory, .open = bench_device_open, .close = bench_device_close

const struct bench bench_table[] = {
    {.name = "put-latency",
     .what = "shmem_putmem + shmem_quiet",
     .metric = BENCH_LATENCY,
     .sized = true,
     .per_op = 1,
     .steppe = SERVED(steppe_put),
     .node = SERVED(node_put),
     .fabric = SERVED(fabric_put)},
    {.name = "get-latency",
     .what = "shmem_getmem",
     .metric = BENCH_LATENCY,
     .sized = true,
     .per_op = 1,
     .steppe = SERVED(steppe_get),
     .node = SERVED(node_get),
     .fabric = SERVED(fabric_get)},
    {.name = "put-bandwidth",
     .what = "a window of shmem_putmem_nbi + shmem_quiet",
     .metric = BENCH_BANDWIDTH,
     .sized = true,
     .windowed = true,
     .per_op = 1,
     .steppe = SERVED(steppe_put_window),
     .node = SERVED(node_put_window),
     .fabric = SERVED(fabric_put_window)},
    {.name = "get-bandwidth",
     .what = "a window of shmem_getmem_nbi + shmem_quiet",
     .metric = BENCH_BANDWIDTH,
     .sized = true,
     .windowed = true,
     .per_op = 1,
     .steppe = SERVED(steppe_get_window),
     .node = SERVED(node_get_window),
     .fabric = SERVED(fabric_get_window)},
    {.name = "p",
     .what = "shmem_uint64_p back to back, one shmem_quiet a sample",
     .metric = BENCH_LATENCY,
     .per_op = 1,
     .min_ops = 1000,
     .steppe = SERVED(steppe_p),
     .node = SERVED(node_p),
     .fabric = SERVED(fabric_p)},
    {.name = "put-rate",
     .what = "shmem_putmem_nbi of 8 bytes back to back, one shmem_quiet a sample",
     .metric = BENCH_RATE,
     .per_op = 1,
     .min_ops = 1000,
     .steppe = SERVED(steppe_rate),
     .node = SERVED(node_rate),
     .fabric = SERVED(fabric_rate)},
    {.name = "batch-put-rate",
     .what = "put-rate in a session with SHMEM_CTX_SESSION_BATCH; raw: one by one",
     .metric = BENCH_RATE,
     .per_op = 1,
     .min_ops = 1000,
     .open = bench_session_open,
     .close = bench_session_close,
     .steppe = SERVED(steppe_rate),
     .node = SERVED(node_rate),
     .fabric = SERVED(fabric_rate)},
    {.name = "batch-p",
     .what = "p in a session with SHMEM_CTX_SESSION_BATCH; raw: one by one",
     .metric = BENCH_LATENCY,
     .per_op = 1,
     .min_ops = 1000,
     .open = bench_session_open,
     .close = bench_session_close,
     .steppe = SERVED(steppe_p),
     .node = SERVED(node_p),
     .fabric = SERVED(fabric_p)},
    {.name = "get-rate",
     .what = "shmem_getmem_nbi of 8 bytes back to back, one shmem_quiet a sample",
     .metric = BENCH_RATE,
     .per_op = 1,
     .min_ops = 1000,
     .steppe = SERVED(steppe_get_rate),
     .node = SERVED(node_get_rate),
     .fabric = SERVED(fabric_get_rate)},
    {.name = "fetch-add",
     .what = "shmem_uint64_atomic_fetch_add",
     .metric = BENCH_LATENCY,
     .per_op = 1,
     .steppe = SERVED(steppe_fadd),
     .node = SERVED(node_fadd),
     .fabric = SERVED(fabric_fadd)},
    {.name = "lock",
     .what = "shmem_set_lock + shmem_clear_lock, nobody else wants it; raw: two fetching atomics",
     .metric = BENCH_LATENCY,
     .per_op = 1,
     .steppe = SERVED(steppe_lock),
     .node = SERVED(node_lock),
     .fabric = SERVED(fabric_lock)},
    {.name = "flag",
     .what = "8-byte flag one way: half of flag-round-trip",
     .metric = BENCH_LATENCY,
     .per_op = 2,
     .steppe = {steppe_ping, steppe_pong},
     .node = {node_ping, node_pong},
     .fabric = {fabric_ping, fabric_pong}},
    {.name = "flag-round-trip",
     .what = "8-byte flag there and back: shmem_uint64_p + shmem_uint64_wait_until",
     .metric = BENCH_LATENCY,
     .per_op = 1,
     .steppe = {steppe_ping, steppe_pong},
     .node = {node_ping, node_pong},
     .fabric = {fabric_ping, fabric_pong}},
    {.name = "barrier",
     .what = "shmem_barrier_all over all PEs",
     .metric = BENCH_LATENCY,
     .all_pes = true,
     .per_op = 1,
     .steppe = {steppe_barrier, steppe_barrier},
     .node = {node_barrier, node_barrier},
     .fabric = {fabric_barrier, fabric_barrier}},

    /* PEs that make no call: what reaches them, and what waiting for it costs them */
    PASSIVE("passive-get", "shmem_getmem of 8 bytes", "sleeps", bench_sleep, get),
    PASSIVE("passive-put", "shmem_putmem of 8 bytes + shmem_quiet", "sleeps", bench_sleep, put),
    PASSIVE("passive-fetch-add", "shmem_uint64_atomic_fetch_add", "sleeps", bench_sleep, fadd),
    PASSIVE("passive-get-busy", "shmem_getmem of 8 bytes", "computes", bench_compute, get),
    PASSIVE("passive-fetch-add-busy", "shmem_uint64_atomic_fetch_add", "computes", bench_compute,
            fadd),
    {.name = "idle-cpu",
     .what = "CPU time of a PE, all threads, while it sleeps for a second: share of a core",
     .metric = BENCH_SHARE,
     .per_op = 1,
     .cpu_time = true,
     .n_samples = 3,
     .idle = bench_sleep,
     .open = bench_passive_open,
     .steppe = SERVED(steppe_rest)},

    /* what spaces cost: the default space beside others, one of many, the lookup, a life */
    {.name = "spaces-p",
     .what = "p() as in \"p\", in the default space, while others are alive",
     .metric = BENCH_LATENCY,
     .per_op = 1,
     .min_ops = 1000,
     .in_spaces = true,
     .open = bench_spaces_open,
     .close = bench_spaces_close,
     .stage = bench_spaces_stage,
     .steppe = SERVED(steppe_p),
     .node = SERVED(node_p),
     .fabric = SERVED(fabric_p)},
    {.name = "spaces-put8",
     .what = "shmem_putmem of 8 bytes + shmem_quiet, in the default space, while others are alive",
     .metric = BENCH_LATENCY,
     .per_op = 1,
     .in_spaces = true,
     .open = bench_spaces_open,
     .close = bench_spaces_close,
     .stage = bench_spaces_stage,
     .steppe = SERVED(steppe_put),
     .node = SERVED(node_put),
     .fabric = SERVED(fabric_put)},
    {.name = "spaces-p-own",
     .what = "p() as in \"p\", into the first of the spaces",
     .metric = BENCH_LATENCY,
     .per_op = 1,
     .min_ops = 1000,
     .in_spaces = true,
     .raw_driver = true,
     .open = bench_own_open,
     .close = bench_spaces_close,
     .stage = bench_spaces_stage,
     .steppe = SERVED(steppe_p),
     .node = SERVED(node_p),
     .fabric = SERVED(fabric_p),
     .driver = SERVED(driver_p)},
    LOOKUP("space-lookup", "another space every time, at random", bench_lookup_random_open),
    LOOKUP("space-lookup-turn", "the spaces in turn", bench_lookup_turn_open),
    LOOKUP("space-lookup-same", "the same space every time", bench_lookup_same_open),
    {.name = "space-create",
     .what = "shmem_space_create + shmem_team_destroy + shmem_space_destroy, all PEs; "
             "raw: the memory alone",
     .metric = BENCH_LONG,
     .nbytes = (size_t)64 << 20,
     .all_pes = true,
     .alone = true,
     .per_op = 1,
     .in_spaces = true,
     .raw_driver = true,
     .open = bench_create_open,
     .close = bench_spaces_close,
     .steppe = {steppe_create, steppe_create},
     .node = {raw_create, raw_create},
     .driver = {driver_create, driver_create}},
    {.name = "space-alloc",
     .what = "shmem_space_malloc of 64 bytes + shmem_space_free, all PEs; raw: two barriers",
     .metric = BENCH_LATENCY,
     .nbytes = 64,
     .all_pes = true,
     .per_op = 1,
     .in_spaces = true,
     .open = bench_alloc_open,
     .close = bench_spaces_close,
     .steppe = {steppe_alloc, steppe_alloc},
     .node = {node_alloc, node_alloc},
     .fabric = {fabric_alloc, fabric_alloc}},

    /* memory of GPUs */
    DEVICE_PAIR("put", "host-gpu", "private host memory to a GPU space", put, put, BENCH_HOST,
                BENCH_GPU),
    DEVICE_PAIR("put", "gpu-gpu", "GPU space to GPU space", put, put, BENCH_GPU, BENCH_GPU),
    DEVICE_PAIR("put", "gpu-heap", "a GPU space to the heap", put, put, BENCH_GPU, BENCH_HEAP),
    DEVICE_PAIR("put", "heap-gpu", "the heap to a GPU space", put, put, BENCH_HEAP, BENCH_GPU),
    DEVICE_PAIR("get", "gpu-host", "a GPU space to private host memory", get, get, BENCH_HOST,
                BENCH_GPU),
    DEVICE_PAIR("get", "gpu-gpu", "GPU space to GPU space", get, get, BENCH_GPU, BENCH_GPU),
    DEVICE_PAIR("get", "gpu-heap", "a GPU space to the heap", get, get, BENCH_HEAP, BENCH_GPU),
    DEVICE_PAIR("get", "heap-gpu", "the heap to a GPU space", get, get, BENCH_GPU, BENCH_HEAP),
    {.name = "device-fetch-add",
     .what = "shmem_uint64_atomic_fetch_add on a GPU space; raw: copy out, copy in, no atomicity",
     .metric = BENCH_LATENCY,
     DEVICE_OPERANDS(BENCH_HOST, BENCH_GPU, 1),
     .steppe = SERVED(steppe_device_fadd),
     .driver = SERVED(driver_fadd)},
    {.name = "device-put-signal",
     .what = "shmem_putmem_signal of 8 bytes to a GPU space, signal in the heap, one way",
     .metric = BENCH_LATENCY,
     DEVICE_OPERANDS(BENCH_HOST, BENCH_GPU, 2),
     .steppe = {steppe_signal_ping, steppe_signal_pong},
     .driver = {driver_ping, driver_pong}},
};

const int bench_n_table = sizeof(bench_table) / sizeof(bench_table[0]);

const struct bench *bench_find(const char *name)
{
    for (int i = 0; i < bench_n_table; i++)
        if (strcmp(bench_table[i].name, name) == 0) return &bench_table[i];
    return NULL;
}

bool bench_is_called(const struct bench *bench, const char *name)
{
    if (strcmp(name, "all") == 0) return true;
    if (strcmp(name, "spaces") == 0) return bench->in_spaces;
    if (strcmp(name, "passive") == 0) return bench->idle != NULL;
    if (strcmp(name, "device") == 0) return bench->on_gpu;
    return strcmp(name, bench->name) == 0;
}
