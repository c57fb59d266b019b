/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What messages between the libraries of two PEs look like: an active message, which asks for one
 * atomic or answers, and a packed message, an active message with many small puts and updates
 * behind it. All PEs of a job have one byte order and one version of the library: boot compares
 * them. Design: docs/design/messages.md.
 */
#ifndef STP_OFI_AM_H
#define STP_OFI_AM_H

#include "ofi_internal.h"

enum {
    STP_OFI_AM_AMO_REQUEST = 1,
    STP_OFI_AM_AMO_REPLY,
    STP_OFI_AM_PING,
    STP_OFI_AM_PONG,
    STP_OFI_AM_PACKED,
    STP_OFI_AM_ACK,         /* answers to packed messages, which others of these may carry too */
    STP_OFI_AM_ACK_REQUEST, /* the sender waits now for answers that are held back */
};

#define STP_OFI_AM_ACKS 4 /* packed messages that one message answers at most */

struct stp_ofi_am_header {
    uint64_t token;
    uint64_t operand; /* answer: old value; ping and pong: turn; packed message: its bytes */
    union {
        struct {
            uint64_t offset;
            uint64_t compare;
        };
        uint32_t receipts[STP_OFI_AM_ACKS]; /* receipt, packed message: ids of those answered */
    };
    uint32_t id; /* of the request, where it was made */
    int32_t pe;  /* of the sender */
    uint16_t number;
    uint8_t what;
    uint8_t op;
    uint8_t size; /* of the element */
    uint8_t n_receipts;
    uint8_t allow_delayed_ack; /* packed message: nobody waits for the answer soon */
    uint8_t unused;
};

_Static_assert(sizeof(struct stp_ofi_am_header) == 48, "no padding, whose bytes would be sent");
_Static_assert(sizeof(struct stp_ofi_am_header) <= STP_OFI_INLINE,
               "an active message fits a request");
_Static_assert(STP_FABRIC_REGIONS <= UINT16_MAX + 1, "a region number fits");

/* An active message of this PE but for what it is about. */
struct stp_ofi_am_header stp_ofi_am_header(uint8_t what, uint32_t id);

/* Does element size size exist? */
static inline bool stp_ofi_is_element(size_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Packed messages (packed.c). */

/*
 * Do what a packed message of PE pe asks for: nbytes of items, whose bounds are checked. Fatal for
 * the job when they name memory that is not there.
 */
void stp_ofi_packed_open(const void *items, size_t nbytes, int pe);

/*
 * Messages (am.c): atomics that the target's library does, for providers without their own. They
 * travel on the main endpoint alone.
 */

/* Post the buffers that messages arrive in. Returns 0 or -errno. */
int stp_ofi_inbox_open(void);
void stp_ofi_inbox_unregister(void); /* once nothing is under way */
void stp_ofi_inbox_close(void);

/* A message ready to post but for its pending; arguments as for amo, size of the element. */
struct stp_ofi_req *stp_ofi_amo_message_prepare(const struct stp_target *dest,
                                                enum stp_fabric_amo op, size_t size,
                                                const void *operand, const void *compare,
                                                void *result);
ssize_t stp_ofi_am_try_send(struct stp_ofi_req *req);

/*
 * A wait lasts: end the job when a message was lost with a connection. Providers do not tell of
 * what they had sent. Called every second or so; takes a second round to be sure.
 */
void stp_ofi_ping_for_lost_messages(void);

/* The caller is about to wait for answers that targets may hold back: ask for them. */
void stp_ofi_request_acks(void);

/*
 * Send an active message that nobody waits for: at once, or from a request when the provider has no
 * room, behind those that found none before. Caller holds the main endpoint's drain.
 */
void stp_ofi_send_answer_locked(const struct stp_ofi_am_header *answer, int pe);

/* A message or an answer has arrived, or failed to. Caller holds the main endpoint's drain. */
void stp_ofi_inbox_locked(struct stp_ofi_work *work, bool failed);

/* Buffers that could not be posted again at once. Caller holds the main endpoint's drain. */
void stp_ofi_inbox_refill_locked(void);
bool stp_ofi_inbox_lacks(void); /* are there any? */

#endif /* STP_OFI_AM_H */
