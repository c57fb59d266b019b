/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performs atomics on this PE's own memory with the CPU, because some providers fail under a flood
 * of operations to their own PE. CPU atomics and the provider's atomics are coherent if the
 * provider uses the CPU, too. All atomics here have release semantics, because a PE that sees a
 * value from a message must also see the data of earlier messages. Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include "transport/cpu_amo.h"

void stp_ofi_loopback_amo(void *at, size_t size, enum stp_fabric_amo op, const void *operand,
                          const void *compare, void *result)
{
    /* The comment in cpu_amo.tmpl.h explains this memory order and what it pairs with. */
    stp_amo_cpu(at, size, op, operand, compare, result, __ATOMIC_ACQ_REL);
}
