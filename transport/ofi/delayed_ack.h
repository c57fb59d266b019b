/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers to packed messages that are held back for a moment: a program that got a flag often
 * sends one back, and its message can carry the answer. Only to PEs that have lately been written
 * to that soon; whoever reads the queue a second time sends what nothing has carried.
 * Design: docs/design/messages.md.
 */
#ifndef STP_DELAYED_ACK_H
#define STP_DELAYED_ACK_H

#include "am.h"

/*
 * A packed message of PE pe is done: answer it, or owe the answer. may_delay: its sender does not
 * wait for it. Caller holds the main drain.
 */
void stp_ofi_ack_add_locked(int pe, uint32_t id, bool may_delay);

/* Are answers owed at all; and such that somebody waits for? */
bool stp_ofi_ack_any(void);
bool stp_ofi_ack_urgent(void);

/* Has one waited for a message to carry it for as long as it may? */
bool stp_ofi_ack_due(void);

/* Which to send, by drains until they are due. */
enum stp_ofi_ack_send {
    STP_OFI_ACK_DUE = 0,
    STP_OFI_ACK_URGENT = 1, /* and those that somebody waits for */
    STP_OFI_ACK_ALL = 64    /* and those of senders that allow it */
};

/* Caller holds the main drain. */
void stp_ofi_ack_flush_locked(enum stp_ofi_ack_send which);

/* All that is owed to one PE. Caller holds the main drain. */
void stp_ofi_ack_flush_pe_locked(int pe);

/* As stp_ofi_ack_flush_locked() for the progress thread: whoever polls sends them anyway. */
void stp_ofi_ack_flush(enum stp_ofi_ack_send which);

/*
 * A packed message of this thread is about to be posted: let it carry what is owed to its PE. True:
 * it does, so call stp_ofi_ack_piggybacked() when it has left.
 */
bool stp_ofi_ack_piggyback(struct stp_ofi_req *req);
void stp_ofi_ack_piggybacked(void);

/* The endpoint is closed: nothing is owed any more. */
void stp_ofi_ack_reset(void);

/* Is a message that carries answers being posted? A pong must not overtake it. */
bool stp_ofi_ack_piggybacking(void);

#endif /* STP_DELAYED_ACK_H */
