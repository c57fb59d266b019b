/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective routines over all PEs: broadcast, reduction, prefix sum, fcollect and alltoall.
 *
 *     oshcc collectives.c -o collectives && oshrun -n 4 ./collectives
 */
#include <shmem.h>

#include <stdio.h>

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes();

    /* Source and dest of a collective are symmetric. shmem_calloc clears the memory. */
    long *one = shmem_calloc(4, sizeof(long));
    long *to_all = shmem_malloc((size_t)npes * sizeof(long));
    long *from_all = shmem_malloc((size_t)npes * sizeof(long));
    if (one == NULL || to_all == NULL || from_all == NULL) shmem_global_exit(1);

    /* Broadcast: PE 0 sends the number of steps to all PEs, also to itself. */
    if (me == 0) one[0] = 42;
    shmem_long_broadcast(SHMEM_TEAM_WORLD, &one[1], &one[0], 1, 0);

    /* Reduction: each PE gets the sum of all sources. Source and dest may be the same array. */
    one[2] = me + 1;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &one[2], &one[2], 1);

    /* Exclusive prefix sum: PE i gets the sum of the sources of PEs 0 to i-1. */
    one[0] = 10;
    shmem_long_sum_exscan(SHMEM_TEAM_WORLD, &one[3], &one[0], 1);

    /* fcollect: each PE gets the blocks of all PEs, in the order of the PEs. */
    shmem_long_fcollect(SHMEM_TEAM_WORLD, from_all, &one[3], 1);
    long offsets = 0;
    for (int pe = 0; pe < npes; pe++)
        offsets += from_all[pe] == 10 * pe;

    /* A collective does not wait for PEs that still read their result: synchronize before reuse. */
    shmem_team_sync(SHMEM_TEAM_WORLD);

    /* alltoall: block i of PE j becomes block j of PE i, as if a matrix were transposed. */
    for (int pe = 0; pe < npes; pe++)
        to_all[pe] = 100 * me + pe;
    shmem_long_alltoall(SHMEM_TEAM_WORLD, from_all, to_all, 1);
    long transposed = 0;
    for (int pe = 0; pe < npes; pe++)
        transposed += from_all[pe] == 100 * pe + me;

    int wrong = one[1] != 42 || one[2] != (long)npes * (npes + 1) / 2 || offsets != npes ||
                transposed != npes;
    printf("PE %d: steps %ld, sum %ld, offset %ld%s\n", me, one[1], one[2], one[3],
           wrong ? ", wrong" : "");

    shmem_free(from_all);
    shmem_free(to_all);
    shmem_free(one);
    shmem_finalize();
    return wrong;
}
