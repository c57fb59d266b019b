/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What waits of PEs are for, as PEs show it to their node, and the table of it. Shared with oshrun,
 * which reads the pages of a running job; nothing here needs a PE. Design: docs/design/hang.md.
 */
#ifndef STP_NOTES_H
#define STP_NOTES_H

#include "base/base.h"

#include <sys/types.h>

/*
 * The row that a waiting thread of a PE shows to the node. text is equal on all PEs that wait for
 * the same thing.
 */
struct stp_wait_note {
    uint64_t waited_ns;
    uint64_t lock; /* a hash of the lock that the thread waits for; 0: it waits for none */
    /*
     * The PE for which the thread waits first, -1 when it is not known: the next one in front in
     * the queue of the lock, or the one whose word has to come.
     */
    int before;
    int team_n_pes;              /* members of the team of which all have to come; 0: no team */
    int team_start, team_stride; /* stride 0: the members have no stride */
    bool everywhere; /* PEs of all nodes wait for the same, so that one node's report will do */
    char text[160];  /* the routine and the object */
};

#define STP_WAIT_NOTES 4 /* threads of a PE that are shown */

struct stp_wait_page {
    struct {
        uint32_t taken;   /* by a thread of the PE */
        uint32_t version; /* odd while the note is being written */
        struct stp_wait_note note;
    } STP_ALIGNED_LINE notes[STP_WAIT_NOTES];
};

/*
 * The last bytes of the node's memory file, for who does not know the layout: where the area is,
 * and in it what is read from outside. Another layout of anything here has another magic.
 */
struct stp_node_mark {
    uint64_t magic;
    uint64_t job; /* the same on all nodes of a job */
    uint64_t area_bytes;
    uint64_t processes_at, process_bytes; /* struct stp_process begins each of them */
    uint64_t pages_at;                    /* struct stp_wait_page */
    uint64_t hosts_at; /* of several nodes: a name each, STP_HOST_MAX bytes; empty: not known yet */
    int n_pes, n_local;
    int n_nodes, node; /* node: this one */
    char program[48];
};

#define STP_HOST_MAX 64

#define STP_MARK_MAGIC UINT64_C(0x7374702d6d726b33)
#define STP_NODE_FILE "steppe-node"
#define STP_WITNESS_NAME "steppe-pe" /* of a file that a PE has open from the begin of init */

struct stp_process {
    int pe;
    pid_t pid; /* 0: not told yet */
};

/* A thread of a PE that waits, or a PE that does not. */
struct stp_row {
    int pe;
    char state; /* of its process: the letter of /proc; 0: there is no process */
    bool waits, said;
    struct stp_wait_note note; /* of a thread that waits */
};

struct stp_table {
    struct stp_row *rows; /* room for STP_WAIT_NOTES a PE; ascending by PE */
    size_t n;
    bool states; /* print also which of the PEs that do not wait run, sleep or have ended */
    void (*say)(const char *fmt, ...) STP_PRINTF(1, 2);
};

/* The state of a process: 'R', 'S', 'T' and so on. 0: there is none. */
char stp_process_state(pid_t pid);

/* Add what a PE shows; it may change meanwhile. */
void stp_table_add(struct stp_table *table, int pe, char state, const struct stp_wait_page *page);

/* Returns true for a process that a signal or a debugger has stopped. */
bool stp_row_is_stopped(const struct stp_row *row);

/* Say all: who waits for what, who is missing there, who does not wait. */
void stp_table_say(struct stp_table *table);

/* A list of PEs in words, "0-3, 5": ascending; one that is there already may come again. */
struct stp_list {
    char text[1024];
    size_t len;
    int first, last; /* of the range that is open; start with first = -1 */
};

void stp_list_add(struct stp_list *list, int pe);
void stp_list_close(struct stp_list *list);

/*
 * Set by oshrun: "PATH:NAME", a path that leads to a file of memory of that name, to which a PE
 * that dies writes its frames: "PE ADDRESS FILE", a line each.
 */
#define STP_FRAMES_VARIABLE "OSHRUN_FRAMES"

#endif /* STP_NOTES_H */
