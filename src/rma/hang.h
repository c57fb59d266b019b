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

/* Ends the wait of this thread, which is shown no longer. */
void stp_hang_end(void);

static inline void stp_wait_end(const struct stp_wait *wait)
{
    if (STP_UNLIKELY(wait->turns >= STP_HANG_TURNS)) stp_hang_end();
}

/*
 * Shows what this thread waits for, and reports the waits of the node when that is due. Called
 * after stp_hang_look() or stp_hang_slept() has returned true. Sets note->waited_ns.
 */
void stp_hang_show(struct stp_wait_note *note);

/* Returns true when the wait of this thread was not shown before. */
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

void stp_hang_vars(const char *fn, const struct stp_hang_vars *vars) STP_COLD;

/* Shows a wait for a lock. before: the PE ahead in its queue, -1 if it is not known. */
void stp_hang_lock(const char *fn, const void *lock, int before) STP_COLD;

/* A wait of the fabric in which nothing completes: as struct stp_core has it. */
void stp_hang_fabric(unsigned looks, int pe);

/* Where an address is, in words: a global's name, or space and offset. Returns text. */
const char *stp_hang_where(const void *addr, char *text, size_t len);

/* Prints the waits of this node's PEs, unless another node reports for it (hang_report.c). */
void stp_hang_report(uint64_t waited_ns);

/* From now on, until the last barrier; needs the PE infos. */
void stp_hang_start(void);
void stp_hang_stop(void);

#endif /* STP_HANG_H */
