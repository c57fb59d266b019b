/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by tests with several threads of a PE inside the library: initialization with
 * SHMEM_THREAD_MULTIPLE, and functions that run a body in one or several threads.
 */
#ifndef STEPPE_TEST_PE_THREADS_H
#define STEPPE_TEST_PE_THREADS_H

#include "pe_data.h"

#include <pthread.h>

enum { PE_MAX_THREADS = 4 };

/* Begins the test with SHMEM_THREAD_MULTIPLE. Returns false, and skips the test, without it. */
static inline bool pe_threads_begin(void)
{
    int provided = -1;

    PE_CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
    pe_test_attach();
    (void)pe_rounds(1); /* it looks up once what threads then read */
    if (provided == SHMEM_THREAD_MULTIPLE) return true;
    pe_test_skip("the library does not provide SHMEM_THREAD_MULTIPLE");
    return false;
}

static inline pthread_t pe_thread(void *(*body)(void *arg), void *arg)
{
    pthread_t thread;

    PE_REQUIRE(pthread_create(&thread, NULL, body, arg) == 0, "pthread_create failed");
    return thread;
}

/* Runs body in n threads at once, each with its number from 0, until all have ended. */
static inline void pe_run_threads(int n, void *(*body)(void *number))
{
    pthread_t threads[PE_MAX_THREADS];

    for (long i = 0; i < n; i++)
        threads[i] = pe_thread(body, (void *)i);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

#endif
