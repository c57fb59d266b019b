/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers that are held back for a message to carry them.
 * Design: docs/design/messages.md.
 */
#include "owed.h"

#include <string.h>

#define N_DEBTS 8     /* PEs that something is owed to at a time */
#define N_HABITS 256u /* a power of two */
#define HITS_TO_OWE 4 /* messages in a row that could have carried an answer */

/* What is owed to one PE. */
struct debt {
    int pe;
    unsigned n;
    uint32_t ids[STP_OFI_AM_RECEIPTS];
};

/* Whether messages to a PE follow the answers to its own, before anybody reads the queue again. */
struct habit {
    uint32_t answered; /* drains when an answer was due last */
    uint8_t hits;
};

static struct {
    pthread_mutex_t lock; /* guards debts and habits */
    unsigned n;           /* of debts; asked about without */
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

bool stp_ofi_owed_carrying(void)
{
    return __atomic_load_n(&owed.carrying, __ATOMIC_ACQUIRE) != 0;
}

/* ---- owing -------------------------------------------------------------------- */

static void set_n_locked(unsigned n)
{
    __atomic_store_n(&owed.n, n, __ATOMIC_RELAXED);
}

/* Without a progress thread nobody may come to send it; at the end peers do not wait for long. */
static bool may_owe(void)
{
    return stp_ofi.core->env->ofi_progress_thread &&
           !__atomic_load_n(&stp_ofi.finishing, __ATOMIC_RELAXED);
}

/* False: this one has to be answered now. */
static bool owe_locked(int pe, uint32_t id)
{
    struct habit *habit = habit_of(pe);
    struct debt *debt = owed.debts, *end = owed.debts + owed.n;

    habit->answered = drains_now();
    if (habit->hits < HITS_TO_OWE) return false;
    while (debt < end && debt->pe != pe)
        debt++;
    if (debt == end) {
        if (owed.n == N_DEBTS) return false;
        *debt = (struct debt){.pe = pe};
        set_n_locked(owed.n + 1);
    }
    if (debt->n == STP_OFI_AM_RECEIPTS) return false;
    debt->ids[debt->n++] = id;
    return true;
}

static void answer_locked(const struct debt *debt)
{
    struct stp_ofi_am_header receipt = stp_ofi_am_header(STP_OFI_AM_RECEIPT, 0);

    receipt.n_receipts = (uint8_t)debt->n;
    memcpy(receipt.receipts, debt->ids, sizeof(receipt.receipts));
    stp_ofi_answer_locked(&receipt, debt->pe);
}

void stp_ofi_owed_add_locked(int pe, uint32_t id)
{
    struct debt now = {.pe = pe, .n = 1, .ids = {id}};
    bool owes = false;

    if (may_owe()) {
        pthread_mutex_lock(&owed.lock);
        owes = owe_locked(pe, id);
        pthread_mutex_unlock(&owed.lock);
    }
    if (!owes) answer_locked(&now);
}

void stp_ofi_owed_send_locked(void)
{
    struct debt debts[N_DEBTS];
    unsigned n;

    pthread_mutex_lock(&owed.lock);
    n = owed.n;
    memcpy(debts, owed.debts, n * sizeof(*debts));
    for (unsigned i = 0; i < n; i++)
        habit_of(debts[i].pe)->hits = 0; /* nothing has carried it */
    set_n_locked(0);
    pthread_mutex_unlock(&owed.lock);
    for (unsigned i = 0; i < n; i++)
        answer_locked(&debts[i]);
}

void stp_ofi_owed_send(void)
{
    if (STP_LIKELY(!stp_ofi_owed_any()) || pthread_mutex_trylock(&stp_ofi.main.drain) != 0) return;
    stp_ofi_owed_send_locked();
    pthread_mutex_unlock(&stp_ofi.main.drain);
}

void stp_ofi_owed_forget(void)
{
    pthread_mutex_lock(&owed.lock);
    set_n_locked(0);
    memset(owed.habits, 0, sizeof(owed.habits));
    pthread_mutex_unlock(&owed.lock);
}

/* ---- carrying ------------------------------------------------------------------ */

/* Take the debt to a PE out. False: there is none. */
static bool take_locked(int pe, struct debt *taken)
{
    for (unsigned i = 0; i < owed.n; i++) {
        if (owed.debts[i].pe != pe) continue;
        *taken = owed.debts[i];
        owed.debts[i] = owed.debts[owed.n - 1];
        set_n_locked(owed.n - 1);
        return true;
    }
    return false;
}

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
    /* Pairs with the acquire of who answers pings. */
    __atomic_fetch_sub(&owed.carrying, 1, __ATOMIC_RELEASE);
}
