/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Batches: small operations are collected in packed messages, one for each of a few PEs at a time.
 * In sessions with that hint all are; on TCP, where each would cost a system call at either end, so
 * are those that come while an earlier one to the same PE is unanswered. A packed message is a
 * request from its first item on, counted on its context, so that quiet finds it. It leaves when it
 * is full, when something has to be complete, when the earlier one is answered, and when it has
 * been lying about: looks by the progress thread and by waits of the library see to that.
 * Design: docs/design/sessions.md.
 */
#include "batch.h"

#include "am.h"
#include "am_ack_delay.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS 64u
#define LEAST_OPS 2 /* with fewer expected there is nothing to collect */
#define ITEM_MIN (2 * sizeof(uint64_t))

/* A packed message that is being filled, or a write of several pieces. */
struct slot {
    struct stp_ofi_req *req; /* NULL: none */
    size_t used;             /* bytes of items; pieces */
    unsigned look;           /* number of the look before which it was begun */
    unsigned unanswered;     /* what has left of the PEs of the slot */
};

struct stp_ofi_batch {
    pthread_mutex_t lock; /* guards the rest; never held over a wait or a post */
    struct stp_fabric_ctx *ctx;
    size_t total, left;          /* operations expected, and until they have all been collected */
    unsigned mask;               /* slots in use less one */
    unsigned parked;             /* requests in slots; asked about without the lock */
    struct slot slots[2][SLOTS]; /* of messages and of writes, by PE, modulo */
    struct stp_ofi_batch *next;  /* guarded by batches.lock */
};

static struct {
    pthread_mutex_t lock; /* guards the list of batches */
    struct stp_ofi_batch *first;
    unsigned parked; /* requests in slots */
    unsigned looks;
} batches = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool stp_ofi_batch_has_unsent(void)
{
    return __atomic_load_n(&batches.parked, __ATOMIC_RELAXED) != 0;
}

static size_t capacity(void)
{
    return stp_ofi.packed_size - sizeof(struct stp_ofi_am_header);
}

static char *items_of(const struct stp_ofi_req *req)
{
    return (char *)(uintptr_t)req->data + sizeof(struct stp_ofi_am_header);
}

static struct slot *slot_of(struct stp_ofi_batch *batch, bool writes, int pe)
{
    return &batch->slots[writes][(unsigned)pe & batch->mask];
}

/* ---- packed messages, and writes of several pieces ------------------------------------ */

/* Begin one. From here on the context waits for it. */
static void slot_open_locked(struct stp_ofi_batch *batch, struct slot *slot,
                             struct stp_ofi_req *req)
{
    req->batch = batch;
    stp_ofi_count_on_ctx(req, batch->ctx); /* last: from here on its PE may be found to have gone */
    __atomic_store_n(&batch->ctx->messages, true, __ATOMIC_RELAXED);
    __atomic_fetch_add(&batches.parked, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&batch->parked, batch->parked + 1, __ATOMIC_RELAXED);
    slot->req = req;
    req->place.generation = __atomic_load_n(&stp_ofi.generation, __ATOMIC_RELAXED);
    req->nbytes = 0;
    slot->used = 0;
    slot->look = __atomic_load_n(&batches.looks, __ATOMIC_RELAXED);
}

/* Requests whose answers are held back are few: others need not wait for those. */
static bool has_plenty(const struct stp_ofi_pool *pool)
{
    return __atomic_load_n(&pool->n_taken, __ATOMIC_RELAXED) < pool->limit / 2;
}

/* req->batch is none by now if its PE has gone. */
static void close_packed(const struct stp_fabric_ctx *ctx, struct stp_ofi_req *req, size_t used)
{
    struct stp_ofi_am_header header = stp_ofi_am_header(STP_OFI_AM_PACKED, req->id);

    header.operand = used;
    header.allow_delayed_ack = ctx->allow_delayed_ack && has_plenty(req->pool);
    memcpy(req->data, &header, sizeof(header));
    req->local = req->data;
    req->nbytes = sizeof(header) + used;
    req->desc = req->own_desc;
}

/* Close it: it is ready to post then. */
static struct stp_ofi_req *slot_take_locked(struct stp_ofi_batch *batch, struct slot *slot)
{
    struct stp_ofi_req *req = slot->req;

    if (req->work.kind == STP_OFI_PACKED)
        close_packed(batch->ctx, req, slot->used);
    else
        req->n_pieces = (unsigned)slot->used;
    slot->req = NULL;
    slot->unanswered++;
    __atomic_fetch_sub(&batches.parked, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&batch->parked, batch->parked - 1, __ATOMIC_RELAXED);
    return req;
}

/* Requests in slots come back only when they are sent: nobody may wait for one and keep others. */
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
    bool carries = req->work.kind == STP_OFI_PACKED && stp_ofi_ack_piggyback(req);

    stp_ofi_die_if_region_gone(req);
    stp_ofi_post_until_accepted(req);
    if (carries) stp_ofi_ack_piggybacked();
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

/* What is to be collected: items for a packed message, or one that becomes a piece of a write. */
struct load {
    bool writes;
    bool session; /* collected in any case: the context is in a session */
    bool alone;   /* with nothing under way to the PE it leaves without the batch */
    const struct stp_ofi_item *items;
    int n;
    size_t room; /* that it takes of a slot: bytes, or one piece */
};

static int load_pe(const struct load *load)
{
    return load->items[0].dest->pe;
}

static bool batch_has_room(const struct slot *slot, bool writes, size_t room)
{
    return slot->used + room <= (writes ? stp_ofi.max_pieces : capacity());
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
 * Was it begun before a region came or went? One message has items of one generation, so that it is
 * known whether their regions are still the same when it leaves.
 */
static bool is_older(const struct stp_ofi_req *req)
{
    return req->place.generation != __atomic_load_n(&stp_ofi.generation, __ATOMIC_RELAXED);
}

/* What became of an attempt to collect. */
struct attempt {
    bool done;
    bool idle;                  /* nothing is under way to that PE: it need not wait for others */
    bool begun;                 /* a request lies about now that did not before */
    bool last;                  /* as many as were expected have been collected */
    struct stp_ofi_req *leaves; /* to be posted, or NULL */
};

/*
 * The slot that has room for the load, or NULL: what is in it leaves first, the load goes alone and
 * only counts as unanswered, or a request is wanted. *spare: a request, taken if one is begun.
 */
static struct slot *find_place_locked(struct stp_ofi_batch *batch, const struct load *load,
                                      struct stp_ofi_req **spare, struct attempt *attempt)
{
    struct slot *slot = slot_of(batch, load->writes, load_pe(load));
    bool begins = slot->req == NULL;

    attempt->idle = !load->session && begins && slot->unanswered == 0;
    if (!begins && (slot->req->pe != load_pe(load) || is_older(slot->req) ||
                    !batch_has_room(slot, load->writes, load->room))) {
        attempt->leaves = slot_take_locked(batch, slot);
        return NULL;
    }
    if (attempt->idle && load->alone) slot->unanswered++;
    if ((attempt->idle && load->alone) || (begins && *spare == NULL)) return NULL;
    if (begins) {
        slot_open_locked(batch, slot, *spare);
        *spare = NULL;
    }
    attempt->begun = begins;
    return slot;
}

static struct attempt batch_try_locked(struct stp_ofi_batch *batch, const struct load *load,
                                       struct stp_ofi_req **spare)
{
    struct attempt attempt = {.done = false};
    struct slot *slot = find_place_locked(batch, load, spare, &attempt);

    if (slot == NULL) return attempt;
    if (load->writes)
        piece_write_locked(slot, load->items);
    else
        items_write_locked(slot, load);
    attempt.done = true;
    if (attempt.idle || !batch_has_room(slot, load->writes, load->writes ? 1 : ITEM_MIN)) {
        attempt.leaves = slot_take_locked(batch, slot);
        attempt.begun = false;
    }
    if (load->session && --batch->left == 0) {
        batch->left = batch->total;
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

/* The context's, made when it is first asked for. NULL: no memory. */
static struct stp_ofi_batch *batch_of(struct stp_fabric_ctx *ctx);

static void batch_drain_for(const struct stp_fabric_ctx *ctx)
{
    stp_ofi_poll_cq_once(&stp_ofi.main);
    if (ctx->endpoint != &stp_ofi.main) stp_ofi_poll_cq_once(ctx->endpoint);
}

static struct stp_ofi_req *spare_for(struct stp_fabric_ctx *ctx, const struct load *load)
{
    if (load->writes)
        return slot_req_new(&ctx->endpoint->pools[STP_OFI_JOINED], STP_OFI_WRITE, load_pe(load));
    return slot_req_new(&stp_ofi.main.pools[STP_OFI_PACKED_POOL], STP_OFI_PACKED, load_pe(load));
}

/* False: *alone is set if the load may leave alone, and nothing was done with it. */
static bool collect(struct stp_fabric_ctx *ctx, const struct load *load,
                    struct stp_ofi_batch **alone)
{
    /* Pairs with the release store in batch_of(). */
    struct stp_ofi_batch *batch = __atomic_load_n(&ctx->batch, __ATOMIC_ACQUIRE);
    struct stp_ofi_req *spare = NULL;
    struct attempt attempt;
    bool looked = load->session;

    if (load_pe(load) == stp_ofi.core->pe) return false;
    if (STP_UNLIKELY(batch == NULL) && (batch = batch_of(ctx)) == NULL) return false;
    for (;;) {
        pthread_mutex_lock(&batch->lock);
        attempt = batch_try_locked(batch, load, &spare);
        pthread_mutex_unlock(&batch->lock);
        if (attempt.leaves != NULL) post(attempt.leaves);
        if (attempt.done || (attempt.idle && load->alone)) break;
        /* What is thought to be unanswered may have been answered since anybody looked. */
        if (!attempt.idle && attempt.leaves == NULL && !looked) {
            looked = true;
            batch_drain_for(ctx);
        } else if (spare == NULL) {
            spare = spare_for(ctx, load);
        }
    }
    if (spare != NULL) stp_ofi_req_give(spare->pool, spare, spare);
    if (attempt.last) stp_ofi_batch_flush(ctx);
    /* It may sleep for good, and this thread may call nothing for as long. */
    if (attempt.begun) stp_ofi_progress_wake();
    if (!attempt.done) *alone = batch;
    return attempt.done;
}

bool stp_ofi_batch_add(struct stp_fabric_ctx *ctx, const struct stp_ofi_item *items, int n,
                       struct stp_ofi_batch **alone)
{
    struct load load = {false, stp_ofi_batching(ctx), alone != NULL, items, n, 0};

    return fits(items, n, &load.room) && collect(ctx, &load, alone);
}

bool stp_ofi_batch_join(struct stp_fabric_ctx *ctx, const struct stp_ofi_item *item,
                        struct stp_ofi_batch **alone)
{
    return collect(ctx, &(struct load){true, false, true, item, 1, 1}, alone);
}

/* ---- sending ---------------------------------------------------------------------- */

/*
 * Take the requests of some slots out, as a list; old: those begun before that look alone.
 */
static struct stp_ofi_req *batch_take_locked(struct stp_ofi_batch *batch, struct stp_ofi_req *list,
                                             const unsigned *look)
{
    for (unsigned i = 0; i < 2 * (batch->mask + 1); i++) {
        struct slot *slot = slot_of(batch, i > batch->mask, (int)i);
        struct stp_ofi_req *req;

        if (slot->req == NULL || (look != NULL && slot->look == *look)) continue;
        req = slot_take_locked(batch, slot);
        req->next = list;
        list = req;
    }
    return list;
}

/* What this thread has collected, and others whose calls it knows of, it sees. */
static bool has_parked(const struct stp_ofi_batch *batch)
{
    return batch != NULL && __atomic_load_n(&batch->parked, __ATOMIC_RELAXED) != 0;
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
    for (int writes = 0; writes < 2; writes++) {
        struct slot *slot = slot_of(batch, writes, pe);

        if (slot->req == NULL || slot->req->pe != pe) continue;
        slot->req->next = list;
        list = slot_take_locked(batch, slot);
    }
    pthread_mutex_unlock(&batch->lock);
    post_all(list);
}

void stp_ofi_batch_flush_aged(bool all, bool may_block)
{
    struct stp_ofi_endpoint *endpoint = &stp_ofi.main;
    struct stp_ofi_req *list = NULL, *next;
    unsigned look;

    if (!stp_ofi_batch_has_unsent()) return;
    if (may_block)
        pthread_mutex_lock(&endpoint->drain);
    else if (pthread_mutex_trylock(&endpoint->drain) != 0)
        return;
    pthread_mutex_lock(&batches.lock);
    look = __atomic_load_n(&batches.looks, __ATOMIC_RELAXED);
    for (struct stp_ofi_batch *batch = batches.first; batch != NULL; batch = batch->next) {
        if (!has_parked(batch)) continue;
        pthread_mutex_lock(&batch->lock);
        list = batch_take_locked(batch, list, all ? NULL : &look);
        pthread_mutex_unlock(&batch->lock);
    }
    __atomic_store_n(&batches.looks, look + 1, __ATOMIC_RELAXED);
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
    bool writes = req->work.kind == STP_OFI_WRITE && req->nbytes > STP_OFI_ITEM_MAX;
    struct slot *slot = slot_of(batch, writes, req->pe);
    struct stp_ofi_req *next = NULL;

    pthread_mutex_lock(&batch->lock);
    if (--slot->unanswered == 0 && slot->req != NULL && (writes || !stp_ofi_batching(batch->ctx)))
        next = slot_take_locked(batch, slot);
    pthread_mutex_unlock(&batch->lock);
    if (next != NULL) stp_ofi_post_or_defer_locked(endpoint, next);
}

/* ---- sessions ---------------------------------------------------------------------- */

/*
 * Slots for as many PEs as there are, and no more than leaves requests for packed messages under
 * way.
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
    /* Pairs with the acquire loads of those who collect or flush: they find the batch complete. */
    __atomic_store_n(&ctx->batch, batch, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&batches.lock);
    return batch;
}

/*
 * Without a progress thread nobody would send what lies about while the program computes; with one
 * operation there is nothing to collect; where adapters do atomics, and puts, a message to the
 * target's library is no gain.
 */
struct stp_ofi_batch *stp_ofi_batch_prepare(struct stp_fabric_ctx *ctx, size_t total_ops)
{
    bool wanted =
        total_ops >= LEAST_OPS && stp_ofi.packed_size > 0 && stp_ofi.core->env->ofi_progress_thread;

    return wanted ? batch_of(ctx) : NULL;
}

void stp_ofi_batch_start_or_stop(struct stp_fabric_ctx *ctx, struct stp_ofi_batch *batch,
                                 size_t total_ops)
{
    if (batch != NULL) {
        pthread_mutex_lock(&batch->lock);
        batch->total = batch->left = total_ops;
        pthread_mutex_unlock(&batch->lock);
    }
    /* Whoever sees it sees the batch too: see batch_of(). */
    __atomic_store_n(&ctx->batching, batch != NULL, __ATOMIC_RELEASE);
    if (batch == NULL) stp_ofi_batch_flush(ctx);
}

void stp_ofi_batch_free(struct stp_fabric_ctx *ctx)
{
    struct stp_ofi_batch *batch = __atomic_load_n(&ctx->batch, __ATOMIC_RELAXED);
    struct stp_ofi_batch **at = &batches.first;

    if (batch == NULL) return;
    pthread_mutex_lock(&batches.lock);
    while (*at != batch)
        at = &(*at)->next;
    *at = batch->next;
    pthread_mutex_unlock(&batches.lock);
    pthread_mutex_destroy(&batch->lock);
    free(batch);
}
