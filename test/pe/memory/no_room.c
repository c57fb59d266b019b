/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What no longer fits: NULL, and how often something is said about it. run_no_room.sh reads the
 * lines. usage: no_room WAY
 */
#include "pe_data.h"

#include <shmemx.h>

static long *block; /* heap, for realloc */

static void *grow(size_t nbytes)
{
    return shmem_realloc(block, nbytes);
}

static void *old_grow(size_t nbytes)
{
    return shrealloc(block, nbytes);
}

static void *with_calloc(size_t nbytes)
{
    return shmem_calloc(nbytes / 8, 8);
}

static void *with_align(size_t nbytes)
{
    return shmem_align(4096, nbytes);
}

static void *with_hints(size_t nbytes)
{
    return shmem_malloc_with_hints(nbytes, SHMEM_MALLOC_ATOMICS_REMOTE);
}

static void *with_old_align(size_t nbytes)
{
    return shmemalign(4096, nbytes);
}

static void *(*const allocators[])(size_t) = {shmem_malloc, with_calloc, with_align,     with_hints,
                                              grow,         shmalloc,    with_old_align, old_grow};

enum { N_ALLOCATORS = sizeof(allocators) / sizeof(allocators[0]), TOO_MUCH = 1 << 30 };

/* A program that allocates until there is no room, and goes on trying. */
static void all_ways(void)
{
    while (shmem_malloc(1 << 20) != NULL)
        continue;
    for (int i = 0; i < 2 * N_ALLOCATORS; i++)
        PE_CHECK(allocators[i % N_ALLOCATORS](TOO_MUCH) == NULL, "way %d has room", i);
    PE_CHECK(shmem_calloc(SIZE_MAX, 2) == NULL, "calloc has room");
}

/* A new heap, for each routine to be the first. */
static void first_ways(void)
{
    for (int i = 0; i < N_ALLOCATORS; i++) {
        shmem_finalize();
        pe_test_begin();
        block = shmem_malloc(sizeof(*block));
        PE_CHECK(allocators[i](TOO_MUCH) == NULL, "way %d has room", i);
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

/* A space of the environment. */
static void env_space(void)
{
    PE_CHECK(shmem_space_malloc(SHMEM_SPACE_CPU, TOO_MUCH) == NULL, "malloc");
}

static const struct {
    const char *name;
    void (*fill)(void);
} ways[] = {
    {"all", all_ways},  {"first", first_ways}, {"spaces", spaces},
    {"own", own_space}, {"env", env_space},
};

int main(int argc, char **argv)
{
    size_t i = 0, n = sizeof(ways) / sizeof(ways[0]);

    pe_test_begin();
    block = shmem_malloc(sizeof(*block));
    while (i < n && (argc < 2 || strcmp(argv[1], ways[i].name) != 0))
        i++;
    if (PE_CHECK(i < n, "which way?")) ways[i].fill();
    return pe_test_end();
}
