/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake CUDA driver, a test double and never evidence about a GPU: streams. Each stream has a thread
 * that does the work of the stream in order and late. The thread reads and writes bytes when the
 * work runs, not when it is queued, so that a missing synchronization shows as wrong data. The
 * legacy default stream and the blocking streams of a context wait for each other, as on a device.
 */
#include "fake.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum { STREAM_MAGIC = 0x53747246, RANDOM_DELAY_US = 300, POLL_NS = 50000 };

#define LEGACY_HANDLE ((CUstream)(uintptr_t)1) /* another name of the stream NULL */

/* ---- the threads ------------------------------------------------------------ */

static bool has_older(const struct CUstream_st *stream, uint64_t ticket)
{
    return stream->head && stream->head->ticket < ticket;
}

/* Whether the first work of a stream has waited for all that it must follow. */
static bool may_run_locked(CUstream stream)
{
    CUstream legacy = &stream->ctx->legacy;
    uint64_t ticket = stream->head->ticket;

    if (!stream->blocking) return true;
    if (stream != legacy) return !has_older(legacy, ticket);
    for (CUstream other = legacy->next; other; other = other->next)
        if (other->blocking && has_older(other, ticket)) return false;
    return true;
}

static void wait_until_locked(uint64_t when)
{
    struct timespec ts = {
        .tv_sec = (time_t)(when / 1000000000u),
        .tv_nsec = (long)(when % 1000000000u),
    };

    pthread_cond_timedwait(&fake.changed, &fake.lock, &ts);
}

static void end_op_locked(struct fake_op *op)
{
    if (op->work && op->work->end_locked) op->work->end_locked(op->work);
    free(op->work);
    free(op->staged);
    free(op);
}

/* Without the lock; the fault that it met, if any. */
static CUresult execute(const struct fake_op *op)
{
    if (!op->work)
        fake_op_execute(op);
    else if (op->work->run)
        return op->work->run(op->work);
    return CUDA_SUCCESS;
}

static void run_first_locked(CUstream stream)
{
    struct fake_op *op = stream->head;

    if (op->fault != CUDA_SUCCESS && stream->ctx->lost == CUDA_SUCCESS)
        stream->ctx->lost = op->fault;
    if (stream->ctx->lost == CUDA_SUCCESS) {
        CUresult fault;

        pthread_mutex_unlock(&fake.lock);
        fault = execute(op);
        pthread_mutex_lock(&fake.lock);
        if (fault != CUDA_SUCCESS && stream->ctx->lost == CUDA_SUCCESS) stream->ctx->lost = fault;
    }
    stream->head = op->next;
    if (!stream->head) stream->tail = &stream->head;
    stream->n_done++;
    fake_op_pin_locked(op, -1);
    end_op_locked(op);
    pthread_cond_broadcast(&fake.changed);
}

/* Whether work that waits may go on. In a context that is lost all work goes by. */
static bool is_ready_locked(CUstream stream)
{
    struct fake_work *work = stream->head->work;

    return !work || !work->ready_locked || stream->ctx->lost != CUDA_SUCCESS ||
           work->ready_locked(work);
}

static void *work(void *arg)
{
    CUstream stream = arg;

    fake_running("work of a stream");
    pthread_mutex_lock(&fake.lock);
    while (stream->head || !stream->closed) {
        if (!stream->head || !may_run_locked(stream))
            pthread_cond_wait(&fake.changed, &fake.lock);
        else if (fake_now_ns() < stream->head->not_before)
            wait_until_locked(stream->head->not_before);
        else if (!is_ready_locked(stream)) /* words change without a word to us */
            wait_until_locked(fake_now_ns() + POLL_NS);
        else
            run_first_locked(stream);
    }
    pthread_mutex_unlock(&fake.lock);
    return NULL;
}

/* The program's signals are not for these threads. */
bool fake_thread_start(pthread_t *thread, void *(*body)(void *), void *arg)
{
    sigset_t all;
    sigset_t saved;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved);
    error = pthread_create(thread, NULL, body, arg);
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
    return error == 0;
}

/*
 * Dies when the stream, or one that the default stream waits for, is being captured: the driver
 * would refuse what the caller does, or record it in a graph, and this driver makes no graphs.
 */
static void check_captures_locked(CUstream stream)
{
    if (stream->captured) fake_die("stream %p is being captured", (void *)stream);
    if (stream != &stream->ctx->legacy) return;
    for (CUstream other = stream->next; other; other = other->next)
        if (other->captured && other->blocking)
            fake_die("the default stream waits for stream %p, which is being captured",
                     (void *)other);
}

/* ---- queueing and waiting --------------------------------------------------- */

static uint64_t delay_ns_locked(void)
{
    if (fake.delay_us >= 0) return (uint64_t)fake.delay_us * 1000;
    return fake_random_locked() % (RANDOM_DELAY_US * UINT64_C(1000));
}

CUresult fake_stream_submit_locked(CUstream stream, const struct fake_op *op)
{
    struct fake_op *queued;

    check_captures_locked(stream);
    queued = malloc(sizeof(*queued));
    if (!stream->running) stream->running = fake_thread_start(&stream->thread, work, stream);
    if (!queued || !stream->running) {
        free(queued);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *queued = *op;
    queued->next = NULL;
    queued->ticket = ++fake.ticket;
    queued->not_before = fake_now_ns() + delay_ns_locked();
    fake_op_pin_locked(queued, 1);
    *stream->tail = queued;
    stream->tail = &queued->next;
    stream->n_submitted++;
    pthread_cond_broadcast(&fake.changed);
    return CUDA_SUCCESS;
}

CUresult fake_work_submit_locked(CUstream stream, struct fake_work *work, CUresult fault)
{
    CUresult result =
        fake_stream_submit_locked(stream, &(struct fake_op){.work = work, .fault = fault});

    if (result != CUDA_SUCCESS) free(work);
    return result;
}

static void wait_changed_locked(void)
{
    pthread_cond_wait(&fake.changed, &fake.lock);
}

static void drain_one_locked(CUstream stream)
{
    uint64_t target = stream->n_submitted;

    while (stream->n_done < target)
        wait_changed_locked();
}

void fake_stream_drain_locked(CUstream stream)
{
    if (stream == &stream->ctx->legacy)
        fake_stream_drain_blocking_locked(stream->ctx);
    else
        drain_one_locked(stream);
}

void fake_stream_drain_blocking_locked(CUcontext ctx)
{
    for (CUstream stream = &ctx->legacy; stream; stream = stream->next)
        if (stream->blocking) drain_one_locked(stream);
}

void fake_stream_drain_all_locked(CUcontext ctx)
{
    for (CUstream stream = &ctx->legacy; stream; stream = stream->next)
        drain_one_locked(stream);
}

void fake_stream_drain_block_locked(const struct fake_block *block)
{
    while (block->n_pending > 0)
        wait_changed_locked();
}

/* ---- their lives ------------------------------------------------------------ */

void fake_stream_init(CUstream stream, CUcontext ctx, bool blocking)
{
    stream->magic = STREAM_MAGIC;
    stream->ctx = ctx;
    stream->blocking = blocking;
    stream->tail = &stream->head;
}

CUresult fake_stream_of_locked(CUstream handle, CUcontext ctx, CUstream *stream)
{
    if (!handle || handle == LEGACY_HANDLE) {
        *stream = &fake_ctx_current()->legacy;
        return CUDA_SUCCESS;
    }
    if (handle->magic != STREAM_MAGIC) fake_die("%p is not a stream", (void *)handle);
    if (handle->closed) fake_die("stream %p was destroyed", (void *)handle);
    if (ctx && handle->ctx != ctx) return CUDA_ERROR_INVALID_HANDLE;
    *stream = handle;
    return CUDA_SUCCESS;
}

static CUresult begin_stream(enum fake_call call, CUstream handle, CUstream *stream)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(call, &ctx);

    if (result != CUDA_SUCCESS) return result;
    result = fake_stream_of_locked(handle, NULL, stream);
    return result == CUDA_SUCCESS ? result : fake_end(result);
}

long fake_stream_count_locked(void)
{
    long count = 0;

    for (CUcontext ctx = fake.contexts; ctx; ctx = ctx->next)
        for (CUstream stream = ctx->legacy.next; stream; stream = stream->next)
            count += !stream->closed;
    return count;
}

/*
 * The work that was queued is still done. Where there is none the thread has ended on return: tests
 * that count mappings must not find its stack beside that of the next stream.
 */
static void close_locked(CUstream stream)
{
    bool idle = !stream->head;

    stream->closed = true;
    pthread_cond_broadcast(&fake.changed);
    if (!stream->running) return;
    stream->running = false;
    if (!idle) {
        pthread_detach(stream->thread);
        return;
    }
    pthread_mutex_unlock(&fake.lock);
    pthread_join(stream->thread, NULL);
    pthread_mutex_lock(&fake.lock);
}

void fake_streams_close_of_locked(CUcontext ctx)
{
    for (CUstream stream = &ctx->legacy; stream; stream = stream->next) {
        if (stream != &ctx->legacy && !stream->closed) fake.n_lost++;
        close_locked(stream);
    }
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuStreamCreate, &ctx);
    CUstream created;

    if (result != CUDA_SUCCESS) return result;
    if (!stream || flags & ~(unsigned int)CU_STREAM_NON_BLOCKING)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    created = calloc(1, sizeof(*created));
    if (!created) return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    fake_stream_init(created, ctx, flags == CU_STREAM_DEFAULT);
    created->next = ctx->legacy.next;
    ctx->legacy.next = created;
    *stream = created;
    return fake_end(CUDA_SUCCESS);
}

/* The handle ends now, the work that was queued is still done. */
CUresult cuStreamDestroy_v2(CUstream handle)
{
    CUstream stream;
    CUresult result = begin_stream(FAKE_cuStreamDestroy_v2, handle, &stream);

    if (result != CUDA_SUCCESS) return result;
    if (stream == &stream->ctx->legacy) return fake_end(CUDA_ERROR_INVALID_HANDLE);
    check_captures_locked(stream);
    close_locked(stream);
    return fake_end(CUDA_SUCCESS);
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *owner)
{
    CUresult result = fake_begin(FAKE_cuStreamGetCtx);
    CUstream stream;

    if (result != CUDA_SUCCESS) return result;
    if (!owner || (!fake_ctx_current() && (!handle || handle == LEGACY_HANDLE)))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    result = fake_stream_of_locked(handle, NULL, &stream);
    if (result == CUDA_SUCCESS) *owner = stream->ctx;
    return fake_end(result);
}

CUresult cuStreamSynchronize(CUstream handle)
{
    CUstream stream;
    CUresult result = begin_stream(FAKE_cuStreamSynchronize, handle, &stream);

    if (result != CUDA_SUCCESS) return result;
    check_captures_locked(stream);
    fake_stream_drain_locked(stream);
    return fake_end(stream->ctx->lost);
}

/* ---- captures, which do not end ------------------------------------------------ */

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode)
{
    CUstream stream;
    CUresult result = begin_stream(FAKE_cuStreamBeginCapture_v2, handle, &stream);

    if (result != CUDA_SUCCESS) return result;
    if (mode != CU_STREAM_CAPTURE_MODE_RELAXED || stream == &stream->ctx->legacy)
        return fake_end(CUDA_ERROR_NOT_SUPPORTED);
    check_captures_locked(stream);
    stream->captured = true;
    return fake_end(CUDA_SUCCESS);
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
    CUstream stream;
    CUresult result = begin_stream(FAKE_cuStreamIsCapturing, handle, &stream);

    if (result != CUDA_SUCCESS) return result;
    if (!status) return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (!stream->captured) check_captures_locked(stream);
    *status = stream->captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return fake_end(CUDA_SUCCESS);
}
