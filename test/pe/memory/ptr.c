/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_ptr and shmem_team_ptr: an address for plain loads and stores, or NULL. Rules R21-R26.
 */
#include "pe_data.h"

enum { WORDS = 1000 };

static long global_words[WORDS];

static void check_own(long *heap)
{
    PE_CHECK(shmem_ptr(heap, pe_me) == heap, "own heap address changed (R25)");
    PE_CHECK(shmem_ptr(heap + WORDS - 1, pe_me) == heap + WORDS - 1, "own interior address");
    PE_CHECK(shmem_ptr(global_words, pe_me) == global_words, "own global address changed (R25)");
    PE_CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, heap, pe_me) == heap, "own through the world");
    PE_CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, heap, 0) == NULL, "invalid team (R23)");
}

/* Store my number into word pe_me of everybody; what no store can reach is put. */
static void store_everywhere(long *words, long base)
{
    for (int pe = 0; pe < pe_n; pe++) {
        long *there = shmem_ptr(words, pe);

        if (there != NULL) {
            PE_CHECK(shmem_ptr(words + 5, pe) == there + 5, "interior address differs");
            there[pe_me] = base + pe_me;
        } else {
            shmem_long_p(&words[pe_me], base + pe_me, pe);
        }
    }
}

/* R21: a store through the address is the same memory that the owner and a get see. */
static void check_stores(long *words, long base, const char *what)
{
    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK(words[pe] == base + pe, "%s: word %d holds %ld, not %ld", what, pe, words[pe],
                 base + pe);
    for (int pe = 0; pe < pe_n; pe++) {
        const long *there = shmem_ptr(words, pe);
        long got = shmem_long_g(&words[pe_me], pe);

        PE_CHECK_EQ(got, base + pe_me);
        if (there != NULL) PE_CHECK(there[pe_me] == base + pe_me, "%s: load from pe %d", what, pe);
    }
}

/* R22, R23: the PE is the team's number; the world gives what shmem_ptr gives. */
static void check_team(long *heap)
{
    shmem_team_t reversed = SHMEM_TEAM_INVALID;

    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, pe_n - 1, -1, pe_n, NULL, 0, &reversed),
                0);
    for (int pe = 0; pe < pe_n; pe++) {
        PE_CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, heap, pe) == shmem_ptr(heap, pe),
                 "team_ptr(world, %d) is not shmem_ptr", pe);
        PE_CHECK(shmem_team_ptr(reversed, heap, pe) == shmem_ptr(heap, pe_n - 1 - pe),
                 "team_ptr(reversed, %d) is not shmem_ptr(%d)", pe, pe_n - 1 - pe);
    }
    shmem_team_destroy(reversed);
}

/* R26: the members of the shared team reach each other's heap, in both directions. */
static void check_shared(long *heap)
{
    int n = shmem_team_n_pes(SHMEM_TEAM_SHARED);

    PE_CHECK(n >= 1, "shared team has %d PEs", n);
    for (int pe = 0; pe < n; pe++) {
        int world = shmem_team_translate_pe(SHMEM_TEAM_SHARED, pe, SHMEM_TEAM_WORLD);

        PE_CHECK(shmem_ptr(heap, world) != NULL, "shared member %d has no address", world);
        PE_CHECK(shmem_team_ptr(SHMEM_TEAM_SHARED, heap, pe) == shmem_ptr(heap, world),
                 "team_ptr(shared, %d)", pe);
    }
}

int main(void)
{
    long *heap;

    pe_test_begin();
    heap = shmem_calloc(WORDS, sizeof(*heap));
    PE_REQUIRE(heap != NULL, "calloc failed");
    check_own(heap);
    store_everywhere(heap, 1000);
    store_everywhere(global_words, 2000);
    shmem_barrier_all();
    check_stores(heap, 1000, "heap");
    check_stores(global_words, 2000, "globals");
    check_team(heap);
    check_shared(heap);
    return pe_test_end();
}
