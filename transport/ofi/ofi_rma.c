/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements put, get and store. A put completes when its data has been delivered. quiet therefore
 * needs only to wait for completions. The data of a small blocking put is copied, so that the put
 * returns at once. Data in device memory is not copied, because only the provider may access it.
 *
 * Operations of a PE on its own memory are complete on return if the CPU may execute some of them
 * (stp_ofi.self). If they were still outstanding, they would have no defined order with the CPU's
 * copies and atomics. Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include "batch.h"

#include <string.h>

/* Returns a request for a fragment whose data is copied through the field data of the request. */
static struct stp_ofi_req *fragment_copied(struct stp_ofi_endpoint *endpoint,
                                           enum stp_ofi_kind kind, int pe, const void *local,
                                           size_t nbytes)
{
    unsigned index = nbytes <= STP_OFI_INLINE ? STP_OFI_PLAIN : STP_OFI_BOUNCE;
    struct stp_ofi_req *req = stp_ofi_req_take_waiting(&endpoint->pools[index], kind, pe);

    if (kind == STP_OFI_WRITE)
        memcpy(req->data, local, nbytes);
    else
        req->copy_to = (void *)(uintptr_t)local;
    req->local = req->data;
    req->desc = req->data_desc;
    return req;
}

struct stp_ofi_req *stp_ofi_req_prepare_one_fragment(struct stp_ofi_endpoint *endpoint,
                                                     enum stp_ofi_kind kind,
                                                     const struct stp_target *target,
                                                     const struct stp_ofi_fragments *fragments,
                                                     const void *local, size_t nbytes)
{
    struct stp_ofi_req *req;

    if (STP_UNLIKELY(fragments->copied)) {
        req = fragment_copied(endpoint, kind, target->pe, local, nbytes);
    } else {
        req = stp_ofi_req_take_waiting(&endpoint->pools[STP_OFI_PLAIN], kind, target->pe);
        req->local = local;
        req->desc = fragments->desc;
        req->mr_ref = fragments->mr_ref;
    }
    req->nbytes = nbytes;
    req->place = stp_ofi_place_of(target);
    return req;
}

void stp_ofi_post_fragments(struct stp_ofi_endpoint *endpoint, enum stp_ofi_kind kind,
                            const struct stp_ofi_fragments *fragments,
                            const struct stp_target *target, const void *local, size_t nbytes,
                            unsigned *pending, struct stp_ofi_req *signal_req)
{
    const struct stp_ofi_extents *extents = stp_ofi_extents(&stp_ofi.regions[target->number]);
    struct stp_target fragment_target = *target;
    const char *fragment_local = local;

    do {
        size_t n = nbytes < fragments->size ? nbytes : fragments->size;
        struct stp_ofi_req *req;

        if (STP_UNLIKELY(extents != NULL)) {
            size_t extent_bytes = stp_ofi_extent_remaining(extents, fragment_target.offset);
            if (extent_bytes < n) n = extent_bytes;
        }
        req = stp_ofi_req_prepare_one_fragment(endpoint, kind, &fragment_target, fragments,
                                               fragment_local, n);
        stp_ofi_count_on(req, pending);
        req->signal_req = signal_req;
        stp_ofi_post_until_accepted(req);
        fragment_local += n;
        fragment_target.offset += n;
        nbytes -= n;
    } while (STP_UNLIKELY(nbytes > 0));
}

/* Transfers nbytes in fragments and waits until all of them are complete. */
static void transfer(struct stp_ofi_endpoint *endpoint, enum stp_ofi_kind kind,
                     const struct stp_target *target, const void *local, size_t nbytes)
{
    struct stp_ofi_fragments fragments = stp_ofi_cut(kind, target, local, nbytes);
    unsigned pending = fragments.n;

    stp_ofi_post_fragments(endpoint, kind, &fragments, target, local, nbytes, &pending, NULL);
    stp_ofi_wait_zero(endpoint, &pending);
}

/* Starts a transfer and does not wait for it. A later quiet waits for its completion. */
static void transfer_nbi(struct stp_fabric_ctx *ctx, enum stp_ofi_kind kind,
                         const struct stp_target *target, const void *local, size_t nbytes)
{
    struct stp_ofi_fragments fragments = stp_ofi_cut(kind, target, local, nbytes);
    unsigned *pending = stp_ofi_ctx_pending(ctx);

    __atomic_fetch_add(pending, fragments.n, __ATOMIC_RELAXED);
    stp_ofi_post_fragments(ctx->endpoint, kind, &fragments, target, local, nbytes, pending, NULL);
}

/*
 * Posts a put as one fragment and does not wait for its completion. If copied is true, the caller
 * may change the source on return. If batch is not NULL, the completion notifies the batch.
 */
static void put_whole(struct stp_fabric_ctx *ctx, const struct stp_target *dest, const void *source,
                      size_t nbytes, bool copied, struct stp_ofi_batch *batch)
{
    struct stp_ofi_fragments fragment = {.size = nbytes, .n = 1, .copied = copied};
    struct stp_ofi_req *req = stp_ofi_req_prepare_one_fragment(ctx->endpoint, STP_OFI_WRITE, dest,
                                                               &fragment, source, nbytes);

    req->batch = batch;
    stp_ofi_count_on_ctx(req, ctx);
    stp_ofi_post_until_accepted(req);
}

/*
 * Collects or sends a put of at most STP_OFI_ITEM_MAX bytes. If the program has not begun a session
 * and all earlier operations to the PE are acknowledged, writes the data at once by libfabric.
 * A write is faster than a packed message: the provider of the target acknowledges a write, whereas
 * the library of the target must acknowledge a message. Returns false if the put was neither
 * collected nor sent.
 */
static bool batch_put(struct stp_fabric_ctx *ctx, const struct stp_target *dest, const void *source,
                      size_t nbytes)
{
    struct stp_ofi_item item = {dest, STP_OFI_ITEM_PUT, source, nbytes};
    struct stp_ofi_batch *batch = NULL;
    bool can_copy = nbytes <= STP_OFI_INLINE || nbytes <= stp_ofi.bounce_size;

    if (stp_ofi_on_device(source) || stp_ofi_crosses(dest, nbytes)) return false;
    if (stp_ofi_batch_add(ctx, &item, 1, can_copy ? &batch : NULL)) return true;
    if (batch != NULL) put_whole(ctx, dest, source, nbytes, true, batch);
    return batch != NULL;
}

/* Does the same as batch_put(), but for a larger put, which is collected as a piece of a write. */
static bool join_put(struct stp_fabric_ctx *ctx, const struct stp_target *dest, const void *source,
                     size_t nbytes)
{
    struct stp_ofi_item item = {dest, STP_OFI_ITEM_PUT, source, nbytes};
    struct stp_ofi_batch *batch = NULL;

    if (!stp_ofi_can_join_iov(nbytes) || stp_ofi_crosses(dest, nbytes)) return false;
    if (stp_ofi_batch_join(ctx, &item, &batch)) return true;
    if (batch != NULL) put_whole(ctx, dest, source, nbytes, false, batch);
    return batch != NULL;
}

void stp_ofi_put_alone(struct stp_fabric_ctx *ctx, const struct stp_target *dest,
                       const void *source, size_t nbytes, bool nbi)
{
    if (nbi)
        transfer_nbi(ctx, STP_OFI_WRITE, dest, source, nbytes);
    else if (nbytes <= stp_ofi.bounce_size && dest->pe != stp_ofi.self &&
             !stp_ofi_on_device(source) &&
             !(stp_ofi_has_grown(dest->number) && stp_ofi_crosses(dest, nbytes)))
        put_whole(ctx, dest, source, nbytes, true, NULL);
    else
        transfer(ctx->endpoint, STP_OFI_WRITE, dest, source, nbytes);
}

void stp_ofi_put(struct stp_fabric_ctx *ctx, const struct stp_target *dest, const void *source,
                 size_t nbytes, bool nbi)
{
    bool to_self = dest->pe == stp_ofi.self;

    nbi = nbi && !to_self;
    if (to_self && stp_ofi_by_cpu(dest->number, source))
        memmove(stp_ofi_local_ptr(dest->number, dest->offset), source, nbytes);
    else if (!stp_ofi_can_coalesce(ctx) ||
             !(nbytes <= STP_OFI_ITEM_MAX ? batch_put(ctx, dest, source, nbytes)
                                          : nbi && join_put(ctx, dest, source, nbytes)))
        stp_ofi_put_alone(ctx, dest, source, nbytes, nbi);
}

void stp_ofi_get(struct stp_fabric_ctx *ctx, const struct stp_target *source, void *dest,
                 size_t nbytes, bool nbi)
{
    bool to_self = source->pe == stp_ofi.self;

    if (nbi && !to_self) {
        transfer_nbi(ctx, STP_OFI_READ, source, dest, nbytes);
        return;
    }
    if (stp_ofi_can_coalesce(ctx)) stp_ofi_batch_flush_pe(ctx, source->pe);
    if (to_self && stp_ofi_by_cpu(source->number, dest))
        memmove(dest, stp_ofi_local_ptr(source->number, source->offset), nbytes);
    else
        transfer(ctx->endpoint, STP_OFI_READ, source, dest, nbytes);
}

/*
 * Stores the value by an atomic, because a plain write of 8 bytes may tear on TCP (libfabric 1.17).
 */
void stp_ofi_store_atomic(struct stp_fabric_ctx *ctx, const struct stp_target *dest,
                          const void *value, size_t nbytes)
{
    enum stp_dtype dtype = nbytes == 8   ? STP_U64
                           : nbytes == 4 ? STP_U32
                           : nbytes == 2 ? STP_U16
                                         : STP_U8;

    stp_ofi_amo(ctx, dest, STP_AMO_SET, dtype, value, NULL, NULL, false);
}
