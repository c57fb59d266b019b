/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A user's program, valid C and C++: each PE stores its number at the next PE and checks the number
 * that it gets. check_install.sh builds it against an installation in every way that the
 * installation offers.
 */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>

static long from_left = -1;

int main(void)
{
    int me, n;

    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    shmem_long_p(&from_left, me, (me + 1) % n);
    shmem_barrier_all();
    if (from_left != (me + n - 1) % n) {
        fprintf(stderr, "pe %d: got %ld, not the number of the previous PE\n", me, from_left);
        shmem_global_exit(2);
    }
    printf("pe %d of %d, steppe %s\n", me, n, shmemx_version());
    shmem_finalize();
    return 0;
}
