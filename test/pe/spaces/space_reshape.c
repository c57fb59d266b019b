/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks a named FAM space with fewer parts than PEs that is opened with SHMEMX_SPACE_RESHAPE: the
 * old parts can be read until shmemx_space_reshape_commit() and stay if it is never called, named
 * blocks keep their offsets, and jobs with different numbers of PEs cannot open the space
 * together. Needs 3 PEs or more.
 */
#include "pe_test.h"

#include <shmemx.h>

#include <sys/stat.h>
#include <unistd.h>

enum { AGAIN = 30, WORDS = 3 * 512, FEW = 2 };

static char name[64];
static long drawn; /* symmetric */
static shmem_team_t few;

struct opened {
    shmem_space_t space;
    shmem_team_t team;
    shmemx_space_info_t info;
};

static int try_open(shmem_team_t parent, int keep, int reshape, struct opened *o)
{
    shmem_space_config_t config = {.device_type = SHMEM_DEVICE_FAM, .size = 2 * WORDS * 8};
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.name = name;
    attr.flags = (keep ? SHMEMX_SPACE_KEEP : 0) | (reshape ? SHMEMX_SPACE_RESHAPE : 0);
    attr.parent = parent;
    o->info = (shmemx_space_info_t)SHMEMX_SPACE_INFO_INITIALIZER;
    if (shmemx_space_create_attr(&config, &attr, &o->space, &o->team) != 0) return 1;
    PE_CHECK_EQ(shmemx_space_query(o->space, &o->info), 0);
    return 0;
}

static void close_it(struct opened *o)
{
    shmem_team_destroy(o->team);
    PE_CHECK_EQ(shmem_space_destroy(o->space), 0);
}

static long value(int part, int i, long times)
{
    return 1000000L * times + 10000L * part + i;
}

/* The block named "words", its address here. */
static long *words_of(const struct opened *o)
{
    void *words = NULL;
    size_t nbytes = 0;

    PE_REQUIRE(shmemx_space_root_get(o->space, "words", &words, &nbytes) == 0,
               "shmemx_space_root_get of the block \"words\" failed");
    PE_CHECK_EQ(nbytes, WORDS * sizeof(long));
    return words;
}

static void expect_parts(const struct opened *o, int n_parts, long times)
{
    size_t at = (size_t)((char *)words_of(o) - (char *)o->info.base);
    const void *base;

    PE_CHECK_EQ(o->info.n_parts, n_parts);
    for (int part = 0; part < n_parts; part++) {
        PE_REQUIRE(shmemx_space_part(o->space, part, &base) == 0,
                   "shmemx_space_part of part %d failed", part);
        const long *words = (const void *)((const char *)base + at);
        for (int i = 0; i < WORDS; i += WORDS - 1)
            PE_CHECK(words[i] == value(part, i, times),
                     "part %d: word %d is %ld, which is not the value of that generation", part, i,
                     words[i]);
    }
    PE_CHECK(shmemx_space_part(o->space, n_parts, &base) != 0,
             "shmemx_space_part past the last part returned 0, expected an error");
}

static void fill(const struct opened *o, int part, long times)
{
    long *words = words_of(o);

    for (int i = 0; i < WORDS; i++)
        words[i] = value(part, i, times);
}

static void make_by_few(void)
{
    struct opened o;
    void *gap, *words;

    if (few == SHMEM_TEAM_INVALID) return;
    PE_REQUIRE(try_open(few, 1, 1, &o) == 0, "creating the space by two PEs failed");
    gap = shmem_space_malloc(o.space, 4000);
    words = shmem_space_malloc(o.space, WORDS * sizeof(long));
    PE_REQUIRE(gap != NULL && words != NULL, "shmem_space_malloc returned NULL");
    PE_CHECK_EQ(shmemx_space_root_set(o.space, "words", words, WORDS * sizeof(long)), 0);
    PE_CHECK_EQ(shmemx_space_reshape_commit(o.space), 0); /* of a space that is as it was made */
    fill(&o, shmem_team_my_pe(few), 1);
    shmem_team_sync(few);
    expect_parts(&o, FEW, 1);
    close_it(&o);
}

/* The space as it is for a team of FEW: while all have it open, it is refused. */
static void expect_few(long times, int refused)
{
    struct opened o;

    if (few == SHMEM_TEAM_INVALID) return;
    PE_CHECK_EQ(try_open(few, 1, 0, &o), refused);
    if (refused) return;
    expect_parts(&o, FEW, times);
    close_it(&o);
}

static void expect_stat(int n_parts)
{
    shmemx_space_stat_t stat = SHMEMX_SPACE_STAT_INITIALIZER; /* names of info and its own */

    PE_CHECK_EQ(shmemx_space_stat(name, &stat), 0);
    PE_CHECK_EQ(stat.n_parts, n_parts);
    PE_CHECK_EQ(stat.flags, SHMEMX_SPACE_KEEP);
}

/*
 * The file has room for both generations, heads and all, in units of 2 MiB, behind its superblock:
 * the first PE makes it, the others find it.
 */
static void expect_length(void)
{
    const char *directory = getenv("SHMEM_FAM_PATH");
    long units = 1 + (1 + FEW) + (1 + pe_n);
    char path[512];
    struct stat st;

    snprintf(path, sizeof(path), "%s/%s.fam", directory, name);
    if (stat(directory, &st) != 0 || !S_ISDIR(st.st_mode)) return;
    if (PE_CHECK(stat(path, &st) == 0, "the file %s of the space does not exist", path))
        PE_CHECK_EQ((long)st.st_size, units * (2L << 20));
}

static void check_unreleased(int keep)
{
    struct opened o, other;
    long *words;

    PE_CHECK_EQ(try_open(SHMEM_TEAM_WORLD, keep, 0, &o), 1);
    PE_REQUIRE(try_open(SHMEM_TEAM_WORLD, keep, 1, &o) == 0,
               "opening the space by all PEs with RESHAPE failed");
    PE_CHECK_EQ(o.info.found, 1);
    PE_CHECK_EQ(o.info.n_blocks, 1);
    expect_length();
    expect_parts(&o, FEW, 1);
    words = words_of(&o);
    for (int i = 0; i < WORDS; i++)
        PE_CHECK_EQ(words[i], 0);
    fill(&o, pe_me, 7);
    shmem_barrier_all();
    expect_parts(&o, FEW, 1);
    expect_few(1, 1);
    PE_CHECK_EQ(try_open(SHMEM_TEAM_WORLD, keep, 1, &other), 1);
    shmem_barrier_all();
    expect_stat(FEW);
    close_it(&o);
    shmem_barrier_all();
    expect_stat(FEW);
    expect_few(1, 0);
    shmem_barrier_all();
}

static void check_released(void)
{
    struct opened o;

    PE_REQUIRE(try_open(SHMEM_TEAM_WORLD, 1, 1, &o) == 0,
               "opening the space by all PEs with RESHAPE failed");
    PE_CHECK_EQ(words_of(&o)[0], 0); /* nothing of the one before, that was not released */
    expect_parts(&o, FEW, 1);
    fill(&o, pe_me, 2);
    PE_CHECK_EQ(shmemx_space_reshape_commit(o.space), 0);
    PE_CHECK_EQ(shmemx_space_query(o.space, &o.info), 0);
    expect_parts(&o, pe_n, 2);
    expect_stat(pe_n);
    expect_few(2, 1);
    shmem_barrier_all();
    PE_CHECK_EQ(shmemx_space_reshape_commit(o.space), 0);
    close_it(&o);

    /* Who returns from a destroy finds the name let go of by all: nothing stands between. */
    for (int i = 0; i < AGAIN; i++) {
        PE_REQUIRE(try_open(SHMEM_TEAM_WORLD, 1, 1, &o) == 0,
                   "opening the committed space by all PEs again failed");
        expect_parts(&o, pe_n, 2);
        close_it(&o);
        if (few != SHMEM_TEAM_INVALID) {
            PE_REQUIRE(try_open(few, 1, 1, &o) == 0,
                       "opening the committed space by two PEs failed");
            expect_parts(&o, pe_n, 2);
            close_it(&o);
        }
        shmem_barrier_all();
    }
    PE_REQUIRE(try_open(SHMEM_TEAM_WORLD, 0, 0, &o) == 0, "opening the space without KEEP failed");
    close_it(&o);
}

int main(void)
{
    pe_test_begin();
    if (pe_n <= FEW) {
        pe_test_skip("needs 3 PEs");
        return pe_test_end();
    }
    if (pe_me == 0) drawn = getpid();
    shmem_barrier_all();
    snprintf(name, sizeof(name), "reshape.%ld", shmem_long_g(&drawn, 0));
    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 1, FEW, NULL, 0, &few), 0);
    make_by_few();
    shmem_barrier_all();
    check_unreleased(0);
    check_unreleased(1);
    check_released();
    PE_CHECK_EQ(shmemx_space_reshape_commit(SHMEM_SPACE_INVALID), 1);
    PE_CHECK_EQ(shmemx_space_part_release(SHMEM_SPACE_INVALID), 1); /* its first name */
    if (few != SHMEM_TEAM_INVALID) shmem_team_destroy(few);
    return pe_test_end();
}
