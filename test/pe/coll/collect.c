/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks collect and fcollect on teams of many shapes (OpenSHMEM 1.6, section 9.10.8; rules R155
 * and R176-R178 of docs/reference/conformance.md): every member gets the data of all members in
 * team order, for equal, unequal and zero counts.
 */
#include "pe_teams.h"

enum { MAX = 20000, GUARD = 8 };

static int *source, *dest; /* MAX, and MAX times the number of PEs */

static int value_of(int world, size_t i)
{
    return world * 1000000 + (int)i;
}

/* Counts of a member, by pattern: none at all, one alone has some, all differ, large. */
static size_t count_of(int pattern, int rank)
{
    switch (pattern) {
    case 0:
        return rank % 3 == 1 ? 0 : (size_t)rank * 5 + 1;
    case 1:
        return rank == 0 ? 17 : 0;
    case 2:
        return rank % 2 ? 1 : 1000;
    case 3:
        return (size_t)(MAX - rank * 111);
    case 4:
        return 0;
    default:
        return (size_t)(rank + 1) * 37 % 11;
    }
}

static void check_result(const struct pe_team *t, const int *got, size_t (*count)(int, int),
                         int pattern, const char *what)
{
    size_t at = 0;

    for (int rank = 0; rank < t->n; rank++) {
        int world = pe_team_world(t, rank);

        for (size_t i = 0; i < count(pattern, rank); i++, at++)
            if (!PE_CHECK(
                    got[at] == value_of(world, i),
                    "team %s: %s, pattern or count %d: element %zu from pe %d is %d, expected %d",
                    t->name, what, pattern, i, world, got[at], value_of(world, i)))
                return;
    }
    for (int i = 0; i < GUARD; i++)
        PE_CHECK(got[at + (size_t)i] == -1,
                 "team %s: %s, pattern or count %d: wrote after the end of dest", t->name, what,
                 pattern);
}

static void prepare(const struct pe_team *t)
{
    for (size_t i = 0; i < MAX; i++)
        source[i] = value_of(pe_me, i);
    for (size_t i = 0; i < (size_t)t->n * MAX + GUARD; i++)
        dest[i] = -1;
    shmem_team_sync(t->team);
}

/* R176: each member its own count. */
static void check_collect(const struct pe_team *t)
{
    for (int pattern = 0; pattern < 6; pattern++) {
        if (pattern == 3 && !pe_team_large(t)) continue;
        prepare(t);
        PE_CHECK_EQ(shmem_int_collect(t->team, dest, source, count_of(pattern, t->me)), 0);
        check_result(t, dest, count_of, pattern, "collect");
        shmem_team_sync(t->team);
    }
}

static size_t same_count(int n, int rank)
{
    (void)rank;
    return (size_t)n;
}

/* R177. */
static void check_fcollect(const struct pe_team *t)
{
    static const int counts[] = {1, 2, 9, 1000, 4097, MAX};

    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        if (counts[k] == MAX && !pe_team_large(t)) continue;
        prepare(t);
        PE_CHECK_EQ(shmem_int_fcollect(t->team, dest, source, (size_t)counts[k]), 0);
        check_result(t, dest, same_count, counts[k], "fcollect");
        shmem_team_sync(t->team);
    }
}

/* The untyped forms with odd sizes. */
static void check_bytes(const struct pe_team *t)
{
    char *to = (char *)dest, *from = (char *)source;
    size_t at = 0;

    memset(to, 0x11, 4096);
    pe_fill(from + 1, 100, (unsigned)pe_me);
    shmem_team_sync(t->team);
    PE_CHECK_EQ(shmem_collectmem(t->team, to, from + 1, (size_t)t->me + 3), 0);
    PE_CHECK_EQ(shmem_fcollectmem(t->team, to + 2048, from + 1, 13), 0);
    for (int rank = 0; rank < t->n; rank++) {
        PE_CHECK_BYTES(to + at, (size_t)rank + 3, (unsigned)pe_team_world(t, rank), "collectmem");
        PE_CHECK_BYTES(to + 2048 + 13 * rank, 13, (unsigned)pe_team_world(t, rank), "fcollectmem");
        at += (size_t)rank + 3;
    }
    PE_CHECK(to[at] == 0x11 && to[2048 + 13 * t->n] == 0x11,
             "team %s: collectmem or fcollectmem wrote after the end of dest", t->name);
    shmem_team_sync(t->team);
}

static void check(const struct pe_team *t)
{
    check_collect(t);
    check_fcollect(t);
    check_bytes(t);
}

int main(void)
{
    pe_test_begin();
    source = pe_malloc(MAX * sizeof(*source));
    dest = pe_malloc(((size_t)pe_n * MAX + GUARD) * sizeof(*dest));
    pe_for_teams(check);
    return pe_test_end();
}
