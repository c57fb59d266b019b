/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What no longer fits: NULL, and how often something is said about it. run_no_room.sh reads the
 * lines. usage: no_room WAY
 */
#include "heap_ways.h"
#include "pe_data.h"

#include <shmemx.h>

static long *block; /* heap, for realloc */

enum { TOO_MUCH = 1 << 30 };

/* A program that allocates until there is no room, and goes on trying. */
static void all_ways(void)
{
    while (shmem_malloc(1 << 20) != NULL)
        continue;
    for (int i = 0; i < 2 * N_WAYS; i++)
        PE_CHECK(allocate((enum way)(i % N_WAYS), block, TOO_MUCH) == NULL, "way %d has room", i);
    PE_CHECK(shmem_calloc(SIZE_MAX, 2) == NULL, "calloc has room");
}

/* A new heap, for each routine to be the first. */
static void first_ways(void)
{
    for (enum way way = 0; way < N_WAYS; way++) {
        shmem_finalize();
        pe_test_begin();
        block = shmem_malloc(sizeof(*block));
        PE_CHECK(allocate(way, block, TOO_MUCH) == NULL, "%s has room", way_names[way]);
    }
}

static void spaces(void)
{
    shmem_space_config_t config = {.device_type = SHMEM_DEVICE_CPU, .size = 1 << 20};
    shmem_team_t team[4];
    shmem_space_t space[4];

    for (int i = 0; i < 4; i++)
        PE_REQUIRE(shmem_space_create(&config, &space[i], &team[i]) == 0, "no space");
    for (int round = 0; round < 2; round++) {
        PE_CHECK(shmem_space_malloc(space[0], TOO_MUCH) == NULL, "malloc");
        PE_CHECK(shmem_space_calloc(space[1], TOO_MUCH, 1) == NULL, "calloc");
        PE_CHECK(shmemx_space_align(space[2], 64, TOO_MUCH) == NULL, "align");
        PE_CHECK(shmemx_space_realloc(space[3], NULL, TOO_MUCH) == NULL, "realloc");
        for (int i = 0; i < 4; i++)
            PE_CHECK(shmem_space_malloc(space[i], TOO_MUCH) == NULL, "malloc");
    }
}

/* A space of the last PE alone. */
static void own_space(void)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_config_t config = {.device_type = SHMEM_DEVICE_CPU, .size = 1 << 20};
    shmem_space_t space;
    shmem_team_t team;

    shmem_team_split_strided(SHMEM_TEAM_WORLD, pe_n - 1, 1, 1, NULL, 0, &attr.parent);
    if (pe_me != pe_n - 1) return;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, &team) == 0, "no space");
    PE_CHECK(shmem_space_malloc(space, TOO_MUCH) == NULL, "malloc");
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";

    pe_test_begin();
    block = shmem_malloc(sizeof(*block));
    if (strcmp(way, "all") == 0)
        all_ways();
    else if (strcmp(way, "first") == 0)
        first_ways();
    else if (strcmp(way, "spaces") == 0)
        spaces();
    else if (strcmp(way, "own") == 0)
        own_space();
    else if (PE_CHECK(strcmp(way, "env") == 0, "which way?")) /* a space of the environment */
        PE_CHECK(shmem_space_malloc(SHMEM_SPACE_CPU, TOO_MUCH) == NULL, "malloc");
    return pe_test_end();
}
