/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posts the sync words of a team's area and waits for them. A wait first polls, then yields, and
 * finally sleeps. Design: docs/design/collectives.md.
 */
#include "coll_internal.h"

#define COLL_YIELDS 32 /* number of polls with a yield before a wait sleeps */
#define COLL_POLLS 4   /* number of polls before a wait sleeps, if each poll is a system call */

static bool coll_reached(const uint64_t *word, uint64_t value)
{
    /*
     * Pairs with the release stores in stp_coll_post(), stp_coll_post_node() and
     * stp_ofi_cqdata_apply_to_word_locked().
     */
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) >= value;
}

/* Returns false if this PE must serve the fabric itself, because it has no progress thread. */
static bool coll_may_sleep(void)
{
    return !stp_rt.has_fabric || stp_env.ofi_progress_thread;
}

void stp_coll_show_wait(const uint64_t *word)
{
    stp_wait_publish_subject(
        &(struct stp_wait_subject){.kind = STP_WAIT_COLL, .addr = word, .pe = -1});
}

/*
 * Waits for a word that has not arrived yet. This function is not inlined, so a wait for a word
 * that has arrived costs only one load and one compare.
 */
void stp_coll_wait_slow(const uint64_t *word, uint64_t value)
{
    struct stp_wait wait = {0};

    do {
        if (STP_UNLIKELY(stp_wait_idle_once(&wait))) stp_coll_show_wait(word);
    } while (!coll_reached(word, value));
    stp_wait_end(&wait);
}

void stp_coll_wait_node_slow(struct stp_team *team, const uint64_t *word, uint64_t value)
{
    struct stp_coll_doorbell *doorbell = team->doorbell;
    bool polls_by_syscall =
        team->plan.n_groups > 1 && stp_rt.has_fabric && stp_rt.fabric.needs_syscalls;
    int n_polls = polls_by_syscall ? COLL_POLLS : stp_wait_spin + COLL_YIELDS;
    struct stp_wait wait = {0};

    if (coll_reached(word, value)) return;
    for (int i = 0; i < n_polls; i++) {
        if (coll_reached(word, value)) break;
        if (STP_UNLIKELY(stp_wait_idle_once(&wait))) stp_coll_show_wait(word);
        if (polls_by_syscall) stp_yield_and_watch_peers(wait.turns);
    }
    while (!coll_reached(word, value)) {
        uint32_t rings;
        if (!coll_may_sleep()) {
            if (STP_UNLIKELY(stp_wait_idle_once(&wait))) stp_coll_show_wait(word);
            continue;
        }
        if (stp_wait_show_due(&wait)) stp_coll_show_wait(word);
        /*
         * Pairs with the fence in stp_coll_wake_slow(). Either this PE sees the new word, or the PE
         * that wrote the word sees that this PE may sleep.
         */
        __atomic_fetch_add(&doorbell->sleepers, 1, __ATOMIC_SEQ_CST);
        rings = __atomic_load_n(&doorbell->rings, __ATOMIC_SEQ_CST);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (!coll_reached(word, value)) stp_wait_sleep(&doorbell->rings, rings);
        __atomic_fetch_sub(&doorbell->sleepers, 1, __ATOMIC_RELAXED);
    }
    stp_wait_end(&wait);
}

void stp_coll_wake_slow(struct stp_team *team)
{
    struct stp_coll_doorbell *doorbell = team->doorbell;

    /*
     * Pairs with the fence in stp_coll_wait_node_slow(), which is between the change of sleepers
     * and the check of the word.
     */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&doorbell->sleepers, __ATOMIC_RELAXED) == 0) return;
    /*
     * Pairs with the load of rings in stp_coll_wait_node_slow(). The kernel compares the loaded
     * value with rings before it lets the PE sleep.
     */
    __atomic_fetch_add(&doorbell->rings, 1, __ATOMIC_SEQ_CST);
    stp_wake(&doorbell->rings, INT_MAX);
}

void stp_coll_post(uint64_t *word, uint64_t value, int pe)
{
    uint64_t *peer_ptr = stp_ptr(word, pe);

    if (STP_LIKELY(peer_ptr != NULL))
        /*
         * Pairs with the acquire loads in stp_coll_wait(), coll_reached() and
         * stp_coll_wait_far().
         */
        __atomic_store_n(peer_ptr, value, __ATOMIC_RELEASE);
    else
        stp_coll_post_far(word, value, pe);
}
