/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how long waits last, and writes long waits to the page of this PE, so that other PEs of
 * the node can read them. Selects the PE that reports the waits of all PEs of the node. This file
 * allocates no memory, because a thread that hangs may hold the lock of malloc().
 * Design: docs/design/hang.md.
 */
#include "base/wait_state_page.h"

#include <errno.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

static struct {
    bool started;
    int n_accessing; /* number of threads of this PE that are accessing the pages */
    struct stp_wait_state_page *page;
    /* Word that all PEs of the node share. It holds the time of the last report on the node. */
    uint64_t *reported;
    uint64_t limit_ns; /* waiting time after which a wait is reported, or 0 for no reports */
    uint64_t show_ns;  /* waiting time after which a wait is written to the page */
    /*
     * Maximum time that one reading of the clock adds to the waiting time. If the process was
     * stopped between two readings, the time between them is longer. The excess does not count as
     * waiting.
     */
    uint64_t max_step_ns;
} wait_page;

/* State of the current wait of this thread. It begins with the first reading of the clock. */
static __thread struct {
    uint64_t last_read_ns, waited_ns, shown_ns, first_shown_ns;
    int note; /* index of this thread's note in the page plus 1, or 0 if the thread has no note */
    bool reported;
} this_wait;

/*
 * Begins an access of this thread to the pages of the node. The access ends with pages_leave().
 * Returns false if the pages must not be accessed, because stp_wait_state_start() has not been
 * called yet or stp_wait_state_stop() has been called.
 */
static bool pages_enter(void)
{
    /*
     * Pairs with stp_wait_state_stop(), which clears wait_page.started and then reads
     * wait_page.n_accessing. Therefore at least one of the two functions sees the change that the
     * other function makes.
     */
    __atomic_fetch_add(&wait_page.n_accessing, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&wait_page.started, __ATOMIC_SEQ_CST)) return true;
    __atomic_fetch_sub(&wait_page.n_accessing, 1, __ATOMIC_SEQ_CST);
    return false;
}

static void pages_leave(void)
{
    /* Pairs with the load of n_accessing in stp_wait_state_stop(). */
    __atomic_fetch_sub(&wait_page.n_accessing, 1, __ATOMIC_SEQ_CST);
}

void stp_wait_end_slow(void)
{
    int note = this_wait.note;

    memset(&this_wait, 0, sizeof(this_wait));
    if (note == 0 || !pages_enter()) return;
    /* Pairs with the exchange in note_take() and the acquire load in note_read(). */
    __atomic_store_n(&wait_page.page->notes[note - 1].in_use, 0, __ATOMIC_RELEASE);
    pages_leave();
}

/* Returns true if this wait has lasted for SHMEM_HANG_REPORT seconds and is not reported yet. */
static bool report_is_due(void)
{
    return wait_page.limit_ns != 0 && !this_wait.reported &&
           this_wait.waited_ns >= wait_page.limit_ns;
}

bool stp_wait_check_clock(const struct stp_wait *wait)
{
    uint64_t now, elapsed;

    if (!__atomic_load_n(&wait_page.started, __ATOMIC_RELAXED)) return false;
    now = stp_now_ns();
    if (wait->turns < 2 * STP_WAIT_TURNS) { /* the first check of this wait */
        stp_wait_end_slow();
        this_wait.last_read_ns = now;
        return false;
    }
    elapsed = now - this_wait.last_read_ns;
    this_wait.waited_ns += elapsed < wait_page.max_step_ns ? elapsed : wait_page.max_step_ns;
    this_wait.last_read_ns = now;
    return this_wait.waited_ns >= wait_page.show_ns &&
           (now - this_wait.shown_ns >= wait_page.show_ns || report_is_due());
}

bool stp_wait_show_due(struct stp_wait *wait)
{
    wait->turns += STP_WAIT_TURNS;
    return stp_wait_check_clock(wait);
}

/* ---- the page ----------------------------------------------------------------------- */

static bool note_take(struct stp_wait_state_page *page)
{
    for (int i = 0; this_wait.note == 0 && i < STP_WAIT_STATES; i++)
        /* Pairs with the release store in stp_wait_end_slow() by the previous owner of the note. */
        if (__atomic_exchange_n(&page->notes[i].in_use, 1, __ATOMIC_ACQ_REL) == 0)
            this_wait.note = i + 1;
    return this_wait.note != 0;
}

/*
 * Copies *note to the note of this thread in the page. A reader compares the version before and
 * after its own copy, in order to detect a write during the copy.
 */
static void note_write(struct stp_wait_state_page *page, const struct stp_wait_state *note)
{
    uint32_t *version = &page->notes[this_wait.note - 1].version;
    uint32_t before = *version;

    __atomic_store_n(version, before + 1, __ATOMIC_RELAXED);
    /*
     * Pairs with the acquire fence in note_read(). Readers see the odd version before any change of
     * the note.
     */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    page->notes[this_wait.note - 1].note = *note;
    /* Pairs with the acquire load of version in note_read(). */
    __atomic_store_n(version, before + 2, __ATOMIC_RELEASE);
}

/* ---- the report ------------------------------------------------------------------------ */

/*
 * Returns true if this PE must report the waits of the node. Returns false if another PE of the
 * node has already reported them after the wait of this thread was first shown.
 */
static bool report_claim(uint64_t now)
{
    /* Pairs with the compare-and-swap below in another PE of the node. Only one PE reports. */
    uint64_t last = __atomic_load_n(wait_page.reported, __ATOMIC_ACQUIRE);

    if (last > this_wait.first_shown_ns) return false;
    return __atomic_compare_exchange_n(wait_page.reported, &last, now, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

void stp_wait_state_publish(struct stp_wait_state *note, void (*report)(uint64_t waited_ns))
{
    int error = errno;
    uint64_t now = stp_now_ns();

    if (!pages_enter()) return;
    note->waited_ns = this_wait.waited_ns;
    if (note_take(wait_page.page)) note_write(wait_page.page, note);
    if (this_wait.first_shown_ns == 0) this_wait.first_shown_ns = now;
    this_wait.shown_ns = now;
    if (report_is_due()) {
        this_wait.reported = true;
        if (report_claim(now)) report(this_wait.waited_ns);
    }
    pages_leave();
    errno = error;
}

bool stp_wait_is_new(void)
{
    return this_wait.first_shown_ns == 0;
}

void stp_wait_state_start(struct stp_wait_state_page *page, uint64_t *reported)
{
    uint64_t part;

    wait_page.page = page;
    wait_page.reported = reported;
    wait_page.limit_ns = stp_env.hang_report > 0 ? (uint64_t)stp_env.hang_report * SECOND_NS : 0;
    part = wait_page.limit_ns != 0 ? wait_page.limit_ns / 8 : SECOND_NS;
    wait_page.show_ns = part < SECOND_NS ? part : SECOND_NS;
    wait_page.max_step_ns = part + part / 2;
    if (wait_page.limit_ns != 0) stp_wait_sleep_ms = (int)(wait_page.show_ns / 1000000);
    /* Pairs with the load in pages_enter(). */
    __atomic_store_n(&wait_page.started, true, __ATOMIC_SEQ_CST);
}

void stp_wait_state_stop(void)
{
    /* Pairs with pages_enter(), which increments n_accessing and then reads started. */
    __atomic_store_n(&wait_page.started, false, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&wait_page.n_accessing, __ATOMIC_SEQ_CST) != 0)
        stp_yield_and_watch_peers(0);
}

/* ---- the hook ------------------------------------------------------------------------- */

void stp_wait_publish_subject(const struct stp_wait_subject *subject)
{
    /* Pairs with the release store in runtime_start(). */
    const struct stp_wait_hooks *hooks = __atomic_load_n(&stp_wait_hook, __ATOMIC_ACQUIRE);

    if (hooks != NULL) hooks->show(subject);
}
