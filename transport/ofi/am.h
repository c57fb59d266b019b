/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the messages that the libraries of two PEs exchange. An active message consists of a
 * header only. It requests an atomic, carries a reply, or is a control message such as a ping. A
 * packed message is a header that is followed by many small puts and updates. Headers are sent in
 * their memory layout. All PEs of a job have the same byte order and library version, which is
 * checked when the job starts. Design: docs/design/messages.md.
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

#define STP_OFI_AM_ACKS 4 /* maximum number of packed messages that one message acknowledges */

struct stp_ofi_am_header {
    uint64_t token;
    /*
     * The meaning of this field depends on the kind of message. A request for an atomic contains
     * the operand, and a reply contains the old value of the element. A ping and its pong contain
     * the sequence number of the ping (lost_op_by_order.h). A packed message contains the size of
     * all its items in bytes.
     */
    uint64_t operand;
    union {
        struct {
            uint64_t offset;
            uint64_t compare;
        };
        uint32_t acked_ids[STP_OFI_AM_ACKS]; /* ids of the packed messages that are acknowledged */
    };
    /*
     * Id of the request to which this message belongs. The PE that sends a request chooses its id,
     * and the reply to the request has the same id.
     */
    uint32_t id;
    int32_t pe; /* number of the sending PE */
    uint16_t number;
    uint8_t type;
    uint8_t op;
    uint8_t size; /* size of the atomic's element in bytes */
    uint8_t n_acked;
    uint8_t allow_delayed_ack; /* whether the receiver may delay the acknowledgement */
    uint8_t unused;
};

_Static_assert(sizeof(struct stp_ofi_am_header) == 48, "the header must have no padding");
_Static_assert(sizeof(struct stp_ofi_am_header) <= STP_OFI_INLINE,
               "an active message must fit a request");
_Static_assert(STP_FABRIC_REGIONS <= UINT16_MAX + 1, "a region number must fit");

/* Returns a header for a message from this PE. The caller fills in the fields of the operation. */
struct stp_ofi_am_header stp_ofi_am_header(uint8_t type, uint32_t id);

/* Returns whether size is a valid number of bytes for the element of an atomic. */
static inline bool stp_ofi_is_element(size_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Packed messages (packed.c). */

/*
 * Executes the items of a packed message that PE pe has sent. The array items has nbytes bytes.
 * Ends the job if an item exceeds the array or names memory that this PE does not have.
 */
void stp_ofi_packed_open(const void *items, size_t nbytes, int pe);

/*
 * Functions for active messages (am.c). If the provider has no atomics, active messages request
 * them from the library of the target PE. All messages are sent on the main endpoint.
 */

/* Posts the buffers for incoming messages. Returns 0 or -errno. */
int stp_ofi_inbox_open(void);
/*
 * Takes the receive buffers back from the provider and closes their registration. No other
 * operation may be outstanding.
 */
void stp_ofi_inbox_unregister(void);
void stp_ofi_inbox_close(void);

/*
 * Returns a request for an atomic that is sent as a message. The caller must then set the counter
 * of the request by stp_ofi_count_on() or stp_ofi_count_on_ctx(). The argument size is the size of
 * the element in bytes.
 */
struct stp_ofi_req *stp_ofi_amo_message_prepare(const struct stp_target *dest,
                                                enum stp_fabric_amo op, size_t size,
                                                const void *operand, const void *compare,
                                                void *result);
ssize_t stp_ofi_am_try_send(struct stp_ofi_req *req);

/*
 * Sends a round of pings. Pings detect messages that were lost because a connection broke, which
 * providers do not report. A message is lost if its target PE answers two later pings first. The
 * job then ends. A long wait calls this function about once a second.
 */
void stp_ofi_ping_for_lost_messages(void);

/*
 * Asks target PEs to send the acknowledgements that they delay. Called when this PE is about to
 * wait for these acknowledgements.
 */
void stp_ofi_request_acks(void);

/*
 * Sends an active message whose completion no thread waits for. If the provider is busy, the
 * message is stored in a request and sent later, after all requests that were queued before. The
 * caller holds the drain lock of the main endpoint.
 */
void stp_ofi_send_answer_locked(const struct stp_ofi_am_header *message, int pe);

/* Handles a completed or failed receive. The caller holds the drain lock of the main endpoint. */
void stp_ofi_inbox_locked(struct stp_ofi_work *work, bool failed);

/*
 * Posts the receive buffers that the provider refused at an earlier post. The caller holds the
 * drain lock of the main endpoint.
 */
void stp_ofi_inbox_refill_locked(void);
/* Returns whether receive buffers wait to be posted, because the provider refused them earlier. */
bool stp_ofi_inbox_lacks(void);

#endif /* STP_OFI_AM_H */
