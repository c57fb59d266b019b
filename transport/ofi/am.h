/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the messages that the libraries of two PEs exchange. An active message is a header. It
 * requests one atomic, carries a reply, or is a control message such as a ping. A packed message is
 * a header followed by many small puts and updates. Headers are sent as they are in memory, because
 * all PEs of a job have the same byte order and library version, which boot compares.
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
    STP_OFI_AM_ACK,         /* message that only carries acknowledgements */
    STP_OFI_AM_ACK_REQUEST, /* request to send delayed acknowledgements now */
};

#define STP_OFI_AM_ACKS 4 /* most packed messages that one message can acknowledge */

struct stp_ofi_am_header {
    uint64_t token;
    /* Operand, old value (reply), turn (ping and pong), or bytes of all items (packed message). */
    uint64_t operand;
    union {
        struct {
            uint64_t offset;
            uint64_t compare;
        };
        uint32_t receipts[STP_OFI_AM_ACKS]; /* ids of acknowledged packed messages */
    };
    /* Id of the request that this message carries or answers. The requesting PE assigns the id. */
    uint32_t id;
    int32_t pe; /* number of the sending PE */
    uint16_t number;
    uint8_t what;
    uint8_t op;
    uint8_t size; /* bytes of the atomic's element */
    uint8_t n_receipts;
    uint8_t allow_delayed_ack; /* whether the receiver may delay the acknowledgement */
    uint8_t unused;
};

_Static_assert(sizeof(struct stp_ofi_am_header) == 48, "no padding, whose bytes would be sent");
_Static_assert(sizeof(struct stp_ofi_am_header) <= STP_OFI_INLINE,
               "an active message fits a request");
_Static_assert(STP_FABRIC_REGIONS <= UINT16_MAX + 1, "a region number fits");

/* Returns a header for a message from this PE. The caller fills in the fields of the operation. */
struct stp_ofi_am_header stp_ofi_am_header(uint8_t what, uint32_t id);

/* Returns whether size is a valid number of bytes for the element of an atomic. */
static inline bool stp_ofi_is_element(size_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Packed messages (packed.c). */

/*
 * Executes the items of a packed message from PE pe, in all nbytes bytes, and checks their bounds.
 * Ends the job if an item names memory that this PE does not have.
 */
void stp_ofi_packed_open(const void *items, size_t nbytes, int pe);

/*
 * The messages of am.c carry atomics that the target's library executes, because some providers
 * have no atomics. All messages use the main endpoint.
 */

/* Posts the buffers for incoming messages. Returns 0 or -errno. */
int stp_ofi_inbox_open(void);
/* Closes the registration of the receive buffers. No operation may be outstanding. */
void stp_ofi_inbox_unregister(void);
void stp_ofi_inbox_close(void);

/*
 * Returns a request for an atomic by message, complete except for its counter. size is the size of
 * the element in bytes.
 */
struct stp_ofi_req *stp_ofi_amo_message_prepare(const struct stp_target *dest,
                                                enum stp_fabric_amo op, size_t size,
                                                const void *operand, const void *compare,
                                                void *result);
ssize_t stp_ofi_am_try_send(struct stp_ofi_req *req);

/*
 * Sends pings to find messages that a broken connection has lost, because providers do not report
 * such losses. The loss of a message is certain after two rounds of pings, and the job then ends. A
 * wait that takes long calls this function about once a second.
 */
void stp_ofi_ping_for_lost_messages(void);

/* Asks the targets to send delayed acknowledgements now, before the caller waits for them. */
void stp_ofi_request_acks(void);

/*
 * Sends an active message for which no thread waits. If the provider has no room, the message is
 * queued in a request, after the requests that are already queued. The caller holds the drain lock
 * of the main endpoint.
 */
void stp_ofi_send_answer_locked(const struct stp_ofi_am_header *answer, int pe);

/* Handles a completed or failed receive. The caller holds the drain lock of the main endpoint. */
void stp_ofi_inbox_locked(struct stp_ofi_work *work, bool failed);

/*
 * Posts the receive buffers that the provider refused before. The caller holds the drain lock of
 * the main endpoint.
 */
void stp_ofi_inbox_refill_locked(void);
bool stp_ofi_inbox_lacks(void); /* Returns whether any receive buffer is not posted. */

#endif /* STP_OFI_AM_H */
