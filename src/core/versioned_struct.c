/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks and copies public structures that begin with their size. Design: docs/abi.md. */
#include "versioned_struct.h"

#include <string.h>

bool stp_struct_known(size_t nbytes, size_t min_bytes, size_t max_bytes, const char *argument,
                      const char *initializer, const char *fn)
{
    if (nbytes >= min_bytes && nbytes <= max_bytes) return true;
    stp_error("%s: %s->struct_size is %zu: begin with SHMEMX_%s_INITIALIZER", stp_public_name(fn),
              argument, nbytes, initializer);
    return false;
}

void stp_struct_copy_versioned(void *to, size_t nbytes, const void *full, size_t full_bytes)
{
    memcpy(to, full, nbytes < full_bytes ? nbytes : full_bytes);
    if (nbytes > full_bytes) memset((char *)to + full_bytes, 0, nbytes - full_bytes);
}
