/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements locks as a queue of PEs (Mellor-Crummey and Scott) whose links are the lock's own
 * words. Each PE that waits polls its own memory, and PEs get the lock in the order of arrival.
 * Threads of one PE first take turns in this file. Design: docs/design/locks.md.
 */
#include "rma.h"

#include <stdlib.h>

/*
 * A lock's long, which is 0 on all PEs when no PE uses the lock. PE numbers in this word start at
 * 1. Only the home PE of the lock uses tail; each PE has its own mine.
 */
struct lock_word {
    uint32_t tail; /* number of the last PE in the queue, or 0 if the lock is free */
    uint32_t mine; /* number of the next PE in the queue, plus LOCK_GRANTED at this PE's turn */
};

#define LOCK_GRANTED UINT32_C(0x80000000)

_Static_assert(sizeof(struct lock_word) == sizeof(long), "the state of a lock fits its long");

/* ---- turns of this PE's threads -------------------------------------------- */

/* Tickets of threads for a lock that this PE holds or waits for. Guarded by holds.lock. */
struct lock_hold {
    struct lock_hold *next;
    const long *lock;
    unsigned tickets; /* number of tickets given out */
    unsigned turn;    /* ticket whose turn it is, also read without holds.lock */
    bool held;        /* whether this PE holds the lock; also written without holds.lock */
    uint64_t owner;   /* number of the thread whose turn it is */
};

#define LOCK_BUCKETS 64

static struct {
    pthread_mutex_t lock; /* guard of the holds, taken only under SHMEM_THREAD_MULTIPLE */
    struct lock_hold *buckets[LOCK_BUCKETS];
    struct lock_hold *spare; /* hold that was freed last, or NULL */
} holds = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns this thread's number, from 1. A pthread_t can recur after the end of its thread. */
static uint64_t thread_number(void)
{
    static _Thread_local uint64_t mine;
    static uint64_t last;

    /* Pairs with nothing, because the addition only makes each number unique. */
    if (STP_UNLIKELY(mine == 0)) mine = __atomic_fetch_add(&last, 1, __ATOMIC_SEQ_CST) + 1;
    return mine;
}

/* Locks only under SHMEM_THREAD_MULTIPLE, because otherwise the program serializes its calls. */
static void holds_lock(void)
{
    if (stp_thread_level() == SHMEM_THREAD_MULTIPLE) pthread_mutex_lock(&holds.lock);
}

static void holds_unlock(void)
{
    if (stp_thread_level() == SHMEM_THREAD_MULTIPLE) pthread_mutex_unlock(&holds.lock);
}

/* Returns the link that points to the hold of lock, or the link at which to insert this hold. */
static struct lock_hold **hold_find(const long *lock)
{
    uintptr_t hash = (uintptr_t)lock / sizeof(*lock);
    struct lock_hold **link = &holds.buckets[(hash ^ hash >> 6) % LOCK_BUCKETS];

    while (*link != NULL && (*link)->lock != lock)
        link = &(*link)->next;
    return link;
}

/* Adds a hold with one ticket, which belongs to this thread and whose turn it is. */
static struct lock_hold *hold_add(struct lock_hold **link, const long *lock, const char *fn)
{
    struct lock_hold *hold = holds.spare != NULL ? holds.spare : malloc(sizeof(*hold));

    if (hold == NULL) stp_fatal(fn, "no memory to remember that lock %p is in use", (void *)lock);
    holds.spare = NULL;
    *hold = (struct lock_hold){.lock = lock, .tickets = 1, .owner = thread_number()};
    *link = hold;
    return hold;
}

static void hold_delete(struct lock_hold **link)
{
    struct lock_hold *hold = *link;

    *link = hold->next;
    if (holds.spare != NULL) free(holds.spare);
    holds.spare = hold;
}

static STP_COLD void lock_show(const char *fn, const void *lock, int before)
{
    stp_wait_publish_subject(
        &(struct stp_wait_subject){.kind = STP_WAIT_LOCK, .fn = fn, .addr = lock, .pe = before});
}

/* Waits for the turn of ticket. Called if another thread of this PE was first. */
static void hold_wait(struct lock_hold *hold, unsigned ticket, const char *fn)
{
    struct stp_wait wait = {0};

    /* Pairs with the release store in hold_leave(). */
    while (__atomic_load_n(&hold->turn, __ATOMIC_ACQUIRE) != ticket)
        if (STP_UNLIKELY(stp_wait_idle_once(&wait))) lock_show(fn, hold->lock, stp_rt.pe);
    stp_wait_end(&wait);
    holds_lock();
    hold->owner = thread_number();
    holds_unlock();
}

/* Takes a ticket for the lock, waits for its turn, and returns the hold. */
static struct lock_hold *hold_enter(const long *lock, const char *fn)
{
    struct lock_hold **link, *hold;
    unsigned ticket = 0;
    bool again = false;

    holds_lock();
    link = hold_find(lock);
    hold = *link;
    if (hold == NULL) {
        hold = hold_add(link, lock, fn);
    } else {
        /* Pairs with nothing, because holds.lock guards owner and the clearing of held. */
        again = __atomic_load_n(&hold->held, __ATOMIC_SEQ_CST) && hold->owner == thread_number();
        ticket = hold->tickets++;
    }
    holds_unlock();
    if (again)
        stp_fatal(fn,
                  "lock %p is held by this thread already: locks are not reentrant, "
                  "shmem_clear_lock comes first",
                  (void *)lock);
    if (ticket != 0) hold_wait(hold, ticket, fn);
    return hold;
}

/* As hold_enter(), but returns NULL instead of waiting if this PE holds or awaits the lock. */
static struct lock_hold *hold_try(const long *lock, const char *fn)
{
    struct lock_hold **link, *hold = NULL;

    holds_lock();
    link = hold_find(lock);
    if (*link == NULL) hold = hold_add(link, lock, fn);
    holds_unlock();
    return hold;
}

static void hold_own(struct lock_hold *hold)
{
    __atomic_store_n(&hold->held, true, __ATOMIC_RELAXED);
}

/*
 * Returns the hold of a lock that this PE holds, or NULL if the PE does not hold the lock. If
 * several threads clear the lock at once, only one thread gets the hold. No other thread's turn
 * comes before hold_leave().
 */
static struct lock_hold *hold_claim(const long *lock)
{
    struct lock_hold *hold;

    holds_lock();
    hold = *hold_find(lock);
    if (hold != NULL && !__atomic_load_n(&hold->held, __ATOMIC_RELAXED)) hold = NULL;
    if (hold != NULL) __atomic_store_n(&hold->held, false, __ATOMIC_RELAXED);
    holds_unlock();
    return hold;
}

/* Gives the turn to the next thread of this PE, or deletes the hold if no thread waits. */
static void hold_leave(struct lock_hold *hold)
{
    unsigned next = hold->turn + 1;

    holds_lock();
    if (hold->tickets == next)
        hold_delete(hold_find(hold->lock));
    else
        /* Pairs with the acquire load in hold_wait(). */
        __atomic_store_n(&hold->turn, next, __ATOMIC_RELEASE);
    holds_unlock();
}

void stp_locks_forget(void)
{
    for (int i = 0; i < LOCK_BUCKETS; i++)
        while (holds.buckets[i] != NULL)
            hold_delete(&holds.buckets[i]);
    free(holds.spare);
    holds.spare = NULL;
}

/* ---- words of PEs ------------------------------------------------------------ */

/*
 * Returns the home PE of the lock, whose word has the tail. The home is a PE that has the lock's
 * memory, chosen by a hash because the strides between locks are often powers of two. Fatal if the
 * lock is no symmetric long.
 */
static int lock_home(const long *lock, const char *fn)
{
    size_t offset;
    const struct stp_space *space =
        stp_symmetric(lock, sizeof(*lock), stp_rt.pe, &offset, fn, "lock");
    const struct stp_team *team = space->team != NULL ? space->team : stp_team_world;
    uint64_t hash = (offset / sizeof(*lock) + space->number + 1) * UINT64_C(0x9e3779b97f4a7c15);

    if ((uintptr_t)lock % sizeof(*lock) != 0)
        stp_fatal(fn, "lock %p is not aligned to %zu bytes", (void *)lock, sizeof(*lock));
    return stp_team_pe(team, (int)(((unsigned __int128)hash * (unsigned)team->n_pes) >> 64));
}

/* Performs an atomic on half of the lock's word of PE pe. Fetches unless result is NULL. */
static void lock_amo(enum stp_fabric_amo op, uint32_t *word, uint32_t operand, uint32_t compare,
                     uint32_t *result, int pe, const char *fn)
{
    void *there = stp_ptr_inline(word, pe, STP_USE_ATOMIC);

    /*
     * A PE that finds this PE in the queue must write to this PE's word after this PE's earlier
     * writes. Pairs with the acquire of that PE's atomic, or of its lock_mine().
     */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    if (STP_LIKELY(there != NULL))
        stp_amo_apply(there, sizeof(*word), op, &operand, &compare, result);
    else
        stp_amo_slow(&stp_ctx_coll, op, STP_U32, word, &operand, &compare, result, false, pe, fn);
}

/* Loads this PE's mine with acquire order. */
static uint32_t lock_mine(const struct lock_word *word)
{
    uint32_t mine;

    /* Pairs with the fence in lock_amo() of the PE that wrote the word. */
    if (STP_LIKELY(!stp_win.devices)) return __atomic_load_n(&word->mine, __ATOMIC_ACQUIRE);
    stp_load_slow(&mine, &word->mine, sizeof(mine));
    return mine;
}

/*
 * Waits until a bit of mask is set in this PE's mine, and returns mine. before is the PE that must
 * set the bit, or -1 for the PE that comes next.
 */
static uint32_t lock_wait(const struct lock_word *word, uint32_t mask, int before, const char *fn)
{
    struct stp_wait wait = {0};
    uint32_t mine = lock_mine(word);

    while ((mine & mask) == 0) {
        if (STP_UNLIKELY(stp_wait_idle_once(&wait))) lock_show(fn, word, before);
        mine = lock_mine(word);
    }
    stp_wait_end(&wait);
    return mine;
}

/* ---- the queue ----------------------------------------------------------------- */

/* Fatal if the tail is neither a PE's number nor 0. The word was then never cleared. */
static void lock_check_tail(const struct lock_word *word, uint32_t tail, const char *fn)
{
    if (STP_UNLIKELY(tail > (uint32_t)stp_rt.n_pes))
        stp_fatal(fn,
                  "lock %p holds what no lock routine wrote there: it is 0 on all PEs before its "
                  "first use",
                  (void *)word);
}

static void lock_queue(struct lock_word *word, int home, const char *fn)
{
    uint32_t me = (uint32_t)stp_rt.pe + 1, before;

    lock_amo(STP_AMO_SWAP, &word->tail, me, 0, &before, home, fn);
    if (before == 0) return;
    lock_check_tail(word, before, fn);
    lock_amo(STP_AMO_ADD, &word->mine, me, 0, NULL, (int)before - 1, fn);
    (void)lock_wait(word, LOCK_GRANTED, (int)before - 1, fn);
}

/*
 * Passes the lock to the next PE or frees the tail. This PE's mine is cleared when no PE can write
 * to it any more: when the tail is free, or when both the next PE's number and the grant have come.
 */
static void lock_pass(struct lock_word *word, int home, const char *fn)
{
    uint32_t me = (uint32_t)stp_rt.pe + 1, behind = lock_mine(word) & ~LOCK_GRANTED, was = me;
    bool used = lock_mine(word) != 0;

    if (behind == 0) lock_amo(STP_AMO_CSWAP, &word->tail, 0, me, &was, home, fn);
    if (was != me) behind = lock_wait(word, ~LOCK_GRANTED, -1, fn) & ~LOCK_GRANTED;
    if (used || behind != 0) lock_amo(STP_AMO_SWAP, &word->mine, 0, 0, &was, stp_rt.pe, fn);
    if (behind != 0) lock_amo(STP_AMO_ADD, &word->mine, LOCK_GRANTED, 0, NULL, (int)behind - 1, fn);
}

void pshmem_set_lock(long *lock)
{
    int home = lock_home(lock, __func__);
    struct lock_hold *hold = hold_enter(lock, __func__);

    lock_queue((struct lock_word *)lock, home, __func__);
    hold_own(hold);
    stp_remote_flush();
}
STP_PROFILED(shmem_set_lock);

int pshmem_test_lock(long *lock)
{
    struct lock_word *word = (struct lock_word *)lock;
    int home = lock_home(lock, __func__);
    struct lock_hold *hold = hold_try(lock, __func__);
    uint32_t was = 0;

    if (hold != NULL)
        lock_amo(STP_AMO_CSWAP, &word->tail, (uint32_t)stp_rt.pe + 1, 0, &was, home, __func__);
    lock_check_tail(word, was, __func__);
    if (hold != NULL && was == 0) {
        hold_own(hold);
        stp_remote_flush();
        return 0;
    }
    if (hold != NULL) hold_leave(hold);
    stp_wait_after_failed_test(); /* because a program may test in a loop */
    return 1;
}
STP_PROFILED(shmem_test_lock);

void pshmem_clear_lock(long *lock)
{
    int home = lock_home(lock, __func__);
    struct lock_hold *hold = hold_claim(lock);

    if (hold == NULL)
        stp_fatal(__func__,
                  "lock %p is not held by this PE: shmem_set_lock, or a shmem_test_lock that "
                  "returned 0, comes first",
                  (void *)lock);
    stp_quiet(&stp_ctx_default);
    lock_pass((struct lock_word *)lock, home, __func__);
    hold_leave(hold);
}
STP_PROFILED(shmem_clear_lock);
