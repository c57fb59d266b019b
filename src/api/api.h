/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the macros that name and publish the typed routines. Also defines the checks that a
 * routine makes before it calls the function that does the work.
 *
 * The body of a routine is plain C in a *.tmpl.h file. A list in the folder gen/ includes this file
 * once per type. Before each include, the list defines the macros NAME and TYPE. For routines that
 * are named by a size, the list defines SIZE instead. Design: docs/design/api.md.
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

/* Prefix of routine names. For types that the standard does not have, this macro is shmemx_. */
#define STP_API_PREFIX shmem_

/*
 * STP_FN names the routine pshmem_NAME_op, and STP_CTX_FN names its form with a context. STP_LOCAL
 * names a helper function for one TYPE.
 */
#define STP_FN(op) STP_API_JOIN(STP_API_JOIN(p, STP_API_PREFIX, ), NAME, _##op)
#define STP_CTX_FN(op) STP_API_JOIN(pshmem_ctx_, NAME, _##op)
#define STP_LOCAL(op) STP_API_JOIN(api_, NAME, _##op)

/*
 * The next two macros publish a routine under its public name, which has no prefix p.
 * STP_PUBLISH_ONE publishes only the routine. STP_PUBLISH also publishes the form with a context.
 */
#define STP_PUBLISH_ONE(op) STP_API_PROFILED(STP_API_JOIN(STP_API_PREFIX, NAME, _##op))
#define STP_PUBLISH(op)                                                                            \
    STP_PUBLISH_ONE(op);                                                                           \
    STP_API_PROFILED(STP_API_JOIN(shmem_ctx_, NAME, _##op))

/*
 * The next four macros name and publish a routine whose name contains the operation OP. The
 * arguments prefix and suffix are the parts of the name before OP and after OP.
 */
#define STP_OP_FN(prefix, suffix) STP_API_JOIN(STP_FN(prefix), OP, suffix)
#define STP_OP_CTX_FN(prefix, suffix) STP_API_JOIN(STP_CTX_FN(prefix), OP, suffix)
#define STP_OP_PUBLISH_ONE(prefix, suffix)                                                         \
    STP_API_PROFILED(STP_API_JOIN(STP_API_JOIN(STP_API_PREFIX, NAME, _##prefix), OP, suffix))
#define STP_OP_PUBLISH(prefix, suffix)                                                             \
    STP_OP_PUBLISH_ONE(prefix, suffix);                                                            \
    STP_API_PROFILED(STP_API_JOIN(STP_API_JOIN(shmem_ctx_, NAME, _##prefix), OP, suffix))

/*
 * The next four macros name and publish a routine whose name contains a size instead of a type. The
 * name consists of the argument op, then SIZE, then the argument tail.
 */
#define STP_SIZED_FN(op, tail) STP_API_JOIN(pshmem_##op, SIZE, tail)
#define STP_SIZED_CTX_FN(op, tail) STP_API_JOIN(pshmem_ctx_##op, SIZE, tail)
#define STP_SIZED_PUBLISH_ONE(op, tail) STP_API_PROFILED(STP_API_JOIN(shmem_##op, SIZE, tail))
#define STP_SIZED_PUBLISH(op, tail)                                                                \
    STP_SIZED_PUBLISH_ONE(op, tail);                                                               \
    STP_API_PROFILED(STP_API_JOIN(shmem_ctx_##op, SIZE, tail))

/* Prevents that the last call of a routine becomes a jump. Hang reports then name the routine. */
#define STP_API_KEEP_FRAME() __asm__ __volatile__("")

/* Forces inlining, so that the compiler sees at each call which context the caller passes. */
#define STP_API_INLINE static inline __attribute__((always_inline))

/* ---- contexts and PEs ------------------------------------------------------- */

/*
 * Does the work of stp_ctx_pe(), but is inlined. On the default context, PE numbers are world
 * numbers. If the compiler sees that ctx is the default context, it therefore keeps only the range
 * check.
 */
STP_API_INLINE int stp_api_pe(const struct stp_ctx *ctx, int pe, const char *fn)
{
    if (STP_UNLIKELY((unsigned)pe >= (unsigned)ctx->n_pes)) stp_fatal_pe(fn, pe, ctx->n_pes);
    if (__builtin_constant_p(ctx == &stp_ctx_default)) return pe;
    return STP_LIKELY(ctx->world) ? pe : stp_ctx_pe_slow(ctx, pe);
}

/*
 * Together, stp_api_pe_look() and stp_api_pe_miss() do the work of stp_api_pe(). A routine calls
 * stp_api_pe_look() before stp_ptr_inline(). It calls stp_api_pe_miss() only after stp_ptr_inline()
 * has returned NULL. On the default context only stp_api_pe_miss() checks the range, because
 * stp_ptr_inline() returns NULL for a PE number out of range.
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

/*
 * The puts and gets of every type call the functions below. The argument nelems is the number of
 * elements, and the argument size is the size of one element in bytes.
 */

STP_API_INLINE void stp_api_put(struct stp_ctx *ctx, void *dest, const void *source, size_t nelems,
                                size_t size, int pe, const char *fn)
{
    size_t nbytes = stp_bytes(nelems, size, fn);
    int world_pe = stp_api_pe_look(ctx, pe, fn);
    void *peer_ptr = stp_ptr_inline(dest, world_pe, STP_USE_COPY);

    if (STP_LIKELY(peer_ptr != NULL && stp_window_fits(dest, nbytes)))
        stp_move(peer_ptr, source, nbytes);
    else
        stp_put_slow(ctx, dest, source, nbytes, stp_api_pe_miss(ctx, world_pe, fn), fn);
}

STP_API_INLINE void stp_api_put_nbi(struct stp_ctx *ctx, void *dest, const void *source,
                                    size_t nelems, size_t size, int pe, const char *fn)
{
    size_t nbytes = stp_bytes(nelems, size, fn);
    int world_pe = stp_api_pe_look(ctx, pe, fn);
    void *peer_ptr = stp_ptr_inline(dest, world_pe, STP_USE_COPY);

    if (STP_LIKELY(peer_ptr != NULL && stp_window_fits(dest, nbytes)))
        stp_move(peer_ptr, source, nbytes);
    else
        stp_put_nbi_slow(ctx, dest, source, nbytes, stp_api_pe_miss(ctx, world_pe, fn), fn);
}

STP_API_INLINE void stp_api_get(struct stp_ctx *ctx, void *dest, const void *source, size_t nelems,
                                size_t size, int pe, const char *fn)
{
    size_t nbytes = stp_bytes(nelems, size, fn);
    int world_pe = stp_api_pe_look(ctx, pe, fn);
    const void *peer_ptr = stp_ptr_inline(source, world_pe, STP_USE_COPY);

    if (STP_LIKELY(peer_ptr != NULL && stp_window_fits(source, nbytes)))
        stp_move(dest, peer_ptr, nbytes);
    else
        stp_get_slow(ctx, dest, source, nbytes, stp_api_pe_miss(ctx, world_pe, fn), fn);
}

STP_API_INLINE void stp_api_get_nbi(struct stp_ctx *ctx, void *dest, const void *source,
                                    size_t nelems, size_t size, int pe, const char *fn)
{
    size_t nbytes = stp_bytes(nelems, size, fn);
    int world_pe = stp_api_pe_look(ctx, pe, fn);
    const void *peer_ptr = stp_ptr_inline(source, world_pe, STP_USE_COPY);

    if (STP_LIKELY(peer_ptr != NULL && stp_window_fits(source, nbytes)))
        stp_move(dest, peer_ptr, nbytes);
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
 * The next functions transfer blocks of elements. The argument nblocks is the number of blocks.
 * Each block has bsize elements, and each element has size bytes. Spec 1.6, 9.6.1.4, 9.6.1.8.
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

/*
 * Ends the job if vars points to a large array that reaches past the end of its space. If
 * SHMEM_CHECK is 1, also ends the job unless vars points to nelems elements in symmetric memory.
 */
static inline void stp_api_check_vars(const void *vars, size_t nelems, size_t size, const char *fn,
                                      const char *argument)
{
    if (STP_UNLIKELY(stp_rt.check) && nelems > 0)
        (void)stp_symmetric(vars, stp_bytes(nelems, size, fn), stp_rt.pe, NULL, fn, argument);
    else if (STP_UNLIKELY(nelems > STP_UNCHECKED_BYTES / size))
        stp_check_end(vars, stp_bytes(nelems, size, fn), fn, argument);
}

/*
 * Publishes the elements for which a typed routine waits, so that a hang report can show them. The
 * argument i is the index of one element, or SIZE_MAX if the routine waits for any of the nelems
 * elements. The routine compares the elements with value.
 */
#define STP_WAIT_SHOW_VARS(fn, vars, nelems, i, outcomes, value)                                   \
    stp_wait_publish_subject(&(struct stp_wait_subject){STP_WAIT_VARS, fn, vars, -1, nelems, i,    \
                                                        sizeof(value), (__typeof__(value))-1 < 1,  \
                                                        outcomes, (uint64_t)(value)})

/* ---- searches ------------------------------------------------------------------- */

/*
 * State of a search by an "any" routine, such as wait_until_any. The routine searches an array for
 * an element that satisfies a comparison. Consecutive calls with the same arguments continue one
 * search. Each thread has its own searches.
 *
 * A search consists of rounds. A round visits each element once, so it finds no element twice. Each
 * round starts at a random element. Therefore even a caller that stops after a few results finds
 * every satisfying element in the end.
 *
 * On one thread, two parts of a program may continue the same search, because they pass the same
 * arguments. Each of them then sees only some of the results of a round. A thread remembers only a
 * few searches. If the thread searches many arrays, a new search may replace an unfinished search.
 */
struct stp_wait_any_search {
    const void *ivars;
    const int *status;
    const char *fn;
    size_t nelems;
    size_t next;        /* index of the element to check next */
    size_t n_remaining; /* number of elements that the round has not checked yet */
};

/*
 * Returns the search that this thread began with these arguments. If this thread has no such
 * search, begins a new search. The result is valid until this thread calls the function again.
 */
struct stp_wait_any_search *stp_wait_any_search(const void *ivars, size_t nelems, const int *status,
                                                const char *fn);

/* Starts a new round of the search at a random element. */
void stp_wait_any_round_at_random(struct stp_wait_any_search *round);

#endif /* STP_API_H */
