/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A memory space: created at run time, with a team of the PEs that have its memory. Its blocks are
 * symmetric memory like that of shmem_malloc.
 *
 *     oshcc space_alloc.c -o space_alloc && oshrun -n 4 ./space_alloc
 */
#include <shmem.h>

#include <inttypes.h>
#include <stdio.h>

#define N 16

/* Each member writes its numbers to the next member, and adds to a counter there. */
static int exchange(shmem_team_t team, int *mine, int *received, int *counter)
{
    int rank = shmem_team_my_pe(team), n = shmem_team_n_pes(team);
    /* RMA routines take numbers of the world. */
    int next = shmem_team_translate_pe(team, (rank + 1) % n, SHMEM_TEAM_WORLD);
    int before = (rank + n - 1) % n, wrong = 0;

    for (int i = 0; i < N; i++)
        mine[i] = 100 * rank + i;
    shmem_int_put(received, mine, N, next);
    shmem_int_atomic_add(counter, rank + 1, next);
    shmem_quiet();
    shmem_team_sync(team);

    for (int i = 0; i < N; i++)
        wrong += received[i] != 100 * before + i;
    return wrong + (*counter != before + 1);
}

int main(void)
{
    shmem_space_config_t config = {.device_type = SHMEM_DEVICE_CPU, .size = 1 << 20};
    shmem_space_t space;
    shmem_team_t team;
    int wrong = 0;

    shmem_init();
    /* All PEs create the space. It is invalid on PEs that do not have this kind of memory. */
    if (shmem_space_create(&config, &space, &team) != 0) shmem_global_exit(1);

    if (shmem_team_is_valid(team)) {
        shmem_space_cap_t caps;
        shmem_space_get_caps(space, &caps); /* what the memory can do: RMA, atomics, ... */

        /* The members of the team allocate together. NULL means that the space is full. */
        int *mine = shmem_space_malloc(space, N * sizeof(int));
        int *received = shmem_space_malloc(space, N * sizeof(int));
        int *counter = shmem_space_calloc(space, 1, sizeof(int));
        if (mine == NULL || received == NULL || counter == NULL) shmem_global_exit(1);

        wrong = exchange(team, mine, received, counter);
        printf("PE %d: a CPU space of %d PEs, capabilities 0x%" PRIx64 ", %d wrong values\n",
               shmem_my_pe(), shmem_team_n_pes(team), (uint64_t)caps, wrong);

        shmem_space_free(space, counter);
        shmem_space_free(space, received);
        shmem_space_free(space, mine);
        shmem_team_destroy(team); /* the teams of a space are destroyed before the space */
        wrong += shmem_space_destroy(space) != 0;
    }
    shmem_finalize();
    return wrong != 0;
}
