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
 * What a thread of a PE waits for, told to the node once it has lasted. text is equal on all PEs
 * that wait for the same.
 */
struct stp_wait_note {
    uint64_t waited_ns;
    uint64_t lock; /* a hash of which, 0: it waits for none */
    int before;    /* whose turn is first: next in front in that queue, or whose word has to come */
    int team_n_pes;              /* of the team whose members all have to come, 0: no such */
    int team_start, team_stride; /* stride 0: its members are no stride */
    char text[160];
};

/*
 * Where a PE was seen last: the end of its latest wait that was not short. Calls that need not wait
 * leave nothing.
 */
struct stp_seen {
    uint64_t at_ns; /* stp_now_ns(), the same clock for all processes of the host; 0: nowhere yet */
    uint64_t count; /* which collective of the team; 0: none, or not known */
    enum { STP_SEEN_NO_TEAM, STP_SEEN_WORLD, STP_SEEN_TEAM, STP_SEEN_ACTIVE_SET } team;
    int n_pes, first, last; /* of the team */
    int stride;             /* 0: its members are no stride */
    bool all;               /* and all of them had come by then */
    char what[40];          /* a routine, or a kind of collective */
};

#define STP_WAIT_NOTES 4 /* threads of a PE that are shown */

struct stp_wait_page {
    struct {
        uint32_t taken;   /* by a thread of the PE, while it writes */
        uint32_t version; /* as below */
        struct stp_seen seen;
    } STP_ALIGNED_LINE last;
    struct {
        uint32_t taken;   /* by a thread of the PE */
        uint32_t version; /* odd while it is written */
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
    uint64_t nodes_at; /* and an int for each PE of the job: its node */
    int n_pes, n_local;
    int n_nodes, node; /* node: this one */
    char program[48];
};

#define STP_HOST_MAX 64

#define STP_MARK_MAGIC UINT64_C(0x7374702d6d726b32)
#define STP_NODE_FILE "steppe-node"
#define STP_WITNESS_NAME "steppe-pe" /* of a file that a PE has open from the begin of init */

struct stp_process {
    int pe;
    pid_t pid; /* 0: not told yet */
};

/* A thread of a PE that waits, or a PE that does not. */
struct stp_row {
    int pe;
    char state; /* of its process: the letter of /proc; 0: it has none */
    bool waits, said;
    struct stp_wait_note note; /* once the table is said, of one that does not: text is where the */
                               /* PE was seen last */
    struct stp_seen seen;      /* as the PE has it: others may have seen it later */
    uint64_t ago_ns;           /* since then; STP_NEVER */
};

#define STP_NEVER UINT64_MAX

struct stp_table {
    struct stp_row *rows; /* room for STP_WAIT_NOTES a PE; ascending by PE */
    size_t n;
    bool states; /* those that do not wait: also which run and which sleep */
    /* This process was stopped for so long, until so long ago; times before are less by that. */
    uint64_t stopped_ns, stopped_ago_ns;
    void (*say)(const char *fmt, ...) STP_PRINTF(1, 2);
};

/* The state of a process: 'R', 'S', 'T' and so on. 0: there is none. */
char stp_process_state(pid_t pid);

/* Add what a PE shows; it may change meanwhile. */
void stp_table_add(struct stp_table *table, int pe, char state, const struct stp_wait_page *page);

/* In words: "sync 12 of the world". Empty when it is nowhere. Returns text. */
const char *stp_seen_text(const struct stp_seen *seen, char *text, size_t len);

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
