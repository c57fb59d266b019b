/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the functions for device memory, which a CPU must not access, and for private memory,
 * which other PEs cannot map. They choose the access path, copy by the operations of a memory kind,
 * and provide bounce buffers. With staging, the proxy thread of the owner PE performs the
 * operation. Design: docs/design/kinds.md.
 */
#ifndef STP_DEVICE_H
#define STP_DEVICE_H

#include "base/base.h"
#include "spaces/adopted_private_memory_kind.h"
#include "spaces/space_registry.h"
#include "transport/transport.h"

struct stp_ctx;

/* ---- access paths (locate.c) -------------------------------------------------- */

/* Returns the path by which this PE accesses PE pe's part of a space. */
enum stp_access_path stp_access_path_to(struct stp_space *space, int pe, enum stp_use use);

/* ---- device memory (device_memory_copy.c) ------------------------------ */

/* Returns the memory kind of a buffer of the program, or NULL if the buffer is host memory. */
static inline const struct stp_kind *stp_device_of(const void *ptr)
{
    return STP_LIKELY(!stp_win.devices) ? NULL : stp_device_kind_of(ptr);
}

/*
 * Returns whether dest or source is memory that peers cannot map. Such memory is device memory, or
 * private memory that the program has made into a space. For symmetric addresses the result is
 * equal on all PEs.
 */
static inline bool stp_on_device(const void *dest, const void *source)
{
    if (STP_UNLIKELY(__atomic_load_n(&stp_private_n, __ATOMIC_RELAXED) != 0) &&
        (stp_adopted_private_contains(dest) || stp_adopted_private_contains(source)))
        return true;
    return STP_UNLIKELY(stp_win.devices) &&
           (stp_device_kind_of(dest) != NULL || stp_device_kind_of(source) != NULL);
}

/*
 * Copies rows on the context's copy queue. One side of the copy is memory of the given kind, and
 * the other side is any memory that this kind can access. The parameter completion is the state
 * that the copy must have reached on return. Fatal if the device fails.
 */
void stp_copy_rows(struct stp_ctx *ctx, const struct stp_kind *kind, void *dest, const void *source,
                   const struct stp_strided_copy *rows, enum stp_copy_completion completion,
                   const char *fn);
/* As stp_copy_rows(), but copies one row of nbytes bytes. */
void stp_copy(struct stp_ctx *ctx, const struct stp_kind *kind, void *dest, const void *source,
              size_t nbytes, enum stp_copy_completion completion, const char *fn);

/*
 * Copies as stp_copy(), and then stores the value signal to *word. The device must be able to
 * access this word. A flush of the copy queue completes both the copy and the store.
 */
void stp_copy_signal(struct stp_ctx *ctx, const struct stp_kind *kind, void *dest,
                     const void *source, size_t nbytes, enum stp_copy_completion completion,
                     void *word, uint64_t signal, const char *fn);

/*
 * Performs a reduction on a device of the kind. The reduction is complete on return. Returns false,
 * without writing anything, if no device can perform the reduction. Fatal if the device fails.
 */
bool stp_copy_reduce(struct stp_ctx *ctx, const struct stp_kind *kind,
                     const struct stp_reduction *reduction, const char *fn);

/*
 * Sets nbytes bytes at offset in this PE's part of a space to 0. The operation is complete on
 * return. Fatal if the device fails.
 */
void stp_copy_zero(struct stp_space *space, size_t offset, size_t nbytes, const char *fn);

/* Copies between any two buffers that this PE can access. The copy is complete on return. */
void stp_copy_any(void *dest, const void *source, size_t nbytes, const char *fn);

/* Creates the copy queues of a context. Called when the context is created. */
void stp_copy_open(struct stp_ctx *ctx, const char *fn);
/* Allocates the bounce buffers. Called when a space of device memory is created. */
void stp_bounce_preallocate(void);

/* Completes all copies of the context. */
void stp_copy_flush(struct stp_ctx *ctx);
/* Destroys the copy queues of the context. All copies of the context must be complete. */
void stp_copy_close(struct stp_ctx *ctx);

/*
 * Reads a word of this PE atomically. The word has 1, 2, 4 or 8 bytes and may be in any memory.
 * Waits and tests call this function. If the value shows that data has arrived, the caller must
 * call stp_remote_flush() before it reads the data.
 */
void stp_load_slow(void *value, const void *word, size_t nbytes);

/*
 * Pinned host buffers, through which data passes on its way to or from device memory.
 * stp_bounce_wait_take() waits until a buffer is free. A thread that already holds a buffer must
 * call stp_bounce_try() to take another one. If two such threads waited for a buffer, they could
 * wait for each other forever.
 */
#define STP_BOUNCE_BYTES ((size_t)256 << 10)
#define STP_BOUNCE_BUFFERS 16
char *stp_bounce_wait_take(void);
char *stp_bounce_try(void); /* returns NULL if all buffers are in use */
void stp_bounce_give(char *buffer);
void stp_bounce_fini(void);

/*
 * One fragment of a strided transfer. It has n rows of width bytes. The first row begins
 * dest_offset bytes after the start of the destination and source_offset bytes after the start of
 * the source.
 */
struct stp_fragment {
    size_t dest_offset, source_offset, width, n;
};
/*
 * A strided transfer that is cut into fragments of at most max_bytes bytes. The field row is the
 * index of the row in which the next fragment begins. The field column is the offset of the first
 * byte of this fragment in the row.
 */
struct stp_fragments {
    struct stp_strided_copy rows;
    size_t max_bytes, row, column;
};
/* Sets *fragment to the next fragment. Returns false after the last fragment. */
bool stp_fragment_next(struct stp_fragments *fragments, struct stp_fragment *fragment);

/* ---- private device memory (device_mr_cache.c) ------------------------------------- */

/*
 * Registers memory with the fabric, so that operations of this thread can use a private device
 * buffer of the program. The registration covers the whole allocation that contains the buffer. The
 * thread can use the registration until it calls stp_device_mr_end_current(). Returns the number of
 * the registration, or -1 if the fabric cannot use the buffer.
 */
int stp_device_mr_acquire_for_thread(const struct stp_kind *kind, const void *ptr, size_t nbytes);
/* Ends the use of a registration by this thread. Does nothing if number is -1. */
void stp_device_mr_end_current(int number);
void stp_device_mr_fini(void);

/* ---- private memory (cma.c) -------------------------------------------- */

/*
 * Copies between buffer and private memory of another PE of the node (path STP_PATH_CMA). If put is
 * true, copies from buffer to the target. Otherwise copies from the target to buffer. The copy is
 * complete on return. Fatal if the target's memory is no longer mapped.
 */
void stp_cma_copy(const struct stp_target *target, const void *buffer,
                  const struct stp_strided_copy *rows, bool put);

/* ---- staging (stage.c, staging_proxy_thread.c) ----------------------------- */

/*
 * Puts rows into memory that only its owner PE can access. The owner's proxy thread writes the
 * rows. The transfer is complete and visible on return.
 */
void stp_stage_put(struct stp_ctx *ctx, const struct stp_target *dest, const void *source,
                   const struct stp_strided_copy *rows);
/* Gets rows from memory that only its owner PE can access. The transfer is complete on return. */
void stp_stage_get(struct stp_ctx *ctx, const struct stp_target *source, void *dest,
                   const struct stp_strided_copy *rows);

/*
 * Lets the owner PE perform an atomic on a word of its device memory or private memory. The atomic
 * is complete on return.
 */
void stp_stage_amo_by_owner(const struct stp_target *dest, enum stp_fabric_amo op,
                            enum stp_dtype dtype, const void *operand, const void *compare,
                            void *result);

/*
 * Enables atomics by GPUs (owner_amo_by_gpu_or_copy.c). GPUs then perform the atomics of all PEs on
 * this PE's GPU memory. These atomics are also atomic with respect to atomics by kernels on the
 * same GPU. Returns 0, or -errno without logging if a GPU cannot perform such atomics.
 */
int stp_stage_amo_by_gpu_enable(int device);
/* Undoes one successful call of stp_stage_amo_by_gpu_enable(). */
void stp_stage_amo_by_gpu_disable(void);
/* Returns whether stp_stage_amo_by_gpu_enable() is in effect for a space of GPU memory. */
bool stp_stage_amo_by_gpu_enabled(const struct stp_space *space);

/* Returns the number of bytes that staging needs at the start of each PE's internal space. */
size_t stp_stage_internal_bytes(size_t window_capacity);
void stp_stage_fini(void); /* called when no request is outstanding */

/* Starts the proxy thread if it does not run. Called when a device or private space is created. */
void stp_stage_server_start(void);
/* Stops the proxy thread. Called by finalize. */
void stp_stage_server_stop(void);

/*
 * Asks the proxy thread to end, because the process is about to exit or abort. Waits at most 0.1 s
 * for the end of the thread. Returns true if the thread has ended or was not running.
 */
bool stp_stage_server_try_stop_on_abort(void);

/*
 * Wakes the proxy thread if the fabric has delivered requests to this PE. Any thread may call this
 * function, because it never blocks.
 */
void stp_stage_server_wake_if_asked(void);

#endif /* STP_DEVICE_H */
