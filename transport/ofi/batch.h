/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares batches, which collect small operations to the same PE and send them together.
 * Design: docs/design/sessions.md.
 */
#ifndef STP_OFI_BATCH_H
#define STP_OFI_BATCH_H

#include "ofi_internal.h"

/*
 * A batch (batch.c) collects the small puts, stores, signals and updates of a context in packed
 * messages, one for each target PE. The library of the target executes the items of a packed
 * message (packed.c). A batch collects operations in two cases: in a session with the batch hint,
 * and on TCP while an earlier operation to the same PE is not acknowledged. In the second case,
 * larger puts to one PE also become the pieces of one write.
 */

#define STP_OFI_ITEM_MAX 256    /* most bytes of a put in a packed message */
#define STP_OFI_SIGNAL_PUTS 3   /* most items that hold the data of a put with signal */
#define STP_OFI_PIECE_MAX 16384 /* most bytes of a put that is a piece of a write */
#define STP_OFI_ITEM_PUT 15u    /* operation code of a put */

/*
 * An operation to collect. op is STP_OFI_ITEM_PUT or an update, such as STP_AMO_ADD. nbytes is not
 * 0.
 */
struct stp_ofi_item {
    const struct stp_target *dest; /* destination; all items of one call are for one PE */
    unsigned op;
    const void *data;
    size_t nbytes;
};

bool stp_ofi_item_is_packable(const struct stp_ofi_item *item);
/* Returns the number of bytes that the item needs in a packed message. */
size_t stp_ofi_item_room(const struct stp_ofi_item *item);
void stp_ofi_item_write(void *at, const struct stp_ofi_item *item);

/*
 * Calls look() with the region number of each item of a packed message, until look() returns false.
 */
void stp_ofi_packed_each(const void *items, size_t nbytes, bool (*look)(unsigned number, void *arg),
                         void *arg);

static inline bool stp_ofi_batching(const struct stp_fabric_ctx *ctx)
{
    return STP_UNLIKELY(__atomic_load_n(&ctx->batching, __ATOMIC_RELAXED));
}

/* Returns whether small operations of the context should be passed to stp_ofi_batch_add(). */
static inline bool stp_ofi_can_coalesce(const struct stp_fabric_ctx *ctx)
{
    return stp_ofi.coalesces_small || stp_ofi_batching(ctx);
}

/*
 * Collects n > 0 items, all for the same PE, in the given order. Returns false if the items were
 * not collected. If the caller can send the items better without a batch, alone is not NULL. The
 * items are then not collected if all earlier operations to the PE are acknowledged. In this case,
 * the function returns false and sets *alone to the batch, which the caller stores in its own
 * request. This function may send messages, and it may wait with progress.
 */
bool stp_ofi_batch_add(struct stp_fabric_ctx *ctx, const struct stp_ofi_item *items, int n,
                       struct stp_ofi_batch **alone);

/* Returns whether a put of nbytes of host memory may become a piece of a write of several puts. */
static inline bool stp_ofi_can_join_iov(size_t nbytes)
{
    return stp_ofi.max_pieces > 1 && nbytes > STP_OFI_ITEM_MAX && nbytes <= STP_OFI_PIECE_MAX &&
           __atomic_load_n(&stp_ofi.n_listed, __ATOMIC_RELAXED) == 0;
}

/*
 * As stp_ofi_batch_add(), but for one put that becomes a piece of a write. The source of the put
 * must not change until quiet.
 */
bool stp_ofi_batch_join(struct stp_fabric_ctx *ctx, const struct stp_ofi_item *item,
                        struct stp_ofi_batch **alone);

/*
 * Handles the completion of req, a request that belongs to a batch. If no other request of the
 * batch to this PE is outstanding, posts the request that the batch is filling for the PE. The
 * caller holds the drain lock of endpoint, which may be any endpoint.
 */
void stp_ofi_batch_post_next_locked(struct stp_ofi_endpoint *endpoint, struct stp_ofi_req *req);

/* Sends the collected operations of the context to all PEs. Waits while the provider is busy. */
void stp_ofi_batch_flush(struct stp_fabric_ctx *ctx);
/* As stp_ofi_batch_flush(), but sends only the operations to PE pe. */
void stp_ofi_batch_flush_pe(struct stp_fabric_ctx *ctx, int pe);

/* Returns whether any context has collected operations that have not been sent. */
bool stp_ofi_batch_has_unsent(void);

/*
 * Sends the collected operations of all contexts, and never waits for the provider. If all is
 * false, sends only the requests that the previous call of this function has already found. If
 * may_block is false and another thread holds the main endpoint's drain lock, does nothing.
 */
void stp_ofi_batch_flush_aged(bool all, bool may_block);

/*
 * Returns the batch for a session of total_ops operations, or NULL if a batch would gain nothing.
 */
struct stp_ofi_batch *stp_ofi_batch_prepare(struct stp_fabric_ctx *ctx, size_t total_ops);
/* Starts to collect operations of the context in batch, or stops collecting if batch is NULL. */
void stp_ofi_batch_start_or_stop(struct stp_fabric_ctx *ctx, struct stp_ofi_batch *batch,
                                 size_t total_ops);
void stp_ofi_batch_free(struct stp_fabric_ctx *ctx);

#endif /* STP_OFI_BATCH_H */
