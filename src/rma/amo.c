/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performs the atomics that the inlined path (stp_ptr_inline()) does not handle. The CPU of this PE
 * performs atomics on host memory of PEs on this node. Examples are globals, and the memory of PEs
 * whose PE numbers are not contiguous. The owner PE performs atomics on its device memory and on
 * its private memory. The fabric performs all other atomics. Only the fabric uses the type of the
 * word. A CPU needs only the size of the word, because additions wrap around and swaps only copy
 * bits.
 */
#include "rma.h"

#include "transport/cpu_amo.h"

void stp_amo_apply(void *addr, size_t nbytes, enum stp_fabric_amo op, const void *operand,
                   const void *compare, void *result)
{
    /* Pairs with the release in fence and quiet. transport/cpu_amo.tmpl.h explains the pairing. */
    stp_amo_cpu(addr, nbytes, op, operand, compare, result, __ATOMIC_ACQUIRE);
}

void stp_amo_to(struct stp_ctx *ctx, const struct stp_target *dest, enum stp_fabric_amo op,
                enum stp_dtype dtype, const void *operand, const void *compare, void *result,
                bool nbi)
{
    switch (dest->path) {
    case STP_PATH_HOST:
        stp_amo_apply(dest->addr, stp_dtype_size(dtype), op, operand, compare, result);
        break;
    case STP_PATH_FABRIC:
        stp_ctx_by_fabric(ctx, dest->pe);
        stp_rt.fabric.amo(ctx->fabric, dest, op, dtype, operand, compare, result, nbi);
        break;
    /* The owner performs these atomics, because copies by this PE would not be atomic. */
    case STP_PATH_DEVICE:
    case STP_PATH_CMA:
    case STP_PATH_STAGED:
        stp_stage_amo_by_owner(dest, op, dtype, operand, compare, result);
        break;
    }
}

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
    stp_amo_to(ctx, &target, op, dtype, operand, compare, result, nbi);
}
