/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines mailboxes. An origin (stage.c) and the proxy thread of an owner (staging_proxy_thread.c)
 * exchange requests and replies through their mailboxes. The mailbox of each PE is host memory in
 * the internal space. The PEs of its node access the mailbox by load and store. Other PEs access it
 * through the fabric, with any provider. Requests arrive by puts with signal, so that no message
 * layer is needed. Design: docs/design/kinds.md.
 */
#ifndef STP_STAGE_REQUEST_BOXES_H
#define STP_STAGE_REQUEST_BOXES_H

#include "rma.h"

#define STAGE_SLOTS 16   /* number of request slots in the mailbox of an owner */
#define STAGE_REPLIES 16 /* number of reply slots in the mailbox of an origin */
#define STAGE_HEAD 128   /* size of the header of a request; the data follows the header */

enum stage_op { STAGE_PUT, STAGE_GET, STAGE_AMO };

struct stage_request {
    uint32_t op;
    uint32_t number; /* number of the space */
    int32_t pe;      /* world number of the origin */
    uint32_t reply;  /* number of the reply slot in the origin's mailbox */
    /* Value that the owner stores in completed of the reply slot when the request is complete. */
    uint64_t sequence;
    uint64_t offset; /* offset of the first row in the owner's part of the space */
    uint64_t width, n, pitch;
    uint32_t amo, dtype;
    uint64_t operand, compare;
};
_Static_assert(sizeof(struct stage_request) <= STAGE_HEAD, "a request fits before its data");

/* Control word of a request slot. Only the origin that holds the slot's ticket writes this word. */
struct stage_slot {
    uint64_t ready; /* 1 + ticket of the request in the slot */
} STP_ALIGNED_LINE;

/* Control words of a reply slot. Only the owner that serves the request writes these words. */
struct stage_reply {
    uint64_t value;     /* old value of the word, if the request is an atomic */
    uint64_t completed; /* sequence number of the last completed request that used the slot */
} STP_ALIGNED_LINE;

struct stage_mailbox {
    /* Number of tickets that origins have taken from this mailbox. */
    uint64_t tickets STP_ALIGNED_LINE;
    /*
     * Number of requests that the owner has served. The request slot of ticket t is free if t is
     * less than served + STAGE_SLOTS.
     */
    uint64_t served STP_ALIGNED_LINE;
    uint32_t rings STP_ALIGNED_LINE; /* futex on which the proxy thread sleeps */
    uint32_t sleeping;
    struct stage_slot slots[STAGE_SLOTS];
    struct stage_reply replies[STAGE_REPLIES];
};

/*
 * Returns the address of this PE's mailbox. With stp_ptr(), this PE gets the address at which it
 * maps the mailbox of another PE of this node.
 */
struct stage_mailbox *stp_stage_mailbox(void);

/*
 * Returns the size of each request slot and reply slot in bytes. A request slot contains a header
 * and data.
 */
size_t stp_stage_slot_bytes(void);
char *stp_stage_slot_memory(unsigned slot);
char *stp_stage_reply_memory(unsigned reply);

/*
 * Wakes the proxy thread that serves a mapped mailbox, if the thread sleeps. Called after a change
 * that the proxy thread must see.
 */
void stp_stage_ring(struct stage_mailbox *box);

/*
 * Performs an atomic on a word of this PE's part of a space (owner_amo_by_gpu_or_copy.c). This
 * process performs one atomic on device memory at a time. If GPU kernels may change words of the
 * space, the device performs the atomic. Otherwise this process performs the atomic by copies.
 */
void stp_stage_amo_local(struct stp_ctx *ctx, struct stp_space *space, size_t offset,
                         enum stp_fabric_amo op, enum stp_dtype dtype, const void *operand,
                         const void *compare, void *result, const char *fn);

#endif /* STP_STAGE_REQUEST_BOXES_H */
