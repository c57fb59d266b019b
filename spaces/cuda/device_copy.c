/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file copies data to GPUs, from GPUs and between GPUs. The data is contiguous or consists of
 * strided rows. This file starts a copy and also waits for its end, if the requested completion
 * requires this. Design: docs/design/cuda.md.
 */
#include "cuda.h"

#include <errno.h>
#include <string.h>

#define COPY_PAGE 4096 /* registrations of host memory begin at multiples of this number of bytes */

/* One copy, with the addresses and the locations of its source and its destination. */
struct job {
    char *dest;
    const char *source;
    /* Locations of dest and source. A location without a device means host memory. */
    struct cuda_location dest_location, source_location;
    struct stp_strided_copy rows;
    enum stp_copy_completion end;
};

/*
 * Returns the device in whose context the copy runs, or NULL if source and destination are host
 * memory. Memory of a peer is mapped in the context of one device only. If only the source is
 * memory of a peer, the function therefore returns the device of the source. Otherwise it prefers
 * the device of the destination.
 */
static struct cuda_device *copy_device(const struct job *job)
{
    if (job->source_location.peer && !job->dest_location.peer) return job->source_location.device;
    return job->dest_location.device != NULL ? job->dest_location.device
                                             : job->source_location.device;
}

/* ---- contiguous copies --------------------------------------------------------------- */

static CUresult copy_call(enum cuda_direction direction, CUdeviceptr dest, CUdeviceptr source,
                          size_t nbytes, CUstream stream)
{
    const struct stp_cuda_api *api = &stp_cuda.api;

    if (direction == CUDA_FROM_HOST)
        return api->memcpy_htod_async(dest, (const void *)(uintptr_t)source, nbytes, stream);
    if (direction == CUDA_TO_HOST)
        return api->memcpy_dtoh_async((void *)(uintptr_t)dest, source, nbytes, stream);
    return api->memcpy_any_async(dest, source, nbytes, stream);
}

/*
 * Returns the offset of a page boundary near the middle of the range, or 0 if the range contains no
 * page boundary.
 */
static size_t copy_half(CUdeviceptr address, size_t nbytes)
{
    size_t first = COPY_PAGE - address % COPY_PAGE;

    if (first >= nbytes) return 0;
    return first + (nbytes - 1 - first) / COPY_PAGE / 2 * COPY_PAGE;
}

/*
 * Enqueues the copy. The driver refuses a copy if its host memory lies in two registrations, for
 * example because a pinned space has grown. This function then splits the copy in two halves and
 * copies each half separately. Registrations begin at page boundaries. The function therefore
 * splits at a page boundary of the destination, or of the source if the destination has no page
 * boundary.
 */
CUresult stp_cuda_issue(enum cuda_direction direction, CUdeviceptr dest, CUdeviceptr source,
                        size_t nbytes, CUstream stream)
{
    CUresult result = copy_call(direction, dest, source, nbytes, stream);
    size_t half = 0;

    if (result == CUDA_ERROR_INVALID_VALUE) half = copy_half(dest, nbytes);
    if (result == CUDA_ERROR_INVALID_VALUE && half == 0) half = copy_half(source, nbytes);
    if (half == 0) return result;
    result = stp_cuda_issue(direction, dest, source, half, stream);
    if (result != CUDA_SUCCESS) return result;
    return stp_cuda_issue(direction, dest + half, source + half, nbytes - half, stream);
}

/*
 * Copies nbytes bytes, from offset source_offset of the source to offset dest_offset of the
 * destination. Passes the direction of the copy to the driver, because the driver then also accepts
 * host memory that was not registered.
 */
static int copy_piece(const struct job *job, struct cuda_stream *stream, size_t dest_offset,
                      size_t source_offset, size_t nbytes)
{
    static const char *const calls[] = {
        [CUDA_FROM_HOST] = "cuMemcpyHtoDAsync",
        [CUDA_TO_HOST] = "cuMemcpyDtoHAsync",
        [CUDA_ANY_WAY] = "cuMemcpyAsync",
    };
    enum cuda_direction direction = job->source_location.device == NULL ? CUDA_FROM_HOST
                                    : job->dest_location.device == NULL ? CUDA_TO_HOST
                                                                        : CUDA_ANY_WAY;

    return stp_cuda_check(stream->device,
                          stp_cuda_issue(direction, stp_cuda_address(job->dest + dest_offset),
                                         stp_cuda_address(job->source + source_offset), nbytes,
                                         stream->handle),
                          calls[direction]);
}

/* ---- copies of rows -------------------------------------------------------------------- */

static int copy_row_by_row(const struct job *job, struct cuda_stream *stream)
{
    const struct stp_strided_copy *rows = &job->rows;
    int rc = 0;

    for (size_t i = 0; i < rows->n && rc == 0; i++)
        rc = copy_piece(job, stream, i * rows->dest_pitch, i * rows->source_pitch, rows->width);
    return rc;
}

static void copy_describe_rows(const struct job *job, CUDA_MEMCPY2D *call)
{
    *call = (CUDA_MEMCPY2D){.srcPitch = job->rows.source_pitch,
                            .dstPitch = job->rows.dest_pitch,
                            .WidthInBytes = job->rows.width,
                            .Height = job->rows.n};
    call->srcMemoryType =
        job->source_location.device != NULL ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_HOST;
    call->dstMemoryType =
        job->dest_location.device != NULL ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_HOST;
    if (job->source_location.device != NULL)
        call->srcDevice = stp_cuda_address(job->source);
    else
        call->srcHost = job->source;
    if (job->dest_location.device != NULL)
        call->dstDevice = stp_cuda_address(job->dest);
    else
        call->dstHost = job->dest;
}

static bool copy_pitches_fit(const struct job *job, const struct cuda_device *device)
{
    const struct stp_strided_copy *rows = &job->rows;

    return rows->dest_pitch >= rows->width && rows->source_pitch >= rows->width &&
           rows->dest_pitch <= device->max_pitch && rows->source_pitch <= device->max_pitch;
}

/*
 * Copies all rows with one driver call if possible. Within one device, the driver may refuse a row
 * pitch that cuMemAllocPitch() did not compute. The function then copies the rows one by one.
 */
static int copy_shape(const struct job *job, struct cuda_stream *stream)
{
    const struct stp_strided_copy *rows = &job->rows;
    CUDA_MEMCPY2D call;
    CUresult result;

    if (rows->n == 1 || (rows->dest_pitch == rows->width && rows->source_pitch == rows->width))
        return copy_piece(job, stream, 0, 0, rows->n * rows->width);
    if (!copy_pitches_fit(job, stream->device)) return copy_row_by_row(job, stream);
    copy_describe_rows(job, &call);
    result = stp_cuda.api.memcpy_2d_async(&call, stream->handle);
    if (result == CUDA_ERROR_INVALID_VALUE) return copy_row_by_row(job, stream);
    return stp_cuda_check(stream->device, result, "cuMemcpy2DAsync");
}

/* ---- start and completion of a copy ---------------------------------------------------- */

/*
 * If the source is small and in host memory, copies it to the stream's arena of pinned memory. The
 * job then reads from the arena, and the program may change its source at once. Returns true in
 * this case. Otherwise the program must not change its source before a wait, because the driver
 * copies asynchronously.
 */
static bool copy_to_arena(struct job *job, struct cuda_stream *stream)
{
    struct stp_strided_copy *rows = &job->rows;
    char *buffer;

    if (job->end != STP_COPY_LOCAL || job->source_location.device != NULL ||
        rows->width > CUDA_SMALL / rows->n)
        return false;
    buffer = stp_cuda_stream_room(stream, rows->width * rows->n);
    if (buffer == NULL) return false;
    for (size_t i = 0; i < rows->n; i++)
        memcpy(buffer + i * rows->width, job->source + i * rows->source_pitch, rows->width);
    job->source = buffer;
    rows->source_pitch = rows->width;
    return true;
}

/*
 * Starts the copy, and waits for the copy if job->end requires that. The caller has made the
 * stream's context current.
 */
static int copy_run_locked(struct stp_queue *queue, struct cuda_stream *stream, struct job *job)
{
    bool buffered = copy_to_arena(job, stream);
    int rc;

    /* Set the flag in any case, because some rows may be in progress even if copy_shape() fails. */
    stream->dirty = true;
    rc = copy_shape(job, stream);
    if (rc != 0 || job->end == STP_COPY_REMOTE || (job->end == STP_COPY_LOCAL && !buffered)) {
        int wait_rc = stp_cuda_stream_wait(stream);
        return rc != 0 ? rc : wait_rc;
    }
    __atomic_store_n(&queue->dirty, true, __ATOMIC_RELAXED);
    return 0;
}

int stp_cuda_copy_rows(struct stp_queue *queue, void *dest, const void *source,
                       const struct stp_strided_copy *rows, enum stp_copy_completion end)
{
    struct job job = {.dest = dest, .source = source, .rows = *rows, .end = end};
    struct cuda_device *device;
    struct cuda_stream *stream;
    int rc;

    if (rows->n == 0 || rows->width == 0) return 0;
    job.dest_location = stp_cuda_location(dest);
    job.source_location = stp_cuda_location(source);
    device = copy_device(&job);
    if (device == NULL) {
        stp_error("gpu: neither dest %p nor source %p is device memory", dest, source);
        return -EINVAL;
    }
    stream = stp_cuda_queue_lock(queue, device);
    if (stream == NULL) return -EIO;
    rc = copy_run_locked(queue, stream, &job);
    stp_cuda_queue_unlock(queue);
    return rc;
}

int stp_cuda_copy(struct stp_queue *queue, void *dest, const void *source, size_t nbytes,
                  enum stp_copy_completion end)
{
    struct stp_strided_copy row = {nbytes, 1, nbytes, nbytes};

    return dest == source ? 0 : stp_cuda_copy_rows(queue, dest, source, &row, end);
}

/*
 * Enqueues a store of the value to the word. If the driver is too old for such a store, waits for
 * the stream and stores the value from the host. The caller has made the device's context current.
 */
static int word_set_locked(struct stp_queue *queue, struct cuda_stream *stream, void *word,
                           uint64_t value)
{
    if (stp_cuda.api.stream_write_value == NULL) {
        int rc = stp_cuda_stream_wait(stream);

        /* Pairs with the acquire load in the PE that waits for this word in a collective. */
        if (rc == 0) __atomic_store_n((uint64_t *)word, value, __ATOMIC_RELEASE);
        return rc;
    }
    stream->dirty = true;
    __atomic_store_n(&queue->dirty, true, __ATOMIC_RELAXED);
    return stp_cuda_check(stream->device,
                          stp_cuda.api.stream_write_value(stream->handle, stp_cuda_address(word),
                                                          value, CU_STREAM_WRITE_VALUE_DEFAULT),
                          "cuStreamWriteValue64");
}

int stp_cuda_set_word(struct stp_queue *queue, const void *device_ptr, void *word, uint64_t value)
{
    struct cuda_device *device = stp_cuda_location(device_ptr).device;
    struct cuda_stream *stream;
    int rc;

    if (device == NULL) return -EINVAL;
    stream = stp_cuda_queue_lock(queue, device);
    if (stream == NULL) return -EIO;
    rc = word_set_locked(queue, stream, word, value);
    stp_cuda_queue_unlock(queue);
    return rc;
}
