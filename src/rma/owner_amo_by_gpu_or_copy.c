/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performs atomics on words in this PE's device memory and private memory. Only the PE that owns
 * such a word performs atomics on it. Design: docs/design/kinds.md.
 */
#include "stage_request_boxes.h"

#include "spaces/cuda/pinned_host_and_kernel_gpu.h"

#include <shmemx_device_machine.h>

#include <errno.h>
#include <string.h>

static struct {
    /*
     * Held by a thread during each atomic on device memory. Also held while a thread enables or
     * disables atomics by GPUs.
     */
    pthread_mutex_t lock;
} words = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- atomics by the device ---------------------------------------------------------------- */

int stp_stage_amo_by_gpu_enable(int device)
{
    int rc;

    pthread_mutex_lock(&words.lock); /* waits until atomics in progress have ended */
    rc = stp_gpu_amo_acquire(device);
    pthread_mutex_unlock(&words.lock);
    return rc;
}

void stp_stage_amo_by_gpu_disable(void)
{
    pthread_mutex_lock(&words.lock);
    stp_gpu_amo_release();
    pthread_mutex_unlock(&words.lock);
}

bool stp_stage_amo_by_gpu_enabled(const struct stp_space *space)
{
    bool enabled;

    pthread_mutex_lock(&words.lock);
    enabled = stp_gpu_amo_enabled(space);
    pthread_mutex_unlock(&words.lock);
    return enabled;
}

/* Returns the value of an operand of 4 or 8 bytes, or 0 if operand is NULL. */
static uint64_t words_value(const void *operand, size_t nbytes)
{
    uint32_t small = 0;
    uint64_t value = 0;

    if (operand != NULL) memcpy(nbytes == sizeof(small) ? (void *)&small : &value, operand, nbytes);
    return nbytes == sizeof(small) ? small : value;
}

/*
 * Lets the device perform the atomic. Returns false, without any change, if atomics by GPUs are not
 * enabled for the space. In this case GPU kernels must not change words of the space, so the caller
 * can perform the atomic by copies.
 */
static bool words_by_device(struct stp_space *space, size_t offset, size_t nbytes,
                            enum stp_fabric_amo op, const void *operand, const void *compare,
                            void *result, const char *fn)
{
    static const uint32_t variants[] = {
        [STP_AMO_FETCH] = SHMEMX_DEV_AMO_FETCH, [STP_AMO_SET] = SHMEMX_DEV_AMO_SET,
        [STP_AMO_SWAP] = SHMEMX_DEV_AMO_SWAP,   [STP_AMO_CSWAP] = SHMEMX_DEV_AMO_CSWAP,
        [STP_AMO_ADD] = SHMEMX_DEV_AMO_ADD,     [STP_AMO_AND] = SHMEMX_DEV_AMO_AND,
        [STP_AMO_OR] = SHMEMX_DEV_AMO_OR,       [STP_AMO_XOR] = SHMEMX_DEV_AMO_XOR,
    };
    struct stp_word_op word = {(uint32_t)nbytes, variants[op], words_value(operand, nbytes),
                               words_value(compare, nbytes)};
    uint32_t small;
    uint64_t old;
    int rc = space->kind->device->atomic(space, offset, &word, &old);

    if (rc == -ENOTSUP) return false;
    if (rc != 0)
        stp_fatal(fn,
                  "an atomic on %s memory of space %u failed (the message above gives the reason)",
                  space->kind->name, space->number);
    small = (uint32_t)old;
    if (result != NULL) memcpy(result, nbytes == sizeof(small) ? (void *)&small : &old, nbytes);
    return true;
}

/* ---- atomics by this PE's threads ---------------------------------------------------------- */

/*
 * Ends the job if the word has changed since words_by_copies() read it. Called with SHMEM_CHECK=1
 * only, before the new value is written.
 */
static void words_check(struct stp_ctx *ctx, const struct stp_space *space, const char *word,
                        size_t nbytes, uint64_t before, const char *fn)
{
    uint64_t current = 0;

    stp_copy(ctx, space->kind, &current, word, nbytes, STP_COPY_REMOTE, fn);
    if (current != before)
        stp_fatal(
            fn,
            "the word at %p in space %u (%s) changed during an atomic on it: a kernel, a stream or "
            "a put wrote it at the same time; kernels may write this word only while a device "
            "handle exists (shmemx_device_handle_create)",
            (const void *)word, space->number, space->kind->name);
}

static void words_by_copies(struct stp_ctx *ctx, const struct stp_space *space, char *word,
                            size_t nbytes, enum stp_fabric_amo op, const void *operand,
                            const void *compare, void *result, const char *fn)
{
    uint64_t value = 0, before;

    stp_copy(ctx, space->kind, &value, word, nbytes, STP_COPY_REMOTE, fn);
    before = value;
    stp_amo_apply(&value, nbytes, op, operand, compare, result);
    if (value == before) return;
    if (STP_UNLIKELY(stp_rt.check)) words_check(ctx, space, word, nbytes, before, fn);
    stp_copy(ctx, space->kind, word, &value, nbytes, STP_COPY_REMOTE, fn);
}

void stp_stage_amo_local(struct stp_ctx *ctx, struct stp_space *space, size_t offset,
                         enum stp_fabric_amo op, enum stp_dtype dtype, const void *operand,
                         const void *compare, void *result, const char *fn)
{
    size_t nbytes = stp_dtype_size(dtype);
    char *word = space->base + offset;

    if (space->kind->device == NULL) {
        /*
         * Use a CPU atomic for private memory, because the program's own atomics are CPU atomics,
         * too. The fence pairs with the acquire load of a thread that waits for the word.
         */
        __atomic_thread_fence(__ATOMIC_RELEASE);
        stp_amo_apply(word, nbytes, op, operand, compare, result);
        return;
    }
    pthread_mutex_lock(&words.lock);
    if (!words_by_device(space, offset, nbytes, op, operand, compare, result, fn))
        words_by_copies(ctx, space, word, nbytes, op, operand, compare, result, fn);
    pthread_mutex_unlock(&words.lock);
}
