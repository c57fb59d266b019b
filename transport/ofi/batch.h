/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares batches, which collect small operations and send them together.
 * Design: docs/design/sessions.md.
 */
#ifndef STP_OFI_BATCH_H
#define STP_OFI_BATCH_H

#include "ofi_internal.h"

/*
 * Batches (batch.c) collect small puts, stores, signals and updates to one PE in a packed message,
 * whose items the library of that PE executes (packed.c). They collect in a session with the batch
 * hint, and on TCP while an earlier operation to the same PE is not acknowledged. On TCP, larger
 * puts then become pieces of one write.
 */

#define STP_OFI_ITEM_MAX 256    /* bytes of the largest put in a packed message */
#define STP_OFI_SIGNAL_PUTS 3   /* largest puts that fit into a packed message with a signal */
#define STP_OFI_PIECE_MAX 16384 /* bytes of the largest put that is a piece of a shared write */
#define STP_OFI_ITEM_PUT 15u    /* operation code of an item that is a put */

/* One operation. op is STP_OFI_ITEM_PUT or an update of enum stp_fabric_amo, and nbytes is > 0. */
struct stp_ofi_item {
    const struct stp_target *dest; /* destination, on the same PE for all items of a call */
    unsigned op;
    const void *data;
    size_t nbytes;
};

bool stp_ofi_item_is_packable(const struct stp_ofi_item *item);
/* Returns the number of bytes that the item needs in a packed message. */
size_t stp_ofi_item_room(const struct stp_ofi_item *item);
void stp_ofi_item_write(void *at, const struct stp_ofi_item *item);

/* Calls look with the region number of each item of a packed message until look returns false. */
void stp_ofi_packed_each(const void *items, size_t nbytes, bool (*look)(unsigned number, void *arg),
                         void *arg);

static inline bool stp_ofi_batching(const struct stp_fabric_ctx *ctx)
{
    return STP_UNLIKELY(__atomic_load_n(&ctx->batching, __ATOMIC_RELAXED));
}

/* Returns whether small operations of the context are passed to stp_ofi_batch_add(). */
static inline bool stp_ofi_can_coalesce(const struct stp_fabric_ctx *ctx)
{
    return stp_ofi.coalesces_small || stp_ofi_batching(ctx);
}

/*
 * Collects n > 0 items for one PE, in the given order. Returns false if the items were not
 * collected. A caller that can send an operation better without a batch passes alone. If all
 * earlier operations to the PE are acknowledged, the function then returns false and sets *alone to
 * the batch that the caller's request must name. May send messages, and may wait with progress.
 */
bool stp_ofi_batch_add(struct stp_fabric_ctx *ctx, const struct stp_ofi_item *items, int n,
                       struct stp_ofi_batch **alone);

/* Returns whether a put of nbytes of host memory may become a piece of a write of several puts. */
static inline bool stp_ofi_can_join_iov(size_t nbytes)
{
    return stp_ofi.max_pieces > 1 && nbytes > STP_OFI_ITEM_MAX && nbytes <= STP_OFI_PIECE_MAX &&
           __atomic_load_n(&stp_ofi.n_listed, __ATOMIC_RELAXED) == 0;
}

/* As stp_ofi_batch_add() for one such put. The caller must not change its source before quiet. */
bool stp_ofi_batch_join(struct stp_fabric_ctx *ctx, const struct stp_ofi_item *item,
                        struct stp_ofi_batch **alone);

/*
 * Handles the completion of a batch's request: posts the collected request if all earlier ones are
 * done. The caller holds endpoint->drain, for any endpoint.
 */
void stp_ofi_batch_post_next_locked(struct stp_ofi_endpoint *endpoint, struct stp_ofi_req *req);

/* Sends the context's collected operations to all PEs or one. Waits while the provider is busy. */
void stp_ofi_batch_flush(struct stp_fabric_ctx *ctx);
void stp_ofi_batch_flush_pe(struct stp_fabric_ctx *ctx, int pe);

/* Returns whether any context has collected operations that have not been sent. */
bool stp_ofi_batch_has_unsent(void);

/*
 * Sends the collected operations of all contexts without waiting for the provider: all of them, or
 * only those that the last call found already. If another thread holds the main endpoint's drain,
 * the function waits for this lock with may_block, and otherwise does nothing.
 */
void stp_ofi_batch_flush_aged(bool all, bool may_block);

/*
 * stp_ofi_batch_prepare() returns a batch for a session of total_ops operations, or NULL if a batch
 * gains nothing. stp_ofi_batch_start_or_stop() then collects in this batch, or stops with NULL.
 */
struct stp_ofi_batch *stp_ofi_batch_prepare(struct stp_fabric_ctx *ctx, size_t total_ops);
void stp_ofi_batch_start_or_stop(struct stp_fabric_ctx *ctx, struct stp_ofi_batch *batch,
                                 size_t total_ops);
void stp_ofi_batch_free(struct stp_fabric_ctx *ctx);

#endif /* STP_OFI_BATCH_H */
