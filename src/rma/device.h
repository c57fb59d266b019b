/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares access to memory that the CPU must not touch: the path to a part, copies by the
 * operations of a kind, bounce buffers, and staging through the proxy thread of the owner.
 * Design: docs/design/kinds.md, docs/design/stage.md.
 */
#ifndef STP_DEVICE_H
#define STP_DEVICE_H

#include "base/base.h"
#include "spaces/adopted_private_memory_kind.h"
#include "spaces/space_registry.h"
#include "transport/transport.h"

struct stp_ctx;

/* ---- ways (locate.c) ---------------------------------------------------------- */

/* Returns the path by which data travels between this PE and PE pe's part of a space. */
enum stp_access_path stp_access_path_to(struct stp_space *space, int pe, enum stp_use use);

/* ---- device memory (device_memory_copy.c) ------------------------------ */

/* Returns the device kind that owns a buffer of the program, or NULL for host memory. */
static inline const struct stp_kind *stp_device_of(const void *ptr)
{
    return STP_LIKELY(!stp_win.devices) ? NULL : stp_device_kind_of(ptr);
}

/*
 * Returns whether dest or source is device memory or adopted private pages, which peers cannot map.
 * For symmetric addresses the result is equal on all PEs.
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
 * These functions copy rows, or one row of nbytes, on the context's queue between memory of a kind
 * and any memory that this kind can access. Fatal if the device fails.
 */
void stp_copy_rows(struct stp_ctx *ctx, const struct stp_kind *kind, void *dest, const void *source,
                   const struct stp_strided_copy *rows, enum stp_copy_completion end,
                   const char *fn);
void stp_copy(struct stp_ctx *ctx, const struct stp_kind *kind, void *dest, const void *source,
              size_t nbytes, enum stp_copy_completion end, const char *fn);

/* Copies, then sets a word that the kind's devices can access. A flush completes both steps. */
void stp_copy_signal(struct stp_ctx *ctx, const struct stp_kind *kind, void *dest,
                     const void *source, size_t nbytes, enum stp_copy_completion end, void *word,
                     uint64_t signal, const char *fn);

/*
 * Performs the reduction on a device of the kind before returning. Returns false, without writing
 * anything, if no device can perform the reduction. Fatal if the device fails.
 */
bool stp_copy_reduce(struct stp_ctx *ctx, const struct stp_kind *kind,
                     const struct stp_reduction *reduction, const char *fn);

/* Zeroes bytes of this PE's part of a space before returning. Fatal if the device fails. */
void stp_copy_zero(struct stp_space *space, size_t offset, size_t nbytes, const char *fn);

/* Copies between any two buffers that this PE can access. The copy is complete on return. */
void stp_copy_any(void *dest, const void *source, size_t nbytes, const char *fn);

/*
 * stp_copy_open() creates the queues of a context when the context is created.
 * stp_bounce_preallocate() allocates the bounce buffers when a space of device memory is created.
 */
void stp_copy_open(struct stp_ctx *ctx, const char *fn);
void stp_bounce_preallocate(void);

/* stp_copy_flush() completes the context's copies. stp_copy_close() then destroys its queues. */
void stp_copy_flush(struct stp_ctx *ctx);
void stp_copy_close(struct stp_ctx *ctx);

/*
 * Atomically reads a word of 1, 2, 4 or 8 bytes of this PE in any memory, for waits and tests. A
 * caller that acts on the value must first call stp_remote_flush().
 */
void stp_load_slow(void *value, const void *word, size_t nbytes);

/*
 * Pinned host buffers for fast copies. stp_bounce_wait_take() waits for a free buffer. A thread
 * with a buffer takes more buffers only with stp_bounce_try(), because waiting could deadlock.
 */
#define STP_BOUNCE_BYTES ((size_t)256 << 10)
#define STP_BOUNCE_BUFFERS 16
char *stp_bounce_wait_take(void);
char *stp_bounce_try(void); /* returns NULL if all buffers are in use */
void stp_bounce_give(char *buffer);
void stp_bounce_fini(void);

/*
 * A transfer of rows, cut into fragments of at most room packed bytes. A fragment has n rows of
 * width bytes, which begin dest_at and source_at bytes after the start of dest and of source.
 */
struct stp_fragment {
    size_t dest_at, source_at, width, n;
};
struct stp_fragments {
    struct stp_strided_copy rows;
    size_t room, row, column;
};
bool stp_fragment_next(struct stp_fragments *fragments, struct stp_fragment *fragment);

/* ---- private device memory (device_mr_cache.c) ------------------------------------- */

/*
 * Registers with the fabric the allocation that contains a private buffer, for the operations that
 * this thread issues until stp_device_mr_end_current(). Returns its number, or -1 if this fails.
 */
int stp_device_mr_acquire_for_thread(const struct stp_kind *kind, const void *ptr, size_t nbytes);
void stp_device_mr_end_current(int number); /* accepts -1 */
void stp_device_mr_fini(void);

/* ---- private pages (cma.c) --------------------------------------------- */

/*
 * Copies from buffer to a part with path STP_PATH_CMA, or from the part to buffer if put is false.
 * The copy is complete on return. Fatal if the part is not mapped any more.
 */
void stp_cma_copy(const struct stp_target *target, const void *buffer,
                  const struct stp_strided_copy *rows, bool put);

/* ---- staging (stage.c, staging_proxy_thread.c) ----------------------------- */

/*
 * These functions transfer rows between a buffer of the program and memory that only its owner can
 * touch, through the owner's proxy thread. Transfers are complete and visible on return.
 */
void stp_stage_put(struct stp_ctx *ctx, const struct stp_target *dest, const void *source,
                   const struct stp_strided_copy *rows);
void stp_stage_get(struct stp_ctx *ctx, const struct stp_target *source, void *dest,
                   const struct stp_strided_copy *rows);

/* Performs an atomic on a device or private word in the owner's process, before returning. */
void stp_stage_amo_by_owner(const struct stp_target *dest, enum stp_fabric_amo op,
                            enum stp_dtype dtype, const void *operand, const void *compare,
                            void *result);

/*
 * stp_stage_amo_by_gpu_enable() makes this PE's atomics on device memory atomic to those of kernels
 * on this device (owner_amo_by_gpu_or_copy.c). It returns 0, or -errno without logging if a device
 * cannot do this. disable() undoes one call. enabled() returns whether this holds for a GPU space.
 */
int stp_stage_amo_by_gpu_enable(int device);
void stp_stage_amo_by_gpu_disable(void);
bool stp_stage_amo_by_gpu_enabled(const struct stp_space *space);

/* Returns the bytes per PE that staging needs in the internal space, before the teams' areas. */
size_t stp_stage_internal_bytes(size_t window_capacity);
void stp_stage_fini(void); /* called when no request is outstanding */

/* The proxy thread starts when this PE gets its first device space, and stops at finalize. */
void stp_stage_server_start(void);
void stp_stage_server_stop(void);

/*
 * Asks the proxy thread to end in a job that is being aborted. Returns whether the thread has ended
 * after a short wait.
 */
bool stp_stage_server_try_stop_on_abort(void);

/*
 * Wakes the proxy thread if requests came through the fabric. Never blocks. Any thread may call
 * this function.
 */
void stp_stage_server_wake_if_asked(void);

#endif /* STP_DEVICE_H */
