/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the processes of this host that may be PEs (find_pes.c), and reads the memory that the PEs
 * of each node share (node_file.c). Only oshrun uses these functions. Design: docs/design/hang.md.
 */
#ifndef STP_FIND_PES_H
#define STP_FIND_PES_H

#include "base/oshrun_inspect.h"
#include "hang_rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Process of this host that may be a PE. */
struct process {
    /*
     * IDs of the process, of its parent, and of its nearest ancestor that is not a PE (proxy). The
     * field proxy is 0 if the process is not a PE.
     */
    pid_t pid, parent, proxy;
    int pe, n_pes;       /* PE number and job size from the launcher's variables, or -1 */
    bool has_witness;    /* whether the process has begun shmem_init */
    bool in_table;       /* whether the process is listed as a PE in the memory of a node */
    bool unknown_layout; /* whether the memory file of the process's node has an unknown layout */
    int node;            /* index of the node whose memory file the process holds open, or -1 */
    bool is_selected; /* whether OSHRUN_JOB in the process's environment names the selected job */
};

/* Data that oshrun has copied from the memory that the PEs of one node of a job share. */
struct node {
    dev_t device;
    ino_t inode;
    char *area;                           /* copy of the area of the memory file */
    struct stp_node_file_trailer trailer; /* its numbers have been checked */
};

#define SCAN_ALL_USERS (SIZE_MAX - 1)

struct proc_scan {
    /* Name of the selected job. It is the value of OSHRUN_JOB in the processes of this job. */
    char job_name[64];
    size_t user; /* only processes of this user are examined, unless it is SCAN_ALL_USERS */
    struct process *processes;
    size_t n_processes;
    struct node *nodes;
    size_t n_nodes;
};

/*
 * Fills in *scan with the processes and nodes that this user may read. The caller must set the
 * fields job_name and user first.
 */
void scan_processes(struct proc_scan *scan);

/* Returns the process with this process ID, or NULL if it was not found. */
struct process *scan_find_process(const struct proc_scan *scan, pid_t pid);
/* Returns the real user ID of a process, or SIZE_MAX if the process has ended. */
size_t scan_user(pid_t pid);
/* Returns the process ID of the parent, or 0 if the process has ended. */
pid_t scan_parent(pid_t pid);

/* Reads the file /proc/PID/name as text. Returns the length of the text without the final NUL. */
size_t scan_text(pid_t pid, const char *name, char *text, size_t len);

/*
 * Copies the memory file `fd` of the node of a process and sets process->node. Only the first such
 * file of a process counts. Returns false if this oshrun does not know the layout of the file.
 */
bool scan_node_file(struct proc_scan *scan, struct process *process, int fd);

/* Returns the PE that has this local index on the node. Its pid is 0 if the PE is unknown. */
struct stp_process scan_find_pe(const struct node *node, int local);

/* Returns the list with room for one more item after n items. The list may have moved. */
void *scan_grow(void *list, size_t n, size_t item_bytes);

#endif /* STP_FIND_PES_H */
