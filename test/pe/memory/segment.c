/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that moving globals to shared memory keeps their initial values, also in pages that were
 * never touched, and that a forked child sees the puts of peers from before the fork. Also forks
 * in three threads at the same time.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pe_test.h"

#define N (1 << 20)

/* Mostly zeros, and longer than anything that start-up reads by accident. */
static int table[N] = {[0] = 1, [N / 3] = 5, [N / 2] = 7, [N - 1] = 9};
static int from_peer[N]; /* bss */
static long small = 42;

static void check_initial_values(void)
{
    long sum = 0;

    for (int i = 0; i < N; i++)
        sum += table[i];
    PE_CHECK_EQ(table[0], 1);
    PE_CHECK_EQ(table[N / 3], 5);
    PE_CHECK_EQ(table[N / 2], 7);
    PE_CHECK_EQ(table[N - 1], 9);
    PE_CHECK_EQ(sum, 22);
    PE_CHECK_EQ(small, 42);
}

/* This PE has not touched the pages that its neighbour writes. */
static void check_child_sees_puts(void)
{
    int status = -1;
    pid_t child;

    shmem_barrier_all(); /* everyone has seen the values it started with */
    shmem_int_p(&from_peer[N / 2], 42, (pe_me + 1) % pe_n);
    shmem_int_p(&table[N / 4], 43, (pe_me + 1) % pe_n);
    shmem_barrier_all();
    child = fork();
    PE_REQUIRE(child >= 0, "fork() failed");
    if (child == 0)
        _exit(from_peer[N / 2] == 42 && table[N / 4] == 43 && table[N / 3] == 5 ? 0 : 1);
    waitpid(child, &status, 0);
    PE_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0,
             "the child does not have the globals that peers put before the fork");
    PE_CHECK_EQ(from_peer[N / 2], 42);
}

/* Threads that fork at the same time: each child has the values, and nobody loses a copy. */
static void *fork_often(void *arg)
{
    int *failures = arg;

    for (int i = 0; i < 20; i++) {
        int status = -1;
        pid_t child = fork();

        if (child == 0) _exit(table[N / 2] == 7 && from_peer[N / 2] == 42 ? 0 : 1);
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) ++*failures;
    }
    return NULL;
}

static void check_threads_fork(void)
{
    pthread_t threads[3];
    int failures[3] = {0};

    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, fork_often, &failures[i]);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        PE_CHECK_EQ(failures[i], 0);
    }
}

int main(void)
{
    pe_test_begin();
    check_initial_values();
    check_child_sees_puts();
    check_threads_fork();
    return pe_test_end();
}
