/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Benches on memory of GPUs: what they need, and those bodies on Steppe's side that host memory
 * has none of. Puts and gets are those of loops.c, on other memory.
 */
#include "raw_cuda.h"
#include "spaces.h"

static struct bench_space device;

/* Two blocks of a space on the GPU: the one that a peer reaches, the one of this PE's own. */
int bench_device_open(struct bench_run *run, const struct bench *bench, char *why, size_t len)
{
    size_t block = (run->max_nbytes + 4095) & ~(size_t)4095;
    int status = bench_kind_check(run, why, len);

    if (status != 0) return status;
    status = bench_space_make(run, 2 * block + ((size_t)1 << 20), 2 * block, &device, why, len);
    if (status != 0) return status;
    bench_use_remote(run, &device, device.memory);
    run->driver_remote = run->cuda->buffer[1];
    if (bench->remote == BENCH_HEAP) {
        run->remote = run->heap_remote;
        run->driver_remote =
            run->heap_remote_there != NULL ? run->heap_remote_there : run->heap_remote;
    }
    if (bench->local == BENCH_GPU) run->local = device.memory + block;
    if (bench->local == BENCH_HEAP) run->local = run->heap_remote;
    run->driver_local = bench->local == BENCH_GPU ? run->cuda->buffer[0] : run->local;
    return 0;
}

void bench_device_close(struct bench_run *run)
{
    bench_use_heap(run);
    bench_space_drop(&device);
}

void steppe_device_fadd(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *counter = (uint64_t *)run->remote;

    for (uint64_t i = 0; i < n_ops; i++)
        (void)shmem_uint64_atomic_fetch_add(counter, 1, run->peer);
}

void steppe_signal_ping(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *turn = &run->shared->side[BENCH_STEPPE].turn.value;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_putmem_signal(run->remote, run->local, run->nbytes, turn, ++run->token,
                            SHMEM_SIGNAL_SET, run->peer);
        shmem_signal_wait_until(turn, SHMEM_CMP_GE, run->token);
    }
}

void steppe_signal_pong(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *turn = &run->shared->side[BENCH_STEPPE].turn.value;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_signal_wait_until(turn, SHMEM_CMP_GE, ++run->token);
        shmem_putmem_signal(run->remote, run->local, run->nbytes, turn, run->token,
                            SHMEM_SIGNAL_SET, run->peer);
    }
}
