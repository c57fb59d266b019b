/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements the step that a wait makes between two polls, and the step that a test routine makes
 * when its test fails.
 */
#include "rma.h"

/* Number of polls that take as long as one call of progress() that makes a system call. */
#define WAIT_PROGRESS_POLLS 20
#define WAIT_MISSES_A_POLL 8 /* number of failed tests that take as long as one poll */

bool stp_wait_idle_once(struct stp_wait *wait)
{
    if (!stp_rt.has_fabric) {
        stp_wait_step(wait);
        return stp_wait_turn(wait);
    }
    stp_rt.fabric.progress();
    /*
     * If the provider makes no system call and each PE has a core, do not yield after each poll,
     * because operations of peers complete only when this PE polls.
     */
    if (stp_rt.fabric.needs_syscalls || stp_rt.host_pes > stp_rt.host_cores)
        wait->polls += WAIT_PROGRESS_POLLS;
    stp_wait_step(wait);
    /* Spin again after a yield. With enough cores, most polls then make no system call. */
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
