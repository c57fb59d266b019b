/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of a running job that oshrun reads from outside: the end of each node's memory file,
 * the files that PEs hold open, and the file for the stack frames of dying PEs. Design:
 * docs/design/hang.md.
 */
#ifndef STP_OSHRUN_INSPECT_H
#define STP_OSHRUN_INSPECT_H

#include "base/base.h"

#include <sys/types.h>

/*
 * Last bytes of the node's memory file, for readers that do not know its layout. They locate the
 * area in the file and, by offsets in the area, the data that oshrun reads. A change of any of
 * these layouts changes the magic number.
 */
struct stp_node_file_trailer {
    uint64_t magic;
    uint64_t job; /* number of the job, equal on all its nodes */
    uint64_t area_bytes;
    uint64_t processes_at, process_bytes; /* processes; each begins with a struct stp_process */
    uint64_t pages_at;                    /* offset of the array of struct stp_wait_state_page */
    /* offset of the names of all hosts, STP_HOST_MAX bytes each, empty if unknown; 0: one node */
    uint64_t hosts_at;
    int n_pes, n_local;
    int n_nodes, node; /* number of nodes; number of this node */
    char program[48];
};

#define STP_HOST_MAX 64

#define STP_TRAILER_MAGIC UINT64_C(0x7374702d6d726b33)
#define STP_NODE_FILE "steppe-node"
#define STP_ALIVE_FD_NAME "steppe-pe" /* name of a file open in each PE from the start of init */

struct stp_process {
    int pe;
    pid_t pid; /* process ID, or 0 before the PE has stored it */
};

/*
 * Environment variable that oshrun sets to "PATH:NAME". PATH leads to a memory file called NAME, to
 * which a dying PE writes its frames as lines "PE ADDRESS FILE".
 */
#define STP_FRAMES_VARIABLE "OSHRUN_FRAMES"

#endif /* STP_OSHRUN_INSPECT_H */
