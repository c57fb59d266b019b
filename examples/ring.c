/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts, gets and the symmetric heap: each PE writes an array to its right neighbour, and then reads
 * the array of its left neighbour.
 *
 *     oshcc ring.c -o ring && oshrun -n 4 ./ring
 */
#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>

#define N 1000

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes();
    int right = (me + 1) % npes, left = (me + npes - 1) % npes;

    /* All PEs call shmem_malloc with the same size. The block of each PE can be reached by all. */
    double *mine = shmem_malloc(N * sizeof(double));
    double *received = shmem_malloc(N * sizeof(double));
    double *read = malloc(N * sizeof(double)); /* the local side of a put or get may be private */
    if (mine == NULL || received == NULL || read == NULL) shmem_global_exit(1);

    for (int i = 0; i < N; i++)
        mine[i] = me + i / 1000.0;

    /* `received` is the address in this PE; the routine finds the block of PE `right`. */
    shmem_double_put(received, mine, N, right);

    /* The barrier completes all puts and waits until all PEs have come here. */
    shmem_barrier_all();
    shmem_double_get(read, mine, N, left);

    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += received[i] != left + i / 1000.0 || read[i] != received[i];
    printf("PE %d: %d of %d numbers from PE %d are wrong\n", me, wrong, N, left);

    free(read);
    shmem_free(received); /* also called by all PEs */
    shmem_free(mine);
    shmem_finalize();
    return wrong != 0;
}
