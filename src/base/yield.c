/* SPDX-License-Identifier: BSD-3-Clause */
/* To let other threads run. The library and the fabric module have one each. */
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
     * us. But one now and then, because a Linux kernel may run threads that only yield for a minute
     * and nothing else beside them.
     */
    if (++yields % YIELDS_A_SLEEP != 0) {
        sched_yield();
        return false;
    }
    nanosleep(&moment, NULL); /* a signal may end it */
    return true;
}
