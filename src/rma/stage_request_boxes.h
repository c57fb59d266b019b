/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an origin (stage.c) and the proxy thread of an owner (staging_proxy_thread.c) write into
 * each other's boxes. A box is host memory in the internal space, the same for every provider and
 * on the node: requests come in by plain puts with a signal, so no message layer is needed. Design:
 * docs/design/stage.md.
 */
#ifndef STP_STAGE_REQUEST_BOXES_H
#define STP_STAGE_REQUEST_BOXES_H

#include "rma.h"

#define STAGE_SLOTS 16   /* requests that an owner takes at once */
#define STAGE_REPLIES 16 /* requests that an origin has under way at once */
#define STAGE_HEAD 128   /* bytes of a request in front of its data */

enum stage_op { STAGE_PUT, STAGE_GET, STAGE_AMO };

struct stage_request {
    uint32_t op;
    uint32_t number; /* of the space */
    int32_t pe;      /* the origin, */
    uint32_t reply;  /* where it waits, */
    uint64_t turn;   /* and for what */
    uint64_t offset; /* of the first row in the owner's part */
    uint64_t width, n, pitch;
    uint32_t amo, dtype;
    uint64_t operand, compare;
};
_Static_assert(sizeof(struct stage_request) <= STAGE_HEAD, "a request fits before its data");

/* Written by one origin at a time: the one that holds the ticket. */
struct stage_slot {
    uint64_t ready; /* ticket + 1 of the request in it */
} STP_ALIGNED_LINE;

/* Written by the owner that serves the request. */
struct stage_reply {
    uint64_t value; /* what an atomic fetched */
    uint64_t done;  /* turn of the last request served */
} STP_ALIGNED_LINE;

struct stage_mailbox {
    uint64_t tickets STP_ALIGNED_LINE; /* given out: origins add to it */
    uint64_t served STP_ALIGNED_LINE;  /* requests done; ticket t may use its slot once t - served
                                          is below STAGE_SLOTS */
    uint32_t rings STP_ALIGNED_LINE;   /* the proxy thread sleeps on it */
    uint32_t sleeping;
    struct stage_slot slots[STAGE_SLOTS];
    struct stage_reply replies[STAGE_REPLIES];
};

/* This PE's box; stp_ptr() of any of its addresses is that of a peer's. */
struct stage_mailbox *stp_stage_mailbox(void);

/* Bytes of one slot's memory, head and data; replies have as many. */
size_t stp_stage_slot_bytes(void);
char *stp_stage_slot_memory(unsigned slot);
char *stp_stage_reply_memory(unsigned reply);

/* Wake the proxy thread that sleeps at a box mapped here, after slots[].ready was written. */
void stp_stage_ring(struct stage_mailbox *there);

/*
 * An atomic on a word of this PE's own part (owner_amo_by_gpu_or_copy.c): one at a time in this
 * process, and by the device while words are shared with kernels.
 */
void stp_stage_amo_here(struct stp_ctx *ctx, struct stp_space *space, size_t offset,
                        enum stp_fabric_amo op, enum stp_dtype dtype, const void *operand,
                        const void *compare, void *result, const char *fn);

#endif /* STP_STAGE_REQUEST_BOXES_H */
