/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the program has becomes symmetric: an array of malloc's, and a piece of a file in
 * memory that is mapped shared. Each PE puts its number into the array of the next one.
 *
 *     oshcc -o adopt adopt.c && oshrun -n 4 ./adopt
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif

#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define N 1000000

/* To the next PE, by what leads there; then the space goes and the array stays. */
static int turn(shmem_space_t space, long *array, const char *what)
{
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    long *mine = malloc(N * sizeof(*mine));
    int wrong = 0;

    if (mine == NULL) return 1;
    for (long i = 0; i < N; i++)
        mine[i] = me;
    if (me == 0)
        printf("%s, to the next PE by: %s\n", what,
               shmemx_space_path_name(shmemx_space_path(space, next)));
    shmem_long_put(array, mine, N, next);
    shmem_barrier_all();
    wrong = shmem_space_destroy(space) != 0;
    for (long i = 0; i < N; i++)
        wrong |= array[i] != before;
    free(mine);
    return wrong;
}

int main(void)
{
    long *array = calloc(N, sizeof(*array));
    int wrong = 0, fd;
    shmem_space_t space;

    shmem_init();
    if (shmemx_buffer_register(SHMEM_TEAM_WORLD, array, N * sizeof(*array), 0, -1, 0, &space) != 0)
        shmem_global_exit(1);
    wrong |= turn(space, array, "private memory");
    free(array);

    fd = memfd_create("array", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, N * sizeof(*array)) != 0) shmem_global_exit(1);
    array = mmap(NULL, N * sizeof(*array), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shmemx_buffer_register(SHMEM_TEAM_WORLD, array, N * sizeof(*array), 0, fd, 0, &space) != 0)
        shmem_global_exit(1);
    close(fd);
    wrong |= turn(space, array, "memory with a descriptor");
    munmap(array, N * sizeof(*array));

    if (wrong) fprintf(stderr, "PE %d: wrong values\n", shmem_my_pe());
    shmem_finalize();
    return wrong;
}
