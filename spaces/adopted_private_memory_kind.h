/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory kind "private". A space of this kind is private memory that the program allocated
 * before the space was created. Design: docs/design/memory.md.
 */
#ifndef STP_ADOPTED_PRIVATE_MEMORY_KIND_H
#define STP_ADOPTED_PRIVATE_MEMORY_KIND_H

#include "spaces/space_registry.h"

/*
 * The kind has no SHMEM_DEVICE_ constant, because the library never allocates memory of this kind.
 * Each space of this kind is a buffer that the program has registered.
 */
extern const struct stp_kind stp_kind_private;

/* Checks whether params->buffer can become a space. Returns 0, or -errno after logging. */
int stp_private_check_buffer(const struct stp_space_params *params);
/* Returns whether the program has unmapped a page of the space. */
bool stp_private_gone(const struct stp_space *space);

/*
 * Sets *pid to the PID of a local PE's process. Sets *base to the address of that PE's part in its
 * process. Returns false if the kernel refuses to copy to and from the process.
 */
bool stp_private_peer(const struct stp_space *space, int local, pid_t *pid, uintptr_t *base);
/* Returns whether ptr is in a space of this kind. */
bool stp_adopted_private_contains(const void *ptr);

extern unsigned stp_private_n; /* number of spaces of this kind */

#endif /* STP_ADOPTED_PRIVATE_MEMORY_KIND_H */
