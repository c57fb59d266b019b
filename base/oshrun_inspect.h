/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What oshrun finds of a running job from outside: the end of each node's memory file, the files
 * that PEs hold open, and where a PE that dies writes its frames. Design: docs/design/hang.md.
 */
#ifndef STP_OSHRUN_INSPECT_H
#define STP_OSHRUN_INSPECT_H

#include "base/base.h"

#include <sys/types.h>

/*
 * The last bytes of the node's memory file, for who does not know the layout: where the area is,
 * and in it what is read from outside. Another layout of anything here has another magic.
 */
struct stp_node_file_trailer {
    uint64_t magic;
    uint64_t job; /* the same on all nodes of a job */
    uint64_t area_bytes;
    uint64_t processes_at, process_bytes; /* struct stp_process begins each of them */
    uint64_t pages_at;                    /* struct stp_wait_state_page */
    uint64_t hosts_at; /* of several nodes: a name each, STP_HOST_MAX bytes; empty: not known yet */
    int n_pes, n_local;
    int n_nodes, node; /* node: this one */
    char program[48];
};

#define STP_HOST_MAX 64

#define STP_TRAILER_MAGIC UINT64_C(0x7374702d6d726b33)
#define STP_NODE_FILE "steppe-node"
#define STP_ALIVE_FD_NAME "steppe-pe" /* of a file that a PE has open from the begin of init */

struct stp_process {
    int pe;
    pid_t pid; /* 0: not told yet */
};

/*
 * Set by oshrun: "PATH:NAME", a path that leads to a file of memory of that name, to which a PE
 * that dies writes its frames: "PE ADDRESS FILE", a line each.
 */
#define STP_FRAMES_VARIABLE "OSHRUN_FRAMES"

#endif /* STP_OSHRUN_INSPECT_H */
