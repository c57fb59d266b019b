/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that kernels begin: each block of a grid sends its row to the next PE, with a signal
 * behind it, and waits for the row from the PE before. As C, threads play the blocks:
 *
 *     oshcc kernel_ring.c -o kernel_ring -pthread && oshrun -n 2 ./kernel_ring
 *
 * and as CUDA the kernel is one, in memory of the GPU (nvcc compiles it; not run on a device yet):
 *
 *     nvcc -x cu -arch=native kernel_ring.c -o kernel_ring $(pkg-config --cflags --libs steppe)
 */
#include <shmem.h>
#include <shmemx.h>
#include <shmemx_device.h>

#include <stdio.h>
#include <string.h>

enum { BLOCKS = 4, THREADS = 32, N = 256 };

/* Symmetric memory, for each block a row to send, a row that comes, and a signal. */
typedef struct {
    long sent[BLOCKS][N], came[BLOCKS][N];
    uint64_t signals[BLOCKS];
} rows_t;

/* All threads of a block call it. */
SHMEMX_DEV void exchange(const shmemx_device_handle_t *handle, rows_t *rows, int block)
{
    int next = (shmemx_dev_my_pe(handle) + 1) % shmemx_dev_n_pes(handle);

    shmemx_dev_putmem_signal_block(handle, rows->came[block], rows->sent[block],
                                   sizeof(rows->sent[block]), &rows->signals[block], 1,
                                   SHMEMX_DEV_SIGNAL_SET, next);
    shmemx_dev_signal_wait_until(handle, &rows->signals[block], SHMEMX_DEV_CMP_EQ, 1);
}

#ifdef __CUDACC__
#define KIND SHMEM_DEVICE_GPU

__global__ void run_block(shmemx_device_handle_t handle, rows_t *rows)
{
    exchange(&handle, rows, blockIdx.x);
}

static int run_grid(shmemx_device_handle_t handle, rows_t *rows)
{
    run_block<<<BLOCKS, THREADS>>>(handle, rows);
    return cudaDeviceSynchronize() != cudaSuccess;
}
#else
#include <pthread.h>
#define KIND SHMEM_DEVICE_CPU

typedef struct {
    shmemx_device_handle_t handle;
    rows_t *rows;
    int block;
} block_t;

static void *run_block(void *arg)
{
    block_t *block = arg;

    exchange(&block->handle, block->rows, block->block);
    return NULL;
}

static int run_grid(shmemx_device_handle_t handle, rows_t *rows)
{
    pthread_t threads[BLOCKS];
    block_t blocks[BLOCKS];
    int wrong = 0;

    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = (block_t){handle, rows, i};
        wrong |= pthread_create(&threads[i], NULL, run_block, &blocks[i]);
    }
    for (int i = 0; i < BLOCKS && !wrong; i++)
        wrong |= pthread_join(threads[i], NULL);
    return wrong;
}
#endif

static int exchange_rows(shmem_team_t team, shmem_space_t space)
{
    static rows_t host; /* to fill and to look at; the space may be on a GPU */
    int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team), world = shmem_my_pe(), wrong = 0;
    rows_t *rows = (rows_t *)shmem_space_calloc(space, 1, sizeof(*rows));
    shmemx_device_options_t options = SHMEMX_DEVICE_OPTIONS_INITIALIZER;
    shmemx_device_handle_t handle;

    options.kind = KIND;
    if (rows == NULL || shmemx_device_handle_create(team, &options, &handle) != 0)
        shmem_global_exit(1);
    for (int i = 0; i < BLOCKS * N; i++)
        host.sent[i / N][i % N] = me * 1000 + i;
    shmem_putmem(rows->sent, host.sent, sizeof(host.sent), world);
    shmem_quiet();
    wrong |= run_grid(handle, rows);
    wrong |= shmemx_device_handle_destroy(&handle);

    shmem_getmem(&host, rows, sizeof(host), world);
    for (int i = 0; i < BLOCKS * N; i++)
        wrong |= host.came[i / N][i % N] != (me + n - 1) % n * 1000 + i;
    shmem_space_free(space, rows);
    if (me == 0) printf("kernel_ring: %d PEs, %s\n", n, wrong ? "wrong" : "all rows came");
    return wrong;
}

int main(void)
{
    shmem_space_config_t config = {KIND, 1 << 20, SHMEM_SPACE_FLAG_DEFAULT};
    shmem_space_t space;
    shmem_team_t team;
    int wrong = 0;

    shmem_init();
    if (shmem_space_create(&config, &space, &team) != 0) {
        if (shmem_my_pe() == 0) printf("kernel_ring: no PE has a GPU\n");
    } else if (shmem_team_is_valid(team)) {
        wrong = exchange_rows(team, space);
        shmem_team_destroy(team);
        wrong |= shmem_space_destroy(space) != 0;
    }
    shmem_finalize();
    return wrong;
}
