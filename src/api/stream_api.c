/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the byte copies and the typed sum reductions that run in the order of a device stream.
 * Copies of typed elements are inline functions in shmemx_stream.h.
 */
#include "gpu/stream_engine.h"

#include "api/api.h"

#undef STP_API_PREFIX
#define STP_API_PREFIX shmemx_

void pshmemx_putmem_on_stream(void *dest, const void *source, size_t nelems, int pe, void *stream)
{
    stp_stream_put(dest, source, nelems, pe, false, stream, __func__);
}
STP_PROFILED(shmemx_putmem_on_stream);

void pshmemx_putmem_nbi_on_stream(void *dest, const void *source, size_t nelems, int pe,
                                  void *stream)
{
    stp_stream_put(dest, source, nelems, pe, true, stream, __func__);
}
STP_PROFILED(shmemx_putmem_nbi_on_stream);

void pshmemx_getmem_on_stream(void *dest, const void *source, size_t nelems, int pe, void *stream)
{
    stp_stream_get(dest, source, nelems, pe, false, stream, __func__);
}
STP_PROFILED(shmemx_getmem_on_stream);

void pshmemx_getmem_nbi_on_stream(void *dest, const void *source, size_t nelems, int pe,
                                  void *stream)
{
    stp_stream_get(dest, source, nelems, pe, true, stream, __func__);
}
STP_PROFILED(shmemx_getmem_nbi_on_stream);

#define TEMPLATE "api/stream_sum.tmpl.h"
#include "api/gen/types_reduce_sum.h"
#undef TEMPLATE
