/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Warns about missing PEs if this PE waits long for them at the launcher's fence. A PE is missing
 * if it has not called init. The command oshrun --status prints the missing PEs. Design:
 * docs/design/hang.md.
 */
#include "boot_internal.h"

#include "pmi/pmi.h"

#define SECOND_NS UINT64_C(1000000000)
/*
 * Number of PEs per host that can print the warning. One is not enough, because the first PE itself
 * may be missing.
 */
#define TELLERS 2

static struct {
    uint64_t seen_ns, waited_ns;
    uint64_t limit_ns; /* waiting time after which this PE prints the warning */
    bool reported;
} missing;

static void missing_idle(void)
{
    uint64_t now = stp_now_ns(), passed = now - missing.seen_ns;

    missing.waited_ns += passed < SECOND_NS / 2 ? passed : SECOND_NS / 2;
    missing.seen_ns = now;
    if (missing.reported || missing.waited_ns < missing.limit_ns) return;
    missing.reported = true;
    stp_warn("shmem_init has waited for %u s (SHMEM_HANG_REPORT sets this time) because not all "
             "PEs have come to the same point of shmem_init; the job goes on; oshrun --status "
             "prints the PEs of this host that are missing",
             (unsigned)(missing.waited_ns / SECOND_NS));
}

void stp_init_stragglers_begin(void)
{
    int rank = stp_boot.host_rank;

    if (stp_env.hang_report <= 0 || rank >= TELLERS) return;
    missing.seen_ns = stp_now_ns();
    missing.waited_ns = 0;
    missing.limit_ns = (uint64_t)stp_env.hang_report * SECOND_NS * (uint64_t)(rank + 1);
    missing.reported = false;
    stp_pmi_set_idle(missing_idle);
}

void stp_init_stragglers_end(void)
{
    stp_pmi_set_idle(NULL);
}
