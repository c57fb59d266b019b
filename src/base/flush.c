/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process that ends by a fatal error still gives away: the output in its streams. A flush
 * may meet a full pipe, a lock that is never given back, or code that a signal interrupted, so
 * it runs under a clock and is left in the middle when time is up. Design: docs/design/base.md.
 */
#include "base/base.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long a stream, and all streams together, may take. */
#define FLUSH_MS 1000

/* How often, and how many milliseconds apart, a lock is asked for that a printing thread has. */
#define LOCK_TRIES 100
#define LOCK_PAUSE_MS 2

/* The clock fires again in case it fired before the work began. */
#define AGAIN_MS 20

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid /* not every C library has the manual's name */
#endif

static struct {
    int tid; /* thread whose work is under way, 0 while none is */
    sigjmp_buf leave;
} flush_run;

static bool flush_is_mine(void)
{
    /* Pairs with the stores in run_work() and stp_run_leave(). */
    return __atomic_load_n(&flush_run.tid, __ATOMIC_SEQ_CST) == (int)syscall(SYS_gettid);
}

void stp_run_leave(void)
{
    if (!flush_is_mine()) return;
    __atomic_store_n(&flush_run.tid, 0, __ATOMIC_SEQ_CST);
    siglongjmp(flush_run.leave, 1);
}

static void run_late(int signo)
{
    (void)signo;
    stp_run_leave();
}

/*
 * A signal that the program has no use for, ours from now on; 0: there is none. It stays so: one
 * that is still on its way when the clock is gone must not end the process.
 */
static int run_signal(void)
{
    struct sigaction late = {.sa_handler = run_late, .sa_flags = SA_ONSTACK}, now;
    sigset_t set;

    for (int signo = SIGRTMAX; signo >= SIGRTMIN; signo--) {
        if (sigaction(signo, NULL, &now) != 0) continue;
        if (now.sa_handler != run_late && now.sa_handler != SIG_DFL) continue;
        sigemptyset(&late.sa_mask);
        if (sigaction(signo, &late, NULL) != 0) continue;
        sigemptyset(&set);
        sigaddset(&set, signo);
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
        return signo;
    }
    return 0;
}

/*
 * Start a clock that sends this thread a signal after ms. By system calls: the C library's
 * functions allocate, which a signal handler must not.
 */
static int run_clock(int ms, int *clock)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = run_signal()};
    struct itimerspec when = {
        .it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L},
        .it_interval = {.tv_nsec = AGAIN_MS * 1000000L},
    };

    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    if (event.sigev_signo == 0) return -EBUSY;
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, clock) != 0) return -errno;
    if (syscall(SYS_timer_settime, *clock, 0, &when, NULL) == 0) return 0;
    syscall(SYS_timer_delete, *clock);
    return -EINVAL;
}

/* False when it was left before its end. */
static bool run_work(void (*work)(void *), void *arg)
{
    if (sigsetjmp(flush_run.leave, 1) != 0) return false;
    /* Pairs with the loads in flush_is_mine() and stp_run_for(). */
    __atomic_store_n(&flush_run.tid, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
    work(arg);
    __atomic_store_n(&flush_run.tid, 0, __ATOMIC_SEQ_CST);
    return true;
}

int stp_run_for(int ms, void (*work)(void *), void *arg)
{
    int clock, rc;

    if (__atomic_load_n(&flush_run.tid, __ATOMIC_SEQ_CST) != 0) return -EBUSY;
    rc = run_clock(ms, &clock);
    if (rc != 0) return rc;
    if (!run_work(work, arg)) rc = -ETIMEDOUT;
    syscall(SYS_timer_delete, clock);
    return rc;
}

/* ---- streams ------------------------------------------------------------------ */

struct flush_stream {
    FILE *stream;
    volatile bool begun; /* the lock is ours, and bytes may have gone */
};

/* A thread that prints gives the lock back in no time; one that sits on it keeps it. */
static void flush_stream(void *arg)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * 1000000L};
    struct flush_stream *flush = arg;

    for (int i = 0; i < LOCK_TRIES; i++) {
        if (ftrylockfile(flush->stream) == 0) {
            flush->begun = true;
            fflush_unlocked(flush->stream);
            funlockfile(flush->stream);
            return;
        }
        nanosleep(&pause, NULL);
    }
}

/* What is left where nobody reads is given up: how much of it has gone is not known. */
static void flush_or_drop(FILE *stream)
{
    struct flush_stream flush = {.stream = stream};

    if (stp_run_for(FLUSH_MS, flush_stream, &flush) == -ETIMEDOUT && flush.begun) __fpurge(stream);
}

static void flush_all(void *arg)
{
    (void)arg;
    fflush(NULL);
}

void stp_flush_standard(void)
{
    flush_or_drop(stdout);
    flush_or_drop(stderr);
}

void stp_flush_all(void)
{
    (void)stp_run_for(FLUSH_MS, flush_all, NULL);
}
