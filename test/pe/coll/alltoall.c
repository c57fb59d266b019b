/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks alltoall and strided alltoall on teams of many shapes (OpenSHMEM 1.6, sections 9.10.5 and
 * 9.10.6; rules R171-R173 of docs/reference/conformance.md): block l of member k arrives as block k
 * of member l, and the gaps between strided elements keep their values.
 */
#include "pe_teams.h"

enum { MAX = 4000, STRIDE_MAX = 5, GUARD = 8 };

static int *source, *dest; /* MAX * STRIDE_MAX ints for each PE, and a guard */
static size_t room;

static int value_of(int from, int to, size_t i)
{
    return (from * 32 + to) * 100000 + (int)i;
}

static void prepare(const struct pe_team *t, size_t nelems, size_t sst)
{
    for (size_t i = 0; i < room; i++)
        dest[i] = -1;
    for (int to = 0; to < t->n; to++)
        for (size_t i = 0; i < nelems; i++)
            source[((size_t)to * nelems + i) * sst] = value_of(t->me, to, i);
    shmem_team_sync(t->team);
}

/* Every element at its place, -1 everywhere else. */
static void check_result(const struct pe_team *t, size_t nelems, size_t dst, const char *what)
{
    size_t total = (size_t)t->n * nelems;

    for (size_t at = 0; at < total * dst + GUARD && at < room; at++) {
        size_t k = at / dst;
        int want = at % dst == 0 && k < total ? value_of((int)(k / nelems), t->me, k % nelems) : -1;

        if (!PE_CHECK(dest[at] == want,
                      "team %s: %s of %zu elements, dst %zu: element %zu is %d, expected %d",
                      t->name, what, nelems, dst, at, dest[at], want))
            break;
    }
    shmem_team_sync(t->team);
}

static void check_plain(const struct pe_team *t)
{
    static const size_t counts[] = {1, 2, 5, 100, 1025, MAX};

    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        if (counts[k] == MAX && !pe_team_large(t)) continue;
        prepare(t, counts[k], 1);
        PE_CHECK_EQ(shmem_int_alltoall(t->team, dest, source, counts[k]), 0);
        check_result(t, counts[k], 1, "alltoall");
    }
}

/* R172. */
static void check_strided(const struct pe_team *t)
{
    static const size_t cases[][3] = {{1, 1, 7},  {2, 1, 3},   {1, 2, 3},  {3, 2, 1},
                                      {5, 4, 60}, {1, 5, 900}, {4, 1, MAX}};

    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        size_t dst = cases[k][0], sst = cases[k][1], n = cases[k][2];

        if (n == MAX && pe_rounds(8) < 8) continue;
        prepare(t, n, sst);
        PE_CHECK_EQ(shmem_int_alltoalls(t->team, dest, source, (ptrdiff_t)dst, (ptrdiff_t)sst, n),
                    0);
        check_result(t, n, dst, "alltoalls");
    }
}

/* R173: bytes, with strides in bytes. */
static void check_bytes(const struct pe_team *t)
{
    unsigned char *from = (unsigned char *)source, *to = (unsigned char *)dest;
    size_t n = 11;

    memset(to, 0xee, 4096 * 2);
    for (int l = 0; l < t->n; l++)
        for (size_t i = 0; i < n; i++) {
            from[(size_t)l * n + i] = pe_byte((unsigned)(t->me * 16 + l), i);
            from[4096 + ((size_t)l * n + i) * 3] = pe_byte((unsigned)(t->me * 16 + l), i);
        }
    shmem_team_sync(t->team);
    PE_CHECK_EQ(shmem_alltoallmem(t->team, to, from, n), 0);
    PE_CHECK_EQ(shmem_alltoallsmem(t->team, to + 4096, from + 4096, 2, 3, n), 0);
    for (int k = 0; k < t->n; k++)
        for (size_t i = 0; i < n; i++) {
            unsigned char want = pe_byte((unsigned)(k * 16 + t->me), i);
            size_t at = (size_t)k * n + i;

            PE_CHECK(to[at] == want,
                     "team %s: alltoallmem: a byte from member %d is wrong, at %zu of its block",
                     t->name, k, i);
            PE_CHECK(
                to[4096 + at * 2] == want && to[4096 + at * 2 + 1] == 0xee,
                "team %s: alltoallsmem: a byte from member %d or the gap after it is wrong, at %zu "
                "of its block",
                t->name, k, i);
        }
    shmem_team_sync(t->team);
}

static void check(const struct pe_team *t)
{
    check_plain(t);
    check_strided(t);
    check_bytes(t);
}

int main(void)
{
    pe_test_begin();
    room = (size_t)pe_n * MAX * STRIDE_MAX + GUARD;
    source = pe_calloc(room, sizeof(*source));
    dest = pe_malloc(room * sizeof(*dest));
    pe_for_teams(check);
    return pe_test_end();
}
