/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Delays acknowledgements of packed messages. A program that receives a flag often sends a flag
 * back to the same PE, and the message with that flag can carry the acknowledgement. If the sender
 * waits for the acknowledgement, it is delayed only if recent messages to that PE could have
 * carried acknowledgements. If no message carries the delayed acknowledgement, the next read of the
 * completion queue sends it. Design: docs/design/messages.md.
 */
#ifndef STP_AM_ACK_DELAY_H
#define STP_AM_ACK_DELAY_H

#include "am.h"

/*
 * Acknowledges the packed message with this id from PE pe, now or later. The argument may_delay is
 * true if the sender does not wait for the acknowledgement. The caller holds stp_ofi.main.drain.
 */
void stp_ofi_ack_add_locked(int pe, uint32_t id, bool may_delay);

/* Returns whether this PE has delayed any acknowledgement. */
bool stp_ofi_ack_any(void);
/* Returns whether this PE has delayed an acknowledgement for which the sender waits. */
bool stp_ofi_ack_urgent(void);

/* Returns whether a delayed acknowledgement must be sent now, because no message has carried it. */
bool stp_ofi_delayed_ack_timed_out(void);

/* A value selects the acknowledgements that are due within this number of queue reads. */
enum stp_ofi_ack_send {
    STP_OFI_ACK_DUE = 0,
    STP_OFI_ACK_URGENT = 1, /* also acknowledgements for which a sender waits */
    STP_OFI_ACK_ALL = 64    /* all acknowledgements, even if their senders allow a delay */
};

/* Sends the selected acknowledgements. The caller holds the lock stp_ofi.main.drain. */
void stp_ofi_ack_flush_locked(enum stp_ofi_ack_send which);

/* Sends all delayed acknowledgements for messages of PE pe. The caller holds stp_ofi.main.drain. */
void stp_ofi_ack_flush_pe_locked(int pe);

/*
 * Locks stp_ofi.main.drain and sends the selected acknowledgements. Does nothing if another thread
 * holds the lock, because that thread will send the acknowledgements.
 */
void stp_ofi_ack_flush(enum stp_ofi_ack_send which);

/*
 * Moves the delayed acknowledgements for the target PE of req into req. The request is a packed
 * message that this thread will post next. Returns whether any were moved.
 */
bool stp_ofi_ack_piggyback(struct stp_ofi_req *req);
/* Ends the post of a message for which stp_ofi_ack_piggyback() returned true. */
void stp_ofi_ack_piggybacked(void);

/* Discards all delayed acknowledgements. Called when the main endpoint is closed. */
void stp_ofi_ack_reset(void);

/*
 * Returns whether a message with acknowledgements is being posted. No pong may be sent before it.
 */
bool stp_ofi_ack_carrier_is_posting(void);

#endif /* STP_AM_ACK_DELAY_H */
