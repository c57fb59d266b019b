/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake CUDA driver, a test double and never evidence about a GPU: words that streams write and wait
 * for. A device has few queues, so that streams which wait can block the stream that would wake
 * them. More than MAX_WAITING streams that wait at the same time therefore end the process.
 */
#include "fake.h"

#include <stdlib.h>

enum { MAX_WAITING = 8 };

struct value_work {
    struct fake_work work;
    struct fake_block *block;
    _Atomic(uint64_t) *word;
    uint64_t value;
    unsigned int flags;
    bool waiting; /* counted */
};

static int n_waiting;

static void pin_locked(struct fake_work *work, int by)
{
    ((struct value_work *)work)->block->n_pending += by;
}

static CUresult run_write(struct fake_work *work)
{
    struct value_work *own = (struct value_work *)work;

    atomic_store(own->word, own->value);
    return CUDA_SUCCESS;
}

static bool holds(const struct value_work *own)
{
    uint64_t now = atomic_load(own->word);

    if (own->flags == CU_STREAM_WAIT_VALUE_EQ) return now == own->value;
    return (int64_t)(now - own->value) >= 0;
}

static bool wait_ready_locked(struct fake_work *work)
{
    struct value_work *own = (struct value_work *)work;

    if (holds(own)) return true;
    if (!own->waiting && ++n_waiting > MAX_WAITING)
        fake_die("%d streams wait for words at once, and %d may", n_waiting, MAX_WAITING);
    own->waiting = true;
    return false;
}

static void end_locked(struct fake_work *work)
{
    if (((struct value_work *)work)->waiting) n_waiting--;
}

/* Words of devices and of host memory that a device reaches. */
static CUresult submit_locked(CUstream handle, CUdeviceptr address, struct value_work work,
                              CUresult fault)
{
    struct value_work *own;
    CUstream stream;
    CUresult result = fake_stream_of_locked(handle, NULL, &stream);
    struct fake_block *block = fake_block_of_device_locked(&address);

    if (result != CUDA_SUCCESS) return result;
    if (!block) fake_block_check_stale_locked(address);
    if (!block || address % 8 != 0 || block->nbytes - (address - block->base) < 8)
        return CUDA_ERROR_INVALID_VALUE;
    fake_block_check_access_locked(block, work.work.run != NULL);
    own = malloc(sizeof(*own));
    if (!own) return CUDA_ERROR_OUT_OF_MEMORY;
    *own = work;
    own->work.pin_locked = pin_locked;
    own->work.end_locked = end_locked;
    own->block = block;
    own->word = (_Atomic(uint64_t) *)(void *)(block->alias + (address - block->base));
    return fake_work_submit_locked(stream, &own->work, fault);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value,
                                 unsigned int flags)
{
    struct value_work own = {.work = {.run = run_write}, .value = value};
    CUcontext ctx;
    CUresult fault;
    CUresult result = fake_begin_async(FAKE_cuStreamWriteValue64_v2, &ctx, &fault);

    if (result != CUDA_SUCCESS) return result;
    if (flags != CU_STREAM_WRITE_VALUE_DEFAULT) return fake_end(CUDA_ERROR_INVALID_VALUE);
    return fake_end(submit_locked(stream, address, own, fault));
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value,
                                unsigned int flags)
{
    struct value_work own = {.work = {.ready_locked = wait_ready_locked}, .value = value};
    CUcontext ctx;
    CUresult fault;
    CUresult result = fake_begin_async(FAKE_cuStreamWaitValue64_v2, &ctx, &fault);

    if (result != CUDA_SUCCESS) return result;
    if (flags > CU_STREAM_WAIT_VALUE_EQ) return fake_end(CUDA_ERROR_INVALID_VALUE);
    own.flags = flags;
    return fake_end(submit_locked(stream, address, own, fault));
}
