/* SPDX-License-Identifier: BSD-3-Clause */
/* Fake CUDA driver, a test double and never evidence about a GPU: attributes of addresses. */
#include "fake.h"

static bool is_host(const struct fake_block *block)
{
    return block->kind == FAKE_HOST || block->kind == FAKE_REGISTERED;
}

static CUresult get(void *data, CUpointer_attribute attribute, const struct fake_block *block)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned int *)data = is_host(block) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *(unsigned int *)data = block->sync_memops;
        break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)data = block->number;
        break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned int *)data = block->kind == FAKE_MANAGED;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = block->device;
        break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(int *)data = block->kind == FAKE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)data = block->base;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)data = block->nbytes;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

/* Needs no context. Memory that the driver does not know has no attributes at all. */
CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    CUresult result = fake_begin(FAKE_cuPointerGetAttribute);
    struct fake_block *block;

    if (result != CUDA_SUCCESS) return result;
    block = fake_block_find_locked(address);
    if (!data || !block) return fake_end(CUDA_ERROR_INVALID_VALUE);
    return fake_end(get(data, attribute, block));
}

/* What has no such attribute, or is unknown, gets zeros, and that is no error. */
CUresult cuPointerGetAttributes(unsigned int n, CUpointer_attribute *attributes, void **data,
                                CUdeviceptr address)
{
    CUresult result = fake_begin(FAKE_cuPointerGetAttributes);
    struct fake_block *block;

    if (result != CUDA_SUCCESS) return result;
    if (n == 0 || !attributes || !data) return fake_end(CUDA_ERROR_INVALID_VALUE);
    block = fake_block_find_locked(address);
    for (unsigned int i = 0; i < n; i++) {
        if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)data[i] = -2; /* as the real one says of memory that it does not know */
        else
            *(unsigned int *)data[i] = 0;
        if (block) (void)get(data[i], attributes[i], block);
    }
    return fake_end(CUDA_SUCCESS);
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                               CUdeviceptr address)
{
    CUresult result = fake_begin(FAKE_cuPointerSetAttribute);
    struct fake_block *block;

    if (result != CUDA_SUCCESS) return result;
    block = fake_block_find_locked(address);
    if (!value || !block || is_host(block) || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    block->sync_memops = *(const unsigned int *)value != 0;
    return fake_end(CUDA_SUCCESS);
}

void *fakecuda_alias(CUdeviceptr address)
{
    struct fake_block *block;
    char *alias = NULL;

    pthread_mutex_lock(&fake.lock);
    block = fake_block_find_locked(address);
    if (block &&
        (block->kind == FAKE_DEVICE || block->kind == FAKE_IPC || block->kind == FAKE_MAPPED))
        alias = block->alias + (address - block->base);
    pthread_mutex_unlock(&fake.lock);
    return alias;
}

CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                    CUflushGPUDirectRDMAWritesScope scope)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuFlushGPUDirectRDMAWrites, &ctx);

    if (result != CUDA_SUCCESS) return result;
    if (target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
        scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    return fake_end(CUDA_SUCCESS);
}
