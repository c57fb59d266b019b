/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the data by which oshrun inspects a running job from outside. oshrun reads the last part
 * of each node's memory file. It recognizes PEs by the files that they hold open. It also reads the
 * file to which dying PEs write their stack frames. Design: docs/design/hang.md.
 */
#ifndef STP_OSHRUN_INSPECT_H
#define STP_OSHRUN_INSPECT_H

#include "base/base.h"

#include <sys/types.h>

/*
 * Trailer in the last bytes of the memory file that the PEs of a node share. oshrun does not know
 * the layout of the file. It reads the trailer first, in order to find the other data. All this
 * data is in the area, which is the last part of the file and includes the trailer. All offsets
 * count from the start of the area. If the layout of the trailer or of the data changes, the magic
 * number must change, too.
 */
struct stp_node_file_trailer {
    uint64_t magic;
    uint64_t job;        /* random number that is equal on all nodes of the job */
    uint64_t area_bytes; /* size of the area */
    /* Offset and element size of an array with one element for each PE of the node. */
    uint64_t processes_at, process_bytes; /* each element begins with a struct stp_process */
    uint64_t pages_at;                    /* offset of the array of struct stp_wait_state_page */
    /* Offset of an array with the host name of each node, or 0 if the job has only one node. */
    uint64_t hosts_at;
    int n_pes, n_local; /* number of PEs of the job and of this node */
    int n_nodes, node;  /* number of nodes, and index of this node */
    char program[48];
};

#define STP_HOST_MAX 64 /* bytes of each host name in the file; an unknown host has an empty name */

#define STP_TRAILER_MAGIC UINT64_C(0x7374702d6d726b33)
#define STP_NODE_FILE "steppe-node"
#define STP_ALIVE_FD_NAME "steppe-pe" /* name of a memory file that every PE holds open */

struct stp_process {
    int pe;
    pid_t pid; /* process ID, or 0 if the PE has not stored its ID yet */
};

/*
 * Environment variable that oshrun sets to "PATH:NAME". PATH is the path of a memory file in /proc.
 * NAME is the name that oshrun has given to this file, by which a PE can recognize the file. A
 * dying PE writes its stack frames to the file, with one line of the form "PE ADDRESS FILE" for
 * each frame.
 */
#define STP_FRAMES_VARIABLE "OSHRUN_FRAMES"

#endif /* STP_OSHRUN_INSPECT_H */
