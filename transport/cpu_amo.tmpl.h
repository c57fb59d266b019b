/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the function AMO_CPU, which executes one atomic with the CPU on an element of the integer
 * type TYPE. src/api/amo_api.c includes this template once for each type. cpu_amo.h includes it
 * once for each element size. If op and order are constants at the call, the compiler keeps only
 * one case of the switch. Additions wrap around.
 *
 * An atomic that fetches a value has at least acquire order. Data that the caller reads afterwards
 * is therefore at least as new as the value. The acquire pairs with the release in fence and quiet,
 * which another PE calls before it publishes the value.
 *
 * The argument order has one of three values. It is __ATOMIC_RELAXED if the atomic fetches nothing,
 * because fence and quiet provide the order. It is __ATOMIC_ACQUIRE if the atomic fetches the old
 * value. It is __ATOMIC_ACQ_REL if the atomic may come from a message of another PE. A PE that sees
 * the new value then also sees the writes of earlier messages from that PE.
 */
static inline __attribute__((always_inline)) TYPE AMO_CPU(TYPE *element, enum stp_fabric_amo op,
                                                          TYPE operand, TYPE compare, int order)
{
    const int fetch = order == __ATOMIC_ACQ_REL ? __ATOMIC_ACQ_REL : __ATOMIC_ACQUIRE;
    const int store = order == __ATOMIC_ACQ_REL ? __ATOMIC_RELEASE : __ATOMIC_RELAXED;

    switch (op) {
    case STP_AMO_FETCH:
        return __atomic_load_n(element, __ATOMIC_ACQUIRE);
    case STP_AMO_SET:
        __atomic_store_n(element, operand, store);
        return 0;
    case STP_AMO_SWAP:
        return __atomic_exchange_n(element, operand, fetch);
    case STP_AMO_ADD:
        return __atomic_fetch_add(element, operand, order);
    case STP_AMO_AND:
        return __atomic_fetch_and(element, operand, order);
    case STP_AMO_OR:
        return __atomic_fetch_or(element, operand, order);
    case STP_AMO_XOR:
        return __atomic_fetch_xor(element, operand, order);
    case STP_AMO_CSWAP:
        __atomic_compare_exchange_n(element, &compare, operand, false, fetch, __ATOMIC_ACQUIRE);
        /*
         * If the exchange failed, the builtin has stored the old value in compare. If it succeeded,
         * compare is equal to the old value.
         */
        return compare;
    }
    return 0;
}
