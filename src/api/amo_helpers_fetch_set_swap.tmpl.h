/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the helpers that run the atomics on one TYPE. Fetching, non-fetching and nonblocking
 * atomics have separate helpers. Also defines the atomics fetch, set and swap. Float and double
 * support only these three atomics. Spec 9.7.
 */

/*
 * Runs a fetching atomic on memory that this PE cannot access directly (stp_ptr_inline() returned
 * NULL). Returns the fetched value.
 */
static STP_COLD TYPE STP_LOCAL(amo_fetch_slow)(struct stp_ctx *ctx, enum stp_fabric_amo op,
                                               TYPE *dest, TYPE operand, TYPE compare, int pe,
                                               const char *fn)
{
    TYPE result;

    stp_amo_slow(ctx, op, STP_DTYPE(TYPE), dest, op == STP_AMO_FETCH ? NULL : &operand,
                 op == STP_AMO_CSWAP ? &compare : NULL, &result, false, pe, fn);
    return result;
}

/*
 * Runs a non-fetching or a nonblocking atomic on memory that this PE cannot access directly
 * (stp_ptr_inline() returned NULL). The argument fetch is the buffer for the result of a
 * nonblocking atomic. It is NULL if the atomic fetches nothing.
 */
static STP_COLD void STP_LOCAL(amo_post_slow)(struct stp_ctx *ctx, enum stp_fabric_amo op,
                                              TYPE *fetch, TYPE *dest, TYPE operand, TYPE compare,
                                              int pe, const char *fn)
{
    stp_amo_slow(ctx, op, STP_DTYPE(TYPE), dest, op == STP_AMO_FETCH ? NULL : &operand,
                 op == STP_AMO_CSWAP ? &compare : NULL, fetch, fetch != NULL, pe, fn);
}

STP_API_INLINE TYPE STP_LOCAL(amo_fetch)(struct stp_ctx *ctx, enum stp_fabric_amo op, TYPE *dest,
                                         TYPE operand, TYPE compare, int pe, const char *fn)
{
    int world_pe = stp_api_pe_look(ctx, pe, fn);
    TYPE *peer_ptr = stp_ptr_inline(dest, world_pe, STP_USE_ATOMIC);

    if (STP_LIKELY(peer_ptr != NULL))
        /*
         * Use acquire order, because the caller may next read the data that the fetched value
         * announces. The file transport/cpu_amo.tmpl.h names the release with which this acquire
         * pairs.
         */
        return STP_LOCAL(amo_apply)(peer_ptr, op, operand, compare, __ATOMIC_ACQUIRE);
    return STP_LOCAL(amo_fetch_slow)(ctx, op, dest, operand, compare,
                                     stp_api_pe_miss(ctx, world_pe, fn), fn);
}

STP_API_INLINE void STP_LOCAL(amo_post)(struct stp_ctx *ctx, enum stp_fabric_amo op, TYPE *dest,
                                        TYPE operand, int pe, const char *fn)
{
    int world_pe = stp_api_pe_look(ctx, pe, fn);
    TYPE *peer_ptr = stp_ptr_inline(dest, world_pe, STP_USE_ATOMIC);

    if (STP_LIKELY(peer_ptr != NULL))
        STP_LOCAL(amo_apply)(peer_ptr, op, operand, 0, __ATOMIC_RELAXED);
    else
        STP_LOCAL(amo_post_slow)
        (ctx, op, NULL, dest, operand, 0, stp_api_pe_miss(ctx, world_pe, fn), fn);
}

STP_API_INLINE void STP_LOCAL(amo_nbi)(struct stp_ctx *ctx, enum stp_fabric_amo op, TYPE *fetch,
                                       TYPE *dest, TYPE operand, TYPE compare, int pe,
                                       const char *fn)
{
    int world_pe = stp_api_pe_look(ctx, pe, fn);
    TYPE *peer_ptr = stp_ptr_inline(dest, world_pe, STP_USE_ATOMIC);

    if (STP_LIKELY(peer_ptr != NULL))
        *fetch = STP_LOCAL(amo_apply)(peer_ptr, op, operand, compare, __ATOMIC_ACQUIRE);
    else
        STP_LOCAL(amo_post_slow)
        (ctx, op, fetch, dest, operand, compare, stp_api_pe_miss(ctx, world_pe, fn), fn);
}

TYPE STP_FN(atomic_fetch)(const TYPE *source, int pe)
{
    return STP_LOCAL(amo_fetch)(&stp_ctx_default, STP_AMO_FETCH, (TYPE *)source, 0, 0, pe,
                                __func__);
}

TYPE STP_CTX_FN(atomic_fetch)(shmem_ctx_t ctx, const TYPE *source, int pe)
{
    return STP_LOCAL(amo_fetch)(stp_ctx_check(ctx, __func__), STP_AMO_FETCH, (TYPE *)source, 0, 0,
                                pe, __func__);
}
STP_PUBLISH(atomic_fetch);

void STP_FN(atomic_set)(TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_post)(&stp_ctx_default, STP_AMO_SET, dest, value, pe, __func__);
}

void STP_CTX_FN(atomic_set)(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_post)(stp_ctx_check(ctx, __func__), STP_AMO_SET, dest, value, pe, __func__);
}
STP_PUBLISH(atomic_set);

TYPE STP_FN(atomic_swap)(TYPE *dest, TYPE value, int pe)
{
    return STP_LOCAL(amo_fetch)(&stp_ctx_default, STP_AMO_SWAP, dest, value, 0, pe, __func__);
}

TYPE STP_CTX_FN(atomic_swap)(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe)
{
    return STP_LOCAL(amo_fetch)(stp_ctx_check(ctx, __func__), STP_AMO_SWAP, dest, value, 0, pe,
                                __func__);
}
STP_PUBLISH(atomic_swap);

void STP_FN(atomic_fetch_nbi)(TYPE *fetch, const TYPE *source, int pe)
{
    STP_LOCAL(amo_nbi)(&stp_ctx_default, STP_AMO_FETCH, fetch, (TYPE *)source, 0, 0, pe, __func__);
}

void STP_CTX_FN(atomic_fetch_nbi)(shmem_ctx_t ctx, TYPE *fetch, const TYPE *source, int pe)
{
    STP_LOCAL(amo_nbi)
    (stp_ctx_check(ctx, __func__), STP_AMO_FETCH, fetch, (TYPE *)source, 0, 0, pe, __func__);
}
STP_PUBLISH(atomic_fetch_nbi);

void STP_FN(atomic_swap_nbi)(TYPE *fetch, TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_nbi)(&stp_ctx_default, STP_AMO_SWAP, fetch, dest, value, 0, pe, __func__);
}

void STP_CTX_FN(atomic_swap_nbi)(shmem_ctx_t ctx, TYPE *fetch, TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_nbi)
    (stp_ctx_check(ctx, __func__), STP_AMO_SWAP, fetch, dest, value, 0, pe, __func__);
}
STP_PUBLISH(atomic_swap_nbi);
