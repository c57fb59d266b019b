/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements atomics. Converts the operations and element types of transport.h to those of
 * libfabric. If the provider lacks atomics that the library needs, all atomics are sent as
 * messages. Operands are copied into the request. Results are copied to the caller's memory.
 * Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include "am.h"
#include "batch.h"

#include <assert.h>
#include <string.h>

/* Offsets of the operand, the compare value and the result in the field data of a request. */
enum { OPERAND_OFFSET = 0, COMPARE_OFFSET = 16, RESULT_OFFSET = 32 };

struct element {
    size_t size; /* size of an element in bytes, or 0 if the type has no atomics */
    enum fi_datatype type;
};

static const struct element elements[STP_N_DTYPES] = {
    [STP_I8] = {1, FI_INT8},    [STP_U8] = {1, FI_UINT8},   [STP_I16] = {2, FI_INT16},
    [STP_U16] = {2, FI_UINT16}, [STP_I32] = {4, FI_INT32},  [STP_U32] = {4, FI_UINT32},
    [STP_I64] = {8, FI_INT64},  [STP_U64] = {8, FI_UINT64}, [STP_F32] = {4, FI_FLOAT},
    [STP_F64] = {8, FI_DOUBLE},
};

static const enum fi_op ops[] = {
    [STP_AMO_SET] = FI_ATOMIC_WRITE,  [STP_AMO_ADD] = FI_SUM,
    [STP_AMO_AND] = FI_BAND,          [STP_AMO_OR] = FI_BOR,
    [STP_AMO_XOR] = FI_BXOR,          [STP_AMO_FETCH] = FI_ATOMIC_READ,
    [STP_AMO_SWAP] = FI_ATOMIC_WRITE, [STP_AMO_CSWAP] = FI_CSWAP,
};

static enum stp_ofi_kind kind_of(enum stp_fabric_amo op, const void *result)
{
    if (op == STP_AMO_CSWAP) return STP_OFI_COMPARE;
    if (result != NULL || op >= STP_AMO_FETCH || stp_ofi.update_by_fetch) return STP_OFI_FETCH;
    return STP_OFI_UPDATE;
}

static struct stp_ofi_req *native(struct stp_ofi_endpoint *endpoint, const struct stp_target *dest,
                                  enum stp_fabric_amo op, const struct element *el,
                                  const void *operand, const void *compare, void *result)
{
    struct stp_ofi_req *req =
        stp_ofi_req_take_waiting(&endpoint->pools[STP_OFI_PLAIN], kind_of(op, result), dest->pe);

    req->place = stp_ofi_place_of(dest);
    req->op = ops[op];
    req->type = el->type;
    if (operand != NULL) memcpy(req->data + OPERAND_OFFSET, operand, el->size);
    if (compare != NULL) memcpy(req->data + COMPARE_OFFSET, compare, el->size);
    req->local = req->data + OPERAND_OFFSET;
    req->nbytes = el->size;
    req->compare = req->data + COMPARE_OFFSET;
    /*
     * Receive the result in the request, because the caller's memory is not registered. If the
     * target PE leaves the job, the caller may also free its memory while the atomic is still
     * outstanding.
     */
    req->result = req->data + RESULT_OFFSET;
    req->copy_to = result;
    req->desc = req->data_desc;
    return req;
}

struct stp_ofi_req *stp_ofi_atomic_prepare(struct stp_fabric_ctx *ctx,
                                           const struct stp_target *dest, enum stp_fabric_amo op,
                                           enum stp_dtype dtype, const void *operand,
                                           const void *compare, void *result)
{
    const struct element *el = &elements[dtype];

    if (!stp_ofi.by_message) return native(ctx->endpoint, dest, op, el, operand, compare, result);
    __atomic_store_n(&ctx->messages, true, __ATOMIC_RELAXED);
    return stp_ofi_amo_message_prepare(dest, op, el->size, operand, compare, result);
}

/*
 * Tries to collect the atomic in the batch of the context. Returns whether the atomic was
 * collected. An atomic that returns a value is not collected, because the caller waits for the
 * value. For such an atomic, the function sends the operations that were collected for the same PE.
 */
static bool batch(struct stp_fabric_ctx *ctx, const struct stp_target *dest, enum stp_fabric_amo op,
                  enum stp_dtype dtype, const void *operand, const void *result)
{
    struct stp_ofi_item item = {dest, op == STP_AMO_SET ? STP_OFI_ITEM_PUT : op, operand,
                                elements[dtype].size};

    if (result == NULL && op < STP_AMO_FETCH) return stp_ofi_batch_add(ctx, &item, 1, NULL);
    stp_ofi_batch_flush_pe(ctx, dest->pe);
    return false;
}

void stp_ofi_amo(struct stp_fabric_ctx *ctx, const struct stp_target *dest, enum stp_fabric_amo op,
                 enum stp_dtype dtype, const void *operand, const void *compare, void *result,
                 bool nbi)
{
    struct stp_ofi_req *req;
    struct stp_ofi_endpoint *endpoint;
    unsigned pending = 1;

    /*
     * The library does not call this function for device memory. Atomics on device memory are
     * executed by the PE that owns the memory.
     */
    assert(!stp_ofi.regions[dest->number].device);
    if (dest->pe == stp_ofi.self) {
        stp_ofi_loopback_amo(stp_ofi_local_ptr(dest->number, dest->offset), elements[dtype].size,
                             op, operand, compare, result);
        return;
    }
    if (stp_ofi_can_coalesce(ctx) && batch(ctx, dest, op, dtype, operand, result)) return;
    req = stp_ofi_atomic_prepare(ctx, dest, op, dtype, operand, compare, result);
    endpoint = req->pool->endpoint;
    if (result != NULL && !nbi) {
        stp_ofi_count_on(req, &pending);
        stp_ofi_post_until_accepted(req);
        stp_ofi_wait_zero(endpoint, &pending);
    } else {
        stp_ofi_count_on_ctx(req, ctx);
        stp_ofi_post_until_accepted(req);
    }
}

/* Returns whether the domain supports all atomics that the library needs for the type dtype. */
static bool element_supported(struct fid_domain *domain, enum stp_dtype dtype)
{
    enum fi_datatype type = elements[dtype].type;
    bool is_integer = dtype <= STP_U64;
    struct fi_atomic_attr attr;

    for (unsigned i = 0; i < STP_COUNT(ops); i++) {
        bool no_arithmetic = i == STP_AMO_SET || i == STP_AMO_FETCH || i == STP_AMO_SWAP;

        /* For floating-point types, the library needs only the operations set, fetch and swap. */
        if (!no_arithmetic && !is_integer) continue;
        if (i < STP_AMO_FETCH && fi_query_atomic(domain, type, ops[i], &attr, 0) != 0) return false;
        if (i == STP_AMO_CSWAP) {
            if (fi_query_atomic(domain, type, ops[i], &attr, FI_COMPARE_ATOMIC) != 0) return false;
        } else if (fi_query_atomic(domain, type, ops[i], &attr, FI_FETCH_ATOMIC) != 0) {
            return false;
        }
    }
    return true;
}

const char *stp_ofi_atomics_missing(struct fid_domain *domain)
{
    static const char *const reasons[STP_N_DTYPES] = {
        [STP_I8] = "lacks 8-bit atomics",           [STP_U8] = "lacks 8-bit atomics",
        [STP_I16] = "lacks 16-bit atomics",         [STP_U16] = "lacks 16-bit atomics",
        [STP_I32] = "lacks 32-bit atomics",         [STP_U32] = "lacks 32-bit atomics",
        [STP_I64] = "lacks 64-bit atomics",         [STP_U64] = "lacks 64-bit atomics",
        [STP_F32] = "lacks atomic access to float", [STP_F64] = "lacks atomic access to double",
    };

    /*
     * Check the widest types first. If the provider has no atomics at all, the text for the widest
     * type is returned.
     */
    for (int i = STP_F64; i >= 0; i--)
        if (!element_supported(domain, (enum stp_dtype)i)) return reasons[i];
    return NULL;
}
