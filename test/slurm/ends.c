/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last PE ends in the way that the argument names, and the other PEs wait for it in a barrier
 * if the end leaves one. This program produces the rows of the table "How a job ends" in
 * docs/design/launch.md; slurm.py runs it under Slurm.
 *
 * usage: slurm_ends WAY
 */
#include <shmem.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *way;
static long word;

static int is(const char *name)
{
    return strcmp(way, name) == 0;
}

/* Whether this is the last PE, before the library is up: pmi2, PMI-1 and PMIx all tell. */
static int is_last(void)
{
    const char *rank = getenv("PMI_RANK");
    const char *size = getenv("PMI_SIZE");

    if (!rank) rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!size) size = getenv("OMPI_COMM_WORLD_SIZE");
    return rank && size && atoi(rank) == atoi(size) - 1;
}

static void end_early(void)
{
    if (is("kill-before-init")) raise(SIGKILL);
    if (is("exit-before-init")) exit(3);
}

static void end(void)
{
    if (is("exit")) exit(3);
    if (is("_exit")) _exit(3);
    if (is("_exit-0")) _exit(0);
    if (is("global_exit-7")) shmem_global_exit(7);
    if (is("global_exit-0")) shmem_global_exit(0);
    if (is("abort")) abort();
    if (is("segv")) raise(SIGSEGV);
    if (is("kill")) raise(SIGKILL);
    if (is("fatal")) shmem_long_p(&word, 1, 1000);
}

int main(int argc, char **argv)
{
    int me, last;

    way = argc > 1 ? argv[1] : "";
    if (is_last()) end_early();
    shmem_init();
    me = shmem_my_pe();
    last = me == shmem_n_pes() - 1;
    printf("pe %d of %d runs\n", me, shmem_n_pes());
    fflush(stdout);
    shmem_barrier_all();
    if (last) end();
    if (is("compute")) sleep(60);
    shmem_barrier_all();
    shmem_finalize();
    if (last && is("return")) return 3;
    if (last && is("kill-after-finalize")) raise(SIGKILL);
    return 0;
}
