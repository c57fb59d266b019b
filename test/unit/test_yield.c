/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits that yield sleep now and then instead, and call the hook of long waits each time. */
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
    static const struct stp_wait_hooks hooks = {.look = look};

    stp_wait_hook = &hooks;
    for (int i = 0; i < YIELDS; i++)
        stp_wait_yield();
    ck_assert_uint_ge(n_sleeps, YIELDS / 10000);
    ck_assert_uint_le(n_sleeps, YIELDS / 100);
    ck_assert_uint_eq(n_looks, n_sleeps);
}
