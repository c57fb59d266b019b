/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remote memory access and put-with-signal: every type, every size, bytes.
 */
#include "api/api.h"

#define TEMPLATE "api/rma.tmpl.h"
#include "api/gen/types_rma.h"
#undef TEMPLATE

#define TEMPLATE "api/rma_sized.tmpl.h"
#include "api/gen/sizes_rma.h"
#undef TEMPLATE

/* ---- bytes ------------------------------------------------------------------ */

void pshmem_putmem(void *dest, const void *source, size_t nelems, int pe)
{
    stp_api_put(&stp_ctx_default, dest, source, nelems, 1, pe, __func__);
}
STP_PROFILED(shmem_putmem);

void pshmem_ctx_putmem(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe)
{
    stp_api_put(stp_ctx_check(ctx, __func__), dest, source, nelems, 1, pe, __func__);
}
STP_PROFILED(shmem_ctx_putmem);

void pshmem_getmem(void *dest, const void *source, size_t nelems, int pe)
{
    stp_api_get(&stp_ctx_default, dest, source, nelems, 1, pe, __func__);
}
STP_PROFILED(shmem_getmem);

void pshmem_ctx_getmem(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe)
{
    stp_api_get(stp_ctx_check(ctx, __func__), dest, source, nelems, 1, pe, __func__);
}
STP_PROFILED(shmem_ctx_getmem);

void pshmem_putmem_nbi(void *dest, const void *source, size_t nelems, int pe)
{
    stp_api_put_nbi(&stp_ctx_default, dest, source, nelems, 1, pe, __func__);
}
STP_PROFILED(shmem_putmem_nbi);

void pshmem_ctx_putmem_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe)
{
    stp_api_put_nbi(stp_ctx_check(ctx, __func__), dest, source, nelems, 1, pe, __func__);
}
STP_PROFILED(shmem_ctx_putmem_nbi);

void pshmem_getmem_nbi(void *dest, const void *source, size_t nelems, int pe)
{
    stp_api_get_nbi(&stp_ctx_default, dest, source, nelems, 1, pe, __func__);
}
STP_PROFILED(shmem_getmem_nbi);

void pshmem_ctx_getmem_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe)
{
    stp_api_get_nbi(stp_ctx_check(ctx, __func__), dest, source, nelems, 1, pe, __func__);
}
STP_PROFILED(shmem_ctx_getmem_nbi);

void pshmem_putmem_signal(void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
                          uint64_t signal, int sig_op, int pe)
{
    stp_api_put_signal(&stp_ctx_default, dest, source, nelems, 1, sig_addr, signal, sig_op, false,
                       pe, __func__);
}
STP_PROFILED(shmem_putmem_signal);

void pshmem_ctx_putmem_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems,
                              uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    stp_api_put_signal(stp_ctx_check(ctx, __func__), dest, source, nelems, 1, sig_addr, signal,
                       sig_op, false, pe, __func__);
}
STP_PROFILED(shmem_ctx_putmem_signal);

void pshmem_putmem_signal_nbi(void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
                              uint64_t signal, int sig_op, int pe)
{
    stp_api_put_signal(&stp_ctx_default, dest, source, nelems, 1, sig_addr, signal, sig_op, true,
                       pe, __func__);
}
STP_PROFILED(shmem_putmem_signal_nbi);

void pshmem_ctx_putmem_signal_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems,
                                  uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    stp_api_put_signal(stp_ctx_check(ctx, __func__), dest, source, nelems, 1, sig_addr, signal,
                       sig_op, true, pe, __func__);
}
STP_PROFILED(shmem_ctx_putmem_signal_nbi);
