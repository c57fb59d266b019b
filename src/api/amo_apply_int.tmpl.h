/* SPDX-License-Identifier: BSD-3-Clause */
/* One atomic on a mapped element of an integer TYPE; op is a constant where this is inlined. */

/*
 * The fetching forms acquire: what the program reads after a value that another PE published is at
 * least as new as that value; pairs with the release in fence and quiet before the publication.
 * The others are relaxed: their order is the business of fence and quiet. Arithmetic wraps.
 */
STP_API_INLINE TYPE STP_LOCAL(amo_apply)(TYPE *there, enum stp_fabric_amo op, TYPE operand,
                                         TYPE compare, bool fetching)
{
    const int order = fetching ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;

    switch (op) {
    case STP_AMO_FETCH: return __atomic_load_n(there, __ATOMIC_ACQUIRE);
    case STP_AMO_SET: __atomic_store_n(there, operand, __ATOMIC_RELAXED); return 0;
    case STP_AMO_SWAP: return __atomic_exchange_n(there, operand, order);
    case STP_AMO_ADD: return __atomic_fetch_add(there, operand, order);
    case STP_AMO_AND: return __atomic_fetch_and(there, operand, order);
    case STP_AMO_OR: return __atomic_fetch_or(there, operand, order);
    case STP_AMO_XOR: return __atomic_fetch_xor(there, operand, order);
    case STP_AMO_CSWAP:
        __atomic_compare_exchange_n(there, &compare, operand, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_ACQUIRE);
        return compare; /* the value before, either way */
    }
    __builtin_unreachable();
}
