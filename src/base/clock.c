/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock, and the two numbers behind every wait: how long to spin and what to do
 * afterwards. Design: docs/design/base.md.
 */
#include "base/base.h"

#include <sched.h>
#include <time.h>

/*
 * Until init has compared PEs with cores: long enough to cover a flag between two cores many
 * times over, short enough not to burn the time slice of a PE that shares the core.
 */
int stp_wait_spin = 1000;

uint64_t stp_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void stp_wait_yield(void)
{
    /*
     * Not the pause instruction: it keeps the core, and where PEs outnumber cores the one that
     * must act next may be waiting for exactly this core. Not a sleep: nobody would wake us.
     */
    sched_yield();
}
