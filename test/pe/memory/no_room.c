/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that each allocation that does not fit returns NULL. The library must report only the
 * first one of each space; run_no_room.sh counts the lines.
 *
 * usage: no_room all | first | spaces | own | env
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
        PE_CHECK(
            allocate((enum way)(i % N_WAYS), block, TOO_MUCH) == NULL,
            "attempt %d: an allocation of 1 GiB from the full heap returned memory, expected NULL",
            i);
    PE_CHECK(shmem_calloc(SIZE_MAX, 2) == NULL,
             "shmem_calloc(SIZE_MAX, 2) returned memory, expected NULL");
}

/* A new heap, for each routine to be the first. */
static void first_ways(void)
{
    for (enum way way = 0; way < N_WAYS; way++) {
        shmem_finalize();
        pe_test_begin();
        block = shmem_malloc(sizeof(*block));
        PE_CHECK(
            allocate(way, block, TOO_MUCH) == NULL,
            "%s of 1 GiB as the first allocation that does not fit returned memory, expected NULL",
            way_names[way]);
    }
}

static void spaces(void)
{
    shmem_space_config_t config = {.device_type = SHMEM_DEVICE_CPU, .size = 1 << 20};
    shmem_team_t team[4];
    shmem_space_t space[4];

    for (int i = 0; i < 4; i++)
        PE_REQUIRE(shmem_space_create(&config, &space[i], &team[i]) == 0,
                   "creating a space of 1 MiB failed");
    for (int round = 0; round < 2; round++) {
        PE_CHECK(shmem_space_malloc(space[0], TOO_MUCH) == NULL,
                 "shmem_space_malloc of 1 GiB in a space of 1 MiB returned memory, expected NULL");
        PE_CHECK(shmem_space_calloc(space[1], TOO_MUCH, 1) == NULL,
                 "shmem_space_calloc of 1 GiB in a space of 1 MiB returned memory, expected NULL");
        PE_CHECK(shmemx_space_align(space[2], 64, TOO_MUCH) == NULL,
                 "shmemx_space_align of 1 GiB in a space of 1 MiB returned memory, expected NULL");
        PE_CHECK(
            shmemx_space_realloc(space[3], NULL, TOO_MUCH) == NULL,
            "shmemx_space_realloc to 1 GiB in a space of 1 MiB returned memory, expected NULL");
        for (int i = 0; i < 4; i++)
            PE_CHECK(
                shmem_space_malloc(space[i], TOO_MUCH) == NULL,
                "shmem_space_malloc of 1 GiB in a space of 1 MiB returned memory, expected NULL");
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
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, &team) == 0,
               "creating a space of 1 MiB failed");
    PE_CHECK(shmem_space_malloc(space, TOO_MUCH) == NULL,
             "shmem_space_malloc of 1 GiB in a space of 1 MiB returned memory, expected NULL");
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
    else if (
        PE_CHECK(
            strcmp(way, "env") == 0,
            "usage: no_room all | first | spaces | own | env")) /* a space of the environment */
        PE_CHECK(shmem_space_malloc(SHMEM_SPACE_CPU, TOO_MUCH) == NULL,
                 "shmem_space_malloc of 1 GiB in a space of 1 MiB returned memory, expected NULL");
    return pe_test_end();
}
