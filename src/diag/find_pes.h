/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes of this host, and the memory of nodes of jobs, as oshrun finds them (find_pes.c).
 * Design: docs/design/hang.md.
 */
#ifndef STP_FIND_PES_H
#define STP_FIND_PES_H

#include "base/oshrun_inspect.h"
#include "hang_rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A process of this host that may be one of PEs'. */
struct process {
    pid_t pid, parent, proxy; /* proxy: the innermost that is no PE, above it */
    int pe, n_pes;            /* as its launcher has told it, -1: it has not */
    bool witness;             /* has begun shmem_init */
    bool shown;               /* in the table of a node */
    bool foreign;             /* its node's file is one of another version */
    bool ours;                /* started by the oshrun that was asked for */
};

/* The memory of one node of a job. */
struct node {
    dev_t device;
    ino_t inode;
    const char *area;
    struct stp_node_file_trailer mark;
};

struct proc_scan {
    char of_job[64]; /* the job name of an oshrun, which its processes are marked by */
    struct process *processes;
    size_t n_processes;
    struct node *nodes;
    size_t n_nodes;
};

/* Find all that may be looked at. of_job is set. */
void scan_processes(struct proc_scan *look);

struct process *scan_find_process(const struct proc_scan *look, pid_t pid);
pid_t scan_parent(pid_t pid); /* 0: it is gone */

/* A file of a process, as text. Returns its bytes, without the end of the text. */
size_t scan_text(pid_t pid, const char *name, char *text, size_t len);

/* The PE of a node with a local index. */
const struct stp_process *scan_find_pe(const struct node *node, int local);

#endif /* STP_FIND_PES_H */
