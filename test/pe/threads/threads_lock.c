/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks locks with several threads (OpenSHMEM 1.6, section 9.13): thread t of every PE takes lock
 * t, in the heap and in globals, while other threads hold other locks; two holders at once would
 * lose an update. A lock stays held after the thread that set it has ended, and another thread of
 * the PE then waits for it.
 */
#include "pe_threads.h"

#include <sched.h>
#include <stdatomic.h>

enum { THREADS = 4, ROUNDS = 48 };

static long locks[THREADS], *heap_locks, *sums, *own_locks;
static atomic_bool waiter_came, waiter_got;

/* Add one to sum t of PE 0 under the lock. */
static void update(long *lock, long *sum, bool try_first)
{
    if (!try_first || shmem_test_lock(lock) != 0) shmem_set_lock(lock);
    shmem_long_p(sum, shmem_long_g(sum, 0) + 1, 0);
    shmem_clear_lock(lock);
}

static void *contend(void *arg)
{
    long id = (long)arg;

    for (int round = 0; round < pe_rounds(ROUNDS); round++) {
        update(&locks[id], &sums[id], round % 3 == 0);
        update(&heap_locks[id], &sums[THREADS + id], round % 3 == 1);
    }
    return NULL;
}

static void *set_and_end(void *arg)
{
    shmem_set_lock(arg);
    return NULL;
}

static void *set_and_clear(void *arg)
{
    atomic_store(&waiter_came, true);
    shmem_set_lock(arg);
    atomic_store(&waiter_got, true);
    shmem_clear_lock(arg);
    return NULL;
}

/* Each PE with a lock of its own: what its threads do is not the others' business. */
static void outlive(long *lock)
{
    pthread_t thread;

    pthread_join(pe_thread(set_and_end, lock), NULL);
    thread = pe_thread(set_and_clear, lock);
    while (!atomic_load(&waiter_came))
        sched_yield();
    /* Long enough for it to be in the call, mostly. */
    for (int i = 0; i < 1000; i++) {
        PE_CHECK(!atomic_load(&waiter_got),
                 "set_lock returned in a thread although the PE still holds the lock");
        sched_yield();
    }
    shmem_clear_lock(lock);
    pthread_join(thread, NULL);
    PE_CHECK(atomic_load(&waiter_got), "the waiting thread did not get the lock after clear_lock");
    PE_CHECK_EQ(shmem_test_lock(lock), 0);
    shmem_clear_lock(lock);
}

int main(void)
{
    if (!pe_threads_begin()) return pe_test_end();
    heap_locks = pe_calloc(THREADS, sizeof(*heap_locks));
    sums = pe_calloc((size_t)2 * THREADS, sizeof(*sums));
    own_locks = pe_calloc((size_t)pe_n, sizeof(*own_locks));
    pe_run_threads(THREADS, contend);
    shmem_barrier_all();
    for (int i = 0; i < 2 * THREADS; i++)
        PE_CHECK_EQ(shmem_long_g(&sums[i], 0), (long)pe_n * pe_rounds(ROUNDS));
    outlive(&own_locks[pe_me]);
    return pe_test_end();
}
