/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private memory that the program had before: the kind of spaces that are made of it. Design:
 * docs/design/memory.md.
 */
#ifndef STP_ADOPTED_PRIVATE_MEMORY_KIND_H
#define STP_ADOPTED_PRIVATE_MEMORY_KIND_H

#include "spaces/space_registry.h"

extern const struct stp_kind stp_kind_private; /* by no constant: only what is adopted is of it */

/* May the buffer become a space? 0 or -errno, logged. Is it no longer mapped? */
int stp_private_check_buffer(const struct stp_space_params *params);
bool stp_private_gone(const struct stp_space *space);

/*
 * Private pages: which process the kernel copies to and from for a local index, and where its part
 * begins there; false: it does not. Is ptr in a space of such?
 */
bool stp_private_peer(const struct stp_space *space, int local, pid_t *pid, uintptr_t *base);
bool stp_adopted_private_contains(const void *ptr);

extern unsigned stp_private_n; /* such spaces there are */

#endif /* STP_ADOPTED_PRIVATE_MEMORY_KIND_H */
