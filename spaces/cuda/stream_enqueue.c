/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file finds the device to which a CUDA stream of the program belongs, and enqueues operations
 * on such streams. Design: docs/design/streams.md.
 */
#include "cuda.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * Largest handle of a default stream. The handles 0, 1 and 2 denote default streams of the current
 * context.
 */
#define STREAM_DEFAULTS ((uintptr_t)2)

#define STREAM_TOO_OLD "the CUDA driver lacks functions for operations on streams"

/*
 * has_ref[i] is true if this file holds a reference to the context of device i for the program's
 * streams.
 */
static bool has_ref[CUDA_MAX_DEVICES];

static bool stream_functions(void)
{
    const struct stp_cuda_api *api = &stp_cuda.api;

    return api->stream_get_ctx != NULL && api->stream_is_capturing != NULL &&
           api->launch_host_func != NULL && api->stream_write_value != NULL &&
           api->stream_wait_value != NULL;
}

static bool stream_has_ref(int device)
{
    /*
     * Pairs with the exchange in stream_keep_ref(). If the result is true, the caller may read
     * device->ctx.
     */
    return __atomic_load_n(&has_ref[device], __ATOMIC_ACQUIRE);
}

/*
 * Takes over the caller's reference to the device's context. If this file already holds a reference
 * for streams, releases the caller's reference.
 */
static void stream_keep_ref(int device)
{
    /* Pairs with the load in stream_has_ref(). */
    if (__atomic_exchange_n(&has_ref[device], true, __ATOMIC_RELEASE))
        stp_cuda_context_unref(&stp_cuda.devices[device]);
}

static int stream_find_default(int device, struct stp_stream *stream, char *reason)
{
    struct stp_space_params params = {.device = device};
    struct cuda_device *chosen_device;
    int rc = stp_cuda_choose(&params, &chosen_device, reason, STP_STREAM_WHY);

    if (rc != 0) return rc;
    stream->device = chosen_device->ordinal;
    if (stream_has_ref(chosen_device->ordinal)) return 0;
    rc = stp_cuda_context_ref(chosen_device);
    if (rc == 0) stream_keep_ref(chosen_device->ordinal);
    return rc;
}

/*
 * Returns whether ctx is the primary context of device i. If so, keeps a reference to this context.
 */
static bool stream_is_of_device(int i, CUcontext ctx)
{
    struct cuda_device *device = &stp_cuda.devices[i];
    unsigned flags;
    int active = 0;

    if (stream_has_ref(i)) return device->ctx == ctx;
    (void)stp_cuda.api.primary_ctx_get_state(device->handle, &flags, &active);
    if (!active || stp_cuda_context_ref(device) != 0) return false;
    if (device->ctx == ctx) {
        stream_keep_ref(i);
        return true;
    }
    stp_cuda_context_unref(device);
    return false;
}

int stp_stream_find(void *handle, int device, struct stp_stream *stream, char *reason)
{
    CUcontext ctx = NULL;
    CUresult result;

    *stream = (struct stp_stream){handle, -1};
    if (!stp_cuda.usable)
        return stp_reason(-ENODEV, reason, STP_STREAM_WHY, "this PE has no GPU: %s",
                          stp_cuda.reason);
    if (!stream_functions()) return stp_reason(-ENODEV, reason, STP_STREAM_WHY, STREAM_TOO_OLD);
    if ((uintptr_t)handle <= STREAM_DEFAULTS) return stream_find_default(device, stream, reason);
    result = stp_cuda.api.stream_get_ctx(handle, &ctx);
    if (result != CUDA_SUCCESS) {
        char text[CUDA_TEXT];

        return stp_reason(-EINVAL, reason, STP_STREAM_WHY,
                          "it is not a CUDA stream: cuStreamGetCtx: %s",
                          stp_cuda_text(result, text, sizeof(text)));
    }
    for (int i = 0; i < stp_cuda.n_devices && stream->device < 0; i++)
        if (stream_is_of_device(i, ctx)) stream->device = i;
    if (stream->device >= 0) return 0;
    return stp_reason(
        -EINVAL, reason, STP_STREAM_WHY,
        "its CUDA context is not the primary context of a device: create the stream in a "
        "primary context, as the CUDA runtime does");
}

int stp_stream_context_push(const struct stp_stream *stream, char *reason)
{
    struct cuda_device *device = &stp_cuda.devices[stream->device];
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result;
    int rc = stp_cuda_enter(device);

    if (rc != 0)
        return stp_reason(rc, reason, STP_STREAM_WHY,
                          "gpu %d cannot be used (an earlier message gives the reason)",
                          stream->device);
    result = stp_cuda.api.stream_is_capturing(stream->handle, &status);
    if (result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_NONE) return 0;
    stp_cuda_leave();
    if (result == CUDA_SUCCESS) {
        snprintf(reason, STP_STREAM_WHY,
                 "it is being captured into a CUDA graph, but a graph cannot contain operations "
                 "of OpenSHMEM");
    } else {
        char text[CUDA_TEXT];

        snprintf(reason, STP_STREAM_WHY, "cuStreamIsCapturing failed: %s",
                 stp_cuda_text(result, text, sizeof(text)));
    }
    return -EINVAL;
}

void stp_stream_context_pop(void)
{
    stp_cuda_leave();
}

static int user_stream_check(const struct stp_stream *stream, CUresult result, const char *call)
{
    return stp_cuda_check(&stp_cuda.devices[stream->device], result, call);
}

int stp_stream_copy(const struct stp_stream *stream, void *dest, const void *source, size_t nbytes)
{
    return user_stream_check(stream,
                             stp_cuda_issue(CUDA_ANY_WAY, stp_cuda_address(dest),
                                            stp_cuda_address(source), nbytes, stream->handle),
                             "cuMemcpyAsync");
}

int stp_stream_write(const struct stp_stream *stream, void *word, uint64_t value)
{
    return user_stream_check(stream,
                             stp_cuda.api.stream_write_value(stream->handle, stp_cuda_address(word),
                                                             value, CU_STREAM_WRITE_VALUE_DEFAULT),
                             "cuStreamWriteValue64");
}

int stp_stream_wait(const struct stp_stream *stream, void *word, uint64_t value, bool equal)
{
    return user_stream_check(
        stream,
        stp_cuda.api.stream_wait_value(stream->handle, stp_cuda_address(word), value,
                                       equal ? CU_STREAM_WAIT_VALUE_EQ : CU_STREAM_WAIT_VALUE_GEQ),
        "cuStreamWaitValue64");
}

int stp_stream_call(const struct stp_stream *stream, void (*function)(void *arg), void *arg)
{
    return user_stream_check(stream, stp_cuda.api.launch_host_func(stream->handle, function, arg),
                             "cuLaunchHostFunc");
}

void *stp_stream_words(int ordinal, size_t nbytes, char *reason)
{
    struct cuda_device *device = &stp_cuda.devices[ordinal];
    char text[CUDA_TEXT];
    void *words = NULL;
    CUresult result;

    snprintf(reason, STP_STREAM_WHY, STREAM_TOO_OLD);
    if (!stream_functions()) return NULL;
    snprintf(reason, STP_STREAM_WHY, "gpu %d cannot be used (an earlier message gives the reason)",
             ordinal);
    if (stp_cuda_retain_and_enter(device) != 0) return NULL;
    result = stp_cuda.api.mem_host_alloc(&words, nbytes,
                                         CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    stp_cuda_leave();
    if (result == CUDA_SUCCESS) return memset(words, 0, nbytes);
    stp_cuda_context_unref(device);
    snprintf(reason, STP_STREAM_WHY,
             "cannot allocate pinned host memory for operations on streams: cuMemHostAlloc: %s",
             stp_cuda_text(result, text, sizeof(text)));
    return NULL;
}

void stp_stream_words_free(int ordinal, void *words)
{
    struct cuda_device *device = &stp_cuda.devices[ordinal];

    if (stp_cuda_enter(device) == 0) {
        stp_cuda_log_failure(stp_cuda.api.mem_free_host(words), "cuMemFreeHost");
        stp_cuda_leave();
    }
    /*
     * Unpin host memory first if the device has no spaces. Otherwise the pinned memory would keep
     * the context alive.
     */
    stp_cuda_pin_drop_if_no_spaces(device);
    stp_cuda_context_unref(device);
}

void stp_streams_release_cuda_contexts(void)
{
    for (int i = 0; i < stp_cuda.n_devices; i++)
        if (__atomic_exchange_n(&has_ref[i], false, __ATOMIC_RELAXED))
            stp_cuda_context_unref(&stp_cuda.devices[i]);
}
