/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the modes in which a named FAM space is opened (create, open, either), what
 * shmemx_space_stat reports without opening the space, a name that is in use, and a file that was
 * truncated.
 */
#include "pe_test.h"

#include <shmemx.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { BYTES = 3 * 4096 };

static char name[64];
static long drawn; /* symmetric */

/* 0 or not; the same on all PEs. */
static int try_open(shmemx_space_open_t open, int keep, shmem_space_t *space, shmem_team_t *team)
{
    shmem_space_config_t config = {.device_type = SHMEM_DEVICE_FAM, .size = BYTES};
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.name = name;
    attr.flags = keep ? SHMEMX_SPACE_KEEP : 0;
    attr.open = open;
    return shmemx_space_create_attr(&config, &attr, space, team);
}

/* Opens, is told whether it was found, and leaves. */
static void check_open(shmemx_space_open_t open, int keep, int found)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    shmem_space_t space;
    shmem_team_t team;
    long *word;

    PE_REQUIRE(try_open(open, keep, &space, &team) == 0, "opening in mode %d of the name %s failed",
               (int)open, name);
    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    PE_CHECK_EQ(info.found, found);
    word = shmem_space_malloc(space, sizeof(*word));
    PE_CHECK_EQ(*word, found ? 100 + pe_me : 0);
    *word = 100 + pe_me;
    shmem_space_free(space, word);
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

static void check_refused(shmemx_space_open_t open)
{
    shmem_space_t space;
    shmem_team_t team;

    PE_CHECK(try_open(open, 1, &space, &team) != 0,
             "opening in mode %d of the name %s returned 0, expected an error", (int)open, name);
    PE_CHECK(space == SHMEM_SPACE_INVALID && team == SHMEM_TEAM_INVALID,
             "a failed open did not set space and team to INVALID");
}

static void check_stat(int there, int keep, int in_use)
{
    shmemx_space_info_t stat = SHMEMX_SPACE_INFO_INITIALIZER;

    shmem_barrier_all();
    PE_CHECK_EQ(shmemx_space_stat(name, &stat), there ? 0 : ENOENT);
    PE_CHECK_EQ(stat.nbytes, there ? BYTES : 0);
    PE_CHECK_EQ(stat.n_parts, there ? pe_n : 0);
    PE_CHECK_EQ(stat.flags, keep ? SHMEMX_SPACE_KEEP : 0);
    PE_CHECK_EQ(stat.in_use, in_use);
    PE_CHECK_EQ(stat.struct_size, sizeof(stat));
    shmem_barrier_all();
}

/* Each mode where there is nothing, and where there is a space. */
static void check_modes(void)
{
    check_stat(0, 0, 0);
    check_refused(SHMEMX_SPACE_OPEN);
    check_stat(0, 0, 0);
    check_open(SHMEMX_SPACE_CREATE, 1, 0);
    check_stat(1, 1, 0);
    check_refused(SHMEMX_SPACE_CREATE);
    check_open(SHMEMX_SPACE_OPEN, 1, 1);
    check_open(SHMEMX_SPACE_EITHER, 1, 1);
    check_stat(1, 1, 0);
    check_open(SHMEMX_SPACE_OPEN, 0, 1);
    check_stat(0, 0, 0);
    check_open(SHMEMX_SPACE_EITHER, 0, 0);
    check_refused(SHMEMX_SPACE_OPEN);
}

/* By the job that has it open, and then open twice. */
static void check_in_use(void)
{
    shmem_space_t space, again;
    shmem_team_t team, team_again;

    PE_REQUIRE(try_open(SHMEMX_SPACE_CREATE, 0, &space, &team) == 0,
               "creating the space named %s failed", name);
    check_stat(1, 0, 1);
    check_refused(SHMEMX_SPACE_CREATE);
    PE_REQUIRE(try_open(SHMEMX_SPACE_OPEN, 0, &again, &team_again) == 0,
               "opening the space named %s a second time failed", name);
    shmem_team_destroy(team_again);
    PE_CHECK_EQ(shmem_space_destroy(again), 0);
    check_stat(1, 0, 1);
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
    check_stat(0, 0, 0);
}

/* What was in it is lost: who wants what is there learns it, others start anew. */
static void check_truncated(void)
{
    char path[4096];

    check_open(SHMEMX_SPACE_CREATE, 1, 0);
    snprintf(path, sizeof(path), "%s/%s.fam", getenv("SHMEM_FAM_PATH"), name);
    shmem_barrier_all(); /* who leaves touches it */
    if (pe_me == 0) PE_CHECK_EQ(truncate(path, 0), 0);
    check_stat(0, 0, 0);
    check_refused(SHMEMX_SPACE_OPEN);
    check_open(SHMEMX_SPACE_EITHER, 1, 0);
    check_open(SHMEMX_SPACE_EITHER, 0, 1);
    shmem_barrier_all();
    PE_CHECK(access(path, F_OK) != 0,
             "the file %s still exists after the last opening without KEEP", path);
}

static void check_attributes(void)
{
    shmem_space_config_t config = {.device_type = SHMEM_DEVICE_FAM, .size = BYTES};
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_t space;
    shmem_team_t team;

    attr.open = SHMEMX_SPACE_OPEN;
    PE_CHECK(shmemx_space_create_attr(&config, &attr, &space, &team) != 0,
             "mode OPEN without a name returned 0, expected an error");
    attr.name = name;
    attr.open = (shmemx_space_open_t)3;
    PE_CHECK(shmemx_space_create_attr(&config, &attr, &space, &team) != 0,
             "an unknown mode returned 0, expected an error");
    attr.open = pe_me == 0 ? SHMEMX_SPACE_CREATE : SHMEMX_SPACE_EITHER;
    if (pe_n > 1)
        PE_CHECK(shmemx_space_create_attr(&config, &attr, &space, &team) != 0,
                 "modes that differ between PEs returned 0, expected an error");
    check_stat(0, 0, 0);
}

int main(void)
{
    pe_test_begin();
    if (pe_me == 0) drawn = getpid();
    shmem_barrier_all();
    snprintf(name, sizeof(name), "open.%ld", shmem_long_g(&drawn, 0));
    check_modes();
    check_in_use();
    check_truncated();
    check_attributes();
    return pe_test_end();
}
