/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that find the NUMA nodes with high-bandwidth memory and choose one of them for a PE.
 * Only the memory kind hbm (hbm.c) and its tests use them. Design: docs/design/kinds.md.
 */
#ifndef STP_HBM_H
#define STP_HBM_H

#include "spaces/host_memory_kind.h"

#define STP_HBM_NODES 64

struct stp_hbm_node {
    int number;              /* kernel's number of the NUMA node */
    size_t nbytes;           /* memory size in bytes */
    char memory_type[24];    /* type of the memory, for example "MCDRAM"; "HBM" if unknown */
    struct stp_numbers cpus; /* CPUs that are local to the node */
};

struct stp_hbm {
    char unusable_reason[128]; /* reason why no node can be used, or "" if nodes can be used */
    int n;
    struct stp_hbm_node nodes[STP_HBM_NODES]; /* in the order of hwloc's list */
};

/* Gets the nodes from hwloc. This takes 5 to 100 ms, because hwloc examines the whole machine. */
void stp_hbm_read(struct stp_hbm *hbm);

/*
 * Returns the index of the node that is nearest to a PE on the given CPUs, or -1 if there are no
 * nodes. A node that is local to one of the CPUs is nearest. Other nodes are compared by the
 * distances that the firmware reports. If n nodes are equally near, the function chooses node
 * local % n of them, so that the PEs of a host use all n nodes. local is the local index of the PE.
 */
int stp_hbm_choose_index(const struct stp_hbm *hbm, const struct stp_numbers *cpus, int local);

/*
 * Checks whether this PE's NUMA node has enough free memory for the parts of all PEs that chose
 * this node. requests has the requests of the n PEs on this host. my_request is the request of this
 * PE. Sets *n_numa_sharers to the number of PEs that chose the node. Returns 0 or -ENOMEM. Only the
 * first of these PEs logs the error.
 */
int stp_hbm_fits(size_t nbytes, const struct stp_capacity_request *requests, int n,
                 const struct stp_capacity_request *my_request, int *n_numa_sharers);

#endif /* STP_HBM_H */
