/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Teams of many shapes for the tests of collectives. Each PE runs a check on each team that it is
 * a member of, at the same time as the other members.
 */
#ifndef STEPPE_TEST_PE_TEAMS_H
#define STEPPE_TEST_PE_TEAMS_H

#include "pe_data.h"

struct pe_team {
    const char *name;
    shmem_team_t team;
    int me, n; /* numbers in the team */
};

/* World number of a team's PE. */
static inline int pe_team_world(const struct pe_team *t, int rank)
{
    return shmem_team_translate_pe(t->team, rank, SHMEM_TEAM_WORLD);
}

/* Whether to try the large sizes here: through a fabric, the world alone does. */
static inline bool pe_team_large(const struct pe_team *t)
{
    return t->team == SHMEM_TEAM_WORLD || pe_rounds(8) == 8;
}

static inline void pe_team_run(shmem_team_t team, const char *name,
                               void (*check)(const struct pe_team *t))
{
    struct pe_team t = {.name = name, .team = team};

    if (team == SHMEM_TEAM_INVALID) return;
    t.me = shmem_team_my_pe(team);
    t.n = shmem_team_n_pes(team);
    check(&t);
}

static inline void pe_team_split_run(int start, int stride, int size, const char *name,
                                     void (*check)(const struct pe_team *t))
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    int rc = shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &team);

    PE_REQUIRE(rc == 0, "%s: shmem_team_split_strided(world, %d, %d, %d) returned %d, expected 0",
               name, start, stride, size, rc);
    pe_team_run(team, name, check);
    shmem_barrier_all(); /* members of other teams wait here */
    shmem_team_destroy(team);
}

/*
 * Run check on: the world, the reversed world, every second PE, all but the first, the first
 * alone, rows and columns of a ragged grid, the PEs of this node.
 */
static inline void pe_for_teams(void (*check)(const struct pe_team *t))
{
    shmem_team_t rows = SHMEM_TEAM_INVALID, columns = SHMEM_TEAM_INVALID;

    pe_team_run(SHMEM_TEAM_WORLD, "world", check);
    pe_team_split_run(pe_n - 1, -1, pe_n, "reversed", check);
    pe_team_split_run(0, 2, (pe_n + 1) / 2, "evens", check);
    if (pe_n > 1) pe_team_split_run(1, 1, pe_n - 1, "all but the first", check);
    pe_team_split_run(0, 0, 1, "the first alone", check);
    PE_REQUIRE(shmem_team_split_2d(SHMEM_TEAM_WORLD, 3, NULL, 0, &rows, NULL, 0, &columns) == 0,
               "shmem_team_split_2d of the world into rows of 3 failed, expected 0");
    pe_team_run(rows, "row", check);
    pe_team_run(columns, "column", check);
    shmem_barrier_all();
    shmem_team_destroy(rows);
    shmem_team_destroy(columns);
    pe_team_run(SHMEM_TEAM_SHARED, "shared", check);
    shmem_barrier_all();
}

#endif
