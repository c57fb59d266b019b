/* SPDX-License-Identifier: BSD-3-Clause */
/* put, p, get, g and their strided, nonblocking, signalling kin for one TYPE. Spec 9.6, 9.8. */

void STP_FN(put)(TYPE *dest, const TYPE *source, size_t nelems, int pe)
{
    stp_api_put(&stp_ctx_default, dest, source, nelems, sizeof(TYPE), pe, __func__);
}

void STP_CTX_FN(put)(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, size_t nelems, int pe)
{
    stp_api_put(stp_ctx_check(ctx, __func__), dest, source, nelems, sizeof(TYPE), pe, __func__);
}
STP_PUBLISH(put);

/* Only here do the values need addresses. */
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

/* A store of TYPE that the compiler may neither split nor drop. */
STP_API_INLINE void STP_LOCAL(p)(struct stp_ctx *ctx, TYPE *dest, TYPE value, int pe,
                                 const char *fn)
{
    int world_pe = stp_api_pe_look(ctx, pe, fn);
    TYPE *there = stp_ptr_inline(dest, world_pe, STP_USE_ACCESS);

    if (STP_LIKELY(there != NULL))
        *(volatile TYPE *)there = value;
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

void STP_FN(iput)(TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                  int pe)
{
    stp_api_iput(&stp_ctx_default, dest, source, dst, sst, nelems, sizeof(TYPE), pe, __func__);
}

void STP_CTX_FN(iput)(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst,
                      size_t nelems, int pe)
{
    stp_api_iput(stp_ctx_check(ctx, __func__), dest, source, dst, sst, nelems, sizeof(TYPE), pe,
                 __func__);
}
STP_PUBLISH(iput);

void STP_FN(ibput)(TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
                   size_t nblocks, int pe)
{
    stp_api_ibput(&stp_ctx_default, dest, source, dst, sst, bsize, nblocks, sizeof(TYPE), pe,
                  __func__);
}

void STP_CTX_FN(ibput)(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, ptrdiff_t dst,
                       ptrdiff_t sst, size_t bsize, size_t nblocks, int pe)
{
    stp_api_ibput(stp_ctx_check(ctx, __func__), dest, source, dst, sst, bsize, nblocks,
                  sizeof(TYPE), pe, __func__);
}
STP_PUBLISH(ibput);

void STP_FN(get)(TYPE *dest, const TYPE *source, size_t nelems, int pe)
{
    stp_api_get(&stp_ctx_default, dest, source, nelems, sizeof(TYPE), pe, __func__);
}

void STP_CTX_FN(get)(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, size_t nelems, int pe)
{
    stp_api_get(stp_ctx_check(ctx, __func__), dest, source, nelems, sizeof(TYPE), pe, __func__);
}
STP_PUBLISH(get);

STP_API_INLINE TYPE STP_LOCAL(g)(struct stp_ctx *ctx, const TYPE *source, int pe, const char *fn)
{
    int world_pe = stp_api_pe_look(ctx, pe, fn);
    const TYPE *there = stp_ptr_inline(source, world_pe, STP_USE_ACCESS);

    if (STP_LIKELY(there != NULL)) return *(const volatile TYPE *)there;
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

void STP_FN(iget)(TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                  int pe)
{
    stp_api_iget(&stp_ctx_default, dest, source, dst, sst, nelems, sizeof(TYPE), pe, __func__);
}

void STP_CTX_FN(iget)(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst,
                      size_t nelems, int pe)
{
    stp_api_iget(stp_ctx_check(ctx, __func__), dest, source, dst, sst, nelems, sizeof(TYPE), pe,
                 __func__);
}
STP_PUBLISH(iget);

void STP_FN(ibget)(TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
                   size_t nblocks, int pe)
{
    stp_api_ibget(&stp_ctx_default, dest, source, dst, sst, bsize, nblocks, sizeof(TYPE), pe,
                  __func__);
}

void STP_CTX_FN(ibget)(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, ptrdiff_t dst,
                       ptrdiff_t sst, size_t bsize, size_t nblocks, int pe)
{
    stp_api_ibget(stp_ctx_check(ctx, __func__), dest, source, dst, sst, bsize, nblocks,
                  sizeof(TYPE), pe, __func__);
}
STP_PUBLISH(ibget);

void STP_FN(put_nbi)(TYPE *dest, const TYPE *source, size_t nelems, int pe)
{
    stp_api_put_nbi(&stp_ctx_default, dest, source, nelems, sizeof(TYPE), pe, __func__);
}

void STP_CTX_FN(put_nbi)(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, size_t nelems, int pe)
{
    stp_api_put_nbi(stp_ctx_check(ctx, __func__), dest, source, nelems, sizeof(TYPE), pe, __func__);
}
STP_PUBLISH(put_nbi);

void STP_FN(get_nbi)(TYPE *dest, const TYPE *source, size_t nelems, int pe)
{
    stp_api_get_nbi(&stp_ctx_default, dest, source, nelems, sizeof(TYPE), pe, __func__);
}

void STP_CTX_FN(get_nbi)(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, size_t nelems, int pe)
{
    stp_api_get_nbi(stp_ctx_check(ctx, __func__), dest, source, nelems, sizeof(TYPE), pe, __func__);
}
STP_PUBLISH(get_nbi);

void STP_FN(put_signal)(TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr,
                        uint64_t signal, int sig_op, int pe)
{
    stp_api_put_signal(&stp_ctx_default, dest, source, nelems, sizeof(TYPE), sig_addr, signal,
                       sig_op, false, pe, __func__);
}

void STP_CTX_FN(put_signal)(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, size_t nelems,
                            uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    stp_api_put_signal(stp_ctx_check(ctx, __func__), dest, source, nelems, sizeof(TYPE), sig_addr,
                       signal, sig_op, false, pe, __func__);
}
STP_PUBLISH(put_signal);

void STP_FN(put_signal_nbi)(TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr,
                            uint64_t signal, int sig_op, int pe)
{
    stp_api_put_signal(&stp_ctx_default, dest, source, nelems, sizeof(TYPE), sig_addr, signal,
                       sig_op, true, pe, __func__);
}

void STP_CTX_FN(put_signal_nbi)(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, size_t nelems,
                                uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    stp_api_put_signal(stp_ctx_check(ctx, __func__), dest, source, nelems, sizeof(TYPE), sig_addr,
                       signal, sig_op, true, pe, __func__);
}
STP_PUBLISH(put_signal_nbi);
