/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the progress thread, which serves peers while the application computes or sleeps. The thread
 * sleeps on the completion queue's descriptor or on the provider's sockets (tcp_socket_sleep.c).
 * While application threads poll, the thread only naps and samples their activity counter, so that
 * no operation pays for a wake-up. Providers without a descriptor are polled with naps in between.
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

#define NAP_MIN_US 50u     /* first nap while the application polls */
#define NAP_MAX_US 400u    /* longest nap while the application polls */
#define NAP_PARKED_US 100u /* longest nap while packed messages wait to become full */
#define NAP_POLL_US 100u   /* first nap between polls of a provider without a descriptor */
#define NAP_IDLE_US 400u   /* longest nap between such polls while the application makes no call */

static struct {
    pthread_t thread;
    bool stop;
    bool asleep; /* true while only an event on a descriptor wakes the thread */
    int wake_fd; /* eventfd that wakes or ends the thread */
    bool running;
} progress;

static void nap(unsigned us)
{
    struct timespec time = {.tv_nsec = (long)us * 1000};

    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* Returns a counter that changes while application threads post or poll on any endpoint. */
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

/* Returns a counter that changes when any thread serves peers. */
static unsigned main_drains(void)
{
    return __atomic_load_n(&stp_ofi.main.drains, __ATOMIC_RELAXED);
}

/* Returns whether an endpoint besides the main one is busy; such endpoints wake no thread. */
static bool other_endpoints_busy(void)
{
    for (unsigned i = 1; i < stp_ofi_n_endpoints(); i++)
        if (stp_ofi_endpoint_busy(stp_ofi_endpoint_at(i))) return true;
    return false;
}

/* Serves peers and sends urgent acknowledgements, which no message may carry soon. */
static void serve(void)
{
    stp_ofi_poll_all_queues();
    if (stp_ofi_ack_urgent()) stp_ofi_ack_flush(STP_OFI_ACK_URGENT);
}

/*
 * Naps while application threads make calls, because each wake-up of this thread would cost them a
 * context switch. Returns the last value of activity().
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
         * Serve peers only if no other thread has done so during the nap: an application that only
         * posts does not poll, and an application that polls must not wait for this thread's lock.
         */
        if (drains == main_drains() && !is_draining()) serve();
        now = activity();
    } while ((now != before || is_draining() || stp_ofi_batch_has_unsent()) &&
             !__atomic_load_n(&progress.stop, __ATOMIC_RELAXED));
    return now;
}

/*
 * Naps between polls of a provider without a descriptor. The nap grows with the time since the last
 * call of the application, because a poll does not report how much it has served for peers.
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
 * Returns the longest sleep in milliseconds, or -1 for a sleep until an event. Adapters that do
 * atomics write to this PE without an event, so requests for its device memory must be polled.
 */
static int sleep_limit(void)
{
    const struct stp_core *core = stp_ofi.core;
    bool unseen = core->devices && core->on_progress != NULL && !stp_ofi.cpu_atomics;

    if (stp_ofi_batch_has_unsent() || stp_ofi_ack_any())
        return 0; /* no event would wake this thread for the unsent data */
    return unseen || stp_ofi_has_retry() || stp_ofi_inbox_lacks() || other_endpoints_busy() ? 1
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

    _Static_assert(STP_COUNT(fds) == 2 + STP_OFI_FAILURE_FDS, "what health looks at comes last");
    eventfd_t count;

    if (stp_ofi.wait_fd < 0 && !stp_ofi.by_sockets) {
        nap_between_polls();
        return;
    }
    stp_ofi_failure_fds(&fds[2]);
    __atomic_store_n(&progress.asleep, true, __ATOMIC_RELAXED);
    /* Pairs with the fence in stp_ofi_progress_wake(): at least one side sees the other's write. */
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
    /* Pairs with the fence in sleep_on_queue(): at least one side sees the other's write. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    /* The write cannot fail, because the counter is far from full. */
    if (__atomic_load_n(&progress.asleep, __ATOMIC_RELAXED)) eventfd_write(progress.wake_fd, 1);
}

/* Checks once a second whether all threads of the program have ended; the process then exits. */
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
        /* If the counter has changed, the application is in the library and polls there. */
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

    /* Pairs with nothing, because the thread is started below. */
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
    /* Pairs with the loads in progress_main() and park(), in the thread that the eventfd wakes. */
    __atomic_store_n(&progress.stop, true, __ATOMIC_SEQ_CST);
    /* The write cannot fail, because the counter is far from full. */
    if (eventfd_write(progress.wake_fd, 1) == 0) pthread_join(progress.thread, NULL);
    stp_ofi_socket_sleep_fini();
    close(progress.wake_fd);
    progress.running = false;
}
