/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file implements memory of the kind "gpu" with the CUDA driver. It has the table of the
 * kind's operations, and creates and destroys this PE's part of a space. Design:
 * docs/design/cuda.md.
 */
#include "cuda.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Required alignment, in bytes, of a program's buffer that the library uses as a part. Blocks in a
 * heap have the same alignment.
 */
#define GPU_ALIGN 64

extern const struct stp_kind stp_kind_gpu;

/* ---- admission ----------------------------------------------------------------------- */

/*
 * Returns -ENODEV if this PE has no GPU. Such a PE does not take part in the space. Returns 0 for
 * wrong parameters, because gpu_admit() reports them.
 */
static int gpu_probe(const struct stp_space_params *params, char *message, size_t len)
{
    struct cuda_device *device;

    return stp_cuda_choose(params, &device, message, len) == -ENODEV ? -ENODEV : 0;
}

static int gpu_too_large(const struct cuda_device *device, size_t nbytes, size_t free, size_t total)
{
    char nbytes_text[STP_SIZE_TEXT], free_text[STP_SIZE_TEXT], total_text[STP_SIZE_TEXT];

    stp_error("a gpu space of %zu bytes (%s) per PE does not fit gpu %d (%s), of which %s of %s "
              "are free",
              nbytes, stp_size_text(nbytes, nbytes_text), device->ordinal, device->name,
              stp_size_text(free, free_text), stp_size_text(total, total_text));
    return -ENOMEM;
}

/*
 * Checks that the allocation has at least params->nbytes bytes from the start of the buffer to its
 * end. The caller has made the device's context current.
 */
static int gpu_admit_range(struct cuda_device *device, const struct stp_space_params *params)
{
    CUdeviceptr addr = (CUdeviceptr)(uintptr_t)params->buffer, start = 0;
    size_t nbytes = 0;
    int rc = stp_cuda_check(device, stp_cuda.api.mem_get_address_range(&start, &nbytes, addr),
                            "cuMemGetAddressRange");

    if (rc != 0) return rc;
    if (nbytes - (addr - start) < params->nbytes) {
        stp_error("a gpu space of %zu bytes needs a larger buffer: buffer %p has only %zu bytes "
                  "up to the end of its allocation",
                  params->nbytes, params->buffer, (size_t)(nbytes - (addr - start)));
        return -EINVAL;
    }
    return 0;
}

static int gpu_admit_buffer(struct cuda_device *device, const struct stp_space_params *params)
{
    char overlap[96];
    int rc;

    if ((uintptr_t)params->buffer % GPU_ALIGN != 0) {
        stp_error("the buffer of a gpu space must be aligned: the address of buffer %p is not a "
                  "multiple of %d bytes",
                  params->buffer, GPU_ALIGN);
        return -EINVAL;
    }
    if (stp_space_lookup_overlap(params->buffer, params->nbytes, overlap, sizeof(overlap))) {
        stp_error("the buffer of a gpu space must not overlap other spaces: buffer %p overlaps %s",
                  params->buffer, overlap);
        return -EBUSY;
    }
    rc = stp_cuda_retain_and_enter(device);
    if (rc != 0) return rc;
    rc = gpu_admit_range(device, params);
    stp_cuda_leave_and_release(device);
    return rc;
}

/*
 * Checks that a part of nbytes bytes fits on the device. The amount of free memory is checked only
 * if a context exists, because creating a context takes too long. Without this check, gpu_create()
 * may fail because of too little memory. gpu_create() must handle this failure anyway, because
 * other processes also allocate memory.
 */
static int gpu_admit_size(struct cuda_device *device, size_t nbytes)
{
    size_t free = 0, total = 0;
    unsigned flags;
    int active = 0, rc;

    if (nbytes > device->total) return gpu_too_large(device, nbytes, device->total, device->total);
    (void)stp_cuda.api.primary_ctx_get_state(device->handle, &flags, &active);
    if (!active) return 0;
    rc = stp_cuda_retain_and_enter(device);
    if (rc != 0) return rc;
    rc = stp_cuda_check(device, stp_cuda.api.mem_get_info(&free, &total), "cuMemGetInfo");
    stp_cuda_leave_and_release(device);
    return rc == 0 && nbytes > free ? gpu_too_large(device, nbytes, free, total) : rc;
}

static int gpu_admit(const struct stp_space_params *params)
{
    struct cuda_device *device;
    char text[CUDA_TEXT];
    int rc = stp_cuda_choose(params, &device, text, sizeof(text));

    if (rc != 0) {
        stp_error("a gpu space cannot be created on this PE: %s", text);
        return rc;
    }
    if (params->buffer != NULL) return gpu_admit_buffer(device, params);
    return gpu_admit_size(device, params->nbytes);
}

/* ---- creation ---------------------------------------------------------------------------- */

/*
 * Allocates device memory for a part. Aligns *base to CUDA_BASE_ALIGN (2 MiB) if possible. A heap
 * aligns only the offset of a block in the part, so no block is better aligned than the base of its
 * part. The driver guarantees an alignment of 512 bytes. If the driver's address is not a multiple
 * of 2 MiB, allocates almost 2 MiB more and moves the base to the next multiple. If the device has
 * too little memory for this, keeps the driver's address.
 */
static CUresult gpu_allocate_aligned(size_t nbytes, CUdeviceptr *allocated, CUdeviceptr *base)
{
    const struct stp_cuda_api *api = &stp_cuda.api;
    CUresult result = api->mem_alloc(allocated, nbytes);

    *base = *allocated;
    if (result != CUDA_SUCCESS || *base % CUDA_BASE_ALIGN == 0) return result;
    stp_cuda_log_failure(api->mem_free(*allocated), "cuMemFree");
    result = api->mem_alloc(allocated, nbytes + CUDA_BASE_ALIGN - 1);
    if (result == CUDA_SUCCESS) {
        *base = (*allocated + CUDA_BASE_ALIGN - 1) & ~(CUdeviceptr)(CUDA_BASE_ALIGN - 1);
    } else if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        result = api->mem_alloc(allocated, nbytes);
        *base = *allocated;
    }
    return result;
}

static int gpu_allocate(struct stp_space *space, struct cuda_part *part)
{
    struct cuda_device *device = part->device;
    CUdeviceptr allocated = 0, base = 0;
    size_t free = 0, total = device->total;
    CUresult result = gpu_allocate_aligned(space->nbytes, &allocated, &base);

    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        (void)stp_cuda.api.mem_get_info(&free, &total);
        return gpu_too_large(device, space->nbytes, free, total);
    }
    if (result == CUDA_SUCCESS) part->allocated = allocated;
    space->base = (char *)(uintptr_t)base;
    return stp_cuda_check(device, result, "cuMemAlloc");
}

/*
 * Allocates this PE's part. If params->buffer is set, uses this buffer as the part. Fills in
 * *share. The caller has made the device's context current.
 */
static int gpu_fill(struct stp_space *space, const struct stp_space_params *params,
                    struct stp_part_export *share)
{
    struct cuda_part *part = space->kind_data;
    int rc;

    if (params->buffer == NULL) {
        rc = gpu_allocate(space, part);
        if (rc != 0) return rc;
        stp_cuda_set_sync_memops(space->base, 1);
    } else {
        space->base = params->buffer;
        part->memops = stp_cuda_sync_memops_set(space->base);
    }
    stp_cuda_peer_export(space, share);
    return 0;
}

/*
 * gpu_begin() holds this lock while it creates the streams and pins the memory that the first space
 * on a device needs. gpu_end() holds the lock while it undoes these steps after the last space.
 * Without the lock, gpu_end() could free objects that another thread has just created for a new
 * space. This lock is taken before all other locks in spaces/cuda.
 */
static pthread_mutex_t gpu_begin_end_lock = PTHREAD_MUTEX_INITIALIZER;

static void gpu_count_locked(struct cuda_device *device, int delta)
{
    pthread_mutex_lock(&stp_cuda.lock);
    device->n_spaces += delta;
    pthread_mutex_unlock(&stp_cuda.lock);
}

static void gpu_begin(struct cuda_device *device)
{
    pthread_mutex_lock(&gpu_begin_end_lock);
    gpu_count_locked(device, 1);
    stp_cuda_streams_prepare(device);
    stp_cuda_pin_refresh();
    pthread_mutex_unlock(&gpu_begin_end_lock);
}

static void gpu_end(struct cuda_device *device)
{
    pthread_mutex_lock(&gpu_begin_end_lock);
    gpu_count_locked(device, -1);
    if (!stp_cuda_has_spaces(device)) {
        stp_cuda_streams_drain(device, true);
        stp_cuda_reduce_unload(device);
        stp_cuda_pin_drop(device);
    }
    pthread_mutex_unlock(&gpu_begin_end_lock);
}

void stp_cuda_pin_drop_if_no_spaces(struct cuda_device *device)
{
    pthread_mutex_lock(&gpu_begin_end_lock);
    if (!stp_cuda_has_spaces(device)) stp_cuda_pin_drop(device);
    pthread_mutex_unlock(&gpu_begin_end_lock);
}

static int gpu_create(struct stp_space *space, const struct stp_space_params *params,
                      struct stp_part_export *share)
{
    struct cuda_device *device;
    struct cuda_part *part;
    char text[CUDA_TEXT];
    int n, rc = stp_cuda_choose(params, &device, text, sizeof(text));

    if (rc != 0) {
        stp_error("a gpu space cannot be created on this PE: %s", text);
        return rc;
    }
    part = stp_kind_alloc_with_peers("a gpu space", sizeof(*part), sizeof(part->peers[0]), &n);
    if (part == NULL) return -ENOMEM;
    part->device = device;
    part->n_peers = n;
    space->kind_data = part;
    rc = stp_cuda_retain_and_enter(device);
    if (rc != 0) goto err_part;
    rc = gpu_fill(space, params, share);
    stp_cuda_leave();
    if (rc != 0) goto err_retain;
    space->device = device->ordinal;
    stp_cuda_range_add(space->base, space->nbytes, device, false);
    gpu_begin(device);
    return 0;

err_retain:
    stp_cuda_context_unref(device);
err_part:
    space->kind_data = NULL;
    free(part);
    return rc;
}

static void gpu_destroy(struct stp_space *space)
{
    struct cuda_part *part = space->kind_data;
    struct cuda_device *device;

    if (part == NULL) return;
    device = part->device;
    stp_cuda_peer_detach(space);
    stp_cuda_range_remove(space->base);
    if (stp_cuda_enter(device) == 0) {
        if (part->allocated != 0)
            stp_cuda_log_failure(stp_cuda.api.mem_free(part->allocated), "cuMemFree");
        if (part->memops != 0) stp_cuda_sync_memops_restore(space->base, part->memops);
        stp_cuda_leave();
    }
    space->kind_data = NULL;
    free(part);
    gpu_end(device);
    stp_cuda_context_unref(device);
    stp_cuda_pin_refresh(); /* pin the host memory again if another device has a context */
}

/* ---- other operations of the kind --------------------------------------------------------- */

static int gpu_zero(struct stp_queue *queue, struct stp_space *space, size_t offset, size_t nbytes)
{
    const struct cuda_part *part = space->kind_data;
    CUdeviceptr addr = (CUdeviceptr)(uintptr_t)space->base + offset;
    struct cuda_stream *stream;
    int rc;

    if (nbytes == 0) return 0;
    stream = stp_cuda_queue_lock(queue, part->device);
    if (stream == NULL) return -EIO;
    rc = stp_cuda_check(part->device, stp_cuda.api.memset_d8_async(addr, 0, nbytes, stream->handle),
                        "cuMemsetD8Async");
    if (rc == 0) rc = stp_cuda_stream_wait(stream);
    stp_cuda_queue_unlock(queue);
    return rc;
}

/*
 * Makes the device's context current. This is necessary before a network adapter's library
 * registers the part, because that library calls the CUDA driver.
 */
static bool gpu_push_context(const struct stp_space *space)
{
    const struct cuda_part *part = space->kind_data;

    return stp_cuda_enter(part->device) == 0;
}

static int gpu_register_private(struct stp_allocation *allocation, unsigned number,
                                int (*add)(unsigned number, void *base, size_t nbytes, int device))
{
    struct cuda_device *device = &stp_cuda.devices[allocation->device];
    int rc = stp_cuda_retain_and_enter(device);

    if (rc != 0) return rc;
    allocation->sync_memops = stp_cuda_sync_memops_set(allocation->base);
    rc = add(number, allocation->base, allocation->nbytes, allocation->device);
    if (rc != 0 && allocation->sync_memops != 0)
        stp_cuda_sync_memops_restore(allocation->base, allocation->sync_memops);
    stp_cuda_leave_and_release(device);
    return rc;
}

static void gpu_unregister_private(const struct stp_allocation *allocation)
{
    struct cuda_device *device = &stp_cuda.devices[allocation->device];

    if (allocation->sync_memops == 0 || stp_cuda_retain_and_enter(device) != 0) return;
    stp_cuda_sync_memops_restore(allocation->base, allocation->sync_memops);
    stp_cuda_leave_and_release(device);
}

static const struct stp_device_ops gpu_device = {
    .probe_driver = stp_cuda_probe_library,
    .mark_driver_missing = stp_cuda_set_driver_not_found,
    .start = stp_cuda_start,
    .detach = stp_cuda_peer_detach,
    .reach = stp_cuda_peer_reach,
    .owns = stp_cuda_is_device_ptr,
    .queue_create = stp_cuda_queue_create,
    .queue_destroy = stp_cuda_queue_destroy,
    .copy = stp_cuda_copy,
    .copy_rows = stp_cuda_copy_rows,
    .flush = stp_cuda_queue_flush,
    .zero = gpu_zero,
    .set_word = stp_cuda_set_word,
    .atomic = stp_cuda_word,
    .reduce = stp_cuda_reduce,
    .push_context = gpu_push_context,
    .pop_context = stp_cuda_leave,
    .can_pin = stp_pinned_is_possible,
    .pin = stp_cuda_pin,
    .unpin = stp_cuda_unpin,
    .flush_remote = stp_cuda_flush_remote,
    .dmabuf = stp_cuda_dmabuf,
    .allocation = stp_cuda_find_registrable,
    .register_private = gpu_register_private,
    .unregister_private = gpu_unregister_private,
};

const struct stp_kind stp_kind_gpu = {
    .name = "gpu",
    .device_type = 1, /* SHMEM_DEVICE_GPU */
    .host = false,
    .traits = STP_HAS(STP_TRAIT_ADOPTS),
    .device = &gpu_device,
    .stop = stp_cuda_stop,
    .probe = gpu_probe,
    .admit = gpu_admit,
    .create = gpu_create,
    .attach = stp_cuda_peer_attach,
    .destroy = gpu_destroy,
    .describe = stp_cuda_describe,
    .devices = stp_cuda_count_devices,
};
