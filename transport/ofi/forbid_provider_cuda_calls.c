/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forbids an endpoint to call CUDA. A copy by CUDA in the middle of an operation can wait for a
 * kernel of the program, and that kernel can wait for the operation. Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

/* The option exists from libfabric 1.18 on. It is an enumerator, so #ifdef alone cannot find it. */
#if defined(FI_OPT_CUDA_API_PERMITTED) || FI_MAJOR_VERSION > 1 || FI_MINOR_VERSION >= 18
#define CUDA_HAS_OPTION true
#else
#define CUDA_HAS_OPTION false
#define FI_OPT_CUDA_API_PERMITTED 0
#endif

/*
 * Forbids CUDA calls on ep. Returns 0, or -errno if the provider needs CUDA to reach device memory.
 * A libfabric before 1.18 does not have the option; the function then returns 0.
 */
int stp_ofi_forbid_cuda(struct fid_ep *ep)
{
    bool permitted = false;

    if (!CUDA_HAS_OPTION || !FI_VERSION_GE(fi_version(), FI_VERSION(1, 18))) return 0;
    if (!stp_ofi.hmem) return 0;
    return fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_CUDA_API_PERMITTED, &permitted,
                     sizeof(permitted));
}
