/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the messages between the libraries of two PEs. An active message requests one atomic or
 * carries a reply. A packed message is an active message that is followed by many small puts and
 * updates. All PEs of a job have the same byte order and library version, which boot compares.
 * Design: docs/design/messages.md.
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
    STP_OFI_AM_ACK,         /* acknowledgement, which a packed message can also carry */
    STP_OFI_AM_ACK_REQUEST, /* request to send delayed acknowledgements now */
};

#define STP_OFI_AM_ACKS 4 /* most packed messages that one message can acknowledge */

struct stp_ofi_am_header {
    uint64_t token;
    uint64_t operand; /* operand, old value in a reply, turn in a ping or pong, or bytes of items */
    union {
        struct {
            uint64_t offset;
            uint64_t compare;
        };
        uint32_t receipts[STP_OFI_AM_ACKS]; /* ids of the acknowledged packed messages */
    };
    uint32_t id; /* id of the request on the PE that made the request */
    int32_t pe;  /* number of the sending PE */
    uint16_t number;
    uint8_t what;
    uint8_t op;
    uint8_t size; /* bytes of the element */
    uint8_t n_receipts;
    uint8_t allow_delayed_ack; /* whether the acknowledgement of a packed message may come late */
    uint8_t unused;
};

_Static_assert(sizeof(struct stp_ofi_am_header) == 48, "no padding, whose bytes would be sent");
_Static_assert(sizeof(struct stp_ofi_am_header) <= STP_OFI_INLINE,
               "an active message fits a request");
_Static_assert(STP_FABRIC_REGIONS <= UINT16_MAX + 1, "a region number fits");

/* Returns the header of an active message of this PE. The caller fills in the operation. */
struct stp_ofi_am_header stp_ofi_am_header(uint8_t what, uint32_t id);

/* Returns whether an element of an atomic can have this size. */
static inline bool stp_ofi_is_element(size_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Packed messages (packed.c). */

/*
 * Executes the items of a packed message of PE pe, which have nbytes, and checks their bounds. Ends
 * the job if an item names memory that this PE does not have.
 */
void stp_ofi_packed_open(const void *items, size_t nbytes, int pe);

/*
 * Messages (am.c) carry atomics that the target's library executes, for providers without atomics.
 * All messages use the main endpoint.
 */

/* Posts the buffers for incoming messages. Returns 0 or -errno. */
int stp_ofi_inbox_open(void);
void stp_ofi_inbox_unregister(void); /* Requires that no operation is outstanding. */
void stp_ofi_inbox_close(void);

/* Returns a message that is complete except for its counter. size is the size of the element. */
struct stp_ofi_req *stp_ofi_amo_message_prepare(const struct stp_target *dest,
                                                enum stp_fabric_amo op, size_t size,
                                                const void *operand, const void *compare,
                                                void *result);
ssize_t stp_ofi_am_try_send(struct stp_ofi_req *req);

/*
 * Ends the job if a broken connection has lost a message, because providers do not report such
 * losses. A wait that lasts calls this about every second, and a loss is certain after two rounds.
 */
void stp_ofi_ping_for_lost_messages(void);

/* Asks the targets for the acknowledgements that they delay, before the caller waits for them. */
void stp_ofi_request_acks(void);

/*
 * Sends an active message that no thread waits for. If the provider has no room, the message is
 * queued in a request, after the requests that are queued already. The caller holds the main
 * endpoint's drain.
 */
void stp_ofi_send_answer_locked(const struct stp_ofi_am_header *answer, int pe);

/* Handles a receive that has completed or failed. The caller holds the main endpoint's drain. */
void stp_ofi_inbox_locked(struct stp_ofi_work *work, bool failed);

/* Posts the buffers that could not be posted before. The caller holds the main endpoint's drain. */
void stp_ofi_inbox_refill_locked(void);
bool stp_ofi_inbox_lacks(void); /* Returns whether such unposted buffers exist. */

#endif /* STP_OFI_AM_H */
