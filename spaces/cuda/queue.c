/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file implements queues, which keep the copies of an OpenSHMEM context in order. A queue has
 * a CUDA stream of its own on each device that it uses. Each stream has an arena of pinned memory
 * for copies of small sources. Design: docs/design/cuda.md.
 */
#include "cuda.h"

#include <errno.h>
#include <stdlib.h>

#define QUEUE_ARENA ((size_t)64 << 10)
#define QUEUE_ALIGN 64

_Static_assert(QUEUE_ARENA % CUDA_SMALL == 0 && QUEUE_ARENA >= 4 * CUDA_SMALL,
               "the arena must hold at least four small copies");

/* The locks are taken in this order: queues.lock, the lock of one queue, stp_cuda.lock. */
static struct {
    pthread_mutex_t lock; /* guard of the list of all queues */
    struct stp_queue *first;
} queues = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- streams ----------------------------------------------------------------------------- */

/* Creates a stream and adds it to the queue. Returns NULL after logging. */
static struct cuda_stream *stream_add_locked(struct stp_queue *queue, struct cuda_device *device)
{
    struct cuda_stream *stream = calloc(1, sizeof(*stream));
    CUresult result;

    if (stream == NULL) {
        stp_error("gpu %d: out of memory: cannot create a stream for copies", device->ordinal);
        return NULL;
    }
    stream->device = device;
    if (stp_cuda_retain_and_enter(device) == 0) {
        result = stp_cuda.api.stream_create(&stream->handle, CU_STREAM_NON_BLOCKING);
        stp_cuda_leave();
        if (stp_cuda_check(device, result, "cuStreamCreate") == 0) {
            stream->next = queue->streams;
            queue->streams = stream;
            return stream;
        }
        stp_cuda_context_unref(device);
    }
    free(stream);
    return NULL;
}

int stp_cuda_stream_wait(struct cuda_stream *stream)
{
    stream->used = 0;
    stream->dirty = false;
    return stp_cuda_check(stream->device, stp_cuda.api.stream_synchronize(stream->handle),
                          "cuStreamSynchronize");
}

/*
 * Waits for all work of the stream. The stream's context need not be current. Returns 0 or -errno.
 */
static int stream_drain(struct cuda_stream *stream)
{
    int rc;

    /* Pairs with the atomic exchange in stp_cuda_check(). */
    if (!stream->dirty) return __atomic_load_n(&stream->device->lost, __ATOMIC_SEQ_CST) ? -EIO : 0;
    rc = stp_cuda_enter(stream->device);
    if (rc != 0) return rc;
    rc = stp_cuda_stream_wait(stream);
    stp_cuda_leave();
    return rc;
}

/*
 * Destroys the stream. If the device is lost, does not free the driver's objects, because the
 * driver frees them together with the context.
 */
static void queue_stream_end(struct cuda_stream *stream)
{
    (void)stream_drain(stream);
    if (stp_cuda_enter(stream->device) == 0) {
        if (stream->arena != NULL)
            stp_cuda_log_failure(stp_cuda.api.mem_free_host(stream->arena), "cuMemFreeHost");
        stp_cuda_log_failure(stp_cuda.api.stream_destroy(stream->handle), "cuStreamDestroy");
        stp_cuda_leave();
    }
    stp_cuda_context_unref(stream->device);
    free(stream);
}

/*
 * Returns the queue's stream on this device. Creates the stream if necessary. First waits for the
 * queue's work on other devices. Returns NULL on failure.
 */
static struct cuda_stream *stream_get_locked(struct stp_queue *queue, struct cuda_device *device)
{
    struct cuda_stream *found = NULL;

    for (struct cuda_stream *stream = queue->streams; stream != NULL; stream = stream->next) {
        if (stream->device == device)
            found = stream;
        else if (stream->dirty && stream_drain(stream) != 0)
            return NULL;
    }
    if (STP_LIKELY(found != NULL)) return found;
    return stream_add_locked(queue, device);
}

struct cuda_stream *stp_cuda_queue_lock(struct stp_queue *queue, struct cuda_device *device)
{
    struct cuda_stream *stream;

    pthread_mutex_lock(&queue->lock);
    stream = stream_get_locked(queue, device);
    if (stream != NULL && stp_cuda_enter(device) == 0) return stream;
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

void stp_cuda_queue_unlock(struct stp_queue *queue)
{
    stp_cuda_leave();
    pthread_mutex_unlock(&queue->lock);
}

/*
 * Allocates the arena of the stream. The caller has made the context current. Returns false on
 * failure.
 */
static bool stream_make_arena(struct cuda_stream *stream)
{
    void *arena = NULL;
    CUresult result = stp_cuda.api.mem_host_alloc(&arena, QUEUE_ARENA, CU_MEMHOSTALLOC_PORTABLE);

    stp_cuda_log_failure(result, "cuMemHostAlloc");
    if (result == CUDA_SUCCESS) stream->arena = arena;
    return result == CUDA_SUCCESS;
}

char *stp_cuda_stream_room(struct cuda_stream *stream, size_t nbytes)
{
    size_t padded = (nbytes + QUEUE_ALIGN - 1) & ~(size_t)(QUEUE_ALIGN - 1);

    if (STP_UNLIKELY(stream->arena == NULL) && !stream_make_arena(stream)) return NULL;
    if (stream->used + padded > QUEUE_ARENA && stp_cuda_stream_wait(stream) != 0) return NULL;
    stream->used += padded;
    return stream->arena + stream->used - padded;
}

void stp_cuda_streams_drain(struct cuda_device *device, bool destroy)
{
    pthread_mutex_lock(&queues.lock);
    for (struct stp_queue *queue = queues.first; queue != NULL; queue = queue->next) {
        struct cuda_stream **link = &queue->streams, *stream;
        pthread_mutex_lock(&queue->lock);
        while (*link != NULL && (*link)->device != device)
            link = &(*link)->next;
        stream = *link;
        if (stream != NULL && destroy) {
            *link = stream->next;
            queue_stream_end(stream);
        } else if (stream != NULL) {
            (void)stream_drain(stream);
        }
        pthread_mutex_unlock(&queue->lock);
    }
    pthread_mutex_unlock(&queues.lock);
}

/*
 * Creates the queue's stream and arena on this device if they do not exist. Ignores failures,
 * because the first copy tries again.
 */
static void queue_stream_prepare(struct stp_queue *queue, struct cuda_device *device)
{
    struct cuda_stream *stream;

    pthread_mutex_lock(&queue->lock);
    stream = queue->streams;
    while (stream != NULL && stream->device != device)
        stream = stream->next;
    if (stream == NULL) stream = stream_add_locked(queue, device);
    if (stream != NULL && stream->arena == NULL && stp_cuda_enter(device) == 0) {
        (void)stream_make_arena(stream);
        stp_cuda_leave();
    }
    pthread_mutex_unlock(&queue->lock);
}

void stp_cuda_streams_prepare(struct cuda_device *device)
{
    pthread_mutex_lock(&queues.lock);
    for (struct stp_queue *queue = queues.first; queue != NULL; queue = queue->next)
        queue_stream_prepare(queue, device);
    pthread_mutex_unlock(&queues.lock);
}

/* ---- queues ------------------------------------------------------------------------------- */

bool stp_cuda_has_spaces(const struct cuda_device *device)
{
    bool has_spaces;

    pthread_mutex_lock(&stp_cuda.lock);
    has_spaces = device->n_spaces > 0;
    pthread_mutex_unlock(&stp_cuda.lock);
    return has_spaces;
}

int stp_cuda_queue_create(struct stp_queue **queue)
{
    struct stp_queue *new_queue = calloc(1, sizeof(*new_queue));

    if (new_queue == NULL) {
        stp_error("gpu: out of memory: cannot allocate the list of pending copies");
        return -ENOMEM;
    }
    pthread_mutex_init(&new_queue->lock, NULL);
    pthread_mutex_lock(&queues.lock);
    new_queue->next = queues.first;
    queues.first = new_queue;
    pthread_mutex_unlock(&queues.lock);
    /*
     * The queue is already in the list of queues. If another thread creates the first space on a
     * device now, that thread therefore also finds the queue.
     */
    for (int i = 0; i < stp_cuda.n_devices; i++)
        if (stp_cuda_has_spaces(&stp_cuda.devices[i]))
            queue_stream_prepare(new_queue, &stp_cuda.devices[i]);
    *queue = new_queue;
    return 0;
}

void stp_cuda_queue_destroy(struct stp_queue *queue)
{
    struct stp_queue **link = &queues.first;

    if (queue == NULL) return;
    pthread_mutex_lock(&queues.lock);
    while (*link != queue)
        link = &(*link)->next;
    *link = queue->next;
    pthread_mutex_unlock(&queues.lock);
    while (queue->streams != NULL) {
        struct cuda_stream *stream = queue->streams;
        queue->streams = stream->next;
        queue_stream_end(stream);
    }
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

int stp_cuda_queue_flush(struct stp_queue *queue)
{
    int rc = 0;

    if (queue == NULL || !__atomic_load_n(&queue->dirty, __ATOMIC_RELAXED)) return 0;
    pthread_mutex_lock(&queue->lock);
    for (struct cuda_stream *stream = queue->streams; stream != NULL; stream = stream->next) {
        int stream_rc = stream_drain(stream);
        if (rc == 0) rc = stream_rc;
    }
    /*
     * Clear the flag last. Another thread that finds the flag cleared assumes that its own copies
     * are complete.
     */
    if (rc == 0) __atomic_store_n(&queue->dirty, false, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&queue->lock);
    return rc;
}
