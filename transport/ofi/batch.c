/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collects small operations in packed messages. A packed message is for one PE, and a batch fills
 * packed messages for a few PEs at a time. In a session with the batch hint, all small operations
 * are collected. On TCP, each operation costs a system call at both ends. Therefore operations are
 * also collected outside sessions, while an earlier operation to the same PE is not acknowledged.
 *
 * A packed message counts as an operation of its context as soon as it has its first item. Quiet
 * therefore waits for the message. The message is sent when it is full, when an operation must
 * complete, or when the earlier operation is acknowledged. It is also sent when it is old. The
 * progress thread and threads that wait in the library check the age of messages.
 * Design: docs/design/messages.md.
 */
#include "batch.h"

#include "am.h"
#include "am_ack_delay.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS 64u
#define LEAST_OPS 2 /* minimum number of expected operations for a session with a batch */
#define ITEM_MIN (2 * sizeof(uint64_t))

/*
 * A slot for a request that is being filled. The request is a packed message, or a write that
 * combines several puts. Each put is a piece of the write.
 */
struct slot {
    struct stp_ofi_req *req; /* request that is being filled, or NULL */
    size_t used;             /* bytes of items in a message, or number of pieces in a write */
    unsigned scan;           /* value of batches.n_scans when the request was begun */
    /* Number of unacknowledged requests to the PEs that use this slot. */
    unsigned n_unacked;
};

struct stp_ofi_batch {
    /* Guards all members except next. Threads do not hold the lock while they wait or post. */
    pthread_mutex_t lock;
    struct stp_fabric_ctx *ctx;
    /*
     * The field total is the number of operations that the session expects. The field n_remaining
     * is the number of these operations that are still to be collected.
     */
    size_t total, n_remaining;
    unsigned mask;     /* number of slots of each kind minus one */
    unsigned n_parked; /* number of requests in slots, also read without the lock */
    /*
     * slots[0] is for packed messages, and slots[1] is for writes of several puts. The slot of a PE
     * has the index PE & mask.
     */
    struct slot slots[2][SLOTS];
    struct stp_ofi_batch *next; /* next batch, guarded by batches.lock */
};

static struct {
    pthread_mutex_t lock; /* guards the list of batches */
    struct stp_ofi_batch *first;
    unsigned n_parked; /* number of requests in the slots of all batches */
    unsigned n_scans;  /* number of scans by stp_ofi_batch_flush_aged() */
} batches = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool stp_ofi_batch_has_unsent(void)
{
    return __atomic_load_n(&batches.n_parked, __ATOMIC_RELAXED) != 0;
}

static size_t capacity(void)
{
    return stp_ofi.packed_size - sizeof(struct stp_ofi_am_header);
}

static char *items_of(const struct stp_ofi_req *req)
{
    return (char *)(uintptr_t)req->data + sizeof(struct stp_ofi_am_header);
}

static struct slot *slot_of(struct stp_ofi_batch *batch, bool is_write, int pe)
{
    return &batch->slots[is_write][(unsigned)pe & batch->mask];
}

/* ---- packed messages, and writes of several pieces ------------------------------------ */

/*
 * Puts req into the slot. Adds req to the outstanding operations of the context, so that quiet of
 * the context waits for req.
 */
static void slot_open_locked(struct stp_ofi_batch *batch, struct slot *slot,
                             struct stp_ofi_req *req)
{
    req->batch = batch;
    /* After this call, another thread may abandon the request if the target PE leaves the job. */
    stp_ofi_count_on_ctx(req, batch->ctx);
    __atomic_store_n(&batch->ctx->messages, true, __ATOMIC_RELAXED);
    __atomic_fetch_add(&batches.n_parked, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&batch->n_parked, batch->n_parked + 1, __ATOMIC_RELAXED);
    slot->req = req;
    req->place.generation = __atomic_load_n(&stp_ofi.generation, __ATOMIC_RELAXED);
    req->nbytes = 0;
    slot->used = 0;
    slot->scan = __atomic_load_n(&batches.n_scans, __ATOMIC_RELAXED);
}

/*
 * Returns whether at least half of the pool's requests are free. Only then may targets delay
 * acknowledgements, because a request is in use until it is acknowledged.
 */
static bool has_plenty(const struct stp_ofi_pool *pool)
{
    return __atomic_load_n(&pool->n_taken, __ATOMIC_RELAXED) < pool->limit / 2;
}

/*
 * Writes the header of a packed message that is ready to be posted. Does not use req->batch, which
 * is NULL if the target PE has left the job.
 */
static void close_packed(const struct stp_fabric_ctx *ctx, struct stp_ofi_req *req, size_t used)
{
    struct stp_ofi_am_header header = stp_ofi_am_header(STP_OFI_AM_PACKED, req->id);

    header.operand = used;
    header.allow_delayed_ack = ctx->allow_delayed_ack && has_plenty(req->pool);
    memcpy(req->data, &header, sizeof(header));
    req->local = req->data;
    req->nbytes = sizeof(header) + used;
    req->desc = req->data_desc;
}

/* Takes the request out of the slot and makes it ready to be posted. */
static struct stp_ofi_req *slot_take_locked(struct stp_ofi_batch *batch, struct slot *slot)
{
    struct stp_ofi_req *req = slot->req;

    if (req->work.kind == STP_OFI_PACKED)
        close_packed(batch->ctx, req, slot->used);
    else
        req->n_pieces = (unsigned)slot->used;
    slot->req = NULL;
    slot->n_unacked++;
    __atomic_fetch_sub(&batches.n_parked, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&batch->n_parked, batch->n_parked - 1, __ATOMIC_RELAXED);
    return req;
}

/*
 * Takes a request from the pool. While no request is free, sends the collected operations of all
 * contexts, so that their requests can complete.
 */
static struct stp_ofi_req *slot_req_new(struct stp_ofi_pool *pool, enum stp_ofi_kind kind, int pe)
{
    struct stp_ofi_wait wait = {.endpoint = pool->endpoint};
    struct stp_ofi_req *req;

    while (STP_UNLIKELY((req = stp_ofi_req_try(pool, kind, pe)) == NULL)) {
        stp_ofi_batch_flush_aged(true, false);
        stp_ofi_wait_step(&wait);
    }
    stp_ofi_wait_end(&wait);
    return req;
}

static void post(struct stp_ofi_req *req)
{
    bool has_acks = req->work.kind == STP_OFI_PACKED && stp_ofi_ack_piggyback(req);

    stp_ofi_die_if_region_gone(req);
    stp_ofi_post_until_accepted(req);
    if (has_acks) stp_ofi_ack_piggybacked();
}

static void post_all(struct stp_ofi_req *req)
{
    struct stp_ofi_req *next;

    for (; req != NULL; req = next) {
        next = req->next;
        post(req);
    }
}

/* ---- collecting ------------------------------------------------------------------ */

/*
 * A load is the set of operations that one call adds to a batch. It consists of items for a packed
 * message, or of one put that becomes a piece of a write.
 */
struct load {
    bool is_write;
    bool session; /* whether the context is in a session, in which all loads are collected */
    /* Whether the caller sends the load itself if no earlier operation to the PE is outstanding. */
    bool direct_ok;
    const struct stp_ofi_item *items;
    int n;
    /*
     * Room that the load needs in its slot. The unit is bytes in a packed message, and pieces in a
     * write.
     */
    size_t room;
};

static int load_pe(const struct load *load)
{
    return load->items[0].dest->pe;
}

static bool batch_has_room(const struct slot *slot, bool is_write, size_t room)
{
    return slot->used + room <= (is_write ? stp_ofi.max_pieces : capacity());
}

static void items_write_locked(struct slot *slot, const struct load *load)
{
    slot->req->place.fn = load->items[0].dest->fn;
    for (int i = 0; i < load->n; i++) {
        stp_ofi_item_write(items_of(slot->req) + slot->used, &load->items[i]);
        slot->used += stp_ofi_item_room(&load->items[i]);
    }
}

static void piece_write_locked(struct slot *slot, const struct stp_ofi_item *item)
{
    struct stp_ofi_req *req = slot->req;
    struct stp_ofi_piece piece = {item->data, item->nbytes, stp_ofi_place_of(item->dest)};

    memcpy(req->data + slot->used * sizeof(piece), &piece, sizeof(piece));
    req->nbytes += item->nbytes;
    slot->used++;
}

/*
 * Returns whether any region was added or removed after the request was begun. In this case, no
 * more items can be added, because a packed message stores one generation for all of its items. The
 * post uses this generation to find regions that have changed (queued_op_region_check.c).
 */
static bool is_older(const struct stp_ofi_req *req)
{
    return req->place.generation != __atomic_load_n(&stp_ofi.generation, __ATOMIC_RELAXED);
}

/* The result of an attempt to collect a load. */
struct attempt {
    bool done;
    bool idle;                   /* whether all earlier operations to the PE are acknowledged */
    bool begun;                  /* whether a new request was begun and is still in its slot */
    bool last;                   /* whether all operations that the session expects are collected */
    struct stp_ofi_req *to_post; /* request to post, or NULL */
};

/*
 * Returns the slot to which the load can be added. If *spare is a new request, the function may put
 * this request into the slot. It then sets *spare to NULL.
 *
 * Returns NULL in three cases. In the first case, the request in the slot must be sent first. The
 * function then sets attempt->to_post to this request. In the second case, the caller must send the
 * load itself. In the third case, a new request is needed, but *spare is NULL.
 */
static struct slot *find_place_locked(struct stp_ofi_batch *batch, const struct load *load,
                                      struct stp_ofi_req **spare, struct attempt *attempt)
{
    struct slot *slot = slot_of(batch, load->is_write, load_pe(load));
    bool is_new = slot->req == NULL;

    attempt->idle = !load->session && is_new && slot->n_unacked == 0;
    if (!is_new && (slot->req->pe != load_pe(load) || is_older(slot->req) ||
                    !batch_has_room(slot, load->is_write, load->room))) {
        attempt->to_post = slot_take_locked(batch, slot);
        return NULL;
    }
    if (attempt->idle && load->direct_ok) slot->n_unacked++;
    if ((attempt->idle && load->direct_ok) || (is_new && *spare == NULL)) return NULL;
    if (is_new) {
        slot_open_locked(batch, slot, *spare);
        *spare = NULL;
    }
    attempt->begun = is_new;
    return slot;
}

static struct attempt batch_try_locked(struct stp_ofi_batch *batch, const struct load *load,
                                       struct stp_ofi_req **spare)
{
    struct attempt attempt = {.done = false};
    struct slot *slot = find_place_locked(batch, load, spare, &attempt);

    if (slot == NULL) return attempt;
    if (load->is_write)
        piece_write_locked(slot, load->items);
    else
        items_write_locked(slot, load);
    attempt.done = true;
    if (attempt.idle || !batch_has_room(slot, load->is_write, load->is_write ? 1 : ITEM_MIN)) {
        attempt.to_post = slot_take_locked(batch, slot);
        attempt.begun = false;
    }
    if (load->session && --batch->n_remaining == 0) {
        batch->n_remaining = batch->total;
        attempt.last = true;
    }
    return attempt;
}

static bool fits(const struct stp_ofi_item *items, int n, size_t *room)
{
    *room = 0;
    for (int i = 0; i < n; i++) {
        if (!stp_ofi_item_is_packable(&items[i]) || stp_ofi.regions[items[i].dest->number].device)
            return false;
        *room += stp_ofi_item_room(&items[i]);
    }
    return *room <= capacity();
}

/* Returns the batch of the context. The first call creates it. Returns NULL if memory is short. */
static struct stp_ofi_batch *batch_of(struct stp_fabric_ctx *ctx);

static void batch_drain_for(const struct stp_fabric_ctx *ctx)
{
    stp_ofi_poll_cq_once(&stp_ofi.main);
    if (ctx->endpoint != &stp_ofi.main) stp_ofi_poll_cq_once(ctx->endpoint);
}

static struct stp_ofi_req *spare_for(struct stp_fabric_ctx *ctx, const struct load *load)
{
    if (load->is_write)
        return slot_req_new(&ctx->endpoint->pools[STP_OFI_JOINED], STP_OFI_WRITE, load_pe(load));
    return slot_req_new(&stp_ofi.main.pools[STP_OFI_PACKED_POOL], STP_OFI_PACKED, load_pe(load));
}

/*
 * Collects the load and returns true. If the caller must send the load itself, returns false and
 * sets *batch_out to the batch. If the target is this PE or memory is short, returns false and does
 * not set *batch_out.
 */
static bool collect(struct stp_fabric_ctx *ctx, const struct load *load,
                    struct stp_ofi_batch **batch_out)
{
    /* Pairs with the release store in batch_of(). */
    struct stp_ofi_batch *batch = __atomic_load_n(&ctx->batch, __ATOMIC_ACQUIRE);
    struct stp_ofi_req *spare = NULL;
    struct attempt attempt;
    bool polled = load->session;

    if (load_pe(load) == stp_ofi.core->pe) return false;
    if (STP_UNLIKELY(batch == NULL) && (batch = batch_of(ctx)) == NULL) return false;
    for (;;) {
        pthread_mutex_lock(&batch->lock);
        attempt = batch_try_locked(batch, load, &spare);
        pthread_mutex_unlock(&batch->lock);
        if (attempt.to_post != NULL) post(attempt.to_post);
        if (attempt.done || (attempt.idle && load->direct_ok)) break;
        /*
         * Poll once, because the acknowledgement of the earlier operation may already be in the
         * completion queue.
         */
        if (!attempt.idle && attempt.to_post == NULL && !polled) {
            polled = true;
            batch_drain_for(ctx);
        } else if (spare == NULL) {
            spare = spare_for(ctx, load);
        }
    }
    if (spare != NULL) stp_ofi_req_give(spare->pool, spare, spare);
    if (attempt.last) stp_ofi_batch_flush(ctx);
    /*
     * Wake the progress thread, which must send the new request if this thread does not call the
     * library for a long time.
     */
    if (attempt.begun) stp_ofi_progress_wake();
    if (!attempt.done) *batch_out = batch;
    return attempt.done;
}

bool stp_ofi_batch_add(struct stp_fabric_ctx *ctx, const struct stp_ofi_item *items, int n,
                       struct stp_ofi_batch **batch_out)
{
    struct load load = {false, stp_ofi_batching(ctx), batch_out != NULL, items, n, 0};

    return fits(items, n, &load.room) && collect(ctx, &load, batch_out);
}

bool stp_ofi_batch_join(struct stp_fabric_ctx *ctx, const struct stp_ofi_item *item,
                        struct stp_ofi_batch **batch_out)
{
    return collect(ctx, &(struct load){true, false, true, item, 1, 1}, batch_out);
}

/* ---- sending ---------------------------------------------------------------------- */

/*
 * Takes requests out of their slots and adds them to the list. If current_scan is NULL, takes all
 * requests. Otherwise requests that were begun after the last scan stay in their slots. Their scan
 * number is *current_scan. Returns the new head of the list.
 */
static struct stp_ofi_req *batch_take_locked(struct stp_ofi_batch *batch, struct stp_ofi_req *list,
                                             const unsigned *current_scan)
{
    for (unsigned i = 0; i < 2 * (batch->mask + 1); i++) {
        struct slot *slot = slot_of(batch, i > batch->mask, (int)i);
        struct stp_ofi_req *req;

        if (slot->req == NULL || (current_scan != NULL && slot->scan == *current_scan)) continue;
        req = slot_take_locked(batch, slot);
        req->next = list;
        list = req;
    }
    return list;
}

/*
 * Returns whether the slots hold any requests. A request that another thread is just adding may be
 * missed.
 */
static bool has_parked(const struct stp_ofi_batch *batch)
{
    return batch != NULL && __atomic_load_n(&batch->n_parked, __ATOMIC_RELAXED) != 0;
}

void stp_ofi_batch_flush(struct stp_fabric_ctx *ctx)
{
    /* Pairs with the release store in batch_of(). */
    struct stp_ofi_batch *batch = __atomic_load_n(&ctx->batch, __ATOMIC_ACQUIRE);
    struct stp_ofi_req *list;

    if (!has_parked(batch)) return;
    pthread_mutex_lock(&batch->lock);
    list = batch_take_locked(batch, NULL, NULL);
    pthread_mutex_unlock(&batch->lock);
    post_all(list);
}

void stp_ofi_batch_flush_pe(struct stp_fabric_ctx *ctx, int pe)
{
    /* Pairs with the release store in batch_of(). */
    struct stp_ofi_batch *batch = __atomic_load_n(&ctx->batch, __ATOMIC_ACQUIRE);
    struct stp_ofi_req *list = NULL;

    if (!has_parked(batch)) return;
    pthread_mutex_lock(&batch->lock);
    for (int is_write = 0; is_write < 2; is_write++) {
        struct slot *slot = slot_of(batch, is_write, pe);

        if (slot->req == NULL || slot->req->pe != pe) continue;
        slot->req->next = list;
        list = slot_take_locked(batch, slot);
    }
    pthread_mutex_unlock(&batch->lock);
    post_all(list);
}

void stp_ofi_batch_flush_aged(bool flush_all, bool may_block)
{
    struct stp_ofi_endpoint *endpoint = &stp_ofi.main;
    struct stp_ofi_req *list = NULL, *next;
    unsigned scan;

    if (!stp_ofi_batch_has_unsent()) return;
    if (may_block)
        pthread_mutex_lock(&endpoint->drain);
    else if (pthread_mutex_trylock(&endpoint->drain) != 0)
        return;
    pthread_mutex_lock(&batches.lock);
    scan = __atomic_load_n(&batches.n_scans, __ATOMIC_RELAXED);
    for (struct stp_ofi_batch *batch = batches.first; batch != NULL; batch = batch->next) {
        if (!has_parked(batch)) continue;
        pthread_mutex_lock(&batch->lock);
        list = batch_take_locked(batch, list, flush_all ? NULL : &scan);
        pthread_mutex_unlock(&batch->lock);
    }
    __atomic_store_n(&batches.n_scans, scan + 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&batches.lock);
    for (; list != NULL; list = next) {
        next = list->next;
        stp_ofi_post_or_defer_locked(endpoint, list);
    }
    pthread_mutex_unlock(&endpoint->drain);
}

void stp_ofi_batch_post_next_locked(struct stp_ofi_endpoint *endpoint, struct stp_ofi_req *req)
{
    struct stp_ofi_batch *batch = req->batch;
    bool is_write = req->work.kind == STP_OFI_WRITE && req->nbytes > STP_OFI_ITEM_MAX;
    struct slot *slot = slot_of(batch, is_write, req->pe);
    struct stp_ofi_req *next = NULL;

    pthread_mutex_lock(&batch->lock);
    if (--slot->n_unacked == 0 && slot->req != NULL && (is_write || !stp_ofi_batching(batch->ctx)))
        next = slot_take_locked(batch, slot);
    pthread_mutex_unlock(&batch->lock);
    if (next != NULL) stp_ofi_post_or_defer_locked(endpoint, next);
}

/* ---- sessions ---------------------------------------------------------------------- */

/*
 * Returns the number of slots of each kind. If possible, there is a slot for each PE. At most a
 * quarter of the pool's requests may be in slots. The other requests are needed for packed messages
 * that have been sent.
 */
static unsigned slots_for(void)
{
    unsigned n = 1, room = stp_ofi.main.pools[STP_OFI_PACKED_POOL].limit / 4;

    while (n < (unsigned)stp_ofi.core->n_pes && 2 * n <= room && n < SLOTS)
        n *= 2;
    return n;
}

static struct stp_ofi_batch *batch_new(struct stp_fabric_ctx *ctx)
{
    struct stp_ofi_batch *batch = calloc(1, sizeof(*batch));

    if (batch == NULL) return NULL;
    pthread_mutex_init(&batch->lock, NULL);
    batch->ctx = ctx;
    batch->mask = slots_for() - 1;
    batch->next = batches.first;
    batches.first = batch;
    return batch;
}

static struct stp_ofi_batch *batch_of(struct stp_fabric_ctx *ctx)
{
    struct stp_ofi_batch *batch;

    pthread_mutex_lock(&batches.lock);
    batch = __atomic_load_n(&ctx->batch, __ATOMIC_RELAXED);
    if (batch == NULL) batch = batch_new(ctx);
    /*
     * Pairs with the acquire loads in collect() and in the flush functions. A thread that loads the
     * pointer then sees a complete batch.
     */
    __atomic_store_n(&ctx->batch, batch, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&batches.lock);
    return batch;
}

/*
 * Returns NULL in three cases, and also if memory is short. First, without a progress thread, no
 * thread would send collected operations while the program computes. Second, a session with a
 * single operation has nothing to combine. Third, if packed_size is 0, messages to the target's
 * library are not used, or would be slower than operations that adapters execute.
 */
struct stp_ofi_batch *stp_ofi_batch_prepare(struct stp_fabric_ctx *ctx, size_t total_ops)
{
    bool useful =
        total_ops >= LEAST_OPS && stp_ofi.packed_size > 0 && stp_ofi.core->env->ofi_progress_thread;

    return useful ? batch_of(ctx) : NULL;
}

void stp_ofi_batch_start_or_stop(struct stp_fabric_ctx *ctx, struct stp_ofi_batch *batch,
                                 size_t total_ops)
{
    if (batch != NULL) {
        pthread_mutex_lock(&batch->lock);
        batch->total = batch->n_remaining = total_ops;
        pthread_mutex_unlock(&batch->lock);
    }
    /*
     * A thread may see this flag before it sees the batch. It then gets the batch from batch_of().
     */
    __atomic_store_n(&ctx->batching, batch != NULL, __ATOMIC_RELEASE);
    if (batch == NULL) stp_ofi_batch_flush(ctx);
}

void stp_ofi_batch_free(struct stp_fabric_ctx *ctx)
{
    struct stp_ofi_batch *batch = __atomic_load_n(&ctx->batch, __ATOMIC_RELAXED);
    struct stp_ofi_batch **link = &batches.first;

    if (batch == NULL) return;
    pthread_mutex_lock(&batches.lock);
    while (*link != batch)
        link = &(*link)->next;
    *link = batch->next;
    pthread_mutex_unlock(&batches.lock);
    pthread_mutex_destroy(&batch->lock);
    free(batch);
}
