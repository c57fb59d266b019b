/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks named FAM spaces that are opened by fewer members than created them: member i of the
 * opening team owns part i, all parts can be read, and more members than parts are refused.
 */
#include "pe_test.h"

#include <shmemx.h>

#include <unistd.h>

enum { WORDS = 3 * 512 };

static char name[64];
static long drawn; /* symmetric */

static int try_open(shmem_team_t parent, int keep, shmem_space_t *space, shmem_team_t *team)
{
    shmem_space_config_t config = {.device_type = SHMEM_DEVICE_FAM, .size = WORDS * sizeof(long)};
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.name = name;
    attr.flags = keep ? SHMEMX_SPACE_KEEP : 0;
    attr.parent = parent;
    return shmemx_space_create_attr(&config, &attr, space, team);
}

static void close_it(shmem_space_t space, shmem_team_t team)
{
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

/* Every part says its number, and how often its owner wrote it. */
static void write_own(shmem_space_t space, int part, long times)
{
    long *words = shmem_space_malloc(space, WORDS * sizeof(*words));

    PE_REQUIRE(words != NULL, "shmem_space_malloc of the whole part returned NULL");
    for (int i = 0; i < WORDS; i++)
        words[i] = 1000000L * times + 1000L * part + i;
    PE_CHECK_EQ(shmemx_space_persist(space, words, WORDS * sizeof(*words)), 0);
    shmem_space_free(space, words);
}

static void read_all(shmem_space_t space, int n_parts, int n_now)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    const void *base, *again;

    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    PE_CHECK_EQ(info.n_parts, n_parts);
    PE_CHECK_EQ(info.n_pes, n_now);
    for (int part = 0; part < n_parts; part++) {
        PE_REQUIRE(shmemx_space_part(space, part, &base) == 0,
                   "shmemx_space_part of part %d failed", part);
        PE_CHECK_EQ(((const long *)base)[0], 1000000L * (part < n_now ? 2 : 1) + 1000L * part);
        PE_CHECK_EQ(((const long *)base)[WORDS - 1],
                    1000000L * (part < n_now ? 2 : 1) + 1000L * part + WORDS - 1);
        PE_CHECK_EQ(shmemx_space_part(space, part, &again), 0);
        PE_CHECK(again == base, "a second shmemx_space_part of part %d returned another address",
                 part);
    }
    PE_CHECK(shmemx_space_part(space, n_parts, &base) != 0 && base == NULL,
             "shmemx_space_part past the last part did not fail with NULL");
    PE_CHECK(shmemx_space_part(space, -1, &base) != 0 && base == NULL,
             "shmemx_space_part of part -1 did not fail with NULL");
}

/* Made by all; opened by every other one. */
static void check_fewer(void)
{
    shmem_team_t team, few, few_team;
    shmem_space_t space;
    int n_few = (pe_n + 1) / 2;

    PE_REQUIRE(try_open(SHMEM_TEAM_WORLD, 1, &space, &team) == 0,
               "creating the space named %s failed", name);
    write_own(space, pe_me, 1);
    close_it(space, team);
    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, n_few, NULL, 0, &few), 0);
    if (few != SHMEM_TEAM_INVALID) {
        PE_REQUIRE(try_open(few, 1, &space, &few_team) == 0,
                   "opening the space named %s by fewer members failed", name);
        write_own(space, pe_me / 2, 2);
        shmem_team_sync(few_team);
        read_all(space, pe_n, n_few);
        close_it(space, few_team);
        shmem_team_destroy(few);
    }
    shmem_barrier_all();
    PE_REQUIRE(try_open(SHMEM_TEAM_WORLD, 0, &space, &team) == 0,
               "opening the space named %s by all PEs again failed", name);
    close_it(space, team);
}

/* Made by all but one of the world, whose parts their ranks count; more are refused. */
static void check_more(void)
{
    shmem_team_t team, most;
    shmem_space_t space;

    if (pe_n == 1) return;
    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 1, pe_n - 1, NULL, 0, &most), 0);
    if (most != SHMEM_TEAM_INVALID) {
        PE_REQUIRE(try_open(most, 1, &space, &team) == 0,
                   "creating the space named %s by all PEs but the first failed", name);
        write_own(space, pe_me - 1, 2);
        shmem_team_sync(team);
        read_all(space, pe_n - 1, pe_n - 1);
        close_it(space, team);
    }
    shmem_barrier_all();
    PE_CHECK(try_open(SHMEM_TEAM_WORLD, 1, &space, &team) != 0,
             "opening a space by more members than it has parts returned 0, expected an error");
    if (most != SHMEM_TEAM_INVALID) {
        PE_REQUIRE(try_open(most, 0, &space, &team) == 0,
                   "opening the space named %s by the same team again failed", name);
        close_it(space, team);
        shmem_team_destroy(most);
    }
}

static void check_nameless(void)
{
    shmem_space_config_t config = {.device_type = SHMEM_DEVICE_FAM, .size = 4096};
    shmem_space_t space;
    shmem_team_t team;
    const void *base;

    PE_REQUIRE(shmem_space_create(&config, &space, &team) == 0,
               "creating a FAM space without a name failed");
    PE_CHECK(shmemx_space_part(space, 0, &base) != 0,
             "shmemx_space_part of a space without a name returned 0, expected an error");
    PE_CHECK(shmemx_space_part(SHMEM_SPACE_INVALID, 0, &base) != 0,
             "shmemx_space_part of SHMEM_SPACE_INVALID returned 0, expected an error");
    close_it(space, team);
}

int main(void)
{
    pe_test_begin();
    if (pe_me == 0) drawn = getpid();
    shmem_barrier_all();
    snprintf(name, sizeof(name), "parts.%ld", shmem_long_g(&drawn, 0));
    check_fewer();
    check_more();
    check_nameless();
    return pe_test_end();
}
