/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performs atomics on this PE's own memory with the CPU, because some providers fail if a PE posts
 * very many operations to itself. Other PEs may access the same memory with the provider's atomics.
 * Both kinds of atomics are coherent if the provider also executes its atomics with the CPU. Every
 * atomic that writes has release semantics, because another PE may have requested it by a message.
 * A PE that sees the new value must then also see the data of earlier messages.
 * Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include "transport/cpu_amo.h"

void stp_ofi_loopback_amo(void *element, size_t size, enum stp_fabric_amo op, const void *operand,
                          const void *compare, void *result)
{
    /*
     * The head comment of cpu_amo.tmpl.h explains this memory order and the accesses that pair with
     * it.
     */
    stp_amo_cpu(element, size, op, operand, compare, result, __ATOMIC_ACQ_REL);
}
