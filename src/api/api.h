/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the typed bodies share: how a function of one type is named and published, and the checks
 * that come before the call of the one function behind it. A body is real C in a *.tmpl.h file;
 * a list in gen/ includes it once per type with NAME and TYPE defined (SIZE for sized routines).
 * Design: docs/design/api.md.
 */
#ifndef STP_API_H
#define STP_API_H

#include "pshmem.h"
#include "coll/coll.h"
#include "rma/rma.h"

/* ---- names ---------------------------------------------------------------- */

#define STP_API_JOIN_(a, b, c) a##b##c
#define STP_API_JOIN(a, b, c) STP_API_JOIN_(a, b, c)
#define STP_API_PROFILED(name) STP_PROFILED(name)

/* How names of routines begin; shmemx_ around the lists of types that the standard leaves out. */
#define STP_API_PREFIX shmem_

/* The definition of shmem_NAME_op and of its context form; a helper that only this type has. */
#define STP_FN(op) STP_API_JOIN(STP_API_JOIN(p, STP_API_PREFIX, ), NAME, _##op)
#define STP_CTX_FN(op) STP_API_JOIN(pshmem_ctx_, NAME, _##op)
#define STP_LOCAL(op) STP_API_JOIN(api_, NAME, _##op)

/* Publish both, or the one without context: after the definition. */
#define STP_PUBLISH_ONE(op) STP_API_PROFILED(STP_API_JOIN(STP_API_PREFIX, NAME, _##op))
#define STP_PUBLISH(op)                                                                            \
    STP_PUBLISH_ONE(op);                                                                           \
    STP_API_PROFILED(STP_API_JOIN(shmem_ctx_, NAME, _##op))

/* The same for a routine whose name has OP between the two. */
#define STP_OP_FN(before, after) STP_API_JOIN(STP_FN(before), OP, after)
#define STP_OP_CTX_FN(before, after) STP_API_JOIN(STP_CTX_FN(before), OP, after)
#define STP_OP_PUBLISH_ONE(before, after)                                                          \
    STP_API_PROFILED(STP_API_JOIN(STP_API_JOIN(STP_API_PREFIX, NAME, _##before), OP, after))
#define STP_OP_PUBLISH(before, after)                                                              \
    STP_OP_PUBLISH_ONE(before, after);                                                             \
    STP_API_PROFILED(STP_API_JOIN(STP_API_JOIN(shmem_ctx_, NAME, _##before), OP, after))

/* The same for routines that have a size in place of a type: op SIZE tail. */
#define STP_SIZED_FN(op, tail) STP_API_JOIN(pshmem_##op, SIZE, tail)
#define STP_SIZED_CTX_FN(op, tail) STP_API_JOIN(pshmem_ctx_##op, SIZE, tail)
#define STP_SIZED_PUBLISH_ONE(op, tail) STP_API_PROFILED(STP_API_JOIN(shmem_##op, SIZE, tail))
#define STP_SIZED_PUBLISH(op, tail)                                                                \
    STP_SIZED_PUBLISH_ONE(op, tail);                                                               \
    STP_API_PROFILED(STP_API_JOIN(shmem_ctx_##op, SIZE, tail))

/* Helpers of one caller each by type: the context's identity must reach the checks inside. */
#define STP_API_INLINE static inline __attribute__((always_inline))

/* ---- contexts and PEs ------------------------------------------------------- */

/*
 * As stp_ctx_pe(), inlined. Where the compiler sees that the context is the default one, whose
 * numbers are those of the world, only the range check is left.
 */
STP_API_INLINE int stp_api_pe(const struct stp_ctx *ctx, int pe, const char *fn)
{
    if (STP_UNLIKELY((unsigned)pe >= (unsigned)ctx->n_pes)) stp_fatal_pe(fn, pe, ctx->n_pes);
    if (__builtin_constant_p(ctx == &stp_ctx_default)) return pe;
    return STP_LIKELY(ctx->world) ? pe : stp_ctx_pe_slow(ctx, pe);
}

/*
 * The same in two steps, around a look with stp_ptr_inline(), which no number out of range passes:
 * on the default context the check is left to the miss.
 */
STP_API_INLINE int stp_api_pe_look(const struct stp_ctx *ctx, int pe, const char *fn)
{
    return __builtin_constant_p(ctx == &stp_ctx_default) ? pe : stp_api_pe(ctx, pe, fn);
}

STP_API_INLINE int stp_api_pe_miss(const struct stp_ctx *ctx, int world_pe, const char *fn)
{
    return __builtin_constant_p(ctx == &stp_ctx_default) ? stp_api_pe(ctx, world_pe, fn) : world_pe;
}

/* ---- remote memory access ---------------------------------------------------- */

/* nelems elements of size bytes: what put, get and their relatives of every type come down to. */

STP_API_INLINE void stp_api_put(struct stp_ctx *ctx, void *dest, const void *source, size_t nelems,
                                size_t size, int pe, const char *fn)
{
    size_t nbytes = stp_bytes(nelems, size, fn);
    int world_pe = stp_api_pe_look(ctx, pe, fn);
    void *there = stp_ptr_inline(dest, world_pe, STP_USE_COPY);

    if (STP_LIKELY(there != NULL))
        stp_move(there, source, nbytes);
    else
        stp_put_slow(ctx, dest, source, nbytes, stp_api_pe_miss(ctx, world_pe, fn), fn);
}

STP_API_INLINE void stp_api_put_nbi(struct stp_ctx *ctx, void *dest, const void *source,
                                    size_t nelems, size_t size, int pe, const char *fn)
{
    size_t nbytes = stp_bytes(nelems, size, fn);
    int world_pe = stp_api_pe_look(ctx, pe, fn);
    void *there = stp_ptr_inline(dest, world_pe, STP_USE_COPY);

    if (STP_LIKELY(there != NULL))
        stp_move(there, source, nbytes);
    else
        stp_put_nbi_slow(ctx, dest, source, nbytes, stp_api_pe_miss(ctx, world_pe, fn), fn);
}

STP_API_INLINE void stp_api_get(struct stp_ctx *ctx, void *dest, const void *source, size_t nelems,
                                size_t size, int pe, const char *fn)
{
    size_t nbytes = stp_bytes(nelems, size, fn);
    int world_pe = stp_api_pe_look(ctx, pe, fn);
    const void *there = stp_ptr_inline(source, world_pe, STP_USE_COPY);

    if (STP_LIKELY(there != NULL))
        stp_move(dest, there, nbytes);
    else
        stp_get_slow(ctx, dest, source, nbytes, stp_api_pe_miss(ctx, world_pe, fn), fn);
}

STP_API_INLINE void stp_api_get_nbi(struct stp_ctx *ctx, void *dest, const void *source,
                                    size_t nelems, size_t size, int pe, const char *fn)
{
    size_t nbytes = stp_bytes(nelems, size, fn);
    int world_pe = stp_api_pe_look(ctx, pe, fn);
    const void *there = stp_ptr_inline(source, world_pe, STP_USE_COPY);

    if (STP_LIKELY(there != NULL))
        stp_move(dest, there, nbytes);
    else
        stp_get_nbi_slow(ctx, dest, source, nbytes, stp_api_pe_miss(ctx, world_pe, fn), fn);
}

STP_API_INLINE void stp_api_put_signal(struct stp_ctx *ctx, void *dest, const void *source,
                                       size_t nelems, size_t size, uint64_t *sig_addr,
                                       uint64_t signal, int sig_op, bool nbi, int pe,
                                       const char *fn)
{
    stp_put_signal(ctx, dest, source, stp_bytes(nelems, size, fn), sig_addr, signal, sig_op, nbi,
                   stp_api_pe(ctx, pe, fn), fn);
}

/* nblocks blocks of bsize elements of size bytes. Spec 1.6, 9.6.1.4, 9.6.1.8. */

STP_API_INLINE void stp_api_iput(struct stp_ctx *ctx, void *dest, const void *source, ptrdiff_t dst,
                                 ptrdiff_t sst, size_t bsize, size_t nblocks, size_t size, int pe,
                                 const char *fn)
{
    stp_iput(ctx, dest, source, dst, sst, bsize, nblocks, size, stp_api_pe(ctx, pe, fn), fn);
}

STP_API_INLINE void stp_api_iget(struct stp_ctx *ctx, void *dest, const void *source, ptrdiff_t dst,
                                 ptrdiff_t sst, size_t bsize, size_t nblocks, size_t size, int pe,
                                 const char *fn)
{
    stp_iget(ctx, dest, source, dst, sst, bsize, nblocks, size, stp_api_pe(ctx, pe, fn), fn);
}

/* ---- waits ---------------------------------------------------------------- */

/* SHMEM_CHECK=1: what is waited for or tested is nelems symmetric elements of size bytes. */
static inline void stp_api_check_vars(const void *vars, size_t nelems, size_t size, const char *fn,
                                      const char *argument)
{
    if (STP_UNLIKELY(stp_rt.check) && nelems > 0)
        (void)stp_symmetric(vars, stp_bytes(nelems, size, fn), stp_rt.pe, NULL, fn, argument);
}

/*
 * Show what a wait of a typed routine waits for: element i of nelems, SIZE_MAX: any of them; value:
 * that of all, or of that element.
 */
#define STP_WAIT_SHOW_VARS(fn, vars, nelems, i, wanted, value)                                     \
    stp_wait_publish_subject(&(struct stp_wait_subject){STP_WAIT_VARS, fn, vars, -1, nelems, i,    \
                                                        sizeof(value), (__typeof__(value))-1 < 1,  \
                                                        wanted, (uint64_t)(value)})

/* ---- searches ------------------------------------------------------------------- */

/*
 * A walk round an array, by the calls of one routine that search it for any element. Such calls
 * must in the end find each element that holds. One after the other they share a round, in which no
 * element is found twice; and a round starts anywhere, so that also of calls that get only some
 * turns of a round (of a round that others share, or that was forgotten for those of other arrays)
 * each may find every element. Per thread.
 */
struct stp_wait_any_search {
    const void *ivars;
    const int *status;
    const char *fn;
    size_t nelems;
    size_t next; /* element to look at */
    size_t left; /* elements before the round is over */
};

/*
 * The round of these arguments in this thread, perhaps a new one. Valid until the next such call.
 */
struct stp_wait_any_search *stp_wait_any_search(const void *ivars, size_t nelems, const int *status,
                                                const char *fn);

/* Start another round. */
void stp_wait_any_round_at_random(struct stp_wait_any_search *round);

#endif /* STP_API_H */
