/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks inclusive and exclusive sum scans on teams of many shapes (OpenSHMEM 1.6, section 9.10.10;
 * rules R150, R153, R155, R156, R159 and R189-R191 of docs/reference/conformance.md): sizes around
 * the limits of one message, large sizes, in place, narrow, floating-point and complex types, and
 * scans between other collectives without a synchronization.
 */
#include "pe_teams.h"

#include <complex.h>
#include <math.h>

enum { MAX = 100000, GUARD = 8, LINKS = 20 };

static long *source, *dest;

/* 48 longs are 384 bytes, the most that travels in one piece; in pieces by the round, less. */
static const size_t counts[] = {1, 7, 11, 12, 13, 16, 17, 24, 25, 47, 48, 49, 1000, 8193, MAX};

static long operand(int world, size_t i)
{
    return (long)((i * 37 + (size_t)world * 101) % 1009) - 500;
}

static int scan(bool exclusive, shmem_team_t team, long *to, const long *from, size_t n)
{
    return exclusive ? shmem_long_sum_exscan(team, to, from, n)
                     : shmem_long_sum_inscan(team, to, from, n);
}

/* R189: the sum of ranks 0..me, or of those before me, 0 for the first. */
static long expected(const struct pe_team *t, bool exclusive, size_t i)
{
    long sum = 0;

    for (int rank = 0; rank < t->me + !exclusive; rank++)
        sum += operand(pe_team_world(t, rank), i);
    return sum;
}

static void check_one(const struct pe_team *t, bool exclusive, size_t n, bool in_place)
{
    const char *name = exclusive ? "exscan" : "inscan", *how = in_place ? " in place" : "";
    long *from = in_place ? dest : source;
    size_t step = n > 20000 ? 7 : 1;

    for (size_t i = 0; i < n + GUARD; i++)
        dest[i] = -77;
    for (size_t i = 0; i < n && in_place; i++)
        from[i] = operand(pe_me, i);
    shmem_team_sync(t->team); /* dest may be written from now on; a source only has to be ready */
    for (size_t i = 0; i < n && !in_place; i++)
        from[i] = operand(pe_me, i);
    PE_CHECK_EQ(scan(exclusive, t->team, dest, from, n), 0);
    for (size_t i = 0; i < n; i += step) {
        long want = expected(t, exclusive, i);

        if (!PE_CHECK(dest[i] == want,
                      "team %s: %s of %zu elements%s: element %zu is %ld, expected %ld", t->name,
                      name, n, how, i, dest[i], want))
            break;
    }
    for (size_t i = n; i < n + GUARD; i++)
        PE_CHECK(dest[i] == -77, "team %s: %s of %zu elements%s wrote after the end of dest",
                 t->name, name, n, how);
    for (size_t i = 0; i < n && !in_place; i++)
        if (!PE_CHECK(source[i] == operand(pe_me, i),
                      "team %s: %s of %zu elements changed its source", t->name, name, n))
            break;
    shmem_team_sync(t->team);
}

/* R159: nothing, also without arrays; and nothing is written. */
static void check_none(const struct pe_team *t)
{
    dest[0] = -77;
    PE_CHECK_EQ(shmem_long_sum_inscan(t->team, NULL, NULL, 0), 0);
    PE_CHECK_EQ(shmem_long_sum_exscan(t->team, NULL, NULL, 0), 0);
    PE_CHECK_EQ(shmem_long_sum_exscan(t->team, dest, source, 0), 0);
    PE_CHECK_EQ(dest[0], -77);
    shmem_team_sync(t->team);
}

/* R191: narrow sums wrap in their own width. */
static void check_narrow(const struct pe_team *t)
{
    static uint8_t u8[3], in8[3], ex8[3];
    static short s16[1], in16[1];
    unsigned want8 = 0, want16 = 0;

    for (int i = 0; i < 3; i++)
        u8[i] = (uint8_t)(255 - i);
    s16[0] = 32767;
    ex8[2] = 99;
    shmem_team_sync(t->team);
    PE_CHECK_EQ(shmem_uint8_sum_inscan(t->team, in8, u8, 3), 0);
    PE_CHECK_EQ(shmem_uint8_sum_exscan(t->team, ex8, u8, 3), 0);
    PE_CHECK_EQ(shmem_short_sum_inscan(t->team, in16, s16, 1), 0);
    for (int rank = 0; rank <= t->me; rank++) {
        want8 += 253;
        want16 += 32767;
    }
    PE_CHECK_EQ(in8[2], (uint8_t)want8);
    PE_CHECK_EQ(ex8[2], (uint8_t)(want8 - 253));
    PE_CHECK_EQ(in16[0], (short)want16);
    shmem_team_sync(t->team);
}

/* Whole numbers are exact in any order; both parts of complex ones; the sign of the first zero. */
static void check_floating(const struct pe_team *t)
{
    static long double real[50], sum[50];
    static double _Complex number[2], before[2];
    static double zero[1], none[1];
    long double want = 0;
    double re = 0, im = 0;

    for (int i = 0; i < 50; i++)
        real[i] = pe_me + i;
    number[1] = (pe_me + 1) - 3 * (pe_me + 2) * I;
    zero[0] = -0.0;
    none[0] = before[1] = -5;
    shmem_team_sync(t->team);
    PE_CHECK_EQ(shmem_longdouble_sum_inscan(t->team, sum, real, 50), 0);
    PE_CHECK_EQ(shmem_complexd_sum_exscan(t->team, before, number, 2), 0);
    for (int rank = 0; rank <= t->me; rank++) {
        int world = pe_team_world(t, rank);

        want += world + 49;
        re += rank < t->me ? world + 1 : 0;
        im -= rank < t->me ? 3 * (world + 2) : 0;
    }
    PE_CHECK(sum[49] == want, "team %s: long double inscan is %Lg, expected %Lg", t->name, sum[49],
             want);
    PE_CHECK(creal(before[1]) == re && cimag(before[1]) == im,
             "team %s: complex exscan is %g + %gi, expected %g + %gi", t->name, creal(before[1]),
             cimag(before[1]), re, im);
    PE_CHECK_EQ(shmem_double_sum_exscan(t->team, none, zero, 1), 0);
    PE_CHECK(t->me > 0 || (none[0] == 0 && !signbit(none[0])),
             "team %s: exscan on the first member is not positive zero", t->name);
    PE_CHECK_EQ(shmem_double_sum_inscan(t->team, none, zero, 1), 0);
    PE_CHECK(signbit(none[0]), "%s: inscan lost the sign of -0.0", t->name);
    shmem_team_sync(t->team);
}

/*
 * R153, R155: many in a row, each on the result of the one before, with others in between, and
 * without a sync: a source is ready when its owner calls, and ours again when the call returns.
 */
static void check_chain(const struct pe_team *t)
{
    static long chain[LINKS + 1], all[LINKS], root[LINKS], mine[1];
    unsigned long want[LINKS + 1];

    for (int i = 0; i <= LINKS; i++)
        chain[i] = -1;
    chain[0] = 1;
    shmem_team_sync(t->team);
    for (int i = 0; i < LINKS; i++) {
        PE_CHECK_EQ(scan(i % 3 == 2, t->team, &chain[i + 1], &chain[i], 1), 0);
        PE_CHECK_EQ(shmem_long_sum_reduce(t->team, &all[i], &chain[i], 1), 0);
        if (i % 5 == 0)
            PE_CHECK_EQ(shmem_long_broadcast(t->team, &root[i], &all[i], 1, t->n - 1), 0);
        mine[0] = i; /* the source of a call that has returned */
        PE_CHECK_EQ(scan(false, t->team, mine, mine, 1), 0);
        PE_CHECK_EQ(mine[0], (long)i * (t->me + 1));
    }
    /* link i of all ranks at once, rank by rank */
    unsigned long link[64], next[64];

    for (int rank = 0; rank < t->n; rank++)
        link[rank] = 1;
    for (int i = 0; i < LINKS; i++) {
        unsigned long sum = 0;

        want[i] = link[t->me];
        for (int rank = 0; rank < t->n; rank++) {
            next[rank] = i % 3 == 2 ? sum : sum + link[rank];
            sum += link[rank];
        }
        PE_CHECK((unsigned long)all[i] == sum,
                 "team %s: sum_reduce %d between scans has a wrong result", t->name, i);
        PE_CHECK(i % 5 != 0 || root[i] == all[i],
                 "team %s: broadcast %d between scans differs from the sum that the root had",
                 t->name, i);
        memcpy(link, next, sizeof(link));
    }
    want[LINKS] = link[t->me];
    for (int i = 0; i <= LINKS; i++)
        PE_CHECK((unsigned long)chain[i] == want[i],
                 "team %s: in a chain of scans, result %d is %ld, which is wrong", t->name, i,
                 chain[i]);
    shmem_team_sync(t->team);
}

static void check(const struct pe_team *t)
{
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        for (int form = 0; form < 4 && (counts[i] < 8000 || pe_team_large(t)); form++)
            check_one(t, form & 1, counts[i], form & 2); /* R156, R190 */
    check_none(t);
    check_narrow(t);
    check_floating(t);
    check_chain(t);
}

/* Every third PE, from the last down: neighbours in the team are far apart. */
static void check_far(void)
{
    int n = (pe_n + 2) / 3;

    pe_team_split_run((n - 1) * 3, -3, n, "every third, backwards", check);
}

int main(void)
{
    pe_test_begin();
    PE_REQUIRE(pe_n <= 64, "this test runs with at most 64 PEs");
    source = pe_malloc((MAX + GUARD) * sizeof(*source));
    dest = pe_malloc((MAX + GUARD) * sizeof(*dest));
    pe_for_teams(check);
    check_far();
    return pe_test_end();
}
