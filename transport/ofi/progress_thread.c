/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the progress thread, which serves peers while the application computes or sleeps. The thread
 * sleeps until the completion queue's descriptor or a socket of the provider (tcp_socket_sleep.c)
 * has an event. While application threads call the library, they poll the completion queues
 * themselves. Wake-ups of the progress thread would then slow down their operations. The progress
 * thread therefore takes short naps instead, and reads the activity counters of the endpoints. If
 * the provider has neither a usable descriptor nor usable sockets, the thread polls the provider
 * and naps between two polls. Design: docs/design/fabric.md.
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

#define NAP_MIN_US 50u     /* first nap while the application makes calls */
#define NAP_MAX_US 400u    /* longest nap while the application makes calls */
#define NAP_PARKED_US 100u /* longest nap while collected operations wait to be sent */
#define NAP_POLL_US 100u   /* first nap between two polls of nap_between_polls() */
#define NAP_IDLE_US 400u   /* longest nap between two polls of nap_between_polls() */

static struct {
    pthread_t thread;
    bool stop;
    bool asleep; /* true while the thread sleeps until an event wakes it */
    int wake_fd; /* eventfd by which other threads wake the thread */
    bool running;
} progress;

static void nap(unsigned nap_us)
{
    struct timespec time = {.tv_nsec = (long)nap_us * 1000};

    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/*
 * Returns the sum of the activity counters of all endpoints. The sum changes when an application
 * thread posts or polls.
 */
static unsigned activity(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < stp_ofi_n_endpoints(); i++)
        sum += __atomic_load_n(&stp_ofi_endpoint_at(i)->activity, __ATOMIC_RELAXED);
    return sum;
}

/* Returns whether another thread is reading the main completion queue. */
static bool is_draining(void)
{
    return __atomic_load_n(&stp_ofi.main.draining, __ATOMIC_RELAXED);
}

/*
 * Returns the number of polls of the main endpoint's queue. Each poll serves peers, so a new number
 * shows that a thread has served them.
 */
static unsigned main_drains(void)
{
    return __atomic_load_n(&stp_ofi.main.drains, __ATOMIC_RELAXED);
}

/*
 * Returns whether any endpoint except the main endpoint is busy. Completions on such an endpoint
 * wake no thread, so this thread must poll the endpoint.
 */
static bool other_endpoints_busy(void)
{
    for (unsigned i = 1; i < stp_ofi_n_endpoints(); i++)
        if (stp_ofi_endpoint_busy(stp_ofi_endpoint_at(i))) return true;
    return false;
}

/*
 * Serves peers. Also sends the delayed acknowledgements for which peers wait, because this PE might
 * not send a message that could carry them.
 */
static void serve(void)
{
    stp_ofi_poll_all_queues();
    if (stp_ofi_ack_urgent()) stp_ofi_ack_flush(STP_OFI_ACK_URGENT);
}

/*
 * Naps while application threads make calls. If this thread slept on descriptors, each wake-up
 * would cost the application a context switch. Returns the last value of activity().
 */
static unsigned park(void)
{
    unsigned nap_us = NAP_MIN_US, before, now = activity(), drains;

    do {
        before = now;
        drains = main_drains();
        nap(nap_us);
        if (nap_us < NAP_MAX_US) nap_us *= 2;
        if (stp_ofi_batch_has_unsent() && nap_us > NAP_PARKED_US) nap_us = NAP_PARKED_US;
        stp_ofi_batch_flush_aged(false, true);
        /*
         * Serve peers only if no other thread has polled the queue during the nap. An application
         * that polls serves peers itself, and should not have to wait for a lock that this thread
         * holds. An application that posts without waiting polls only rarely, so this thread must
         * then serve peers.
         */
        if (drains == main_drains() && !is_draining()) serve();
        now = activity();
    } while ((now != before || is_draining() || stp_ofi_batch_has_unsent()) &&
             !__atomic_load_n(&progress.stop, __ATOMIC_RELAXED));
    return now;
}

/*
 * Naps between two polls of a provider without a usable descriptor. The nap becomes longer while
 * the application makes no calls. The length of the nap does not depend on the traffic of peers,
 * because a poll does not report whether it has served a peer.
 */
static void nap_between_polls(void)
{
    static unsigned nap_us = NAP_POLL_US, before;
    unsigned now = activity();

    if (now != before)
        nap_us = NAP_POLL_US;
    else if (nap_us < NAP_IDLE_US)
        nap_us *= 2;
    before = now;
    nap(nap_us);
}

/*
 * Returns the time limit of a sleep in milliseconds, or -1 for no limit. A peer requests access to
 * this PE's device memory by a write to this PE's host memory. If the CPU does not execute the
 * provider's atomics, such a write might not cause an event here. The limit is then 1 ms, so that
 * this thread finds the requests by polling.
 */
static int sleep_limit(void)
{
    const struct stp_core *core = stp_ofi.core;
    bool must_poll = core->devices && core->on_progress != NULL && !stp_ofi.cpu_atomics;

    /*
     * Do not sleep while this PE has unsent operations or acknowledgements, because no event would
     * wake this thread to send them.
     */
    if (stp_ofi_batch_has_unsent() || stp_ofi_ack_any()) return 0;
    return must_poll || stp_ofi_has_retry() || stp_ofi_inbox_lacks() || other_endpoints_busy() ? 1
                                                                                               : -1;
}

/* Sleeps until the provider has an event, another thread wakes this thread, or a limit expires. */
static void sleep_on_queue(void)
{
    struct fid *queue = &stp_ofi.main.cq->fid;
    struct pollfd fds[] = {{.fd = stp_ofi.wait_fd, .events = POLLIN},
                           {.fd = progress.wake_fd, .events = POLLIN},
                           {.fd = -1},
                           {.fd = -1}};
    int limit;

    _Static_assert(STP_COUNT(fds) == 2 + STP_OFI_FAILURE_FDS,
                   "the descriptors of failure detection must be last");
    eventfd_t count;

    if (stp_ofi.naps || (stp_ofi.wait_fd < 0 && !stp_ofi.by_sockets)) {
        nap_between_polls();
        return;
    }
    stp_ofi_failure_fds(&fds[2]);
    __atomic_store_n(&progress.asleep, true, __ATOMIC_RELAXED);
    /*
     * Pairs with the fence in stp_ofi_progress_wake(), which a thread calls after it has added
     * work. Either that thread sees that asleep is true, or sleep_limit() below sees the new work.
     */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    limit = sleep_limit();
    if (limit < 0) limit = STP_OFI_FAILURE_SLEEP_MS;
    if (stp_ofi.by_sockets)
        stp_ofi_socket_sleep(limit, &fds[2]);
    else if (fi_trywait(stp_ofi.main.fabric, &queue, 1) == 0)
        poll(fds, STP_COUNT(fds), limit);
    __atomic_store_n(&progress.asleep, false, __ATOMIC_RELAXED);
    if (stp_ofi.by_sockets || fds[1].revents != 0) eventfd_read(progress.wake_fd, &count);
}

void stp_ofi_progress_wake(void)
{
    /*
     * Pairs with the fence in sleep_on_queue(). Either this thread sees that asleep is true, or the
     * progress thread sees the new work of this thread in sleep_limit().
     */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    /* Writing to the eventfd cannot fail, because its counter is far below the maximum. */
    if (__atomic_load_n(&progress.asleep, __ATOMIC_RELAXED)) eventfd_write(progress.wake_fd, 1);
}

/* Checks once a second whether all threads of the program have ended. If so, exits the process. */
static void exit_if_threads_ended(void)
{
    static time_t last_check_s;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    if (now.tv_sec == last_check_s) return;
    last_check_s = now.tv_sec;
    stp_ofi.core->thread_exit_check();
}

static void *progress_main(void *arg)
{
    unsigned last_activity = activity();

    (void)arg;
    while (!__atomic_load_n(&progress.stop, __ATOMIC_RELAXED)) {
        serve();
        /* If the sum has changed, application threads make calls and poll the queues themselves. */
        if (activity() != last_activity || is_draining() || stp_ofi_batch_has_unsent()) {
            last_activity = park();
            if (stp_ofi.by_sockets) stp_ofi_socket_sleep_mark_stale();
        } else {
            if (stp_ofi_ack_any()) stp_ofi_ack_flush(STP_OFI_ACK_ALL);
            sleep_on_queue();
        }
        stp_ofi_failure_poll();
        exit_if_threads_ended();
    }
    return NULL;
}

int stp_ofi_progress_start(void)
{
    int rc;

    /*
     * No other access pairs with this store, because the progress thread has not been started yet.
     */
    __atomic_store_n(&progress.stop, false, __ATOMIC_SEQ_CST);
    progress.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (progress.wake_fd < 0) {
        rc = -errno;
        stp_ofi.core->log(STP_LOG_ERROR, "fabric: cannot create an eventfd: %s",
                          stp_errno_text(-rc));
        return rc;
    }
    if (stp_ofi.by_sockets) stp_ofi_socket_sleep_init(progress.wake_fd);
    rc = stp_ofi.core->thread_start(&progress.thread, "steppe-fabric", progress_main);
    if (rc != 0) {
        stp_ofi.core->log(STP_LOG_ERROR, "fabric: cannot start the progress thread: %s",
                          rc == -EAGAIN ? "too many threads: raise ulimit -u or the host's limit, "
                                          "or set SHMEM_OFI_PROGRESS_THREAD=off"
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
    /* Pairs with the loads in progress_main() and park(), which the woken thread executes. */
    __atomic_store_n(&progress.stop, true, __ATOMIC_SEQ_CST);
    /* Writing to the eventfd cannot fail, because its counter is far below the maximum. */
    if (eventfd_write(progress.wake_fd, 1) == 0) pthread_join(progress.thread, NULL);
    stp_ofi_socket_sleep_fini();
    close(progress.wake_fd);
    progress.running = false;
}
