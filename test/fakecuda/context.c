/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake CUDA driver, a test double and never evidence about a GPU: contexts. The driver counts the
 * users of each device's primary context. Each activation is a new object, so that the driver
 * recognizes the handle of a destroyed one. Every thread has its own stack of current contexts.
 */
#include "fake.h"

#include <stdlib.h>

enum { CTX_MAGIC = 0x43747846, MAX_DEPTH = 64 };

static _Thread_local struct {
    CUcontext at[MAX_DEPTH];
    int depth;
} stack;

CUcontext fake_ctx_current(void)
{
    return stack.depth > 0 ? stack.at[stack.depth - 1] : NULL;
}

int fake_ctx_depth(void)
{
    return stack.depth;
}

long fake_ctx_count_locked(void)
{
    long count = 0;

    for (CUcontext ctx = fake.contexts; ctx; ctx = ctx->next)
        count += ctx->alive;
    return count;
}

int fakecuda_contexts(int device)
{
    int count = 0;

    pthread_mutex_lock(&fake.lock);
    for (CUcontext ctx = fake.contexts; ctx; ctx = ctx->next)
        count += ctx->alive && ctx->primary && ctx->device == device;
    pthread_mutex_unlock(&fake.lock);
    return count;
}

static CUcontext create_locked(CUdevice device, bool primary)
{
    CUcontext ctx = calloc(1, sizeof(*ctx));

    if (!ctx) return NULL;
    ctx->magic = CTX_MAGIC;
    ctx->device = device;
    ctx->primary = primary;
    ctx->alive = true;
    fake_stream_init(&ctx->legacy, ctx, true);
    ctx->next = fake.contexts;
    fake.contexts = ctx;
    return ctx;
}

/* The object stays, as a tombstone. */
static void destroy_locked(CUcontext ctx)
{
    fake_stream_drain_all_locked(ctx);
    fake_streams_close_of_locked(ctx);
    fake_blocks_drop_of_locked(ctx);
    ctx->alive = false;
}

static void check_alive(CUcontext ctx)
{
    if (ctx->magic != CTX_MAGIC) fake_die("%p is not a context", (void *)ctx);
    if (!ctx->alive) fake_die("context %p was destroyed", (void *)ctx);
}

static void push(CUcontext ctx)
{
    if (stack.depth == MAX_DEPTH) fake_die("more than %d contexts pushed", MAX_DEPTH);
    stack.at[stack.depth++] = ctx;
}

/* ---- primary contexts ------------------------------------------------------- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device)
{
    CUresult result = fake_begin(FAKE_cuDevicePrimaryCtxRetain);

    if (result != CUDA_SUCCESS) return result;
    if (!fake_device_valid(device)) return fake_end(CUDA_ERROR_INVALID_DEVICE);
    if (!fake.primary[device]) fake.primary[device] = create_locked(device, true);
    if (!fake.primary[device]) return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    fake.primary[device]->refs++;
    *ctx = fake.primary[device];
    return fake_end(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    CUresult result = fake_begin(FAKE_cuDevicePrimaryCtxRelease_v2);

    if (result != CUDA_SUCCESS) return result;
    if (!fake_device_valid(device)) return fake_end(CUDA_ERROR_INVALID_DEVICE);
    if (!fake.primary[device])
        fake_die("the primary context of device %d is released more often than retained", device);
    if (--fake.primary[device]->refs == 0) {
        destroy_locked(fake.primary[device]);
        fake.primary[device] = NULL;
    }
    return fake_end(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
    CUresult result = fake_begin(FAKE_cuDevicePrimaryCtxGetState);

    if (result != CUDA_SUCCESS) return result;
    if (!fake_device_valid(device)) return fake_end(CUDA_ERROR_INVALID_DEVICE);
    if (flags) *flags = CU_CTX_SCHED_AUTO;
    if (active) *active = fake.primary[device] != NULL;
    return fake_end(CUDA_SUCCESS);
}

/* ---- contexts of one's own -------------------------------------------------- */

CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice device)
{
    CUresult result = fake_begin(FAKE_cuCtxCreate_v2);

    (void)flags;
    if (result != CUDA_SUCCESS) return result;
    if (!fake_device_valid(device)) return fake_end(CUDA_ERROR_INVALID_DEVICE);
    *ctx = create_locked(device, false);
    if (!*ctx) return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    push(*ctx);
    return fake_end(CUDA_SUCCESS);
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
    CUresult result = fake_begin(FAKE_cuCtxDestroy_v2);

    if (result != CUDA_SUCCESS) return result;
    if (!ctx) return fake_end(CUDA_ERROR_INVALID_VALUE);
    check_alive(ctx);
    if (ctx->primary) return fake_end(CUDA_ERROR_INVALID_CONTEXT);
    destroy_locked(ctx);
    if (fake_ctx_current() == ctx) stack.depth--;
    return fake_end(CUDA_SUCCESS);
}

/* ---- the current context ---------------------------------------------------- */

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
    CUresult result = fake_begin(FAKE_cuCtxPushCurrent_v2);

    if (result != CUDA_SUCCESS) return result;
    if (!ctx) return fake_end(CUDA_ERROR_INVALID_CONTEXT);
    check_alive(ctx);
    push(ctx);
    return fake_end(CUDA_SUCCESS);
}

CUresult cuCtxPopCurrent_v2(CUcontext *ctx)
{
    CUresult result = fake_begin(FAKE_cuCtxPopCurrent_v2);

    if (result != CUDA_SUCCESS) return result;
    if (stack.depth == 0) return fake_end(CUDA_ERROR_INVALID_CONTEXT);
    stack.depth--;
    if (ctx) *ctx = stack.at[stack.depth];
    return fake_end(CUDA_SUCCESS);
}

CUresult cuCtxGetCurrent(CUcontext *ctx)
{
    CUresult result = fake_begin(FAKE_cuCtxGetCurrent);

    if (result != CUDA_SUCCESS) return result;
    *ctx = fake_ctx_current();
    return fake_end(CUDA_SUCCESS);
}

/* Replaces the top of the stack; NULL pops it. */
CUresult cuCtxSetCurrent(CUcontext ctx)
{
    CUresult result = fake_begin(FAKE_cuCtxSetCurrent);

    if (result != CUDA_SUCCESS) return result;
    if (ctx) check_alive(ctx);
    if (stack.depth > 0) stack.depth--;
    if (ctx) push(ctx);
    return fake_end(CUDA_SUCCESS);
}

CUresult cuCtxSynchronize(void)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuCtxSynchronize, &ctx);

    if (result != CUDA_SUCCESS) return result;
    fake_stream_drain_all_locked(ctx);
    return fake_end(ctx->lost);
}
