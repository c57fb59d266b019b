/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A memory space, the team that comes with it, and teams split from that team.
 *
 * Creates a CPU space, splits its team into rows and columns and into every second PE, runs
 * collectives on space memory over each, and takes everything down in the right order. Checks
 * every result; all PEs return the same exit status. Runs with any number of PEs.
 *
 *     oshcc space_teams.c -o space_teams && oshrun -n 4 ./space_teams
 */
#include <shmem.h>

#include <stdio.h>

#define NELEMS 16
#define XRANGE 2 /* PEs in a row */

static int n_errors; /* found by this PE; a global, so the reduction below may read it */
static int n_errors_all;

static void check(int ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "space_teams: PE %d: wrong: %s\n", shmem_my_pe(), what);
    n_errors++;
}

/* Rank 0 of the team sends NELEMS numbers that name it, in place: source and dest are one. */
static void check_broadcast(shmem_team_t team, int *data, const char *what)
{
    int first = shmem_team_translate_pe(team, 0, SHMEM_TEAM_WORLD);
    int ok = 1;

    for (int i = 0; i < NELEMS; i++)
        data[i] = 1000 * shmem_my_pe() + i;
    check(shmem_int_broadcast(team, data, data, NELEMS, 0) == 0, what);
    for (int i = 0; i < NELEMS; i++)
        ok = ok && data[i] == 1000 * first + i;
    check(ok, what);
}

/* Every PE of the space is in one row and in one column; the standard's split gives both. */
static void use_grid(shmem_team_t space_team, int *data)
{
    shmem_team_t row, column;
    int rank = shmem_team_my_pe(space_team);

    if (shmem_team_split_2d(space_team, XRANGE, NULL, 0, &row, NULL, 0, &column) != 0) {
        check(0, "shmem_team_split_2d failed");
        return;
    }
    check(shmem_team_is_valid(row) && shmem_team_is_valid(column), "a team of the grid is invalid");
    check(shmem_team_my_pe(row) == rank % XRANGE, "rank in the row");
    check(shmem_team_my_pe(column) == rank / XRANGE, "rank in the column");

    check_broadcast(row, data, "broadcast over a row");
    check_broadcast(column, data, "broadcast over a column");

    shmem_team_destroy(row);
    shmem_team_destroy(column);
}

/* Every second PE of the space adds up; the others get no team and take no part. */
static void use_stride(shmem_team_t space_team, int *data)
{
    int size = (shmem_team_n_pes(space_team) + 1) / 2;
    shmem_team_t even;

    if (shmem_team_split_strided(space_team, 0, 2, size, NULL, 0, &even) != 0) {
        check(0, "shmem_team_split_strided failed");
        return;
    }
    check(shmem_team_is_valid(even) == (shmem_team_my_pe(space_team) % 2 == 0),
          "members of the strided team");
    if (!shmem_team_is_valid(even)) return;

    data[0] = shmem_team_my_pe(even) + 1;
    check(shmem_int_sum_reduce(even, &data[1], &data[0], 1) == 0, "sum over every second PE");
    check(data[1] == size * (size + 1) / 2, "sum over every second PE");
    shmem_team_destroy(even);
}

static void use_space(shmem_space_t space, shmem_team_t space_team)
{
    int *data = shmem_space_malloc(space, NELEMS * sizeof(int));

    check(data != NULL, "shmem_space_malloc found no room");
    if (data != NULL) {
        use_grid(space_team, data);
        use_stride(space_team, data);
        shmem_space_free(space, data);
    }

    /* Teams first, then the space: the other order is refused, with a message. */
    shmem_team_destroy(space_team);
    check(shmem_space_destroy(space) == 0, "shmem_space_destroy");
}

int main(void)
{
    shmem_space_config_t config = {
        .device_type = SHMEM_DEVICE_CPU,
        .size = 1024 * 1024,
        .flags = SHMEM_SPACE_FLAG_DEFAULT,
    };
    shmem_space_t space;
    shmem_team_t space_team;

    shmem_init();
    if (shmem_space_create(&config, &space, &space_team) != 0)
        check(0, "shmem_space_create failed");
    else if (shmem_team_is_valid(space_team))
        use_space(space, space_team);

    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &n_errors_all, &n_errors, 1);
    if (shmem_my_pe() == 0 && n_errors_all == 0)
        printf("space_teams: rows, columns and strides over a CPU space on %d PEs: all right\n",
               shmem_n_pes());
    shmem_finalize();
    return n_errors_all == 0 ? 0 : 1;
}
