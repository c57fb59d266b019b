/* SPDX-License-Identifier: BSD-3-Clause */
/* Lets other threads run. The library and the fabric module each contain a copy. */
#include "base/base.h"

#include <sched.h>
#include <time.h>

#define YIELDS_A_SLEEP 1024 /* half a millisecond, or more when others run */

bool stp_yield(void)
{
    static const struct timespec moment = {.tv_nsec = 1};
    static __thread unsigned yields;

    /*
     * Not the pause instruction: it keeps the core, and where PEs outnumber cores the one that
     * must act next may be waiting for exactly this core. Not a sleep each time: nobody would wake
     * us. But one now and then, because Linux 6.18 may run threads that only yield for a minute
     * while it starves all others.
     */
    if (++yields % YIELDS_A_SLEEP != 0) {
        sched_yield();
        return false;
    }
    nanosleep(&moment, NULL); /* a signal may end it */
    return true;
}
