/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the functions by which a PE accesses the memory of other PEs. They locate objects and
 * implement contexts, puts and gets, atomics, signals, fence and quiet, locks, and waits. The typed
 * routines of src/api and the collectives call these functions.
 */
#ifndef STP_RMA_H
#define STP_RMA_H

#include "base/wait_state_page.h"
#include "boot/boot.h"
#include "core/argument_errors.h"
#include "core/team_and_space_handles.h"
#include "device.h"
#include "peer_liveness_and_job_end.h"

/* ---- location of an object (locate.c) -------------------------------------- */

struct stp_ctx;

/*
 * As stp_ptr_inline(), but also handles cases for which stp_ptr_inline() returns NULL. Examples are
 * objects in the data segment, and local PEs whose PE numbers are not contiguous.
 */
void *stp_ptr_slow(const void *addr, int pe);

/*
 * Returns the address at which this PE maps PE pe's copy of a symmetric object in host memory.
 * Returns NULL if this PE cannot map the copy.
 */
static inline void *stp_ptr(const void *addr, int pe)
{
    void *peer_ptr = stp_ptr_inline(addr, pe, STP_USE_ACCESS);

    return STP_LIKELY(peer_ptr != NULL) ? peer_ptr : stp_ptr_slow(addr, pe);
}

/*
 * Returns whether the parts of any space are outside the window. The window is the address range of
 * the shared host memory.
 */
static inline bool stp_any_outside(void)
{
    return __atomic_load_n(&stp_own_file_n, __ATOMIC_RELAXED) != 0 ||
           __atomic_load_n(&stp_private_n, __ATOMIC_RELAXED) != 0;
}

/*
 * Ends the job with the message of stp_symmetric() if addr is in a space, and the nbytes bytes at
 * addr reach past the end of this space.
 */
void stp_check_end(const void *addr, size_t nbytes, const char *fn, const char *argument);

/*
 * Locates nbytes bytes at the symmetric address addr on PE pe for an operation of ctx. Returns the
 * target, which includes the access path. Ends the job in the same cases as stp_symmetric(), and
 * also if no path to the target exists. One check is weaker. If the CPU can access the target in
 * the window, only SHMEM_CHECK=1 checks the end of the space. SHMEM_CHECK=1 also checks that addr
 * is in the space to which ctx is bound.
 */
struct stp_target stp_locate(const struct stp_ctx *ctx, const void *addr, size_t nbytes, int pe,
                             enum stp_use use, const char *fn, const char *argument);

/*
 * Returns the space that contains the nbytes bytes at the symmetric address addr. If offset is not
 * NULL, sets *offset to the offset of addr in the space's fabric region. Ends the job if addr is
 * not symmetric, if the bytes reach past the end of the space, or if PE pe has no part of the
 * space. The message names fn and argument. With SHMEM_CHECK=1, also ends the job if the bytes are
 * not in one live allocation.
 */
struct stp_space *stp_symmetric(const void *addr, size_t nbytes, int pe, size_t *offset,
                                const char *fn, const char *argument);

/* Ends the job because this PE cannot reach the data segment of PE pe. Prints the reason. */
_Noreturn void stp_fatal_global_unreachable(const void *addr, int pe, const char *fn) STP_COLD;

/* ---- contexts ----------------------------------------------------------- */

struct stp_ctx {
    int n_pes;  /* number of PEs in the team; valid PE numbers are less than n_pes */
    bool world; /* whether PE numbers in the team equal world numbers */
    bool live;
    long options; /* SHMEM_CTX_ options */
    /* Whether a session is open. stp_rt.lock guards in_session and the two fields after it. */
    bool in_session;
    long session;       /* SHMEM_CTX_SESSION_ options of the open session */
    size_t session_ops; /* expected number of operations in the session, or SIZE_MAX */
    struct stp_team *team;
    struct stp_fabric_ctx *fabric; /* fabric context; NULL if the job has no fabric */
    bool copies;                   /* whether a copy queue was used, so that quiet must flush */
    bool fabric_used_on_node; /* whether the fabric carried an operation to a PE of this node */
    struct stp_queue *queues[STP_KINDS_MAX]; /* queue for each memory kind; NULL until created */
    struct stp_space *space;                 /* space to which the context is bound, or NULL */
    struct stp_ctx *next;                    /* links in the team's list; guarded by stp_rt.lock */
    struct stp_ctx *prev;
};

extern struct stp_ctx stp_ctx_default;
/* Context of collectives. It is separate, so that collectives do not wait for user operations. */
extern struct stp_ctx stp_ctx_coll;
/*
 * Context of the flag words of collectives. It also carries small data that is sent in the same
 * message as its flag word.
 */
extern struct stp_ctx stp_ctx_small;
/* Context of requests to the proxy threads of other PEs, and of internal copies of the library. */
extern struct stp_ctx stp_ctx_stage;
/* Context that this PE's proxy thread uses. */
extern struct stp_ctx stp_ctx_proxy;

/*
 * Context of the stream thread, which performs operations that a GPU stream cannot perform itself.
 * The context is open only while this thread runs. The open function returns 0, or nonzero on
 * failure.
 */
extern struct stp_ctx stp_ctx_stream;
int stp_ctx_open_for_stream_thread(void);

/* Completes the operations of a context and closes it. Does nothing if the context is not open. */
void stp_ctx_close(struct stp_ctx *ctx);

/*
 * stp_ctx_init() opens the contexts above, except stp_ctx_stream. The world team and the fabric
 * must already exist. The other three functions complete and close these contexts, except the
 * default context. Finalize first closes the contexts of all teams and the default context. It then
 * calls the three functions in the order in which they are declared here.
 */
void stp_ctx_init(void);
void stp_ctx_internal_quiet(void);
void stp_ctx_close_internal_copy_queues(void);
void stp_ctx_internal_fini(void);

/* Destroys the contexts of a team that is about to be destroyed. */
void stp_ctx_destroy_all(struct stp_team *team);

/* Returns the context of a handle. SHMEM_CTX_DEFAULT is a constant. Other handles are pointers. */
static inline struct stp_ctx *stp_ctx_of(shmem_ctx_t ctx)
{
    return ctx == SHMEM_CTX_DEFAULT ? &stp_ctx_default : (struct stp_ctx *)ctx;
}

/*
 * Records that the fabric will carry an operation to PE pe, if pe is on this node. The fabric
 * orders its own operations, but it does not order them with stores of this CPU. A fence must
 * therefore complete such an operation before this CPU stores to a PE of this node.
 */
static inline void stp_ctx_by_fabric(struct stp_ctx *ctx, int pe)
{
    if (STP_UNLIKELY(stp_local_of(pe) >= 0))
        __atomic_store_n(&ctx->fabric_used_on_node, true, __ATOMIC_RELAXED);
}

/* As stp_ctx_of(), but fatal if the context was destroyed. ctx must not be SHMEM_CTX_INVALID. */
struct stp_ctx *stp_ctx_check_live(shmem_ctx_t ctx, const char *fn);

/*
 * As stp_ctx_of(), but ends the job if ctx is SHMEM_CTX_INVALID. One comparison shows that ctx is a
 * pointer, because the two constants are smaller than all pointers.
 */
static inline __attribute__((always_inline)) struct stp_ctx *stp_ctx_check(shmem_ctx_t ctx,
                                                                           const char *fn)
{
    if (STP_LIKELY((uintptr_t)ctx > (uintptr_t)SHMEM_CTX_DEFAULT)) return (struct stp_ctx *)ctx;
    if (STP_UNLIKELY(ctx == SHMEM_CTX_INVALID)) stp_fatal_ctx(fn);
    return &stp_ctx_default;
}

int stp_ctx_pe_slow(const struct stp_ctx *ctx, int pe);

/* Returns the world number of PE pe of the context's team. Fatal if the team has no PE pe. */
static inline int stp_ctx_pe(const struct stp_ctx *ctx, int pe, const char *fn)
{
    if (STP_UNLIKELY((unsigned)pe >= (unsigned)ctx->n_pes)) stp_fatal_pe(fn, pe, ctx->n_pes);
    return STP_LIKELY(ctx->world) ? pe : stp_ctx_pe_slow(ctx, pe);
}

/* ---- remote memory access (rma.c) --------------------------------------- */

void stp_put_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                  const char *fn);
/*
 * As stp_put(), but dest is a target that stp_locate() returned. nbytes must not be 0. The caller
 * must call stp_kind_begin() first.
 */
void stp_put_to(struct stp_ctx *ctx, const struct stp_target *dest, const void *source,
                size_t nbytes);
void stp_put_nbi_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                      const char *fn);
void stp_get_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                  const char *fn);
void stp_get_nbi_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                      const char *fn);

/* Copies nbytes bytes. Copies of 8 bytes, the most frequent small size, do not call memcpy. */
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
    void *peer_ptr = stp_ptr_inline(dest, pe, STP_USE_COPY);

    if (STP_LIKELY(peer_ptr != NULL))
        __builtin_memcpy(peer_ptr, source, nbytes);
    else
        stp_put_slow(ctx, dest, source, nbytes, pe, fn);
}

static inline void stp_put_nbi(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                               int pe, const char *fn)
{
    void *peer_ptr = stp_ptr_inline(dest, pe, STP_USE_COPY);

    if (STP_LIKELY(peer_ptr != NULL))
        __builtin_memcpy(peer_ptr, source, nbytes);
    else
        stp_put_nbi_slow(ctx, dest, source, nbytes, pe, fn);
}

static inline void stp_get(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                           int pe, const char *fn)
{
    const void *peer_ptr = stp_ptr_inline(source, pe, STP_USE_COPY);

    if (STP_LIKELY(peer_ptr != NULL))
        __builtin_memcpy(dest, peer_ptr, nbytes);
    else
        stp_get_slow(ctx, dest, source, nbytes, pe, fn);
}

static inline void stp_get_nbi(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                               int pe, const char *fn)
{
    const void *peer_ptr = stp_ptr_inline(source, pe, STP_USE_COPY);

    if (STP_LIKELY(peer_ptr != NULL))
        __builtin_memcpy(dest, peer_ptr, nbytes);
    else
        stp_get_nbi_slow(ctx, dest, source, nbytes, pe, fn);
}

/*
 * Stores one element of 1, 2, 4, 8 or 16 bytes for shmem_p. A store of up to 8 bytes does not tear.
 * The typed routine calls this function if stp_ptr_inline() returns NULL.
 */
void stp_store_slow(struct stp_ctx *ctx, void *dest, const void *value, size_t nbytes, int pe,
                    const char *fn);

/*
 * Performs a blocking strided put of nblocks blocks. A block has bsize elements of size bytes each.
 * dst and sst are the distances, in elements, between the starts of adjacent blocks in dest and in
 * source. Fatal if a distance is less than bsize.
 */
void stp_iput(struct stp_ctx *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
              size_t bsize, size_t nblocks, size_t size, int pe, const char *fn);
/* Performs a blocking strided get. The parameters are those of stp_iput(). */
void stp_iget(struct stp_ctx *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
              size_t bsize, size_t nblocks, size_t size, int pe, const char *fn);

/* ---- atomics (amo.c) ---------------------------------------------------- */

/*
 * Performs an atomic for which stp_ptr_inline() returned NULL. The pointers operand and compare are
 * NULL if the operation op does not use these values. The pointer result is NULL if op fetches
 * nothing. If nbi is true, *result is valid only after quiet.
 */
void stp_amo_slow(struct stp_ctx *ctx, enum stp_fabric_amo op, enum stp_dtype dtype, void *dest,
                  const void *operand, const void *compare, void *result, bool nbi, int pe,
                  const char *fn);

/* As stp_amo_slow(), but dest is an aligned word that stp_locate() found for STP_USE_ATOMIC. */
void stp_amo_to(struct stp_ctx *ctx, const struct stp_target *dest, enum stp_fabric_amo op,
                enum stp_dtype dtype, const void *operand, const void *compare, void *result,
                bool nbi);

/*
 * Performs an atomic on a mapped word of 4 or 8 bytes by this CPU. The other parameters are those
 * of stp_amo_slow().
 */
void stp_amo_apply(void *addr, size_t nbytes, enum stp_fabric_amo op, const void *operand,
                   const void *compare, void *result);

/* ---- signals (signal.c) ------------------------------------------------- */

/*
 * Puts nbytes bytes, then updates the signal at sig_addr on PE pe with the operation sig_op. Fatal
 * if sig_op is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD.
 */
void stp_put_signal(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                    uint64_t *sig_addr, uint64_t signal, int sig_op, bool nbi, int pe,
                    const char *fn);

/*
 * As stp_put_signal(), but updates a flag word of the library instead of a signal of the program.
 * nbytes may be 0. Each update must increase the word by less than STP_FABRIC_WORD_GROWS. After
 * quiet of the context, the data is complete and the caller can reuse source. Quiet does not wait
 * for the update of the word, because PE pe waits until its word has changed. The fabric can
 * therefore send the data and the update in one message. In stp_put_signal(), the update may have
 * to wait until the data has arrived.
 */
void stp_put_notify(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                    uint64_t *word, uint64_t value, int sig_op, int pe, const char *fn);

/* ---- order (order.c) ---------------------------------------------------- */

void stp_fence(struct stp_ctx *ctx);
void stp_quiet(struct stp_ctx *ctx);

/* ---- locks (lock.c) ------------------------------------------------------- */

/* Frees the records of locks that this PE still holds. Called by finalize after the last sync. */
void stp_locks_forget(void);

/* ---- waiting (wait_step.c) --------------------------------------------------- */

/*
 * Performs one step of a loop that waits for another PE or thread. The step makes progress in the
 * fabric, and spins or yields. Returns true if the wait has taken so long that hang reports should
 * show it. The caller then calls stp_wait_publish_subject(), and must call stp_wait_end() after the
 * loop.
 */
bool stp_wait_idle_once(struct stp_wait *wait);

/*
 * Makes progress in the fabric. Once in a while also lets another PE run on this core, because a
 * program may test in a loop. Test routines call this function after a test that failed.
 */
void stp_wait_after_failed_test(void);

/*
 * Returns a mask of the results of a comparison that satisfy the operator cmp. Bit 0 stands for
 * "less", bit 1 for "equal", and bit 2 for "greater". Fatal if cmp is not a SHMEM_CMP_ constant.
 * Waits call this function once, before they loop.
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

/* Makes RDMA writes of peers visible to this PE's devices. Called after a signal or a sync. */
static inline void stp_remote_flush(void)
{
    if (STP_UNLIKELY(__atomic_load_n(&stp_rt.remote_flush, __ATOMIC_RELAXED)))
        stp_kinds_flush_remote();
}

#endif /* STP_RMA_H */
