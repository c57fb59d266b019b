/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does a different thing on each PE until the job is ended, for check_status.py. PE 0 and all
 * other PEs except the last three wait in a barrier; of these three one computes, one sleeps, and
 * one waits for a lock that PE 0 holds. This program checks nothing. 4 PEs or more.
 *
 * usage: pe_status              as above
 *        pe_status init         the last PE does not come to shmem_init
 *        pe_status crash PE...  these PEs store to an invalid address
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long status_lock;

int main(int argc, char **argv)
{
    const char *rank = getenv("PMI_RANK"), *size = getenv("PMI_SIZE");
    int *volatile nowhere = (int *)0x10;
    volatile unsigned long work = 0;
    int me, n;

    if (argc > 1 && strcmp(argv[1], "init") == 0 && rank != NULL && size != NULL &&
        atoi(rank) == atoi(size) - 1)
        pause();
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    if (me == 0) shmem_set_lock(&status_lock);
    shmem_barrier_all();
    for (int i = 2; i < argc; i++)
        if (atoi(argv[i]) == me) *nowhere = 1;
    while (me == n - 3)
        work++;
    if (me == n - 2) pause();
    if (me == n - 1) shmem_set_lock(&status_lock);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
