/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Provider shim: effects of a busy machine or network, by the clock. Operations leave late,
 * completions arrive late, refusals last for a while whatever the program does, and a reader of a
 * queue pauses as if it had lost its core. Times are random, up to the limits in PROVSHIM. On
 * request of a test, a thread that posts pauses too.
 */
#include "shim.h"

#include <time.h>

#define POSTS_A_STORM 256 /* on average; each begins one when none is under way */
#define READS_A_PAUSE 256

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t shim_time_after(size_t us)
{
    /* Half of them at once, so that others come before those that were first. */
    if (us == 0 || shim_random() % 2 == 0) return 0;
    shim_counts.delayed++;
    return now_ns() + shim_random() % (us * 1000);
}

bool shim_time_come(uint64_t due_ns)
{
    return due_ns == 0 || now_ns() >= due_ns;
}

bool shim_time_storm(void)
{
    static uint64_t until_ns;
    size_t us = shim_modes()->storm;

    if (us == 0) return false;
    if (until_ns != 0 && now_ns() < until_ns) return true;
    until_ns = shim_random() % POSTS_A_STORM == 0 ? now_ns() + shim_random() % (us * 1000) : 0;
    return until_ns != 0;
}

void shim_time_pause(void)
{
    size_t us = shim_modes()->pause;
    uint64_t ns;
    struct timespec t;

    if (us == 0 || shim_random() % READS_A_PAUSE != 0) return;
    ns = shim_random() % (us * 1000);
    t.tv_sec = (time_t)(ns / 1000000000u);
    t.tv_nsec = (long)(ns % 1000000000u);
    nanosleep(&t, NULL);
}

enum { NOBODY, NEXT, HELD };
static int hold; /* which of them */

void provshim_hold(void)
{
    __atomic_store_n(&hold, NEXT, __ATOMIC_RELEASE);
}

void provshim_release(void)
{
    __atomic_store_n(&hold, NOBODY, __ATOMIC_RELEASE);
}

void shim_time_hold(void)
{
    struct timespec t = {.tv_nsec = 1000000};
    int next = NEXT;

    if (!__atomic_compare_exchange_n(&hold, &next, HELD, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    __atomic_add_fetch(&shim_counts.stopped, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&hold, __ATOMIC_ACQUIRE) == HELD)
        nanosleep(&t, NULL);
}
