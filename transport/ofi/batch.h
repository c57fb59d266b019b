/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares batches, which collect small operations to the same PE and send them together.
 * Design: docs/design/messages.md.
 */
#ifndef STP_OFI_BATCH_H
#define STP_OFI_BATCH_H

#include "ofi_internal.h"

/*
 * A batch (batch.c) belongs to a context. It collects the small puts, stores, signals and updates
 * of the context in packed messages. Each packed message is for one target PE. The library of that
 * PE executes the items of the message (packed.c). An item is one operation or a part of one.
 *
 * A batch collects operations during a session with the batch hint. On TCP, a batch also collects
 * operations outside sessions, while an earlier operation to the same PE is not acknowledged.
 * During this time, the batch also combines several larger puts to one PE into one write. Each of
 * these puts is a piece of the write.
 */

#define STP_OFI_ITEM_MAX 256    /* maximum size of a put in a packed message, in bytes */
#define STP_OFI_SIGNAL_PUTS 3   /* maximum number of items for the data of one put with signal */
#define STP_OFI_PIECE_MAX 16384 /* maximum size of a put that is a piece of a write, in bytes */
#define STP_OFI_ITEM_PUT 15u    /* operation code of an item that is a put */

/*
 * An operation that a batch can collect. The field op is STP_OFI_ITEM_PUT or the code of an update,
 * such as STP_AMO_ADD. The field nbytes is never 0.
 */
struct stp_ofi_item {
    /* Destination. All items that are passed in one call have the same target PE. */
    const struct stp_target *dest;
    unsigned op;
    const void *data;
    size_t nbytes;
};

bool stp_ofi_item_is_packable(const struct stp_ofi_item *item);
/* Returns the number of bytes that the item needs in a packed message. */
size_t stp_ofi_item_room(const struct stp_ofi_item *item);
void stp_ofi_item_write(void *buffer, const struct stp_ofi_item *item);

/*
 * Calls visit() for each item of a packed message and passes the number of the item's region. Stops
 * when visit() returns false.
 */
void stp_ofi_packed_each(const void *items, size_t nbytes,
                         bool (*visit)(unsigned number, void *arg), void *arg);

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
 * Collects n > 0 items in the given order. All items are for the same PE. Returns whether the items
 * were collected. The function may send messages, and it may wait with progress.
 *
 * Some callers can send the items faster without a batch. Such a caller passes a pointer in the
 * argument batch_out. Other callers pass NULL. If the argument is not NULL and all earlier
 * operations to the PE are acknowledged, the function collects nothing. It sets *batch_out to the
 * batch and returns false. The caller stores *batch_out in the field batch of its own request.
 */
bool stp_ofi_batch_add(struct stp_fabric_ctx *ctx, const struct stp_ofi_item *items, int n,
                       struct stp_ofi_batch **batch_out);

/*
 * Returns whether a put of nbytes bytes may be combined with other puts into one write. Only puts
 * from host memory may be combined.
 */
static inline bool stp_ofi_can_join_iov(size_t nbytes)
{
    return stp_ofi.max_pieces > 1 && nbytes > STP_OFI_ITEM_MAX && nbytes <= STP_OFI_PIECE_MAX &&
           __atomic_load_n(&stp_ofi.n_listed, __ATOMIC_RELAXED) == 0;
}

/*
 * Does the same as stp_ofi_batch_add(), but for one put that becomes a piece of a write. The
 * program must not change the source of the put before quiet.
 */
bool stp_ofi_batch_join(struct stp_fabric_ctx *ctx, const struct stp_ofi_item *item,
                        struct stp_ofi_batch **batch_out);

/*
 * Called when the request req has completed. The batch req->batch may have begun another request to
 * the same PE meanwhile. If no earlier request to this PE is outstanding, the function posts this
 * new request. In a session, packed messages are not posted here, because they continue to collect
 * operations. The argument endpoint may be any endpoint whose drain lock the caller holds.
 */
void stp_ofi_batch_post_next_locked(struct stp_ofi_endpoint *endpoint, struct stp_ofi_req *req);

/* Sends the collected operations of the context to all PEs. Waits while the provider is busy. */
void stp_ofi_batch_flush(struct stp_fabric_ctx *ctx);
/* Does the same as stp_ofi_batch_flush(), but sends only the operations to PE pe. */
void stp_ofi_batch_flush_pe(struct stp_fabric_ctx *ctx, int pe);

/* Returns whether any context has collected operations that have not been sent. */
bool stp_ofi_batch_has_unsent(void);

/*
 * Sends collected operations of all contexts. Does not wait if the provider is busy. If flush_all
 * is false, does not send messages and writes that were begun after the previous call of this
 * function. If may_block is false and another thread holds the drain lock of the main endpoint, the
 * function does nothing.
 */
void stp_ofi_batch_flush_aged(bool flush_all, bool may_block);

/*
 * Returns the batch of the context for a session that expects total_ops operations. Returns NULL if
 * a batch would gain nothing or if memory is short.
 */
struct stp_ofi_batch *stp_ofi_batch_prepare(struct stp_fabric_ctx *ctx, size_t total_ops);
/*
 * Starts a session, in which the batch collects small operations of the context. If batch is NULL,
 * ends the session and sends the collected operations.
 */
void stp_ofi_batch_start_or_stop(struct stp_fabric_ctx *ctx, struct stp_ofi_batch *batch,
                                 size_t total_ops);
void stp_ofi_batch_free(struct stp_fabric_ctx *ctx);

#endif /* STP_OFI_BATCH_H */
