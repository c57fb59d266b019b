/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks team collectives rule by rule (OpenSHMEM 1.6, section 9.10; rules R150, R153-R157, R159,
 * R160, R165, R168, R176, R178, R186 and R187 of docs/reference/conformance.md): members that are
 * late, sources that are rewritten on return, arrays in heap and globals, zero counts, overlapping
 * teams, and what barrier and sync complete. Shapes and sizes are in alltoall.c, broadcast.c,
 * collect.c, reduce.c and sync_barrier.c.
 */
#include "pe_coll.h"
#include "pe_table.h"

#include <math.h>
#include <unistd.h>

enum { SMALL = 5, ROUNDS = 24, AHEAD = 200 };

static long *dest, *source; /* heap, with room for ROUNDS collectives and for one */
static long static_dest[COLL_STATIC], static_source[COLL_STATIC];

/*
 * All but one come at once. Until the last one calls, its source does not hold what it will
 * contribute: who reads it early gets the poison.
 */
static void late_member(const struct pe_team *t, enum coll_kind kind, size_t n, int late)
{
    struct coll c = {kind, n, late % 2 ? t->n - 1 : 0, (unsigned)late + 1, dest, source};

    coll_poison(t, &c);
    shmem_team_sync(t->team);
    if (t->me == late) pe_dawdle(100);
    coll_bring(t, &c);
    coll_run(t, &c);
    coll_verify(t, &c, "late member");
    shmem_team_sync(t->team);
}

/* From one late member to the next: all of them; through a fabric, on small teams, two. */
static int next_late(const struct pe_team *t, int late)
{
    return pe_team_large(t) || late == t->n - 1 ? late + 1 : t->n - 1;
}

static void check_late(const struct pe_team *t)
{
    for (enum coll_kind kind = 0; kind < COLL_N_KINDS; kind++)
        for (int late = 0; late < t->n; late = next_late(t, late)) {
            late_member(t, kind, SMALL, late);
            if (pe_team_large(t)) late_member(t, kind, COLL_LARGE, late);
        }
}

/*
 * In place: the array of who comes late holds its contribution, and nobody may store a result
 * there before it was taken.
 */
static void late_in_place(const struct pe_team *t, enum coll_kind kind, size_t n, int late)
{
    struct coll c = {kind, n, (late + 1) % t->n, (unsigned)late + 7, dest, dest};

    coll_poison(t, &c);
    coll_bring(t, &c);
    shmem_team_sync(t->team);
    if (t->me == late) {
        pe_dawdle(100);
        for (size_t i = 0; kind != COLL_BROADCAST && i < n; i++)
            if (!PE_CHECK(
                    dest[i] == coll_value(&c, pe_me, i),
                    "team %s: the array of a late member was written before its call, at element "
                    "%zu",
                    t->name, i))
                break;
    }
    coll_run(t, &c);
    coll_verify(t, &c, "late, in place");
    shmem_team_sync(t->team);
}

static void check_in_place(const struct pe_team *t)
{
    for (int late = 0; late < t->n; late = next_late(t, late))
        for (size_t n = SMALL; n <= COLL_LARGE; n = n * 60) {
            late_in_place(t, COLL_SUM, n, late);
            late_in_place(t, COLL_MAX, n, late);
            late_in_place(t, COLL_BROADCAST, n, late);
            if (!pe_team_large(t)) break;
        }
}

/*
 * Collectives of all kinds one after the other, the next as soon as the last returned and with
 * the same source, rewritten: roots, sizes and kinds change.
 */
static void check_back_to_back(const struct pe_team *t)
{
    struct coll c[ROUNDS];
    size_t slice = COLL_ROOM(t->n);

    for (size_t i = 0; i < ROUNDS * slice; i++)
        dest[i] = COLL_GUARD;
    shmem_team_sync(t->team);
    for (unsigned k = 0; k < ROUNDS; k++) {
        c[k] = (struct coll){(enum coll_kind)(k % COLL_N_KINDS),
                             k % 3 ? k : COLL_LARGE,
                             (int)k % t->n,
                             k,
                             dest + k * slice,
                             source};
        coll_bring(t, &c[k]);
        coll_run(t, &c[k]);
    }
    for (unsigned k = 0; k < ROUNDS; k++)
        coll_verify(t, &c[k], "one source");
    shmem_team_sync(t->team);
}

/*
 * Who needs nothing of the others gets far ahead of one that sleeps: the root of a broadcast, and
 * the first members of a scan. Each value that they send must keep until it was taken.
 */
static void run_ahead(bool scan)
{
    long *got = dest, *one = source;

    shmem_sync_all();
    if (pe_me == pe_n - 1) usleep(50000);
    for (int i = 0; i < AHEAD; i++) {
        one[0] = pe_me == 0 || scan ? 1000 + i + pe_me : -1;
        if (scan)
            PE_CHECK_EQ(shmem_long_sum_inscan(SHMEM_TEAM_WORLD, &got[i], one, 1), 0);
        else
            PE_CHECK_EQ(shmem_long_broadcast(SHMEM_TEAM_WORLD, &got[i], one, 1, 0), 0);
    }
    for (int i = 0; i < AHEAD; i++) {
        long want = scan ? (pe_me + 1) * (1000L + i) + pe_me * (pe_me + 1) / 2 : 1000 + i;

        if (!PE_CHECK(got[i] == want, "%s %d of %d, with other PEs ahead, gave %ld, expected %ld",
                      scan ? "scan" : "broadcast", i, AHEAD, got[i], want))
            break;
    }
    shmem_sync_all();
}

static void check_runs_ahead(void)
{
    run_ahead(false);
    run_ahead(true);
}

/* Nonblocking puts of the program go on beside collectives, and its own quiet completes them. */
static void check_user_traffic(void)
{
    struct pe_team t = {"world", SHMEM_TEAM_WORLD, pe_me, pe_n};
    enum { N = 20000 };
    char *inbox = pe_malloc(N), *outbox = pe_private(N);

    for (unsigned k = 0; k < 8; k++) {
        struct coll c = {(enum coll_kind)(k % COLL_N_KINDS), 40 + k, 0, k, dest, source};

        pe_fill(outbox, N, k * 16 + (unsigned)pe_me);
        coll_poison(&t, &c);
        coll_bring(&t, &c);
        shmem_sync_all();
        shmem_putmem_nbi(inbox, outbox, N, pe_right());
        coll_run(&t, &c);
        coll_verify(&t, &c, "beside traffic");
        shmem_quiet();
        shmem_sync_all();
        PE_CHECK_BYTES(inbox, N, k * 16 + (unsigned)pe_left(), "put beside a collective");
        shmem_sync_all();
    }
    free(outbox);
    shmem_free(inbox);
}

/* Heap and statics, and addresses inside of them. */
static void check_places(const struct pe_team *t)
{
    long *const places[][2] = {{dest + 3, source + 1},
                               {static_dest + 5, static_source + 7},
                               {dest + 1, static_source},
                               {static_dest, source + 9}};
    size_t most = COLL_STATIC / COLL_DST / (size_t)t->n - 16;

    for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++)
        for (enum coll_kind kind = 0; kind < COLL_N_KINDS; kind++)
            for (int large = 0; large <= pe_team_large(t); large++) {
                size_t n = !large ? SMALL : most < COLL_LARGE ? most : COLL_LARGE;
                struct coll c = {kind, n, t->n / 2, (unsigned)p, places[p][0], places[p][1]};

                coll_poison(t, &c);
                coll_bring(t, &c);
                shmem_team_sync(t->team);
                coll_run(t, &c);
                coll_verify(t, &c, "place");
                shmem_team_sync(t->team);
            }
}

/* No elements, with arrays and without: 0, nothing written, and the next call is in step. */
static void check_no_elements(const struct pe_team *t)
{
    for (int null = 0; null < 2; null++)
        for (enum coll_kind kind = 0; kind < COLL_N_KINDS; kind++) {
            struct coll c = {kind, 0, t->n - 1, 1, null ? NULL : dest, null ? NULL : source};
            struct coll next = {kind, 3, 0, 2, dest, source};

            coll_poison(t, &next);
            coll_bring(t, &next);
            shmem_team_sync(t->team);
            coll_run(t, &c);
            coll_run(t, &next);
            coll_verify(t, &next, "after one of no elements");
            shmem_team_sync(t->team);
        }
    PE_CHECK_EQ(shmem_broadcastmem(t->team, NULL, NULL, 0, 0), 0);
    PE_CHECK_EQ(shmem_collectmem(t->team, NULL, NULL, 0), 0);
    PE_CHECK_EQ(shmem_fcollectmem(t->team, NULL, NULL, 0), 0);
    PE_CHECK_EQ(shmem_alltoallmem(t->team, NULL, NULL, 0), 0);
    PE_CHECK_EQ(shmem_alltoallsmem(t->team, NULL, NULL, 1, 1, 0), 0);
    PE_CHECK_EQ(shmem_uint8_xor_reduce(t->team, NULL, NULL, 0), 0);
    PE_CHECK_EQ(shmem_complexd_prod_reduce(t->team, NULL, NULL, 0), 0);
}

/* As many collectives on the team of two as its number says, each of another kind. */
static void pair_run(shmem_team_t team, int number, int lap)
{
    struct pe_team t = {"pair", team, shmem_team_my_pe(team), shmem_team_n_pes(team)};

    for (int k = 0; k < 2 + number % 5; k++) {
        size_t at = (size_t)(number % 2 * 8 + k) * 64;
        struct coll c = {(enum coll_kind)((k + lap) % COLL_N_KINDS),
                         (size_t)(1 + k),
                         k % t.n,
                         (unsigned)(number + lap),
                         dest + at,
                         source + at};

        coll_poison(&t, &c);
        coll_bring(&t, &c);
        shmem_team_sync(team);
        coll_run(&t, &c);
        coll_verify(&t, &c, "pair");
    }
}

/*
 * PE k and k + 1 are team k. Each PE serves both of its teams, one after the other, so many times
 * as each needs: no number counts the collectives of all teams alike.
 */
static void check_two_teams(void)
{
    shmem_team_t *pair = calloc((size_t)pe_n + 1, sizeof(*pair));

    PE_REQUIRE(pair != NULL, "calloc of the array of teams failed");
    for (int k = 0; k < pe_n - 1; k++)
        pair[k] = pe_split(SHMEM_TEAM_WORLD, k, 1, 2);
    for (int lap = 0; lap < 4; lap++) {
        int lower = pe_me - 1, upper = pe_me < pe_n - 1 ? pe_me : -1;
        int first = lap % 2 ? upper : lower, second = lap % 2 ? lower : upper;

        if (first >= 0) pair_run(pair[first], first, lap);
        if (second >= 0) pair_run(pair[second], second, lap);
        if (lap == 1) PE_CHECK_EQ(shmem_team_sync(SHMEM_TEAM_WORLD), 0);
    }
    for (int k = 0; k < pe_n - 1; k++)
        shmem_team_destroy(pair[k]);
    free(pair);
}

/* What is under way on the default context is done behind the barrier: puts, gets, atomics. */
static void check_barrier_completes(void)
{
    enum { N = 300000 };
    char *box = pe_malloc(N), *got = pe_private(N), *sent = pe_private(N);
    static long counter, swapped;

    for (int lap = 0; lap < 12; lap++) {
        long old = -1, last = -1;

        pe_fill(box, N, (unsigned)(lap * 16 + pe_me));
        memset(got, 0, N);
        shmem_barrier_all();
        shmem_getmem_nbi(got, box, N, pe_right());
        shmem_long_atomic_fetch_add_nbi(&old, &counter, 1, pe_right());
        shmem_long_atomic_swap_nbi(&last, &swapped, lap + 1, pe_right());
        shmem_barrier_all();
        PE_CHECK_BYTES(got, N, (unsigned)(lap * 16 + pe_right()),
                       "get_nbi when barrier_all has returned");
        PE_CHECK(
            old == lap && last == lap,
            "barrier_all did not complete nonblocking atomics: they fetched %ld and %ld, expected "
            "%d",
            old, last, lap);
        PE_CHECK(counter == lap + 1 && swapped == lap + 1,
                 "barrier_all did not complete the atomic updates of lap %d at this PE", lap);
        pe_fill(sent, N, (unsigned)(lap + pe_me));
        shmem_sync_all();
        shmem_putmem_nbi(box, sent, N, pe_right());
        shmem_long_atomic_inc(&swapped, pe_right());
        shmem_barrier_all();
        PE_CHECK_BYTES(box, N, (unsigned)(lap + pe_left()),
                       "put_nbi when barrier_all has returned");
        PE_CHECK_EQ(swapped, lap + 2);
        shmem_long_atomic_set(&swapped, lap + 1, pe_me);
    }
    free(sent);
    free(got);
    shmem_free(box);
}

/* In place of a barrier of a team: quiet of its context, then sync. */
static void check_team_barrier(const struct pe_team *t)
{
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    int next = (t->me + 1) % t->n, last = (t->me + t->n - 1) % t->n;

    PE_REQUIRE(shmem_team_create_ctx(t->team, 0, &ctx) == 0, "shmem_team_create_ctx failed");
    shmem_team_sync(t->team);
    for (long lap = 1; lap <= 6; lap++) {
        for (int i = 0; i < 500; i++)
            source[i] = lap * 1000 + t->me;
        shmem_ctx_long_put_nbi(ctx, dest, source, 500, next);
        shmem_ctx_quiet(ctx);
        PE_CHECK_EQ(shmem_team_sync(t->team), 0);
        for (int i = 0; i < 500; i += 499)
            PE_CHECK(dest[i] == lap * 1000 + last,
                     "team %s: after quiet and team_sync a word is %ld in lap %ld: the put of the "
                     "previous member is missing",
                     t->name, dest[i], lap);
        shmem_team_sync(t->team);
    }
    shmem_ctx_destroy(ctx);
}

/* One member has something, the others nothing and no array to name; then nobody has. */
static void check_zero_contributions(const struct pe_team *t)
{
    for (int giver = -1; giver < t->n; giver++) {
        bool give = t->me == giver;

        for (int i = 0; i < 20; i++) {
            dest[i] = -5;
            source[i] = 100 * pe_me + i;
        }
        shmem_team_sync(t->team);
        PE_CHECK_EQ(shmem_long_collect(t->team, dest, give ? source : NULL, give ? 9 : 0), 0);
        for (int i = 0; i < 20; i++) {
            long want = giver >= 0 && i < 9 ? 100 * pe_team_world(t, giver) + i : -5;

            if (!PE_CHECK(
                    dest[i] == want,
                    "team %s: collect where only member %d has elements: dest element %d is %ld",
                    t->name, giver, i, dest[i]))
                break;
        }
        shmem_team_sync(t->team);
    }
}

/* Every member's result of these bytes is that of the first, bit for bit. */
static void same_everywhere(const struct pe_team *t, const void *result, size_t nbytes,
                            const char *what)
{
    unsigned char *theirs = pe_private(nbytes);

    shmem_getmem(theirs, result, nbytes, pe_team_world(t, 0));
    PE_CHECK(memcmp(theirs, result, nbytes) == 0,
             "team %s: the %s is not bitwise equal to that of member 0", t->name, what);
    free(theirs);
    shmem_team_sync(t->team);
}

/* Sums whose value depends on the order of the terms, small and large, in place and not. */
static void check_same_bits(const struct pe_team *t)
{
    static const size_t counts[] = {1, 31, 96, 97, 700};
    float *from = (float *)static_source, *to = (float *)static_dest;
    double *wide = (double *)dest;

    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        for (size_t i = 0; i < counts[k]; i++) {
            from[i] = (float)(sin(1.0 + (double)i + pe_me) * pow(10, (pe_me * 7 + (int)i) % 30));
            wide[i] =
                pe_me % 2 ? -1e300 / (double)(i + 1) : 1e300 / (double)(i + 3 + (size_t)pe_me);
        }
        shmem_team_sync(t->team);
        PE_CHECK_EQ(shmem_float_sum_reduce(t->team, to, from, counts[k]), 0);
        PE_CHECK_EQ(shmem_double_sum_reduce(t->team, wide, wide, counts[k]), 0);
        shmem_team_sync(t->team);
        same_everywhere(t, to, counts[k] * sizeof(*to), "sum of float");
        same_everywhere(t, wide, counts[k] * sizeof(*wide), "sum of double in place");
    }
}

/* Maxima with NaNs among the operands are unspecified, yet one thing everywhere, and no trap. */
static void check_nan(const struct pe_team *t)
{
    static double from[4], high[4], low[4];
    double nan = NAN;

    from[0] = t->me == t->n / 2 ? nan : t->me;
    from[1] = t->me == 0 ? nan : -t->me;
    from[2] = nan;
    from[3] = t->me % 2 ? -0.0 : 0.0;
    shmem_team_sync(t->team);
    PE_CHECK_EQ(shmem_double_max_reduce(t->team, high, from, 4), 0);
    PE_CHECK_EQ(shmem_double_min_reduce(t->team, low, from, 4), 0);
    PE_CHECK(isnan(high[2]) && isnan(low[2]),
             "team %s: max and min of NaNs only are %g and %g, expected NaN", t->name, high[2],
             low[2]);
    PE_CHECK(high[3] == 0 && low[3] == 0,
             "team %s: max and min of zeros of both signs are %g and %g, expected 0", t->name,
             high[3], low[3]);
    shmem_team_sync(t->team);
    same_everywhere(t, high, sizeof(high), "max with NaN");
    same_everywhere(t, low, sizeof(low), "min with NaN");
}

#define ON_TEAMS(check)                                                                            \
    static void check##_on_teams(void)                                                             \
    {                                                                                              \
        pe_for_teams(check);                                                                       \
    }
ON_TEAMS(check_late)
ON_TEAMS(check_in_place)
ON_TEAMS(check_back_to_back)
ON_TEAMS(check_places)
ON_TEAMS(check_no_elements)
ON_TEAMS(check_team_barrier)
ON_TEAMS(check_zero_contributions)
ON_TEAMS(check_same_bits)
ON_TEAMS(check_nan)

static const struct pe_rule rules[] = {
    {"R155 R178 who comes late is waited for, not read", check_late_on_teams},
    {"R156 in place, nothing is stored before it was taken", check_in_place_on_teams},
    {"R150 R153 the next call at once, with the source rewritten", check_back_to_back_on_teams},
    {"R153 the next call while others have not begun", check_runs_ahead},
    {"R154 collectives beside the program's own traffic", check_user_traffic},
    {"R157 heap, statics, addresses inside", check_places_on_teams},
    {"R159 no elements", check_no_elements_on_teams},
    {"R160 overlapping teams in their own order", check_two_teams},
    {"R165 barrier_all completes puts, gets and atomics", check_barrier_completes},
    {"R168 quiet and team_sync in place of a team barrier", check_team_barrier_on_teams},
    {"R176 counts of zero", check_zero_contributions_on_teams},
    {"R186 the same bits everywhere", check_same_bits_on_teams},
    {"R187 NaN: unspecified, the same everywhere", check_nan_on_teams},
};

int main(void)
{
    pe_test_begin();
    PE_REQUIRE(pe_n <= COLL_MAX_PES, "this test runs with at most %d PEs", COLL_MAX_PES);
    dest = pe_malloc(ROUNDS * COLL_ROOM(pe_n) * sizeof(*dest));
    source = pe_malloc(COLL_ROOM(pe_n) * sizeof(*source));
    PE_RULES_RUN(rules);
    return pe_test_end();
}
