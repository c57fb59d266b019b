/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks: a queue of PEs (Mellor-Crummey and Scott) whose links are the lock's own words, so each
 * waiter polls its own memory and is served in the order of arrival. Threads of one PE take turns
 * here first. Design: docs/design/locks.md.
 */
#include "rma.h"

#include <stdlib.h>

/*
 * A lock's long, which is 0 on all PEs when nobody is about. PEs are numbered from 1 here. The
 * first half counts on the lock's home PE alone; the second is each PE's own.
 */
struct lock_word {
    uint32_t tail; /* who came last, 0: free */
    uint32_t mine; /* who comes behind me, and LOCK_GRANTED once it is my turn */
};

#define LOCK_GRANTED UINT32_C(0x80000000)

_Static_assert(sizeof(struct lock_word) == sizeof(long), "the state of a lock fits its long");

/* ---- turns of this PE's threads -------------------------------------------- */

/* A lock that this PE holds or waits for: a queue of tickets. Guarded by holds.lock, but: */
struct lock_hold {
    struct lock_hold *next;
    const long *lock;
    unsigned tickets; /* given out */
    unsigned turn;    /* whose ticket is up: read without the lock */
    bool held;        /* by this PE: likewise */
    uint64_t owner;   /* whose turn it is */
};

#define LOCK_BUCKETS 64

static struct {
    pthread_mutex_t lock; /* guards the rest; taken under SHMEM_THREAD_MULTIPLE only */
    struct lock_hold *buckets[LOCK_BUCKETS];
    struct lock_hold *spare; /* the one that was freed last, or NULL */
} holds = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* This thread's number, from 1. A pthread_t will not do: that of a thread that ended recurs. */
static uint64_t thread_number(void)
{
    static _Thread_local uint64_t mine;
    static uint64_t last;

    /* Pairs with nothing: each number is given once. */
    if (STP_UNLIKELY(mine == 0)) mine = __atomic_fetch_add(&last, 1, __ATOMIC_SEQ_CST) + 1;
    return mine;
}

/* Programs below SHMEM_THREAD_MULTIPLE promise that their threads are never here at once. */
static void holds_lock(void)
{
    if (stp_thread_level() == SHMEM_THREAD_MULTIPLE) pthread_mutex_lock(&holds.lock);
}

static void holds_unlock(void)
{
    if (stp_thread_level() == SHMEM_THREAD_MULTIPLE) pthread_mutex_unlock(&holds.lock);
}

/* The link that leads to the hold of lock, or to where it would stand. */
static struct lock_hold **hold_find(const long *lock)
{
    uintptr_t hash = (uintptr_t)lock / sizeof(*lock);
    struct lock_hold **link = &holds.buckets[(hash ^ hash >> 6) % LOCK_BUCKETS];

    while (*link != NULL && (*link)->lock != lock)
        link = &(*link)->next;
    return link;
}

/* A hold with one ticket given out, this thread's, whose turn it is. */
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

/* Another thread of this PE was first: wait for the turn of ticket. */
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

/* Wait for this thread's turn with the lock. */
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
        /* Pairs with nothing: owner is compared under holds.lock, and held is cleared under it. */
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

/* The same without waiting: NULL when this PE holds the lock or waits for it. */
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
 * The hold of a lock that this PE holds, which is this thread's to clear from here on: of several
 * that clear at once one gets it. It stays in the queue until hold_leave(), so nobody's turn comes
 * before. NULL when the PE does not hold the lock.
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

/* No longer held: let the next thread have its turn; forget the lock when there is none. */
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
 * The PE whose word holds the tail: one of those that have the lock's memory. A hash, since locks
 * often stand at strides that are powers of two. Fatal when the lock is no symmetric long.
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

/* An atomic on half a lock's word of PE pe; fetches unless result is NULL. */
static void lock_amo(enum stp_fabric_amo op, uint32_t *word, uint32_t operand, uint32_t compare,
                     uint32_t *result, int pe, const char *fn)
{
    void *there = stp_ptr_inline(word, pe, STP_USE_ATOMIC);

    /*
     * A PE that finds this PE in the queue writes to its word, after what this PE wrote there
     * before. Pairs with the acquire of the atomic on that PE, or of its lock_mine().
     */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    if (STP_LIKELY(there != NULL))
        stp_amo_apply(there, sizeof(*word), op, &operand, &compare, result);
    else
        stp_amo_slow(&stp_ctx_coll, op, STP_U32, word, &operand, &compare, result, false, pe, fn);
}

/* This PE's own half; acquires. */
static uint32_t lock_mine(const struct lock_word *word)
{
    uint32_t mine;

    /* Pairs with the fence in lock_amo() of the PE that wrote the word. */
    if (STP_LIKELY(!stp_win.devices)) return __atomic_load_n(&word->mine, __ATOMIC_ACQUIRE);
    stp_load_slow(&mine, &word->mine, sizeof(mine));
    return mine;
}

/*
 * Wait until a bit of mask is set in this PE's own half. before: who has to set it, -1: whoever
 * comes next.
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

/* The tail as it was found: a PE's number or 0, or else the word was never cleared. */
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
 * Nobody writes this PE's half once the tail is free, or once both its parts have arrived; so it
 * is cleared then, for good before this PE can queue again.
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
    stp_wait_after_failed_test(); /* a program may test in a loop */
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
