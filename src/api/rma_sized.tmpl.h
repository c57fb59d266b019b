/* SPDX-License-Identifier: BSD-3-Clause */
/* put, get and their relatives for elements of SIZE bits. Spec 9.6, 9.8. */

void STP_SIZED_FN(put, )(void *dest, const void *source, size_t nelems, int pe)
{
    stp_api_put(&stp_ctx_default, dest, source, nelems, SIZE / 8, pe, __func__);
}

void STP_SIZED_CTX_FN(put, )(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe)
{
    stp_api_put(stp_ctx_check(ctx, __func__), dest, source, nelems, SIZE / 8, pe, __func__);
}
STP_SIZED_PUBLISH(put, );

void STP_SIZED_FN(iput, )(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                          size_t nelems, int pe)
{
    stp_api_iput(&stp_ctx_default, dest, source, dst, sst, nelems, SIZE / 8, pe, __func__);
}

void STP_SIZED_CTX_FN(iput, )(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
                              ptrdiff_t sst, size_t nelems, int pe)
{
    stp_api_iput(stp_ctx_check(ctx, __func__), dest, source, dst, sst, nelems, SIZE / 8, pe,
                 __func__);
}
STP_SIZED_PUBLISH(iput, );

void STP_SIZED_FN(ibput, )(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                           size_t bsize, size_t nblocks, int pe)
{
    stp_api_ibput(&stp_ctx_default, dest, source, dst, sst, bsize, nblocks, SIZE / 8, pe, __func__);
}

void STP_SIZED_CTX_FN(ibput, )(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
                               ptrdiff_t sst, size_t bsize, size_t nblocks, int pe)
{
    stp_api_ibput(stp_ctx_check(ctx, __func__), dest, source, dst, sst, bsize, nblocks, SIZE / 8,
                  pe, __func__);
}
STP_SIZED_PUBLISH(ibput, );

void STP_SIZED_FN(get, )(void *dest, const void *source, size_t nelems, int pe)
{
    stp_api_get(&stp_ctx_default, dest, source, nelems, SIZE / 8, pe, __func__);
}

void STP_SIZED_CTX_FN(get, )(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe)
{
    stp_api_get(stp_ctx_check(ctx, __func__), dest, source, nelems, SIZE / 8, pe, __func__);
}
STP_SIZED_PUBLISH(get, );

void STP_SIZED_FN(iget, )(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                          size_t nelems, int pe)
{
    stp_api_iget(&stp_ctx_default, dest, source, dst, sst, nelems, SIZE / 8, pe, __func__);
}

void STP_SIZED_CTX_FN(iget, )(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
                              ptrdiff_t sst, size_t nelems, int pe)
{
    stp_api_iget(stp_ctx_check(ctx, __func__), dest, source, dst, sst, nelems, SIZE / 8, pe,
                 __func__);
}
STP_SIZED_PUBLISH(iget, );

void STP_SIZED_FN(ibget, )(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                           size_t bsize, size_t nblocks, int pe)
{
    stp_api_ibget(&stp_ctx_default, dest, source, dst, sst, bsize, nblocks, SIZE / 8, pe, __func__);
}

void STP_SIZED_CTX_FN(ibget, )(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
                               ptrdiff_t sst, size_t bsize, size_t nblocks, int pe)
{
    stp_api_ibget(stp_ctx_check(ctx, __func__), dest, source, dst, sst, bsize, nblocks, SIZE / 8,
                  pe, __func__);
}
STP_SIZED_PUBLISH(ibget, );

void STP_SIZED_FN(put, _nbi)(void *dest, const void *source, size_t nelems, int pe)
{
    stp_api_put_nbi(&stp_ctx_default, dest, source, nelems, SIZE / 8, pe, __func__);
}

void STP_SIZED_CTX_FN(put, _nbi)(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems,
                                 int pe)
{
    stp_api_put_nbi(stp_ctx_check(ctx, __func__), dest, source, nelems, SIZE / 8, pe, __func__);
}
STP_SIZED_PUBLISH(put, _nbi);

void STP_SIZED_FN(get, _nbi)(void *dest, const void *source, size_t nelems, int pe)
{
    stp_api_get_nbi(&stp_ctx_default, dest, source, nelems, SIZE / 8, pe, __func__);
}

void STP_SIZED_CTX_FN(get, _nbi)(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems,
                                 int pe)
{
    stp_api_get_nbi(stp_ctx_check(ctx, __func__), dest, source, nelems, SIZE / 8, pe, __func__);
}
STP_SIZED_PUBLISH(get, _nbi);

void STP_SIZED_FN(put, _signal)(void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
                                uint64_t signal, int sig_op, int pe)
{
    stp_api_put_signal(&stp_ctx_default, dest, source, nelems, SIZE / 8, sig_addr, signal, sig_op,
                       false, pe, __func__);
}

void STP_SIZED_CTX_FN(put, _signal)(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems,
                                    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    stp_api_put_signal(stp_ctx_check(ctx, __func__), dest, source, nelems, SIZE / 8, sig_addr,
                       signal, sig_op, false, pe, __func__);
}
STP_SIZED_PUBLISH(put, _signal);

void STP_SIZED_FN(put, _signal_nbi)(void *dest, const void *source, size_t nelems,
                                    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    stp_api_put_signal(&stp_ctx_default, dest, source, nelems, SIZE / 8, sig_addr, signal, sig_op,
                       true, pe, __func__);
}

void STP_SIZED_CTX_FN(put, _signal_nbi)(shmem_ctx_t ctx, void *dest, const void *source,
                                        size_t nelems, uint64_t *sig_addr, uint64_t signal,
                                        int sig_op, int pe)
{
    stp_api_put_signal(stp_ctx_check(ctx, __func__), dest, source, nelems, SIZE / 8, sig_addr,
                       signal, sig_op, true, pe, __func__);
}
STP_SIZED_PUBLISH(put, _signal_nbi);
