/* SPDX-License-Identifier: BSD-3-Clause */
/* Lets other threads run. The library and the fabric module each contain a copy. */
#include "base/base.h"

#include <limits.h>
#include <sched.h>
#include <time.h>

#define YIELDS_A_SLEEP 1024 /* half a millisecond, or more when others run */

unsigned stp_yield_turns = UINT_MAX; /* until somebody has compared PEs with cores */

bool stp_yield_or_sleep(unsigned turns)
{
    static const struct timespec moment = {.tv_nsec = 1};
    static __thread unsigned yields;
    bool hook_is_due = ++yields % YIELDS_A_SLEEP == 0;

    /*
     * Not the pause instruction: it keeps the core, and where PEs outnumber cores the one that
     * must act next may be waiting for exactly this core. Not a sleep each time: nobody would wake
     * us. But one now and then, because Linux 6.18 may run threads that only yield for a minute
     * while it starves all others; and each time in a long wait of a PE that has no core to itself,
     * because with autogroups a yield does not give the core to another PE.
     */
    if (!hook_is_due && turns < stp_yield_turns)
        sched_yield();
    else
        nanosleep(&moment, NULL); /* a signal may end it */
    return hook_is_due;
}
