/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers that are held back for a message to carry them.
 * Design: docs/design/messages.md.
 */
#include "owed.h"

#include <string.h>

#define N_DEBTS 16    /* PEs that something is owed to at a time */
#define N_HABITS 256u /* a power of two */
#define HITS_TO_OWE 4 /* messages in a row that could have carried an answer */

/* What is owed to one PE. */
struct debt {
    int pe;
    unsigned n;
    bool urgent;  /* its sender waits for one of them */
    uint32_t due; /* the drain that sends it */
    uint32_t ids[STP_OFI_AM_RECEIPTS];
};

/* Whether messages to a PE follow the answers to its own, before anybody reads the queue again. */
struct habit {
    uint32_t answered; /* drains when an answer was due last */
    uint8_t hits;
};

static struct {
    pthread_mutex_t lock; /* guards debts and habits */
    unsigned n, n_urgent; /* of debts; asked about without */
    uint32_t due;         /* the first of them; asked about without */
    struct debt debts[N_DEBTS];
    struct habit habits[N_HABITS];
    unsigned carrying; /* messages that are being posted */
} owed = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct habit *habit_of(int pe)
{
    return &owed.habits[(unsigned)pe & (N_HABITS - 1)];
}

static uint32_t drains_now(void)
{
    return __atomic_load_n(&stp_ofi.main.drains, __ATOMIC_RELAXED);
}

bool stp_ofi_owed_any(void)
{
    return __atomic_load_n(&owed.n, __ATOMIC_RELAXED) != 0;
}

bool stp_ofi_owed_urgent(void)
{
    return __atomic_load_n(&owed.n_urgent, __ATOMIC_RELAXED) != 0;
}

/* Counts go round. */
static bool is_due(uint32_t due, uint32_t now)
{
    return (int32_t)(now - due) >= 0;
}

bool stp_ofi_owed_due(void)
{
    return stp_ofi_owed_any() && is_due(__atomic_load_n(&owed.due, __ATOMIC_RELAXED), drains_now());
}

bool stp_ofi_owed_carrying(void)
{
    /* Pairs with the subtraction in stp_ofi_owed_carried(). */
    return __atomic_load_n(&owed.carrying, __ATOMIC_ACQUIRE) != 0;
}

/* ---- owing -------------------------------------------------------------------- */

/* What is asked about without the lock. */
static void publish_locked(unsigned n)
{
    uint32_t due = owed.debts[0].due;
    unsigned n_urgent = 0;

    for (unsigned i = 0; i < n; i++) {
        n_urgent += owed.debts[i].urgent;
        if (is_due(owed.debts[i].due, due)) due = owed.debts[i].due;
    }
    __atomic_store_n(&owed.due, due, __ATOMIC_RELAXED);
    __atomic_store_n(&owed.n_urgent, n_urgent, __ATOMIC_RELAXED);
    __atomic_store_n(&owed.n, n, __ATOMIC_RELAXED);
}

/* Without a progress thread nobody may come to send it; at the end peers do not wait for long. */
static bool may_owe(void)
{
    return stp_ofi.core->env->ofi_progress_thread &&
           !__atomic_load_n(&stp_ofi.finishing, __ATOMIC_RELAXED);
}

/* False: this one has to be answered now. *full: those to be answered now in its place, or none. */
static bool owe_locked(int pe, uint32_t id, bool patient, struct debt *full)
{
    struct debt *debt = owed.debts, *end = owed.debts + owed.n;
    uint32_t due = drains_now() + (patient ? STP_OFI_OWED_ALL : STP_OFI_OWED_URGENT);

    if (!patient) habit_of(pe)->answered = drains_now();
    if (!patient && habit_of(pe)->hits < HITS_TO_OWE) return false;
    while (debt < end && debt->pe != pe)
        debt++;
    if (debt == end && owed.n == N_DEBTS) return false;
    if (debt < end && debt->n == STP_OFI_AM_RECEIPTS) *full = *debt;
    if (debt == end || debt->n == STP_OFI_AM_RECEIPTS) *debt = (struct debt){.pe = pe, .due = due};
    if (!is_due(debt->due, due)) debt->due = due;
    debt->urgent |= !patient;
    debt->ids[debt->n++] = id;
    publish_locked(owed.n + (debt == end));
    return true;
}

static void answer_locked(const struct debt *debt)
{
    struct stp_ofi_am_header receipt = stp_ofi_am_header(STP_OFI_AM_RECEIPT, 0);

    receipt.n_receipts = (uint8_t)debt->n;
    memcpy(receipt.receipts, debt->ids, sizeof(receipt.receipts));
    stp_ofi_answer_locked(&receipt, debt->pe);
}

void stp_ofi_owed_add_locked(int pe, uint32_t id, bool patient)
{
    struct debt now = {.pe = pe, .n = 1, .ids = {id}}, full = {.n = 0};
    bool owes = false;

    if (may_owe()) {
        pthread_mutex_lock(&owed.lock);
        owes = owe_locked(pe, id, patient, &full);
        pthread_mutex_unlock(&owed.lock);
    }
    if (!owes) answer_locked(&now);
    if (full.n > 0) answer_locked(&full);
}

/* Take out those that are due at some drain. Returns how many. */
static unsigned take_due_locked(uint32_t at, struct debt *taken)
{
    unsigned n = 0, left = 0;

    for (unsigned i = 0; i < owed.n; i++) {
        struct debt *debt = &owed.debts[i];

        if (!is_due(debt->due, at)) {
            owed.debts[left++] = *debt;
            continue;
        }
        if (debt->urgent) habit_of(debt->pe)->hits = 0; /* nothing has carried it */
        taken[n++] = *debt;
    }
    publish_locked(left);
    return n;
}

void stp_ofi_owed_send_locked(enum stp_ofi_owed which)
{
    struct debt debts[N_DEBTS];
    unsigned n;

    pthread_mutex_lock(&owed.lock);
    n = take_due_locked(drains_now() + which, debts);
    pthread_mutex_unlock(&owed.lock);
    for (unsigned i = 0; i < n; i++)
        answer_locked(&debts[i]);
}

/* Take the debt to a PE out. False: there is none. */
static bool take_locked(int pe, struct debt *taken)
{
    for (unsigned i = 0; i < owed.n; i++) {
        if (owed.debts[i].pe != pe) continue;
        *taken = owed.debts[i];
        owed.debts[i] = owed.debts[owed.n - 1];
        publish_locked(owed.n - 1);
        return true;
    }
    return false;
}

void stp_ofi_owed_send_to_locked(int pe)
{
    struct debt debt;
    bool some;

    pthread_mutex_lock(&owed.lock);
    some = take_locked(pe, &debt);
    pthread_mutex_unlock(&owed.lock);
    if (some) answer_locked(&debt);
}

void stp_ofi_owed_send(enum stp_ofi_owed which)
{
    if (pthread_mutex_trylock(&stp_ofi.main.drain) != 0) return;
    stp_ofi_owed_send_locked(which);
    pthread_mutex_unlock(&stp_ofi.main.drain);
}

void stp_ofi_owed_forget(void)
{
    pthread_mutex_lock(&owed.lock);
    publish_locked(0);
    memset(owed.habits, 0, sizeof(owed.habits));
    pthread_mutex_unlock(&owed.lock);
}

/* ---- carrying ------------------------------------------------------------------ */

bool stp_ofi_owed_carry(struct stp_ofi_req *req)
{
    struct habit *habit = habit_of(req->pe);
    struct stp_ofi_am_header header;
    struct debt debt;
    bool some;

    pthread_mutex_lock(&owed.lock);
    some = owed.n > 0 && take_locked(req->pe, &debt);
    if (habit->answered == drains_now() && habit->hits < HITS_TO_OWE) habit->hits++;
    if (some) __atomic_fetch_add(&owed.carrying, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&owed.lock);
    if (!some) return false;
    memcpy(&header, req->data, sizeof(header));
    header.n_receipts = (uint8_t)debt.n;
    memcpy(header.receipts, debt.ids, sizeof(header.receipts));
    memcpy(req->data, &header, sizeof(header));
    return true;
}

void stp_ofi_owed_carried(void)
{
    /* Pairs with the acquire load in stp_ofi_owed_carrying(), before a ping is answered. */
    __atomic_fetch_sub(&owed.carrying, 1, __ATOMIC_RELEASE);
}
