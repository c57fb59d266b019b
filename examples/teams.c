/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Teams: a grid of PEs, with a collective over each row and each column. A PE has a number of its
 * own in each team; shmem_team_translate_pe converts between them.
 *
 *     oshcc teams.c -o teams && oshrun -n 6 ./teams
 */
#include <shmem.h>

#include <stdio.h>

#define COLUMNS 3

static long value, row_sum, column_max;

int main(void)
{
    shmem_team_t row = SHMEM_TEAM_INVALID, column = SHMEM_TEAM_INVALID;
    shmem_init();
    int me = shmem_my_pe();

    /* All PEs of the parent team call the split. The last row may be shorter than the others. */
    if (shmem_team_split_2d(SHMEM_TEAM_WORLD, COLUMNS, NULL, 0, &row, NULL, 0, &column) != 0)
        shmem_global_exit(1);

    value = me;
    shmem_long_sum_reduce(row, &row_sum, &value, 1);
    shmem_long_max_reduce(column, &column_max, &value, 1);

    /* RMA routines take numbers of the world, so the first PE of the row is translated. */
    int first = shmem_team_translate_pe(row, 0, SHMEM_TEAM_WORLD);
    printf("PE %d: row %d, column %d; row begins with PE %d, sum %ld; maximum of column %ld\n", me,
           shmem_team_my_pe(column), shmem_team_my_pe(row), first, row_sum, column_max);

    /* Every second PE forms a team; the other PEs get SHMEM_TEAM_INVALID. */
    shmem_team_t even;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (shmem_n_pes() + 1) / 2, NULL, 0, &even);
    int wrong = (shmem_team_my_pe(even) >= 0) != (me % 2 == 0);

    shmem_team_destroy(even); /* an invalid team may be destroyed */
    shmem_team_destroy(column);
    shmem_team_destroy(row);
    shmem_finalize();
    return wrong;
}
