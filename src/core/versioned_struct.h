/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Public structures that begin with their size. Programs built with an older header have fewer
 * fields, and those built with a newer header have more.
 */
#ifndef STP_VERSIONED_STRUCT_H
#define STP_VERSIONED_STRUCT_H

#include "base/base.h"
#include "shmemx.h"

/* Largest accepted size of a structure that the library fills in, with room for later headers. */
#define STP_STRUCT_MAX 4096

/* Smallest shmemx_space_info_t. The first version had the numbers before the field kind. */
#define STP_SPACE_INFO_MIN offsetof(shmemx_space_info_t, kind)

/* Smallest structures that the library reads: those of the first version. */
#define STP_SPACE_ATTR_MIN (offsetof(shmemx_space_attr_t, max_size) + sizeof(size_t))
#define STP_DEVICE_OPTIONS_MIN (offsetof(shmemx_device_options_t, device) + sizeof(int))

/*
 * Returns true if the size at the beginning of a structure is in min_bytes..max_bytes. Otherwise
 * logs that the structure's initializer was not used, and returns false.
 */
bool stp_struct_known(size_t nbytes, size_t min_bytes, size_t max_bytes, const char *argument,
                      const char *initializer, const char *fn);

/*
 * Copies the program's structure given to full, which has full_bytes and the defaults. Returns
 * false after logging if the size of given is below min_bytes or above STP_STRUCT_MAX, or if given
 * is longer than full and the rest is not zero.
 */
bool stp_struct_read(void *full, size_t full_bytes, const void *given, size_t min_bytes,
                     const char *argument, const char *initializer, const char *fn);

/*
 * Copies the fields that both structures have: full has full_bytes, the program's structure nbytes.
 * The rest of the program's structure becomes zero.
 */
void stp_struct_copy_versioned(void *to, size_t nbytes, const void *full, size_t full_bytes);

#endif /* STP_VERSIONED_STRUCT_H */
