/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The halves of stp_lock that a single-threaded program never reaches.
 * Not recursive, not fair. Design: docs/design/base.md.
 */
#include "base/base.h"

#include <sched.h>

/* Reads of a taken lock before its waiter gives the core away: a few hundred nanoseconds. */
#define SPIN_READS 64

void stp_lock_init(struct stp_lock *lock, enum stp_lock_kind kind)
{
    lock->kind = kind;
    atomic_init(&lock->word, 0);
    pthread_mutex_init(&lock->mutex, NULL);
}

void stp_lock_fini(struct stp_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

static void spin_acquire(atomic_int *word)
{
    int reads = 0;

    /* acquire: pairs with the release store in stp_lock_release_slow() */
    while (atomic_exchange_explicit(word, 1, memory_order_acquire) != 0) {
        /* Wait by reading: the line stays shared until the holder lets go. */
        while (atomic_load_explicit(word, memory_order_relaxed) != 0) {
            if (++reads < SPIN_READS)
                stp_cpu_relax();
            else
                sched_yield();
        }
    }
}

void stp_lock_acquire_slow(struct stp_lock *lock)
{
    if (lock->kind == STP_LOCK_SPIN)
        spin_acquire(&lock->word);
    else if (lock->kind == STP_LOCK_MUTEX)
        pthread_mutex_lock(&lock->mutex);
}

void stp_lock_release_slow(struct stp_lock *lock)
{
    /* release: pairs with the acquire exchange of the next holder */
    if (lock->kind == STP_LOCK_SPIN)
        atomic_store_explicit(&lock->word, 0, memory_order_release);
    else if (lock->kind == STP_LOCK_MUTEX)
        pthread_mutex_unlock(&lock->mutex);
}
