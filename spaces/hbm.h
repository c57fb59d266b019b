/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NUMA nodes with high-bandwidth memory and the choice of a node for a PE, for the kind hbm
 * (hbm.c) and its tests. Design: docs/design/kinds.md.
 */
#ifndef STP_HBM_H
#define STP_HBM_H

#include "spaces/host_memory_kind.h"

#define STP_HBM_NODES 64

struct stp_hbm_node {
    int number;              /* number in the kernel */
    size_t nbytes;           /* memory size */
    char what[24];           /* name from firmware or hwloc, for example "MCDRAM"; else "HBM" */
    struct stp_numbers cpus; /* CPUs that are local to the node */
};

struct stp_hbm {
    char why_not[128]; /* reason why there is no usable node; empty if there is one */
    int n;
    struct stp_hbm_node nodes[STP_HBM_NODES]; /* nodes in ascending order */
};

/* Asks hwloc for the nodes, which takes long because hwloc examines the whole machine. */
void stp_hbm_read(struct stp_hbm *hbm);

/*
 * Returns the index of a node for a PE on these CPUs, or -1 if there is none: a local node, else a
 * nearest node by the firmware's distances. turn selects among equally near nodes.
 */
int stp_hbm_choose_index(const struct stp_hbm *hbm, const struct stp_numbers *cpus, int turn);

/*
 * Checks whether the parts of all PEs of a host that are bound to one NUMA node fit its free
 * memory. Sets *n_beside to the number of these PEs. Returns 0, or -ENOMEM; one PE logs.
 */
int stp_hbm_fits(size_t nbytes, const struct stp_capacity_request *claims, int n,
                 const struct stp_capacity_request *mine, int *n_beside);

#endif /* STP_HBM_H */
