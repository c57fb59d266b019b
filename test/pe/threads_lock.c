/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks beside threads: thread t of every PE contends for lock t, in the heap and among the
 * globals, while the other threads hold theirs. What a lock guards is read and written without
 * atomics, so that two holders at once would lose an update.
 */
#include "pe_data.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 48 };

static long locks[THREADS], *heap_locks, *sums;

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

int main(void)
{
    pthread_t thread[THREADS];
    int provided = -1;

    PE_CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
    pe_test_attach();
    if (provided < SHMEM_THREAD_MULTIPLE) {
        pe_test_skip("the library does not provide SHMEM_THREAD_MULTIPLE");
        return pe_test_end();
    }
    heap_locks = shmem_calloc(THREADS, sizeof(*heap_locks));
    sums = shmem_calloc((size_t)2 * THREADS, sizeof(*sums));
    PE_REQUIRE(heap_locks && sums, "calloc failed");
    (void)pe_rounds(1); /* it looks up once what threads then read */
    for (long i = 0; i < THREADS; i++)
        PE_REQUIRE(pthread_create(&thread[i], NULL, contend, (void *)i) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    shmem_barrier_all();
    for (int i = 0; i < 2 * THREADS; i++)
        PE_CHECK_EQ(shmem_long_g(&sums[i], 0), (long)pe_n * pe_rounds(ROUNDS));
    return pe_test_end();
}
