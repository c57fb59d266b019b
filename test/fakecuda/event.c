/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake CUDA driver, a test double and never evidence about a GPU: events. A record is work of its
 * stream; whoever waits, waits for the records that were made before.
 */
#include "fake.h"

#include <stdlib.h>

enum { EVENT_MAGIC = 0x45766e46 };

/* Never freed, so that the use of a destroyed one is seen. */
struct CUevent_st {
    unsigned int magic;
    CUcontext ctx;
    unsigned int flags;
    bool closed;
    uint64_t n_recorded;
    uint64_t n_done;
    uint64_t when;    /* the last one that is done, nanoseconds */
    CUgraph captured; /* the last record is a node of it */
    CUevent next;
};

/* A record, or a stream's waiting for one. */
struct event_work {
    struct fake_work work;
    CUevent event;
    uint64_t number;
};

static CUevent events;

long fake_event_count_locked(void)
{
    long count = 0;

    for (CUevent event = events; event; event = event->next)
        count += !event->closed;
    return count;
}

void fake_events_close_of_locked(CUcontext ctx)
{
    for (CUevent event = events; event; event = event->next) {
        if (event->ctx != ctx || event->closed) continue;
        event->closed = true;
        fake.n_lost++;
    }
}

static CUevent check_event(CUevent event)
{
    if (event->magic != EVENT_MAGIC) fake_die("%p is not an event", (void *)event);
    if (event->closed) fake_die("event %p was destroyed", (void *)event);
    return event;
}

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuEventCreate, &ctx);
    CUevent created;

    if (result != CUDA_SUCCESS) return result;
    if (!event || flags & ~(unsigned int)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    created = calloc(1, sizeof(*created));
    if (!created) return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    created->magic = EVENT_MAGIC;
    created->ctx = ctx;
    created->flags = flags;
    created->next = events;
    events = created;
    *event = created;
    return fake_end(CUDA_SUCCESS);
}

/* Records that are under way still happen. */
CUresult cuEventDestroy_v2(CUevent event)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuEventDestroy_v2, &ctx);

    if (result != CUDA_SUCCESS) return result;
    if (!event) return fake_end(CUDA_ERROR_INVALID_HANDLE);
    check_event(event)->closed = true;
    return fake_end(CUDA_SUCCESS);
}

/* ---- records and waits ------------------------------------------------------ */

static void record_end_locked(struct fake_work *work)
{
    struct event_work *own = (struct event_work *)work;

    if (own->event->n_done < own->number) own->event->n_done = own->number;
    own->event->when = fake_now_ns();
    free(own);
}

static bool wait_ready_locked(struct fake_work *work)
{
    const struct event_work *own = (struct event_work *)work;

    return own->event->n_done >= own->number;
}

static void wait_end_locked(struct fake_work *work)
{
    free(work);
}

static CUresult submit_locked(CUstream stream, struct event_work work, CUresult fault)
{
    struct event_work *own = malloc(sizeof(*own));
    CUresult result;

    if (!own) return CUDA_ERROR_OUT_OF_MEMORY;
    *own = work;
    result =
        fake_stream_submit_locked(stream, &(struct fake_op){.work = &own->work, .fault = fault});
    if (result != CUDA_SUCCESS) free(own);
    return result;
}

CUresult cuEventRecord(CUevent event, CUstream handle)
{
    struct event_work own = {.work = {.end_locked = record_end_locked}, .event = event};
    CUcontext ctx;
    CUresult fault;
    CUresult result = fake_begin_async(FAKE_cuEventRecord, &ctx, &fault);
    CUstream stream;

    if (result != CUDA_SUCCESS) return result;
    if (!event) return fake_end(CUDA_ERROR_INVALID_HANDLE);
    check_event(event);
    result = fake_stream_of_locked(handle, NULL, &stream);
    if (result != CUDA_SUCCESS) return fake_end(result);
    if (event->ctx != stream->ctx) return fake_end(CUDA_ERROR_INVALID_HANDLE);
    event->captured = stream->capture;
    if (stream->capture) {
        fake_graph_add_locked(stream->capture);
        return fake_end(CUDA_SUCCESS);
    }
    own.number = event->n_recorded + 1;
    result = submit_locked(stream, own, fault);
    if (result == CUDA_SUCCESS) event->n_recorded++;
    return fake_end(result);
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags)
{
    struct event_work own = {
        .work = {.ready_locked = wait_ready_locked, .end_locked = wait_end_locked}, .event = event};
    CUcontext ctx;
    CUresult fault;
    CUresult result = fake_begin_async(FAKE_cuStreamWaitEvent, &ctx, &fault);
    CUstream stream;

    if (result != CUDA_SUCCESS) return result;
    if (!event || flags != 0) return fake_end(CUDA_ERROR_INVALID_VALUE);
    check_event(event);
    result = fake_stream_of_locked(handle, NULL, &stream);
    if (result != CUDA_SUCCESS) return fake_end(result);
    if (event->captured && event->captured != stream->capture)
        fake_die("stream %p would join a capture: this driver follows none to a second stream",
                 (void *)stream);
    if (stream->capture && !event->captured)
        fake_die("stream %p is captured and waits for an event that is not", (void *)stream);
    own.number = event->n_recorded;
    return fake_end(submit_locked(stream, own, fault));
}

/* ---- what hosts ask ----------------------------------------------------------- */

static CUresult begin_event(enum fake_call call, CUevent event)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(call, &ctx);

    if (result != CUDA_SUCCESS) return result;
    if (!event) return fake_end(CUDA_ERROR_INVALID_HANDLE);
    check_event(event);
    if (event->captured) fake_die("event %p was recorded in a capture", (void *)event);
    return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event)
{
    CUresult result = begin_event(FAKE_cuEventQuery, event);

    if (result != CUDA_SUCCESS) return result;
    if (event->ctx->lost != CUDA_SUCCESS) return fake_end(event->ctx->lost);
    return fake_end(event->n_done < event->n_recorded ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}

CUresult cuEventSynchronize(CUevent event)
{
    CUresult result = begin_event(FAKE_cuEventSynchronize, event);
    uint64_t target;

    if (result != CUDA_SUCCESS) return result;
    target = event->n_recorded;
    while (event->n_done < target)
        pthread_cond_wait(&fake.changed, &fake.lock);
    return fake_end(event->ctx->lost);
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    CUresult result = begin_event(FAKE_cuEventElapsedTime, start);

    if (result != CUDA_SUCCESS) return result;
    if (!ms || !end) return fake_end(CUDA_ERROR_INVALID_VALUE);
    check_event(end);
    if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING || start->n_recorded == 0 ||
        end->n_recorded == 0)
        return fake_end(CUDA_ERROR_INVALID_HANDLE);
    if (start->n_done < start->n_recorded || end->n_done < end->n_recorded)
        return fake_end(CUDA_ERROR_NOT_READY);
    *ms = (float)((double)(int64_t)(end->when - start->when) / 1e6);
    return fake_end(CUDA_SUCCESS);
}
