/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Delays acknowledgements of packed messages. A program that received a flag often sends a flag
 * back, and that message can carry the acknowledgement. Only acknowledgements to PEs for which this
 * has worked lately wait. The second read of the queue sends those that no message has carried.
 * Design: docs/design/messages.md.
 */
#ifndef STP_AM_ACK_DELAY_H
#define STP_AM_ACK_DELAY_H

#include "am.h"

/*
 * Acknowledges the packed message id of PE pe, now or later. may_delay states that the sender does
 * not wait for the acknowledgement. Caller holds the main endpoint's drain lock.
 */
void stp_ofi_ack_add_locked(int pe, uint32_t id, bool may_delay);

/* Return whether any acknowledgement is delayed, and whether a sender waits for a delayed one. */
bool stp_ofi_ack_any(void);
bool stp_ofi_ack_urgent(void);

/* Returns whether a delayed acknowledgement is due. */
bool stp_ofi_delayed_ack_timed_out(void);

/* Number of drains within which the acknowledgements to send become due. */
enum stp_ofi_ack_send {
    STP_OFI_ACK_DUE = 0,
    STP_OFI_ACK_URGENT = 1, /* acknowledgements that are due or for which a sender waits */
    STP_OFI_ACK_ALL = 64    /* all acknowledgements, also those whose senders allow a delay */
};

/* Sends the selected acknowledgements. Caller holds the main endpoint's drain lock. */
void stp_ofi_ack_flush_locked(enum stp_ofi_ack_send which);

/* Sends all acknowledgements for one PE. Caller holds the main endpoint's drain lock. */
void stp_ofi_ack_flush_pe_locked(int pe);

/* As stp_ofi_ack_flush_locked(), but leaves the work to a thread that holds the drain lock. */
void stp_ofi_ack_flush(enum stp_ofi_ack_send which);

/*
 * Moves the delayed acknowledgements for the PE of req into req, a packed message that this thread
 * will post next. If true is returned, the caller calls stp_ofi_ack_piggybacked() after the post.
 */
bool stp_ofi_ack_piggyback(struct stp_ofi_req *req);
void stp_ofi_ack_piggybacked(void);

/* Discards all delayed acknowledgements when the endpoint is closed. */
void stp_ofi_ack_reset(void);

/* Returns whether a message with acknowledgements is being posted; a pong must not pass it. */
bool stp_ofi_ack_carrier_is_posting(void);

#endif /* STP_AM_ACK_DELAY_H */
