/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks and copies public structures whose first field is their size.
 * Design: docs/reference/abi.md.
 */
#include "versioned_struct.h"

#include <string.h>

bool stp_struct_known(size_t nbytes, size_t min_bytes, size_t max_bytes, const char *argument,
                      const char *initializer, const char *fn)
{
    if (nbytes >= min_bytes && nbytes <= max_bytes) return true;
    stp_error("%s: %s->struct_size is %zu: initialize the structure with SHMEMX_%s_INITIALIZER",
              stp_public_name(fn), argument, nbytes, initializer);
    return false;
}

bool stp_struct_read(void *dest, size_t dest_bytes, const void *source, size_t min_bytes,
                     const char *argument, const char *initializer, const char *fn)
{
    const unsigned char *bytes = source;
    size_t nbytes;

    memcpy(&nbytes, source, sizeof(nbytes));
    if (!stp_struct_known(nbytes, min_bytes, STP_STRUCT_MAX, argument, initializer, fn))
        return false;
    for (size_t i = dest_bytes; i < nbytes; i++) {
        if (bytes[i] == 0) continue;
        stp_error(
            "%s: %s->struct_size is %zu and byte %zu is not 0, but this version of Steppe knows "
            "only the first %zu bytes: run with the newer version for which the program was "
            "compiled",
            stp_public_name(fn), argument, nbytes, i, dest_bytes);
        return false;
    }
    memcpy(dest, source, nbytes < dest_bytes ? nbytes : dest_bytes);
    return true;
}

void stp_struct_copy_versioned(void *dest, size_t nbytes, const void *source, size_t source_bytes)
{
    memcpy(dest, source, nbytes < source_bytes ? nbytes : source_bytes);
    if (nbytes > source_bytes) memset((char *)dest + source_bytes, 0, nbytes - source_bytes);
}
