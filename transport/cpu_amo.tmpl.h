/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the function AMO_CPU, one CPU atomic on an element of the integer type TYPE. The typed
 * routines use this template, and cpu_amo.h uses it for each width. op and order are constants
 * where the function is inlined.
 *
 * Atomics that fetch acquire, so that data read after a value that another PE published is at least
 * as new as this value. The acquire pairs with the release in fence and quiet before the
 * publication. order applies to the other atomics:
 *   __ATOMIC_RELAXED  for atomics that fetch nothing, because fence and quiet provide the order
 *   __ATOMIC_ACQUIRE  for atomics that fetch the old value
 *   __ATOMIC_ACQ_REL  for a PE whose earlier messages this thread has executed: a PE that sees the
 *                     value also sees the writes of these messages
 * Arithmetic wraps around.
 */
static inline __attribute__((always_inline)) TYPE AMO_CPU(TYPE *there, enum stp_fabric_amo op,
                                                          TYPE operand, TYPE compare, int order)
{
    const int fetch = order == __ATOMIC_ACQ_REL ? __ATOMIC_ACQ_REL : __ATOMIC_ACQUIRE;
    const int store = order == __ATOMIC_ACQ_REL ? __ATOMIC_RELEASE : __ATOMIC_RELAXED;

    switch (op) {
    case STP_AMO_FETCH:
        return __atomic_load_n(there, __ATOMIC_ACQUIRE);
    case STP_AMO_SET:
        __atomic_store_n(there, operand, store);
        return 0;
    case STP_AMO_SWAP:
        return __atomic_exchange_n(there, operand, fetch);
    case STP_AMO_ADD:
        return __atomic_fetch_add(there, operand, order);
    case STP_AMO_AND:
        return __atomic_fetch_and(there, operand, order);
    case STP_AMO_OR:
        return __atomic_fetch_or(there, operand, order);
    case STP_AMO_XOR:
        return __atomic_fetch_xor(there, operand, order);
    case STP_AMO_CSWAP:
        __atomic_compare_exchange_n(there, &compare, operand, false, fetch, __ATOMIC_ACQUIRE);
        return compare; /* the old value, whether or not the exchange took place */
    }
    return 0;
}
