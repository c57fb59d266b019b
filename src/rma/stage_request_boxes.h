/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines mailboxes, the memory through which an origin (stage.c) and the proxy thread of an owner
 * (staging_proxy_thread.c) exchange requests and replies. The mailbox of each PE is host memory in
 * the internal space. PEs of its node access it by load and store, and other PEs through any
 * provider. Requests arrive by puts with signal, so that no message layer is needed. Design:
 * docs/design/stage.md.
 */
#ifndef STP_STAGE_REQUEST_BOXES_H
#define STP_STAGE_REQUEST_BOXES_H

#include "rma.h"

#define STAGE_SLOTS 16   /* maximum number of requests in an owner's mailbox at a time */
#define STAGE_REPLIES 16 /* maximum number of outstanding requests of an origin */
#define STAGE_HEAD 128   /* size of the request header, after which the data begins */

enum stage_op { STAGE_PUT, STAGE_GET, STAGE_AMO };

struct stage_request {
    uint32_t op;
    uint32_t number; /* number of the space */
    int32_t pe;      /* world number of the origin */
    uint32_t reply;  /* number of the reply slot in the origin's mailbox */
    uint64_t turn;   /* value of the reply slot's word done after completion */
    uint64_t offset; /* offset of the first row in the owner's part of the space */
    uint64_t width, n, pitch;
    uint32_t amo, dtype;
    uint64_t operand, compare;
};
_Static_assert(sizeof(struct stage_request) <= STAGE_HEAD, "a request fits before its data");

/* Control word of a request slot. Only the origin that holds the slot's ticket writes it. */
struct stage_slot {
    uint64_t ready; /* ticket of the request in the slot, plus 1 */
} STP_ALIGNED_LINE;

/* Control words of a reply slot. Only the owner that serves the request writes them. */
struct stage_reply {
    uint64_t value; /* old value, if the request is an atomic that fetches */
    uint64_t done;  /* turn of the last request that is complete in this slot */
} STP_ALIGNED_LINE;

struct stage_mailbox {
    uint64_t tickets STP_ALIGNED_LINE; /* number of tickets that origins have taken here */
    /* number of served requests; the slot of ticket t is free if t - served < STAGE_SLOTS */
    uint64_t served STP_ALIGNED_LINE;
    uint32_t rings STP_ALIGNED_LINE; /* futex on which the proxy thread sleeps */
    uint32_t sleeping;
    struct stage_slot slots[STAGE_SLOTS];
    struct stage_reply replies[STAGE_REPLIES];
};

/* Returns this PE's mailbox. stp_ptr() of this address is the mailbox of a PE of this node. */
struct stage_mailbox *stp_stage_mailbox(void);

/* Returns the size of a request slot or a reply slot, which includes header and data. */
size_t stp_stage_slot_bytes(void);
char *stp_stage_slot_memory(unsigned slot);
char *stp_stage_reply_memory(unsigned reply);

/* Wakes the proxy thread of a mapped mailbox if it sleeps. Called after a write to ready. */
void stp_stage_ring(struct stage_mailbox *there);

/*
 * Performs an atomic on a word of this PE's part of a space (owner_amo_by_gpu_or_copy.c). In device
 * memory, this process performs one atomic at a time. The device performs the atomic if kernels may
 * change words of the space. Otherwise this process performs the atomic by copies.
 */
void stp_stage_amo_here(struct stp_ctx *ctx, struct stp_space *space, size_t offset,
                        enum stp_fabric_amo op, enum stp_dtype dtype, const void *operand,
                        const void *compare, void *result, const char *fn);

#endif /* STP_STAGE_REQUEST_BOXES_H */
