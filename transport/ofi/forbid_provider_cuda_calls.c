/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether an endpoint may call CUDA. A copy by CUDA in the middle of an operation may wait for a
 * kernel of the program, which may wait for the operation. Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

/* An enumerator, from libfabric 1.18 on. */
#if defined(FI_OPT_CUDA_API_PERMITTED) || FI_MAJOR_VERSION > 1 || FI_MINOR_VERSION >= 18
#define CUDA_HAS_OPTION true
#else
#define CUDA_HAS_OPTION false
#define FI_OPT_CUDA_API_PERMITTED 0
#endif

/*
 * Providers that reach device memory know the option and refuse it where they need CUDA for that.
 * An older library has none: nobody can ask it.
 */
int stp_ofi_forbid_cuda(struct fid_ep *ep)
{
    bool permitted = false;

    if (!CUDA_HAS_OPTION || !FI_VERSION_GE(fi_version(), FI_VERSION(1, 18))) return 0;
    if (!stp_ofi.hmem) return 0;
    return fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_CUDA_API_PERMITTED, &permitted,
                     sizeof(permitted));
}
