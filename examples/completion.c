/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When is a transfer complete? Puts return before the data has arrived, and nonblocking routines
 * (_nbi) return before the local buffer may be reused. shmem_quiet completes both; shmem_fence only
 * orders puts to the same PE.
 *
 *     oshcc completion.c -o completion && oshrun -n 2 ./completion
 */
#include <shmem.h>

#include <stdio.h>

#define N 4096
#define BLOCKS 8

static int source[BLOCKS][N], dest[BLOCKS][N], copy[BLOCKS][N];
static int ready;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes();
    int next = (me + 1) % npes, before = (me + npes - 1) % npes;

    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < N; i++)
            source[b][i] = me + b + i;

    /* All blocks are transferred at the same time. Do not change `source` before the quiet. */
    for (int b = 0; b < BLOCKS; b++)
        shmem_int_put_nbi(dest[b], source[b], N, next);
    /* ... compute something that needs neither source nor dest ... */
    shmem_quiet(); /* now the blocks have arrived, and `source` may be changed */
    shmem_int_p(&ready, 1, next);

    /* PE `before` sent the flag after its quiet: its blocks are here, and its source is filled. */
    shmem_int_wait_until(&ready, SHMEM_CMP_EQ, 1);

    for (int b = 0; b < BLOCKS; b++)
        shmem_int_get_nbi(copy[b], source[b], N, before);
    shmem_quiet(); /* only now may `copy` be read */

    int wrong = 0;
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < N; i++)
            wrong += dest[b][i] != before + b + i || copy[b][i] != dest[b][i];
    printf("PE %d: %d wrong numbers\n", me, wrong);
    shmem_finalize();
    return wrong != 0;
}
