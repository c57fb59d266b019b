/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake CUDA driver, a test double and never evidence about a GPU: copies and fills. The calls named
 * Async go to their stream. Some other calls can return before a real device is done, which holds
 * for small copies from pageable host memory. These go to the legacy default stream, unless
 * CU_POINTER_ATTRIBUTE_SYNC_MEMOPS is set on the memory. All other calls are done on return, after
 * the work of that stream.
 */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

#define STAGED_MAX ((size_t)64 << 10) /* pageable memory up to this is copied aside */
#define MAX_PITCH ((size_t)0x7fffffff)

enum wanted { WANT_ANY, WANT_HOST, WANT_DEVICE };

/* ---- operations ------------------------------------------------------------- */

void fake_op_pin_locked(const struct fake_op *op, int by)
{
    const struct fake_place *places[] = {&op->dest, &op->source};

    for (int i = 0; i < 2; i++)
        for (struct fake_block *block = places[i]->block; block;
             block = fake_block_next_locked(block, places[i]->end))
            block->n_pending += by;
    if (op->work && op->work->pin_locked) op->work->pin_locked(op->work, by);
}

void fake_op_execute(const struct fake_op *op)
{
    for (size_t row = 0; row < op->height; row++) {
        char *dest = op->dest.at + row * op->dest.pitch;

        if (op->source.at)
            memmove(dest, op->source.at + row * op->source.pitch, op->width);
        else
            memset(dest, op->byte, op->width);
    }
}

static void execute_now_locked(CUcontext ctx, const struct fake_op *op)
{
    fake_stream_drain_blocking_locked(ctx);
    fake_op_pin_locked(op, 1);
    pthread_mutex_unlock(&fake.lock);
    fake_op_execute(op);
    pthread_mutex_lock(&fake.lock);
    fake_op_pin_locked(op, -1);
    pthread_cond_broadcast(&fake.changed);
}

static bool on_device(const struct fake_place *place)
{
    return place->block && (place->block->kind == FAKE_DEVICE || place->block->kind == FAKE_IPC ||
                            place->block->kind == FAKE_MAPPED);
}

static bool is_synchronous(const struct fake_op *op)
{
    return !on_device(&op->dest) || op->dest.block->sync_memops || op->source.block ||
           op->width > STAGED_MAX;
}

static void check_access_locked(const struct fake_op *op)
{
    const struct fake_place *places[] = {&op->dest, &op->source};

    for (int i = 0; i < 2; i++)
        for (struct fake_block *block = places[i]->block; block;
             block = fake_block_next_locked(block, places[i]->end))
            fake_block_check_access_locked(block, i == 0);
}

/* A copy of a call that is not named Async. */
static CUresult perform_locked(CUcontext ctx, struct fake_op *op)
{
    CUresult result;

    if (op->width == 0) return CUDA_SUCCESS;
    check_access_locked(op);
    if (is_synchronous(op)) {
        execute_now_locked(ctx, op);
        return ctx->lost;
    }
    op->staged = malloc(op->width);
    if (!op->staged) return CUDA_ERROR_OUT_OF_MEMORY;
    op->source.at = memcpy(op->staged, op->source.at, op->width);
    result = fake_stream_submit_locked(&ctx->legacy, op);
    if (result != CUDA_SUCCESS) free(op->staged);
    return result;
}

static CUresult queue_locked(CUcontext ctx, CUstream handle, const struct fake_op *op)
{
    CUstream stream;
    CUresult result = fake_stream_of_locked(handle, ctx, &stream);

    if (result != CUDA_SUCCESS) return result;
    if ((op->width == 0 || op->height == 0) && op->fault == CUDA_SUCCESS) return CUDA_SUCCESS;
    check_access_locked(op);
    return fake_stream_submit_locked(stream, op);
}

/* ---- addresses -------------------------------------------------------------- */

/* Mapped memory may go on in further mappings, behind each other in one reservation. */
static bool is_there_locked(const struct fake_block *block, CUdeviceptr end)
{
    while (block && block->base + block->nbytes < end)
        block = fake_block_next_locked(block, end);
    return block != NULL;
}

/* Find where [address, address + nbytes) is and check that it suits. */
static CUresult resolve_locked(CUdeviceptr address, size_t nbytes, enum wanted wanted,
                               struct fake_place *place)
{
    struct fake_block *block = fake_block_find_locked(address);

    *place = (struct fake_place){.at = (char *)(uintptr_t)address, .block = block};
    if (nbytes == 0) return CUDA_SUCCESS;
    if (!block) {
        fake_block_check_stale_locked(address);
        if (address == 0 || wanted == WANT_DEVICE || fake_file_range_has(address))
            return CUDA_ERROR_INVALID_VALUE;
        return CUDA_SUCCESS;
    }
    place->end = address + nbytes;
    if (place->end < address || !is_there_locked(block, place->end))
        return CUDA_ERROR_INVALID_VALUE;
    if (wanted == WANT_HOST && on_device(place)) return CUDA_ERROR_INVALID_VALUE;
    place->at = block->alias + (address - block->base);
    return CUDA_SUCCESS;
}

static CUresult prepare_copy_locked(CUdeviceptr dest, enum wanted dest_wanted, CUdeviceptr source,
                                    enum wanted source_wanted, size_t nbytes, struct fake_op *op)
{
    CUresult result = resolve_locked(dest, nbytes, dest_wanted, &op->dest);

    op->width = nbytes;
    op->height = 1;
    if (result != CUDA_SUCCESS) return result;
    return resolve_locked(source, nbytes, source_wanted, &op->source);
}

static CUresult copy(enum fake_call call, CUdeviceptr dest, enum wanted dest_wanted,
                     CUdeviceptr source, enum wanted source_wanted, size_t nbytes)
{
    struct fake_op op = {0};
    CUcontext ctx;
    CUresult result = fake_begin_ctx(call, &ctx);

    if (result != CUDA_SUCCESS) return result;
    result = prepare_copy_locked(dest, dest_wanted, source, source_wanted, nbytes, &op);
    if (result == CUDA_SUCCESS) result = perform_locked(ctx, &op);
    return fake_end(result);
}

static CUresult copy_async(enum fake_call call, CUdeviceptr dest, enum wanted dest_wanted,
                           CUdeviceptr source, enum wanted source_wanted, size_t nbytes,
                           CUstream stream)
{
    struct fake_op op = {0};
    CUcontext ctx;
    CUresult result = fake_begin_async(call, &ctx, &op.fault);

    if (result != CUDA_SUCCESS) return result;
    result = prepare_copy_locked(dest, dest_wanted, source, source_wanted, nbytes, &op);
    if (result == CUDA_SUCCESS) result = queue_locked(ctx, stream, &op);
    return fake_end(result);
}

/* ---- copies ----------------------------------------------------------------- */

static CUdeviceptr of(const void *host)
{
    return (CUdeviceptr)(uintptr_t)host;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dest, const void *source, size_t nbytes)
{
    return copy(FAKE_cuMemcpyHtoD_v2, dest, WANT_DEVICE, of(source), WANT_HOST, nbytes);
}

CUresult cuMemcpyDtoH_v2(void *dest, CUdeviceptr source, size_t nbytes)
{
    return copy(FAKE_cuMemcpyDtoH_v2, of(dest), WANT_HOST, source, WANT_DEVICE, nbytes);
}

CUresult cuMemcpyAsync(CUdeviceptr dest, CUdeviceptr source, size_t nbytes, CUstream stream)
{
    return copy_async(FAKE_cuMemcpyAsync, dest, WANT_ANY, source, WANT_ANY, nbytes, stream);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dest, const void *source, size_t nbytes, CUstream stream)
{
    return copy_async(FAKE_cuMemcpyHtoDAsync_v2, dest, WANT_DEVICE, of(source), WANT_HOST, nbytes,
                      stream);
}

CUresult cuMemcpyDtoHAsync_v2(void *dest, CUdeviceptr source, size_t nbytes, CUstream stream)
{
    return copy_async(FAKE_cuMemcpyDtoHAsync_v2, of(dest), WANT_HOST, source, WANT_DEVICE, nbytes,
                      stream);
}

/* ---- rows ------------------------------------------------------------------- */

/* One side of a 2D copy. */
struct side {
    CUmemorytype type;
    CUdeviceptr device;
    const void *host;
    size_t x;
    size_t y;
    size_t pitch;
};

static CUresult resolve_side_locked(const struct side *side, size_t width, size_t height,
                                    struct fake_place *place)
{
    static const enum wanted wanted[] = {
        [CU_MEMORYTYPE_HOST] = WANT_HOST,
        [CU_MEMORYTYPE_DEVICE] = WANT_DEVICE,
        [CU_MEMORYTYPE_UNIFIED] = WANT_ANY,
    };
    CUdeviceptr start = side->type == CU_MEMORYTYPE_HOST ? of(side->host) : side->device;
    CUresult result;

    if (side->type < CU_MEMORYTYPE_HOST || side->type > CU_MEMORYTYPE_UNIFIED ||
        side->type == CU_MEMORYTYPE_ARRAY || side->pitch > MAX_PITCH || height > SIZE_MAX >> 32)
        return CUDA_ERROR_INVALID_VALUE;
    if (width == 0 || height == 0) return CUDA_SUCCESS;
    if (height > 1 && (side->pitch < width || side->pitch - width < side->x))
        return CUDA_ERROR_INVALID_VALUE;
    result = resolve_locked(start + side->y * side->pitch + side->x,
                            (height - 1) * side->pitch + width, wanted[side->type], place);
    place->pitch = side->pitch;
    return result;
}

static CUresult prepare_2d_locked(const CUDA_MEMCPY2D *copy, struct fake_op *op)
{
    const struct side dest = {copy->dstMemoryType, copy->dstDevice, copy->dstHost,
                              copy->dstXInBytes,   copy->dstY,      copy->dstPitch};
    const struct side source = {copy->srcMemoryType, copy->srcDevice, copy->srcHost,
                                copy->srcXInBytes,   copy->srcY,      copy->srcPitch};
    CUresult result;

    op->width = copy->WidthInBytes;
    op->height = copy->Height;
    result = resolve_side_locked(&dest, op->width, op->height, &op->dest);
    if (result != CUDA_SUCCESS) return result;
    return resolve_side_locked(&source, op->width, op->height, &op->source);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    struct fake_op op = {0};
    CUcontext ctx;
    CUresult result = fake_begin_async(FAKE_cuMemcpy2DAsync_v2, &ctx, &op.fault);

    if (result != CUDA_SUCCESS) return result;
    if (!copy) return fake_end(CUDA_ERROR_INVALID_VALUE);
    result = prepare_2d_locked(copy, &op);
    if (result == CUDA_SUCCESS) result = queue_locked(ctx, stream, &op);
    return fake_end(result);
}

/* ---- fills ------------------------------------------------------------------ */

CUresult cuMemsetD8Async(CUdeviceptr dest, unsigned char byte, size_t nbytes, CUstream stream)
{
    struct fake_op op = {.width = nbytes, .height = 1, .byte = byte};
    CUcontext ctx;
    CUresult result = fake_begin_async(FAKE_cuMemsetD8Async, &ctx, &op.fault);

    if (result != CUDA_SUCCESS) return result;
    result = resolve_locked(dest, nbytes, WANT_DEVICE, &op.dest);
    if (result == CUDA_SUCCESS) result = queue_locked(ctx, stream, &op);
    return fake_end(result);
}
