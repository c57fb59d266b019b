/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects operations that were lost because a connection broke. Providers do not report the loss of
 * atomics and messages. Each operation therefore gets a sequence number. Probes get sequence
 * numbers, too. A probe is sent only in order to detect losses. A PE answers operations and probes
 * in the order in which they were posted. If the PE answers probes with higher numbers first, the
 * operation is lost.
 *
 * An operation gets its number only after its post has returned. The kernel may suspend a thread in
 * the middle of a post. Other threads may then post probes, and these probes may be sent before the
 * operation. The numbers of these probes must be lower than the number of the operation.
 * Design: docs/design/messages.md.
 */
#ifndef STP_LOST_OP_BY_ORDER_H
#define STP_LOST_OP_BY_ORDER_H

#include "ofi_internal.h"

/*
 * Returns the next sequence number. A caller that sends a probe calls this function before it posts
 * the probe.
 */
uint64_t stp_ofi_post_seq_next(void);

/* Marks req as being posted. Returns the token that stp_ofi_post_seq_assign_number() needs. */
uint64_t stp_ofi_post_seq_begin_post(struct stp_ofi_req *req);

/*
 * Gives req its sequence number after a successful post. Does nothing if req has been reused for
 * another operation since the post.
 */
void stp_ofi_post_seq_assign_number(struct stp_ofi_req *req, uint64_t posting_token);

/*
 * Called when PE pe has answered the probe with the sequence number seq. Requests to this PE with
 * lower numbers should have been answered before the probe. The function counts one miss for each
 * such request of the pool. Returns whether a request now has so many misses that it counts as
 * lost. The caller holds the drain lock of the pool's endpoint.
 */
bool stp_ofi_post_seq_older_is_lost(struct stp_ofi_pool *pool, int pe, uint64_t seq);

#endif /* STP_LOST_OP_BY_ORDER_H */
