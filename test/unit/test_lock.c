/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks keep threads apart, the clock goes forward, and a wait spins as often as it is told.
 */
#include "base/base.h"

#include <check.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define N_THREADS 4
#define N_ROUNDS 20000

/* What the lock guards: plain memory, so that a lock that lets two in loses counts. */
static struct {
    struct stp_lock lock;
    volatile long count;
    atomic_int inside;
    atomic_int collisions;
} guarded;

static void *count_up(void *arg)
{
    (void)arg;
    for (int i = 0; i < N_ROUNDS; i++) {
        long count;

        stp_lock_acquire(&guarded.lock);
        if (atomic_fetch_add(&guarded.inside, 1) != 0) atomic_fetch_add(&guarded.collisions, 1);
        count = guarded.count;
        /* Now and then hand the core over in the middle, where a broken lock is found out. */
        if (i % 64 == 0) sched_yield();
        guarded.count = count + 1;
        atomic_fetch_sub(&guarded.inside, 1);
        stp_lock_release(&guarded.lock);
    }
    return NULL;
}

static void check_exclusion(enum stp_lock_kind kind)
{
    pthread_t threads[N_THREADS];

    guarded.count = 0;
    atomic_store(&guarded.inside, 0);
    atomic_store(&guarded.collisions, 0);
    stp_lock_init(&guarded.lock, kind);
    for (int i = 0; i < N_THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, count_up, NULL), 0);
    for (int i = 0; i < N_THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    stp_lock_fini(&guarded.lock);
    ck_assert_int_eq(atomic_load(&guarded.collisions), 0);
    ck_assert_int_eq(guarded.count, (long)N_THREADS * N_ROUNDS);
}

START_TEST(spin_excludes)
{
    check_exclusion(STP_LOCK_SPIN);
}
END_TEST

START_TEST(mutex_excludes)
{
    check_exclusion(STP_LOCK_MUTEX);
}
END_TEST

/* One thread, so no lock: taking it twice must neither block nor be remembered. */
START_TEST(none_costs_nothing)
{
    struct stp_lock lock;

    stp_lock_init(&lock, STP_LOCK_NONE);
    stp_lock_acquire(&lock);
    stp_lock_acquire(&lock);
    stp_lock_release(&lock);
    ck_assert_int_eq(atomic_load(&lock.word), 0);
    stp_lock_fini(&lock);
}
END_TEST

START_TEST(lock_after_lock)
{
    static const enum stp_lock_kind kinds[] = {STP_LOCK_SPIN, STP_LOCK_MUTEX};

    for (size_t i = 0; i < STP_COUNT(kinds); i++) {
        struct stp_lock lock;

        stp_lock_init(&lock, kinds[i]);
        for (int round = 0; round < 1000; round++) {
            stp_lock_acquire(&lock);
            stp_lock_release(&lock);
        }
        stp_lock_fini(&lock);
    }
}
END_TEST

START_TEST(clock_is_the_monotonic_one)
{
    struct timespec ts;
    uint64_t before = stp_now_ns();
    uint64_t between;
    uint64_t after;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    between = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
    after = stp_now_ns();
    ck_assert_uint_le(before, between);
    ck_assert_uint_le(between, after);
}
END_TEST

START_TEST(wait_spins_as_often_as_told)
{
    struct stp_wait wait = {0};

    ck_assert_int_gt(stp_wait_spin, 0);
    stp_wait_spin = 3;
    for (int i = 1; i <= 10; i++) {
        stp_wait_step(&wait);
        ck_assert_int_eq(wait.polls, i < 3 ? i : 3);
    }
    stp_wait_spin = 0;
    wait = (struct stp_wait){0};
    stp_wait_step(&wait);
    ck_assert_int_eq(wait.polls, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lock");
    TCase *tcase = tcase_create("lock");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, spin_excludes);
    tcase_add_test(tcase, mutex_excludes);
    tcase_add_test(tcase, none_costs_nothing);
    tcase_add_test(tcase, lock_after_lock);
    tcase_add_test(tcase, clock_is_the_monotonic_one);
    tcase_add_test(tcase, wait_spins_as_often_as_told);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
