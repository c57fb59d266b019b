/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Delays acknowledgements of packed messages, so that a later message can carry them. A program
 * that receives a flag often sends a flag back to the same PE. The message with that flag can then
 * also carry the acknowledgement.
 * If the sender waits for the acknowledgement, this PE delays it only if recent messages to the
 * sender could have carried one. The acknowledgement is then sent at the next read of the
 * completion queue at the latest. If the sender does not wait, the acknowledgement is sent after 64
 * reads at the latest.
 * Design: docs/design/messages.md.
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

/*
 * Returns whether the delay of an acknowledgement has reached its limit. The acknowledgement must
 * then be sent in a message of its own.
 */
bool stp_ofi_delayed_ack_timed_out(void);

/*
 * Selects the delayed acknowledgements to send. The limit of a delay is a number of reads of the
 * completion queue. A value n selects the acknowledgements whose limit is reached after at most n
 * more reads.
 */
enum stp_ofi_ack_send {
    STP_OFI_ACK_DUE = 0,
    /* Acknowledgements that are due, and all acknowledgements for which a sender waits. */
    STP_OFI_ACK_URGENT = 1,
    STP_OFI_ACK_ALL = 64 /* all delayed acknowledgements */
};

/* Sends the selected acknowledgements. The caller holds the lock stp_ofi.main.drain. */
void stp_ofi_ack_flush_locked(enum stp_ofi_ack_send selection);

/* Sends all delayed acknowledgements for messages of PE pe. The caller holds stp_ofi.main.drain. */
void stp_ofi_ack_flush_pe_locked(int pe);

/*
 * Locks stp_ofi.main.drain and sends the selected acknowledgements. Sends nothing if another thread
 * holds the lock. A caller that needs all acknowledgements to be sent must therefore repeat the
 * call.
 */
void stp_ofi_ack_flush(enum stp_ofi_ack_send selection);

/*
 * Moves the delayed acknowledgements for the target PE of req into req. The request is a packed
 * message that this thread will post next. Returns true if it has moved any acknowledgement.
 */
bool stp_ofi_ack_piggyback(struct stp_ofi_req *req);
/*
 * Ends the post of a message that carries acknowledgements. Called after the post if
 * stp_ofi_ack_piggyback() returned true.
 */
void stp_ofi_ack_piggybacked(void);

/* Discards all delayed acknowledgements. Called when the main endpoint is closed. */
void stp_ofi_ack_reset(void);

/*
 * Returns whether a thread is posting a message that carries acknowledgements. This PE then does
 * not answer a ping of the peer, because the answer (pong) could overtake the message. The peer
 * would then count messages as unanswered although this PE has already sent the acknowledgements.
 */
bool stp_ofi_ack_carrier_is_posting(void);

#endif /* STP_AM_ACK_DELAY_H */
