/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fence and quiet. On the node, order is memory order; the fabric's half costs nothing when
 * a context has nothing outstanding there.
 */
#include "steppe.h"

/* Copies of devices may be under way. Another thread may be the first to use a shared context. */
static inline bool order_copies(const struct stp_ctx *ctx)
{
    return __atomic_load_n(&ctx->copies, __ATOMIC_RELAXED);
}

void stp_fence(struct stp_ctx *ctx)
{
    /* Pairs with the acquire of whoever waits for what is stored after this. */
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
    /* queues know no order between kinds */
    if (STP_UNLIKELY(order_copies(ctx))) stp_copy_flush(ctx);
    if (STP_LIKELY(ctx->fabric == NULL)) return;
    /* what goes to a device may be overtaken by what goes to its host */
    if (STP_UNLIKELY(__atomic_load_n(&stp_rt.remote_flush, __ATOMIC_RELAXED)))
        stp_rt.fabric.quiet(ctx->fabric);
    else
        stp_rt.fabric.fence(ctx->fabric);
}

void stp_quiet(struct stp_ctx *ctx)
{
    if (STP_UNLIKELY(order_copies(ctx))) stp_copy_flush(ctx);
    if (STP_UNLIKELY(ctx->fabric != NULL)) stp_rt.fabric.quiet(ctx->fabric);
    /* Sequentially consistent: a load after quiet may not pass a store before it (store buffer). */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void pshmem_fence(void)
{
    stp_fence(&stp_ctx_default);
}
STP_PROFILED(shmem_fence);

void pshmem_quiet(void)
{
    stp_quiet(&stp_ctx_default);
}
STP_PROFILED(shmem_quiet);

void pshmem_ctx_fence(shmem_ctx_t ctx)
{
    if (ctx != SHMEM_CTX_INVALID) stp_fence(stp_ctx_of(ctx));
}
STP_PROFILED(shmem_ctx_fence);

void pshmem_ctx_quiet(shmem_ctx_t ctx)
{
    if (ctx != SHMEM_CTX_INVALID) stp_quiet(stp_ctx_of(ctx));
}
STP_PROFILED(shmem_ctx_quiet);

/* A quiet of everything is a quiet of the named PEs too. */
static void order_pe_quiet(struct stp_ctx *ctx, const int *target_pes, size_t npes, const char *fn)
{
    for (size_t i = 0; i < npes; i++) (void)stp_ctx_pe(ctx, target_pes[i], fn);
    if (npes > 0) stp_quiet(ctx);
}

void pshmem_ctx_pe_quiet(shmem_ctx_t ctx, const int *target_pes, size_t npes)
{
    if (ctx != SHMEM_CTX_INVALID) order_pe_quiet(stp_ctx_of(ctx), target_pes, npes, __func__);
}
STP_PROFILED(shmem_ctx_pe_quiet);

void pshmem_pe_quiet(const int *target_pes, size_t npes)
{
    order_pe_quiet(&stp_ctx_default, target_pes, npes, __func__);
}
STP_PROFILED(shmem_pe_quiet);
