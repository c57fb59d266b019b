/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how long threads of a PE wait, and shows the waits to the other PEs of the node. A turn
 * is one iteration of a wait loop. A loop that polls reads the clock only once in STP_WAIT_TURNS
 * turns, so that a short wait only counts its turns.
 * Design: docs/design/hang.md.
 */
#ifndef STP_WAIT_STATE_PAGE_H
#define STP_WAIT_STATE_PAGE_H

#include "base/base.h"

/*
 * Description of the wait of one thread. The thread shows it to the other PEs of the node. PEs that
 * wait for the same object have the same text in the field text.
 */
struct stp_wait_state {
    uint64_t waited_ns;
    uint64_t lock; /* hash that identifies the lock for which the thread waits, or 0 */
    /*
     * PE that must act before this thread can continue, or -1 if the PE is unknown. In a wait for a
     * lock, it is the PE that comes before this PE in the queue of the lock. In a collective, it is
     * the PE that must send a word to this PE. In a wait for the fabric, it is the target PE.
     */
    int awaited_pe;
    int team_n_pes; /* number of PEs in the team of a collective, or 0 without a team */
    /* First PE and stride of the team. The stride is 0 if the members have no fixed stride. */
    int team_start, team_stride;
    /*
     * True if PEs of all nodes wait for this object. Most nodes then need not report the wait,
     * because other nodes print the same text.
     */
    bool all_nodes;
    char text[160]; /* text that names the routine and the object for which it waits */
};

#define STP_WAIT_STATES 4 /* number of notes in a page; each note shows the wait of one thread */

/* Memory in which a PE shows the waits of its threads. All PEs of the node can read it. */
struct stp_wait_state_page {
    struct {
        uint32_t in_use;  /* 1 while a thread of the PE uses this note, otherwise 0 */
        uint32_t version; /* version of the field note, odd while a thread writes to the field */
        struct stp_wait_state note;
    } STP_ALIGNED_LINE notes[STP_WAIT_STATES];
};

/* ---- duration of a wait ------------------------------------------------------- */

#define STP_WAIT_TURNS 64 /* number of iterations of a wait loop between readings of the clock */

/*
 * Starts to measure waits and to show them to the other PEs of the node.
 * page: page of this PE.
 * reported: word that all PEs of the node share. It holds the time of the last report on the node.
 */
void stp_wait_state_start(struct stp_wait_state_page *page, uint64_t *reported);
/* Stops showing waits to the node. After the return, no thread of this PE accesses the pages. */
void stp_wait_state_stop(void);

/*
 * Reads the clock and adds the time since the last reading to the waiting time of this thread.
 * Returns true if the caller must now call stp_wait_publish_subject() to show its wait.
 */
bool stp_wait_check_clock(const struct stp_wait *wait);

/*
 * Counts one turn (iteration) of a wait loop. Reads the clock once in STP_WAIT_TURNS turns. Returns
 * true if the caller must now call stp_wait_publish_subject() to show its wait.
 */
static inline bool stp_wait_turn(struct stp_wait *wait)
{
    return STP_UNLIKELY((++wait->turns & (STP_WAIT_TURNS - 1)) == 0) && stp_wait_check_clock(wait);
}

/*
 * Does the same as stp_wait_turn(), but reads the clock at each call. Loops that sleep in each
 * iteration call this function.
 */
bool stp_wait_show_due(struct stp_wait *wait);

/* Removes the wait of this thread from the page, and sets its waiting time to 0. */
void stp_wait_end_slow(void);

static inline void stp_wait_end(const struct stp_wait *wait)
{
    if (STP_UNLIKELY(wait->turns >= STP_WAIT_TURNS)) stp_wait_end_slow();
}

/* ---- subject of a wait ---------------------------------------------------------- */

enum stp_wait_kind { STP_WAIT_VARS, STP_WAIT_LOCK, STP_WAIT_COLL, STP_WAIT_FABRIC };

/* Description of the object for which a thread waits. The function that waits sets the fields. */
struct stp_wait_subject {
    enum stp_wait_kind kind;
    const char *fn;   /* name of the public routine, or NULL to search the stack for the name */
    const void *addr; /* address of the elements, of the lock, or of the word of a collective */
    int pe;           /* preceding PE in the queue of a lock, target of a fabric operation, or -1 */
    /* Only waits of the kind STP_WAIT_VARS use the following fields. */
    size_t nelems;
    size_t i; /* index of the awaited element, or SIZE_MAX if the thread waits for any element */
    size_t size;
    bool is_signed;
    /*
     * Comparisons that end the wait. Bit 0 stands for element < value, bit 1 for element == value,
     * and bit 2 for element > value.
     */
    unsigned comparisons;
    uint64_t value; /* value with which the elements are compared */
};

/*
 * Shows to the other PEs of the node the object for which this thread waits, by calling the show()
 * hook. The hook also reports the waits of the node if this wait has lasted for SHMEM_HANG_REPORT
 * seconds.
 */
void stp_wait_publish_subject(const struct stp_wait_subject *subject) STP_COLD;

/*
 * Sets note->waited_ns and copies *note to the page of this PE. Calls report() if this wait has
 * lasted for SHMEM_HANG_REPORT seconds, unless a PE of the node has printed a hang report after the
 * first call of this function for this wait. The show() hook calls this function.
 */
void stp_wait_state_publish(struct stp_wait_state *note, void (*report)(uint64_t waited_ns));

/* Returns true if the wait of this thread has not been shown yet. */
bool stp_wait_is_new(void);

#endif /* STP_WAIT_STATE_PAGE_H */
