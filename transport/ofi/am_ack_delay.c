/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Delays the acknowledgements of packed messages, so that a later packed message to the same PE can
 * carry them. Design: docs/design/messages.md.
 */
#include "am_ack_delay.h"

#include <string.h>

#define N_PENDING 16   /* maximum number of PEs for which acknowledgements are delayed */
#define N_HISTORY 256u /* number of history entries, a power of two */
/*
 * Value that ack_history.hits of a peer must reach before this PE delays an acknowledgement for
 * which the peer waits.
 */
#define HITS_TO_DEFER 4

/* The delayed acknowledgements that this PE owes to one peer. */
struct pending_ack {
    int pe;
    unsigned n;
    bool urgent; /* whether the peer waits for any of these acknowledgements */
    /*
     * Drain count at which the acknowledgements are sent. The drain count is the number of reads of
     * the main completion queue.
     */
    uint32_t due;
    uint32_t ids[STP_OFI_AM_ACKS];
};

/*
 * Recent history of a peer. It shows whether messages to the peer could have carried
 * acknowledgements.
 */
struct ack_history {
    /* Drain count at the arrival of the last message whose sender waits for an acknowledgement. */
    uint32_t arrival;
    /*
     * Number of messages to the peer that could have carried an acknowledgement, at most
     * HITS_TO_DEFER. The number becomes 0 when an acknowledgement for which the peer waits is sent
     * in a message of its own.
     */
    uint8_t hits;
};

static struct {
    pthread_mutex_t lock; /* guards all members except n_carriers */
    /*
     * The field n is the number of entries in pending. The field n_urgent is the number of these
     * entries that are urgent. Both fields are also read without the lock.
     */
    unsigned n, n_urgent;
    uint32_t due; /* smallest value of due in all entries, also read without the lock */
    struct pending_ack pending[N_PENDING];
    struct ack_history history[N_HISTORY];
    unsigned n_carriers; /* number of messages that carry acknowledgements and are being posted */
} acks = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct ack_history *ack_history_of(int pe)
{
    return &acks.history[(unsigned)pe & (N_HISTORY - 1)];
}

static uint32_t drains_now(void)
{
    return __atomic_load_n(&stp_ofi.main.drains, __ATOMIC_RELAXED);
}

bool stp_ofi_ack_any(void)
{
    return __atomic_load_n(&acks.n, __ATOMIC_RELAXED) != 0;
}

bool stp_ofi_ack_urgent(void)
{
    return __atomic_load_n(&acks.n_urgent, __ATOMIC_RELAXED) != 0;
}

/*
 * Returns whether the current drain count (now) has reached the drain count due. Drain counts wrap
 * around.
 */
static bool ack_is_due(uint32_t due, uint32_t now)
{
    return (int32_t)(now - due) >= 0;
}

bool stp_ofi_delayed_ack_timed_out(void)
{
    return stp_ofi_ack_any() &&
           ack_is_due(__atomic_load_n(&acks.due, __ATOMIC_RELAXED), drains_now());
}

bool stp_ofi_ack_carrier_is_posting(void)
{
    /* Pairs with the release in stp_ofi_ack_piggybacked(). */
    return __atomic_load_n(&acks.n_carriers, __ATOMIC_ACQUIRE) != 0;
}

/* ---- delaying ----------------------------------------------------------------- */

/*
 * Updates the members that are read without the lock. The argument n is the new number of entries.
 */
static void ack_publish_locked(unsigned n)
{
    uint32_t due = acks.pending[0].due;
    unsigned n_urgent = 0;

    for (unsigned i = 0; i < n; i++) {
        n_urgent += acks.pending[i].urgent;
        if (ack_is_due(acks.pending[i].due, due)) due = acks.pending[i].due;
    }
    __atomic_store_n(&acks.due, due, __ATOMIC_RELAXED);
    __atomic_store_n(&acks.n_urgent, n_urgent, __ATOMIC_RELAXED);
    __atomic_store_n(&acks.n, n, __ATOMIC_RELAXED);
}

/*
 * Returns whether acknowledgements may be delayed. Without a progress thread they are not delayed,
 * because possibly no thread would send them later. At the end of the job they are not delayed,
 * because peers then wait only a short time for them.
 */
static bool may_defer(void)
{
    return stp_ofi.core->env->ofi_progress_thread &&
           !__atomic_load_n(&stp_ofi.finishing, __ATOMIC_RELAXED);
}

/*
 * Delays the acknowledgement of the packed message with this id from PE pe. Returns false if the
 * acknowledgement must be sent now. If the list of delayed acknowledgements of this PE is
 * full, moves the list to *full and begins a new list. The caller must then send the
 * acknowledgements in *full.
 */
static bool ack_defer_locked(int pe, uint32_t id, bool may_delay, struct pending_ack *full)
{
    struct pending_ack *pending_ack = acks.pending, *end = acks.pending + acks.n;
    uint32_t due = drains_now() + (may_delay ? STP_OFI_ACK_ALL : STP_OFI_ACK_URGENT);

    if (!may_delay) ack_history_of(pe)->arrival = drains_now();
    if (!may_delay && ack_history_of(pe)->hits < HITS_TO_DEFER) return false;
    while (pending_ack < end && pending_ack->pe != pe)
        pending_ack++;
    if (pending_ack == end && acks.n == N_PENDING) return false;
    if (pending_ack < end && pending_ack->n == STP_OFI_AM_ACKS) *full = *pending_ack;
    if (pending_ack == end || pending_ack->n == STP_OFI_AM_ACKS)
        *pending_ack = (struct pending_ack){.pe = pe, .due = due};
    if (!ack_is_due(pending_ack->due, due)) pending_ack->due = due;
    pending_ack->urgent |= !may_delay;
    pending_ack->ids[pending_ack->n++] = id;
    ack_publish_locked(acks.n + (pending_ack == end));
    return true;
}

static void send_acks_locked(const struct pending_ack *pending_ack)
{
    struct stp_ofi_am_header ack = stp_ofi_am_header(STP_OFI_AM_ACK, 0);

    ack.n_acked = (uint8_t)pending_ack->n;
    memcpy(ack.acked_ids, pending_ack->ids, sizeof(ack.acked_ids));
    stp_ofi_send_answer_locked(&ack, pending_ack->pe);
}

void stp_ofi_ack_add_locked(int pe, uint32_t id, bool may_delay)
{
    struct pending_ack single = {.pe = pe, .n = 1, .ids = {id}}, full = {.n = 0};
    bool deferred = false;

    if (may_defer()) {
        pthread_mutex_lock(&acks.lock);
        deferred = ack_defer_locked(pe, id, may_delay, &full);
        pthread_mutex_unlock(&acks.lock);
    }
    if (!deferred) send_acks_locked(&single);
    if (full.n > 0) send_acks_locked(&full);
}

/*
 * Moves entries from acks.pending to the array taken. An entry is moved if its field due is not
 * later than drain_count. Returns the number of moved entries.
 */
static unsigned take_due_locked(uint32_t drain_count, struct pending_ack *taken)
{
    unsigned n = 0, n_kept = 0;

    for (unsigned i = 0; i < acks.n; i++) {
        struct pending_ack *pending_ack = &acks.pending[i];

        if (!ack_is_due(pending_ack->due, drain_count)) {
            acks.pending[n_kept++] = *pending_ack;
            continue;
        }
        if (pending_ack->urgent)
            /*
             * Clear hits, because no message to the peer has carried the acknowledgements of this
             * entry. They need a message of their own.
             */
            ack_history_of(pending_ack->pe)->hits = 0;
        taken[n++] = *pending_ack;
    }
    ack_publish_locked(n_kept);
    return n;
}

void stp_ofi_ack_flush_locked(enum stp_ofi_ack_send selection)
{
    struct pending_ack pending[N_PENDING];
    unsigned n;

    pthread_mutex_lock(&acks.lock);
    n = take_due_locked(drains_now() + selection, pending);
    pthread_mutex_unlock(&acks.lock);
    for (unsigned i = 0; i < n; i++)
        send_acks_locked(&pending[i]);
}

/* Moves the pending entry for PE pe to *taken. Returns false if there is no such entry. */
static bool ack_take_locked(int pe, struct pending_ack *taken)
{
    for (unsigned i = 0; i < acks.n; i++) {
        if (acks.pending[i].pe != pe) continue;
        *taken = acks.pending[i];
        acks.pending[i] = acks.pending[acks.n - 1];
        ack_publish_locked(acks.n - 1);
        return true;
    }
    return false;
}

void stp_ofi_ack_flush_pe_locked(int pe)
{
    struct pending_ack pending_ack;
    bool found;

    pthread_mutex_lock(&acks.lock);
    found = ack_take_locked(pe, &pending_ack);
    pthread_mutex_unlock(&acks.lock);
    if (found) send_acks_locked(&pending_ack);
}

void stp_ofi_ack_flush(enum stp_ofi_ack_send selection)
{
    if (pthread_mutex_trylock(&stp_ofi.main.drain) != 0) return;
    stp_ofi_ack_flush_locked(selection);
    pthread_mutex_unlock(&stp_ofi.main.drain);
}

void stp_ofi_ack_reset(void)
{
    pthread_mutex_lock(&acks.lock);
    ack_publish_locked(0);
    memset(acks.history, 0, sizeof(acks.history));
    pthread_mutex_unlock(&acks.lock);
}

/* ---- piggybacking -------------------------------------------------------------- */

bool stp_ofi_ack_piggyback(struct stp_ofi_req *req)
{
    struct ack_history *ack_history = ack_history_of(req->pe);
    struct stp_ofi_am_header header;
    struct pending_ack pending_ack;
    bool found;

    pthread_mutex_lock(&acks.lock);
    found = acks.n > 0 && ack_take_locked(req->pe, &pending_ack);
    if (ack_history->arrival == drains_now() && ack_history->hits < HITS_TO_DEFER)
        ack_history->hits++;
    if (found) __atomic_fetch_add(&acks.n_carriers, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&acks.lock);
    if (!found) return false;
    memcpy(&header, req->data, sizeof(header));
    header.n_acked = (uint8_t)pending_ack.n;
    memcpy(header.acked_ids, pending_ack.ids, sizeof(header.acked_ids));
    memcpy(req->data, &header, sizeof(header));
    return true;
}

void stp_ofi_ack_piggybacked(void)
{
    /*
     * Pairs with the acquire load in stp_ofi_ack_carrier_is_posting(). Each pong is sent only after
     * that load.
     */
    __atomic_fetch_sub(&acks.n_carriers, 1, __ATOMIC_RELEASE);
}
