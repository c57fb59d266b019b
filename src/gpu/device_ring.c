/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One thread performs the requests that kernels put into rings. It serves the rings of all handles
 * of this PE, and runs while a handle exists. The thread polls, because a device cannot wake it. If
 * it has found no request for a while, it naps between polls. Design: docs/design/streams.md.
 */
#include "device_handle_host_side.h"

#include "rma/rma.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Number of polls without a request before the thread naps. The thread yields after each poll. */
#define RING_IDLE_POLLS 200
#define RING_NAP_US 50
/*
 * Number of naps between two checks. A check determines whether the program has ended and whether
 * the peers are alive. These naps take about 1 s in total.
 */
#define RING_NAPS_PER_CHECK 10000
#define RING_HALT_MS 100

_Static_assert(SHMEMX_DEV_CMP_EQ == SHMEM_CMP_EQ && SHMEMX_DEV_CMP_NE == SHMEM_CMP_NE &&
                   SHMEMX_DEV_CMP_GT == SHMEM_CMP_GT && SHMEMX_DEV_CMP_GE == SHMEM_CMP_GE &&
                   SHMEMX_DEV_CMP_LT == SHMEM_CMP_LT && SHMEMX_DEV_CMP_LE == SHMEM_CMP_LE,
               "comparisons of shmem.h");
_Static_assert(SHMEMX_DEV_SIGNAL_SET == SHMEM_SIGNAL_SET &&
                   SHMEMX_DEV_SIGNAL_ADD == SHMEM_SIGNAL_ADD,
               "signals of shmem.h");

static struct {
    pthread_mutex_t life_lock; /* guards the start and the end of the thread */
    pthread_mutex_t lock;      /* guards the list of handles; held while rings are served */
    struct stp_device_handle *first;
    pthread_t thread;
    bool running; /* whether the thread exists; changed only under life_lock */
    bool stop_requested;
    bool exiting; /* whether the thread has seen stop_requested and is ending */
} ring = {.life_lock = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- one request --------------------------------------------------------------------- */

/* Names of the device routines, for error messages. The index is the operation of the request. */
static const char *const routines[SHMEMX_DEV_N_OPS] = {
    [SHMEMX_DEV_PUT] = "shmemx_dev_put",
    [SHMEMX_DEV_STORE] = "shmemx_dev_p",
    [SHMEMX_DEV_GET] = "shmemx_dev_get",
    [SHMEMX_DEV_LOAD] = "shmemx_dev_g",
    [SHMEMX_DEV_PUT_SIGNAL] = "shmemx_dev_put_signal",
    [SHMEMX_DEV_ATOMIC] = "shmemx_dev_atomic",
    [SHMEMX_DEV_QUIET] = "shmemx_dev_quiet",
    [SHMEMX_DEV_BAD_COMPARISON] = "shmemx_dev_wait_until",
};

/*
 * Returns this PE's address of an object that a kernel has passed. The argument `space` is the
 * number of a row of the handle's table. The argument `offset` is the offset of the object in the
 * space of this row. If there is no row with this number, `offset` is the address of the object.
 */
static char *ring_address(const struct stp_device_handle *handle, uint32_t space, uint64_t offset)
{
    if (space < handle->view.n_spaces) return handle->bases[space] + offset;
    return (char *)(uintptr_t)offset;
}

static void ring_store(struct stp_ctx *ctx, void *dest, const void *value, size_t nbytes, int pe,
                       const char *fn)
{
    void *mapped = stp_ptr_inline(dest, pe, STP_USE_COPY);

    if (mapped != NULL)
        memcpy(mapped, value, nbytes);
    else
        stp_store_slow(ctx, dest, value, nbytes, pe, fn);
}

static uint64_t ring_atomic(struct stp_ctx *ctx, const struct stp_dev_request *request, void *dest,
                            int pe, const char *fn)
{
    static const enum stp_fabric_amo ops[SHMEMX_DEV_N_AMOS] = {
        [SHMEMX_DEV_AMO_FETCH] = STP_AMO_FETCH, [SHMEMX_DEV_AMO_SET] = STP_AMO_SET,
        [SHMEMX_DEV_AMO_SWAP] = STP_AMO_SWAP,   [SHMEMX_DEV_AMO_CSWAP] = STP_AMO_CSWAP,
        [SHMEMX_DEV_AMO_ADD] = STP_AMO_ADD,     [SHMEMX_DEV_AMO_AND] = STP_AMO_AND,
        [SHMEMX_DEV_AMO_OR] = STP_AMO_OR,       [SHMEMX_DEV_AMO_XOR] = STP_AMO_XOR,
    };
    enum stp_fabric_amo op = ops[request->variant];
    /* Use 4-byte variables for 4-byte operands, because the host may be big-endian. */
    uint32_t value32 = (uint32_t)request->value, compare32 = (uint32_t)request->compare, old32 = 0;
    bool is_4_bytes = request->nbytes == sizeof(value32);
    const void *value = is_4_bytes ? (const void *)&value32 : &request->value;
    const void *compare = is_4_bytes ? (const void *)&compare32 : &request->compare;
    uint64_t old64 = 0;
    void *result = is_4_bytes ? (void *)&old32 : &old64;
    void *mapped = stp_ptr_inline(dest, pe, STP_USE_ATOMIC);

    if (op == STP_AMO_FETCH) value = NULL;
    if (op != STP_AMO_CSWAP) compare = NULL;
    if (!request->waits) result = NULL;
    if (mapped != NULL)
        stp_amo_apply(mapped, request->nbytes, op, value, compare, result);
    else
        stp_amo_slow(ctx, op, is_4_bytes ? STP_U32 : STP_U64, dest, value, compare, result, false,
                     pe, fn);
    return is_4_bytes ? old32 : old64;
}

/*
 * Returns this PE's address of the object of a request. Ends the job if the object is not
 * symmetric. The check is made here because kernels do not make it.
 */
static char *ring_object(const struct stp_device_handle *handle,
                         const struct stp_dev_request *request, int pe, const char *fn)
{
    bool reads = request->op == SHMEMX_DEV_GET || request->op == SHMEMX_DEV_LOAD;
    char *object = ring_address(handle, request->space, request->offset);

    if (request->nbytes > 0)
        (void)stp_symmetric(object, request->nbytes, pe, NULL, fn, reads ? "source" : "dest");
    return object;
}

static uint64_t *ring_signal(const struct stp_device_handle *handle,
                             const struct stp_dev_request *request, int pe, const char *fn)
{
    char *word = ring_address(handle, request->signal_space, request->signal_offset);

    (void)stp_symmetric(word, sizeof(uint64_t), pe, NULL, fn, "sig_addr");
    return (uint64_t *)(void *)word;
}

static void ring_check(const struct stp_device_handle *handle,
                       const struct stp_dev_request *request)
{
    const char *fn;

    if (request->op == SHMEMX_DEV_NOTHING || request->op >= SHMEMX_DEV_N_OPS ||
        (request->op == SHMEMX_DEV_ATOMIC &&
         (request->variant == 0 || request->variant >= SHMEMX_DEV_N_AMOS)))
        stp_fatal(
            "shmemx_dev",
            "a kernel sent the unknown request %u.%u: did a kernel overwrite the rings of the "
            "device handle?",
            request->op, request->variant);
    fn = routines[request->op];
    if (request->op == SHMEMX_DEV_BAD_COMPARISON) stp_fatal_cmp(fn, (int)request->variant);
    if ((uint32_t)request->pe >= (uint32_t)handle->view.n_pes)
        stp_fatal_pe(fn, request->pe, handle->view.n_pes);
}

/* Performs a request. Returns its result, or 0 if the operation has no result. */
static uint64_t ring_perform(struct stp_device_handle *handle,
                             const struct stp_dev_request *request)
{
    const char *fn = routines[request->op];
    struct stp_ctx *ctx = handle->ctx;
    int pe = handle->pes[request->pe];
    char *object = ring_object(handle, request, pe, fn);
    void *local = (void *)(uintptr_t)request->local;
    uint64_t result = 0;

    switch (request->op) {
    case SHMEMX_DEV_PUT:
        if (request->waits)
            stp_put(ctx, object, local, request->nbytes, pe, fn);
        else
            stp_put_nbi(ctx, object, local, request->nbytes, pe, fn);
        break;
    case SHMEMX_DEV_STORE:
        ring_store(ctx, object, &request->value, request->nbytes, pe, fn);
        break;
    case SHMEMX_DEV_GET:
        stp_get(ctx, local, object, request->nbytes, pe, fn);
        break;
    case SHMEMX_DEV_LOAD:
        stp_get(ctx, &result, object, request->nbytes, pe, fn);
        break;
    case SHMEMX_DEV_PUT_SIGNAL:
        stp_put_signal(ctx, object, local, request->nbytes, ring_signal(handle, request, pe, fn),
                       request->value, (int)request->variant, !request->waits, pe, fn);
        break;
    case SHMEMX_DEV_ATOMIC:
        result = ring_atomic(ctx, request, object, pe, fn);
        break;
    default: /* SHMEMX_DEV_QUIET */
        stp_quiet(ctx);
    }
    return result;
}

/* ---- rings ------------------------------------------------------------------------------- */

static bool ring_serve_one(struct stp_device_handle *handle, uint32_t number)
{
    shmemx_device_handle_t *view = &handle->view;
    uint64_t ticket = handle->served[number];
    struct stp_dev_slot *slot =
        &view->slots[(size_t)number * view->n_slots + ticket % view->n_slots];
    struct stp_dev_request request;

    /* Pairs with the release store of `ready` in stp_dev_ask(). */
    if (__atomic_load_n(&slot->ready, __ATOMIC_ACQUIRE) != ticket + 1) return false;
    request = slot->request;
    ring_check(handle, &request);
    slot->result = ring_perform(handle, &request);
    handle->served[number] = ticket + 1;
    if (request.op == SHMEMX_DEV_QUIET) /* Pairs with the acquire load in shmemx_dev_quiet(). */
        __atomic_store_n(&view->rings[number].completed, ticket + 1, __ATOMIC_RELEASE);
    /* The stores to `done` and `turn` pair with the acquire loads in stp_dev_ask(). */
    if (request.waits)
        __atomic_store_n(&slot->done, ticket + 1, __ATOMIC_RELEASE);
    else
        __atomic_store_n(&slot->turn, ticket + view->n_slots, __ATOMIC_RELEASE);
    return true;
}

/*
 * Serves at most one request of each ring, so that a busy ring does not delay the other rings.
 * Returns whether a request was found.
 */
static bool ring_serve_all(struct stp_device_handle *handle)
{
    bool found = false;

    for (uint32_t i = 0; i < handle->view.n_rings; i++)
        found |= ring_serve_one(handle, i);
    return found;
}

/*
 * Naps, and about once a second checks whether the peers are alive. A kernel may wait for a PE that
 * is dead, and the program may wait for this kernel.
 */
static void ring_nap(void)
{
    static unsigned naps;

    usleep(RING_NAP_US);
    if (++naps % RING_NAPS_PER_CHECK != 0) return;
    stp_process_exit_if_program_over();
    stp_wait_run_hook();
}

static void *ring_main(void *arg)
{
    int n_idle_polls = 0;

    (void)arg;
    /* Pairs with the release stores in ring_end() and stp_device_handles_try_stop(). */
    while (!__atomic_load_n(&ring.stop_requested, __ATOMIC_ACQUIRE)) {
        bool found = false;

        pthread_mutex_lock(&ring.lock);
        for (struct stp_device_handle *handle = ring.first; handle != NULL; handle = handle->next)
            found |= ring_serve_all(handle);
        pthread_mutex_unlock(&ring.lock);
        if (found)
            n_idle_polls = 0;
        else if (n_idle_polls++ < RING_IDLE_POLLS)
            stp_yield_and_watch_peers(0);
        else
            ring_nap();
    }
    /* Pairs with the acquire loads in stp_device_handles_try_stop(). */
    __atomic_store_n(&ring.exiting, true, __ATOMIC_RELEASE);
    return NULL;
}

/* ---- start and end ------------------------------------------------------------------------ */

/* Starts the thread if it does not run. The caller holds ring.life_lock. Returns 0, or -errno. */
static int ring_start(void)
{
    int rc;

    if (ring.running) return 0;
    /* These two stores pair with no load, because the thread starts after them. */
    __atomic_store_n(&ring.stop_requested, false, __ATOMIC_RELEASE);
    __atomic_store_n(&ring.exiting, false, __ATOMIC_RELEASE);
    rc = stp_thread_start(&ring.thread, "steppe-kernels", ring_main);
    /* Pairs with the acquire load in stp_device_handles_try_stop(). */
    if (rc == 0) __atomic_store_n(&ring.running, true, __ATOMIC_RELEASE);
    return rc;
}

static void ring_end(void)
{
    if (!ring.running) return;
    /* Pairs with the acquire load in ring_main(). */
    __atomic_store_n(&ring.stop_requested, true, __ATOMIC_RELEASE);
    pthread_join(ring.thread, NULL);
    __atomic_store_n(&ring.running, false, __ATOMIC_RELEASE);
}

int stp_device_handle_start_serving(struct stp_device_handle *handle)
{
    int rc;

    pthread_mutex_lock(&ring.life_lock);
    rc = ring_start();
    if (rc == 0) {
        pthread_mutex_lock(&ring.lock);
        handle->next = ring.first;
        ring.first = handle;
        pthread_mutex_unlock(&ring.lock);
    }
    pthread_mutex_unlock(&ring.life_lock);
    return rc;
}

struct stp_device_handle *stp_device_handle_check_live(const void *owner)
{
    struct stp_device_handle *handle;

    pthread_mutex_lock(&ring.lock);
    for (handle = ring.first; handle != NULL && handle != owner;)
        handle = handle->next;
    pthread_mutex_unlock(&ring.lock);
    return handle;
}

void stp_device_handle_stop_serving(struct stp_device_handle *handle)
{
    struct stp_device_handle **link;

    pthread_mutex_lock(&ring.life_lock);
    pthread_mutex_lock(&ring.lock);
    for (link = &ring.first; *link != handle;)
        link = &(*link)->next;
    while (ring_serve_all(handle))
        ;
    *link = handle->next;
    pthread_mutex_unlock(&ring.lock);
    /* The list cannot change now, because this thread holds ring.life_lock. */
    if (ring.first == NULL) ring_end();
    pthread_mutex_unlock(&ring.life_lock);
}

/*
 * Frees the handles that the program has not destroyed. Otherwise the thread would serve their
 * rings again after the next init. By then, other data may be at the addresses of these rings.
 */
void stp_device_handles_stop_and_free(void)
{
    pthread_mutex_lock(&ring.life_lock);
    ring_end();
    pthread_mutex_lock(&ring.lock);
    while (ring.first != NULL) {
        struct stp_device_handle *handle = ring.first;

        ring.first = handle->next;
        stp_device_handle_free_host_records(handle);
    }
    pthread_mutex_unlock(&ring.lock);
    pthread_mutex_unlock(&ring.life_lock);
}

bool stp_device_handles_try_stop(void)
{
    /* Pairs with the release stores in ring_start() and ring_end(). */
    if (!__atomic_load_n(&ring.running, __ATOMIC_ACQUIRE)) return true;
    __atomic_store_n(&ring.stop_requested, true, __ATOMIC_RELEASE);
    /* This load and the load in the return statement pair with the release store in ring_main(). */
    for (int ms = 0; ms < RING_HALT_MS && !__atomic_load_n(&ring.exiting, __ATOMIC_ACQUIRE); ms++)
        usleep(1000);
    /*
     * If `exiting` is still false, the thread may be waiting for a dead peer. The field `exiting`
     * also stays false if the thread itself has called this function.
     */
    return __atomic_load_n(&ring.exiting, __ATOMIC_ACQUIRE);
}
