/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every wait of the library does between two looks, and the messages of inline checks.
 */
#include "rma.h"

#define WAIT_PROGRESS_POLLS 20 /* what serving the fabric once costs, in turns of a wait */
#define WAIT_MISSES_A_POLL 8   /* tests that fail, in the time of one turn */

bool stp_wait_idle_once(struct stp_wait *wait)
{
    if (!stp_rt.has_fabric) {
        stp_wait_step(wait);
        return stp_wait_turn(wait);
    }
    stp_rt.fabric.progress();
    wait->polls += WAIT_PROGRESS_POLLS;
    stp_wait_step(wait);
    /* Where cores suffice, a PE that serves others need not enter the kernel at each look. */
    if (wait->polls >= stp_wait_spin) wait->polls = 0;
    return stp_wait_turn(wait);
}

void stp_wait_after_failed_test(void)
{
    static __thread int misses;

    if (STP_UNLIKELY(stp_rt.has_fabric)) stp_rt.fabric.progress();
    if (++misses / WAIT_MISSES_A_POLL < stp_wait_spin) return;
    misses = 0;
    stp_yield_and_watch_peers(0);
}
