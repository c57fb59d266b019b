/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output in the streams of a process that ends by a fatal error. A flush may meet a full pipe,
 * a lock that is never given back, or code that a signal interrupted, so an alarm ends the process
 * when the flush takes too long. Design: docs/design/base.md.
 */
#include "base/base.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* How long all streams together may take. */
#define FLUSH_S 2

/* How often, and how many milliseconds apart, a lock is asked for that a printing thread has. */
#define LOCK_TRIES 100
#define LOCK_PAUSE_MS 2

#define EARLY_NS UINT64_C(10000000) /* an alarm may come as much too early, by another clock */

static struct {
    uint64_t due_ns; /* UINT64_MAX: never */
    void (*late)(void);
} deadline;

/* An alarm that the program has set may come first. */
static void deadline_alarm(int signo)
{
    (void)signo;
    /* Pairs with the stores in stp_deadline() and stp_deadline_end(). */
    if (stp_now_ns() >= __atomic_load_n(&deadline.due_ns, __ATOMIC_ACQUIRE))
        deadline.late();
    else
        alarm(1);
}

void stp_deadline(unsigned seconds, void (*late)(void))
{
    struct sigaction action = {.sa_handler = deadline_alarm, .sa_flags = SA_ONSTACK | SA_RESTART};
    uint64_t due_ns = stp_now_ns() + seconds * UINT64_C(1000000000) - EARLY_NS;
    sigset_t set;

    deadline.late = late;
    /* Pairs with the load in deadline_alarm(), which calls late() afterwards. */
    __atomic_store_n(&deadline.due_ns, due_ns, __ATOMIC_RELEASE);
    sigaction(SIGALRM, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    alarm(seconds);
}

void stp_deadline_end(void)
{
    /* Pairs with the load in deadline_alarm(). */
    __atomic_store_n(&deadline.due_ns, UINT64_MAX, __ATOMIC_RELEASE);
    alarm(0);
}

/* A thread that prints gives the lock back in no time; one that sits on it keeps it. */
static void flush_stream(FILE *stream)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * 1000000L};

    for (int i = 0; i < LOCK_TRIES; i++) {
        if (ftrylockfile(stream) == 0) {
            fflush_unlocked(stream);
            funlockfile(stream);
            return;
        }
        nanosleep(&pause, NULL);
    }
}

void stp_flush_stdio_before_exit(void (*late)(void))
{
    stp_deadline(FLUSH_S, late);
    flush_stream(stdout);
    flush_stream(stderr);
    fflush(NULL);
    stp_deadline_end();
}
