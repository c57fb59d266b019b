/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Benches with GPU memory: puts, gets, an atomic, and a put with signal. The operands are in
 * private host memory, the symmetric heap, or a GPU space. Only puts and gets have a raw side. The
 * raw side copies with the CUDA driver within this process, between the same kinds of memory.
 */
#include "raw_cuda_driver.h"
#include "space_setup_helpers.h"

/* ---- the driver ----------------------------------------------------------------------------- */

static void driver_put(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        run->cuda->copy(run->driver_remote, run->driver_local, run->nbytes);
        run->cuda->wait();
    }
}

static void driver_get(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        run->cuda->copy(run->driver_local, run->driver_remote, run->nbytes);
        run->cuda->wait();
    }
}

static void driver_put_window(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++)
            run->cuda->copy(run->driver_remote, run->driver_local, run->nbytes);
        run->cuda->wait();
    }
}

static void driver_get_window(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++)
            run->cuda->copy(run->driver_local, run->driver_remote, run->nbytes);
        run->cuda->wait();
    }
}

/* ---- Steppe ------------------------------------------------------------------------------- */

static struct bench_space device;

/* Creates a GPU space with two blocks, one for run->remote and one for run->local. */
static int open_device(struct bench_run *run, const struct bench *bench, char *reason, size_t len)
{
    size_t block = (run->region + 4095) & ~(size_t)4095;
    int status = bench_kind_check(run, reason, len);

    if (status != 0) return status;
    status = bench_space_make(run, 2 * block + ((size_t)1 << 20), 2 * block, &device, reason, len);
    if (status != 0) return status;
    bench_use_remote(run, &device, device.memory);
    run->driver_remote = run->cuda->buffer[1];
    if (bench->remote == BENCH_HEAP) {
        run->remote = run->heap_remote;
        run->remote_ptr = run->peer >= 0 ? run->remote_of[run->peer] : NULL;
        run->driver_remote = run->remote_ptr != NULL ? run->remote_ptr : run->heap_remote;
    }
    if (bench->local == BENCH_GPU) run->local = device.memory + block;
    if (bench->local == BENCH_HEAP) run->local = run->heap_remote;
    run->driver_local = bench->local == BENCH_GPU ? run->cuda->buffer[0] : run->local;
    return 0;
}

static void close_device(struct bench_run *run)
{
    bench_use_heap(run);
    bench_space_drop(&device);
}

static void fetch_add(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *counter = (uint64_t *)run->remote;

    for (uint64_t i = 0; i < n_ops; i++)
        (void)shmem_uint64_atomic_fetch_add(counter, 1, run->peer);
}

static void ping(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *turn = bench_turn(run->shared, BENCH_STEPPE);

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_putmem_signal(run->remote, run->local, run->nbytes, turn, ++run->token,
                            SHMEM_SIGNAL_SET, run->peer);
        shmem_signal_wait_until(turn, SHMEM_CMP_GE, run->token);
    }
}

static void pong(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *turn = bench_turn(run->shared, BENCH_STEPPE);

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_signal_wait_until(turn, SHMEM_CMP_GE, ++run->token);
        shmem_putmem_signal(run->remote, run->local, run->nbytes, turn, run->token,
                            SHMEM_SIGNAL_SET, run->peer);
    }
}

#define OPERANDS(local_memory, remote_memory)                                                      \
    .group = "device", .on_gpu = true, .local = local_memory, .remote = remote_memory,             \
    .open = open_device, .close = close_device

/*
 * Defines a latency bench and a bandwidth bench. local_memory and remote_memory are the kinds of
 * memory of the operands on this PE and on the peer.
 */
#define PAIR(op, pair, from_to, local_memory, remote_memory)                                       \
    {.name = "device-" #op "-latency-" pair,                                                       \
     .description = "shmem_" #op "mem of 8 bytes from " from_to ", with its completion",           \
     .metric = BENCH_LATENCY,                                                                      \
     OPERANDS(local_memory, remote_memory),                                                        \
     .steppe = {bench_##op, NULL},                                                                 \
     .driver = {driver_##op, NULL}},                                                               \
    {                                                                                              \
        .name = "device-" #op "-bandwidth-" pair,                                                  \
        .description = "a window of shmem_" #op "mem_nbi calls from " from_to " + shmem_quiet",    \
        .metric = BENCH_BANDWIDTH, .sized = true, .windowed = true,                                \
        OPERANDS(local_memory, remote_memory), .steppe = {bench_##op##_window, NULL}, .driver = {  \
            driver_##op##_window,                                                                  \
            NULL                                                                                   \
        }                                                                                          \
    }

static const struct bench rows[] = {
    PAIR(put, "host-gpu", "private host memory to a GPU space", BENCH_HOST, BENCH_GPU),
    PAIR(put, "gpu-gpu", "a GPU space to a GPU space", BENCH_GPU, BENCH_GPU),
    PAIR(put, "gpu-heap", "a GPU space to the heap", BENCH_GPU, BENCH_HEAP),
    PAIR(put, "heap-gpu", "the heap to a GPU space", BENCH_HEAP, BENCH_GPU),
    PAIR(get, "gpu-host", "a GPU space to private host memory", BENCH_HOST, BENCH_GPU),
    PAIR(get, "gpu-gpu", "a GPU space to a GPU space", BENCH_GPU, BENCH_GPU),
    PAIR(get, "gpu-heap", "a GPU space to the heap", BENCH_HEAP, BENCH_GPU),
    PAIR(get, "heap-gpu", "the heap to a GPU space", BENCH_GPU, BENCH_HEAP),
    {.name = "device-fetch-add",
     .description = "shmem_uint64_atomic_fetch_add on a word in a GPU space",
     .metric = BENCH_LATENCY,
     OPERANDS(BENCH_HOST, BENCH_GPU),
     .steppe = {fetch_add, NULL}},
    {.name = "device-put-signal",
     .description =
         "shmem_putmem_signal of 8 bytes to a GPU space with the signal in the heap, one way",
     .metric = BENCH_LATENCY,
     .per_op = 2,
     OPERANDS(BENCH_HOST, BENCH_GPU),
     .steppe = {ping, pong}},
};
BENCH_LIST(bench_list_device, rows);
