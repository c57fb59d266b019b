/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that an atomic is not reported as lost when the thread that posts it loses its core. The
 * provider shim holds the thread of PE 0 that posts an atomic to PE 1. Another thread of PE 0
 * waits for PE 2, which is stopped, and its messages to PE 1 are acknowledged before the atomic
 * has left. The atomic must arrive once and the job must pass. Needs three PEs and the provider
 * shim.
 *
 * usage: preempted [seconds for which the thread is held, default 3.5]
 */
#include "pe_threads.h"

#include <dlfcn.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static long sum, pid, word; /* symmetric */
static void (*hold)(void), (*release)(void);
static long (*count)(const char *what);
static double seconds; /* without its core: argv[1] */

static void nap(double s)
{
    struct timespec time = {.tv_sec = (time_t)s, .tv_nsec = (long)(1e9 * (s - (double)(time_t)s))};

    nanosleep(&time, NULL);
}

static void *add(void *arg)
{
    (void)arg;
    PE_CHECK_EQ(shmem_long_atomic_fetch_add(&sum, 1, 1), 0);
    return NULL;
}

/* Questions leave once a second, to PE 1 and 2 in turn, and two that are answered are believed. */
static void *let_go_on(void *arg)
{
    nap(seconds);
    release();
    nap(0.1);
    kill(*(pid_t *)arg, SIGCONT);
    return NULL;
}

static void wait_beside_it(pid_t stopped)
{
    pthread_t adder, waker;

    hold();
    adder = pe_thread(add, NULL);
    while (count("stopped") == 0)
        nap(0.001);
    PE_REQUIRE(kill(stopped, SIGSTOP) == 0, "kill(SIGSTOP) of PE 2 failed");
    waker = pe_thread(let_go_on, &stopped);
    PE_CHECK_EQ(shmem_long_g(&word, 2), 7);
    pthread_join(waker, NULL);
    pthread_join(adder, NULL);
}

int main(int argc, char **argv)
{
    int provided;

    seconds = argc > 1 ? atof(argv[1]) : 3.5;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    pe_test_attach();
    PE_REQUIRE(pe_n == 3, "this test needs exactly three PEs");
    *(void **)&hold = dlsym(RTLD_DEFAULT, "provshim_hold");
    *(void **)&release = dlsym(RTLD_DEFAULT, "provshim_release");
    *(void **)&count = dlsym(RTLD_DEFAULT, "provshim_count");
    PE_REQUIRE(hold != NULL && release != NULL && count != NULL,
               "the provider shim is not loaded: no function provshim_hold, _release or _count");
    word = 7;
    pid = getpid();
    shmem_barrier_all();
    if (pe_me == 0) wait_beside_it((pid_t)shmem_long_g(&pid, 2));
    if (pe_me == 1) shmem_long_wait_until(&sum, SHMEM_CMP_EQ, 1);
    return pe_test_end();
}
