/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines put and get, both blocking and nonblocking, and put-with-signal. The file
 * rma_typed_and_sized.c includes this template, and sets the macro ELEM to the type of the
 * elements. Spec 9.6, 9.8.
 */

void RMA_FN(put, )(ELEM *dest, const ELEM *source, size_t nelems, int pe)
{
    stp_api_put(&stp_ctx_default, dest, source, nelems, ELEM_SIZE, pe, __func__);
}

void RMA_CTX_FN(put, )(shmem_ctx_t ctx, ELEM *dest, const ELEM *source, size_t nelems, int pe)
{
    stp_api_put(stp_ctx_check(ctx, __func__), dest, source, nelems, ELEM_SIZE, pe, __func__);
}
RMA_PUBLISH(put, );

void RMA_FN(get, )(ELEM *dest, const ELEM *source, size_t nelems, int pe)
{
    stp_api_get(&stp_ctx_default, dest, source, nelems, ELEM_SIZE, pe, __func__);
}

void RMA_CTX_FN(get, )(shmem_ctx_t ctx, ELEM *dest, const ELEM *source, size_t nelems, int pe)
{
    stp_api_get(stp_ctx_check(ctx, __func__), dest, source, nelems, ELEM_SIZE, pe, __func__);
}
RMA_PUBLISH(get, );

void RMA_FN(put, _nbi)(ELEM *dest, const ELEM *source, size_t nelems, int pe)
{
    stp_api_put_nbi(&stp_ctx_default, dest, source, nelems, ELEM_SIZE, pe, __func__);
}

void RMA_CTX_FN(put, _nbi)(shmem_ctx_t ctx, ELEM *dest, const ELEM *source, size_t nelems, int pe)
{
    stp_api_put_nbi(stp_ctx_check(ctx, __func__), dest, source, nelems, ELEM_SIZE, pe, __func__);
}
RMA_PUBLISH(put, _nbi);

void RMA_FN(get, _nbi)(ELEM *dest, const ELEM *source, size_t nelems, int pe)
{
    stp_api_get_nbi(&stp_ctx_default, dest, source, nelems, ELEM_SIZE, pe, __func__);
}

void RMA_CTX_FN(get, _nbi)(shmem_ctx_t ctx, ELEM *dest, const ELEM *source, size_t nelems, int pe)
{
    stp_api_get_nbi(stp_ctx_check(ctx, __func__), dest, source, nelems, ELEM_SIZE, pe, __func__);
}
RMA_PUBLISH(get, _nbi);

void RMA_FN(put, _signal)(ELEM *dest, const ELEM *source, size_t nelems, uint64_t *sig_addr,
                          uint64_t signal, int sig_op, int pe)
{
    stp_api_put_signal(&stp_ctx_default, dest, source, nelems, ELEM_SIZE, sig_addr, signal, sig_op,
                       false, pe, __func__);
}

void RMA_CTX_FN(put, _signal)(shmem_ctx_t ctx, ELEM *dest, const ELEM *source, size_t nelems,
                              uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    stp_api_put_signal(stp_ctx_check(ctx, __func__), dest, source, nelems, ELEM_SIZE, sig_addr,
                       signal, sig_op, false, pe, __func__);
}
RMA_PUBLISH(put, _signal);

void RMA_FN(put, _signal_nbi)(ELEM *dest, const ELEM *source, size_t nelems, uint64_t *sig_addr,
                              uint64_t signal, int sig_op, int pe)
{
    stp_api_put_signal(&stp_ctx_default, dest, source, nelems, ELEM_SIZE, sig_addr, signal, sig_op,
                       true, pe, __func__);
}

void RMA_CTX_FN(put, _signal_nbi)(shmem_ctx_t ctx, ELEM *dest, const ELEM *source, size_t nelems,
                                  uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    stp_api_put_signal(stp_ctx_check(ctx, __func__), dest, source, nelems, ELEM_SIZE, sig_addr,
                       signal, sig_op, true, pe, __func__);
}
RMA_PUBLISH(put, _signal_nbi);
