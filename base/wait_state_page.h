/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits that last: how long, and the rows in which the threads of a PE show to their node what they
 * wait for. Nothing here is called by a wait that ends within its first turns.
 * Design: docs/design/hang.md.
 */
#ifndef STP_WAIT_STATE_PAGE_H
#define STP_WAIT_STATE_PAGE_H

#include "base/base.h"

/*
 * The row that a waiting thread of a PE shows to the node. text is equal on all PEs that wait for
 * the same thing.
 */
struct stp_wait_state {
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

#define STP_WAIT_STATES 4 /* threads of a PE that are shown */

struct stp_wait_state_page {
    struct {
        uint32_t taken;   /* by a thread of the PE */
        uint32_t version; /* odd while the note is being written */
        struct stp_wait_state note;
    } STP_ALIGNED_LINE notes[STP_WAIT_STATES];
};

/* ---- how long a wait lasts ---------------------------------------------------- */

#define STP_WAIT_TURNS 64 /* turns of a wait between two looks at the clock */

/*
 * From now on, until stp_wait_state_stop(), waits are timed, and shown in this PE's page. reported:
 * a word of the node, the time of its last report.
 */
void stp_wait_state_start(struct stp_wait_state_page *page, uint64_t *reported);
void stp_wait_state_stop(void);

/*
 * Another turn of a wait. True: it has lasted, and stp_wait_publish_subject() is to be called now.
 */
bool stp_wait_check_clock(const struct stp_wait *wait);

static inline bool stp_wait_turn(struct stp_wait *wait)
{
    return STP_UNLIKELY((++wait->turns & (STP_WAIT_TURNS - 1)) == 0) && stp_wait_check_clock(wait);
}

/* As stp_wait_turn(), for a turn that is about to sleep: reads the clock each time. */
bool stp_wait_show_due(struct stp_wait *wait);

/* Ends the wait of this thread, which is shown no longer. */
void stp_wait_end_slow(void);

static inline void stp_wait_end(const struct stp_wait *wait)
{
    if (STP_UNLIKELY(wait->turns >= STP_WAIT_TURNS)) stp_wait_end_slow();
}

/* ---- what a wait is for --------------------------------------------------------- */

enum stp_wait_kind { STP_WAIT_VARS, STP_WAIT_LOCK, STP_WAIT_COLL, STP_WAIT_FABRIC };

/* What a thread waits for, as the waiting code knows it. */
struct stp_wait_subject {
    enum stp_wait_kind kind;
    const char *fn;   /* the routine; NULL: the stack tells */
    const void *addr; /* of the elements, the lock, or the word of a collective */
    int pe;           /* lock: the one ahead in its queue; fabric: a target; -1: not known */
    /* STP_WAIT_VARS: */
    size_t nelems;
    size_t i; /* the element, SIZE_MAX: any of them */
    size_t size;
    bool is_signed;
    unsigned wanted; /* bit 0: less than value, bit 1: equal, bit 2: greater */
    uint64_t value;
};

/* Shows it, by stp_wait_hook, and reports the waits of the node when that is due. */
void stp_wait_publish_subject(const struct stp_wait_subject *subject) STP_COLD;

/*
 * For the hook: puts the row into the page, and calls report when this wait has lasted for
 * SHMEM_HANG_REPORT seconds and no other PE of the node has reported it. Sets note->waited_ns.
 */
void stp_wait_state_publish(struct stp_wait_state *note, void (*report)(uint64_t waited_ns));

/* Returns true when the wait of this thread was not shown before. */
bool stp_wait_is_new(void);

#endif /* STP_WAIT_STATE_PAGE_H */
