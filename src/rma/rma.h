/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the access of a PE to the memory of other PEs: the location of objects, contexts, and
 * remote memory access, atomics, signals, order, locks and waiting. The typed bodies of src/api and
 * the collectives call these functions.
 */
#ifndef STP_RMA_H
#define STP_RMA_H

#include "base/wait_state_page.h"
#include "boot/boot.h"
#include "core/argument_errors.h"
#include "core/team_and_space_handles.h"
#include "device.h"
#include "peer_liveness_and_job_end.h"

/* ---- where an object is (locate.c) ----------------------------------------- */

struct stp_ctx;

/*
 * As stp_ptr_inline(), for the cases that stp_ptr_inline() leaves out, for example the data segment
 * and local PEs whose numbers are not contiguous.
 */
void *stp_ptr_slow(const void *addr, int pe);

/* Returns the address at which this PE maps PE pe's copy of a host symmetric object, or NULL. */
static inline void *stp_ptr(const void *addr, int pe)
{
    void *there = stp_ptr_inline(addr, pe, STP_USE_ACCESS);

    return STP_LIKELY(there != NULL) ? there : stp_ptr_slow(addr, pe);
}

/* Returns whether this PE's part of any space is outside the window. */
static inline bool stp_any_outside(void)
{
    return __atomic_load_n(&stp_own_file_n, __ATOMIC_RELAXED) != 0 ||
           __atomic_load_n(&stp_private_n, __ATOMIC_RELAXED) != 0;
}

/* Fatal like stp_symmetric() if addr is outside the window and nbytes reach beyond its space. */
void stp_check_end(const void *addr, size_t nbytes, const char *fn, const char *argument);

/*
 * Returns the target of an operation of ctx on nbytes of the symmetric object at addr on PE pe,
 * with the path to this target. Fatal like stp_symmetric(), and if there is no path. For loads and
 * stores in the window the end of the space is checked only with SHMEM_CHECK=1, which also checks
 * that addr is in the space to which ctx is bound.
 */
struct stp_target stp_locate(const struct stp_ctx *ctx, const void *addr, size_t nbytes, int pe,
                             enum stp_use use, const char *fn, const char *argument);

/*
 * Returns the space that has nbytes at the symmetric address addr on PE pe. Sets *offset to their
 * offset in the space's region; offset may be NULL. Fatal, with fn and argument in the message, if
 * addr is not symmetric, if the bytes reach beyond the space, or if pe has no part of the space;
 * with SHMEM_CHECK=1 also if the bytes are not in one live allocation.
 */
struct stp_space *stp_symmetric(const void *addr, size_t nbytes, int pe, size_t *offset,
                                const char *fn, const char *argument);

/* Ends the job because the data segment of pe cannot be reached, and prints the reason. */
_Noreturn void stp_fatal_global_unreachable(const void *addr, int pe, const char *fn) STP_COLD;

/* ---- contexts ----------------------------------------------------------- */

struct stp_ctx {
    int n_pes;  /* number of PEs in the team; valid PE numbers are less than n_pes */
    bool world; /* whether PE numbers on this context are world numbers */
    bool live;
    long options;       /* SHMEM_CTX_ options */
    bool in_session;    /* whether a session is open; stp_rt.lock guards all session fields */
    long session;       /* SHMEM_CTX_SESSION_ options of the session */
    size_t session_ops; /* number of expected operations, or SIZE_MAX if unknown */
    struct stp_team *team;
    struct stp_fabric_ctx *fabric; /* NULL if the job has no fabric */
    bool copies;                   /* whether a queue was used, so that quiet must flush */
    bool near;                     /* whether the fabric was used for a PE of this node */
    struct stp_queue *queues[STP_KINDS_MAX]; /* queues by kind, created on first use */
    struct stp_space *space;                 /* space to which the context is bound, or NULL */
    struct stp_ctx *next;                    /* link in the team's list, under stp_rt.lock */
    struct stp_ctx *prev;
};

extern struct stp_ctx stp_ctx_default;
extern struct stp_ctx stp_ctx_coll;  /* context of collectives, which never wait for user work */
extern struct stp_ctx stp_ctx_small; /* context of words of collectives, and of data with a word */
extern struct stp_ctx stp_ctx_stage; /* context of proxy requests and of the library's own copies */
extern struct stp_ctx stp_ctx_proxy; /* context of this PE's proxy thread */

/* Context of the stream thread, open while this thread runs. Opening returns 0, or nonzero. */
extern struct stp_ctx stp_ctx_stream;
int stp_ctx_open_for_stream_thread(void);
void stp_ctx_close_stream(void);

/*
 * stp_ctx_init() opens the contexts above except stp_ctx_stream; it needs the world team and the
 * fabric. The other functions complete and close these contexts, in this order.
 */
void stp_ctx_init(void);
void stp_ctx_close_default(void);
void stp_ctx_internal_quiet(void);
void stp_ctx_close_internal_copy_queues(void);
void stp_ctx_internal_fini(void);

/* Destroys the contexts of a team that is about to be destroyed. */
void stp_ctx_destroy_all(struct stp_team *team);

/* Returns the context of a handle. Handles of predefined contexts are small constants. */
static inline struct stp_ctx *stp_ctx_of(shmem_ctx_t ctx)
{
    return ctx == SHMEM_CTX_DEFAULT ? &stp_ctx_default : (struct stp_ctx *)ctx;
}

/*
 * Called before the fabric carries an operation to pe. The fabric orders only its own operations,
 * so a fence must complete them before this CPU writes to a PE of this node.
 */
static inline void stp_ctx_by_fabric(struct stp_ctx *ctx, int pe)
{
    if (STP_UNLIKELY(stp_local_of(pe) >= 0)) __atomic_store_n(&ctx->near, true, __ATOMIC_RELAXED);
}

/* Returns the context of a handle that is not SHMEM_CTX_INVALID. Fatal if it was destroyed. */
struct stp_ctx *stp_ctx_check_live(shmem_ctx_t ctx, const char *fn);

/* As stp_ctx_of(), but fatal for SHMEM_CTX_INVALID. The two constants share one branch. */
static inline __attribute__((always_inline)) struct stp_ctx *stp_ctx_check(shmem_ctx_t ctx,
                                                                           const char *fn)
{
    if (STP_LIKELY((uintptr_t)ctx > (uintptr_t)SHMEM_CTX_DEFAULT)) return (struct stp_ctx *)ctx;
    if (STP_UNLIKELY(ctx == SHMEM_CTX_INVALID)) stp_fatal_ctx(fn);
    return &stp_ctx_default;
}

int stp_ctx_pe_slow(const struct stp_ctx *ctx, int pe);

/* Returns the world number of PE pe of the context's team. Fatal if pe is out of range. */
static inline int stp_ctx_pe(const struct stp_ctx *ctx, int pe, const char *fn)
{
    if (STP_UNLIKELY((unsigned)pe >= (unsigned)ctx->n_pes)) stp_fatal_pe(fn, pe, ctx->n_pes);
    return STP_LIKELY(ctx->world) ? pe : stp_ctx_pe_slow(ctx, pe);
}

/* ---- remote memory access (rma.c) --------------------------------------- */

void stp_put_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                  const char *fn);
/*
 * As stp_put(), to a target that stp_locate() returned. nbytes is not 0, and the caller has called
 * stp_kind_begin().
 */
void stp_put_to(struct stp_ctx *ctx, const struct stp_target *dest, const void *source,
                size_t nbytes);
void stp_put_nbi_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                      const char *fn);
void stp_get_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                  const char *fn);
void stp_get_nbi_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                      const char *fn);

/* Copies 8 bytes, the most frequent small size, without calling memcpy. */
static inline __attribute__((always_inline)) void stp_move(void *dest, const void *source,
                                                           size_t nbytes)
{
    if (nbytes == 8)
        __builtin_memcpy(dest, source, 8);
    else
        __builtin_memcpy(dest, source, nbytes);
}

static inline void stp_put(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                           int pe, const char *fn)
{
    void *there = stp_ptr_inline(dest, pe, STP_USE_COPY);

    if (STP_LIKELY(there != NULL))
        __builtin_memcpy(there, source, nbytes);
    else
        stp_put_slow(ctx, dest, source, nbytes, pe, fn);
}

static inline void stp_put_nbi(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                               int pe, const char *fn)
{
    void *there = stp_ptr_inline(dest, pe, STP_USE_COPY);

    if (STP_LIKELY(there != NULL))
        __builtin_memcpy(there, source, nbytes);
    else
        stp_put_nbi_slow(ctx, dest, source, nbytes, pe, fn);
}

static inline void stp_get(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                           int pe, const char *fn)
{
    const void *there = stp_ptr_inline(source, pe, STP_USE_COPY);

    if (STP_LIKELY(there != NULL))
        __builtin_memcpy(dest, there, nbytes);
    else
        stp_get_slow(ctx, dest, source, nbytes, pe, fn);
}

static inline void stp_get_nbi(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                               int pe, const char *fn)
{
    const void *there = stp_ptr_inline(source, pe, STP_USE_COPY);

    if (STP_LIKELY(there != NULL))
        __builtin_memcpy(dest, there, nbytes);
    else
        stp_get_nbi_slow(ctx, dest, source, nbytes, pe, fn);
}

/*
 * Stores one element of 1, 2, 4, 8 or 16 bytes, for shmem_p. An element of up to 8 bytes does not
 * tear. The typed body calls this function if stp_ptr_inline() returns NULL.
 */
void stp_store_slow(struct stp_ctx *ctx, void *dest, const void *value, size_t nbytes, int pe,
                    const char *fn);

/*
 * Copies nblocks blocks of bsize elements of size bytes; blocking. dst and sst are the distances
 * between the starts of blocks in elements. Fatal if a distance is less than bsize.
 */
void stp_iput(struct stp_ctx *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
              size_t bsize, size_t nblocks, size_t size, int pe, const char *fn);
void stp_iget(struct stp_ctx *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
              size_t bsize, size_t nblocks, size_t size, int pe, const char *fn);

/* ---- atomics (amo.c) ---------------------------------------------------- */

/*
 * Performs an atomic for which stp_ptr_inline() returned NULL. operand and compare are NULL if op
 * takes none. result is NULL for operations that fetch nothing; with nbi, *result is valid only
 * after quiet.
 */
void stp_amo_slow(struct stp_ctx *ctx, enum stp_fabric_amo op, enum stp_dtype dtype, void *dest,
                  const void *operand, const void *compare, void *result, bool nbi, int pe,
                  const char *fn);

/* As stp_amo_slow(), on an aligned word that stp_locate() returned for STP_USE_ATOMIC. */
void stp_amo_to(struct stp_ctx *ctx, const struct stp_target *dest, enum stp_fabric_amo op,
                enum stp_dtype dtype, const void *operand, const void *compare, void *result,
                bool nbi);

/* As stp_amo_slow(), by this CPU on a mapped word of nbytes, 4 or 8. */
void stp_amo_apply(void *there, size_t nbytes, enum stp_fabric_amo op, const void *operand,
                   const void *compare, void *result);

/* ---- signals (signal.c) ------------------------------------------------- */

/* Fatal if sig_op is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD. */
void stp_put_signal(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                    uint64_t *sig_addr, uint64_t signal, int sig_op, bool nbi, int pe,
                    const char *fn);

/*
 * Puts nbytes, which may be 0, then updates a word of the library like a signal. The word only
 * grows, by less than STP_FABRIC_WORD_GROWS at a time. source can be reused after quiet of the
 * context. This quiet does not wait for the word, for which the PE that owns the word waits. Data
 * and word can therefore be one message, where a signal would have to wait for its data.
 */
void stp_put_notify(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                    uint64_t *word, uint64_t value, int sig_op, int pe, const char *fn);

/* ---- order (order.c) ---------------------------------------------------- */

void stp_fence(struct stp_ctx *ctx);
void stp_quiet(struct stp_ctx *ctx);

/* ---- locks (lock.c) ------------------------------------------------------- */

/* Frees the records of the locks that this PE holds. Called after the last barrier. */
void stp_locks_forget(void);

/* ---- waiting (wait_step.c) --------------------------------------------------- */

/*
 * Performs one step of a wait for another PE or thread: spins or yields, and serves the fabric.
 * Returns true if the wait has lasted and the caller should call stp_wait_publish_subject(). Such
 * a caller also calls stp_wait_end() after its loop.
 */
bool stp_wait_idle_once(struct stp_wait *wait);

/*
 * Serves the fabric after a test that failed. Sometimes also lets another PE run, because a program
 * may test in a loop.
 */
void stp_wait_after_failed_test(void);

/*
 * Returns the outcomes of a comparison that satisfy cmp: bit 0 for less, bit 1 for equal, bit 2 for
 * greater. Fatal if cmp is no SHMEM_CMP_ constant. Waits call this function before their loops.
 */
static inline unsigned stp_cmp_outcomes(int cmp, const char *fn)
{
    static const unsigned char outcomes[] = {
        [SHMEM_CMP_EQ] = 2, [SHMEM_CMP_NE] = 5, [SHMEM_CMP_LT] = 1,
        [SHMEM_CMP_LE] = 3, [SHMEM_CMP_GT] = 4, [SHMEM_CMP_GE] = 6,
    };

    if (STP_UNLIKELY((unsigned)cmp >= STP_COUNT(outcomes) || outcomes[cmp] == 0))
        stp_fatal_cmp(fn, cmp);
    return outcomes[cmp];
}

/* Makes peers' RDMA writes to device memory visible to this PE; called after a signal or sync. */
void stp_flush_rdma_writes_to_device_slow(void);

static inline void stp_remote_flush(void)
{
    if (STP_UNLIKELY(__atomic_load_n(&stp_rt.remote_flush, __ATOMIC_RELAXED)))
        stp_flush_rdma_writes_to_device_slow();
}

#endif /* STP_RMA_H */
