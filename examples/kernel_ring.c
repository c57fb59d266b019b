/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that a kernel starts: each block of a grid puts its row and a signal to the next PE
 * and waits for the row of the PE before. In C, one thread of the host plays all blocks in turn:
 *     oshcc kernel_ring.c -o kernel_ring && oshrun -n 2 ./kernel_ring
 * In CUDA the rows are in GPU memory, and the blocks are those of a kernel (not yet run on a GPU):
 *     nvcc -x cu -arch=native kernel_ring.c -o kernel_ring $(pkg-config --cflags --libs steppe)
 */
#include <shmem.h>
#include <shmemx.h>
#include <shmemx_device.h>
#include <stdio.h>

enum { BLOCKS = 4, N = 256 };
struct rows { /* in symmetric memory: for each block a row to send, a row to receive, a signal */
    long sent[BLOCKS][N], received[BLOCKS][N];
    uint64_t signals[BLOCKS];
};

SHMEMX_DEV void send_row(const shmemx_device_handle_t *handle, struct rows *rows, int b)
{
    int next = (shmemx_dev_my_pe(handle) + 1) % shmemx_dev_n_pes(handle);
    shmemx_dev_putmem_signal_block(handle, rows->received[b], rows->sent[b], sizeof(rows->sent[b]),
                                   &rows->signals[b], 1, SHMEMX_DEV_SIGNAL_SET, next);
}

#ifdef __CUDACC__
#define KIND SHMEM_DEVICE_GPU
__global__ void exchange(shmemx_device_handle_t handle, struct rows *rows)
{
    send_row(&handle, rows, blockIdx.x); /* called by all threads of the block */
    shmemx_dev_signal_wait_until(&handle, &rows->signals[blockIdx.x], SHMEMX_DEV_CMP_EQ, 1);
}
#define EXCHANGE(handle, rows) exchange<<<BLOCKS, 32>>>(handle, rows), cudaDeviceSynchronize()
#else
#define KIND SHMEM_DEVICE_CPU
#define EXCHANGE(handle, rows) exchange(handle, rows)
static void exchange(shmemx_device_handle_t handle, struct rows *rows)
{
    for (int b = 0; b < BLOCKS; b++)
        send_row(&handle, rows, b);
    for (int b = 0; b < BLOCKS; b++)
        shmemx_dev_signal_wait_until(&handle, &rows->signals[b], SHMEMX_DEV_CMP_EQ, 1);
}
#endif

static int exchange_rows(shmem_team_t team, shmem_space_t space)
{
    static struct rows host; /* the CPU may not be able to read the memory of the space */
    int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team), world = shmem_my_pe(), wrong = 0;
    struct rows *rows = (struct rows *)shmem_space_calloc(space, 1, sizeof(*rows));
    shmemx_device_options_t options = SHMEMX_DEVICE_OPTIONS_INITIALIZER;
    shmemx_device_handle_t handle;
    options.kind = KIND;
    if (rows == NULL || shmemx_device_handle_create(team, &options, &handle) != 0) return 1;
    for (int i = 0; i < BLOCKS * N; i++)
        host.sent[i / N][i % N] = me * 1000 + i;
    shmem_putmem(rows->sent, host.sent, sizeof(host.sent), world);
    shmem_quiet();
    EXCHANGE(handle, rows);
    shmem_getmem(&host, rows, sizeof(host), world);
    for (int i = 0; i < BLOCKS * N; i++)
        wrong += host.received[i / N][i % N] != (me + n - 1) % n * 1000 + i;
    printf("PE %d: %d wrong numbers\n", world, wrong);
    return wrong + shmemx_device_handle_destroy(&handle);
}

int main(void)
{
    shmem_space_config_t config = {KIND, 1 << 20, SHMEM_SPACE_FLAG_DEFAULT};
    shmem_space_t space;
    shmem_team_t team;
    int wrong = 0;
    shmem_init();
    if (shmem_space_create(&config, &space, &team) != 0)
        printf("PE %d: no PE has a GPU\n", shmem_my_pe());
    else if (shmem_team_is_valid(team))
        wrong = exchange_rows(team, space);
    shmem_finalize(); /* destroys the space and its team */
    return wrong != 0;
}
