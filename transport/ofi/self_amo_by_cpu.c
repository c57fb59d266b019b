/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics of a PE on its own part of a region, done by the CPU: where providers run atomics
 * on CPUs that is coherent with theirs, and some do not survive a flood to themselves.
 * Whoever sees a value that a message brought sees what earlier messages wrote: so all release.
 * Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include "transport/cpu_amo.h"

void stp_ofi_loopback_amo(void *at, size_t size, enum stp_fabric_amo op, const void *operand,
                          const void *compare, void *result)
{
    /* On behalf of another PE: transport/cpu_amo.tmpl.h names what the orders pair with. */
    stp_amo_cpu(at, size, op, operand, compare, result, __ATOMIC_ACQ_REL);
}
