/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements locks as queues of Mellor-Crummey and Scott (MCS). The members of a queue are PEs. A
 * PE that joins the queue writes its number to the lock word of the PE before it. Each PE that
 * waits polls its own memory. PEs get the lock in the order of arrival. At most one thread of each
 * PE is in the queue. Other threads of the same PE wait inside their process until that thread has
 * released the lock. Design: docs/design/teams.md.
 */
#include "rma.h"

#include <stdlib.h>

/*
 * Contents of the long that the program passes as a lock. The long is 0 on all PEs while no PE uses
 * the lock. The fields contain PE numbers plus 1, because 0 means that there is no PE. The field
 * tail is used only on the home PE of the lock. The field next_and_grant is used on every PE.
 */
struct lock_word {
    uint32_t tail; /* 1 + number of the last PE in the queue, or 0 if the lock is free */
    /*
     * Sum of up to two values, which other PEs add. The next PE in the queue adds its number plus
     * 1. The PE that hands over the lock to this PE adds LOCK_GRANTED.
     */
    uint32_t next_and_grant;
};

#define LOCK_GRANTED UINT32_C(0x80000000)

_Static_assert(sizeof(struct lock_word) == sizeof(long), "the state of a lock fits its long");

/* ---- order of this PE's threads -------------------------------------------- */

/*
 * Record of a lock that this PE holds or waits for. Each thread takes a ticket, which is a number,
 * and waits until the field now_serving equals its ticket. holds.lock guards all fields, except as
 * noted.
 */
struct lock_hold {
    struct lock_hold *next;
    const long *lock;
    unsigned next_ticket; /* number of tickets that threads have taken */
    /* Ticket whose thread may use the lock now. Also read without holds.lock. */
    unsigned now_serving;
    bool held;      /* whether this PE holds the lock; also written without holds.lock */
    uint64_t owner; /* thread_number() of the thread with the ticket now_serving */
};

#define LOCK_BUCKETS 64

static struct {
    /* Guards all holds. Taken only if the thread level is SHMEM_THREAD_MULTIPLE. */
    pthread_mutex_t lock;
    struct lock_hold *buckets[LOCK_BUCKETS];
    struct lock_hold *spare; /* one freed hold that can be used again, or NULL */
} holds = {.lock = PTHREAD_MUTEX_INITIALIZER};

/*
 * Returns the number of this thread, which is at least 1. No other thread ever gets the same
 * number, whereas a pthread_t can be reused.
 */
static uint64_t thread_number(void)
{
    static _Thread_local uint64_t number;
    static uint64_t last;

    /* This addition pairs with no other atomic, because it only makes each number unique. */
    if (STP_UNLIKELY(number == 0)) number = __atomic_fetch_add(&last, 1, __ATOMIC_SEQ_CST) + 1;
    return number;
}

/* Locks holds.lock at SHMEM_THREAD_MULTIPLE only. At other levels the program serializes calls. */
static void holds_lock(void)
{
    if (stp_thread_level() == SHMEM_THREAD_MULTIPLE) pthread_mutex_lock(&holds.lock);
}

static void holds_unlock(void)
{
    if (stp_thread_level() == SHMEM_THREAD_MULTIPLE) pthread_mutex_unlock(&holds.lock);
}

/*
 * Returns the address of the list pointer that points to the hold of the lock. If the lock has no
 * hold, returns the address of the NULL pointer at the end of the list. A new hold can be inserted
 * there.
 */
static struct lock_hold **hold_find(const long *lock)
{
    uintptr_t hash = (uintptr_t)lock / sizeof(*lock);
    struct lock_hold **link = &holds.buckets[(hash ^ hash >> 6) % LOCK_BUCKETS];

    while (*link != NULL && (*link)->lock != lock)
        link = &(*link)->next;
    return link;
}

/* Adds a hold for a lock that has none. This thread gets ticket 0, for which it need not wait. */
static struct lock_hold *hold_add(struct lock_hold **link, const long *lock, const char *fn)
{
    struct lock_hold *hold = holds.spare != NULL ? holds.spare : malloc(sizeof(*hold));

    if (hold == NULL)
        stp_fatal(fn, "out of memory: cannot allocate the state of lock %p", (void *)lock);
    holds.spare = NULL;
    *hold = (struct lock_hold){.lock = lock, .next_ticket = 1, .owner = thread_number()};
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

static STP_COLD void lock_show(const char *fn, const void *lock, int pe)
{
    stp_wait_publish_subject(
        &(struct stp_wait_subject){.kind = STP_WAIT_LOCK, .fn = fn, .addr = lock, .pe = pe});
}

/*
 * Waits until hold->now_serving equals this thread's ticket. Called if another thread of this PE
 * took a ticket for the lock earlier.
 */
static void hold_wait(struct lock_hold *hold, unsigned ticket, const char *fn)
{
    struct stp_wait wait = {0};

    /* Pairs with the release store in hold_leave(). */
    while (__atomic_load_n(&hold->now_serving, __ATOMIC_ACQUIRE) != ticket)
        if (STP_UNLIKELY(stp_wait_idle_once(&wait))) lock_show(fn, hold->lock, stp_rt.pe);
    stp_wait_end(&wait);
    holds_lock();
    hold->owner = thread_number();
    holds_unlock();
}

/*
 * Takes a ticket for the lock and waits until hold->now_serving equals the ticket. Returns the
 * hold. Fatal if this thread holds the lock already.
 */
static struct lock_hold *hold_enter(const long *lock, const char *fn)
{
    struct lock_hold **link, *hold;
    unsigned ticket = 0;
    bool reentrant = false;

    holds_lock();
    link = hold_find(lock);
    hold = *link;
    if (hold == NULL) {
        hold = hold_add(link, lock, fn);
    } else {
        /*
         * This load pairs with no other atomic. If owner is the number of this thread, only this
         * thread can have set held to true. holds.lock guards owner and the change of held to
         * false.
         */
        reentrant =
            __atomic_load_n(&hold->held, __ATOMIC_SEQ_CST) && hold->owner == thread_number();
        ticket = hold->next_ticket++;
    }
    holds_unlock();
    if (reentrant)
        stp_fatal(fn,
                  "this thread already holds lock %p, and locks are not reentrant: call "
                  "shmem_clear_lock first",
                  (void *)lock);
    if (ticket != 0) hold_wait(hold, ticket, fn);
    return hold;
}

/* As hold_enter(), but returns NULL if a thread of this PE holds the lock or waits for it. */
static struct lock_hold *hold_try(const long *lock, const char *fn)
{
    struct lock_hold **link, *hold = NULL;

    holds_lock();
    link = hold_find(lock);
    if (*link == NULL) hold = hold_add(link, lock, fn);
    holds_unlock();
    return hold;
}

static void hold_mark_held(struct lock_hold *hold)
{
    __atomic_store_n(&hold->held, true, __ATOMIC_RELAXED);
}

/*
 * Returns the hold of a lock and sets its field held to false. Returns NULL if this PE does not
 * hold the lock. If several threads clear the lock at once, only one of them gets the hold. Threads
 * that wait for their tickets continue only after hold_leave().
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

/* Lets the next waiting thread of this PE continue, or deletes the hold if no thread waits. */
static void hold_leave(struct lock_hold *hold)
{
    unsigned next = hold->now_serving + 1;

    holds_lock();
    if (hold->next_ticket == next)
        hold_delete(hold_find(hold->lock));
    else
        /* Pairs with the acquire load in hold_wait(). */
        __atomic_store_n(&hold->now_serving, next, __ATOMIC_RELEASE);
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
 * Returns the home PE of the lock, which is the only PE whose field tail is used. The home PE is a
 * member of the space that contains the lock. A hash of the lock's offset selects the home PE.
 * Without the hash, locks whose offsets are multiples of a power of two could all have the same
 * home PE. Fatal if lock is not an aligned symmetric long.
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

/*
 * Performs an atomic on *word of PE pe, which is the field tail or next_and_grant of a lock. Sets
 * *result to the old value of the field, unless result is NULL.
 */
static void lock_amo(enum stp_fabric_amo op, uint32_t *word, uint32_t operand, uint32_t compare,
                     uint32_t *result, int pe, const char *fn)
{
    void *peer_ptr = stp_ptr_inline(word, pe, STP_USE_ATOMIC);

    /*
     * Order this PE's earlier writes before the atomic. After the atomic, another PE can find this
     * PE in the queue and write to this PE's field next_and_grant. Pairs with the acquire of the
     * other PE's atomic, or with the acquire in lock_load_next_and_grant() of the other PE.
     */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    if (STP_LIKELY(peer_ptr != NULL))
        stp_amo_apply(peer_ptr, sizeof(*word), op, &operand, &compare, result);
    else
        stp_amo_slow(&stp_ctx_coll, op, STP_U32, word, &operand, &compare, result, false, pe, fn);
}

/* Loads this PE's field next_and_grant of the lock with acquire order. */
static uint32_t lock_load_next_and_grant(const struct lock_word *word)
{
    uint32_t value;

    /* Pairs with the fence in lock_amo() of the PE that wrote the word. */
    if (STP_LIKELY(!stp_win.devices))
        return __atomic_load_n(&word->next_and_grant, __ATOMIC_ACQUIRE);
    stp_load_slow(&value, &word->next_and_grant, sizeof(value));
    return value;
}

/*
 * Waits until at least one bit of mask is set in this PE's field next_and_grant. Returns the value
 * of the field. The parameter awaited_pe is the number of the PE that will set the bit. Reports of
 * long waits show this number. The parameter is -1 if the next PE in the queue will set the bit,
 * because the number of the next PE is not known yet.
 */
static uint32_t lock_wait(const struct lock_word *word, uint32_t mask, int awaited_pe,
                          const char *fn)
{
    struct stp_wait wait = {0};
    uint32_t value = lock_load_next_and_grant(word);

    while ((value & mask) == 0) {
        if (STP_UNLIKELY(stp_wait_idle_once(&wait))) lock_show(fn, word, awaited_pe);
        value = lock_load_next_and_grant(word);
    }
    stp_wait_end(&wait);
    return value;
}

/* ---- the queue ----------------------------------------------------------------- */

/*
 * Ends the job if no lock routine can have written the value tail. In this case the program did not
 * set the lock to 0 before its first use.
 */
static void lock_check_tail(const struct lock_word *word, uint32_t tail, const char *fn)
{
    if (STP_UNLIKELY(tail > (uint32_t)stp_rt.n_pes))
        stp_fatal(fn,
                  "lock %p has a value that no lock routine wrote: set the lock to 0 on all PEs "
                  "before its first use",
                  (void *)word);
}

static void lock_queue(struct lock_word *word, int home, const char *fn)
{
    uint32_t my_id = (uint32_t)stp_rt.pe + 1, prev_id;

    lock_amo(STP_AMO_SWAP, &word->tail, my_id, 0, &prev_id, home, fn);
    if (prev_id == 0) return;
    lock_check_tail(word, prev_id, fn);
    lock_amo(STP_AMO_ADD, &word->next_and_grant, my_id, 0, NULL, (int)prev_id - 1, fn);
    (void)lock_wait(word, LOCK_GRANTED, (int)prev_id - 1, fn);
}

/*
 * Passes the lock to the next PE in the queue. If no PE is next, sets tail to 0. Also sets this
 * PE's field next_and_grant to 0 when no other PE can still write to this field. If tail was set to
 * 0, no PE is next, so no PE writes to the field. If the next PE has added its number, no other
 * write follows, because no PE adds LOCK_GRANTED while this PE holds the lock.
 */
static void lock_pass(struct lock_word *word, int home, const char *fn)
{
    uint32_t my_id = (uint32_t)stp_rt.pe + 1,
             next_id = lock_load_next_and_grant(word) & ~LOCK_GRANTED, old = my_id;
    bool used = lock_load_next_and_grant(word) != 0;

    if (next_id == 0) lock_amo(STP_AMO_CSWAP, &word->tail, 0, my_id, &old, home, fn);
    if (old != my_id) next_id = lock_wait(word, ~LOCK_GRANTED, -1, fn) & ~LOCK_GRANTED;
    if (used || next_id != 0)
        lock_amo(STP_AMO_SWAP, &word->next_and_grant, 0, 0, &old, stp_rt.pe, fn);
    if (next_id != 0)
        lock_amo(STP_AMO_ADD, &word->next_and_grant, LOCK_GRANTED, 0, NULL, (int)next_id - 1, fn);
}

void pshmem_set_lock(long *lock)
{
    int home = lock_home(lock, __func__);
    struct lock_hold *hold = hold_enter(lock, __func__);

    lock_queue((struct lock_word *)lock, home, __func__);
    hold_mark_held(hold);
    stp_remote_flush();
}
STP_PROFILED(shmem_set_lock);

int pshmem_test_lock(long *lock)
{
    struct lock_word *word = (struct lock_word *)lock;
    int home = lock_home(lock, __func__);
    struct lock_hold *hold = hold_try(lock, __func__);
    uint32_t old = 0;

    if (hold != NULL)
        lock_amo(STP_AMO_CSWAP, &word->tail, (uint32_t)stp_rt.pe + 1, 0, &old, home, __func__);
    lock_check_tail(word, old, __func__);
    if (hold != NULL && old == 0) {
        hold_mark_held(hold);
        stp_remote_flush();
        return 0;
    }
    if (hold != NULL) hold_leave(hold);
    stp_wait_after_failed_test(); /* a program may call this routine in a loop */
    return 1;
}
STP_PROFILED(shmem_test_lock);

void pshmem_clear_lock(long *lock)
{
    int home = lock_home(lock, __func__);
    struct lock_hold *hold = hold_claim(lock);

    if (hold == NULL)
        stp_fatal(__func__,
                  "this PE does not hold lock %p: call shmem_set_lock first, or shmem_test_lock "
                  "until it returns 0",
                  (void *)lock);
    stp_quiet(&stp_ctx_default);
    lock_pass((struct lock_word *)lock, home, __func__);
    hold_leave(hold);
}
STP_PROFILED(shmem_clear_lock);
