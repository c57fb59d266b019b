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

bool stp_struct_read(void *full, size_t full_bytes, const void *given, size_t min_bytes,
                     const char *argument, const char *initializer, const char *fn)
{
    const unsigned char *bytes = given;
    size_t nbytes;

    memcpy(&nbytes, given, sizeof(nbytes));
    if (!stp_struct_known(nbytes, min_bytes, STP_STRUCT_MAX, argument, initializer, fn))
        return false;
    for (size_t i = full_bytes; i < nbytes; i++) {
        if (bytes[i] == 0) continue;
        stp_error("%s: %s->struct_size is %zu and byte %zu is not 0, but this library knows only "
                  "the first %zu bytes: the program sets a field of a newer version",
                  stp_public_name(fn), argument, nbytes, i, full_bytes);
        return false;
    }
    memcpy(full, given, nbytes < full_bytes ? nbytes : full_bytes);
    return true;
}

void stp_struct_copy_versioned(void *to, size_t nbytes, const void *full, size_t full_bytes)
{
    memcpy(to, full, nbytes < full_bytes ? nbytes : full_bytes);
    if (nbytes > full_bytes) memset((char *)to + full_bytes, 0, nbytes - full_bytes);
}
