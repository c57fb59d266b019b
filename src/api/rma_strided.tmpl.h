/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines strided put and get of elements (iput, iget) and of blocks of elements (ibput, ibget).
 * The file rma_typed_and_sized.c includes this template, and sets the macro ELEM to the type of the
 * elements. Spec 9.6.
 */

void RMA_FN(iput, )(ELEM *dest, const ELEM *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                    int pe)
{
    stp_api_iput(&stp_ctx_default, dest, source, dst, sst, 1, nelems, ELEM_SIZE, pe, __func__);
}

void RMA_CTX_FN(iput, )(shmem_ctx_t ctx, ELEM *dest, const ELEM *source, ptrdiff_t dst,
                        ptrdiff_t sst, size_t nelems, int pe)
{
    stp_api_iput(stp_ctx_check(ctx, __func__), dest, source, dst, sst, 1, nelems, ELEM_SIZE, pe,
                 __func__);
}
RMA_PUBLISH(iput, );

void RMA_FN(ibput, )(ELEM *dest, const ELEM *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
                     size_t nblocks, int pe)
{
    stp_api_iput(&stp_ctx_default, dest, source, dst, sst, bsize, nblocks, ELEM_SIZE, pe, __func__);
}

void RMA_CTX_FN(ibput, )(shmem_ctx_t ctx, ELEM *dest, const ELEM *source, ptrdiff_t dst,
                         ptrdiff_t sst, size_t bsize, size_t nblocks, int pe)
{
    stp_api_iput(stp_ctx_check(ctx, __func__), dest, source, dst, sst, bsize, nblocks, ELEM_SIZE,
                 pe, __func__);
}
RMA_PUBLISH(ibput, );

void RMA_FN(iget, )(ELEM *dest, const ELEM *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                    int pe)
{
    stp_api_iget(&stp_ctx_default, dest, source, dst, sst, 1, nelems, ELEM_SIZE, pe, __func__);
}

void RMA_CTX_FN(iget, )(shmem_ctx_t ctx, ELEM *dest, const ELEM *source, ptrdiff_t dst,
                        ptrdiff_t sst, size_t nelems, int pe)
{
    stp_api_iget(stp_ctx_check(ctx, __func__), dest, source, dst, sst, 1, nelems, ELEM_SIZE, pe,
                 __func__);
}
RMA_PUBLISH(iget, );

void RMA_FN(ibget, )(ELEM *dest, const ELEM *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
                     size_t nblocks, int pe)
{
    stp_api_iget(&stp_ctx_default, dest, source, dst, sst, bsize, nblocks, ELEM_SIZE, pe, __func__);
}

void RMA_CTX_FN(ibget, )(shmem_ctx_t ctx, ELEM *dest, const ELEM *source, ptrdiff_t dst,
                         ptrdiff_t sst, size_t bsize, size_t nblocks, int pe)
{
    stp_api_iget(stp_ctx_check(ctx, __func__), dest, source, dst, sst, bsize, nblocks, ELEM_SIZE,
                 pe, __func__);
}
RMA_PUBLISH(ibget, );
