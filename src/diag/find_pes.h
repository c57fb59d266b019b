/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds, for oshrun, the processes of this host and the memory of the nodes of jobs (find_pes.c).
 * Design: docs/design/hang.md.
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
    pid_t pid, parent, proxy; /* proxy: the nearest ancestor that is not a PE */
    int pe, n_pes;            /* numbers from the launcher's variables, or -1 */
    bool witness;             /* whether the process has begun shmem_init */
    bool shown;               /* whether the process is in the table of a node */
    bool foreign;             /* whether its node's file is of another version */
    bool ours;                /* whether the selected oshrun started the process */
};

/* Memory of one node of a job. */
struct node {
    dev_t device;
    ino_t inode;
    const char *area;
    struct stp_node_file_trailer mark;
};

struct proc_scan {
    char of_job[64]; /* job name of the selected oshrun, found in its processes' environment */
    struct process *processes;
    size_t n_processes;
    struct node *nodes;
    size_t n_nodes;
};

/* Finds all processes and nodes that this user may read. The caller has set of_job. */
void scan_processes(struct proc_scan *look);

struct process *scan_find_process(const struct proc_scan *look, pid_t pid);
pid_t scan_parent(pid_t pid); /* Returns the parent, or 0 if the process has ended. */

/* Reads a file of a process in /proc as text. Returns its length without the final NUL. */
size_t scan_text(pid_t pid, const char *name, char *text, size_t len);

/* Returns the PE of a node with a local index. */
const struct stp_process *scan_find_pe(const struct node *node, int local);

#endif /* STP_FIND_PES_H */
