/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the data that an origin (stage.c) and the proxy thread of an owner
 * (staging_proxy_thread.c) write into each other's mailboxes. A mailbox is host memory in the
 * internal space, for every provider and on the node. Requests arrive by puts with signal, so that
 * no message layer is needed. Design: docs/design/stage.md.
 */
#ifndef STP_STAGE_REQUEST_BOXES_H
#define STP_STAGE_REQUEST_BOXES_H

#include "rma.h"

#define STAGE_SLOTS 16   /* maximum number of requests in an owner's mailbox */
#define STAGE_REPLIES 16 /* maximum number of outstanding requests of an origin */
#define STAGE_HEAD 128   /* bytes of a request before its data */

enum stage_op { STAGE_PUT, STAGE_GET, STAGE_AMO };

struct stage_request {
    uint32_t op;
    uint32_t number; /* number of the space */
    int32_t pe;      /* world number of the origin */
    uint32_t reply;  /* reply slot of the origin */
    uint64_t turn;   /* value of done in the reply slot for which the origin waits */
    uint64_t offset; /* offset of the first row in the owner's part */
    uint64_t width, n, pitch;
    uint32_t amo, dtype;
    uint64_t operand, compare;
};
_Static_assert(sizeof(struct stage_request) <= STAGE_HEAD, "a request fits before its data");

/* Slot for a request, written only by the origin that holds the slot's ticket. */
struct stage_slot {
    uint64_t ready; /* ticket + 1 of the request in the slot */
} STP_ALIGNED_LINE;

/* Reply slot, written by the owner that serves the request. */
struct stage_reply {
    uint64_t value; /* value that an atomic fetched */
    uint64_t done;  /* turn of the last served request */
} STP_ALIGNED_LINE;

struct stage_mailbox {
    uint64_t tickets STP_ALIGNED_LINE; /* number of tickets that origins have taken */
    /* number of served requests; ticket t can use its slot if t - served < STAGE_SLOTS */
    uint64_t served STP_ALIGNED_LINE;
    uint32_t rings STP_ALIGNED_LINE; /* futex on which the proxy thread sleeps */
    uint32_t sleeping;
    struct stage_slot slots[STAGE_SLOTS];
    struct stage_reply replies[STAGE_REPLIES];
};

/* Returns this PE's mailbox. stp_ptr() translates addresses in it to those of a peer's mailbox. */
struct stage_mailbox *stp_stage_mailbox(void);

/* Returns the bytes of a slot, head and data; a reply slot has as many. */
size_t stp_stage_slot_bytes(void);
char *stp_stage_slot_memory(unsigned slot);
char *stp_stage_reply_memory(unsigned reply);

/* Wakes the sleeping proxy thread of a mapped mailbox after slots[].ready was written. */
void stp_stage_ring(struct stage_mailbox *there);

/*
 * Performs an atomic on a word of this PE's part (owner_amo_by_gpu_or_copy.c). Device memory has
 * one atomic at a time in this process, performed by the device while kernels change its words.
 */
void stp_stage_amo_here(struct stp_ctx *ctx, struct stp_space *space, size_t offset,
                        enum stp_fabric_amo op, enum stp_dtype dtype, const void *operand,
                        const void *compare, void *result, const char *fn);

#endif /* STP_STAGE_REQUEST_BOXES_H */
