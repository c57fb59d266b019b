/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names and publishes the typed routines, and defines the checks that a routine makes before it
 * calls the function that does the work. The body of a routine is plain C in a *.tmpl.h file. A
 * list in gen/ includes that file once per type, with NAME and TYPE defined (SIZE for sized
 * routines). Design: docs/design/api.md.
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

/* Prefix of routine names. It is shmemx_ while types that the standard leaves out are included. */
#define STP_API_PREFIX shmem_

/* Names that define shmem_NAME_op and its context form, and the name of a helper for one type. */
#define STP_FN(op) STP_API_JOIN(STP_API_JOIN(p, STP_API_PREFIX, ), NAME, _##op)
#define STP_CTX_FN(op) STP_API_JOIN(pshmem_ctx_, NAME, _##op)
#define STP_LOCAL(op) STP_API_JOIN(api_, NAME, _##op)

/* Publishes, after its definition, a routine alone (_ONE) or together with its context form. */
#define STP_PUBLISH_ONE(op) STP_API_PROFILED(STP_API_JOIN(STP_API_PREFIX, NAME, _##op))
#define STP_PUBLISH(op)                                                                            \
    STP_PUBLISH_ONE(op);                                                                           \
    STP_API_PROFILED(STP_API_JOIN(shmem_ctx_, NAME, _##op))

/* Names and publication of a routine whose name has OP between the arguments before and after. */
#define STP_OP_FN(before, after) STP_API_JOIN(STP_FN(before), OP, after)
#define STP_OP_CTX_FN(before, after) STP_API_JOIN(STP_CTX_FN(before), OP, after)
#define STP_OP_PUBLISH_ONE(before, after)                                                          \
    STP_API_PROFILED(STP_API_JOIN(STP_API_JOIN(STP_API_PREFIX, NAME, _##before), OP, after))
#define STP_OP_PUBLISH(before, after)                                                              \
    STP_OP_PUBLISH_ONE(before, after);                                                             \
    STP_API_PROFILED(STP_API_JOIN(STP_API_JOIN(shmem_ctx_, NAME, _##before), OP, after))

/* Names and publication of a routine named by a size instead of a type: op SIZE tail. */
#define STP_SIZED_FN(op, tail) STP_API_JOIN(pshmem_##op, SIZE, tail)
#define STP_SIZED_CTX_FN(op, tail) STP_API_JOIN(pshmem_ctx_##op, SIZE, tail)
#define STP_SIZED_PUBLISH_ONE(op, tail) STP_API_PROFILED(STP_API_JOIN(shmem_##op, SIZE, tail))
#define STP_SIZED_PUBLISH(op, tail)                                                                \
    STP_SIZED_PUBLISH_ONE(op, tail);                                                               \
    STP_API_PROFILED(STP_API_JOIN(shmem_ctx_##op, SIZE, tail))

/* Forces inlining of a helper, so that its checks know which context the caller passes. */
#define STP_API_INLINE static inline __attribute__((always_inline))

/* ---- contexts and PEs ------------------------------------------------------- */

/*
 * Returns the same as stp_ctx_pe(), inlined. If the compiler sees that the context is the default
 * one, only the range check is left, because PE numbers on that context are world numbers.
 */
STP_API_INLINE int stp_api_pe(const struct stp_ctx *ctx, int pe, const char *fn)
{
    if (STP_UNLIKELY((unsigned)pe >= (unsigned)ctx->n_pes)) stp_fatal_pe(fn, pe, ctx->n_pes);
    if (__builtin_constant_p(ctx == &stp_ctx_default)) return pe;
    return STP_LIKELY(ctx->world) ? pe : stp_ctx_pe_slow(ctx, pe);
}

/*
 * The next two functions do the work of stp_api_pe() before and after a call of stp_ptr_inline().
 * On the default context only the second one checks the range, because stp_ptr_inline() returns
 * NULL for a PE number out of range.
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

/* The puts and gets of every type call these functions with nelems elements of size bytes. */

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

/* Transfers nblocks blocks of bsize elements of size bytes. Spec 1.6, 9.6.1.4, 9.6.1.8. */

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

/* With SHMEM_CHECK=1, checks that vars holds nelems symmetric elements of size bytes. */
static inline void stp_api_check_vars(const void *vars, size_t nelems, size_t size, const char *fn,
                                      const char *argument)
{
    if (STP_UNLIKELY(stp_rt.check) && nelems > 0)
        (void)stp_symmetric(vars, stp_bytes(nelems, size, fn), stp_rt.pe, NULL, fn, argument);
}

/*
 * Publishes the subject of a typed routine's wait. i is the index of the element, or SIZE_MAX for
 * any of the nelems elements. value is compared with that element or with all elements.
 */
#define STP_WAIT_SHOW_VARS(fn, vars, nelems, i, wanted, value)                                     \
    stp_wait_publish_subject(&(struct stp_wait_subject){STP_WAIT_VARS, fn, vars, -1, nelems, i,    \
                                                        sizeof(value), (__typeof__(value))-1 < 1,  \
                                                        wanted, (uint64_t)(value)})

/* ---- searches ------------------------------------------------------------------- */

/*
 * A round: a walk over an array by the calls of one "any" routine, which search the array for an
 * element that satisfies the comparison. Consecutive calls share a round, in which no element is
 * found twice. A round starts at a random element, so that every such element is found in the end,
 * even if a caller gets only some calls of each round. That happens when another caller shares the
 * round, or when the thread forgets the round because it searches many other arrays. Rounds are per
 * thread.
 */
struct stp_wait_any_search {
    const void *ivars;
    const int *status;
    const char *fn;
    size_t nelems;
    size_t next; /* index of the element to check next */
    size_t left; /* number of elements left in the round */
};

/* Returns this thread's round for these arguments, perhaps a new one. Valid until the next call. */
struct stp_wait_any_search *stp_wait_any_search(const void *ivars, size_t nelems, const int *status,
                                                const char *fn);

/* Starts a new round at a random element. */
void stp_wait_any_round_at_random(struct stp_wait_any_search *round);

#endif /* STP_API_H */
