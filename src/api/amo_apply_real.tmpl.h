/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines the CPU atomics of float and double, which support only fetch, set and swap. */

STP_API_INLINE TYPE STP_LOCAL(amo_apply)(TYPE *addr, enum stp_fabric_amo op, TYPE operand,
                                         TYPE compare, int order)
{
    TYPE old = 0;

    (void)compare;
    (void)order;
    /*
     * A fetch and a swap have acquire order. This PE then also sees the data that another PE stored
     * before it stored the fetched value. Pairs with the fence in shmem_fence() or shmem_quiet(),
     * which the other PE called before it stored the value.
     */
    if (op == STP_AMO_FETCH) __atomic_load(addr, &old, __ATOMIC_ACQUIRE);
    if (op == STP_AMO_SET) __atomic_store(addr, &operand, __ATOMIC_RELAXED);
    if (op == STP_AMO_SWAP) __atomic_exchange(addr, &operand, &old, __ATOMIC_ACQUIRE);
    return old;
}
