/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flushes the output streams of a process that is about to end. The flush can hang if a pipe is
 * full, or if a thread never releases the lock of a stream. It can also hang in a signal handler,
 * if the signal has interrupted code that holds such a lock. Therefore an alarm ends the process if
 * the flush takes too long. Design: docs/design/base.md.
 */
#include "base/base.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Seconds that the flush of all streams may take before on_timeout() ends the process. */
#define FLUSH_S 2

/* Number of attempts to lock a stream, and milliseconds between two of these attempts. */
#define LOCK_TRIES 100
#define LOCK_PAUSE_MS 2

/*
 * Nanoseconds by which an alarm may come too early and still count as the deadline. An alarm can
 * come early, because alarm() uses a different clock than stp_now_ns().
 */
#define EARLY_NS UINT64_C(10000000)

static struct {
    uint64_t due_ns; /* time of the deadline, or UINT64_MAX if no deadline is set */
    void (*on_timeout)(void);
} deadline;

/*
 * Handles SIGALRM. Calls on_timeout() if the deadline has passed. Otherwise an alarm of the program
 * has caused the signal and has replaced the alarm of the deadline, so the handler sets a new
 * alarm.
 */
static void deadline_alarm(int signo)
{
    (void)signo;
    /* Pairs with the release stores in stp_deadline() and stp_deadline_end(). */
    if (stp_now_ns() >= __atomic_load_n(&deadline.due_ns, __ATOMIC_ACQUIRE))
        deadline.on_timeout();
    else
        alarm(1);
}

void stp_deadline(unsigned seconds, void (*on_timeout)(void))
{
    struct sigaction action = {.sa_handler = deadline_alarm, .sa_flags = SA_ONSTACK | SA_RESTART};
    uint64_t due_ns = stp_now_ns() + seconds * UINT64_C(1000000000) - EARLY_NS;
    sigset_t set;

    deadline.on_timeout = on_timeout;
    /* Pairs with the acquire load in deadline_alarm(), which then reads deadline.on_timeout. */
    __atomic_store_n(&deadline.due_ns, due_ns, __ATOMIC_RELEASE);
    sigaction(SIGALRM, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    alarm(seconds);
}

void stp_deadline_end(void)
{
    /* Pairs with the acquire load in deadline_alarm(). */
    __atomic_store_n(&deadline.due_ns, UINT64_MAX, __ATOMIC_RELEASE);
    alarm(0);
}

/*
 * Flushes a stream as soon as the stream can be locked. A thread that prints holds the lock only
 * for a short time. If all attempts to lock the stream fail, the stream is not flushed.
 */
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

void stp_flush_stdio_before_exit(void (*on_timeout)(void))
{
    stp_deadline(FLUSH_S, on_timeout);
    flush_stream(stdout);
    flush_stream(stderr);
    fflush(NULL);
    stp_deadline_end();
}
