/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks barrier_all, sync_all and team_sync (OpenSHMEM 1.6, sections 9.10.1 to 9.10.4; rules R152,
 * R153 and R160-R166 of docs/reference/conformance.md): barrier_all completes puts and separates
 * PEs, sync separates PEs and orders plain stores, and syncs of overlapping teams can follow each
 * other.
 */
#include "pe_teams.h"

enum { LAPS = 200, BULK = 32 * 1024 };

static long lap_of[64]; /* word pe written by that PE, on every PE */

/* R162, R165: a large put of the lap is whole behind the barrier, its last word included. */
static void check_bulk(void)
{
    long *dest = pe_calloc(BULK, sizeof(*dest)), *source = pe_private(BULK * sizeof(*source));

    for (long lap = 1; lap <= pe_rounds(64); lap++) {
        for (int i = 0; i < BULK; i++)
            source[i] = lap;
        for (int i = 0; i < BULK; i += BULK / 4)
            shmem_long_put_nbi(dest + i, source + i, BULK / 4, pe_left());
        shmem_barrier_all();
        for (int i = BULK - 1; i >= 0; i -= 1000)
            if (!PE_CHECK(dest[i] == lap,
                          "barrier %ld did not complete a large put: word %d is of lap %ld", lap, i,
                          dest[i]))
                break;
        shmem_sync_all();
    }
    free(source);
    shmem_free(dest);
}

/* R162, R165: each lap everybody's puts of the lap are here, and none of the next one. */
static void check_barrier(void)
{
    for (long lap = 1; lap <= pe_rounds(LAPS); lap++) {
        for (int pe = 0; pe < pe_n; pe++) {
            int to = (pe_me + pe) % pe_n;

            if (lap % 3 == 0)
                shmem_long_p(&lap_of[pe_me], lap, to);
            else if (lap % 3 == 1)
                shmem_long_put_nbi(&lap_of[pe_me], &lap, 1, to);
            else
                shmem_long_atomic_set(&lap_of[pe_me], lap, to);
        }
        shmem_barrier_all();
        for (int pe = 0; pe < pe_n; pe++)
            PE_CHECK(
                lap_of[pe] == lap,
                "after barrier %ld, the word of pe %d has lap %ld: a store is missing or came too "
                "early",
                lap, pe, lap_of[pe]);
        shmem_sync_all();
    }
}

/* A team sync separates: nobody leaves sync k before all members have come to it. */
static void check_separates(const struct pe_team *t)
{
    static int came[64];

    came[pe_me] = 0;
    shmem_team_sync(t->team);
    for (int lap = 1; lap <= pe_rounds(32); lap++) {
        for (int i = 0; i < t->n; i++)
            shmem_int_atomic_inc(&came[pe_me], pe_team_world(t, i));
        shmem_quiet();
        PE_CHECK_EQ(shmem_team_sync(t->team), 0); /* R166 */
        for (int i = 0; i < t->n; i++) {
            int seen = shmem_int_atomic_fetch(&came[pe_team_world(t, i)], pe_me);

            PE_CHECK(
                seen == lap || seen == lap + 1,
                "team %s: the count is %d for pe %d after sync %d, expected that number or one "
                "more",
                t->name, seen, pe_team_world(t, i), lap);
        }
    }
    shmem_team_sync(t->team);
    for (int i = 0; i < t->n; i++)
        shmem_int_atomic_set(&came[pe_me], 0, pe_team_world(t, i));
    shmem_quiet();
    shmem_team_sync(t->team);
}

/* R163: plain stores before a sync are seen after it. */
static void check_stores(void)
{
    int n = shmem_team_n_pes(SHMEM_TEAM_SHARED);
    long *words = pe_calloc(64, sizeof(*words));

    for (long lap = 1; lap <= pe_rounds(100); lap++) {
        for (int i = 0; i < n; i++) {
            long *there = shmem_team_ptr(SHMEM_TEAM_SHARED, words, i);

            if (PE_CHECK(there != NULL, "shmem_team_ptr to member %d of SHMEM_TEAM_SHARED is NULL",
                         i))
                there[pe_me] = lap;
        }
        if (lap % 2)
            shmem_sync_all();
        else
            shmem_team_sync(SHMEM_TEAM_SHARED);
        for (int i = 0; i < n; i++) {
            int pe = shmem_team_translate_pe(SHMEM_TEAM_SHARED, i, SHMEM_TEAM_WORLD);

            PE_CHECK(words[pe] == lap,
                     "after sync %ld, the plain store of pe %d is missing: the word is %ld", lap,
                     pe, words[pe]);
        }
        shmem_sync_all();
    }
    shmem_free(words);
}

/* R153, R160: 1000 syncs back to back, on overlapping teams in turn, with a count at the end. */
static void check_back_to_back(void)
{
    shmem_team_t reversed = SHMEM_TEAM_INVALID, evens = SHMEM_TEAM_INVALID;
    shmem_team_t rest = SHMEM_TEAM_INVALID;
    static int turn[1];
    int rounds = pe_rounds(1000) / 4;

    reversed = pe_split(SHMEM_TEAM_WORLD, pe_n - 1, -1, pe_n);
    evens = pe_split(SHMEM_TEAM_WORLD, 0, 2, (pe_n + 1) / 2);
    if (pe_n > 1) rest = pe_split(SHMEM_TEAM_WORLD, 1, 1, pe_n - 1);
    for (int i = 1; i <= rounds; i++) {
        if (evens != SHMEM_TEAM_INVALID) shmem_team_sync(evens);
        if (rest != SHMEM_TEAM_INVALID) shmem_team_sync(rest);
        shmem_team_sync(reversed);
        turn[0] = i;
        shmem_sync(SHMEM_TEAM_WORLD); /* the generic form (R167) */
        if (i % 10 == 0) {
            int theirs = shmem_int_g(turn, pe_right());

            PE_CHECK(theirs == i || theirs == i + 1,
                     "the right PE is in round %d when this PE has left the syncs of round %d",
                     theirs, i);
        }
    }
    shmem_team_destroy(evens);
    shmem_team_destroy(rest);
    shmem_team_destroy(reversed);
    for (int i = 0; i < pe_rounds(1000); i++)
        shmem_sync_all();
}

int main(void)
{
    pe_test_begin();
    check_barrier();
    check_bulk();
    pe_for_teams(check_separates);
    check_stores();
    check_back_to_back();
    return pe_test_end();
}
