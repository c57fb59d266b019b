/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The progress thread. It sleeps on the completion queue's descriptor, or on the sockets
 * below it (tcp_socket_sleep.c), and serves peers while the application computes or sleeps. While
 * application threads poll it keeps away: it naps and samples their activity counter, so that
 * nobody pays a wake-up per operation. Providers without a descriptor are polled with a nap in
 * between.
 * Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include "am.h"
#include "batch.h"
#include "peer_liveness_and_fd_limits.h"
#include "am_ack_delay.h"
#include "tcp_socket_sleep.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define NAP_MIN_US 50u /* first nap while the application polls, then doubled up to */
#define NAP_MAX_US 400u
#define NAP_PARKED_US 100u /* at most this while packed messages wait to be full */
#define NAP_POLL_US 100u /* between polls of a provider without a descriptor, then doubled up to */
#define NAP_IDLE_US 400u /* this while the application makes no call */

static struct {
    pthread_t thread;
    bool stop;
    bool asleep; /* for good: only its descriptors wake it */
    int wake_fd; /* made readable to wake or end the thread */
    bool running;
} progress;

static void nap(unsigned us)
{
    struct timespec time = {.tv_nsec = (long)us * 1000};

    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* Moves while application threads post and poll, on any endpoint. */
static unsigned activity(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < stp_ofi_n_endpoints(); i++)
        sum += __atomic_load_n(&stp_ofi_endpoint_at(i)->activity, __ATOMIC_RELAXED);
    return sum;
}

/* Is an application thread in the middle of moving data? */
static bool is_draining(void)
{
    return __atomic_load_n(&stp_ofi.main.draining, __ATOMIC_RELAXED);
}

/* Moves when anybody has served peers. */
static unsigned main_drains(void)
{
    return __atomic_load_n(&stp_ofi.main.drains, __ATOMIC_RELAXED);
}

/* Endpoints besides the main one wake nobody. */
static bool other_endpoints_busy(void)
{
    for (unsigned i = 1; i < stp_ofi_n_endpoints(); i++)
        if (stp_ofi_endpoint_busy(stp_ofi_endpoint_at(i))) return true;
    return false;
}

/* For a program that computes: no message of its own will soon carry answers. */
static void serve(void)
{
    stp_ofi_poll_all_queues();
    if (stp_ofi_ack_urgent()) stp_ofi_ack_flush(STP_OFI_ACK_URGENT);
}

/*
 * Keep away while application threads call: each wake-up on the descriptor would cost them a
 * context switch. Returns the activity seen last.
 */
static unsigned park(void)
{
    unsigned us = NAP_MIN_US, before, now = activity(), drains;

    do {
        before = now;
        drains = main_drains();
        nap(us);
        if (us < NAP_MAX_US) us *= 2;
        if (stp_ofi_batch_has_unsent() && us > NAP_PARKED_US) us = NAP_PARKED_US;
        stp_ofi_batch_flush_aged(false, true);
        /*
         * An application that only posts now and then polls for nobody. One that polls must not
         * find its lock with a thread that waits for the core.
         */
        if (drains == main_drains() && !is_draining()) serve();
        now = activity();
    } while ((now != before || is_draining() || stp_ofi_batch_has_unsent()) &&
             !__atomic_load_n(&progress.stop, __ATOMIC_RELAXED));
    return now;
}

/*
 * Without a descriptor: what a poll serves for peers does not show, so the nap grows with the
 * time since the application last called.
 */
static void nap_between_polls(void)
{
    static unsigned us = NAP_POLL_US, before;
    unsigned now = activity();

    if (now != before)
        us = NAP_POLL_US;
    else if (us < NAP_IDLE_US)
        us *= 2;
    before = now;
    nap(us);
}

/*
 * Milliseconds of sleep, -1: until woken. Adapters that do atomics themselves write to this PE
 * without waking anybody, so requests for its device memory must be looked for.
 */
static int sleep_limit(void)
{
    const struct stp_core *core = stp_ofi.core;
    bool unseen = core->devices && core->on_progress != NULL && !stp_ofi.cpu_atomics;

    if (stp_ofi_batch_has_unsent() || stp_ofi_ack_any())
        return 0; /* nothing would come that wakes anybody for it */
    return unseen || stp_ofi_has_retry() || stp_ofi_inbox_lacks() || other_endpoints_busy() ? 1
                                                                                            : -1;
}

/* Sleep until the provider has something to do, or until woken. */
static void sleep_on_queue(void)
{
    struct fid *queue = &stp_ofi.main.cq->fid;
    struct pollfd fds[] = {{.fd = stp_ofi.wait_fd, .events = POLLIN},
                           {.fd = progress.wake_fd, .events = POLLIN},
                           {.fd = -1},
                           {.fd = -1}};
    int limit;

    _Static_assert(STP_COUNT(fds) == 2 + STP_OFI_FAILURE_FDS, "what health looks at comes last");
    eventfd_t count;

    if (stp_ofi.wait_fd < 0 && !stp_ofi.by_sockets) {
        nap_between_polls();
        return;
    }
    stp_ofi_failure_fds(&fds[2]);
    __atomic_store_n(&progress.asleep, true, __ATOMIC_RELAXED);
    /* Pairs with the fence of stp_ofi_progress_wake(): either sees what the other has written. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    limit = sleep_limit();
    if (limit < 0) limit = STP_OFI_FAILURE_SLEEP_MS;
    if (stp_ofi.by_sockets)
        stp_ofi_socket_sleep(limit, &fds[2]);
    else if (fi_trywait(stp_ofi.fabric, &queue, 1) == 0)
        poll(fds, STP_COUNT(fds), limit);
    __atomic_store_n(&progress.asleep, false, __ATOMIC_RELAXED);
    if (stp_ofi.by_sockets || fds[1].revents != 0) eventfd_read(progress.wake_fd, &count);
}

void stp_ofi_progress_wake(void)
{
    /* Pairs with the fence in sleep_on_queue(): either side sees what the other has written. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    /* Cannot fail: the counter is far from full. */
    if (__atomic_load_n(&progress.asleep, __ATOMIC_RELAXED)) eventfd_write(progress.wake_fd, 1);
}

/* It must not keep a process alive that the program's threads have left. */
static void look_at_threads(void)
{
    static time_t looked;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    if (now.tv_sec == looked) return;
    looked = now.tv_sec;
    stp_ofi.core->thread_exit_check();
}

static void *progress_main(void *arg)
{
    unsigned seen = activity();

    (void)arg;
    while (!__atomic_load_n(&progress.stop, __ATOMIC_RELAXED)) {
        serve();
        /* It moved since we last looked: the application is in the library, and polls there. */
        if (activity() != seen || is_draining() || stp_ofi_batch_has_unsent()) {
            seen = park();
            if (stp_ofi.by_sockets) stp_ofi_socket_sleep_mark_stale();
        } else {
            if (stp_ofi_ack_any()) stp_ofi_ack_flush(STP_OFI_ACK_ALL);
            sleep_on_queue();
        }
        stp_ofi_failure_poll();
        look_at_threads();
    }
    return NULL;
}

int stp_ofi_progress_start(void)
{
    int rc;

    /* Pairs with nothing: the thread is started below. */
    __atomic_store_n(&progress.stop, false, __ATOMIC_SEQ_CST);
    progress.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (progress.wake_fd < 0) {
        rc = -errno;
        stp_ofi.core->log(STP_LOG_ERROR, "fabric: eventfd: %s", stp_errno_text(-rc));
        return rc;
    }
    if (stp_ofi.by_sockets) stp_ofi_socket_sleep_init(progress.wake_fd);
    rc = stp_ofi.core->thread_start(&progress.thread, "steppe-fabric", progress_main);
    if (rc != 0) {
        stp_ofi.core->log(STP_LOG_ERROR, "fabric: no progress thread: %s",
                          rc == -EAGAIN ? "threads ran out (ulimit -u, or the host's limit): raise "
                                          "it, or set SHMEM_OFI_PROGRESS_THREAD=off"
                                        : strerror(-rc));
        close(progress.wake_fd);
        return rc;
    }
    progress.running = true;
    return 0;
}

void stp_ofi_progress_stop(void)
{
    if (!progress.running) return;
    /* Pairs with the load of the thread that the eventfd wakes. */
    __atomic_store_n(&progress.stop, true, __ATOMIC_SEQ_CST);
    /* Cannot fail: the counter is far from full. */
    if (eventfd_write(progress.wake_fd, 1) == 0) pthread_join(progress.thread, NULL);
    stp_ofi_socket_sleep_fini();
    close(progress.wake_fd);
    progress.running = false;
}
