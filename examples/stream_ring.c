/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations in the order of a CUDA stream: a block of GPU memory goes around all PEs that have a
 * GPU, and then they sum it up. The host puts all of it into the stream and waits once, at the end.
 *
 * A program with kernels passes the stream that these are in (cudaStream_t, CUstream); NULL is the
 * legacy default stream. Without a GPU it says so and ends well. This has not run on a device yet.
 *
 *     oshcc stream_ring.c -o stream_ring && oshrun -n 4 ./stream_ring
 */
#include <shmem.h>
#include <shmemx.h>

#include <stdio.h>

#define N 1000
static void *const stream = NULL;

static uint64_t came; /* in symmetric host memory: how often the block came here */
static uint64_t done; /* the stream is through */

/* blocks: one for each step, so that none is written while it is sent on; then the sum. */
static int send_around(shmem_team_t team, long *blocks)
{
    int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team), world = shmem_my_pe();
    int next = shmem_team_translate_pe(team, (me + 1) % n, SHMEM_TEAM_WORLD);
    long mine[N], back[N], sum[N], wrong = 0;

    for (long i = 0; i < N; i++)
        mine[i] = me + i;
    shmem_long_put(blocks, mine, N, world); /* host to own GPU */
    shmem_quiet();

    for (int step = 0; step < n; step++) {
        shmemx_putmem_signal_on_stream(blocks + (step + 1) * N, blocks + step * N, sizeof(mine),
                                       &came, 1, SHMEM_SIGNAL_ADD, next, stream);
        shmemx_signal_wait_until_on_stream(&came, SHMEM_CMP_GE, (uint64_t)step + 1, stream);
    }
    shmemx_long_sum_reduce_on_stream(team, blocks, blocks + n * N, N, stream);
    shmemx_signal_op_on_stream(&done, 1, SHMEM_SIGNAL_SET, world, stream);
    shmem_signal_wait_until(&done, SHMEM_CMP_EQ, 1);

    shmem_long_get(back, blocks + n * N, N, world);
    shmem_long_get(sum, blocks, N, world);
    for (long i = 0; i < N; i++)
        wrong += back[i] != mine[i] || sum[i] != n * i + (long)n * (n - 1) / 2;
    if (me == 0) printf("stream_ring: %d PEs, %ld of %d numbers wrong\n", n, wrong, N);
    return wrong != 0;
}

int main(void)
{
    shmem_space_config_t config = {SHMEM_DEVICE_GPU, 0, SHMEM_SPACE_FLAG_DEFAULT};
    shmem_space_t space;
    shmem_team_t team;
    int wrong = 0;

    shmem_init();
    config.size = (size_t)(shmem_n_pes() + 1) * N * sizeof(long);
    if (shmem_space_create(&config, &space, &team) != 0) {
        if (shmem_my_pe() == 0) printf("stream_ring: no PE has a GPU\n");
    } else if (shmem_team_is_valid(team)) { /* this PE has one */
        long *blocks = shmem_space_malloc(space, config.size);

        if (blocks == NULL) shmem_global_exit(1);
        wrong = send_around(team, blocks);
        shmem_space_free(space, blocks);
        shmem_team_destroy(team);
        wrong |= shmem_space_destroy(space) != 0;
    }
    shmem_finalize();
    return wrong;
}
