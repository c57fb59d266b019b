/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A space that grows: a program that does not know beforehand how much it will need.
 *
 * Each PE sends rounds of numbers to the next one, twice as many each time. The buffer for them is
 * made larger when a round does not fit; the space begins with 1 MiB on each PE and may grow to
 * 1 GiB. It is addresses that the maximum costs, not memory. All PEs return the same exit status.
 *
 *     oshcc space_grow.c -o space_grow && oshrun -n 4 ./space_grow
 */
#include <shmem.h>
#include <shmemx.h>

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 12
#define FIRST 1000 /* numbers of the first round */

static long n_errors; /* a global, so the reduction below may read it */
static long n_errors_all;

static size_t size_of(shmem_space_t space)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;

    return shmemx_space_query(space, &info) == 0 ? info.nbytes : 0;
}

/* n numbers from the left neighbour, behind those of the rounds before. */
static void send(long *buffer, size_t at, size_t n)
{
    int me = shmem_my_pe(), n_pes = shmem_n_pes(), left = (me + n_pes - 1) % n_pes;
    long *numbers = malloc(n * sizeof(*numbers));

    if (numbers == NULL) shmem_global_exit(1);
    for (size_t i = 0; i < n; i++)
        numbers[i] = me + (long)i;
    shmem_long_put(buffer + at, numbers, n, (me + 1) % n_pes);
    shmem_barrier_all();
    for (size_t i = 0; i < n; i++)
        n_errors += buffer[at + i] != left + (long)i;
    free(numbers);
}

static void run(shmem_space_t space)
{
    long *buffer = NULL;
    size_t at = 0;

    for (int round = 0; round < ROUNDS; round++) {
        size_t n = (size_t)FIRST << round;
        long *larger = shmemx_space_realloc(space, buffer, (at + n) * sizeof(*buffer));

        if (larger == NULL) { /* on all PEs: one has no more memory, or the maximum is reached */
            n_errors++;
            break;
        }
        buffer = larger;
        send(buffer, at, n);
        at += n;
    }
    if (shmem_my_pe() == 0)
        printf("space_grow: %zu numbers on each of %d PEs, in a space of %zu MiB by now\n", at,
               shmem_n_pes(), size_of(space) >> 20);
    shmem_space_free(space, buffer);
}

int main(void)
{
    shmem_space_config_t config = {
        .device_type = SHMEM_DEVICE_CPU,
        .size = 1024 * 1024,
        .flags = SHMEM_SPACE_FLAG_DEFAULT,
    };
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_t space;
    shmem_team_t team;

    shmem_init();
    attr.max_size = (size_t)1 << 30;
    if (shmemx_space_create_attr(&config, &attr, &space, &team) != 0) shmem_global_exit(1);
    run(space);
    shmem_team_destroy(team);
    n_errors += shmem_space_destroy(space) != 0;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &n_errors_all, &n_errors, 1);
    shmem_finalize();
    return n_errors_all == 0 ? 0 : 1;
}
