/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Public structures that begin with their size: programs of an older header have fewer fields,
 * those of a newer one more.
 */
#ifndef STP_VERSIONED_STRUCT_H
#define STP_VERSIONED_STRUCT_H

#include "base/base.h"
#include "shmemx.h"

/* The largest size of a structure that the library fills in; those of later headers are longer. */
#define STP_STRUCT_MAX 4096

/* The smallest shmemx_space_info_t: the first version had the numbers before kind. */
#define STP_SPACE_INFO_MIN offsetof(shmemx_space_info_t, kind)

/*
 * Logs, and returns false, when the size at the beginning of a structure does not lie in
 * min_bytes..max_bytes: its initializer has not set it.
 */
bool stp_struct_known(size_t nbytes, size_t min_bytes, size_t max_bytes, const char *argument,
                      const char *initializer, const char *fn);

/*
 * Copy as much as both know, full having full_bytes and the program's structure nbytes; what the
 * library does not know of becomes zero.
 */
void stp_struct_copy_versioned(void *to, size_t nbytes, const void *full, size_t full_bytes);

#endif /* STP_VERSIONED_STRUCT_H */
