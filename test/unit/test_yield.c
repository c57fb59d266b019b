/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests waits that yield: some yields sleep instead and call the hook of long waits. When PEs share
 * cores, every yield of a long wait sleeps. The test replaces nanosleep(), so that it counts sleeps
 * and measures no time. CTest runs the program as unit.yield.
 */
#include "base/base.h"
#include "unit.h"

#include <time.h>

#define YIELDS 100000

static unsigned n_sleeps, n_looks;

/* In place of the C library's. */
int nanosleep(const struct timespec *time, struct timespec *rest)
{
    (void)rest;
    ck_assert_int_eq(time->tv_sec, 0);
    ck_assert_int_lt(time->tv_nsec, 100000);
    n_sleeps++;
    return -1; /* as when a signal comes */
}

static void look(void)
{
    n_looks++;
}

TEST(test_sleeps_now_and_then)
{
    static const struct stp_wait_hooks hooks = {.check_peers = look};

    stp_wait_hook = &hooks;
    for (int i = 0; i < YIELDS; i++)
        stp_yield_and_watch_peers((unsigned)i);
    ck_assert_uint_ge(n_sleeps, YIELDS / 10000);
    ck_assert_uint_le(n_sleeps, YIELDS / 100);
    ck_assert_uint_eq(n_looks, n_sleeps);
}

/* The number of sleeps among YIELDS yields of a wait that has lasted for so many turns. */
static unsigned sleeps_behind(unsigned turns)
{
    n_sleeps = 0;
    for (int i = 0; i < YIELDS; i++)
        stp_yield_and_watch_peers(turns);
    return n_sleeps;
}

TEST(test_sleeps_in_long_waits_on_shared_cores)
{
    stp_wait_hook = NULL;
    stp_wait_choose(-1, true);
    ck_assert_uint_lt(sleeps_behind(1000000), YIELDS / 100);
    stp_wait_choose(-1, false);
    ck_assert_uint_lt(sleeps_behind(0), YIELDS / 100);
    ck_assert_uint_lt(sleeps_behind(10), YIELDS / 100);
    ck_assert_uint_eq(sleeps_behind(1000), YIELDS);
}
