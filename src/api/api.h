/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the macros that name and publish the typed routines, and the checks that a routine makes
 * before it calls the function that does the work. The body of a routine is plain C in a *.tmpl.h
 * file. A list in gen/ includes that file once per type, and defines NAME and TYPE before each
 * include. For routines that are named by a size, the list defines SIZE instead. Design:
 * docs/design/api.md.
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

/* Prefix of routine names, redefined as shmemx_ around lists of types that the standard omits. */
#define STP_API_PREFIX shmem_

/* Names of the routine shmem_NAME_op, of its form with a context, and of a helper for one TYPE. */
#define STP_FN(op) STP_API_JOIN(STP_API_JOIN(p, STP_API_PREFIX, ), NAME, _##op)
#define STP_CTX_FN(op) STP_API_JOIN(pshmem_ctx_, NAME, _##op)
#define STP_LOCAL(op) STP_API_JOIN(api_, NAME, _##op)

/* Publishes a defined routine under its public name, alone (_ONE) or with its context form. */
#define STP_PUBLISH_ONE(op) STP_API_PROFILED(STP_API_JOIN(STP_API_PREFIX, NAME, _##op))
#define STP_PUBLISH(op)                                                                            \
    STP_PUBLISH_ONE(op);                                                                           \
    STP_API_PROFILED(STP_API_JOIN(shmem_ctx_, NAME, _##op))

/*
 * The next four macros name and publish a routine whose name contains an operation, OP. Their
 * arguments are the parts of the name before and after OP.
 */
#define STP_OP_FN(before, after) STP_API_JOIN(STP_FN(before), OP, after)
#define STP_OP_CTX_FN(before, after) STP_API_JOIN(STP_CTX_FN(before), OP, after)
#define STP_OP_PUBLISH_ONE(before, after)                                                          \
    STP_API_PROFILED(STP_API_JOIN(STP_API_JOIN(STP_API_PREFIX, NAME, _##before), OP, after))
#define STP_OP_PUBLISH(before, after)                                                              \
    STP_OP_PUBLISH_ONE(before, after);                                                             \
    STP_API_PROFILED(STP_API_JOIN(STP_API_JOIN(shmem_ctx_, NAME, _##before), OP, after))

/*
 * The next four macros name and publish a routine whose name contains a size instead of a type. The
 * name consists of the argument op, SIZE, and the argument tail.
 */
#define STP_SIZED_FN(op, tail) STP_API_JOIN(pshmem_##op, SIZE, tail)
#define STP_SIZED_CTX_FN(op, tail) STP_API_JOIN(pshmem_ctx_##op, SIZE, tail)
#define STP_SIZED_PUBLISH_ONE(op, tail) STP_API_PROFILED(STP_API_JOIN(shmem_##op, SIZE, tail))
#define STP_SIZED_PUBLISH(op, tail)                                                                \
    STP_SIZED_PUBLISH_ONE(op, tail);                                                               \
    STP_API_PROFILED(STP_API_JOIN(shmem_ctx_##op, SIZE, tail))

/* Forces inlining, so that the compiler sees at each call which context the caller passes. */
#define STP_API_INLINE static inline __attribute__((always_inline))

/* ---- contexts and PEs ------------------------------------------------------- */

/*
 * Returns the same as stp_ctx_pe(), but is inlined. On the default context PE numbers are world
 * numbers. If the compiler sees that ctx is the default context, it keeps only the range check.
 */
STP_API_INLINE int stp_api_pe(const struct stp_ctx *ctx, int pe, const char *fn)
{
    if (STP_UNLIKELY((unsigned)pe >= (unsigned)ctx->n_pes)) stp_fatal_pe(fn, pe, ctx->n_pes);
    if (__builtin_constant_p(ctx == &stp_ctx_default)) return pe;
    return STP_LIKELY(ctx->world) ? pe : stp_ctx_pe_slow(ctx, pe);
}

/*
 * stp_api_pe_look() is called before stp_ptr_inline(), and stp_api_pe_miss() after stp_ptr_inline()
 * has returned NULL. Together the two functions do the work of stp_api_pe(). On the default context
 * only stp_api_pe_miss() checks the range, because stp_ptr_inline() returns NULL for a PE number
 * out of range.
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

/* The puts and gets of every type call the functions below for nelems elements of size bytes. */

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

/*
 * The next functions transfer nblocks blocks. A block has bsize elements of size bytes each. Spec
 * 1.6, 9.6.1.4, 9.6.1.8.
 */

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

/* With SHMEM_CHECK=1, ends the job unless vars is an array of nelems symmetric elements. */
static inline void stp_api_check_vars(const void *vars, size_t nelems, size_t size, const char *fn,
                                      const char *argument)
{
    if (STP_UNLIKELY(stp_rt.check) && nelems > 0)
        (void)stp_symmetric(vars, stp_bytes(nelems, size, fn), stp_rt.pe, NULL, fn, argument);
}

/*
 * Publishes for hang reports the elements for which a typed routine waits. The argument i is the
 * index of one element, or SIZE_MAX if the routine waits for any of the nelems elements. The
 * elements are compared with value.
 */
#define STP_WAIT_SHOW_VARS(fn, vars, nelems, i, wanted, value)                                     \
    stp_wait_publish_subject(&(struct stp_wait_subject){STP_WAIT_VARS, fn, vars, -1, nelems, i,    \
                                                        sizeof(value), (__typeof__(value))-1 < 1,  \
                                                        wanted, (uint64_t)(value)})

/* ---- searches ------------------------------------------------------------------- */

/*
 * State of the search by an "any" routine, such as wait_until_any, for an array element that
 * satisfies a comparison. Consecutive calls of the routine continue one search, which consists of
 * rounds. A round visits each element once, so it finds no element twice. Each round starts at a
 * random element. Therefore every satisfying element is found in the end, even by a caller that
 * gets only some calls of each round. A caller misses calls if another caller shares the search, or
 * if the thread drops the search because it searches many other arrays. Each thread has its own
 * searches.
 */
struct stp_wait_any_search {
    const void *ivars;
    const int *status;
    const char *fn;
    size_t nelems;
    size_t next; /* index of the element to check next */
    size_t left; /* number of elements that the round has not checked yet */
};

/* Returns this thread's search with these arguments, or a new one. Valid until the next call. */
struct stp_wait_any_search *stp_wait_any_search(const void *ivars, size_t nelems, const int *status,
                                                const char *fn);

/* Starts a new round of the search at a random element. */
void stp_wait_any_round_at_random(struct stp_wait_any_search *round);

#endif /* STP_API_H */
