/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performs atomics on this PE's own part of a region with the CPU, because some providers fail
 * under a flood of operations to their own PE. CPU atomics are coherent with those of providers
 * that run atomics on CPUs. All atomics here release, because a PE that reads a value brought by a
 * message must also see the data of earlier messages. Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include "transport/cpu_amo.h"

void stp_ofi_loopback_amo(void *at, size_t size, enum stp_fabric_amo op, const void *operand,
                          const void *compare, void *result)
{
    /* The atomic may be for another PE. transport/cpu_amo.tmpl.h names the pairs of this order. */
    stp_amo_cpu(at, size, op, operand, compare, result, __ATOMIC_ACQ_REL);
}
