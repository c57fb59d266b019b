/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake CUDA driver, a test double and never evidence about a GPU: captures. What is queued on a
 * captured stream is counted in its graph and never done, since this driver launches no graphs. A
 * call that would spoil the program's capture ends the process, where the real driver refuses it
 * and spoils the capture.
 */
#include "fake.h"

#include <stdlib.h>

enum { GRAPH_MAGIC = 0x47726846 };

/* Also the capture that makes it. */
struct CUgraph_st {
    unsigned int magic;
    uint64_t id;
    CUstream stream; /* being captured, else NULL */
    CUstreamCaptureMode mode;
    pthread_t thread; /* that began it */
    long n_nodes;
    CUgraph next;
};

static CUgraph graphs;
static uint64_t n_captures;
static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

long fake_graph_count_locked(void)
{
    long count = 0;

    for (CUgraph graph = graphs; graph; graph = graph->next)
        count++;
    return count;
}

void fake_graph_add_locked(CUgraph graph)
{
    graph->n_nodes++;
}

/* ---- what captures forbid ----------------------------------------------------- */

/* Calls that may wait for a device, or that use the legacy default stream. */
static bool is_unsafe(enum fake_call call)
{
    switch (call) {
    case FAKE_cuMemAlloc_v2:
    case FAKE_cuMemFree_v2:
    case FAKE_cuMemAllocManaged:
    case FAKE_cuMemHostAlloc:
    case FAKE_cuMemFreeHost:
    case FAKE_cuMemHostRegister_v2:
    case FAKE_cuMemHostUnregister:
    case FAKE_cuMemcpy:
    case FAKE_cuMemcpyHtoD_v2:
    case FAKE_cuMemcpyDtoH_v2:
    case FAKE_cuMemcpyDtoD_v2:
    case FAKE_cuMemsetD8_v2:
    case FAKE_cuCtxSynchronize:
        return true;
    default:
        return false;
    }
}

static bool forbids(const struct CUgraph_st *graph)
{
    if (!graph->stream || graph->mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
    return pthread_equal(graph->thread, pthread_self()) ||
           (graph->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
            thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

void fake_capture_check_locked(enum fake_call call)
{
    if (!graphs || !is_unsafe(call)) return;
    for (CUgraph graph = graphs; graph; graph = graph->next)
        if (forbids(graph))
            fake_die("spoils the capture of stream %p, which goes on", (void *)graph->stream);
}

void fake_capture_check_stream_locked(CUstream stream)
{
    if (stream->capture) fake_die("stream %p is being captured", (void *)stream);
    if (stream != &stream->ctx->legacy) return;
    for (CUgraph graph = graphs; graph; graph = graph->next)
        if (graph->stream && graph->stream->ctx == stream->ctx && graph->stream->blocking)
            fake_die("the default stream waits for stream %p, which is being captured",
                     (void *)graph->stream);
}

/* ---- their lives ------------------------------------------------------------ */

static CUresult begin_stream(enum fake_call call, CUstream handle, CUstream *stream)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(call, &ctx);

    if (result != CUDA_SUCCESS) return result;
    result = fake_stream_of_locked(handle, NULL, stream);
    return result == CUDA_SUCCESS ? result : fake_end(result);
}

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode)
{
    CUstream stream;
    CUresult result = begin_stream(FAKE_cuStreamBeginCapture_v2, handle, &stream);
    CUgraph graph;

    if (result != CUDA_SUCCESS) return result;
    if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (stream == &stream->ctx->legacy) return fake_end((CUresult)900); /* not supported there */
    if (stream->capture) return fake_end(CUDA_ERROR_ILLEGAL_STATE);
    graph = calloc(1, sizeof(*graph));
    if (!graph) return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    graph->magic = GRAPH_MAGIC;
    graph->id = ++n_captures;
    graph->stream = stream;
    graph->mode = mode;
    graph->thread = pthread_self();
    graph->next = graphs;
    graphs = graph;
    stream->capture = graph;
    return fake_end(CUDA_SUCCESS);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
    CUstream stream;
    CUresult result = begin_stream(FAKE_cuStreamEndCapture, handle, &stream);

    if (result != CUDA_SUCCESS) return result;
    if (!graph) return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (!stream->capture) return fake_end(CUDA_ERROR_ILLEGAL_STATE);
    if (stream->capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        !pthread_equal(stream->capture->thread, pthread_self()))
        fake_die("the capture of stream %p was begun by another thread", (void *)stream);
    *graph = stream->capture;
    stream->capture->stream = NULL;
    stream->capture = NULL;
    return fake_end(CUDA_SUCCESS);
}

CUresult cuGraphDestroy(CUgraph graph)
{
    CUresult result = fake_begin(FAKE_cuGraphDestroy);
    CUgraph *at = &graphs;

    if (result != CUDA_SUCCESS) return result;
    while (*at && *at != graph)
        at = &(*at)->next;
    if (!*at) fake_die("%p is no graph, or was destroyed", (void *)graph);
    if (graph->stream) fake_die("graph %p is destroyed while it is captured", (void *)graph);
    *at = graph->next;
    free(graph);
    return fake_end(CUDA_SUCCESS);
}

/* ---- what hosts ask ----------------------------------------------------------- */

static CUresult get_info(enum fake_call call, CUstream handle, CUstreamCaptureStatus *status,
                         uint64_t *id)
{
    CUstream stream;
    CUresult result = begin_stream(call, handle, &stream);

    if (result != CUDA_SUCCESS) return result;
    if (!status) return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (!stream->capture) fake_capture_check_stream_locked(stream);
    *status = stream->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    if (id && stream->capture) *id = stream->capture->id;
    return fake_end(CUDA_SUCCESS);
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    return get_info(FAKE_cuStreamIsCapturing, stream, status, NULL);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, uint64_t *id)
{
    return get_info(FAKE_cuStreamGetCaptureInfo, stream, status, id);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUstreamCaptureMode old = thread_mode;
    CUresult result = fake_begin(FAKE_cuThreadExchangeStreamCaptureMode);

    if (result != CUDA_SUCCESS) return result;
    if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return fake_end(CUDA_ERROR_INVALID_VALUE);
    thread_mode = *mode;
    *mode = old;
    return fake_end(CUDA_SUCCESS);
}
