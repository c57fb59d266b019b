/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks broadcast on teams of many shapes, with several roots and sizes, and in place (OpenSHMEM
 * 1.6, section 9.10.7; rules R152, R155 and R174 of docs/reference/conformance.md). In the
 * standard, source and dest may not be the same array (R42), but the spaces proposal uses broadcast
 * in place.
 */
#include "pe_teams.h"

enum { MAX = 100000, GUARD = 8 };

static long *source, *dest; /* MAX + GUARD words each */

static const size_t counts[] = {1, 2, 7, 63, 1000, 8193, MAX};

static long value_of(int root_world, size_t i)
{
    return (long)i * 1000 + root_world;
}

static void one(const struct pe_team *t, int root, size_t n)
{
    int root_world = pe_team_world(t, root);

    for (size_t i = 0; i < n; i++) {
        source[i] = t->me == root ? value_of(root_world, i) : -2;
        dest[i] = -1;
    }
    for (size_t i = n; i < n + GUARD; i++)
        dest[i] = -1;
    shmem_team_sync(t->team);
    PE_CHECK_EQ(shmem_long_broadcast(t->team, dest, source, n, root), 0);
    PE_CHECK_EACH(
        size_t, i, n, dest[i] == value_of(root_world, i),
        "team %s: broadcast from %d of %zu words: word %zu is %ld, which is not the root's value",
        t->name, root, n, i, dest[i]);
    for (size_t i = n; i < n + GUARD; i++)
        PE_CHECK(dest[i] == -1,
                 "team %s: broadcast from %d of %zu words wrote after the end of dest", t->name,
                 root, n);
    PE_CHECK(t->me == root || source[n - 1] == -2,
             "team %s: broadcast changed source on a PE that is not the root", t->name);
    shmem_team_sync(t->team);
}

/* source == dest on all members. */
static void in_place(const struct pe_team *t, int root, size_t n)
{
    int root_world = pe_team_world(t, root);

    for (size_t i = 0; i < n; i++)
        dest[i] = t->me == root ? value_of(root_world, i) : -3;
    shmem_team_sync(t->team);
    PE_CHECK_EQ(shmem_long_broadcast(t->team, dest, dest, n, root), 0);
    PE_CHECK_EACH(size_t, i, n, dest[i] == value_of(root_world, i),
                  "team %s: broadcast in place: word %zu is %ld, which is not the root's value",
                  t->name, i, dest[i]);
    shmem_team_sync(t->team);
}

/* The untyped form: odd sizes at odd addresses. */
static void bytes(const struct pe_team *t)
{
    char *to = (char *)dest, *from = (char *)source;

    for (size_t n = 1; n < 70; n += 3) {
        memset(to, 0x44, 128);
        pe_fill(from + 3, n, (unsigned)(n + (t->me == t->n - 1 ? 0 : 99)));
        shmem_team_sync(t->team);
        PE_CHECK_EQ(shmem_broadcastmem(t->team, to + 1, from + 3, n, t->n - 1), 0);
        PE_CHECK_BYTES(to + 1, n, (unsigned)n, t->name);
        PE_CHECK(to[0] == 0x44 && to[n + 1] == 0x44,
                 "team %s: broadcastmem wrote outside the %zu bytes of dest", t->name, n);
        shmem_team_sync(t->team);
    }
}

static void check(const struct pe_team *t)
{
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        for (int root = 0; root<t->n; root += counts[i]> 64 && t->n > 1 ? t->n - 1 : 1)
            if (counts[i] < MAX || pe_team_large(t)) one(t, root, counts[i]);
    in_place(t, t->n / 2, 100);
    in_place(t, t->n - 1, 20000);
    bytes(t);
}

int main(void)
{
    pe_test_begin();
    source = pe_malloc((MAX + GUARD) * sizeof(*source));
    dest = pe_malloc((MAX + GUARD) * sizeof(*dest));
    pe_for_teams(check);
    return pe_test_end();
}
