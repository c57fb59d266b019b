/* SPDX-License-Identifier: BSD-3-Clause */
/* Each PE writes its number to its right neighbour and prints the number from the left one. */
#include <shmem.h>
#include <stdio.h>
static long from_left = -1; /* a static variable is symmetric: other PEs can write to it */

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes();
    shmem_long_p(&from_left, me, (me + 1) % npes); /* write my number to the right neighbour */
    shmem_barrier_all();
    printf("PE %d of %d: hello from PE %ld\n", me, npes, from_left);
    shmem_finalize();
}
