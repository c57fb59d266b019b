/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares functions for public structures whose first field is their size. If a program was built
 * with an older header, its structures have fewer fields. If a program was built with a newer
 * header, its structures have more fields.
 */
#ifndef STP_VERSIONED_STRUCT_H
#define STP_VERSIONED_STRUCT_H

#include "base/base.h"
#include "shmemx.h"

/* Maximum size that the library accepts for a structure. It leaves room for later versions. */
#define STP_STRUCT_MAX 4096

/* Minimum size of shmemx_space_info_t. The first version has only the fields before kind. */
#define STP_SPACE_INFO_MIN offsetof(shmemx_space_info_t, kind)

/* Minimum sizes of structures that the library reads. They are the sizes of the first versions. */
#define STP_SPACE_ATTR_MIN (offsetof(shmemx_space_attr_t, max_size) + sizeof(size_t))
#define STP_DEVICE_OPTIONS_MIN (offsetof(shmemx_device_options_t, device) + sizeof(int))

/*
 * Checks nbytes, which is the size field of a structure. Returns true if nbytes is at least
 * min_bytes and at most max_bytes. Otherwise logs that the program must begin with the structure's
 * initializer, and returns false.
 */
bool stp_struct_known(size_t nbytes, size_t min_bytes, size_t max_bytes, const char *argument,
                      const char *initializer, const char *fn);

/*
 * Copies the program's structure (source) to the library's structure (dest), which has dest_bytes
 * bytes. Before the call, dest contains the defaults. Logs an error and returns false in two cases.
 * In the first case, the size of source is below min_bytes or above STP_STRUCT_MAX. In the second
 * case, source is longer than dest, and one of the extra bytes is not zero.
 */
bool stp_struct_read(void *dest, size_t dest_bytes, const void *source, size_t min_bytes,
                     const char *argument, const char *initializer, const char *fn);

/*
 * Copies a structure of source_bytes bytes to the program's structure, which has nbytes bytes.
 * Copies only the fields that both structures have. Sets the rest of the program's structure to
 * zero.
 */
void stp_struct_copy_versioned(void *dest, size_t nbytes, const void *source, size_t source_bytes);

#endif /* STP_VERSIONED_STRUCT_H */
