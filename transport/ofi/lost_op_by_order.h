/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects operations that a broken connection has lost. Providers do not report the loss of atomics
 * and messages. Therefore each operation, and each probe that is sent to detect losses, gets a
 * turn, which is a sequence number. A PE answers operations and probes in the order in which they
 * were posted. An operation is therefore lost if the PE answers probes with higher turns first. An
 * operation gets its turn after its post has returned, because its thread may lose its core in the
 * middle of the post. Probes that other threads post in that time may leave before the operation,
 * so their turns must be lower. Design: docs/design/messages.md.
 */
#ifndef STP_LOST_OP_BY_ORDER_H
#define STP_LOST_OP_BY_ORDER_H

#include "ofi_internal.h"

/* Returns the next turn. The caller takes the turn of a probe before it posts the probe. */
uint64_t stp_ofi_post_seq_next(void);

/* Marks req as being posted. Returns a token for stp_ofi_post_seq_assign_number(). */
uint64_t stp_ofi_post_seq_begin_post(struct stp_ofi_req *req);

/* Gives req its turn after a successful post, unless req has been reused since the post. */
void stp_ofi_post_seq_assign_number(struct stp_ofi_req *req, uint64_t posting_token);

/*
 * Handles the answer of PE pe to the probe with the given turn. Each request of the pool to this PE
 * that has a lower turn should have been answered before the probe. The function therefore counts
 * one miss for each such request. It returns whether a request now has so many misses that it must
 * be lost. The caller holds the drain lock of the pool's endpoint.
 */
bool stp_ofi_post_seq_older_is_lost(struct stp_ofi_pool *pool, int pe, uint64_t turn);

#endif /* STP_LOST_OP_BY_ORDER_H */
