/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits that last: each thread tells the node what it waits for, and one PE says who waits for what
 * once a wait has lasted for SHMEM_HANG_REPORT seconds. Nothing here is called by a wait that ends
 * within its first turns. Design: docs/design/hang.md.
 */
#ifndef STP_HANG_H
#define STP_HANG_H

#include "boot/boot.h"

#define STP_HANG_TURNS 64 /* turns of a wait between two looks at the clock */

/* Another turn of a wait. True: it has lasted, and what it waits for may be shown now. */
bool stp_hang_look(const struct stp_wait *wait);

static inline bool stp_hang_turn(struct stp_wait *wait)
{
    return STP_UNLIKELY((++wait->turns & (STP_HANG_TURNS - 1)) == 0) && stp_hang_look(wait);
}

/* The same of a turn that is about to sleep. */
bool stp_hang_slept(struct stp_wait *wait);

/*
 * What the wait was for has come: it is shown no longer, but as where this PE was seen last.
 * what: a routine, or words for it.
 */
void stp_hang_end(const char *what);

static inline void stp_wait_end(const struct stp_wait *wait, const char *what)
{
    if (STP_UNLIKELY(wait->turns >= STP_HANG_TURNS)) stp_hang_end(what);
}

/* The same where more is known; at_ns is set here. */
void stp_hang_end_as(struct stp_seen *seen);

/* This PE was seen, without a wait. */
void stp_hang_seen(const char *what);

/*
 * Show that this thread waits so; and tell the whole node, if it is time and nobody else does. When
 * one of the above was true. fn: the public routine.
 */
void stp_hang_show(const struct stp_wait *wait, struct stp_wait_note *note);

/* This wait was not shown before. */
bool stp_hang_is_new(void);

/* Elements that a typed routine waits for. */
struct stp_hang_vars {
    const void *vars;
    size_t nelems;
    size_t i; /* the one, SIZE_MAX: any of them */
    size_t size;
    bool is_signed;
    unsigned wanted; /* bit 0: less than value, bit 1: equal, bit 2: greater */
    uint64_t value;
};

void stp_hang_vars(const struct stp_wait *wait, const char *fn,
                   const struct stp_hang_vars *vars) STP_COLD;

/* A lock, and the PE in front in its queue; -1: the wait is for whoever stands behind. */
void stp_hang_lock(const struct stp_wait *wait, const char *fn, const void *lock,
                   int before) STP_COLD;

/* A wait of the fabric in which nothing completes: as struct stp_core has it. */
void stp_hang_fabric(unsigned looks, int pe);

/* Where an address is, in words: a global's name, or space and offset. Returns text. */
const char *stp_hang_where(const void *addr, char *text, size_t len);

/* How long a wait has lasted, and for how long, until how long ago, its process was stopped. */
struct stp_hang_time {
    uint64_t waited_ns;
    uint64_t stopped_ns, stopped_ago_ns;
};

/*
 * Say who of this node waits for what (hang_report.c). unheard: the PE that was to tell for all,
 * and did not answer; -1: there was none.
 */
void stp_hang_report(const struct stp_hang_time *time, int unheard);

/* The same of rows of all nodes. unknown: a list of PEs whose nodes did not answer. */
void stp_hang_report_rows(const struct stp_hang_time *time, struct stp_row *rows, size_t n,
                          const char *unknown);

/* By which time is given to PEs of other nodes. */
uint64_t stp_hang_turn_ns(void);

/* Between the two the pages of the node are there. False: they are not. */
bool stp_hang_enter(void);
void stp_hang_leave(void);

/* ---- one table for all nodes (hang_nodes.c) -------------------------------------------- */

/*
 * Ask to tell for all nodes; told_ns: what hang_told was set to for that. False: this PE does
 * already. Then step with each look of that wait until it is true: it was told, by whomever. Drop:
 * the wait has ended before.
 */
bool stp_hang_nodes_ask(uint64_t told_ns);
bool stp_hang_nodes_step(const struct stp_hang_time *time);
void stp_hang_nodes_drop(void);

/* A notice of that has come; as struct stp_core has it. */
void stp_hang_told(const struct stp_notice *notice);

/* From now on, until the last barrier; needs the PE infos. */
void stp_hang_start(void);
void stp_hang_stop(void);

#endif /* STP_HANG_H */
