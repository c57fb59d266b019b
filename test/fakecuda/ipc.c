/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake CUDA driver, a test double and never evidence about a GPU: memory of other processes. A
 * handle contains the path of the exporter's file for the allocation: /proc/<pid>/fd/<fd>.
 */
#include "fake.h"

#include <string.h>
#include <unistd.h>

#define HANDLE_MAGIC UINT32_C(0x69706366)

/* What a CUipcMemHandle holds: always the whole allocation. */
struct handle {
    uint32_t magic;
    int32_t physical; /* device, as the machine counts */
    struct fake_file_key key;
};

_Static_assert(sizeof(struct handle) <= sizeof(CUipcMemHandle), "a handle has 64 bytes");

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuIpcGetMemHandle, &ctx);
    struct fake_block *block;
    struct handle own = {.magic = HANDLE_MAGIC};

    if (result != CUDA_SUCCESS) return result;
    block = fake_block_find_locked(address);
    if (!handle || !block || block->kind != FAKE_DEVICE) return fake_end(CUDA_ERROR_INVALID_VALUE);
    own.physical = fake.physical[block->device];
    own.key = fake_file_key(block->file);
    memset(handle, 0, sizeof(*handle));
    memcpy(handle, &own, sizeof(own));
    return fake_end(CUDA_SUCCESS);
}

static bool reaches(CUcontext ctx, int device, unsigned int flags)
{
    return device == ctx->device || (flags & CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != 0;
}

/* The mapping that this process has already of an allocation, in a context of the same device. */
static struct fake_block *find_open_locked(uint64_t id, int ctx_device)
{
    for (struct fake_block *block = fake.blocks; block; block = block->next)
        if (block->kind == FAKE_IPC && fake_file_id(block->file) == id &&
            block->ctx->device == ctx_device)
            return block;
    return NULL;
}

static CUresult open_locked(CUcontext ctx, const struct handle *own, int device,
                            CUdeviceptr *address)
{
    struct fake_block *block = find_open_locked(own->key.id, ctx->device);
    struct fake_file *file;

    if (block) {
        if (block->ctx != ctx) return CUDA_ERROR_ALREADY_MAPPED;
        block->opens++;
        *address = block->base;
        return CUDA_SUCCESS;
    }
    file = fake_file_open_locked(&own->key);
    if (!file) return CUDA_ERROR_MAP_FAILED;
    block = fake_block_add_locked(FAKE_IPC, fake_file_base(file), own->key.nbytes, ctx);
    if (!block) {
        fake_file_close_locked(file);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    block->file = file;
    block->alias = fake_file_alias(file);
    block->device = device;
    block->opens = 1;
    *address = block->base;
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle, unsigned int flags)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuIpcOpenMemHandle_v2, &ctx);
    struct handle own;
    int device;

    if (result != CUDA_SUCCESS) return result;
    memcpy(&own, &handle, sizeof(own));
    if (!address || own.magic != HANDLE_MAGIC ||
        flags & ~(unsigned int)CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (own.key.pid == getpid()) return fake_end(CUDA_ERROR_INVALID_CONTEXT);
    device = fake_device_find(own.physical);
    if (device < 0) return fake_end(CUDA_ERROR_MAP_FAILED); /* CUDA_VISIBLE_DEVICES hides it */
    if (!reaches(ctx, device, flags)) return fake_end(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    return fake_end(open_locked(ctx, &own, device, address));
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuIpcCloseMemHandle, &ctx);
    struct fake_block *block;

    if (result != CUDA_SUCCESS) return result;
    block = fake_block_find_locked(address);
    if (!block) fake_block_check_stale_locked(address);
    if (!block || block->kind != FAKE_IPC || block->base != address)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (--block->opens == 0) fake_block_drop_locked(block);
    return fake_end(CUDA_SUCCESS);
}
