/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The team of a space: collectives run on memory of the space over the team, and over teams that
 * are split from it.
 *
 *     oshcc space_teams.c -o space_teams && oshrun -n 4 ./space_teams
 */
#include <shmem.h>

#include <stdio.h>

#define N 16
#define COLUMNS 2

/* The first PE of a team sends N numbers to the others. Source and dest are the same array. */
static int broadcast(shmem_team_t team, int *data)
{
    int first = shmem_team_translate_pe(team, 0, SHMEM_TEAM_WORLD), wrong = 0;

    for (int i = 0; i < N; i++)
        data[i] = 1000 * shmem_my_pe() + i;
    wrong += shmem_int_broadcast(team, data, data, N, 0) != 0;
    for (int i = 0; i < N; i++)
        wrong += data[i] != 1000 * first + i;
    return wrong;
}

/* Adds the numbers of every second member. The other members get no team and take no part. */
static int sum_of_even(shmem_team_t space_team, int *data)
{
    int size = (shmem_team_n_pes(space_team) + 1) / 2, wrong = 0;
    shmem_team_t even;

    if (shmem_team_split_strided(space_team, 0, 2, size, NULL, 0, &even) != 0) return 1;
    if (!shmem_team_is_valid(even)) return 0;
    data[0] = shmem_team_my_pe(even) + 1;
    wrong += shmem_int_sum_reduce(even, &data[1], &data[0], 1) != 0;
    wrong += data[1] != size * (size + 1) / 2;
    shmem_team_destroy(even);
    return wrong;
}

static int use_space(shmem_space_t space, shmem_team_t space_team)
{
    int *data = shmem_space_malloc(space, N * sizeof(int)), wrong = 0;
    shmem_team_t row, column;

    if (data == NULL ||
        shmem_team_split_2d(space_team, COLUMNS, NULL, 0, &row, NULL, 0, &column) != 0)
        shmem_global_exit(1);
    wrong += broadcast(row, data) + broadcast(column, data) + sum_of_even(space_team, data);
    printf("PE %d: row of %d PEs, column of %d PEs, %d wrong values\n", shmem_my_pe(),
           shmem_team_n_pes(row), shmem_team_n_pes(column), wrong);
    shmem_team_destroy(column);
    shmem_team_destroy(row);
    shmem_space_free(space, data);
    return wrong;
}

int main(void)
{
    shmem_space_config_t config = {.device_type = SHMEM_DEVICE_CPU, .size = 1 << 20};
    shmem_space_t space;
    shmem_team_t space_team;
    int wrong = 0;

    shmem_init();
    if (shmem_space_create(&config, &space, &space_team) != 0) shmem_global_exit(1);
    if (shmem_team_is_valid(space_team)) {
        wrong = use_space(space, space_team);
        /* Teams first: Steppe refuses to destroy a space that still has a team, with a message. */
        shmem_team_destroy(space_team);
        wrong += shmem_space_destroy(space) != 0;
    }
    shmem_finalize();
    return wrong != 0;
}
