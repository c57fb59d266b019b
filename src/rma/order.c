/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements fence and quiet. For operations by load and store, a memory fence is sufficient. The
 * fabric's fence and quiet take almost no time if the context has no outstanding fabric operations.
 * The pe_quiet routines wait only for fabric operations to the named PEs. They also wait for all
 * device copies of the context, because this PE performs these copies itself and does not record
 * their target PEs.
 */
#include "rma.h"

#include <stdlib.h>

/* Maximum number of PEs for which a call of pe_quiet needs no malloc(). */
#define ORDER_FEW_PES 64

/*
 * Returns whether device copies may be outstanding. The load is atomic, because other threads that
 * share ctx may set the field.
 */
static inline bool order_copies(const struct stp_ctx *ctx)
{
    return __atomic_load_n(&ctx->copies, __ATOMIC_RELAXED);
}

void stp_fence(struct stp_ctx *ctx)
{
    /* Pairs with the acquire load by which another PE reads a later store of this PE. */
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
    /* Complete all copies, because the copy queues of different memory kinds run independently. */
    if (STP_UNLIKELY(order_copies(ctx))) stp_copy_flush(ctx);
    if (STP_LIKELY(ctx->fabric == NULL)) return;
    /*
     * The fabric's fence is not sufficient in two cases. First, data for device memory can arrive
     * after later data for the host memory of the same PE. Second, data that the fabric sends to a
     * PE of this node can arrive after later stores of this CPU.
     */
    if (STP_UNLIKELY(__atomic_load_n(&stp_rt.remote_flush, __ATOMIC_RELAXED) ||
                     __atomic_load_n(&ctx->fabric_used_on_node, __ATOMIC_RELAXED)))
        stp_rt.fabric.quiet(ctx->fabric);
    else
        stp_rt.fabric.fence(ctx->fabric);
}

/* Must be inlined, so that a hang report finds the frame of the public routine on the stack. */
static inline __attribute__((always_inline)) void quiet(struct stp_ctx *ctx)
{
    if (STP_UNLIKELY(order_copies(ctx))) stp_copy_flush(ctx);
    if (STP_UNLIKELY(ctx->fabric != NULL)) stp_rt.fabric.quiet(ctx->fabric);
    /*
     * A load after quiet must not be performed before a store that precedes quiet. If two PEs each
     * store, call quiet and load, at least one of them must see the other's store. Pairs with the
     * fence in the other PE's quiet, and with the acquire of waits.
     */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void stp_quiet(struct stp_ctx *ctx)
{
    quiet(ctx);
}

void pshmem_fence(void)
{
    stp_fence(&stp_ctx_default);
}
STP_PROFILED(shmem_fence);

void pshmem_quiet(void)
{
    quiet(&stp_ctx_default);
}
STP_PROFILED(shmem_quiet);

void pshmem_ctx_fence(shmem_ctx_t ctx)
{
    if (ctx != SHMEM_CTX_INVALID) stp_fence(stp_ctx_of(ctx));
}
STP_PROFILED(shmem_ctx_fence);

void pshmem_ctx_quiet(shmem_ctx_t ctx)
{
    if (ctx != SHMEM_CTX_INVALID) quiet(stp_ctx_of(ctx));
}
STP_PROFILED(shmem_ctx_quiet);

/* ---- one space ----------------------------------------------------------------------------- */

/*
 * Returns whether the fabric may have outstanding operations of ctx on the space. The fabric has no
 * such operations if all members of the space are on this node and ctx->fabric_used_on_node is
 * false. In this case the CPU, device copies and proxy threads perform all operations on the space.
 * A quiet of the space then need not wait for the context's operations to other nodes.
 */
static bool order_on_fabric(const struct stp_ctx *ctx, const struct stp_space *space)
{
    const struct stp_team *team = space->team;

    return __atomic_load_n(&ctx->fabric_used_on_node, __ATOMIC_RELAXED) ||
           team->plan.n_local < team->n_pes;
}

static bool order_rejects(shmem_ctx_t handle, shmem_space_t space, const char *fn)
{
    if (handle == SHMEM_CTX_INVALID) return stp_reject(fn, "ctx", "SHMEM_CTX_INVALID") != 0;
    return stp_space_is_invalid(space) && stp_reject(fn, "space", STP_INVALID_SPACE) != 0;
}

int pshmemx_ctx_space_quiet(shmem_ctx_t handle, shmem_space_t space)
{
    struct stp_ctx *ctx;

    if (order_rejects(handle, space, __func__)) return 1;
    ctx = stp_ctx_check_live(handle, __func__);
    if (order_on_fabric(ctx, stp_space_check(space, __func__, "space"))) {
        stp_quiet(ctx);
        return 0;
    }
    if (STP_UNLIKELY(order_copies(ctx))) stp_copy_flush(ctx);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* as in stp_quiet() */
    return 0;
}
STP_PROFILED(shmemx_ctx_space_quiet);

int pshmemx_ctx_space_fence(shmem_ctx_t handle, shmem_space_t space)
{
    struct stp_ctx *ctx;

    if (order_rejects(handle, space, __func__)) return 1;
    ctx = stp_ctx_check_live(handle, __func__);
    if (order_on_fabric(ctx, stp_space_check(space, __func__, "space"))) {
        stp_fence(ctx);
        return 0;
    }
    __atomic_thread_fence(__ATOMIC_ACQ_REL); /* as in stp_fence() */
    if (STP_UNLIKELY(order_copies(ctx))) stp_copy_flush(ctx);
    return 0;
}
STP_PROFILED(shmemx_ctx_space_fence);

/* ---- some PEs ------------------------------------------------------------------------------ */

/* Completes the fabric operations to target_pes, which are PE numbers in the context's team. */
static void order_fabric_pes(struct stp_ctx *ctx, const int *target_pes, size_t npes,
                             const char *fn)
{
    int stack_pes[ORDER_FEW_PES];
    int *pes = npes <= ORDER_FEW_PES ? stack_pes : malloc(stp_bytes(npes, sizeof(*pes), fn));

    /* If malloc failed, complete the operations to all PEs, which include the named PEs. */
    if (pes == NULL) {
        stp_rt.fabric.quiet(ctx->fabric);
        return;
    }
    for (size_t i = 0; i < npes; i++)
        pes[i] = stp_ctx_pe(ctx, target_pes[i], fn);
    stp_rt.fabric.quiet_pes(ctx->fabric, pes, npes);
    if (pes != stack_pes) free(pes);
}

static void order_pe_quiet(struct stp_ctx *ctx, const int *target_pes, size_t npes, const char *fn)
{
    if (npes == 0) return;
    for (size_t i = 0; i < npes; i++)
        (void)stp_ctx_pe(ctx, target_pes[i], fn);
    if (STP_UNLIKELY(order_copies(ctx))) stp_copy_flush(ctx);
    if (STP_UNLIKELY(ctx->fabric != NULL)) order_fabric_pes(ctx, target_pes, npes, fn);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* as in stp_quiet() */
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
