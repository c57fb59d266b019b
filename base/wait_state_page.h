/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures waits that last, and shows to the node the objects for which threads of a PE wait. A
 * wait that ends within its first turns makes no call into this module.
 * Design: docs/design/hang.md.
 */
#ifndef STP_WAIT_STATE_PAGE_H
#define STP_WAIT_STATE_PAGE_H

#include "base/base.h"

/*
 * Row in which a waiting thread of a PE shows its wait to the node. text is equal on all PEs that
 * wait for the same object.
 */
struct stp_wait_state {
    uint64_t waited_ns;
    uint64_t lock; /* hash of the lock for which the thread waits, or 0 */
    /*
     * PE for which the thread waits first, or -1 if it is unknown. This PE is the preceding PE in
     * the queue of a lock, or the PE whose word must arrive.
     */
    int before;
    int team_n_pes; /* members of the team that must all arrive, or 0 without a team */
    /* first PE and stride of the team; the stride is 0 if the members have no fixed stride */
    int team_start, team_stride;
    /* true if PEs of all nodes wait for this object, so that the report of one node suffices */
    bool everywhere;
    char text[160]; /* routine and object of the wait */
};

#define STP_WAIT_STATES 4 /* number of threads of a PE that can show their waits */

struct stp_wait_state_page {
    struct {
        uint32_t taken;   /* 1 while a thread of the PE uses the note */
        uint32_t version; /* version of the note, odd while the note is written */
        struct stp_wait_state note;
    } STP_ALIGNED_LINE notes[STP_WAIT_STATES];
};

/* ---- how long a wait lasts ---------------------------------------------------- */

#define STP_WAIT_TURNS 64 /* turns of a wait between two readings of the clock */

/*
 * Starts to measure waits and to show them in page, the page of this PE, until
 * stp_wait_state_stop(). reported: word of the node that holds the time of its last report.
 */
void stp_wait_state_start(struct stp_wait_state_page *page, uint64_t *reported);
void stp_wait_state_stop(void);

/*
 * Reads the clock for a turn of a wait. Returns true if the wait has lasted and the caller must now
 * call stp_wait_publish_subject().
 */
bool stp_wait_check_clock(const struct stp_wait *wait);

static inline bool stp_wait_turn(struct stp_wait *wait)
{
    return STP_UNLIKELY((++wait->turns & (STP_WAIT_TURNS - 1)) == 0) && stp_wait_check_clock(wait);
}

/* As stp_wait_turn(), but reads the clock at each call, for a turn that is about to sleep. */
bool stp_wait_show_due(struct stp_wait *wait);

/* Ends the wait of this thread and removes the wait from the page. */
void stp_wait_end_slow(void);

static inline void stp_wait_end(const struct stp_wait *wait)
{
    if (STP_UNLIKELY(wait->turns >= STP_WAIT_TURNS)) stp_wait_end_slow();
}

/* ---- what a wait is for --------------------------------------------------------- */

enum stp_wait_kind { STP_WAIT_VARS, STP_WAIT_LOCK, STP_WAIT_COLL, STP_WAIT_FABRIC };

/* Object for which a thread waits, as the waiting code knows it. */
struct stp_wait_subject {
    enum stp_wait_kind kind;
    const char *fn;   /* name of the routine, or NULL to find it in the stack */
    const void *addr; /* address of the elements, the lock, or the word of a collective */
    int pe;           /* preceding PE in the queue of a lock, target of a fabric operation, or -1 */
    /* The following fields are for STP_WAIT_VARS only. */
    size_t nelems;
    size_t i; /* index of the element, or SIZE_MAX for any element */
    size_t size;
    bool is_signed;
    unsigned wanted; /* bit 0: less than value, bit 1: equal to value, bit 2: greater than value */
    uint64_t value;
};

/* Shows the subject through stp_wait_hook, and reports the waits of the node if this is due. */
void stp_wait_publish_subject(const struct stp_wait_subject *subject) STP_COLD;

/*
 * Writes the row into the page, and calls report if this wait has lasted for SHMEM_HANG_REPORT
 * seconds and no other PE of the node has reported the wait. Sets note->waited_ns. The show() hook
 * calls this function.
 */
void stp_wait_state_publish(struct stp_wait_state *note, void (*report)(uint64_t waited_ns));

/* Returns true if the wait of this thread has not been shown yet. */
bool stp_wait_is_new(void);

#endif /* STP_WAIT_STATE_PAGE_H */
