/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues of copies: a stream of its own on each device that a context copies with, and pinned
 * memory for small sources. Design: docs/design/cuda.md.
 */
#include "cuda.h"

#include <errno.h>
#include <stdlib.h>

#define QUEUE_ARENA ((size_t)64 << 10)
#define QUEUE_ALIGN 64

_Static_assert(QUEUE_ARENA % CUDA_SMALL == 0 && QUEUE_ARENA >= 4 * CUDA_SMALL, "room for some");

/* Locks are taken in this order: queues, queue, stp_cuda.lock. */
static struct {
    pthread_mutex_t lock;
    struct stp_queue *first;
} queues = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- lanes ----------------------------------------------------------------------------- */

/* Entered; the caller gives the reference back on failure. */
static int lane_make_stream(struct cuda_lane *lane)
{
    int rc = stp_cuda_enter(lane->device);

    if (rc != 0) return rc;
    rc = stp_cuda_check(lane->device,
                        stp_cuda.api.stream_create(&lane->stream, CU_STREAM_NON_BLOCKING),
                        "cuStreamCreate");
    stp_cuda_leave();
    return rc;
}

static struct cuda_lane *lane_new(struct cuda_device *device)
{
    struct cuda_lane *lane = calloc(1, sizeof *lane);

    if (lane == NULL) {
        stp_error("gpu %d: no memory for the records of a stream", device->ordinal);
        return NULL;
    }
    lane->device = device;
    if (stp_cuda_retain(device) == 0) {
        if (lane_make_stream(lane) == 0) return lane;
        stp_cuda_release(device);
    }
    free(lane);
    return NULL;
}

int stp_cuda_lane_wait(struct cuda_lane *lane)
{
    lane->used = 0;
    lane->dirty = false;
    return stp_cuda_check(lane->device, stp_cuda.api.stream_synchronize(lane->stream),
                          "cuStreamSynchronize");
}

/* Wait for a lane of which it is not known that its context is current. */
static int lane_drain(struct cuda_lane *lane)
{
    int rc;

    if (!lane->dirty) return atomic_load(&lane->device->lost) ? -EIO : 0;
    rc = stp_cuda_enter(lane->device);
    if (rc != 0) return rc;
    rc = stp_cuda_lane_wait(lane);
    stp_cuda_leave();
    return rc;
}

/* On a lost device nothing can be given back but the context, which takes the rest along. */
static void lane_end(struct cuda_lane *lane)
{
    (void)lane_drain(lane);
    if (stp_cuda_enter(lane->device) == 0) {
        if (lane->arena != NULL)
            stp_cuda_tell(stp_cuda.api.mem_free_host(lane->arena), "cuMemFreeHost");
        stp_cuda_tell(stp_cuda.api.stream_destroy(lane->stream), "cuStreamDestroy");
        stp_cuda_leave();
    }
    stp_cuda_release(lane->device);
    free(lane);
}

struct cuda_lane *stp_cuda_lane_locked(struct stp_queue *queue, struct cuda_device *device)
{
    struct cuda_lane *found = NULL;

    for (struct cuda_lane *lane = queue->lanes; lane != NULL; lane = lane->next) {
        if (lane->device == device)
            found = lane;
        else if (lane->dirty && lane_drain(lane) != 0)
            return NULL;
    }
    if (STP_LIKELY(found != NULL)) return found;
    found = lane_new(device);
    if (found == NULL) return NULL;
    found->next = queue->lanes;
    queue->lanes = found;
    return found;
}

char *stp_cuda_lane_room(struct cuda_lane *lane, size_t nbytes)
{
    size_t take = (nbytes + QUEUE_ALIGN - 1) & ~(size_t)(QUEUE_ALIGN - 1);
    void *arena = NULL;

    if (STP_UNLIKELY(lane->arena == NULL)) {
        CUresult result =
            stp_cuda.api.mem_host_alloc(&arena, QUEUE_ARENA, CU_MEMHOSTALLOC_PORTABLE);
        stp_cuda_tell(result, "cuMemHostAlloc");
        if (result != CUDA_SUCCESS) return NULL;
        lane->arena = arena;
    }
    if (lane->used + take > QUEUE_ARENA && stp_cuda_lane_wait(lane) != 0) return NULL;
    lane->used += take;
    return lane->arena + lane->used - take;
}

void stp_cuda_lanes_drain(struct cuda_device *device, bool end)
{
    pthread_mutex_lock(&queues.lock);
    for (struct stp_queue *queue = queues.first; queue != NULL; queue = queue->next) {
        struct cuda_lane **at = &queue->lanes, *lane;
        pthread_mutex_lock(&queue->lock);
        while (*at != NULL && (*at)->device != device)
            at = &(*at)->next;
        lane = *at;
        if (lane != NULL && end) {
            *at = lane->next;
            lane_end(lane);
        } else if (lane != NULL) {
            (void)lane_drain(lane);
        }
        pthread_mutex_unlock(&queue->lock);
    }
    pthread_mutex_unlock(&queues.lock);
}

/* ---- queues ------------------------------------------------------------------------------- */

int stp_cuda_queue_create(struct stp_queue **queue)
{
    struct stp_queue *made = calloc(1, sizeof *made);

    if (made == NULL) {
        stp_error("gpu: no memory for the records of a queue");
        return -ENOMEM;
    }
    pthread_mutex_init(&made->lock, NULL);
    pthread_mutex_lock(&queues.lock);
    made->next = queues.first;
    queues.first = made;
    pthread_mutex_unlock(&queues.lock);
    *queue = made;
    return 0;
}

void stp_cuda_queue_destroy(struct stp_queue *queue)
{
    struct stp_queue **at = &queues.first;

    if (queue == NULL) return;
    pthread_mutex_lock(&queues.lock);
    while (*at != queue)
        at = &(*at)->next;
    *at = queue->next;
    pthread_mutex_unlock(&queues.lock);
    while (queue->lanes != NULL) {
        struct cuda_lane *lane = queue->lanes;
        queue->lanes = lane->next;
        lane_end(lane);
    }
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

int stp_cuda_queue_flush(struct stp_queue *queue)
{
    int rc = 0;

    if (queue == NULL || !atomic_load_explicit(&queue->dirty, memory_order_relaxed)) return 0;
    pthread_mutex_lock(&queue->lock);
    for (struct cuda_lane *lane = queue->lanes; lane != NULL; lane = lane->next) {
        int one = lane_drain(lane);
        if (rc == 0) rc = one;
    }
    /* not before: another thread that flushes its own copies may be looking at it */
    if (rc == 0) atomic_store_explicit(&queue->dirty, false, memory_order_relaxed);
    pthread_mutex_unlock(&queue->lock);
    return rc;
}
