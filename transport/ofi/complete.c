/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From post to completion: the one place that hands operations to libfabric and retries them,
 * the one place that reads the completion queue, and the waits built on them. Any failure ends
 * the job with the operation and the target.
 * Design: docs/design/fabric.md.
 */
#include "ofi.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#define BATCH 16
#define POSTS_A_DRAIN 16   /* a power of two, as the next */
#define YIELDS_A_LOOK 1024 /* a wait looks at the clock that often */

/* Delivery, not transmission: only then is the data visible at the target. */
#define WRITE_FLAGS (FI_COMPLETION | FI_DELIVERY_COMPLETE)

static ssize_t post_rma(struct stp_ofi_req *req)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)req->local, .iov_len = req->nbytes};
    struct fi_rma_iov rma = {.addr = req->addr, .len = req->nbytes, .key = req->key};
    struct fi_msg_rma msg = {.msg_iov = &iov,
                             .desc = STP_LIKELY(req->desc == NULL) ? NULL : &req->desc,
                             .iov_count = 1,
                             .addr = stp_ofi_addr(req->pe),
                             .rma_iov = &rma,
                             .rma_iov_count = 1,
                             .context = &req->fi};

    return req->kind == STP_OFI_WRITE ? fi_writemsg(stp_ofi.ep, &msg, WRITE_FLAGS)
                                      : fi_readmsg(stp_ofi.ep, &msg, FI_COMPLETION);
}

static ssize_t post_atomic(struct stp_ofi_req *req)
{
    struct fi_ioc operand = {.addr = (void *)(uintptr_t)req->local, .count = 1};
    struct fi_ioc compare = {.addr = (void *)(uintptr_t)req->compare, .count = 1};
    struct fi_ioc result = {.addr = req->result, .count = 1};
    struct fi_rma_ioc rma = {.addr = req->addr, .count = 1, .key = req->key};
    struct fi_msg_atomic msg = {.msg_iov = &operand,
                                .iov_count = 1,
                                .addr = stp_ofi_addr(req->pe),
                                .rma_iov = &rma,
                                .rma_iov_count = 1,
                                .datatype = req->type,
                                .op = req->op,
                                .context = &req->fi};

    switch (req->kind) {
    case STP_OFI_UPDATE:
        return fi_atomicmsg(stp_ofi.ep, &msg, WRITE_FLAGS);
    case STP_OFI_FETCH:
        return fi_fetch_atomicmsg(stp_ofi.ep, &msg, &result, NULL, 1, FI_COMPLETION);
    default:
        return fi_compare_atomicmsg(stp_ofi.ep, &msg, &compare, NULL, 1, &result, NULL, 1,
                                    FI_COMPLETION);
    }
}

static ssize_t try_post(struct stp_ofi_req *req)
{
    return req->kind <= STP_OFI_READ ? post_rma(req) : post_atomic(req);
}

static const char *req_name(const struct stp_ofi_req *req)
{
    static const char *const names[] = {
        [STP_OFI_WRITE] = "fabric put",
        [STP_OFI_READ] = "fabric get",
        [STP_OFI_UPDATE] = "fabric atomic update",
        [STP_OFI_FETCH] = "fabric atomic fetch",
        [STP_OFI_COMPARE] = "fabric atomic compare",
    };

    return names[req->kind];
}

static bool is_broken_connection(int error)
{
    return error == FI_ECANCELED || error == FI_ENOTCONN || error == FI_ECONNRESET ||
           error == FI_ECONNABORTED || error == FI_ESHUTDOWN || error == EPIPE;
}

void stp_ofi_die(const struct stp_ofi_req *req, int error, const char *text)
{
    const char *prov = stp_ofi.info->fabric_attr->prov_name;

    if (is_broken_connection(error))
        text = "the connection broke: has that pe ended?";
    else if (text == NULL || *text == '\0')
        text = "no detail";
    if (req == NULL) stp_ofi.core->fatal("fabric", "%s: %s (%s)", prov, fi_strerror(error), text);
    if (req->kind <= STP_OFI_READ)
        stp_ofi.core->fatal(req_name(req), "%zu bytes, pe %d: %s: %s (%s)", req->nbytes, req->pe,
                            prov, fi_strerror(error), text);
    stp_ofi.core->fatal(req_name(req), "pe %d: %s: %s (%s)", req->pe, prov, fi_strerror(error),
                        text);
}

/* Move a counter that is only looked at for whether it moved: lost updates do no harm. */
static unsigned bump(atomic_uint *counter, unsigned n)
{
    unsigned moved = atomic_load_explicit(counter, memory_order_relaxed) + n;

    atomic_store_explicit(counter, moved, memory_order_relaxed);
    return moved;
}

/* Application threads say that they are here; the progress thread keeps away then. */
static unsigned mark_activity(void)
{
    return bump(&stp_ofi.activity, 1);
}

/* Its PE has gone while the job ends: whoever counted on it counts no more. */
static bool is_abandoned(const struct stp_ofi_req *req)
{
    return req->pending == &stp_ofi.abandoned;
}

/* ---- completions: all of it under stp_ofi.drain -------------------------- */

static void fail_locked(struct stp_ofi_req *req, int error, const char *text);

/* Post a signal whose data has arrived, now or when the provider can take it. */
static void launch_locked(struct stp_ofi_req *sig)
{
    ssize_t rc = try_post(sig);

    if (rc == -FI_EAGAIN && !is_abandoned(sig)) {
        sig->next = stp_ofi.retry;
        stp_ofi.retry = sig;
    } else if (rc != 0) {
        fail_locked(sig, (int)-rc, "refused at once");
    }
}

/* Signals wait for room at the provider: somebody must come back without being woken. */
bool stp_ofi_has_retry(void)
{
    return __atomic_load_n(&stp_ofi.retry, __ATOMIC_RELAXED) != NULL;
}

static void retry_locked(void)
{
    struct stp_ofi_req *sig = stp_ofi.retry, *next;

    stp_ofi.retry = NULL;
    for (; sig != NULL; sig = next) {
        next = sig->next;
        launch_locked(sig);
    }
}

/* Lists of finished requests, one per pool, given back with one lock each. */
struct finished {
    struct stp_ofi_req *first, *last;
};

static void finished_add(struct finished *list, struct stp_ofi_req *req)
{
    req->next = list->first;
    list->first = req;
    if (list->last == NULL) list->last = req;
}

static void finished_give(struct finished *list, struct stp_ofi_pool *pool)
{
    if (list->first != NULL) stp_ofi_req_give(pool, list->first, list->last);
}

static void complete_locked(const struct fi_cq_entry *entries, ssize_t n)
{
    struct finished plain = {NULL, NULL}, bounce = {NULL, NULL};
    struct finished *list;

    for (ssize_t i = 0; i < n; i++) {
        struct stp_ofi_req *req = entries[i].op_context;
        struct stp_ofi_req *then = req->then;
        atomic_uint *pending = req->pending;

        list = req->pool == &stp_ofi.plain ? &plain : &bounce;
        finished_add(list, req);
        /* Pairs with the acquire of whoever waits for zero: results are visible by then. */
        if (atomic_fetch_sub_explicit(pending, 1, memory_order_acq_rel) == 1 && then != NULL)
            launch_locked(then);
    }
    bump(&stp_ofi.completed, (unsigned)n);
    finished_give(&plain, &stp_ofi.plain);
    finished_give(&bounce, &stp_ofi.bounce);
}

/* An operation failed: fatal for the job, unless it is ending anyway and the target has gone. */
static void fail_locked(struct stp_ofi_req *req, int error, const char *text)
{
    struct fi_cq_entry entry = {.op_context = req};

    if (!atomic_load_explicit(&stp_ofi.finishing, memory_order_relaxed))
        stp_ofi_die(req, error, text);
    if (req != NULL) complete_locked(&entry, 1);
}

static void read_error_locked(ssize_t rc)
{
    struct fi_cq_err_entry err = {0};
    char text[256] = "";

    if (rc == -FI_EAVAIL) rc = fi_cq_readerr(stp_ofi.cq, &err, 0);
    if (rc < 0) stp_ofi_die(NULL, (int)-rc, "reading the completion queue");
    fi_cq_strerror(stp_ofi.cq, err.prov_errno, err.err_data, text, sizeof(text));
    fail_locked(err.op_context, err.err, text);
}

void stp_ofi_abandon(int pe)
{
    pthread_mutex_lock(&stp_ofi.drain);
    stp_ofi_pool_abandon(&stp_ofi.plain, pe);
    stp_ofi_pool_abandon(&stp_ofi.bounce, pe);
    pthread_mutex_unlock(&stp_ofi.drain);
}

void stp_ofi_finish(void)
{
    atomic_store_explicit(&stp_ofi.finishing, true, memory_order_relaxed);
}

int stp_ofi_drain(void)
{
    struct fi_cq_entry entries[BATCH];
    ssize_t n;

    if (pthread_mutex_trylock(&stp_ofi.drain) != 0) return 0;
    n = fi_cq_read(stp_ofi.cq, entries, BATCH);
    if (n > 0)
        complete_locked(entries, n);
    else if (STP_UNLIKELY(n != -FI_EAGAIN && n != 0))
        read_error_locked(n);
    if (STP_UNLIKELY(stp_ofi.retry != NULL)) retry_locked();
    pthread_mutex_unlock(&stp_ofi.drain);
    /* By this thread: the progress thread does not wake for what another one has read. */
    if (STP_UNLIKELY(stp_ofi.core->served != NULL)) stp_ofi.core->served();
    return n > 0 ? (int)n : 0;
}

/* ---- posting ------------------------------------------------------------ */

void stp_ofi_post(struct stp_ofi_req *req)
{
    struct stp_ofi_wait wait = {0};
    ssize_t rc;

    while (STP_UNLIKELY((rc = try_post(req)) == -FI_EAGAIN) && !is_abandoned(req))
        stp_ofi_wait_step(&wait);
    if (STP_UNLIKELY(rc != 0)) {
        pthread_mutex_lock(&stp_ofi.drain);
        fail_locked(req, rc == -FI_EAGAIN ? FI_ECANCELED : (int)-rc, "refused at once");
        pthread_mutex_unlock(&stp_ofi.drain);
    }
    /* A flood reads its completions as it goes: the same few requests stay in the cache. */
    if ((mark_activity() & (POSTS_A_DRAIN - 1)) == 0) stp_ofi_drain();
}

/* ---- waiting ------------------------------------------------------------ */

void stp_ofi_progress(void)
{
    mark_activity();
    stp_ofi_drain();
}

void stp_ofi_wait_step(struct stp_ofi_wait *wait)
{
    mark_activity();
    if (stp_ofi_drain() > 0) {
        wait->polls = 0;
    } else if (wait->polls++ < stp_ofi.spin) {
        stp_cpu_relax();
    } else {
        if ((wait->polls & (YIELDS_A_LOOK - 1)) == 0) stp_ofi_wait_stalled(wait);
        sched_yield();
    }
}

void stp_ofi_wait_zero(atomic_uint *pending)
{
    struct stp_ofi_wait wait = {0};

    while (atomic_load_explicit(pending, memory_order_acquire) != 0)
        stp_ofi_wait_step(&wait);
}

static void lock_with_progress(pthread_mutex_t *lock)
{
    struct stp_ofi_wait wait = {0};

    while (pthread_mutex_trylock(lock) != 0)
        stp_ofi_wait_step(&wait);
}

void stp_ofi_quiet(struct stp_fabric_ctx *ctx)
{
    unsigned phase;

    if (atomic_load_explicit(&ctx->pending[0], memory_order_acquire) == 0 &&
        atomic_load_explicit(&ctx->pending[1], memory_order_acquire) == 0)
        return;
    lock_with_progress(&ctx->quiet);
    phase = atomic_load_explicit(&ctx->phase, memory_order_relaxed);
    /* Stragglers that read the phase before the last turn and counted after it. */
    stp_ofi_wait_zero(&ctx->pending[(phase + 1) & 1]);
    atomic_store_explicit(&ctx->phase, phase + 1, memory_order_relaxed);
    stp_ofi_wait_zero(&ctx->pending[phase & 1]);
    pthread_mutex_unlock(&ctx->quiet);
}

void stp_ofi_fence(struct stp_fabric_ctx *ctx)
{
    if (!stp_ofi.ordered) stp_ofi_quiet(ctx);
}

int stp_ofi_ctx_create(struct stp_fabric_ctx **ctx)
{
    struct stp_fabric_ctx *made = aligned_alloc(STP_CACHE_LINE, sizeof(*made));

    if (made == NULL) return -ENOMEM;
    atomic_init(&made->phase, 0);
    atomic_init(&made->pending[0], 0);
    atomic_init(&made->pending[1], 0);
    pthread_mutex_init(&made->quiet, NULL);
    *ctx = made;
    return 0;
}

void stp_ofi_ctx_destroy(struct stp_fabric_ctx *ctx)
{
    if (ctx == NULL) return;
    pthread_mutex_destroy(&ctx->quiet);
    free(ctx);
}
