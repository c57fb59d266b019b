/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how long waits last, shows them in the page of this PE, and selects the PE of the node
 * that reports them. This file allocates no memory, because a thread that hangs may hold the lock
 * of the heap. Design: docs/design/hang.md.
 */
#include "base/wait_state_page.h"

#include <errno.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

static struct {
    bool on;
    int n_inside; /* threads that access the pages of the node */
    struct stp_wait_state_page *page;
    uint64_t *reported; /* time of the last report by a PE of the node */
    uint64_t limit_ns;  /* waiting time before a report; 0: no reports */
    uint64_t show_ns;   /* waiting time before a wait is shown */
    uint64_t most_ns;   /* longest time that counts for one turn, in case the process was stopped */
} timed;

/* State of the wait of this thread after the first check of the clock. */
static __thread struct {
    uint64_t seen_ns, waited_ns, shown_ns, first_shown_ns;
    int note; /* index in the notes of the page, plus 1; 0: no note */
    bool reported;
} mine;

/* Opens the pages of the node for this thread until leave(). Returns false if there are none. */
static bool enter(void)
{
    /*
     * Pairs with stp_wait_state_stop(), which clears on and then reads n_inside, so that one of the
     * two functions sees the change of the other.
     */
    __atomic_fetch_add(&timed.n_inside, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&timed.on, __ATOMIC_SEQ_CST)) return true;
    __atomic_fetch_sub(&timed.n_inside, 1, __ATOMIC_SEQ_CST);
    return false;
}

static void leave(void)
{
    /* Pairs with the load of n_inside in stp_wait_state_stop(). */
    __atomic_fetch_sub(&timed.n_inside, 1, __ATOMIC_SEQ_CST);
}

void stp_wait_end_slow(void)
{
    int note = mine.note;

    memset(&mine, 0, sizeof(mine));
    if (note == 0 || !enter()) return;
    /* Pairs with the exchange in note_take() and the acquire load in note_read(). */
    __atomic_store_n(&timed.page->notes[note - 1].taken, 0, __ATOMIC_RELEASE);
    leave();
}

/* Returns true if this wait has lasted for SHMEM_HANG_REPORT seconds and was not yet reported. */
static bool report_is_due(void)
{
    return timed.limit_ns != 0 && !mine.reported && mine.waited_ns >= timed.limit_ns;
}

bool stp_wait_check_clock(const struct stp_wait *wait)
{
    uint64_t now, passed;

    if (!__atomic_load_n(&timed.on, __ATOMIC_RELAXED)) return false;
    now = stp_now_ns();
    if (wait->turns < 2 * STP_WAIT_TURNS) { /* the first check of this wait */
        stp_wait_end_slow();
        mine.seen_ns = now;
        return false;
    }
    passed = now - mine.seen_ns;
    mine.waited_ns += passed < timed.most_ns ? passed : timed.most_ns;
    mine.seen_ns = now;
    return mine.waited_ns >= timed.show_ns &&
           (now - mine.shown_ns >= timed.show_ns || report_is_due());
}

bool stp_wait_show_due(struct stp_wait *wait)
{
    wait->turns += STP_WAIT_TURNS;
    return stp_wait_check_clock(wait);
}

/* ---- the page ----------------------------------------------------------------------- */

static bool note_take(struct stp_wait_state_page *page)
{
    for (int i = 0; mine.note == 0 && i < STP_WAIT_STATES; i++)
        /* Pairs with the release store in stp_wait_end_slow() by the previous owner of the note. */
        if (__atomic_exchange_n(&page->notes[i].taken, 1, __ATOMIC_ACQ_REL) == 0) mine.note = i + 1;
    return mine.note != 0;
}

/* Writes the note of this thread. A reader compares the version before and after its copy. */
static void note_write(struct stp_wait_state_page *page, const struct stp_wait_state *note)
{
    uint32_t *version = &page->notes[mine.note - 1].version;
    uint32_t before = *version;

    __atomic_store_n(version, before + 1, __ATOMIC_RELAXED);
    /* Pairs with the acquire fence in note_read(). The version is odd before the note changes. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    page->notes[mine.note - 1].note = *note;
    /* Pairs with the acquire load of version in note_read(). */
    __atomic_store_n(version, before + 2, __ATOMIC_RELEASE);
}

/* ---- the report ------------------------------------------------------------------------ */

/* Returns true to the first PE of the node that claims a report after this wait was shown. */
static bool report_claim(uint64_t now)
{
    /* Pairs with the compare-and-swap below in another PE of the node. Only one PE prints. */
    uint64_t last = __atomic_load_n(timed.reported, __ATOMIC_ACQUIRE);

    if (last > mine.first_shown_ns) return false;
    return __atomic_compare_exchange_n(timed.reported, &last, now, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

void stp_wait_state_publish(struct stp_wait_state *note, void (*report)(uint64_t waited_ns))
{
    int error = errno;
    uint64_t now = stp_now_ns();

    if (!enter()) return;
    note->waited_ns = mine.waited_ns;
    if (note_take(timed.page)) note_write(timed.page, note);
    if (mine.first_shown_ns == 0) mine.first_shown_ns = now;
    mine.shown_ns = now;
    if (report_is_due()) {
        mine.reported = true;
        if (report_claim(now)) report(mine.waited_ns);
    }
    leave();
    errno = error;
}

bool stp_wait_is_new(void)
{
    return mine.first_shown_ns == 0;
}

void stp_wait_state_start(struct stp_wait_state_page *page, uint64_t *reported)
{
    uint64_t part;

    timed.page = page;
    timed.reported = reported;
    timed.limit_ns = stp_env.hang_report > 0 ? (uint64_t)stp_env.hang_report * SECOND_NS : 0;
    part = timed.limit_ns != 0 ? timed.limit_ns / 8 : SECOND_NS;
    timed.show_ns = part < SECOND_NS ? part : SECOND_NS;
    timed.most_ns = part + part / 2;
    if (timed.limit_ns != 0) stp_wait_sleep_ms = (int)(timed.show_ns / 1000000);
    /* Pairs with the load in enter(). */
    __atomic_store_n(&timed.on, true, __ATOMIC_SEQ_CST);
}

void stp_wait_state_stop(void)
{
    /* Pairs with enter(), which increments n_inside and then reads on. */
    __atomic_store_n(&timed.on, false, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&timed.n_inside, __ATOMIC_SEQ_CST) != 0)
        stp_yield_and_watch_peers(0);
}

/* ---- the hook ------------------------------------------------------------------------- */

void stp_wait_publish_subject(const struct stp_wait_subject *subject)
{
    /* Pairs with the release store in runtime_start(). */
    const struct stp_wait_hooks *hooks = __atomic_load_n(&stp_wait_hook, __ATOMIC_ACQUIRE);

    if (hooks != NULL) hooks->show(subject);
}
