/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks fcollect, collect, alltoall, alltoalls and sum_reduce with sizes around the size of the
 * chunks that the leaders of nodes use (OpenSHMEM 1.6, section 9.10; rules R155 and R160 of
 * docs/reference/conformance.md): from one byte to more than a chunk, with members that have no
 * data and with strided elements. The calls follow each other without a synchronization, each with
 * its own data.
 */
#include "pe_teams.h"

enum { CHUNK = 256 << 10, ROOM = 2 * CHUNK, N_DESTS = 2, MARGIN = 64 };

static unsigned char *source, *dests[N_DESTS];
static unsigned n_calls;

static unsigned char value(unsigned call, int from, int to, size_t i)
{
    return (unsigned char)(call * 37 + (unsigned)from * 11 + (unsigned)to * 5 + i + i / 251);
}

/*
 * Whoever is in a call has looked at the dest of the last but one, since all have come to the last.
 * So two take turns.
 */
static unsigned char *next_dest(size_t nbytes)
{
    unsigned char *dest = dests[++n_calls % N_DESTS];

    PE_REQUIRE(nbytes + MARGIN <= ROOM, "the test's dest buffer is too small for %zu bytes",
               nbytes);
    return dest;
}

static void expect(const struct pe_team *t, const char *what, size_t nbytes, size_t at,
                   unsigned char got, unsigned char want)
{
    PE_REQUIRE(got == want, "%s of %zu bytes on team %s: byte %zu is %u, expected %u", what, nbytes,
               t->name, at, got, want);
}

static void check_fcollect(const struct pe_team *t, size_t nbytes)
{
    unsigned char *dest = next_dest(nbytes * (size_t)t->n);
    unsigned call = n_calls;

    for (size_t i = 0; i < nbytes; i++)
        source[i] = value(call, t->me, 0, i);
    PE_CHECK_EQ(shmem_fcollectmem(t->team, dest, source, nbytes), 0);
    for (size_t i = 0; i < nbytes * (size_t)t->n; i++)
        expect(t, "fcollect", nbytes, i, dest[i], value(call, (int)(i / nbytes), 0, i % nbytes));
}

/* Of a member: from nothing to twice nbytes. */
static size_t collect_size(size_t nbytes, int rank)
{
    return rank % 3 == 1 ? 0 : (rank % 3 == 0 ? nbytes : 2 * nbytes - nbytes / 3);
}

static void check_collect(const struct pe_team *t, size_t nbytes)
{
    unsigned char *dest = next_dest(2 * nbytes * (size_t)t->n);
    size_t mine = collect_size(nbytes, t->me), at = 0;
    unsigned call = n_calls;

    for (size_t i = 0; i < mine; i++)
        source[i] = value(call, t->me, 1, i);
    PE_CHECK_EQ(shmem_collectmem(t->team, dest, source, mine), 0);
    for (int rank = 0; rank < t->n; rank++)
        for (size_t i = 0; i < collect_size(nbytes, rank); i++, at++)
            expect(t, "collect", nbytes, at, dest[at], value(call, rank, 1, i));
}

static void check_alltoall(const struct pe_team *t, size_t nbytes)
{
    size_t all = nbytes * (size_t)t->n;
    unsigned char *dest = next_dest(all);
    unsigned call = n_calls;

    for (size_t i = 0; i < all; i++)
        source[i] = value(call, t->me, (int)(i / nbytes), i % nbytes);
    PE_CHECK_EQ(shmem_alltoallmem(t->team, dest, source, nbytes), 0);
    for (size_t i = 0; i < all; i++)
        expect(t, "alltoall", nbytes, i, dest[i],
               value(call, (int)(i / nbytes), t->me, i % nbytes));
}

/* Elements of 4 bytes; those that nobody names stay as they are. */
static void check_alltoalls(const struct pe_team *t, size_t nelems, ptrdiff_t dst, ptrdiff_t sst)
{
    size_t n = nelems * (size_t)t->n;
    uint32_t *dest = (void *)next_dest(n * (size_t)dst * sizeof(uint32_t));
    uint32_t *from = (void *)source;
    unsigned call = n_calls;

    for (size_t i = 0; i < n * (size_t)sst; i++)
        from[i] = 0xdeadbeefu;
    for (size_t i = 0; i < n; i++)
        from[i * (size_t)sst] = call * 1000003u + (uint32_t)t->me * 65537u + (uint32_t)i;
    PE_CHECK_EQ(shmem_uint32_alltoalls(t->team, dest, from, dst, sst, nelems), 0);
    for (size_t i = 0; i < n; i++) {
        int rank = (int)(i / nelems);
        uint32_t got = dest[i * (size_t)dst];
        uint32_t want = call * 1000003u + (uint32_t)rank * 65537u +
                        (uint32_t)((size_t)t->me * nelems + i % nelems);

        PE_REQUIRE(got == want,
                   "alltoalls of %zu elements, dst %td, sst %td, on team %s: element %zu is 0x%x, "
                   "expected 0x%x",
                   nelems, dst, sst, t->name, i, got, want);
    }
}

/* Between the elements that a call names nothing is written. */
static void check_gaps(const struct pe_team *t)
{
    enum { N = 5, DST = 3 };
    uint32_t *dest = (void *)next_dest(0);
    size_t n = (size_t)N * (size_t)t->n;

    for (size_t i = 0; i < n * DST; i++)
        dest[i] = 0x5a5a5a5au;
    for (size_t i = 0; i < n; i++)
        ((uint32_t *)(void *)source)[i] = (uint32_t)i;
    shmem_team_sync(t->team);
    PE_CHECK_EQ(shmem_uint32_alltoalls(t->team, dest, (uint32_t *)(void *)source, DST, 1, N), 0);
    for (size_t i = 0; i < n * DST; i++)
        PE_REQUIRE(i % DST == 0 || dest[i] == 0x5a5a5a5au,
                   "alltoalls wrote into a gap between the elements of dest");
    shmem_team_sync(t->team);
}

/* The other user of the chunks. */
static void check_sum(const struct pe_team *t)
{
    enum { N = 900 };
    uint32_t *dest = (void *)next_dest(N * sizeof(uint32_t)), *from = (void *)source;
    uint32_t terms = (uint32_t)t->n * (uint32_t)(t->n - 1) / 2;

    for (uint32_t i = 0; i < N; i++)
        from[i] = i + (uint32_t)t->me;
    PE_CHECK_EQ(shmem_uint32_sum_reduce(t->team, dest, from, N), 0);
    for (uint32_t i = 0; i < N; i++)
        PE_REQUIRE(dest[i] == i * (uint32_t)t->n + terms,
                   "sum_reduce on team %s: element %u is %u, which is not the sum over the members",
                   t->name, i, dest[i]);
}

static void check(const struct pe_team *t)
{
    size_t n = (size_t)t->n, limit = CHUNK / n;
    const size_t sizes[] = {1,         13,        385,       1024,  4099,
                            limit / 4, limit / 2, limit - 1, limit, limit + 1};

    n_calls = 0;              /* the same on all members */
    shmem_team_sync(t->team); /* they are through with the dests of other teams */
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        if (sizes[k] > 2000 && !pe_team_large(t)) continue;
        check_fcollect(t, sizes[k]);
        check_alltoall(t, sizes[k]);
        if (k % 2 == 0) check_sum(t);
        check_collect(t, sizes[k] / 2 + 1);
        check_alltoall(t, sizes[k] / 2 + 1);
        check_alltoalls(t, sizes[k] / 32 + 1, 2, 3);
        check_alltoalls(t, sizes[k] / 16 + 1, 1, 4);
    }
    check_gaps(t);
}

int main(void)
{
    pe_test_begin();
    source = pe_malloc(ROOM);
    for (int i = 0; i < N_DESTS; i++)
        dests[i] = pe_malloc(ROOM);
    pe_for_teams(check);
    return pe_test_end();
}
