/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks how many calls of the GPU driver an operation makes after its first call. The fake driver
 * counts them: at most one pointer query, and no wait of the host for a stream where none is
 * needed. Prints the counts if DRIVER_CALLS is set. Only for spaces that this PE's device reaches;
 * the design is in docs/design/cuda.md.
 */
#include "pe_gpu.h"

#include <shmemx_device.h>

enum { N = 4096, ROUNDS = 10 };

static long (*calls)(const char *symbol);
static shmem_space_t space, pinned;
static shmem_team_t team, pinned_team;
static char *mine, *there;  /* private memory, and a block of the space, on the device */
static uint64_t *word;      /* on the device */
static uint64_t *host_word; /* in the default heap */
static uint64_t *pin_word;  /* in pinned memory */
static char *host;          /* private */
static int next;

static const char *const queries[] = {"cuPointerGetAttribute", "cuPointerGetAttributes"};
static const char *const waits[] = {"cuStreamSynchronize", "cuCtxSynchronize"};
static const char *const rest[] = {
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuMemcpyAsync",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuStreamGetCtx",
    "cuStreamIsCapturing",
    "cuLaunchHostFunc",
    "cuStreamWriteValue64_v2",
    "cuStreamWaitValue64_v2",
    "cuMemHostAlloc",
    "cuFlushGPUDirectRDMAWrites",
    "cuDevicePrimaryCtxGetState",
    "cuMemHostGetDevicePointer_v2",
    "cuLaunchKernel",
};

static long count(const char *const *names, size_t n)
{
    long sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += calls(names[i]) > 0 ? calls(names[i]) : 0;
    return sum;
}
#define COUNT(names) count(names, sizeof(names) / sizeof((names)[0]))

static void put(void)
{
    shmem_putmem_nbi(there, mine, N, next);
}

static void put_host(void)
{
    shmem_putmem(there, host, 8, next);
}

static void get(void)
{
    shmem_getmem(mine, there, N, next);
}

static void put_signal(void)
{
    shmem_putmem_signal_nbi(there, mine, N, word, 1, SHMEM_SIGNAL_SET, next);
}

static void put_signal_host(void)
{
    shmem_putmem_signal_nbi(there, mine, N, host_word, 1, SHMEM_SIGNAL_SET, next);
}

static void put_signal_pinned(void)
{
    shmem_putmem_signal_nbi(there, mine, N, pin_word, 1, SHMEM_SIGNAL_SET, next);
}

static void put_on_stream(void)
{
    shmemx_putmem_on_stream(there, mine, N, next, NULL);
}

static void put_signal_on_stream(void)
{
    shmemx_putmem_signal_on_stream(there, mine, N, word, 1, SHMEM_SIGNAL_SET, next, NULL);
}

static void wait_on_stream(void)
{
    shmemx_signal_wait_until_on_stream(pin_word, SHMEM_CMP_GE, 0, NULL);
}

static void barrier_on_stream(void)
{
    shmemx_barrier_all_on_stream(NULL);
}

/* In place. */
static void reduce(void)
{
    shmem_int_max_reduce(team, (int *)(void *)there, (int *)(void *)there, N / sizeof(int));
}

static void reduce_on_stream(void)
{
    shmemx_int_sum_reduce_on_stream(team, (int *)(void *)there, (int *)(void *)there,
                                    N / sizeof(int), NULL);
}

static void scan(void)
{
    shmem_int_sum_inscan(team, (int *)(void *)there, (int *)(void *)there, N / sizeof(int));
}

static void fetch_add(void)
{
    (void)shmem_uint64_atomic_fetch_add(word, 1, next);
}

static void add(void)
{
    shmem_uint64_atomic_add(word, 1, next);
}

static const struct operation {
    const char *name;
    void (*run)(void);
    long queries, waits; /* at most */
} operations[] = {
    {"put_nbi from private device memory", put, 1, 0},
    {"put of 8 bytes from the host", put_host, 0, 0},
    {"get to private device memory", get, 1, 1},
    {"put_signal_nbi, word on the device", put_signal, 1, 4},
    {"put_signal_nbi, word in the heap", put_signal_host, 1, 1},
    {"put_signal_nbi, word in pinned memory", put_signal_pinned, 1, 0},
    {"put_on_stream from private device memory", put_on_stream, 1, 0},
    {"put_signal_on_stream, word on the device", put_signal_on_stream, 1, 0},
    {"signal_wait_until_on_stream, pinned word", wait_on_stream, 0, 0},
    {"barrier_all_on_stream", barrier_on_stream, 0, 0},
    {"max_reduce of 4 KiB on the device", reduce, 0, 1},
    {"sum_inscan of 4 KiB on the device", scan, 0, 1},
    {"sum_reduce_on_stream of 4 KiB on the device", reduce_on_stream, 0, 0},
    {"atomic_fetch_add on the device", fetch_add, 0, 2},
    {"atomic_add on the device", add, 0, 2},
};

/* While a handle for kernels lives. */
static const struct operation operations_shared[] = {
    {"atomic_fetch_add, with a handle for kernels", fetch_add, 0, 1},
    {"atomic_add, with a handle for kernels", add, 0, 1},
};

static void check(const struct operation *operation)
{
    long n_queries, n_waits, n_rest;

    operation->run();
    shmem_quiet();
    PE_CHECK_EQ(pe_cuda.finish(), 0);
    shmem_barrier_all();
    n_queries = COUNT(queries);
    n_waits = COUNT(waits);
    n_rest = COUNT(rest);
    for (int round = 0; round < ROUNDS; round++)
        operation->run();
    shmem_sync_all(); /* the others' operations, which this PE's threads may take part in, */
    PE_CHECK_EQ(pe_cuda.finish(), 0);
    n_queries = COUNT(queries) - n_queries;
    n_waits = COUNT(waits) - n_waits - 1; /* but not that one */
    n_rest = COUNT(rest) - n_rest;
    if (getenv("DRIVER_CALLS") != NULL && pe_me == 0)
        printf("| %s | %.1f | %.1f | %.1f |\n", operation->name, (double)n_queries / ROUNDS,
               (double)n_waits / ROUNDS, (double)(n_queries + n_waits + n_rest) / ROUNDS);
    PE_CHECK(n_queries <= operation->queries * ROUNDS,
             "%s: %ld pointer queries of the driver in %d operations, more than the limit",
             operation->name, n_queries, ROUNDS);
    PE_CHECK(n_waits <= operation->waits * ROUNDS,
             "%s: the host waited for a stream %ld times in %d operations, more than the limit",
             operation->name, n_waits, ROUNDS);
    shmem_quiet();
    PE_CHECK_EQ(pe_cuda.finish(), 0);
    shmem_barrier_all();
}

static void check_shared(void)
{
    shmemx_device_options_t options = SHMEMX_DEVICE_OPTIONS_INITIALIZER;
    shmemx_device_handle_t handle;

    options.kind = SHMEM_DEVICE_GPU;
    PE_REQUIRE(shmemx_device_handle_create(team, &options, &handle) == 0,
               "shmemx_device_handle_create failed");
    for (size_t i = 0; i < sizeof(operations_shared) / sizeof(operations_shared[0]); i++)
        check(&operations_shared[i]);
    PE_CHECK_EQ(shmemx_device_handle_destroy(&handle), 0);
}

int main(void)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_GPU, 4 * PE_MIB);
    void *memory;

    pe_test_begin();
    calls = pe_gpu_counted(N, &memory);
    if (calls == NULL) return pe_test_end();
    next = (pe_me + 1) % pe_n;
    attr.device = 0;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, &team) == 0,
               "shmemx_space_create_attr of a GPU space failed");
    if (shmemx_space_path(space, next) != SHMEMX_PATH_DEVICE) {
        pe_test_skip("the counts are those of memory that this PE's device reaches");
        pe_space_end(space, team);
        pe_gpu_counted_end(memory);
        return pe_test_end();
    }
    config.device_type = SHMEM_DEVICE_CPU;
    attr.flags = SHMEMX_SPACE_PINNED;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &pinned, &pinned_team) == 0,
               "shmemx_space_create_attr of a pinned CPU space failed");
    mine = memory;
    there = shmem_space_malloc(space, N);
    word = shmem_space_calloc(space, 1, sizeof(*word));
    host_word = shmem_calloc(1, sizeof(*host_word));
    pin_word = shmem_space_calloc(pinned, 1, sizeof(*pin_word));
    host = malloc(N);
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
        check(&operations[i]);
    check_shared();
    free(host);
    shmem_free(host_word);
    shmem_space_free(space, there);
    shmem_space_free(space, word);
    shmem_space_free(pinned, pin_word);
    pe_space_end(space, team);
    pe_space_end(pinned, pinned_team);
    pe_gpu_counted_end(memory);
    return pe_test_end();
}
