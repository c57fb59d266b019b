/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements the owner's side of staging, which is the proxy thread. The thread serves the requests
 * of other PEs for this PE's device memory and private memory, in the order of their tickets. It
 * runs only if this PE shares a space of device memory or private memory with other PEs. It sleeps
 * while there are no requests. Design: docs/design/kinds.md.
 */
#include "stage_request_boxes.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PROXY_FN "proxy thread"
#define PROXY_POLLS 50 /* number of polls, each with a yield, before the thread sleeps */

static struct {
    pthread_mutex_t lock; /* guards the start of the thread */
    pthread_t thread;
    bool running;
    bool stop;
    bool exited; /* whether the thread has left its main loop */
} proxy = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- serving -------------------------------------------------------------------------- */

static struct stp_space *proxy_space(const struct stage_request *request)
{
    struct stp_space *space = stp_space_at(request->number);

    if (space == NULL || space->host)
        stp_fatal(PROXY_FN,
                  "PE %d requests memory of space %u, but this PE has neither device memory nor a "
                  "registered buffer in that space: was the space destroyed too early?",
                  request->pe, request->number);
    return space;
}

/*
 * Reports to the origin that the request is complete. If the origin is on another node, first puts
 * nbytes bytes of data into the origin's reply slot.
 */
static void proxy_reply(const struct stage_request *request, const char *data, size_t nbytes)
{
    struct stage_reply *reply = &stp_stage_mailbox()->replies[request->reply];
    struct stage_reply *peer_reply = stp_ptr(reply, request->pe);

    if (peer_reply != NULL) /* Pairs with the acquire load in flight_wait(). */
        __atomic_store_n(&peer_reply->completed, request->sequence, __ATOMIC_RELEASE);
    else
        stp_put_signal(&stp_ctx_proxy, stp_stage_reply_memory(request->reply), data, nbytes,
                       &reply->completed, request->sequence, SHMEM_SIGNAL_SET, false, request->pe,
                       PROXY_FN);
}

static void proxy_put(const struct stage_request *request, const char *data)
{
    struct stp_space *space = proxy_space(request);
    struct stp_strided_copy rows = {request->width, request->n, request->pitch, request->width};

    stp_copy_rows(&stp_ctx_proxy, space->kind, space->base + request->offset, data, &rows,
                  STP_COPY_REMOTE, PROXY_FN);
    proxy_reply(request, NULL, 0);
}

/*
 * Serves a get. If the origin is on this node, copies the rows directly into its reply slot.
 * Otherwise copies the rows into the slot of the request. proxy_reply() then puts them into the
 * origin's reply slot.
 */
static void proxy_get(const struct stage_request *request, char *data)
{
    struct stp_space *space = proxy_space(request);
    struct stp_strided_copy rows = {request->width, request->n, request->width, request->pitch};
    char *peer_slot = stp_ptr(stp_stage_reply_memory(request->reply), request->pe);

    stp_copy_rows(&stp_ctx_proxy, space->kind, peer_slot != NULL ? peer_slot : data,
                  space->base + request->offset, &rows, STP_COPY_REMOTE, PROXY_FN);
    proxy_reply(request, data, request->width * request->n);
}

static void proxy_amo(const struct stage_request *request)
{
    struct stage_reply *reply = &stp_stage_mailbox()->replies[request->reply];
    struct stage_reply *peer_reply = stp_ptr(reply, request->pe);
    enum stp_fabric_amo op = (enum stp_fabric_amo)request->amo;
    uint64_t value = 0;

    stp_stage_amo_local(&stp_ctx_proxy, proxy_space(request), request->offset, op,
                        (enum stp_dtype)request->dtype,
                        op == STP_AMO_FETCH ? NULL : &request->operand,
                        op == STP_AMO_CSWAP ? &request->compare : NULL, &value, PROXY_FN);
    if (peer_reply != NULL) {
        peer_reply->value = value;
        /* Pairs with the acquire load in flight_wait(). */
        __atomic_store_n(&peer_reply->completed, request->sequence, __ATOMIC_RELEASE);
        return;
    }
    stp_put_signal(&stp_ctx_proxy, &reply->value, &value, sizeof(value), &reply->completed,
                   request->sequence, SHMEM_SIGNAL_SET, false, request->pe, PROXY_FN);
}

static void proxy_serve(unsigned slot)
{
    char *memory = stp_stage_slot_memory(slot);
    struct stage_request request;

    memcpy(&request, memory, sizeof(request));
    switch (request.op) {
    case STAGE_PUT:
        proxy_put(&request, memory + STAGE_HEAD);
        break;
    case STAGE_GET:
        proxy_get(&request, memory + STAGE_HEAD);
        break;
    case STAGE_AMO:
        proxy_amo(&request);
        break;
    default:
        stp_fatal(PROXY_FN, "PE %d sent a request of the unknown type %u (a fault of Steppe)",
                  request.pe, request.op);
    }
}

/* ---- the thread ------------------------------------------------------------------------ */

static bool proxy_has_work(struct stage_mailbox *box)
{
    uint64_t next = __atomic_load_n(&box->served, __ATOMIC_RELAXED);

    /* Pairs with the release store in stage_send() of the PE that filled the slot. */
    return __atomic_load_n(&box->slots[next % STAGE_SLOTS].ready, __ATOMIC_ACQUIRE) == next + 1;
}

static void proxy_sleep(struct stage_mailbox *box)
{
    /*
     * Pairs with the addition in stp_stage_ring(). stp_sleep_on() does not sleep if rings has
     * changed since this load.
     */
    uint32_t rings = __atomic_load_n(&box->rings, __ATOMIC_SEQ_CST);

    /* Pairs with the fence in stp_stage_ring(). */
    __atomic_store_n(&box->sleeping, 1, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    /*
     * Pairs with the stores in stp_stage_server_stop() and stp_stage_server_try_stop_on_abort().
     * Both functions call stp_stage_ring() after the store.
     */
    if (!proxy_has_work(box) && !__atomic_load_n(&proxy.stop, __ATOMIC_SEQ_CST))
        (void)stp_sleep_on(&box->rings, rings);
    __atomic_store_n(&box->sleeping, 0, __ATOMIC_SEQ_CST);
    stp_process_exit_if_program_over();
}

static void *proxy_main(void *arg)
{
    struct stage_mailbox *box = stp_stage_mailbox();
    int idle = 0;

    (void)arg;
    while (!__atomic_load_n(&proxy.stop, __ATOMIC_RELAXED)) {
        if (proxy_has_work(box)) {
            uint64_t next = box->served;
            proxy_serve((unsigned)(next % STAGE_SLOTS));
            /* Pairs with the acquire load in stage_served(). The slot is free from now on. */
            __atomic_store_n(&box->served, next + 1, __ATOMIC_RELEASE);
            idle = 0;
        } else if (idle++ < PROXY_POLLS) {
            stp_yield_and_watch_peers(0);
        } else {
            proxy_sleep(box);
        }
    }
    /* Pairs with the loads in stp_stage_server_try_stop_on_abort(). */
    __atomic_store_n(&proxy.exited, true, __ATOMIC_SEQ_CST);
    return NULL;
}

void stp_stage_server_wake_if_asked(void)
{
    struct stage_mailbox *box;

    /* Pairs with the store in stp_stage_server_start(). */
    if (!__atomic_load_n(&proxy.running, __ATOMIC_ACQUIRE)) return;
    box = stp_stage_mailbox();
    if (proxy_has_work(box)) stp_stage_ring(box);
}

/* Pins the memory of all slots, so that device copies are fast. If on is false, unpins it. */
static void proxy_pin(bool pin)
{
    size_t nbytes = stp_stage_slot_bytes() * (STAGE_SLOTS + STAGE_REPLIES);
    char *memory = stp_stage_slot_memory(0);

    if (pin)
        stp_kinds_pin(memory, nbytes);
    else
        stp_kinds_unpin(memory, nbytes);
}

void stp_stage_server_start(void)
{
    int rc = 0;

    pthread_mutex_lock(&proxy.lock);
    if (!__atomic_load_n(&proxy.running, __ATOMIC_SEQ_CST)) {
        /* The two stores pair with no load, because the thread is started only after them. */
        __atomic_store_n(&proxy.stop, false, __ATOMIC_SEQ_CST);
        __atomic_store_n(&proxy.exited, false, __ATOMIC_SEQ_CST);
        rc = stp_thread_start(&proxy.thread, "steppe-proxy", proxy_main);
        if (rc == 0) {
            proxy_pin(true);
            /* Pairs with the loads in the three other stp_stage_server_ functions. */
            __atomic_store_n(&proxy.running, true, __ATOMIC_SEQ_CST);
        }
    }
    pthread_mutex_unlock(&proxy.lock);
    if (rc != 0)
        stp_fatal(PROXY_FN, "cannot start the thread that serves device memory: %s", strerror(-rc));
}

void stp_stage_server_stop(void)
{
    struct stage_mailbox *box;

    /* Pairs with the stores in stp_stage_server_start() and at the end of this function. */
    if (!__atomic_load_n(&proxy.running, __ATOMIC_SEQ_CST)) return;
    box = stp_stage_mailbox();
    /* Pairs with the loads in proxy_main() and proxy_sleep(). */
    __atomic_store_n(&proxy.stop, true, __ATOMIC_SEQ_CST);
    stp_stage_ring(box);
    pthread_join(proxy.thread, NULL);
    proxy_pin(false);
    __atomic_store_n(&proxy.running, false, __ATOMIC_SEQ_CST);
}

#define PROXY_HALT_MS 100

bool stp_stage_server_try_stop_on_abort(void)
{
    /* Pairs with the stores in stp_stage_server_start() and stp_stage_server_stop(). */
    if (!__atomic_load_n(&proxy.running, __ATOMIC_SEQ_CST)) return true;
    /* Pairs with the loads in proxy_main() and proxy_sleep(). */
    __atomic_store_n(&proxy.stop, true, __ATOMIC_SEQ_CST);
    stp_stage_ring(stp_stage_mailbox());
    /* This load and the load below pair with the store in proxy_main(). */
    for (int ms = 0; ms < PROXY_HALT_MS && !__atomic_load_n(&proxy.exited, __ATOMIC_SEQ_CST); ms++)
        usleep(1000);
    /* If the proxy thread is still in its loop, it waits for a peer that may have ended. */
    return __atomic_load_n(&proxy.exited, __ATOMIC_SEQ_CST);
}
