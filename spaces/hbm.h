/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which NUMA nodes have high-bandwidth memory, and which of them is a PE's. For the row of the kind
 * (hbm.c) and its tests. Design: docs/design/kinds.md.
 */
#ifndef STP_HBM_H
#define STP_HBM_H

#include "spaces/host_memory_kind.h"

#define STP_HBM_NODES 64

struct stp_hbm_node {
    int number;              /* the kernel's */
    size_t nbytes;           /* of memory */
    char what[24];           /* what firmware or hwloc calls it: "MCDRAM"; else "HBM" */
    struct stp_numbers cpus; /* that are next to it */
};

struct stp_hbm {
    char why_not[128]; /* there is none; "": there is */
    int n;
    struct stp_hbm_node nodes[STP_HBM_NODES]; /* by number */
};

/* Ask hwloc. Takes as long as hwloc does to look at the machine. */
void stp_hbm_read(struct stp_hbm *hbm);

/*
 * Which of the nodes a PE on these CPUs takes: one next to them, else a nearest one as firmware
 * tells; of several that are alike, the one whose turn it is. -1: there is none.
 */
int stp_hbm_choose_index(const struct stp_hbm *hbm, const struct stp_numbers *cpus, int turn);

/*
 * Do parts of nbytes fit what a NUMA node has free, of all PEs of a host that are bound to it? 
 * Sets how many they are. 0 or -ENOMEM, which the first of them logs.
 */
int stp_hbm_fits(size_t nbytes, const struct stp_capacity_request *claims, int n,
                 const struct stp_capacity_request *mine, int *n_beside);

#endif /* STP_HBM_H */
