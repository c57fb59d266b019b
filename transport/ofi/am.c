/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends messages to other PEs and serves messages from other PEs. An active message requests an
 * atomic, which the target's library executes with the CPU. Active messages are used if the
 * provider has no atomics. A packed message contains small operations. The target answers an active
 * message by a reply with the old value, and a packed message by an acknowledgement. The answer
 * completes the request.
 *
 * Any thread that reads the target's completion queue serves the messages. While the program
 * computes, the progress thread reads the queue. A message names memory by region and offset. It
 * contains a token that only PEs of the job know. Messages without the token are dropped.
 * Design: docs/design/messages.md.
 */
#include "am.h"

#include "am_ack_delay.h"
#include "lost_op_by_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CANCEL_POLLS 100000

#define PING_PES 16 /* maximum number of PEs to which one round of pings is sent */
/*
 * Maximum number of PEs that are asked for delayed acknowledgements at once. Other PEs send their
 * acknowledgements later without a request.
 */
#define ACK_REQUEST_PES 64
#define PING_NS 500000000ull

/* A buffer that receives a message. */
struct inbox {
    struct stp_ofi_work work; /* first member */
    struct inbox *next;       /* next receive buffer that is not posted */
    struct stp_ofi_am_header header;
    uint64_t items[]; /* items of a packed message */
};

static struct {
    char *boxes; /* array of STP_OFI_N_INBOXES receive buffers of box_stride() bytes each */
    /*
     * List of receive buffers that are not posted. A thread that changes the list holds the drain
     * lock of the main endpoint. The pointer is also read without the lock.
     */
    struct inbox *idle;
    /* Number of dropped messages, guarded by the drain lock of the main endpoint. */
    unsigned n_dropped;
    unsigned n_posted; /* number of receive buffers that are posted */
    bool closing;
    bool lost; /* whether a message was lost */
    uint64_t pinged_ns;
    struct fid_mr *mr;
    uint64_t token;
} am;

struct stp_ofi_am_header stp_ofi_am_header(uint8_t type, uint32_t id)
{
    return (struct stp_ofi_am_header){
        .token = am.token, .id = id, .pe = stp_ofi.core->pe, .type = type};
}

/* ---- sending --------------------------------------------------------------- */

static uint64_t widen(const void *element, size_t size)
{
    uint64_t bits = 0;

    if (element != NULL) memcpy(&bits, element, size);
    return bits;
}

struct stp_ofi_req *stp_ofi_amo_message_prepare(const struct stp_target *dest,
                                                enum stp_fabric_amo op, size_t size,
                                                const void *operand, const void *compare,
                                                void *result)
{
    struct stp_ofi_pool *pool = &stp_ofi.main.pools[STP_OFI_MESSAGED];
    struct stp_ofi_req *req = stp_ofi_req_take_waiting(pool, STP_OFI_MESSAGE, dest->pe);
    struct stp_ofi_am_header header = stp_ofi_am_header(STP_OFI_AM_AMO_REQUEST, req->id);

    req->place = stp_ofi_place_of(dest);
    header.offset = dest->offset;
    header.operand = widen(operand, size);
    header.compare = widen(compare, size);
    header.number = (uint16_t)dest->number;
    header.op = (uint8_t)op;
    header.size = (uint8_t)size;
    memcpy(req->data, &header, sizeof(header));
    req->local = req->data;
    req->nbytes = sizeof(header);
    req->desc = req->data_desc;
    req->result = result;
    return req;
}

ssize_t stp_ofi_am_try_send(struct stp_ofi_req *req)
{
    struct stp_ofi_endpoint *endpoint = req->pool->endpoint;
    fi_addr_t addr = stp_ofi_addr(endpoint, req->pe);
    bool inject = req->nbytes <= stp_ofi.inject_size;
    uint64_t posting_token;
    ssize_t rc;

    if (req->work.kind == STP_OFI_ANSWER)
        return fi_send(endpoint->ep, req->local, req->nbytes, req->desc, addr, &req->work.fi);
    /*
     * Store the number of parts before posting, because the reply can arrive before fi_send()
     * returns.
     */
    __atomic_store_n(&req->parts, inject ? 1 : 2, __ATOMIC_RELAXED);
    posting_token = stp_ofi_post_seq_begin_post(req);
    if (inject)
        rc = fi_inject(endpoint->ep, req->local, req->nbytes, addr);
    else
        rc = fi_send(endpoint->ep, req->local, req->nbytes, req->desc, addr, &req->work.fi);
    if (rc == 0) stp_ofi_post_seq_assign_number(req, posting_token);
    return rc;
}

void stp_ofi_send_answer_locked(const struct stp_ofi_am_header *message, int pe)
{
    struct stp_ofi_endpoint *endpoint = &stp_ofi.main;
    struct stp_ofi_req *req;

    if (sizeof(*message) <= stp_ofi.inject_size && endpoint->retry == NULL &&
        fi_inject(endpoint->ep, message, sizeof(*message), stp_ofi_addr(endpoint, pe)) == 0)
        return;
    req = stp_ofi_req_try(&endpoint->pools[STP_OFI_ANSWERED], STP_OFI_ANSWER, pe);
    if (req == NULL)
        stp_ofi.core->fatal("fabric", "out of memory: cannot send the reply to pe %d", pe);
    memcpy(req->data, message, sizeof(*message));
    req->local = req->data;
    req->nbytes = sizeof(*message);
    req->desc = req->data_desc;
    stp_ofi_count_on(req, &stp_ofi.unwaited);
    __atomic_fetch_add(req->pending, 1, __ATOMIC_RELAXED);
    stp_ofi_post_or_defer_locked(endpoint, req);
}

/* Returns the size in bytes of the array items in a receive buffer. */
static size_t items_room(void)
{
    size_t size = stp_ofi.packed_size;

    return size > sizeof(struct stp_ofi_am_header) ? size - sizeof(struct stp_ofi_am_header) : 0;
}

/* ---- receiving ------------------------------------------------------------- */

/*
 * Returns the address of the element that a message names. Returns NULL if the message is not
 * valid. This should not happen, because the sender has made the same checks.
 */
static void *message_element(const struct stp_ofi_am_header *request)
{
    if (request->number >= STP_FABRIC_REGIONS || !stp_ofi_is_element(request->size) ||
        request->op > STP_AMO_CSWAP || request->offset % request->size != 0)
        return NULL;
    return stp_ofi_local_part(request->number, request->offset, request->size);
}

static void serve_locked(const struct stp_ofi_am_header *request)
{
    struct stp_ofi_am_header reply = stp_ofi_am_header(STP_OFI_AM_AMO_REPLY, request->id);
    void *element = message_element(request);

    reply.size = request->size;
    if (element == NULL)
        stp_ofi.core->fatal("fabric",
                            "pe %d requests an atomic on %u bytes at offset %llu of space %u, "
                            "but this pe has no such memory: was the space destroyed too early?",
                            request->pe, request->size, (unsigned long long)request->offset,
                            request->number);
    stp_ofi_loopback_amo(element, request->size, request->op, &request->operand, &request->compare,
                         &reply.operand);
    stp_ofi_send_answer_locked(&reply, request->pe);
}

/* Executes the items in the receive buffer and acknowledges the packed message. */
static void serve_packed_locked(const struct inbox *box)
{
    const struct stp_ofi_am_header *packed = &box->header;

    if (packed->operand > items_room())
        stp_ofi.core->fatal("fabric",
                            "pe %d sent a packed message of %llu bytes, but a receive buffer has "
                            "only %zu bytes",
                            packed->pe, (unsigned long long)packed->operand, items_room());
    stp_ofi_packed_open(box->items, (size_t)packed->operand, packed->pe);
    stp_ofi_ack_add_locked(packed->pe, packed->id, packed->allow_delayed_ack != 0);
}

static void take_reply_locked(const struct stp_ofi_am_header *reply)
{
    struct stp_ofi_pool *pool = &stp_ofi.main.pools[STP_OFI_MESSAGED];
    struct stp_ofi_req *req = stp_ofi_req_find(pool, reply->id, reply->pe);

    /* Ignore the reply if its request is no longer in use. */
    if (req == NULL) return;
    /*
     * Ignore a reply with another element size, because the result has room for the requested size
     * only.
     */
    if (reply->size != req->data[offsetof(struct stp_ofi_am_header, size)]) return;
    if (req->result != NULL) memcpy(req->result, &reply->operand, reply->size);
    stp_ofi_message_part_done_locked(req);
}

static void take_acks_locked(const struct stp_ofi_am_header *header)
{
    struct stp_ofi_pool *pool = &stp_ofi.main.pools[STP_OFI_PACKED_POOL];
    struct stp_ofi_req *req;

    for (unsigned i = 0; i < header->n_acked && i < STP_OFI_AM_ACKS; i++)
        if ((req = stp_ofi_req_find(pool, header->acked_ids[i], header->pe)) != NULL)
            stp_ofi_message_part_done_locked(req);
}

/* ---- messages lost with a connection --------------------------------------- */

static void take_pong_locked(const struct stp_ofi_am_header *pong)
{
    struct stp_ofi_pool *pools = stp_ofi.main.pools;

    am.lost |= stp_ofi_post_seq_older_is_lost(&pools[STP_OFI_MESSAGED], pong->pe, pong->operand);
    am.lost |= stp_ofi_post_seq_older_is_lost(&pools[STP_OFI_PACKED_POOL], pong->pe, pong->operand);
    if (am.lost)
        stp_ofi.core->fatal("fabric", "a message to pe %d was lost, because the connection broke",
                            pong->pe);
}

void stp_ofi_ping_for_lost_messages(void)
{
    struct stp_ofi_am_header ping = stp_ofi_am_header(STP_OFI_AM_PING, 0);
    int pes[PING_PES], n;
    uint64_t now;

    if (!stp_ofi_has_inbox() || __atomic_load_n(&stp_ofi.finishing, __ATOMIC_RELAXED)) return;
    n = stp_ofi_pool_targets(&stp_ofi.main.pools[STP_OFI_MESSAGED], pes, 0, PING_PES);
    n = stp_ofi_pool_targets(&stp_ofi.main.pools[STP_OFI_PACKED_POOL], pes, n, PING_PES);
    pthread_mutex_lock(&stp_ofi.main.drain);
    now = stp_now_ns();
    /*
     * Begin at most one round of pings per PING_NS. Otherwise several waiting threads could send
     * several pings during one short delay, and a delayed message would count as lost.
     */
    if (now - am.pinged_ns < PING_NS) n = 0;
    if (n > 0) am.pinged_ns = now;
    ping.operand = stp_ofi_post_seq_next();
    for (int i = 0; i < n; i++)
        stp_ofi_send_answer_locked(&ping, pes[i]);
    pthread_mutex_unlock(&stp_ofi.main.drain);
}

/*
 * Answers a ping with a pong. First sends all delayed acknowledgements, because the pong must not
 * overtake them. If a message with acknowledgements is being posted, the pong might overtake that
 * message. In this case, sends nothing, and the peer will ping again.
 */
static void answer_ping_locked(const struct stp_ofi_am_header *ping)
{
    struct stp_ofi_am_header pong = stp_ofi_am_header(STP_OFI_AM_PONG, 0);

    if (stp_ofi_ack_carrier_is_posting()) return;
    if (stp_ofi_ack_any()) stp_ofi_ack_flush_locked(STP_OFI_ACK_ALL);
    pong.operand = ping->operand;
    stp_ofi_send_answer_locked(&pong, ping->pe);
}

/* ---- acknowledgements that a PE needs now ------------------------------------ */

void stp_ofi_request_acks(void)
{
    struct stp_ofi_am_header request = stp_ofi_am_header(STP_OFI_AM_ACK_REQUEST, 0);
    int pes[ACK_REQUEST_PES], n;

    /*
     * Send no requests while the job ends. PEs then no longer delay acknowledgements, and peers may
     * have left.
     */
    if (__atomic_load_n(&stp_ofi.finishing, __ATOMIC_RELAXED)) return;
    n = stp_ofi_pool_targets(&stp_ofi.main.pools[STP_OFI_PACKED_POOL], pes, 0, ACK_REQUEST_PES);
    pthread_mutex_lock(&stp_ofi.main.drain);
    for (int i = 0; i < n; i++)
        stp_ofi_send_answer_locked(&request, pes[i]);
    pthread_mutex_unlock(&stp_ofi.main.drain);
}

/* ---- received data of all kinds ----------------------------------------------- */

/*
 * Counts a dropped message. Logs a warning only if the count is a power of two, so that messages
 * from outside the job cannot flood the log.
 */
static void drop_locked(void)
{
    am.n_dropped++;
    if ((am.n_dropped & (am.n_dropped - 1)) == 0)
        stp_ofi.core->log(STP_LOG_WARN,
                          "fabric: dropped messages that do not belong to this job (number: %u)",
                          am.n_dropped);
}

static void open_locked(const struct inbox *box)
{
    const struct stp_ofi_am_header *header = &box->header;

    if (header->token != am.token || header->pe < 0 || header->pe >= stp_ofi.core->n_pes) {
        drop_locked();
        return;
    }
    switch (header->type) {
    case STP_OFI_AM_AMO_REQUEST:
        serve_locked(header);
        break;
    case STP_OFI_AM_AMO_REPLY:
        take_reply_locked(header);
        break;
    case STP_OFI_AM_PACKED:
        take_acks_locked(header);
        serve_packed_locked(box);
        break;
    case STP_OFI_AM_ACK:
        take_acks_locked(header);
        break;
    case STP_OFI_AM_ACK_REQUEST:
        stp_ofi_ack_flush_pe_locked(header->pe);
        break;
    case STP_OFI_AM_PING:
        answer_ping_locked(header);
        break;
    case STP_OFI_AM_PONG:
        take_pong_locked(header);
        break;
    }
}

static void post_locked(struct inbox *box)
{
    ssize_t rc;

    /*
     * Clear the header. Otherwise, after a short message, it would still contain bytes of the
     * previous message.
     */
    memset(&box->header, 0, sizeof(box->header));
    box->work.kind = STP_OFI_INBOX;
    rc = fi_recv(stp_ofi.main.ep, &box->header, sizeof(box->header) + items_room(),
                 am.mr != NULL ? fi_mr_desc(am.mr) : NULL, FI_ADDR_UNSPEC, &box->work.fi);
    am.n_posted += rc == 0;
    if (rc == 0) return;
    if (rc != -FI_EAGAIN)
        stp_ofi.core->fatal("fabric", "provider %s refuses a receive buffer: %s",
                            stp_ofi.info->fabric_attr->prov_name, fi_strerror((int)-rc));
    box->next = am.idle;
    __atomic_store_n(&am.idle, box, __ATOMIC_RELAXED);
}

void stp_ofi_inbox_locked(struct stp_ofi_work *work, bool failed)
{
    struct inbox *box = (struct inbox *)work;

    am.n_posted--;
    if (am.closing) return;
    if (!failed) open_locked(box);
    post_locked(box);
}

bool stp_ofi_inbox_lacks(void)
{
    return __atomic_load_n(&am.idle, __ATOMIC_RELAXED) != NULL;
}

void stp_ofi_inbox_refill_locked(void)
{
    struct inbox *box = am.idle, *next;

    __atomic_store_n(&am.idle, NULL, __ATOMIC_RELAXED);
    for (; box != NULL; box = next) {
        next = box->next;
        post_locked(box);
    }
}

/* ---- opening --------------------------------------------------------------- */

static size_t box_stride(void)
{
    size_t size = sizeof(struct inbox) + items_room();

    return (size + STP_CACHE_LINE - 1) & ~(size_t)(STP_CACHE_LINE - 1);
}

static struct inbox *box_at(int i)
{
    return (struct inbox *)(am.boxes + (size_t)i * box_stride());
}

int stp_ofi_inbox_open(void)
{
    int rc;

    if (!stp_ofi_has_inbox()) return 0;
    am.token = stp_ofi.core->job_token;
    am.boxes = aligned_alloc(STP_CACHE_LINE, STP_OFI_N_INBOXES * box_stride());
    if (am.boxes == NULL) return -ENOMEM;
    rc = stp_ofi_reg_internal_if_needed(am.boxes, STP_OFI_N_INBOXES * box_stride(), &am.mr);
    if (rc != 0) {
        stp_ofi_inbox_close();
        return rc;
    }
    pthread_mutex_lock(&stp_ofi.main.drain);
    for (int i = 0; i < STP_OFI_N_INBOXES; i++)
        post_locked(box_at(i));
    pthread_mutex_unlock(&stp_ofi.main.drain);
    return 0;
}

/* Returns whether receive buffers are still posted or replies are still being sent. */
static bool inbox_is_used(void)
{
    return am.n_posted > 0 || stp_ofi.main.retry != NULL ||
           __atomic_load_n(&stp_ofi.main.pools[STP_OFI_ANSWERED].n_taken, __ATOMIC_RELAXED) > 0;
}

void stp_ofi_inbox_unregister(void)
{
    if (am.mr == NULL) return;
    pthread_mutex_lock(&stp_ofi.main.drain);
    am.closing = true;
    /* Forget buffers that the provider refused, so that they are not posted again. */
    am.idle = NULL;
    pthread_mutex_unlock(&stp_ofi.main.drain);
    for (int i = 0; i < STP_OFI_N_INBOXES; i++)
        fi_cancel(&stp_ofi.main.ep->fid, &box_at(i)->work.fi);
    /*
     * Poll until the provider has returned all buffers. The number of polls is limited. If buffers
     * remain, the provider returns them when the endpoint is closed.
     */
    for (int i = 0; i < CANCEL_POLLS && inbox_is_used(); i++)
        stp_ofi_poll_cq_once(&stp_ofi.main);
    fi_close(&am.mr->fid);
    am.mr = NULL;
}

/* Frees the receive buffers. The endpoint must already be closed, because it uses the buffers. */
void stp_ofi_inbox_close(void)
{
    if (am.mr != NULL) fi_close(&am.mr->fid);
    free(am.boxes);
    stp_ofi_ack_reset();
    am.boxes = NULL;
    am.idle = NULL;
    am.mr = NULL;
    am.n_posted = 0;
    am.closing = false;
}
