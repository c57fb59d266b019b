/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares operations of the kind cpu. Other kinds whose spaces are host memory on certain NUMA
 * nodes use these operations, too. Design: docs/design/kinds.md.
 */
#ifndef STP_HOST_MEMORY_KIND_H
#define STP_HOST_MEMORY_KIND_H

#include "spaces/space_registry.h"

/*
 * These functions are operations of the kind cpu (struct stp_kind). stp_cpu_create() applies the
 * NUMA policy in params.
 */
int stp_cpu_create(struct stp_space *space, const struct stp_space_params *params,
                   struct stp_part_export *share);
int stp_cpu_grow(struct stp_space *space, size_t new_nbytes, char *reason, size_t len);
void stp_cpu_undo_grow(struct stp_space *space);
int stp_cpu_attach(struct stp_space *space, int local, const struct stp_part_export *share);
void stp_cpu_destroy(struct stp_space *space);

/*
 * Checks that a part is not larger than the host's memory or the cgroup limit. Returns 0, or
 * -ENOMEM after logging. The argument kind is the kind's name for the message.
 */
int stp_cpu_check_fits_ram_and_cgroup(const struct stp_space_params *params, const char *kind);

#endif /* STP_HOST_MEMORY_KIND_H */
