/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Warns about missing PEs if this PE waits long for them at the launcher's fence. A PE is missing
 * if it has not called init. The command oshrun --status prints the missing PEs. Design:
 * docs/design/hang.md.
 */
#include "boot.h"
#include "boot_internal.h"

#include "pmi/pmi.h"

#include <stdlib.h>

#define SECOND_NS UINT64_C(1000000000)
/*
 * Number of PEs per host that can print the warning. One is not enough, because the first PE itself
 * may be missing.
 */
#define MAX_REPORTERS 2

static struct {
    uint64_t checked_ns, waited_ns;
    uint64_t limit_ns; /* waiting time after which this PE prints the warning */
    bool reported;
} stragglers;

static void stragglers_idle(void)
{
    const char *hosts;
    uint64_t now = stp_now_ns(), elapsed = now - stragglers.checked_ns;

    stragglers.waited_ns += elapsed < SECOND_NS / 2 ? elapsed : SECOND_NS / 2;
    stragglers.checked_ns = now;
    if (stragglers.reported || stragglers.waited_ns < stragglers.limit_ns) return;
    stragglers.reported = true;
    hosts = getenv("OSHRUN_HOSTS");
    stp_warn("shmem_init has waited for %u s (SHMEM_HANG_REPORT sets this time) because not all "
             "PEs have come to the same point of shmem_init; the job goes on%s%s; oshrun --status "
             "prints the missing PEs of the host on which it runs",
             (unsigned)(stragglers.waited_ns / SECOND_NS), hosts != NULL ? "; its hosts are " : "",
             hosts != NULL ? hosts : "");
    stp_boot_tell_oshrun(STP_STAGE_WAITS);
}

void stp_init_stragglers_begin(void)
{
    int rank = stp_boot.host_rank;

    if (stp_env.hang_report <= 0 || rank >= MAX_REPORTERS) return;
    stragglers.checked_ns = stp_now_ns();
    stragglers.waited_ns = 0;
    stragglers.limit_ns = (uint64_t)stp_env.hang_report * SECOND_NS * (uint64_t)(rank + 1);
    stragglers.reported = false;
    stp_pmi_set_idle(stragglers_idle);
}

void stp_init_stragglers_end(void)
{
    stp_pmi_set_idle(NULL);
}
