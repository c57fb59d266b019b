/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One atomic of the CPU on an element of an integer TYPE, by the name AMO_CPU: what typed routines
 * are made of, and the width by width table of cpu_amo.h. op and order are constants where it is
 * inlined.
 *
 * What fetches acquires: what is read after a value that another PE published is at least as new as
 * that value; pairs with the release in fence and quiet before the publication. order is that of
 * the other atomics:
 *   __ATOMIC_RELAXED  nothing is fetched; order is the business of fence and quiet
 *   __ATOMIC_ACQUIRE  the value before is fetched
 *   __ATOMIC_ACQ_REL  on behalf of a PE whose earlier messages this thread has done: whoever sees
 *                     the value sees what those wrote
 * Arithmetic wraps.
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
        return compare; /* the value before, either way */
    }
    return 0;
}
