/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines the atomics compare-and-swap, increment and add on one integer TYPE. Spec 9.7. */

TYPE STP_FN(atomic_compare_swap)(TYPE *dest, TYPE cond, TYPE value, int pe)
{
    return STP_LOCAL(amo_fetch)(&stp_ctx_default, STP_AMO_CSWAP, dest, value, cond, pe, __func__);
}

TYPE STP_CTX_FN(atomic_compare_swap)(shmem_ctx_t ctx, TYPE *dest, TYPE cond, TYPE value, int pe)
{
    return STP_LOCAL(amo_fetch)(stp_ctx_check(ctx, __func__), STP_AMO_CSWAP, dest, value, cond, pe,
                                __func__);
}
STP_PUBLISH(atomic_compare_swap);

TYPE STP_FN(atomic_fetch_inc)(TYPE *dest, int pe)
{
    return STP_LOCAL(amo_fetch)(&stp_ctx_default, STP_AMO_ADD, dest, 1, 0, pe, __func__);
}

TYPE STP_CTX_FN(atomic_fetch_inc)(shmem_ctx_t ctx, TYPE *dest, int pe)
{
    return STP_LOCAL(amo_fetch)(stp_ctx_check(ctx, __func__), STP_AMO_ADD, dest, 1, 0, pe,
                                __func__);
}
STP_PUBLISH(atomic_fetch_inc);

void STP_FN(atomic_inc)(TYPE *dest, int pe)
{
    STP_LOCAL(amo_post)(&stp_ctx_default, STP_AMO_ADD, dest, 1, pe, __func__);
}

void STP_CTX_FN(atomic_inc)(shmem_ctx_t ctx, TYPE *dest, int pe)
{
    STP_LOCAL(amo_post)(stp_ctx_check(ctx, __func__), STP_AMO_ADD, dest, 1, pe, __func__);
}
STP_PUBLISH(atomic_inc);

#define OP add
#define AMO STP_AMO_ADD
#include "api/amo_op.tmpl.h"
#undef AMO
#undef OP

void STP_FN(atomic_compare_swap_nbi)(TYPE *fetch, TYPE *dest, TYPE cond, TYPE value, int pe)
{
    STP_LOCAL(amo_nbi)(&stp_ctx_default, STP_AMO_CSWAP, fetch, dest, value, cond, pe, __func__);
}

void STP_CTX_FN(atomic_compare_swap_nbi)(shmem_ctx_t ctx, TYPE *fetch, TYPE *dest, TYPE cond,
                                         TYPE value, int pe)
{
    STP_LOCAL(amo_nbi)(stp_ctx_check(ctx, __func__), STP_AMO_CSWAP, fetch, dest, value, cond, pe,
                       __func__);
}
STP_PUBLISH(atomic_compare_swap_nbi);

void STP_FN(atomic_fetch_inc_nbi)(TYPE *fetch, TYPE *dest, int pe)
{
    STP_LOCAL(amo_nbi)(&stp_ctx_default, STP_AMO_ADD, fetch, dest, 1, 0, pe, __func__);
}

void STP_CTX_FN(atomic_fetch_inc_nbi)(shmem_ctx_t ctx, TYPE *fetch, TYPE *dest, int pe)
{
    STP_LOCAL(amo_nbi)(stp_ctx_check(ctx, __func__), STP_AMO_ADD, fetch, dest, 1, 0, pe, __func__);
}
STP_PUBLISH(atomic_fetch_inc_nbi);
