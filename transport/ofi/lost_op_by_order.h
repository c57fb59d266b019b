/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns: numbers by which a question that was answered tells which operations had left before it.
 * A connection that breaks takes along what it had sent, and of atomics and messages providers do
 * not tell. What is sent to one PE is answered in order, so an operation is lost when questions
 * behind it are answered first. An operation takes its turn when its post has returned: a thread
 * may lose its core in the middle of posting, and what others ask meanwhile leaves before it.
 * Design: docs/design/messages.md.
 */
#ifndef STP_LOST_OP_BY_ORDER_H
#define STP_LOST_OP_BY_ORDER_H

#include "ofi_internal.h"

/* The turn of what is posted next, taken before it. */
uint64_t stp_ofi_post_seq_next(void);

/* The request is about to be posted; the return value is for stp_ofi_post_seq_assign_number(). */
uint64_t stp_ofi_post_seq_begin_post(struct stp_ofi_req *req);

/* The provider has taken it. It may have been completed since, and used again. */
void stp_ofi_post_seq_assign_number(struct stp_ofi_req *req, uint64_t posting_token);

/*
 * A question of that turn was answered by PE pe: has an older request of the pool to it been missed
 * now more often than an accident explains? Caller holds the drain of the pool's endpoint.
 */
bool stp_ofi_post_seq_older_is_lost(struct stp_ofi_pool *pool, int pe, uint64_t turn);

#endif /* STP_LOST_OP_BY_ORDER_H */
