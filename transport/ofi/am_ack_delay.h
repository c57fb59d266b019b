/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Delayed acknowledgements of packed messages. A program that received a flag often sends one back,
 * and that message can carry the acknowledgement. Only for PEs where this has happened lately; the
 * second read of the queue sends what no message has carried.
 * Design: docs/design/messages.md.
 */
#ifndef STP_AM_ACK_DELAY_H
#define STP_AM_ACK_DELAY_H

#include "am.h"

/*
 * A packed message of PE pe is done: acknowledge it, now or later. may_delay: its sender does not
 * wait for that. Caller holds the main drain.
 */
void stp_ofi_ack_add_locked(int pe, uint32_t id, bool may_delay);

/* Are any delayed; and such that a sender waits for? */
bool stp_ofi_ack_any(void);
bool stp_ofi_ack_urgent(void);

/* Has one been delayed for as long as it may be? */
bool stp_ofi_delayed_ack_timed_out(void);

/* Which to send, by drains until they are due. */
enum stp_ofi_ack_send {
    STP_OFI_ACK_DUE = 0,
    STP_OFI_ACK_URGENT = 1, /* and those that a sender waits for */
    STP_OFI_ACK_ALL = 64    /* and those of senders that allow it */
};

/* Caller holds the main drain. */
void stp_ofi_ack_flush_locked(enum stp_ofi_ack_send which);

/* All those for one PE. Caller holds the main drain. */
void stp_ofi_ack_flush_pe_locked(int pe);

/* As stp_ofi_ack_flush_locked() for the progress thread: whoever polls sends them anyway. */
void stp_ofi_ack_flush(enum stp_ofi_ack_send which);

/*
 * A packed message of this thread is about to be posted: let it carry those for its PE. True: it
 * does, so call stp_ofi_ack_piggybacked() when it has left.
 */
bool stp_ofi_ack_piggyback(struct stp_ofi_req *req);
void stp_ofi_ack_piggybacked(void);

/* The endpoint is closed: forget them all. */
void stp_ofi_ack_reset(void);

/* Is a message that carries some being posted? A pong must not overtake it. */
bool stp_ofi_ack_carrier_is_posting(void);

#endif /* STP_AM_ACK_DELAY_H */
