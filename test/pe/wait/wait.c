/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for and testing single words: each comparison, each width and sign, each way the word
 * can be updated. Several words at once: wait_many.c. Rules R200-R204, R215-R217.
 */
#include "pe_data.h"

#include <limits.h>

static int word;
static long ack;

/* Comparison, value before (does not satisfy), operand, value after (does). */
struct scenario {
    int cmp, before, operand, after;
};

static const struct scenario scenarios[] = {
    {SHMEM_CMP_EQ, 0, 5, 5},        {SHMEM_CMP_NE, 5, 5, 6},   {SHMEM_CMP_GT, 5, 5, 6},
    {SHMEM_CMP_GE, 4, 5, 5},        {SHMEM_CMP_LT, 5, 5, 4},   {SHMEM_CMP_LE, 6, 5, 5},
    {SHMEM_CMP_LT, 0, 0, -1},       {SHMEM_CMP_GT, -7, -7, 0}, {SHMEM_CMP_NE, INT_MIN, INT_MIN, 0},
    {SHMEM_CMP_GE, -1, 0, INT_MAX},
};

/* The right neighbour's word becomes `value` in one of the ways a program may use (R201). */
static void update(int way, int value)
{
    switch (way % 4) {
    case 0:
        shmem_int_atomic_set(&word, value, pe_right());
        break;
    case 1:
        shmem_int_p(&word, value, pe_right());
        break;
    case 2:
        shmem_int_put(&word, &value, 1, pe_right());
        break;
    default:
        shmem_int_atomic_swap(&word, value, pe_right());
        break;
    }
    shmem_quiet();
}

/* R202, R217: test says no before and yes after; wait returns when it holds. */
static void check_scenarios(void)
{
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
        for (int way = 0; way < 4; way++) {
            const struct scenario *s = &scenarios[i];

            word = s->before;
            PE_CHECK(shmem_int_test(&word, s->cmp, s->operand) == 0,
                     "scenario %zu holds before the update", i);
            shmem_barrier_all();
            update(way, s->after);
            shmem_int_wait_until(&word, s->cmp, s->operand);
            PE_CHECK(word == s->after, "scenario %zu way %d: word is %d", i, way, word);
            PE_CHECK(shmem_int_test(&word, s->cmp, s->operand) == 1,
                     "scenario %zu does not hold after the update", i);
            shmem_barrier_all();
        }
}

/* R204: compared as what they are. Conditions that hold already return at once. */
static void check_signs(void)
{
    static int minus = -1;
    static unsigned int big = UINT_MAX;
    static int64_t minus64 = -1;
    static uint64_t big64 = UINT64_MAX;
    static size_t big_size = SIZE_MAX;
    static ptrdiff_t minus_diff = -3;
    static short minus_short = -1;
    static unsigned short big_short = USHRT_MAX;

    PE_CHECK_EQ(shmem_int_test(&minus, SHMEM_CMP_LT, 0), 1);
    PE_CHECK_EQ(shmem_uint_test(&big, SHMEM_CMP_GT, 0), 1);
    PE_CHECK_EQ(shmem_uint_test(&big, SHMEM_CMP_LT, 1), 0);
    PE_CHECK_EQ(shmem_int64_test(&minus64, SHMEM_CMP_LE, -1), 1);
    PE_CHECK_EQ(shmem_uint64_test(&big64, SHMEM_CMP_GT, (uint64_t)INT64_MAX), 1);
    PE_CHECK_EQ(shmem_size_test(&big_size, SHMEM_CMP_GE, SIZE_MAX), 1);
    PE_CHECK_EQ(shmem_ptrdiff_test(&minus_diff, SHMEM_CMP_NE, -3), 0);
    PE_CHECK_EQ(shmem_short_test(&minus_short, SHMEM_CMP_LT, 0), 1); /* R200 */
    PE_CHECK_EQ(shmem_ushort_test(&big_short, SHMEM_CMP_GT, 5), 1);
    shmem_int_wait_until(&minus, SHMEM_CMP_LT, 0);
    shmem_uint64_wait_until(&big64, SHMEM_CMP_GT, 1);
    shmem_ushort_wait_until(&big_short, SHMEM_CMP_GE, USHRT_MAX);
    shmem_size_wait_until(&big_size, SHMEM_CMP_NE, 0);
}

/* Waiting by test in a loop must see the update, too (progress inside test, R203). */
static void check_poll(void)
{
    word = 0;
    shmem_barrier_all();
    shmem_int_atomic_inc(&word, pe_right());
    while (!shmem_int_test(&word, SHMEM_CMP_EQ, 1))
        ;
    shmem_barrier_all();
}

/* A chain around the ring: each passes on what it waited for, many laps. */
static void check_ring(void)
{
    static long token;

    token = 0;
    shmem_barrier_all();
    for (long lap = 1; lap <= pe_rounds(50); lap++) {
        if (pe_me == 0) shmem_long_atomic_set(&token, lap, pe_right());
        shmem_long_wait_until(&token, SHMEM_CMP_EQ, lap);
        if (pe_me != 0) shmem_long_atomic_set(&token, lap, pe_right());
    }
    shmem_barrier_all();
}

/* R215, R216: the oldest forms wait for a change; the C function beside the generic. */
static void check_old_forms(void)
{
    static long old_long;
    static short old_short;
    void (*untyped)(long *, int, long) = shmem_wait_until;

    old_long = 7;
    old_short = 7;
    ack = 0;
    shmem_barrier_all();
    shmem_long_p(&old_long, 8, pe_right());
    shmem_short_p(&old_short, 8, pe_right());
    shmem_long_wait(&old_long, 7);
    shmem_short_wait(&old_short, 7);
    shmem_wait(&old_long, 7);
    PE_CHECK(old_long == 8 && old_short == 8, "wait returned at %ld %d", old_long, old_short);
    shmem_long_atomic_set(&ack, 3, pe_right());
    untyped(&ack, SHMEM_CMP_GE, 3);
    PE_CHECK_EQ(ack, 3);
    shmem_barrier_all();
}

/* R202: a wait on one word of many writers, never torn: both halves always agree. */
static void check_untorn(void)
{
    static uint64_t twin;
    uint64_t seen;

    twin = 0;
    shmem_barrier_all();
    for (uint64_t i = 1; i <= (uint64_t)pe_rounds(400); i++) {
        shmem_uint64_p(&twin, i << 32 | i, pe_right());
        shmem_uint64_wait_until(&twin, SHMEM_CMP_NE, 0);
        seen = shmem_uint64_atomic_fetch(&twin, pe_me);
        if (!PE_CHECK(seen >> 32 == (seen & 0xffffffffu), "torn word %016lx", seen)) break;
    }
    shmem_barrier_all();
}

int main(void)
{
    pe_test_begin();
    check_scenarios();
    check_signs();
    check_poll();
    check_ring();
    check_old_forms();
    check_untorn();
    return pe_test_end();
}
