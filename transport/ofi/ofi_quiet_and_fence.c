/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements contexts and the functions that complete or order their operations. stp_ofi_quiet()
 * waits for all operations of a context. stp_ofi_quiet_pes() waits for the context's operations to
 * some PEs. stp_ofi_region_drain() waits for the operations of all contexts on a region.
 * stp_ofi_fence() calls stp_ofi_quiet(), unless the operations stay in order without a wait.
 * Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include "am.h"
#include "batch.h"

#include <errno.h>
#include <stdlib.h>

#define FEW_PES 8    /* maximum number of PEs for which no bit set is created */
#define GROUP 128    /* maximum number of requests that wait_pool() collects at a time */
#define MIN_STEPS 64 /* number of steps of a wait before it first calls urge() */

static void lock_with_progress(struct stp_ofi_endpoint *endpoint, pthread_mutex_t *lock)
{
    struct stp_ofi_wait wait = {.endpoint = endpoint};

    while (pthread_mutex_trylock(lock) != 0)
        stp_ofi_wait_step(&wait);
    stp_ofi_wait_end(&wait);
}

static bool is_done(struct stp_fabric_ctx *ctx)
{
    /* Both loads pair with the subtraction in finish_locked(). */
    return __atomic_load_n(&ctx->pending[0], __ATOMIC_ACQUIRE) == 0 &&
           __atomic_load_n(&ctx->pending[1], __ATOMIC_ACQUIRE) == 0;
}

/*
 * Asks the target PEs to send delayed acknowledgements now, because these PEs might send no message
 * that could carry the acknowledgements. Asks only if operations are still incomplete after a poll.
 */
static void request_missing_acks(struct stp_fabric_ctx *ctx)
{
    stp_ofi_poll_cq_once(&stp_ofi.main);
    if (!is_done(ctx)) stp_ofi_request_acks();
}

void stp_ofi_quiet(struct stp_fabric_ctx *ctx)
{
    unsigned phase;

    if (is_done(ctx)) return;
    lock_with_progress(ctx->endpoint, &ctx->quiet);
    phase = __atomic_load_n(&ctx->phase, __ATOMIC_RELAXED);
    /*
     * First wait until the counter of the previous phase is 0, although the last quiet has already
     * waited for this counter. Another thread can read the phase, be suspended, and count its
     * operation in that phase only after the last quiet has ended.
     */
    stp_ofi_wait_zero(ctx->endpoint, &ctx->pending[(phase + 1) & 1]);
    __atomic_store_n(&ctx->phase, phase + 1, __ATOMIC_RELAXED);
    /*
     * Send the batch after the change of the phase. Otherwise other threads could still add
     * operations to the old phase after the batch was sent, and this quiet would wait for unsent
     * operations.
     */
    stp_ofi_batch_flush(ctx);
    if (ctx->allow_delayed_ack) request_missing_acks(ctx);
    stp_ofi_wait_zero(ctx->endpoint, &ctx->pending[phase & 1]);
    /*
     * With several threads, do not clear ctx->messages, because another thread may have sent a
     * message meanwhile.
     */
    if (!stp_ofi.core->thread_multiple) __atomic_store_n(&ctx->messages, false, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&ctx->quiet);
}

static bool is_used(const struct stp_ofi_pool *pool)
{
    return __atomic_load_n(&pool->n_taken, __ATOMIC_RELAXED) != 0;
}

/*
 * Returns whether any message, or any write that combines several puts, is unacknowledged. The
 * message or write may belong to another context.
 */
static bool has_messages(const struct stp_fabric_ctx *ctx)
{
    const struct stp_ofi_pool *pools = stp_ofi.main.pools;

    return is_used(&pools[STP_OFI_MESSAGED]) || is_used(&pools[STP_OFI_PACKED_POOL]) ||
           is_used(&ctx->endpoint->pools[STP_OFI_JOINED]);
}

void stp_ofi_fence(struct stp_fabric_ctx *ctx)
{
    /*
     * Call quiet if a message is outstanding, because a later write of the provider can overtake
     * the message. Messages do not overtake each other. Test the flag of the context first, because
     * it is cheaper to read than the pools, which all contexts share.
     */
    if (!stp_ofi_in_order(ctx) ||
        (__atomic_load_n(&ctx->messages, __ATOMIC_RELAXED) && has_messages(ctx)))
        stp_ofi_quiet(ctx);
}

/* ---- some PEs ---------------------------------------------------------------- */

/* Selects the operations of a context to some PEs. */
struct op_selection {
    struct stp_fabric_ctx *ctx;
    const int *pes;
    size_t n_pes;
    unsigned char *bits; /* bit set of the PEs, or NULL if the list pes is short */
};

static bool is_listed(const struct op_selection *selection, int pe)
{
    if (selection->bits != NULL) return selection->bits[pe / 8] >> pe % 8 & 1;
    for (size_t i = 0; i < selection->n_pes; i++)
        if (selection->pes[i] == pe) return true;
    return false;
}

/* Returns whether the request is an operation of the given context to one of the given PEs. */
static bool is_selected(const struct stp_ofi_req *req, const void *arg)
{
    const struct op_selection *selection = arg;
    const unsigned *counter = stp_ofi_counts_on(req), *first = selection->ctx->pending;

    return (counter == first || counter == first + 1) && is_listed(selection, req->pe);
}

/* Criterion by which a wait selects requests, and a function that speeds up their completion. */
struct filter {
    bool (*matches)(const struct stp_ofi_req *req, const void *arg);
    const void *arg;
    /* NULL, or a function that sends batches and asks peers for delayed acknowledgements. */
    void (*urge)(void);
};

/*
 * Returns whether the request is still in use for the same operation and still matches the filter.
 * A request whose target PE has left the job does not match.
 */
static bool is_under_way(const struct stp_ofi_found *found, const struct filter *filter)
{
    struct stp_ofi_req *req = found->req;
    bool in_progress;

    pthread_mutex_lock(&req->pool->lock);
    in_progress = req->use_count == found->use_count && filter->matches(req, filter->arg);
    pthread_mutex_unlock(&req->pool->lock);
    return in_progress;
}

static void wait_found(const struct stp_ofi_found *found, const struct filter *filter,
                       struct stp_ofi_wait *wait)
{
    /*
     * Call urge() only when n_steps is a power of two, so that a slow peer does not receive a flood
     * of requests.
     */
    for (unsigned n_steps = 1; is_under_way(found, filter); n_steps++) {
        stp_ofi_wait_step(wait);
        if (filter->urge != NULL && n_steps >= MIN_STEPS && (n_steps & (n_steps - 1)) == 0)
            filter->urge();
    }
}

/*
 * Waits for the requests of a pool that match the filter. Collects up to GROUP requests, waits for
 * them, and then continues at the next request of the pool. Requests that other threads post
 * meanwhile can therefore not prolong the wait without bound.
 */
static void wait_pool(struct stp_ofi_pool *pool, const struct filter *filter)
{
    struct stp_ofi_cursor cursor = {.slab = NULL};
    struct stp_ofi_found found[GROUP];
    unsigned n;

    while ((n = stp_ofi_req_collect(pool, &cursor, filter->matches, filter->arg, found, GROUP)) >
           0) {
        struct stp_ofi_wait wait = {.endpoint = pool->endpoint};

        for (unsigned i = 0; i < n; i++)
            wait_found(&found[i], filter, &wait);
        stp_ofi_wait_end(&wait);
    }
}

/* Creates a bit set if there are more than FEW_PES PEs. Returns false if out of memory. */
static bool list_pes(struct op_selection *selection)
{
    if (selection->n_pes <= FEW_PES) return true;
    selection->bits = calloc(((size_t)stp_ofi.core->n_pes + 7) / 8, 1);
    if (selection->bits == NULL) return false;
    for (size_t i = 0; i < selection->n_pes; i++)
        selection->bits[selection->pes[i] / 8] |= (unsigned char)(1u << selection->pes[i] % 8);
    return true;
}

/*
 * Waits for the context's operations to the given PEs. Each request contains its target PE and the
 * counter of its context. The function therefore finds the operations by a search of the pools, and
 * posting an operation needs no additional bookkeeping. A signal that waits for its data is also a
 * request, so the search finds the signal, too.
 */
void stp_ofi_quiet_pes(struct stp_fabric_ctx *ctx, const int *pes, size_t n_pes)
{
    struct op_selection selection = {.ctx = ctx, .pes = pes, .n_pes = n_pes};
    struct filter filter = {.matches = is_selected, .arg = &selection};

    if (is_done(ctx)) return;
    if (!list_pes(&selection)) {
        stp_ofi_quiet(ctx);
        return;
    }
    for (size_t i = 0; i < n_pes; i++)
        stp_ofi_batch_flush_pe(ctx, pes[i]);
    for (int i = 0; i < STP_OFI_N_POOLS; i++) {
        wait_pool(&ctx->endpoint->pools[i], &filter);
        if (ctx->endpoint != &stp_ofi.main) wait_pool(&stp_ofi.main.pools[i], &filter);
    }
    free(selection.bits);
}

/* ---- a region ---------------------------------------------------------------- */

/*
 * Returns whether the request may be an operation on the region. Packed messages and writes that
 * combine several puts are always included, because another thread may still be adding operations
 * to them.
 */
static bool may_name(const struct stp_ofi_req *req, const void *arg)
{
    const unsigned *counter = stp_ofi_counts_on(req), *number = arg;

    if (counter == NULL || counter == &stp_ofi.abandoned) return false;
    switch (req->pool->index) {
    case STP_OFI_ANSWERED:
        return false;
    case STP_OFI_JOINED:
    case STP_OFI_PACKED_POOL:
        return true;
    default:
        return req->place.number == *number;
    }
}

static void urge_batches(void)
{
    stp_ofi_batch_flush_aged(true, false);
    if (is_used(&stp_ofi.main.pools[STP_OFI_PACKED_POOL]) && !stp_ofi_has_retry())
        stp_ofi_request_acks();
}

void stp_ofi_region_drain(unsigned number)
{
    struct filter filter = {.matches = may_name, .arg = &number, .urge = urge_batches};
    unsigned n = stp_ofi_n_endpoints();

    stp_ofi_batch_flush_aged(true, true);
    urge_batches();
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < STP_OFI_N_POOLS; k++)
            wait_pool(&stp_ofi_endpoint_at(i)->pools[k], &filter);
}

/* ---- contexts ---------------------------------------------------------------- */

int stp_ofi_ctx_create(bool one_thread, struct stp_fabric_ctx **ctx)
{
    struct stp_fabric_ctx *new_ctx = aligned_alloc(STP_CACHE_LINE, sizeof(*new_ctx));

    if (new_ctx == NULL) return -ENOMEM;
    *new_ctx = (struct stp_fabric_ctx){.endpoint = stp_ofi_endpoint_own_or_shared(one_thread)};
    pthread_mutex_init(&new_ctx->quiet, NULL);
    *ctx = new_ctx;
    return 0;
}

void stp_ofi_ctx_free(struct stp_fabric_ctx *ctx)
{
    if (ctx == NULL) return;
    stp_ofi_batch_free(ctx);
    stp_ofi_endpoint_give(ctx->endpoint);
    pthread_mutex_destroy(&ctx->quiet);
    free(ctx);
}

void stp_ofi_allows_delayed_ack(struct stp_fabric_ctx *ctx)
{
    ctx->allow_delayed_ack = true;
}

void stp_ofi_session(struct stp_fabric_ctx *ctx, bool batch, size_t total_ops)
{
    struct stp_ofi_batch *new_batch = batch ? stp_ofi_batch_prepare(ctx, total_ops) : NULL;
    bool was_in_order = stp_ofi_in_order(ctx);

    /*
     * With a batch, the operations of the context may lose their guaranteed order. In this case,
     * call quiet to complete the operations that precede earlier fences. These fences did not wait,
     * because they relied on the order.
     */
    if (was_in_order && !stp_ofi_in_order(ctx)) stp_ofi_quiet(ctx);
    stp_ofi_batch_start_or_stop(ctx, new_batch, total_ops);
}
