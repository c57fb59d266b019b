/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every wait of the library does between two looks, and the messages of inline checks.
 */
#include "steppe.h"

void stp_progress_slow(void)
{
    stp_rt.fabric.progress();
}

#define WAIT_PROGRESS_POLLS 64 /* what serving the fabric once costs, in plain looks */

void stp_wait_idle(struct stp_wait *wait)
{
    if (!stp_rt.has_fabric) {
        stp_wait_step(wait);
        return;
    }
    stp_progress_slow();
    wait->polls += WAIT_PROGRESS_POLLS;
    stp_wait_step(wait);
    /* Where cores suffice, a PE that serves others need not enter the kernel at each look. */
    if (wait->polls >= stp_wait_spin) wait->polls = stp_wait_spin / 2;
}

void stp_wait_missed(void)
{
    static __thread int misses;

    stp_progress();
    if (++misses < stp_wait_spin) return;
    misses = 0;
    stp_wait_yield();
}

_Noreturn void stp_fatal_cmp(const char *fn, int cmp)
{
    stp_fatal(fn, "cmp is %d: it is one of SHMEM_CMP_EQ, NE, GT, GE, LT, LE", cmp);
}

_Noreturn void stp_fatal_pe(const char *fn, int pe, int n_pes)
{
    stp_check_live(fn);
    if (n_pes <= 0) stp_fatal(fn, "the context is not live");
    stp_fatal(fn, "pe is %d: PEs here are 0..%d", pe, n_pes - 1);
}

_Noreturn void stp_fatal_overflow(const char *fn, size_t nelems, size_t size)
{
    stp_fatal(fn, "%zu elements of %zu bytes are more than an address space holds", nelems, size);
}
