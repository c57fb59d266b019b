/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forbids the provider to call CUDA during operations of an endpoint. Otherwise the provider may
 * copy device memory with CUDA, and such a copy can wait for a running CUDA kernel of the program.
 * If this kernel waits for the operation, the copy and the kernel wait for each other forever.
 * Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

/* FI_OPT_CUDA_API_PERMITTED is an enumerator since libfabric 1.18, so #ifdef cannot find it. */
#if defined(FI_OPT_CUDA_API_PERMITTED) || FI_MAJOR_VERSION > 1 || FI_MINOR_VERSION >= 18
#define CUDA_HAS_OPTION true
#else
#define CUDA_HAS_OPTION false
#define FI_OPT_CUDA_API_PERMITTED 0
#endif

/*
 * Forbids the provider to call CUDA for operations on the endpoint ep. Returns 0, or -errno if the
 * provider cannot access device memory without CUDA. Does nothing and returns 0 if libfabric is
 * older than 1.18, because older versions do not have this option. Also does nothing and returns 0
 * if the provider was opened without access to device memory.
 */
int stp_ofi_forbid_cuda(struct fid_ep *ep)
{
    bool permitted = false;

    if (!CUDA_HAS_OPTION || !FI_VERSION_GE(fi_version(), FI_VERSION(1, 18))) return 0;
    if (!stp_ofi.hmem) return 0;
    return fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_CUDA_API_PERMITTED, &permitted,
                     sizeof(permitted));
}
