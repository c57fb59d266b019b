/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the CPU may not touch, as the chapters of the standard see it: the way to it, copies
 * by the ops of its kind, bounce buffers, and staging through the proxy thread of its owner.
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

/* How data between this PE and PE pe's part of a space travels. */
enum stp_access_path stp_access_path_to(struct stp_space *space, int pe, enum stp_use use);

/* ---- device memory (device_memory_copy.c) ------------------------------ */

/* The kind outside the window that a buffer of the program belongs to, NULL for host memory. */
static inline const struct stp_kind *stp_device_of(const void *ptr)
{
    return STP_LIKELY(!stp_win.devices) ? NULL : stp_device_kind_of(ptr);
}

/*
 * Is one of them device memory, or private pages: not to be mapped by peers? For symmetric
 * addresses all PEs find the same.
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
 * Copy rows between memory of a kind and anything it reaches, on the context's queue; one row is
 * a plain copy. Fatal when the device fails.
 */
void stp_copy_rows(struct stp_ctx *ctx, const struct stp_kind *kind, void *dest, const void *source,
                   const struct stp_strided_copy *rows, enum stp_copy_completion end,
                   const char *fn);
void stp_copy(struct stp_ctx *ctx, const struct stp_kind *kind, void *dest, const void *source,
              size_t nbytes, enum stp_copy_completion end, const char *fn);

/* Copy, then set a word that the kind's devices reach, in that order; both by flush. */
void stp_copy_signal(struct stp_ctx *ctx, const struct stp_kind *kind, void *dest,
                     const void *source, size_t nbytes, enum stp_copy_completion end, void *word,
                     uint64_t signal, const char *fn);

/*
 * Reduce parts of memory of a kind that its device reaches; done on return. False: it does not, and
 * nothing was written. Fatal when the device fails.
 */
bool stp_copy_reduce(struct stp_ctx *ctx, const struct stp_kind *kind,
                     const struct stp_reduction *reduction, const char *fn);

/* Set bytes of this PE's part of a space to zero; done on return. Fatal when the device fails. */
void stp_copy_zero(struct stp_space *space, size_t offset, size_t nbytes, const char *fn);

/* Between any two buffers that this PE reaches, of whatever memory; done on return. */
void stp_copy_any(void *dest, const void *source, size_t nbytes, const char *fn);

/*
 * Make what copies need before they do, unless SHMEM_GPU_IPC is lazy: the queues of a context, when
 * that is made; what all contexts share, when a space of device memory is.
 */
void stp_copy_open(struct stp_ctx *ctx, const char *fn);
void stp_bounce_preallocate(void);

/* Complete the copies of the context; give its queues back, after that. */
void stp_copy_flush(struct stp_ctx *ctx);
void stp_copy_close(struct stp_ctx *ctx);

/*
 * Read a word of this PE, atomically, whatever memory it is in: for waits and tests. nbytes: 1,
 * 2, 4 or 8. Who acts upon the value calls stp_remote_flush() before.
 */
void stp_load_slow(void *value, const void *word, size_t nbytes);

/*
 * Host buffers of STP_BOUNCE_BYTES that copies are quick with. take waits for a free one; may be
 * asked for several by one thread as long as it needs only one to go on (try).
 */
#define STP_BOUNCE_BYTES ((size_t)256 << 10)
#define STP_BOUNCE_BUFFERS 16
char *stp_bounce_wait_take(void);
char *stp_bounce_try(void); /* NULL: all are in use */
void stp_bounce_give(char *buffer);
void stp_bounce_fini(void);

/*
 * A transfer of rows cut into fragments of at most room bytes when packed: a fragment is n rows of
 * width bytes, from so many bytes behind the start of source and of dest on.
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
 * Have the allocation of private memory of the kind registered with the fabric, for the operations
 * that this thread issues until release; -1: it cannot be.
 */
int stp_device_mr_acquire_for_thread(const struct stp_kind *kind, const void *ptr, size_t nbytes);
void stp_device_mr_end_current(int number); /* -1 is fine */
void stp_device_mr_fini(void);

/* ---- private pages (cma.c) --------------------------------------------- */

/*
 * From buffer to a part that STP_PATH_CMA leads to, or with put false from there to buffer; done
 * on return. Fatal when the part is gone.
 */
void stp_cma_copy(const struct stp_target *target, const void *buffer,
                  const struct stp_strided_copy *rows, bool put);

/* ---- staging (stage.c, staging_proxy_thread.c) ----------------------------- */

/*
 * Transfers between a buffer of the program and memory that only its owner can touch, by way of
 * the owner's proxy thread: complete and visible on return. rows.source_pitch and dest_pitch as
 * ever.
 */
void stp_stage_put(struct stp_ctx *ctx, const struct stp_target *dest, const void *source,
                   const struct stp_strided_copy *rows);
void stp_stage_get(struct stp_ctx *ctx, const struct stp_target *source, void *dest,
                   const struct stp_strided_copy *rows);

/* An atomic on a word of a device space: the process of its owner does it. Done on return. */
void stp_stage_amo_by_owner(const struct stp_target *dest, enum stp_fabric_amo op,
                            enum stp_dtype dtype, const void *operand, const void *compare,
                            void *result);

/*
 * Kernels on this device may change words of this PE's device memory: from now on its atomics are
 * atomic to theirs (owner_amo_by_gpu_or_copy.c). Keep undoes one call. 0; -errno, not logged: a
 * device cannot do that, and all is as before. Is it so for the words of this GPU space?
 */
int stp_stage_amo_by_gpu_enable(int device);
void stp_stage_amo_by_gpu_disable(void);
bool stp_stage_amo_by_gpu_enabled(const struct stp_space *space);

/* Bytes of the internal space that staging wants, a PE, in front of the teams' areas. */
size_t stp_stage_internal_bytes(size_t window_capacity);
void stp_stage_fini(void); /* no request is under way any more */

/* Serve peers from now on: when this PE gets its first device space. Stop: at finalize. */
void stp_stage_server_start(void);
void stp_stage_server_stop(void);

/*
 * In a job that is being aborted: has the proxy thread left, after a short wait? Then nobody
 * serves.
 */
bool stp_stage_server_try_stop_on_abort(void);

/*
 * Look whether requests came through the fabric; wakes the proxy thread. Never blocks. Any thread.
 */
void stp_stage_server_wake_if_asked(void);

#endif /* STP_DEVICE_H */
