/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks reductions on teams of many shapes (OpenSHMEM 1.6, section 9.10.9; rules R156, R180-R186,
 * R188 and R191 of docs/reference/conformance.md): sum, max, min and prod of longs of all sizes, in
 * place and not, bitwise operations, narrow, floating-point and complex types, and equal bits of
 * floating-point sums on all members.
 */
#include "pe_teams.h"

#include <complex.h>
#include <math.h>

enum { MAX = 100000, GUARD = 8 };

static long *source, *dest;

static const size_t counts[] = {1, 3, 64, 1000, 8193, MAX};

/* A member's operand: positive and negative, different for each member and element. */
static long operand(int world, size_t i)
{
    return (long)((i * 37 + (size_t)world * 101) % 1009) - 500;
}

static long combine(int op, long a, long b)
{
    switch (op) {
    case 0:
        return a + b;
    case 1:
        return a > b ? a : b;
    case 2:
        return a < b ? a : b;
    default:
        return (long)((unsigned long)a * (unsigned long)b);
    }
}

static int reduce_long(int op, shmem_team_t team, long *to, const long *from, size_t n)
{
    switch (op) {
    case 0:
        return shmem_long_sum_reduce(team, to, from, n);
    case 1:
        return shmem_long_max_reduce(team, to, from, n);
    case 2:
        return shmem_long_min_reduce(team, to, from, n);
    default:
        return shmem_long_prod_reduce(team, to, from, n);
    }
}

/* The same on one PE alone: the expected element. */
static long expected(const struct pe_team *t, int op, size_t i)
{
    long value = operand(pe_team_world(t, 0), i);

    for (int rank = 1; rank < t->n; rank++)
        value = combine(op, value, operand(pe_team_world(t, rank), i));
    return value;
}

static void check_one(const struct pe_team *t, int op, size_t n, bool in_place)
{
    long *from = in_place ? dest : source;

    for (size_t i = 0; i < n + GUARD; i++)
        dest[i] = -77;
    for (size_t i = 0; i < n; i++)
        from[i] = operand(pe_me, i);
    shmem_team_sync(t->team);
    PE_CHECK_EQ(reduce_long(op, t->team, dest, from, n), 0);
    for (size_t i = 0; i<n; i += n> 20000 ? 7 : 1) {
        long want = expected(t, op, i);

        if (!PE_CHECK(
                dest[i] == want,
                "team %s: reduction %d (0 sum, 1 max, 2 min, 3 prod) of %zu%s: element %zu is %ld, "
                "expected %ld",
                t->name, op, n, in_place ? " in place" : "", i, dest[i], want))
            break;
    }
    for (size_t i = n; i < n + GUARD; i++)
        PE_CHECK(
            dest[i] == -77,
            "team %s: reduction %d (0 sum, 1 max, 2 min, 3 prod) of %zu wrote after the end of "
            "dest",
            t->name, op, n);
    PE_CHECK(in_place || source[n - 1] == operand(pe_me, n - 1),
             "team %s: a reduction changed its source", t->name);
    shmem_team_sync(t->team);
}

/* R180: bitwise operations on the unsigned and the exact types. */
static void check_bitwise(const struct pe_team *t)
{
    static uint8_t in8[3], and8[3], or8[3], xor8[3];
    uint8_t want_and = 0xff, want_or = 0, want_xor = 0;
    static int64_t in64, or64;

    for (int i = 0; i < 3; i++)
        in8[i] = (uint8_t)(0xf0 | (pe_me * 3 + i));
    in64 = (int64_t)1 << (pe_me + 40);
    shmem_team_sync(t->team);
    PE_CHECK_EQ(shmem_uint8_and_reduce(t->team, and8, in8, 3), 0);
    PE_CHECK_EQ(shmem_uint8_or_reduce(t->team, or8, in8, 3), 0);
    PE_CHECK_EQ(shmem_uint8_xor_reduce(t->team, xor8, in8, 3), 0);
    PE_CHECK_EQ(shmem_int64_or_reduce(t->team, &or64, &in64, 1), 0);
    for (int rank = 0; rank < t->n; rank++) {
        uint8_t value = (uint8_t)(0xf0 | (pe_team_world(t, rank) * 3 + 2));

        want_and &= value;
        want_or |= value;
        want_xor ^= value;
        PE_CHECK((or64 >> (pe_team_world(t, rank) + 40) & 1) == 1,
                 "team %s: int64 or_reduce lacks the bit of a member", t->name);
    }
    PE_CHECK(
        and8[2] == want_and && or8[2] == want_or && xor8[2] == want_xor,
        "team %s: uint8 and_reduce is %02x, or_reduce %02x, xor_reduce %02x, expected %02x, %02x "
        "and %02x",
        t->name, and8[2], or8[2], xor8[2], want_and, want_or, want_xor);
    shmem_team_sync(t->team);
}

/* R181, R191: narrow types compare by their own sign and wrap in their own width. */
static void check_narrow(const struct pe_team *t)
{
    static uint8_t u8[2], max8[2], sum8[2];
    static signed char s8[2], min8[2];
    static unsigned short u16[1], prod16[1];
    unsigned int sum = 0, prod = 1;

    u8[0] = (uint8_t)(100 + (t->me == 0 ? 100 : 0)); /* 200 is the largest, if unsigned */
    u8[1] = 255;
    s8[0] = (signed char)(t->me == t->n - 1 ? -100 : 100);
    u16[0] = (unsigned short)(60001 + pe_me);
    shmem_team_sync(t->team);
    PE_CHECK_EQ(shmem_uint8_max_reduce(t->team, max8, u8, 2), 0);
    PE_CHECK_EQ(shmem_uint8_sum_reduce(t->team, sum8, u8, 2), 0);
    PE_CHECK_EQ(shmem_schar_min_reduce(t->team, min8, s8, 1), 0);
    PE_CHECK_EQ(shmem_ushort_prod_reduce(t->team, prod16, u16, 1), 0);
    for (int rank = 0; rank < t->n; rank++) {
        sum += 255;
        prod = prod * (unsigned int)(60001 + pe_team_world(t, rank)) & 0xffff;
    }
    PE_CHECK_EQ(max8[0], 200);
    PE_CHECK_EQ(sum8[1], sum & 0xff);
    PE_CHECK_EQ(min8[0], -100);
    PE_CHECK_EQ(prod16[0], prod);
    shmem_team_sync(t->team);
}

/* R186: sums whose last bits depend on the order: all members get the same bits. */
static void check_same_bits(const struct pe_team *t)
{
    static double from[300], sums[300], theirs[300];
    static float ffrom[33], fsums[33], ftheirs[33];
    int root = pe_team_world(t, 0);

    for (int i = 0; i < 300; i++)
        from[i] = sin(1.0 + pe_me * 300 + i) * pow(10, (pe_me * 5 + i) % 17);
    for (int i = 0; i < 33; i++)
        ffrom[i] = (float)from[i];
    shmem_team_sync(t->team);
    PE_CHECK_EQ(shmem_double_sum_reduce(t->team, sums, from, 300), 0);
    PE_CHECK_EQ(shmem_float_sum_reduce(t->team, fsums, ffrom, 33), 0);
    shmem_team_sync(t->team);
    shmem_double_get(theirs, sums, 300, root);
    shmem_float_get(ftheirs, fsums, 33, root);
    PE_CHECK(memcmp(theirs, sums, sizeof(sums)) == 0,
             "team %s: double sums are not bitwise equal to those of member 0", t->name);
    PE_CHECK(memcmp(ftheirs, fsums, sizeof(fsums)) == 0,
             "team %s: float sums are not bitwise equal to those of member 0", t->name);
    for (int i = 0; i < 300; i++) {
        double want = 0, size = 0;

        for (int rank = 0; rank < t->n; rank++) {
            int world = pe_team_world(t, rank);
            double term = sin(1.0 + world * 300 + i) * pow(10, (world * 5 + i) % 17);

            want += term;
            size += fabs(term);
        }
        PE_CHECK(fabs(sums[i] - want) <= 1e-13 * size,
                 "team %s: double sum %d is %g, expected about %g", t->name, i, sums[i], want);
    }
    shmem_team_sync(t->team);
}

/* R188: complex sums and products; floating maxima; long double. */
static void check_floating(const struct pe_team *t)
{
    static double _Complex from[2], sum[2], prod[2];
    static float low[1], min[1];
    static long double ld[1], max[1];
    double _Complex want_sum = 0, want_prod = 1;

    for (int i = 0; i < 2; i++)
        from[i] = (1 + pe_me % 3) + (i + 1) * I;
    low[0] = -1.5f * (float)t->me;
    ld[0] = 0.25L * t->me - 10;
    shmem_team_sync(t->team);
    PE_CHECK_EQ(shmem_complexd_sum_reduce(t->team, sum, from, 2), 0);
    PE_CHECK_EQ(shmem_complexd_prod_reduce(t->team, prod, from, 2), 0);
    PE_CHECK_EQ(shmem_float_min_reduce(t->team, min, low, 1), 0);
    PE_CHECK_EQ(shmem_longdouble_max_reduce(t->team, max, ld, 1), 0);
    for (int rank = 0; rank < t->n; rank++) {
        want_sum += (1 + pe_team_world(t, rank) % 3) + 2 * I;
        want_prod *= (1 + pe_team_world(t, rank) % 3) + 2 * I;
    }
    PE_CHECK(sum[1] == want_sum, "team %s: complex sum_reduce has a wrong result", t->name);
    PE_CHECK(cabs(prod[1] - want_prod) <= 1e-9 * cabs(want_prod),
             "team %s: complex prod_reduce has a wrong result", t->name);
    PE_CHECK(min[0] == -1.5f * (float)(t->n - 1),
             "team %s: float min_reduce is %g, expected -1.5 * (members - 1)", t->name, min[0]);
    PE_CHECK(max[0] == 0.25L * (t->n - 1) - 10,
             "team %s: long double max_reduce has a wrong result", t->name);
    shmem_team_sync(t->team);
}

static void check(const struct pe_team *t)
{
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        for (int op = 0; op < 4 && (i % 3 == 0 || pe_team_large(t)); op++) {
            if (counts[i] <= 1000 || op == 0) check_one(t, op, counts[i], false);
            if (counts[i] != 8193 && op < 2) check_one(t, op, counts[i], true); /* R156, R185 */
        }
    check_bitwise(t);
    check_narrow(t);
    check_same_bits(t);
    check_floating(t);
}

int main(void)
{
    pe_test_begin();
    source = pe_malloc((MAX + GUARD) * sizeof(*source));
    dest = pe_malloc((MAX + GUARD) * sizeof(*dest));
    pe_for_teams(check);
    return pe_test_end();
}
