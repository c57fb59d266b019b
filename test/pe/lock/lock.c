/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks locks (OpenSHMEM 1.6, section 9.13): mutual exclusion, order of service, test_lock,
 * visibility of what a holder wrote to the next holder, many locks in heap and globals, locks of
 * several threads of a PE, and a lock after finalize and init. The order check needs four PEs and
 * reads the library's private words in the lock.
 */
#include "pe_threads.h"

#include <unistd.h>

enum { N_DATA = 64, ROUNDS = 60, N_LOCKS = 37, LOG = 256 };

static long global_lock;
static long global_locks[N_LOCKS];
static long shared_sum;    /* on PE 0, guarded by a lock: changed by load and store alone */
static long sums[N_LOCKS]; /* on the last PE */
static long log_length;    /* on PE 0, likewise */
static long log_of[LOG];
static long go;           /* number of the turn on which this PE may queue */
static long data[N_DATA]; /* on every PE: a pattern that changes under the lock */

/* Read, wait a little, write: two holders at once lose counts. */
static void count_one(long *counter, int pe)
{
    long value = shmem_long_g(counter, pe);

    if (value % 7 == 0) sched_yield();
    shmem_long_p(counter, value + 1, pe);
}

static void check_exclusion(long *lock, const char *what)
{
    long before = shmem_long_g(&shared_sum, 0);

    shmem_barrier_all();
    for (int i = 0; i < ROUNDS; i++) {
        shmem_set_lock(lock);
        count_one(&shared_sum, 0);
        shmem_clear_lock(lock);
    }
    shmem_barrier_all();
    PE_CHECK(shmem_long_g(&shared_sum, 0) - before == (long)ROUNDS * pe_n,
             "%s: %ld increments under the lock were counted, expected %ld", what,
             shmem_long_g(&shared_sum, 0) - before, (long)ROUNDS * pe_n);
    PE_CHECK_EQ(*lock, 0);
    shmem_barrier_all();
}

/* Half of the PEs take the lock by test_lock: returns 0 with it, 1 without, never waits. */
static void check_test_lock(long *lock)
{
    long before = shmem_long_g(&shared_sum, 0);

    shmem_barrier_all();
    for (int i = 0; i < ROUNDS; i++) {
        if ((pe_me + i) % 2) {
            shmem_set_lock(lock);
        } else {
            int got;
            while ((got = shmem_test_lock(lock)) != 0)
                PE_CHECK_EQ(got, 1);
        }
        count_one(&shared_sum, 0);
        shmem_clear_lock(lock);
    }
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_long_g(&shared_sum, 0) - before, (long)ROUNDS * pe_n);
    shmem_barrier_all();
    if (pe_me == 0) PE_CHECK_EQ(shmem_test_lock(lock), 0);
    shmem_barrier_all();
    if (pe_me != 0) PE_CHECK_EQ(shmem_test_lock(lock), 1);
    shmem_barrier_all();
    if (pe_me == 0) shmem_clear_lock(lock);
    shmem_barrier_all();
}

/*
 * How many PEs stand in a lock's queue with another one behind them. This is the library's own
 * affair (docs/design/teams.md: the upper half of a PE's word), but nothing else tells who waits.
 */
static int n_followed(const long *lock)
{
    int n = 0;

    for (int pe = 0; pe < pe_n; pe++)
        n += ((unsigned long)shmem_long_g(lock, pe) >> 32 & 0x7fffffff) != 0;
    return n;
}

static void append_me(void)
{
    long at = shmem_long_g(&log_length, 0);

    shmem_long_p(&log_of[at], pe_me, 0);
    shmem_long_p(&log_length, at + 1, 0);
}

/*
 * PE 0 holds the lock and lets the others come one by one, each once the one before is seen to
 * wait; they must be served in that order, though the last PE tries by test_lock all the time.
 */
static void check_order(long *lock, int shift)
{
    int n_waiters = pe_n - 2, n = pe_n;

    if (n_waiters < 2) return;
    if (pe_me == 0) shmem_set_lock(lock);
    log_length = 0;
    go = 0;
    shmem_barrier_all();
    if (pe_me == 0) {
        for (int i = 0; i < n_waiters; i++) {
            shmem_long_atomic_set(&go, 1, 1 + (i * shift + 1) % n_waiters);
            while (n_followed(lock) != i + 1)
                sched_yield();
        }
        shmem_long_atomic_set(&go, 1, n - 1);
        shmem_clear_lock(lock);
    } else {
        if (pe_me < n - 1) {
            shmem_long_wait_until(&go, SHMEM_CMP_EQ, 1);
            shmem_set_lock(lock);
        } else {
            while (shmem_test_lock(lock) != 0) {
            }
            PE_CHECK(go == 1 && shmem_long_g(&log_length, 0) == n_waiters,
                     "test_lock took the lock before %ld PEs that waited in set_lock",
                     n_waiters - shmem_long_g(&log_length, 0));
        }
        append_me();
        shmem_clear_lock(lock);
    }
    shmem_barrier_all();
    for (int i = 0; i < n_waiters; i++)
        PE_CHECK_EQ(shmem_long_g(&log_of[i], 0), 1 + (i * shift + 1) % n_waiters);
    shmem_barrier_all();
}

/* clear_lock completes what the holder put, also to third PEs. */
static void check_visible(long *lock)
{
    long mine[N_DATA], got[N_DATA];

    for (int i = 0; i < ROUNDS; i++) {
        int pe = i % pe_n;
        shmem_set_lock(lock);
        shmem_long_get(got, data, N_DATA, pe);
        for (int k = 1; k < N_DATA; k++)
            PE_CHECK(got[k] == got[0] + k * (got[0] != 0),
                     "data of the last holder is not complete: word %d is %ld, word 0 is %ld", k,
                     got[k], got[0]);
        for (int k = 0; k < N_DATA; k++)
            mine[k] = pe_me * 1000 + i + 1 + k;
        shmem_long_put_nbi(data, mine, N_DATA, pe);
        shmem_clear_lock(lock);
    }
    shmem_barrier_all();
}

/* Locks side by side, two at a time in a fixed order. */
static void check_many(long *locks)
{
    int keeper = pe_n - 1;

    for (int i = 0; i < N_LOCKS; i++)
        sums[i] = 0;
    shmem_barrier_all();
    for (int i = 0; i < 2 * N_LOCKS; i++) {
        int a = (i * 5 + pe_me) % (N_LOCKS - 1), b = a + 1;
        shmem_set_lock(&locks[a]);
        shmem_set_lock(&locks[b]);
        count_one(&sums[a], keeper);
        count_one(&sums[b], keeper);
        shmem_clear_lock(&locks[a]);
        shmem_clear_lock(&locks[b]);
    }
    shmem_barrier_all();
    if (pe_me == keeper) {
        long all = 0;
        for (int i = 0; i < N_LOCKS; i++)
            all += sums[i];
        PE_CHECK_EQ(all, 4L * N_LOCKS * pe_n);
    }
    for (int i = 0; i < N_LOCKS; i++)
        PE_CHECK_EQ(locks[i], 0);
    shmem_barrier_all();
}

static void *thread_rounds(void *arg)
{
    for (int i = 0; i < ROUNDS / 4; i++) {
        shmem_set_lock(arg);
        count_one(&shared_sum, 0);
        shmem_clear_lock(arg);
    }
    return NULL;
}

/* Threads of a PE take turns, also when all want the same lock. */
static void check_threads(long *lock)
{
    enum { N_THREADS = 4 };
    pthread_t threads[N_THREADS];
    long before = shmem_long_g(&shared_sum, 0);

    shmem_barrier_all();
    for (int i = 0; i < N_THREADS; i++)
        threads[i] = pe_thread(thread_rounds, lock);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_long_g(&shared_sum, 0) - before, (long)N_THREADS * (ROUNDS / 4) * pe_n);
    shmem_barrier_all();
}

static void *clear_it(void *arg)
{
    shmem_clear_lock(arg);
    return NULL;
}

/* The owner is the PE: another thread of it may clear the lock. */
static void check_owner(long *lock)
{
    shmem_set_lock(lock);
    pthread_join(pe_thread(clear_it, lock), NULL);
    shmem_set_lock(lock);
    shmem_clear_lock(lock);
    shmem_barrier_all();
}

static void check_all(bool threads)
{
    long *locks = pe_calloc(N_LOCKS, sizeof(*locks));

    check_exclusion(&global_lock, "a global lock");
    check_exclusion(&locks[3], "a lock on the heap");
    for (int i = 0; i < 3; i++)
        check_test_lock(&locks[i]);
    for (int shift = 1; shift < 4; shift++)
        if (pe_n < 3 || (pe_n - 2) % shift != 0 || shift == 1) check_order(&locks[shift], shift);
    check_visible(&locks[9]);
    check_many(global_locks);
    check_many(locks);
    if (threads) {
        check_threads(&locks[20]);
        check_owner(&global_lock);
    }
    shmem_free(locks);
}

int main(void)
{
    int level, status;

    PE_REQUIRE(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level) == 0, "shmem_init_thread failed");
    pe_test_attach();
    check_all(level == SHMEM_THREAD_MULTIPLE);
    status = pe_test_end();
    pe_test_begin();
    check_exclusion(&global_lock, "a global lock, second life");
    return status | pe_test_end();
}
