/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a PE gets at the memory of others: where an object is, contexts, and what the chapters of
 * the standard on remote memory, atomics, signals, order, locks and waiting offer to the typed
 * bodies of src/api and to the collectives.
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

/* As stp_ptr_inline(), for the cases it leaves out: data segment, scattered local PEs. */
void *stp_ptr_slow(const void *addr, int pe);

/* Where this PE maps PE pe's copy of the host symmetric object at addr, NULL when it does not. */
static inline void *stp_ptr(const void *addr, int pe)
{
    void *there = stp_ptr_inline(addr, pe, STP_USE_ACCESS);

    return STP_LIKELY(there != NULL) ? there : stp_ptr_slow(addr, pe);
}

/* Are there spaces whose own part lies outside the window? */
static inline bool stp_any_outside(void)
{
    return __atomic_load_n(&stp_own_file_n, __ATOMIC_RELAXED) != 0 ||
           __atomic_load_n(&stp_private_n, __ATOMIC_RELAXED) != 0;
}

/* Fatal, as stp_symmetric(), when nbytes at addr, in such a space, reach beyond its end. */
void stp_check_end(const void *addr, size_t nbytes, const char *fn, const char *argument);

/*
 * Where nbytes of the symmetric object at addr are, and which way leads there, for an operation of
 * context ctx on PE pe. Fatal as stp_symmetric(), and when no way leads there; by load and store in
 * the window the end of a space is looked at with SHMEM_CHECK=1 alone. With it, too,
 * a context bound to a space is used with addresses of that one alone.
 */
struct stp_target stp_locate(const struct stp_ctx *ctx, const void *addr, size_t nbytes, int pe,
                             enum stp_use use, const char *fn, const char *argument);

/*
 * The space that has nbytes at the symmetric address addr on PE pe; its region and *offset name
 * them to the fabric (offset may be NULL). Fatal, naming fn and the argument, when addr is not
 * symmetric, they reach beyond the space, or pe has no part of it; with SHMEM_CHECK=1 also when
 * they are not in one live allocation.
 */
struct stp_space *stp_symmetric(const void *addr, size_t nbytes, int pe, size_t *offset,
                                const char *fn, const char *argument);

/* The data segment of pe cannot be reached, for the reason known here. */
_Noreturn void stp_fatal_global_unreachable(const void *addr, int pe, const char *fn) STP_COLD;

/* ---- contexts ----------------------------------------------------------- */

struct stp_ctx {
    int n_pes;  /* of its team: PE numbers on this context are below it */
    bool world; /* PE numbers are world numbers */
    bool live;
    long options;       /* SHMEM_CTX_... */
    bool in_session;    /* guarded by stp_rt.lock, as the next two */
    long session;       /* SHMEM_CTX_SESSION_... */
    size_t session_ops; /* operations expected, SIZE_MAX: nobody knows */
    struct stp_team *team;
    struct stp_fabric_ctx *fabric; /* NULL when the job has no fabric */
    bool copies;                   /* some queue below was used: quiet must look at them */
    bool near;                     /* the fabric went to a PE of this node, where CPUs go too */
    struct stp_queue *queues[STP_KINDS_MAX]; /* made on first use */
    struct stp_space *space;                 /* the only one it is used on, or NULL */
    struct stp_ctx *next;                    /* in the team's list, guarded by stp_rt.lock */
    struct stp_ctx *prev;
};

extern struct stp_ctx stp_ctx_default;
extern struct stp_ctx stp_ctx_coll;  /* the library's own: collectives never wait for user work */
extern struct stp_ctx stp_ctx_small; /* their words, and small data with its word in one message */
extern struct stp_ctx stp_ctx_stage; /* requests to proxy threads, and own words of device memory */
extern struct stp_ctx stp_ctx_proxy; /* what this PE's proxy thread does */

/* Of the thread for streams: open while that runs. 0, or nonzero. */
extern struct stp_ctx stp_ctx_stream;
int stp_ctx_open_for_stream_thread(void);
void stp_ctx_close_stream(void);

/* Open and close the contexts above; needs the world team and the fabric. */
void stp_ctx_init(void);
void stp_ctx_close_default(void);
void stp_ctx_internal_quiet(void);
void stp_ctx_close_internal_copy_queues(void);
void stp_ctx_internal_fini(void);

/* Destroy the shareable contexts of a team that is going away. */
void stp_ctx_destroy_all(struct stp_team *team);

/* The context behind a handle. Handles of predefined contexts are small constants. */
static inline struct stp_ctx *stp_ctx_of(shmem_ctx_t ctx)
{
    return ctx == SHMEM_CTX_DEFAULT ? &stp_ctx_default : (struct stp_ctx *)ctx;
}

/*
 * Before the fabric carries something to pe. It keeps order only with itself: what the CPU does to
 * a PE of this node behind a fence must wait for it.
 */
static inline void stp_ctx_by_fabric(struct stp_ctx *ctx, int pe)
{
    if (STP_UNLIKELY(stp_local_of(pe) >= 0)) __atomic_store_n(&ctx->near, true, __ATOMIC_RELAXED);
}

/* The live context behind a handle that is not INVALID; fatal when it was destroyed. */
struct stp_ctx *stp_ctx_check_live(shmem_ctx_t ctx, const char *fn);

/* As stp_ctx_of(); fatal for SHMEM_CTX_INVALID. Two small handles share one branch. */
static inline __attribute__((always_inline)) struct stp_ctx *stp_ctx_check(shmem_ctx_t ctx,
                                                                           const char *fn)
{
    if (STP_LIKELY((uintptr_t)ctx > (uintptr_t)SHMEM_CTX_DEFAULT)) return (struct stp_ctx *)ctx;
    if (STP_UNLIKELY(ctx == SHMEM_CTX_INVALID)) stp_fatal_ctx(fn);
    return &stp_ctx_default;
}

int stp_ctx_pe_slow(const struct stp_ctx *ctx, int pe);

/* The world number of PE pe of the context's team; fatal when out of range. */
static inline int stp_ctx_pe(const struct stp_ctx *ctx, int pe, const char *fn)
{
    if (STP_UNLIKELY((unsigned)pe >= (unsigned)ctx->n_pes)) stp_fatal_pe(fn, pe, ctx->n_pes);
    return STP_LIKELY(ctx->world) ? pe : stp_ctx_pe_slow(ctx, pe);
}

/* ---- remote memory access (rma.c) --------------------------------------- */

void stp_put_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                  const char *fn);
/*
 * As stp_put(), to a target that has been located. nbytes is not 0, and the caller has called
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

/* The size that most small transfers have takes no call. */
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
 * One element of 1, 2, 4, 8 or 16 bytes (p): does not tear up to 8. The typed body stores it
 * itself when stp_ptr_inline() hits; this is the other half.
 */
void stp_store_slow(struct stp_ctx *ctx, void *dest, const void *value, size_t nbytes, int pe,
                    const char *fn);

/*
 * nblocks blocks of bsize elements of size bytes; dst and sst: elements from the start of a block
 * to that of the next, fatal when they are less than bsize. Blocking.
 */
void stp_iput(struct stp_ctx *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
              size_t bsize, size_t nblocks, size_t size, int pe, const char *fn);
void stp_iget(struct stp_ctx *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
              size_t bsize, size_t nblocks, size_t size, int pe, const char *fn);

/* ---- atomics (amo.c) ---------------------------------------------------- */

/*
 * The half behind a miss of stp_ptr_inline(): globals of node-local PEs, and the fabric.
 * operand, compare: NULL where op takes none. result: NULL for what fetches nothing;
 * with nbi it is valid after quiet only.
 */
void stp_amo_slow(struct stp_ctx *ctx, enum stp_fabric_amo op, enum stp_dtype dtype, void *dest,
                  const void *operand, const void *compare, void *result, bool nbi, int pe,
                  const char *fn);

/* As stp_amo_slow(), on an aligned word that has been located with STP_USE_ATOMIC. */
void stp_amo_to(struct stp_ctx *ctx, const struct stp_target *dest, enum stp_fabric_amo op,
                enum stp_dtype dtype, const void *operand, const void *compare, void *result,
                bool nbi);

/* The same on memory that the CPU reaches: nbytes 4 or 8, NULL as above. */
void stp_amo_apply(void *there, size_t nbytes, enum stp_fabric_amo op, const void *operand,
                   const void *compare, void *result);

/* ---- signals (signal.c) ------------------------------------------------- */

/* sig_op: SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD; anything else is fatal. */
void stp_put_signal(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                    uint64_t *sig_addr, uint64_t signal, int sig_op, bool nbi, int pe,
                    const char *fn);

/*
 * Put, nbytes may be 0, and then a word of the library's own that only grows, by less than
 * STP_FABRIC_WORD_GROWS at a time, with the same operations. Source may be reused after quiet of
 * the context, which does not wait for the word: who owns it does. May be one message where a
 * signal would wait for its data.
 */
void stp_put_notify(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                    uint64_t *word, uint64_t value, int sig_op, int pe, const char *fn);

/* ---- order (order.c) ---------------------------------------------------- */

void stp_fence(struct stp_ctx *ctx);
void stp_quiet(struct stp_ctx *ctx);

/* ---- locks (lock.c) ------------------------------------------------------- */

/* Forget what this PE holds: behind the last barrier. */
void stp_locks_forget(void);

/* ---- waiting (wait_step.c) --------------------------------------------------- */

/*
 * One step of a wait for something another PE or thread does: spin or yield, serve the fabric.
 * True: it has lasted, and stp_wait_publish_subject() is to be called. Behind the loop:
 * stp_wait_end().
 */
bool stp_wait_idle_once(struct stp_wait *wait);

/*
 * After a test that failed: serve the fabric, and now and then let another PE run, since a
 * program may test in a loop.
 */
void stp_wait_after_failed_test(void);

/*
 * Which outcomes of a comparison satisfy cmp: bit 0 less, bit 1 equal, bit 2 greater. Fatal when
 * cmp is no SHMEM_CMP_... Keeps the choice out of the loops that wait.
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

/* What adapters of peers wrote to device memory is visible: after a signal or a sync. */
void stp_flush_rdma_writes_to_device_slow(void);

static inline void stp_remote_flush(void)
{
    if (STP_UNLIKELY(__atomic_load_n(&stp_rt.remote_flush, __ATOMIC_RELAXED)))
        stp_flush_rdma_writes_to_device_slow();
}

#endif /* STP_RMA_H */
