/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages: atomics that the library of the target does with its CPU, for providers without their
 * own. A message names what to do; the answer, sent for each, brings the old value and completes
 * the request. Whoever reads the target's queue serves, which is its progress thread while it
 * computes. Messages carry a token that only the job knows, and name memory by region and offset:
 * anything else that arrives is dropped.
 * Design: docs/design/fabric.md.
 */
#include "ofi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define N_INBOXES 128
#define CANCEL_POLLS 100000

#define LOOKS 16 /* PEs looked at in one round */
#define PING_NS 500000000ull
#define MISSES 2 /* later messages that are answered before one counts as lost */

enum { ASK = 1, ANSWER = 2, PING = 3, PONG = 4 };

/* All PEs of a job have one byte order and one version of the library: boot compares them. */
struct letter {
    uint64_t token;
    uint64_t offset;
    uint64_t operand; /* in an answer: the old value; in ping and pong: the turn */
    uint64_t compare;
    uint32_t id; /* of the request, where it was made */
    int32_t pe;  /* of the sender */
    uint16_t number;
    uint8_t what;
    uint8_t op;
    uint8_t size; /* of the element */
    uint8_t unused[3];
};

_Static_assert(sizeof(struct letter) == 48, "no padding, whose bytes would be sent");
_Static_assert(sizeof(struct letter) <= STP_OFI_INLINE, "a letter fits a request");
_Static_assert(STP_FABRIC_REGIONS <= UINT16_MAX + 1, "a region number fits");

/* A buffer that a message arrives in. */
struct inbox {
    struct stp_ofi_work work; /* first */
    struct inbox *next;       /* among those not posted */
    struct letter letter;
};

static struct {
    struct inbox *boxes; /* N_INBOXES */
    struct inbox *idle;  /* guarded by the main lane's drain, as the next */
    unsigned n_dropped;
    unsigned n_posted; /* boxes that the provider has */
    bool closing;
    bool lost; /* a message is */
    uint64_t pinged_ns;
    struct fid_mr *mr;
    uint64_t token;
    atomic_ullong turn; /* messages sent */
} am;

/* ---- sending --------------------------------------------------------------- */

static uint64_t widen(const void *element, size_t size)
{
    uint64_t bits = 0;

    if (element != NULL) memcpy(&bits, element, size);
    return bits;
}

struct stp_ofi_req *stp_ofi_message(int pe, unsigned number, size_t offset, enum stp_fabric_amo op,
                                    size_t size, const void *operand, const void *compare,
                                    void *result)
{
    struct stp_ofi_pool *pool = &stp_ofi.main.pools[STP_OFI_MESSAGED];
    struct stp_ofi_req *req = stp_ofi_req_take(pool, STP_OFI_MESSAGE, pe);
    struct letter letter = {.token = am.token,
                            .offset = offset,
                            .operand = widen(operand, size),
                            .compare = widen(compare, size),
                            .id = req->id,
                            .pe = stp_ofi.core->pe,
                            .number = (uint16_t)number,
                            .what = ASK,
                            .op = (uint8_t)op,
                            .size = (uint8_t)size};

    memcpy(req->data, &letter, sizeof(letter));
    req->local = req->data;
    req->nbytes = sizeof(letter);
    req->desc = req->own_desc;
    req->result = result;
    return req;
}

ssize_t stp_ofi_message_post(struct stp_ofi_req *req)
{
    struct stp_ofi_lane *lane = req->pool->lane;
    fi_addr_t addr = stp_ofi_addr(lane, req->pe);
    bool inject = req->nbytes <= stp_ofi.inject_size;
    ssize_t rc;

    if (req->work.kind == STP_OFI_ANSWER)
        return fi_send(lane->ep, req->local, req->nbytes, req->desc, addr, &req->work.fi);
    /* Before it leaves: the answer may be here before this returns. */
    atomic_store_explicit(&req->parts, inject ? 1 : 2, memory_order_relaxed);
    __atomic_store_n(&req->turn, atomic_fetch_add(&am.turn, 1) + 1, __ATOMIC_RELAXED);
    if (inject)
        rc = fi_inject(lane->ep, req->local, req->nbytes, addr);
    else
        rc = fi_send(lane->ep, req->local, req->nbytes, req->desc, addr, &req->work.fi);
    /* Only while it is still ours. */
    if (rc != 0) __atomic_store_n(&req->turn, 0, __ATOMIC_RELAXED);
    return rc;
}

/*
 * Send a letter that nobody waits for: at once, or from a request when the provider has no room,
 * behind those that found none before.
 */
static void answer_locked(const struct letter *answer, int pe)
{
    struct stp_ofi_lane *lane = &stp_ofi.main;
    struct stp_ofi_req *req;

    if (sizeof(*answer) <= stp_ofi.inject_size && lane->retry == NULL &&
        fi_inject(lane->ep, answer, sizeof(*answer), stp_ofi_addr(lane, pe)) == 0)
        return;
    req = stp_ofi_req_try(&lane->pools[STP_OFI_ANSWERED], STP_OFI_ANSWER, pe);
    if (req == NULL) stp_ofi.core->fatal("fabric", "no memory to answer pe %d", pe);
    memcpy(req->data, answer, sizeof(*answer));
    req->local = req->data;
    req->nbytes = sizeof(*answer);
    req->desc = req->own_desc;
    req->pending = &stp_ofi.unwaited;
    atomic_fetch_add_explicit(req->pending, 1, memory_order_relaxed);
    stp_ofi_launch_locked(lane, req);
}

/* ---- receiving ------------------------------------------------------------- */

static bool is_element(size_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Does it ask for something that this PE has? The sender's library has checked its side. */
static bool is_sound(const struct letter *ask)
{
    const struct stp_ofi_region *region;

    if (ask->number >= STP_FABRIC_REGIONS || !is_element(ask->size) || ask->op > STP_AMO_CSWAP)
        return false;
    region = &stp_ofi.regions[ask->number];
    return __atomic_load_n(&region->mr, __ATOMIC_ACQUIRE) != NULL && !region->device &&
           ask->offset % ask->size == 0 && ask->offset <= region->nbytes &&
           region->nbytes - ask->offset >= ask->size;
}

static void serve_locked(const struct letter *ask)
{
    struct letter answer = {.token = am.token,
                            .id = ask->id,
                            .pe = stp_ofi.core->pe,
                            .what = ANSWER,
                            .size = ask->size};

    if (!is_sound(ask))
        stp_ofi.core->fatal("fabric",
                            "pe %d asks for an atomic on %u bytes at %llu of region %u, which is "
                            "not there",
                            ask->pe, ask->size, (unsigned long long)ask->offset, ask->number);
    stp_ofi_self_amo(stp_ofi_own(ask->number, ask->offset), ask->size, ask->op, &ask->operand,
                     &ask->compare, &answer.operand);
    answer_locked(&answer, ask->pe);
}

static void take_answer_locked(const struct letter *answer)
{
    struct stp_ofi_pool *pool = &stp_ofi.main.pools[STP_OFI_MESSAGED];
    struct stp_ofi_req *req = stp_ofi_req_find(pool, answer->id, answer->pe);

    if (req == NULL || answer->size > sizeof(answer->operand)) return; /* given up meanwhile */
    if (req->result != NULL) memcpy(req->result, &answer->operand, answer->size);
    stp_ofi_message_done_locked(req);
}

/* ---- messages that a connection took along --------------------------------- */

/* Messages to one PE, and their answers, come in order: an older one without its answer is lost. */
static void note_missed(struct stp_ofi_req *req, void *arg)
{
    uint64_t turn = __atomic_load_n(&req->turn, __ATOMIC_RELAXED);

    if (turn != 0 && turn < *(const uint64_t *)arg && req->pending != &stp_ofi.abandoned &&
        ++req->missed == MISSES)
        am.lost = true;
}

static void take_pong_locked(const struct letter *pong)
{
    uint64_t turn = pong->operand;

    stp_ofi_req_each(&stp_ofi.main.pools[STP_OFI_MESSAGED], pong->pe, note_missed, &turn);
    if (am.lost)
        stp_ofi.core->fatal("fabric", "pe %d: an atomic was lost: the connection broke", pong->pe);
}

void stp_ofi_message_check(void)
{
    struct letter ping = {.token = am.token, .pe = stp_ofi.core->pe, .what = PING};
    uint64_t now = stp_ofi_now_ns();
    int pes[LOOKS], n;

    if (!stp_ofi.by_message || atomic_load_explicit(&stp_ofi.finishing, memory_order_relaxed))
        return;
    n = stp_ofi_pool_targets(&stp_ofi.main.pools[STP_OFI_MESSAGED], pes, 0, LOOKS);
    pthread_mutex_lock(&stp_ofi.main.drain);
    /* Threads that wait together must not make one delay look like several. */
    if (now - am.pinged_ns < PING_NS) n = 0;
    if (n > 0) am.pinged_ns = now;
    ping.operand = atomic_fetch_add(&am.turn, 1) + 1;
    for (int i = 0; i < n; i++)
        answer_locked(&ping, pes[i]);
    pthread_mutex_unlock(&stp_ofi.main.drain);
}

/* Told of the first, then of every doubling: strangers must not fill the job's output. */
static void drop_locked(void)
{
    am.n_dropped++;
    if ((am.n_dropped & (am.n_dropped - 1)) == 0)
        stp_ofi.core->log(STP_LOG_WARN, "fabric: dropped %u messages that are not of this job",
                          am.n_dropped);
}

static void open_locked(const struct letter *letter)
{
    struct letter pong;

    if (letter->token != am.token || letter->pe < 0 || letter->pe >= stp_ofi.core->n_pes) {
        drop_locked();
        return;
    }
    switch (letter->what) {
    case ASK:
        serve_locked(letter);
        break;
    case ANSWER:
        take_answer_locked(letter);
        break;
    case PING:
        pong = (struct letter){
            .token = am.token, .operand = letter->operand, .pe = stp_ofi.core->pe, .what = PONG};
        answer_locked(&pong, letter->pe);
        break;
    case PONG:
        take_pong_locked(letter);
        break;
    }
}

static void post_locked(struct inbox *box)
{
    ssize_t rc;

    /* What is shorter than a letter must not look like the last one. */
    memset(&box->letter, 0, sizeof(box->letter));
    box->work.kind = STP_OFI_INBOX;
    rc = fi_recv(stp_ofi.main.ep, &box->letter, sizeof(box->letter),
                 am.mr != NULL ? fi_mr_desc(am.mr) : NULL, FI_ADDR_UNSPEC, &box->work.fi);
    am.n_posted += rc == 0;
    if (rc == 0) return;
    if (rc != -FI_EAGAIN)
        stp_ofi.core->fatal("fabric", "%s takes no buffer for messages: %s",
                            stp_ofi.info->fabric_attr->prov_name, fi_strerror((int)-rc));
    box->next = am.idle;
    am.idle = box;
}

void stp_ofi_inbox_locked(struct stp_ofi_work *work, bool failed)
{
    struct inbox *box = (struct inbox *)work;

    am.n_posted--;
    if (am.closing) return;
    if (!failed) open_locked(&box->letter);
    post_locked(box);
}

bool stp_ofi_inbox_lacks(void)
{
    return __atomic_load_n(&am.idle, __ATOMIC_RELAXED) != NULL;
}

void stp_ofi_inbox_refill_locked(void)
{
    struct inbox *box = am.idle, *next;

    am.idle = NULL;
    for (; box != NULL; box = next) {
        next = box->next;
        post_locked(box);
    }
}

/* ---- opening --------------------------------------------------------------- */

int stp_ofi_inbox_open(void)
{
    int rc;

    if (!stp_ofi.by_message) return 0;
    am.token = stp_ofi.core->job_token;
    am.boxes = calloc(N_INBOXES, sizeof(*am.boxes));
    if (am.boxes == NULL) return -ENOMEM;
    rc = stp_ofi_own_register(am.boxes, N_INBOXES * sizeof(*am.boxes), &am.mr);
    if (rc != 0) {
        stp_ofi_inbox_close();
        return rc;
    }
    pthread_mutex_lock(&stp_ofi.main.drain);
    for (int i = 0; i < N_INBOXES; i++)
        post_locked(&am.boxes[i]);
    pthread_mutex_unlock(&stp_ofi.main.drain);
    return 0;
}

void stp_ofi_inbox_unregister(void)
{
    if (am.mr == NULL) return;
    am.closing = true;
    for (int i = 0; i < N_INBOXES; i++)
        fi_cancel(&stp_ofi.main.ep->fid, &am.boxes[i].work.fi);
    /* A provider that does not give them back loses them with the endpoint. */
    for (int i = 0; i < CANCEL_POLLS && am.n_posted > 0; i++)
        stp_ofi_drain(&stp_ofi.main);
    fi_close(&am.mr->fid);
    am.mr = NULL;
}

/* After the endpoint: the buffers are its own until then. */
void stp_ofi_inbox_close(void)
{
    if (am.mr != NULL) fi_close(&am.mr->fid);
    free(am.boxes);
    am.boxes = NULL;
    am.idle = NULL;
    am.mr = NULL;
    am.n_posted = 0;
    am.closing = false;
}
