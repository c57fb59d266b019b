/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares turns, the sequence numbers of operations and of the probes that are sent after them. A
 * connection that breaks loses the operations it had sent, and providers do not report the loss of
 * atomics and messages. A PE answers in order, so an operation is lost if later probes are answered
 * first. An operation gets its turn after its post has returned, because a thread may lose its core
 * in the middle of a post, and probes that other threads send meanwhile leave before the operation.
 * Design: docs/design/messages.md.
 */
#ifndef STP_LOST_OP_BY_ORDER_H
#define STP_LOST_OP_BY_ORDER_H

#include "ofi_internal.h"

/* Returns the next turn. A probe takes its turn before the probe is posted. */
uint64_t stp_ofi_post_seq_next(void);

/* Marks the request as being posted. Returns a token for stp_ofi_post_seq_assign_number(). */
uint64_t stp_ofi_post_seq_begin_post(struct stp_ofi_req *req);

/* Gives the request its turn after a successful post, unless the request has been reused since. */
void stp_ofi_post_seq_assign_number(struct stp_ofi_req *req, uint64_t posting_token);

/*
 * Counts a miss for each older request of the pool to PE pe, because this PE has answered a probe
 * with the given turn. Returns whether a request has now been missed more often than an accident
 * explains. The caller holds the drain of the pool's endpoint.
 */
bool stp_ofi_post_seq_older_is_lost(struct stp_ofi_pool *pool, int pe, uint64_t turn);

#endif /* STP_LOST_OP_BY_ORDER_H */
