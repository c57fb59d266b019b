/* SPDX-License-Identifier: BSD-3-Clause */
/* and, or, xor on one TYPE. Spec 9.7. */

TYPE STP_FN(atomic_fetch_and)(TYPE *dest, TYPE value, int pe)
{
    return STP_LOCAL(amo_fetch)(&stp_ctx_default, STP_AMO_AND, dest, value, 0, pe, __func__);
}

TYPE STP_CTX_FN(atomic_fetch_and)(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe)
{
    return STP_LOCAL(amo_fetch)(stp_ctx_check(ctx, __func__), STP_AMO_AND, dest, value, 0, pe,
                                __func__);
}
STP_PUBLISH(atomic_fetch_and);

void STP_FN(atomic_and)(TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_post)(&stp_ctx_default, STP_AMO_AND, dest, value, pe, __func__);
}

void STP_CTX_FN(atomic_and)(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_post)(stp_ctx_check(ctx, __func__), STP_AMO_AND, dest, value, pe, __func__);
}
STP_PUBLISH(atomic_and);

void STP_FN(atomic_fetch_and_nbi)(TYPE *fetch, TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_nbi)(&stp_ctx_default, STP_AMO_AND, fetch, dest, value, 0, pe, __func__);
}

void STP_CTX_FN(atomic_fetch_and_nbi)(shmem_ctx_t ctx, TYPE *fetch, TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_nbi)(stp_ctx_check(ctx, __func__), STP_AMO_AND, fetch, dest, value, 0, pe,
                       __func__);
}
STP_PUBLISH(atomic_fetch_and_nbi);

TYPE STP_FN(atomic_fetch_or)(TYPE *dest, TYPE value, int pe)
{
    return STP_LOCAL(amo_fetch)(&stp_ctx_default, STP_AMO_OR, dest, value, 0, pe, __func__);
}

TYPE STP_CTX_FN(atomic_fetch_or)(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe)
{
    return STP_LOCAL(amo_fetch)(stp_ctx_check(ctx, __func__), STP_AMO_OR, dest, value, 0, pe,
                                __func__);
}
STP_PUBLISH(atomic_fetch_or);

void STP_FN(atomic_or)(TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_post)(&stp_ctx_default, STP_AMO_OR, dest, value, pe, __func__);
}

void STP_CTX_FN(atomic_or)(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_post)(stp_ctx_check(ctx, __func__), STP_AMO_OR, dest, value, pe, __func__);
}
STP_PUBLISH(atomic_or);

void STP_FN(atomic_fetch_or_nbi)(TYPE *fetch, TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_nbi)(&stp_ctx_default, STP_AMO_OR, fetch, dest, value, 0, pe, __func__);
}

void STP_CTX_FN(atomic_fetch_or_nbi)(shmem_ctx_t ctx, TYPE *fetch, TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_nbi)(stp_ctx_check(ctx, __func__), STP_AMO_OR, fetch, dest, value, 0, pe,
                       __func__);
}
STP_PUBLISH(atomic_fetch_or_nbi);

TYPE STP_FN(atomic_fetch_xor)(TYPE *dest, TYPE value, int pe)
{
    return STP_LOCAL(amo_fetch)(&stp_ctx_default, STP_AMO_XOR, dest, value, 0, pe, __func__);
}

TYPE STP_CTX_FN(atomic_fetch_xor)(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe)
{
    return STP_LOCAL(amo_fetch)(stp_ctx_check(ctx, __func__), STP_AMO_XOR, dest, value, 0, pe,
                                __func__);
}
STP_PUBLISH(atomic_fetch_xor);

void STP_FN(atomic_xor)(TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_post)(&stp_ctx_default, STP_AMO_XOR, dest, value, pe, __func__);
}

void STP_CTX_FN(atomic_xor)(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_post)(stp_ctx_check(ctx, __func__), STP_AMO_XOR, dest, value, pe, __func__);
}
STP_PUBLISH(atomic_xor);

void STP_FN(atomic_fetch_xor_nbi)(TYPE *fetch, TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_nbi)(&stp_ctx_default, STP_AMO_XOR, fetch, dest, value, 0, pe, __func__);
}

void STP_CTX_FN(atomic_fetch_xor_nbi)(shmem_ctx_t ctx, TYPE *fetch, TYPE *dest, TYPE value, int pe)
{
    STP_LOCAL(amo_nbi)(stp_ctx_check(ctx, __func__), STP_AMO_XOR, fetch, dest, value, 0, pe,
                       __func__);
}
STP_PUBLISH(atomic_fetch_xor_nbi);
