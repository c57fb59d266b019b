/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kind of spaces that consist of private memory that the program already had. Design:
 * docs/design/memory.md.
 */
#ifndef STP_ADOPTED_PRIVATE_MEMORY_KIND_H
#define STP_ADOPTED_PRIVATE_MEMORY_KIND_H

#include "spaces/space_registry.h"

/* Has no SHMEM_DEVICE_ constant, because only adopted buffers become spaces of this kind. */
extern const struct stp_kind stp_kind_private;

/* Checks whether the buffer can become a space. Returns 0, or -errno after logging. */
int stp_private_check_buffer(const struct stp_space_params *params);
bool stp_private_gone(const struct stp_space *space);

/*
 * stp_private_gone() returns whether the buffer is not fully mapped any more. stp_private_peer()
 * sets the process with which the kernel copies for a local PE, and the base of its part there; it
 * returns false if the kernel refuses.
 */
bool stp_private_peer(const struct stp_space *space, int local, pid_t *pid, uintptr_t *base);
bool stp_adopted_private_contains(const void *ptr);

extern unsigned stp_private_n; /* number of spaces of this kind */

#endif /* STP_ADOPTED_PRIVATE_MEMORY_KIND_H */
