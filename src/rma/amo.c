/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics behind the inline hit: CPU atomics on globals and scattered peers, the owner's agent for
 * device memory, the fabric's for everyone else. One real function per operand width; the datatype
 * only matters for what the bits mean to the fabric, since add wraps and swap moves bits. What
 * fetches acquires, as in the typed bodies.
 */
#include "rma.h"

#include <string.h>

static uint32_t amo_apply32(uint32_t *there, enum stp_fabric_amo op, uint32_t operand,
                            uint32_t compare)
{
    switch (op) {
    case STP_AMO_FETCH: return __atomic_load_n(there, __ATOMIC_ACQUIRE);
    case STP_AMO_SET: __atomic_store_n(there, operand, __ATOMIC_RELAXED); return 0;
    case STP_AMO_ADD: return __atomic_fetch_add(there, operand, __ATOMIC_ACQUIRE);
    case STP_AMO_AND: return __atomic_fetch_and(there, operand, __ATOMIC_ACQUIRE);
    case STP_AMO_OR: return __atomic_fetch_or(there, operand, __ATOMIC_ACQUIRE);
    case STP_AMO_XOR: return __atomic_fetch_xor(there, operand, __ATOMIC_ACQUIRE);
    case STP_AMO_SWAP: return __atomic_exchange_n(there, operand, __ATOMIC_ACQUIRE);
    case STP_AMO_CSWAP:
        __atomic_compare_exchange_n(there, &compare, operand, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_ACQUIRE);
        return compare; /* the old value either way */
    }
    return 0;
}

static uint64_t amo_apply64(uint64_t *there, enum stp_fabric_amo op, uint64_t operand,
                            uint64_t compare)
{
    switch (op) {
    case STP_AMO_FETCH: return __atomic_load_n(there, __ATOMIC_ACQUIRE);
    case STP_AMO_SET: __atomic_store_n(there, operand, __ATOMIC_RELAXED); return 0;
    case STP_AMO_ADD: return __atomic_fetch_add(there, operand, __ATOMIC_ACQUIRE);
    case STP_AMO_AND: return __atomic_fetch_and(there, operand, __ATOMIC_ACQUIRE);
    case STP_AMO_OR: return __atomic_fetch_or(there, operand, __ATOMIC_ACQUIRE);
    case STP_AMO_XOR: return __atomic_fetch_xor(there, operand, __ATOMIC_ACQUIRE);
    case STP_AMO_SWAP: return __atomic_exchange_n(there, operand, __ATOMIC_ACQUIRE);
    case STP_AMO_CSWAP:
        __atomic_compare_exchange_n(there, &compare, operand, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_ACQUIRE);
        return compare;
    }
    return 0;
}

void stp_amo_apply(void *there, size_t nbytes, enum stp_fabric_amo op, const void *operand,
                      const void *compare, void *result)
{
    uint64_t value = 0, cond = 0;

    if (operand != NULL) memcpy(&value, operand, nbytes);
    if (compare != NULL) memcpy(&cond, compare, nbytes);
    if (nbytes == 4) value = amo_apply32(there, op, (uint32_t)value, (uint32_t)cond);
    else value = amo_apply64(there, op, value, cond);
    if (result != NULL) memcpy(result, &value, nbytes); /* little endian: low bytes first */
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "stp_amo_apply moves low bytes first");

void stp_amo_slow(struct stp_ctx *ctx, enum stp_fabric_amo op, enum stp_dtype dtype, void *dest,
                  const void *operand, const void *compare, void *result, bool nbi, int pe,
                  const char *fn)
{
    const char *argument = op == STP_AMO_FETCH ? "source" : "dest";
    size_t nbytes = stp_dtype_size(dtype);
    struct stp_target target;

    if ((uintptr_t)dest % nbytes != 0)
        stp_fatal(fn, "%s %p is not aligned to %zu bytes", argument, dest, nbytes);
    target = stp_locate(ctx, dest, nbytes, pe, STP_USE_ATOMIC, fn, argument);
    switch (target.way) {
    case STP_WAY_HOST:
        stp_amo_apply(target.there, nbytes, op, operand, compare, result);
        break;
    case STP_WAY_FABRIC:
        stp_ctx_by_fabric(ctx, pe);
        stp_rt.fabric.amo(ctx->fabric, pe, target.space->number, target.offset, op, dtype, operand,
                          compare, result, nbi);
        break;
    case STP_WAY_DEVICE: /* no atomics by copies */
    case STP_WAY_STAGED:
        stp_stage_amo(target.space, target.offset, op, dtype, operand, compare, result, pe, fn);
        break;
    }
}
