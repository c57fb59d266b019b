/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The smallest complete program: each PE says who it is, passes a number to its right neighbour
 * by put, and checks what came from the left.
 *
 *     oshcc hello.c -o hello && oshrun -n 4 ./hello
 */
#include <shmem.h>

#include <stdio.h>
#include <unistd.h>

static int from_left = -1; /* a global is symmetric: every PE has one, all PEs can reach it */

int main(void)
{
    char host[256] = "?";
    int me, n, left;

    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    left = (me + n - 1) % n;
    gethostname(host, sizeof(host) - 1);

    shmem_int_p(&from_left, me, (me + 1) % n);
    shmem_barrier_all();

    printf("hello from PE %d of %d on %s: my left neighbour is PE %d\n", me, n, host, from_left);
    shmem_finalize();
    return from_left == left ? 0 : 1;
}
