/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A space that grows: for a program that does not know beforehand how much memory it needs. Each PE
 * sends rounds of numbers to the next one, and each round is twice as long as the one before.
 *
 *     oshcc space_grow.c -o space_grow && oshrun -n 4 ./space_grow
 */
#include <shmem.h>
#include <shmemx.h>

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 12
#define FIRST 1000 /* numbers in the first round */

/* Sends n numbers to position `start` of the buffer of the next PE, and checks those that came. */
static int exchange(long *buffer, size_t start, size_t n)
{
    int me = shmem_my_pe(), npes = shmem_n_pes(), before = (me + npes - 1) % npes, wrong = 0;
    long *numbers = malloc(n * sizeof(*numbers));

    if (numbers == NULL) shmem_global_exit(1);
    for (size_t i = 0; i < n; i++)
        numbers[i] = me + (long)i;
    shmem_long_put(buffer + start, numbers, n, (me + 1) % npes);
    shmem_barrier_all();
    for (size_t i = 0; i < n; i++)
        wrong += buffer[start + i] != before + (long)i;
    free(numbers);
    return wrong;
}

int main(void)
{
    shmem_space_config_t config = {.device_type = SHMEM_DEVICE_CPU, .size = 1 << 20};
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    shmem_space_t space;
    shmem_team_t team;
    long *buffer = NULL;
    size_t length = 0;
    int wrong = 0;

    shmem_init();
    attr.max_size = (size_t)1 << 30; /* reserves addresses; memory is taken when the space grows */
    if (shmemx_space_create_attr(&config, &attr, &space, &team) != 0) shmem_global_exit(1);

    for (int round = 0; round < ROUNDS; round++) {
        size_t n = (size_t)FIRST << round;

        /* NULL, on all PEs: a PE has no more memory, or the maximum is reached. */
        long *larger = shmemx_space_realloc(space, buffer, (length + n) * sizeof(*buffer));
        if (larger == NULL) shmem_global_exit(1);
        buffer = larger;
        wrong += exchange(buffer, length, n);
        length += n;
    }

    wrong += shmemx_space_query(space, &info) != 0;
    if (shmem_my_pe() == 0)
        printf("%zu numbers on each PE; the space has grown from 1 to %zu MiB\n", length,
               info.nbytes >> 20);
    shmem_space_free(space, buffer);
    shmem_team_destroy(team);
    wrong += shmem_space_destroy(space) != 0;
    shmem_finalize();
    return wrong != 0;
}
