/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posts operations to libfabric, reads the completion queues, and waits for completions. If the
 * provider is busy, posts the operation again later. No other file reads the queues. The self-test
 * of a provider (provider_self_test.c) is the only other code that repeats posts. A failed
 * operation ends the job with a message that names the operation and its target.
 * Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include "am.h"
#include "batch.h"
#include "peer_liveness_and_fd_limits.h"
#include "am_ack_delay.h"
#include "lost_op_by_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH 16
/* Stack in bytes that a poll needs over sockets. libfabric has an array of 12 KiB on the stack. */
#define POLL_STACK ((size_t)16 << 10)
#define MARK_BITS 10
/* The following intervals are powers of two, because the code tests them with bit masks. */
#define POSTS_PER_POLL 64 /* number of posts after which a thread polls its queue */
#define POLLS_PER_SERVE 8 /* number of polls after which a waiting thread polls all queues */
/* Number of polls after which a thread sends batches, if there are several threads. */
#define POLLS_PER_FLUSH 64
/* Number of polls after which a wait calls stp_ofi_wait_stalled(). */
#define POLLS_PER_STALL_CHECK 1024
/* Number of polls after which a thread checks for dead peers. */
#define POLLS_PER_FAILURE_CHECK 4096

/*
 * Flags of writes. FI_DELIVERY_COMPLETE delays the completion until the data is visible at the
 * target PE. Each operation passes the flags, because the net provider of libfabric 1.17 ignores
 * the default flags of an endpoint.
 */
#define WRITE_FLAGS (FI_COMPLETION | FI_DELIVERY_COMPLETE)

/*
 * Posts several puts as one write. This saves system calls at both PEs, and it saves
 * acknowledgements.
 */
static ssize_t post_pieces(struct stp_ofi_endpoint *endpoint, struct stp_ofi_req *req)
{
    struct stp_ofi_piece pieces[STP_OFI_PIECES];
    struct iovec iov[STP_OFI_PIECES];
    struct fi_rma_iov rma[STP_OFI_PIECES];
    struct fi_msg_rma msg = {.msg_iov = iov,
                             .iov_count = req->n_pieces,
                             .addr = stp_ofi_addr(endpoint, req->pe),
                             .rma_iov = rma,
                             .rma_iov_count = req->n_pieces,
                             .context = &req->work.fi};

    memcpy(pieces, req->data, req->n_pieces * sizeof(*pieces));
    for (unsigned i = 0; i < req->n_pieces; i++) {
        struct stp_fabric_region remote = stp_ofi_resolve(&pieces[i].place, req->pe);

        iov[i] = (struct iovec){(void *)(uintptr_t)pieces[i].local, pieces[i].nbytes};
        rma[i] = (struct fi_rma_iov){remote.addr, pieces[i].nbytes, remote.key};
    }
    return fi_writemsg(endpoint->ep, &msg, WRITE_FLAGS);
}

static ssize_t post_rma(struct stp_ofi_endpoint *endpoint, struct stp_ofi_req *req)
{
    struct stp_fabric_region remote = stp_ofi_resolve(&req->place, req->pe);
    struct iovec iov = {.iov_base = (void *)(uintptr_t)req->local, .iov_len = req->nbytes};
    struct fi_rma_iov rma = {.addr = remote.addr, .len = req->nbytes, .key = remote.key};
    struct fi_msg_rma msg = {.msg_iov = &iov,
                             .desc = STP_LIKELY(req->desc == NULL) ? NULL : &req->desc,
                             .iov_count = 1,
                             .addr = stp_ofi_addr(endpoint, req->pe),
                             .rma_iov = &rma,
                             .rma_iov_count = 1,
                             .context = &req->work.fi};

    if (req->work.kind == STP_OFI_READ) return fi_readmsg(endpoint->ep, &msg, FI_COMPLETION);
    if (STP_LIKELY(!req->has_word)) return fi_writemsg(endpoint->ep, &msg, WRITE_FLAGS);
    msg.data = req->word;
    return fi_writemsg(endpoint->ep, &msg, WRITE_FLAGS | FI_REMOTE_CQ_DATA);
}

static ssize_t post_atomic(struct stp_ofi_endpoint *endpoint, struct stp_ofi_req *req)
{
    struct stp_fabric_region remote = stp_ofi_resolve(&req->place, req->pe);
    struct fi_ioc operand = {.addr = (void *)(uintptr_t)req->local, .count = 1};
    struct fi_ioc compare = {.addr = (void *)(uintptr_t)req->compare, .count = 1};
    struct fi_ioc result = {.addr = req->result, .count = 1};
    struct fi_rma_ioc rma = {.addr = remote.addr, .count = 1, .key = remote.key};
    /*
     * One descriptor is sufficient, because the request itself contains all local buffers of an
     * atomic.
     */
    void **desc = STP_LIKELY(req->desc == NULL) ? NULL : &req->desc;
    struct fi_msg_atomic msg = {.msg_iov = &operand,
                                .desc = desc,
                                .iov_count = 1,
                                .addr = stp_ofi_addr(endpoint, req->pe),
                                .rma_iov = &rma,
                                .rma_iov_count = 1,
                                .datatype = req->type,
                                .op = req->op,
                                .context = &req->work.fi};

    switch (req->work.kind) {
    case STP_OFI_UPDATE:
        return fi_atomicmsg(endpoint->ep, &msg, WRITE_FLAGS);
    case STP_OFI_FETCH:
        return fi_fetch_atomicmsg(endpoint->ep, &msg, &result, desc, 1, FI_COMPLETION);
    default:
        return fi_compare_atomicmsg(endpoint->ep, &msg, &compare, desc, 1, &result, desc, 1,
                                    FI_COMPLETION);
    }
}

/*
 * Posts an atomic and gives it a sequence number. If the atomic is lost, this number reveals the
 * loss later (lost_op_by_order.h).
 */
static ssize_t post_numbered(struct stp_ofi_endpoint *endpoint, struct stp_ofi_req *req)
{
    uint64_t posting_token = stp_ofi_post_seq_begin_post(req);
    ssize_t rc = post_atomic(endpoint, req);

    if (rc == 0) stp_ofi_post_seq_assign_number(req, posting_token);
    return rc;
}

ssize_t stp_ofi_post_once(struct stp_ofi_req *req)
{
    struct stp_ofi_endpoint *endpoint = req->pool->endpoint;

    if (STP_UNLIKELY(req->n_pieces > 0)) return post_pieces(endpoint, req);
    if (req->work.kind <= STP_OFI_READ) return post_rma(endpoint, req);
    if (STP_UNLIKELY(req->work.kind > STP_OFI_COMPARE)) return stp_ofi_am_try_send(req);
    return STP_UNLIKELY(stp_ofi.may_lose_amo) ? post_numbered(endpoint, req)
                                              : post_atomic(endpoint, req);
}

static const char *req_name(const struct stp_ofi_req *req)
{
    static const char *const names[] = {
        [STP_OFI_WRITE] = "fabric put",
        [STP_OFI_READ] = "fabric get",
        [STP_OFI_UPDATE] = "fabric atomic update",
        [STP_OFI_FETCH] = "fabric atomic fetch",
        [STP_OFI_COMPARE] = "fabric atomic compare",
        [STP_OFI_MESSAGE] = "fabric atomic in a message",
        [STP_OFI_PACKED] = "fabric batch of puts and atomics",
        [STP_OFI_ANSWER] = "fabric reply to an atomic",
    };

    return names[req->work.kind];
}

static bool is_broken_connection(int error)
{
    return error == FI_ECANCELED || error == FI_ENOTCONN || error == FI_ECONNRESET ||
           error == FI_ECONNABORTED || error == FI_ESHUTDOWN || error == EPIPE;
}

/*
 * Ends the job because an operation failed. The argument error is a positive error number, and the
 * string text explains it. If req is NULL, the failed operation is unknown.
 */
_Noreturn STP_COLD static void die(const struct stp_ofi_req *req, int error, const char *text)
{
    const char *prov = stp_ofi.info->fabric_attr->prov_name;

    if (is_broken_connection(error))
        text = "the connection broke: has that pe ended?";
    else if (text == NULL || *text == '\0')
        text = "no details";
    if (req == NULL) {
        stp_ofi_failure_blame();
        stp_ofi.core->fatal("fabric", "provider %s reports an error: %s (%s)", prov,
                            stp_ofi_strerror(error), text);
    }
    if (req->work.kind <= STP_OFI_READ)
        stp_ofi.core->fatal(req_name(req), "the transfer of %zu bytes %s pe %d failed: %s: %s (%s)",
                            req->nbytes, req->work.kind == STP_OFI_WRITE ? "to" : "from", req->pe,
                            prov, stp_ofi_strerror(error), text);
    stp_ofi.core->fatal(req_name(req), "the operation with pe %d failed: %s: %s (%s)", req->pe,
                        prov, stp_ofi_strerror(error), text);
}

/*
 * Adds n to a counter and returns the new value. If two threads add at the same time, one addition
 * may get lost. This is acceptable, because readers only check whether the counter has changed.
 */
static unsigned bump(unsigned *counter, unsigned n)
{
    unsigned value = __atomic_load_n(counter, __ATOMIC_RELAXED) + n;

    __atomic_store_n(counter, value, __ATOMIC_RELAXED);
    return value;
}

/*
 * Counts a call of an application thread. While this count changes, the progress thread only naps,
 * because the application polls the queues itself.
 */
static unsigned mark_activity(struct stp_ofi_endpoint *endpoint)
{
    return bump(&endpoint->activity, 1);
}

/*
 * Returns whether req is abandoned. No thread waits for an abandoned request, because its target PE
 * has left the job.
 */
static bool is_abandoned(const struct stp_ofi_req *req)
{
    return stp_ofi_counts_on(req) == &stp_ofi.abandoned;
}

/* ---- completions (the caller holds the drain lock) ----------------------------- */

static void fail_locked(struct stp_ofi_endpoint *endpoint, struct stp_ofi_work *work, int error,
                        const char *text);

static void defer_locked(struct stp_ofi_endpoint *endpoint, struct stp_ofi_req *req)
{
    req->next = endpoint->retry;
    __atomic_store_n(&endpoint->retry, req, __ATOMIC_RELAXED);
}

/* Posts req. If the provider is busy, adds req to the retry list and returns false. */
static bool post_try_locked(struct stp_ofi_endpoint *endpoint, struct stp_ofi_req *req)
{
    ssize_t rc = stp_ofi_post_once(req);

    if (rc == -FI_EAGAIN && !is_abandoned(req)) {
        defer_locked(endpoint, req);
        return false;
    }
    if (rc != 0) fail_locked(endpoint, &req->work, (int)-rc, "the provider refused the operation");
    return true;
}

/*
 * Posts a request for which no thread waits. If the provider is busy, or if older requests are
 * still deferred, defers the request. Requests therefore stay in order.
 */
void stp_ofi_post_or_defer_locked(struct stp_ofi_endpoint *endpoint, struct stp_ofi_req *req)
{
    if (STP_UNLIKELY(endpoint->retry != NULL)) {
        defer_locked(endpoint, req);
        return;
    }
    stp_ofi_die_if_region_gone(req);
    (void)post_try_locked(endpoint, req);
}

bool stp_ofi_has_retry(void)
{
    return __atomic_load_n(&stp_ofi.main.retry, __ATOMIC_RELAXED) != NULL;
}

/*
 * Posts the deferred requests again. If the provider refuses a request, skips later requests to the
 * same PE, so that they stay in order. PEs are compared by a hash only, so requests to another PE
 * with an equal hash are skipped as well. The hash function changes with each poll of the queue. In
 * the next call, the hashes of these two PEs will therefore probably differ.
 */
static void retry_locked(struct stp_ofi_endpoint *endpoint)
{
    struct stp_ofi_req *req = endpoint->retry, *next, *first = NULL;
    bool refused[1 << MARK_BITS] = {false}, *mark;
    uint32_t hash = __atomic_load_n(&endpoint->drains, __ATOMIC_RELAXED) * 0x9e3779b9u | 1;

    __atomic_store_n(&endpoint->retry, NULL, __ATOMIC_RELAXED);
    /* Reverse the list, because requests were added at its head. */
    for (; req != NULL; req = next) {
        next = req->next;
        req->next = first;
        first = req;
    }
    for (req = first; req != NULL; req = next) {
        next = req->next;
        mark = &refused[((uint32_t)req->pe * hash) >> (32 - MARK_BITS)];
        if (*mark) {
            defer_locked(endpoint, req);
            continue;
        }
        stp_ofi_die_if_region_gone(req);
        *mark = !post_try_locked(endpoint, req);
    }
}

/* List of finished requests of one pool, which are returned to the pool together. */
struct finished {
    struct stp_ofi_pool *pool;
    struct stp_ofi_req *first, *last;
};

static void finished_give(struct finished *list)
{
    if (list->first != NULL) stp_ofi_req_give(list->pool, list->first, list->last);
    list->first = list->last = NULL;
}

/*
 * Adds req to the list. If the list has requests of another pool, returns these to their pool
 * first. This is rare, because consecutive completions are mostly of one pool.
 */
static void finished_add(struct finished *list, struct stp_ofi_req *req)
{
    if (STP_UNLIKELY(req->pool != list->pool)) finished_give(list);
    list->pool = req->pool;
    req->next = list->first;
    list->first = req;
    if (list->last == NULL) list->last = req;
}

/* Completes req. Copies its data, releases its resources and decrements its counter. */
static void finish_locked(struct stp_ofi_endpoint *endpoint, struct finished *list,
                          struct stp_ofi_req *req)
{
    struct stp_ofi_req *signal_req = req->signal_req;
    unsigned *pending = req->pending;

    if (STP_UNLIKELY(req->copy_to != NULL))
        memcpy(req->copy_to, req->work.kind == STP_OFI_READ ? req->local : req->result,
               req->nbytes);
    if (STP_UNLIKELY(req->mr_ref != NULL)) stp_ofi_local_mr_unref(req->mr_ref);
    /*
     * Call this function before the subtraction below. After the subtraction, another thread may
     * free the context's batch.
     */
    if (req->batch != NULL) stp_ofi_batch_post_next_locked(endpoint, req);
    finished_add(list, req);
    /* Publishes the results. Pairs with the acquire loads in stp_ofi_wait_zero() and is_done(). */
    if (__atomic_fetch_sub(pending, 1, __ATOMIC_ACQ_REL) == 1 && signal_req != NULL)
        stp_ofi_post_or_defer_locked(endpoint, signal_req);
}

void stp_ofi_message_part_done_locked(struct stp_ofi_req *req)
{
    struct finished list = {NULL, NULL, NULL};

    if (__atomic_fetch_sub(&req->parts, 1, __ATOMIC_RELAXED) > 1) return;
    finish_locked(&stp_ofi.main, &list, req);
    finished_give(&list);
}

static void complete_locked(struct stp_ofi_endpoint *endpoint,
                            const struct fi_cq_data_entry *entries, ssize_t n)
{
    struct finished list = {NULL, NULL, NULL};

    for (ssize_t i = 0; i < n; i++) {
        struct stp_ofi_work *work = entries[i].op_context;

        if (STP_UNLIKELY((entries[i].flags & FI_REMOTE_CQ_DATA) != 0))
            stp_ofi_cqdata_apply_to_word_locked(entries[i].data); /* CQ data of a peer's write */
        else if (STP_LIKELY(work->kind < STP_OFI_MESSAGE || work->kind == STP_OFI_ANSWER))
            finish_locked(endpoint, &list, (struct stp_ofi_req *)work);
        else if (work->kind != STP_OFI_INBOX)
            stp_ofi_message_part_done_locked((struct stp_ofi_req *)work);
        else
            stp_ofi_inbox_locked(work, false);
    }
    finished_give(&list);
}

/*
 * Ends the job because an operation has failed. If the job is ending anyway, the target PE may have
 * left the job, and the operation counts as completed instead.
 */
static void fail_locked(struct stp_ofi_endpoint *endpoint, struct stp_ofi_work *work, int error,
                        const char *text)
{
    struct stp_ofi_req *req = (struct stp_ofi_req *)work;
    struct finished list = {NULL, NULL, NULL};

    /*
     * A failed receive does not end the job. Its cause is a message from outside the job or a
     * broken connection.
     */
    if (work != NULL && work->kind == STP_OFI_INBOX) {
        stp_ofi_inbox_locked(work, true);
        return;
    }
    if (!__atomic_load_n(&stp_ofi.finishing, __ATOMIC_RELAXED)) die(req, error, text);
    stp_ofi.failure = error;
    if (req == NULL) return;
    stp_ofi.core->log(STP_LOG_DEBUG, "%s to pe %d failed while the job ends: %s (%s)",
                      req_name(req), req->pe, fi_strerror(error), text != NULL ? text : "");
    req->copy_to = NULL;
    finish_locked(endpoint, &list, req);
    finished_give(&list);
}

static void read_error_locked(struct stp_ofi_endpoint *endpoint, ssize_t rc)
{
    struct fi_cq_err_entry err = {0};
    char text[256] = "";

    if (rc == -FI_EAVAIL) rc = fi_cq_readerr(endpoint->cq, &err, 0);
    if (rc < 0) die(NULL, (int)-rc, "cannot read the completion queue");
    fi_cq_strerror(endpoint->cq, err.prov_errno, err.err_data, text, sizeof(text));
    fail_locked(endpoint, err.op_context, err.err, text);
}

void stp_ofi_set_job_ending(void)
{
    __atomic_store_n(&stp_ofi.finishing, true, __ATOMIC_RELAXED);
    /* Repeat, because stp_ofi_ack_flush() sends nothing while another thread holds the lock. */
    while (stp_ofi_ack_any())
        stp_ofi_ack_flush(STP_OFI_ACK_ALL);
}

/* Returns the lowest address of this thread's stack, or 1 if any stack is large enough. */
static uintptr_t stack_end(void)
{
    pthread_attr_t attr;
    size_t nbytes;
    void *end = (void *)1;

    if (stp_ofi_speaks_ip() && gettid() != getpid() &&
        pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &end, &nbytes);
        pthread_attr_destroy(&attr);
    }
    return (uintptr_t)end;
}

/* Ends the job if a poll would overflow the stack, which kills the process without a message. */
static void require_stack(void)
{
    static __thread uintptr_t end;
    size_t left;

    if (STP_UNLIKELY(end == 0)) end = stack_end();
    left = (uintptr_t)__builtin_frame_address(0) - end;
    if (STP_UNLIKELY(left < POLL_STACK))
        stp_ofi.core->fatal("fabric",
                            "this thread has %zu bytes of stack left, but needs %zu: "
                            "create threads that call the library with at least 32 KiB of stack",
                            left, POLL_STACK);
}

int stp_ofi_poll_cq_once(struct stp_ofi_endpoint *endpoint)
{
    struct fi_cq_data_entry entries[BATCH];
    bool more_work, ack_due;
    ssize_t n;

    require_stack();
    if (pthread_mutex_trylock(&endpoint->drain) != 0) return 0;
    bump(&endpoint->drains, 1);
    __atomic_store_n(&endpoint->draining, true, __ATOMIC_RELAXED);
    /*
     * Clear errno. If it holds an old EAGAIN, the TCP provider of libfabric 1.17 never closes a
     * socket at end of file.
     */
    errno = 0;
    ack_due = endpoint == &stp_ofi.main && stp_ofi_delayed_ack_timed_out();
    n = fi_cq_read(endpoint->cq, entries, BATCH);
    if (n > 0)
        complete_locked(endpoint, entries, n);
    else if (STP_UNLIKELY(n != -FI_EAGAIN && n != 0))
        read_error_locked(endpoint, n);
    if (STP_UNLIKELY(endpoint->retry != NULL)) retry_locked(endpoint);
    if (STP_UNLIKELY(stp_ofi_inbox_lacks()) && endpoint == &stp_ofi.main)
        stp_ofi_inbox_refill_locked();
    /* Send the delayed acknowledgements that are due. No message has carried them so far. */
    if (STP_UNLIKELY(ack_due)) stp_ofi_ack_flush_locked(STP_OFI_ACK_DUE);
    __atomic_store_n(&endpoint->draining, false, __ATOMIC_RELAXED);
    more_work = endpoint->retry != NULL || stp_ofi_inbox_lacks() || stp_ofi_ack_urgent() ||
                (!stp_ofi.by_sockets && stp_ofi_ack_any());
    pthread_mutex_unlock(&endpoint->drain);
    /*
     * Wake the progress thread for the remaining work, because this thread may not poll again soon.
     */
    if (STP_UNLIKELY(more_work)) stp_ofi_progress_wake();
    /*
     * This thread calls on_progress(), because the progress thread does not wake up for completions
     * that another thread has read.
     */
    if (STP_UNLIKELY(stp_ofi.core->on_progress != NULL)) stp_ofi.core->on_progress();
    return n > 0 ? (int)n : 0;
}

int stp_ofi_poll_all_queues(void)
{
    /* Pairs with the release store in endpoint_take_locked(). */
    unsigned n_endpoints = __atomic_load_n(&stp_ofi.n_endpoints, __ATOMIC_ACQUIRE);
    int n = stp_ofi_poll_cq_once(&stp_ofi.main);

    for (unsigned i = 0; STP_UNLIKELY(i < n_endpoints); i++)
        if (stp_ofi_endpoint_busy(stp_ofi.endpoints[i]))
            n += stp_ofi_poll_cq_once(stp_ofi.endpoints[i]);
    return n;
}

/* ---- posting ------------------------------------------------------------ */

void stp_ofi_post_until_accepted(struct stp_ofi_req *req)
{
    struct stp_ofi_endpoint *endpoint = req->pool->endpoint;
    struct stp_ofi_wait wait = {.endpoint = endpoint};
    ssize_t rc;

    while (STP_UNLIKELY((rc = stp_ofi_post_once(req)) == -FI_EAGAIN) && !is_abandoned(req))
        stp_ofi_wait_step(&wait);
    stp_ofi_wait_end(&wait);
    if (STP_UNLIKELY(rc != 0)) {
        pthread_mutex_lock(&endpoint->drain);
        fail_locked(endpoint, &req->work, rc == -FI_EAGAIN ? FI_ECANCELED : (int)-rc,
                    "the provider refused the operation");
        pthread_mutex_unlock(&endpoint->drain);
    }
    /* Wake the progress thread to poll this endpoint, whose completions wake no thread. */
    if (STP_UNLIKELY(endpoint != &stp_ofi.main)) stp_ofi_progress_wake();
    /*
     * Poll after every POSTS_PER_POLL posts. A flood of posts then reuses a few requests, which
     * stay in the CPU cache.
     */
    if ((mark_activity(endpoint) & (POSTS_PER_POLL - 1)) != 0) return;
    stp_ofi_poll_cq_once(endpoint);
    if (STP_UNLIKELY(endpoint != &stp_ofi.main)) stp_ofi_poll_cq_once(&stp_ofi.main);
}

/* ---- waiting ------------------------------------------------------------ */

void stp_ofi_progress(void)
{
    unsigned polls = mark_activity(&stp_ofi.main);

    if ((polls & (POLLS_PER_FAILURE_CHECK - 1)) == 0) stp_ofi_failure_poll();
    /*
     * Send batches, because peers may wait for them. With several threads, send them less often,
     * because other threads may still be adding operations.
     */
    if (STP_UNLIKELY(stp_ofi_batch_has_unsent()) &&
        (!stp_ofi.core->thread_multiple || (polls & (POLLS_PER_FLUSH - 1)) == 0))
        stp_ofi_batch_flush_aged(!stp_ofi.core->thread_multiple, false);
    stp_ofi_poll_all_queues();
}

/*
 * Polls the endpoint of the wait, and returns the number of completions. Every POLLS_PER_SERVE-th
 * call also polls all other endpoints, for two reasons. Peers are served on the main endpoint. The
 * completion of data on another endpoint may post a message or a signal, for which a peer may wait.
 */
static int wait_drain(const struct stp_ofi_wait *wait)
{
    int n = stp_ofi_poll_cq_once(wait->endpoint);

    if (STP_UNLIKELY(__atomic_load_n(&stp_ofi.n_endpoints, __ATOMIC_RELAXED) > 0) &&
        (wait->polls & (POLLS_PER_SERVE - 1)) == 0)
        stp_ofi_poll_all_queues();
    return n;
}

void stp_ofi_wait_step(struct stp_ofi_wait *wait)
{
    mark_activity(wait->endpoint);
    if (wait_drain(wait) > 0) {
        wait->polls = wait->n_spins = 0;
        return;
    }
    if ((++wait->polls & (POLLS_PER_STALL_CHECK - 1)) == 0) stp_ofi_wait_stalled(wait);
    if (wait->n_spins++ < stp_ofi.spin) {
        stp_cpu_relax();
    } else {
        stp_yield_or_sleep(wait->polls);
        /* If there are enough cores for all PEs, poll several times before the next yield. */
        wait->n_spins = stp_ofi.spin / 2;
    }
}

void stp_ofi_wait_zero(struct stp_ofi_endpoint *endpoint, unsigned *pending)
{
    struct stp_ofi_wait wait = {.endpoint = endpoint};

    /* Pairs with the subtraction in finish_locked(). */
    while (__atomic_load_n(pending, __ATOMIC_ACQUIRE) != 0)
        stp_ofi_wait_step(&wait);
    stp_ofi_wait_end(&wait);
}
