/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines the single-element routines p and g for one TYPE. Spec 9.6. */

/*
 * Stores a value if stp_ptr_inline() returned NULL. Only this out-of-line function takes the
 * address of value, so the inlined code can keep the value in a register.
 */
static STP_COLD void STP_LOCAL(p_slow)(struct stp_ctx *ctx, TYPE *dest, TYPE value, int world_pe,
                                       const char *fn)
{
    stp_store_slow(ctx, dest, &value, sizeof(TYPE), world_pe, fn);
}

static STP_COLD TYPE STP_LOCAL(g_slow)(struct stp_ctx *ctx, const TYPE *source, int world_pe,
                                       const char *fn)
{
    TYPE value;

    stp_get_slow(ctx, &value, source, sizeof(TYPE), world_pe, fn);
    return value;
}

/* Stores one element. A volatile pointer ensures that the store is neither split nor dropped. */
STP_API_INLINE void STP_LOCAL(p)(struct stp_ctx *ctx, TYPE *dest, TYPE value, int pe,
                                 const char *fn)
{
    int world_pe = stp_api_pe_look(ctx, pe, fn);
    TYPE *peer_ptr = stp_ptr_inline(dest, world_pe, STP_USE_ACCESS);

    if (STP_LIKELY(peer_ptr != NULL))
        *(volatile TYPE *)peer_ptr = value;
    else
        STP_LOCAL(p_slow)(ctx, dest, value, stp_api_pe_miss(ctx, world_pe, fn), fn);
}

void STP_FN(p)(TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(p)(&stp_ctx_default, dest, value, pe, __func__);
}

void STP_CTX_FN(p)(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(p)(stp_ctx_check(ctx, __func__), dest, value, pe, __func__);
}
STP_PUBLISH(p);

STP_API_INLINE TYPE STP_LOCAL(g)(struct stp_ctx *ctx, const TYPE *source, int pe, const char *fn)
{
    int world_pe = stp_api_pe_look(ctx, pe, fn);
    const TYPE *peer_ptr = stp_ptr_inline(source, world_pe, STP_USE_ACCESS);

    if (STP_LIKELY(peer_ptr != NULL)) return *(const volatile TYPE *)peer_ptr;
    return STP_LOCAL(g_slow)(ctx, source, stp_api_pe_miss(ctx, world_pe, fn), fn);
}

TYPE STP_FN(g)(const TYPE *source, int pe)
{
    return STP_LOCAL(g)(&stp_ctx_default, source, pe, __func__);
}

TYPE STP_CTX_FN(g)(shmem_ctx_t ctx, const TYPE *source, int pe)
{
    return STP_LOCAL(g)(stp_ctx_check(ctx, __func__), source, pe, __func__);
}
STP_PUBLISH(g);
