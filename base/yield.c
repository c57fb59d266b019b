/* SPDX-License-Identifier: BSD-3-Clause */
/* Lets other threads run. The library and the fabric module each contain a copy of this file. */
#include "base/base.h"

#include <limits.h>
#include <sched.h>
#include <time.h>

#define YIELDS_A_SLEEP 1024 /* yields per sleep, half a millisecond or more */

unsigned stp_yield_turns = UINT_MAX; /* no sleeps until init compares PEs with cores */

bool stp_yield_or_sleep(unsigned turns)
{
    static const struct timespec moment = {.tv_nsec = 1};
    static __thread unsigned yields;
    bool hook_is_due = ++yields % YIELDS_A_SLEEP == 0;

    /*
     * A pause instruction would keep the core, which the PE that must act next may need if PEs
     * outnumber cores. A sleep at each call would delay the wait, because no thread wakes the
     * sleeper. A sleep now and then is needed, because Linux 6.18 may run threads that only yield
     * for a minute while all others starve. A long wait of a PE without its own core always sleeps,
     * because with autogroups a yield does not give the core to another PE.
     */
    if (!hook_is_due && turns < stp_yield_turns)
        sched_yield();
    else
        nanosleep(&moment, NULL); /* a signal may end the sleep */
    return hook_is_due;
}
