/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small operations that are collected and travel together.
 * Design: docs/design/sessions.md.
 */
#ifndef STP_OFI_BATCH_H
#define STP_OFI_BATCH_H

#include "ofi_internal.h"

/*
 * Batches (batch.c): small puts, stores, signals and updates to one PE are collected in a packed
 * message, a message whose items the library of that PE does (packed.c). In a session with that
 * hint, and on TCP while an earlier one is unanswered; there larger puts become pieces of one
 * write.
 */

#define STP_OFI_ITEM_MAX 256    /* bytes of the largest put that is collected */
#define STP_OFI_SIGNAL_PUTS 3   /* such puts that fit each packed message with their signal */
#define STP_OFI_PIECE_MAX 16384 /* and of the largest that is a piece of a write with others */
#define STP_OFI_ITEM_PUT 15u    /* the operation of an item that is no update */

/* One of them. op: STP_OFI_ITEM_PUT, or an update of enum stp_fabric_amo. nbytes > 0. */
struct stp_ofi_item {
    const struct stp_target *dest; /* all items of a call on one PE */
    unsigned op;
    const void *data;
    size_t nbytes;
};

bool stp_ofi_item_is_packable(const struct stp_ofi_item *item);
size_t stp_ofi_item_room(const struct stp_ofi_item *item); /* bytes in a packed message */
void stp_ofi_item_write(void *at, const struct stp_ofi_item *item);

/* Call look with the region of each item of a packed message, until it returns false. */
void stp_ofi_packed_each(const void *items, size_t nbytes, bool (*look)(unsigned number, void *arg),
                         void *arg);

static inline bool stp_ofi_batching(const struct stp_fabric_ctx *ctx)
{
    return STP_UNLIKELY(__atomic_load_n(&ctx->batching, __ATOMIC_RELAXED));
}

/* Are small operations of the context for stp_ofi_batch_add()? */
static inline bool stp_ofi_can_coalesce(const struct stp_fabric_ctx *ctx)
{
    return stp_ofi.coalesces_small || stp_ofi_batching(ctx);
}

/*
 * Collect n > 0 items for a PE, in this order. False: they are not for a batch, nothing
 * was done. alone: NULL, or for what the caller can send better by itself: set, besides false, when
 * nothing is unanswered; its request must have that batch then. May send, and wait with progress
 * for room.
 */
bool stp_ofi_batch_add(struct stp_fabric_ctx *ctx, const struct stp_ofi_item *items, int n,
                       struct stp_ofi_batch **alone);

/* Could a put of host memory be a piece of a write with others? */
static inline bool stp_ofi_can_join_iov(size_t nbytes)
{
    return stp_ofi.max_pieces > 1 && nbytes > STP_OFI_ITEM_MAX && nbytes <= STP_OFI_PIECE_MAX &&
           __atomic_load_n(&stp_ofi.n_listed, __ATOMIC_RELAXED) == 0;
}

/* The same for such a put, whose source stays as it is until quiet. */
bool stp_ofi_batch_join(struct stp_fabric_ctx *ctx, const struct stp_ofi_item *item,
                        struct stp_ofi_batch **alone);

/* A request of a batch is done. Caller holds endpoint->drain, any endpoint's. */
void stp_ofi_batch_post_next_locked(struct stp_ofi_endpoint *endpoint, struct stp_ofi_req *req);

/* Send what the context has collected, for all PEs or for one. Waits while the provider is busy. */
void stp_ofi_batch_flush(struct stp_fabric_ctx *ctx);
void stp_ofi_batch_flush_pe(struct stp_fabric_ctx *ctx, int pe);

/* Is anything collected and not sent, on any context? */
bool stp_ofi_batch_has_unsent(void);

/*
 * Send, without waiting, what is collected on any context: all of it, or what was there at the last
 * look already. may_block: wait for the main endpoint's drain instead of doing nothing.
 */
void stp_ofi_batch_flush_aged(bool all, bool may_block);

/*
 * A batch for a session of so many operations, NULL where it is no gain; and from now on collect in
 * it, or, with NULL, nothing.
 */
struct stp_ofi_batch *stp_ofi_batch_prepare(struct stp_fabric_ctx *ctx, size_t total_ops);
void stp_ofi_batch_start_or_stop(struct stp_fabric_ctx *ctx, struct stp_ofi_batch *batch,
                                 size_t total_ops);
void stp_ofi_batch_free(struct stp_fabric_ctx *ctx);

#endif /* STP_OFI_BATCH_H */
