/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of host memory for kinds that are host memory on certain NUMA nodes. Design:
 * docs/design/kinds.md.
 */
#ifndef STP_HOST_MEMORY_KIND_H
#define STP_HOST_MEMORY_KIND_H

#include "spaces/space_registry.h"

/* Operations of the kind's row. The parameters of stp_cpu_create() may name the NUMA node. */
int stp_cpu_create(struct stp_space *space, const struct stp_space_params *params,
                   struct stp_part_export *share);
int stp_cpu_grow(struct stp_space *space, size_t new_nbytes, char *why, size_t len);
void stp_cpu_undo_grow(struct stp_space *space);
int stp_cpu_attach(struct stp_space *space, int local, const struct stp_part_export *share);
void stp_cpu_destroy(struct stp_space *space);

/* Checks a part against host memory and the cgroup limit. Returns 0, or -ENOMEM after logging. */
int stp_cpu_check_fits_ram_and_cgroup(const struct stp_space_params *params, const char *kind);

#endif /* STP_HOST_MEMORY_KIND_H */
