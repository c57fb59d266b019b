/* SPDX-License-Identifier: BSD-3-Clause */
/* Lets other threads run. The library and the fabric module each contain a copy of this file. */
#include "base/base.h"

#include <limits.h>
#include <sched.h>
#include <time.h>

/* Number of calls from one sleep to the next. This number of calls takes at least 0.5 ms. */
#define YIELDS_A_SLEEP 1024

unsigned stp_yield_turns = UINT_MAX; /* value until init calls stp_wait_choose() */

bool stp_yield_or_sleep(unsigned turns)
{
    static const struct timespec moment = {.tv_nsec = 1};
    static __thread unsigned yields;
    bool hook_is_due = ++yields % YIELDS_A_SLEEP == 0;

    /*
     * Most calls yield. A pause instruction would keep the core, but if there are more PEs than
     * cores, the PE that must act next may need this core. A sleep at each call would make waits
     * longer, because no thread wakes a thread that sleeps here.
     * Every 1024th call sleeps. Without these sleeps, threads that only yield can keep their cores
     * for a minute on Linux 6.18, while all other threads starve.
     * If PEs share cores, each call in a long wait sleeps. A yield would not be sufficient if the
     * kernel's autogroups are on, because the core then goes only to threads of the same group, and
     * another PE can be in another group.
     */
    if (!hook_is_due && turns < stp_yield_turns)
        sched_yield();
    else
        nanosleep(&moment, NULL); /* a signal may end the sleep early */
    return hook_is_due;
}
