/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is looked after while a PE waits: the launcher, and the PEs of its node. A launcher ends
 * the job when a PE is killed; these are the cases in which it does not, or is dead itself. Called
 * by waits that have given the core away for a while, so it costs a program at work nothing.
 * PEs on other hosts: transport/ofi/health.c. Design: docs/design/security.md.
 */
#include "steppe.h"

#include "pmi/pmi.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_NS 500000000ull /* between two looks */
#define LOOKS_A_ROUND 16     /* in so many all PEs of the node were looked at */

static struct {
    atomic_bool on;
    pid_t parent;
    pthread_mutex_t lock; /* guards the rest */
    uint64_t looked_ns;
    int next; /* place of the PE to look at next */
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A process that ended and was not yet collected by its parent has ended too. */
static bool process_ended(pid_t pid)
{
    struct pollfd poll_fd = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    bool ended;

    if (poll_fd.fd < 0) return errno == ESRCH;
    ended = poll(&poll_fd, 1, 0) > 0;
    close(poll_fd.fd);
    return ended;
}

/*
 * The connection alone does not tell: an MPI library in this process may have said goodbye on
 * it. Nor does the parent: a wrapper may have left.
 */
static bool launcher_ended(void)
{
    return getppid() != watch.parent && stp_pmi_hung_up();
}

static int peers_a_look(int n_local)
{
    return (n_local + LOOKS_A_ROUND - 1) / LOOKS_A_ROUND;
}

/* The next few PEs of the node. Returns the number of one that has ended, or -1. */
static int find_ended(void)
{
    int n_local = stp_boot_n_local();

    for (int i = peers_a_look(n_local); i > 0; i--) {
        int pe = stp_local_pe(watch.next % n_local);

        watch.next = (watch.next + 1) % n_local;
        if (pe != stp_rt.pe && process_ended(stp_boot_card(pe)->pid)) return pe;
    }
    return -1;
}

/* The PE that has left while this one goes on with collectives over the world, or -1. */
static int find_leaver(void)
{
    const struct stp_leaver *leaver = stp_boot_leaver();

    if (leaver == NULL || stp_rt.stopping) return -1; /* finalize has syncs of its own */
    if (stp_team_world->sync_epoch <= leaver->syncs && stp_team_world->sequence <= leaver->cells)
        return -1;
    return leaver->number - 1;
}

_Noreturn static void watch_fatal_leaver(int leaver)
{
    stp_fatal(NULL,
              "pe %d has left the program without shmem_finalize, while this PE waits in or "
              "behind a collective that needs all PEs",
              leaver);
}

static void watch_look(void)
{
    uint64_t now;
    int pe = -1, leaver = -1;
    bool due, lost = false;

    if (!atomic_load_explicit(&watch.on, memory_order_relaxed)) return;
    if (pthread_mutex_trylock(&watch.lock) != 0) return;
    now = stp_now_ns();
    due = now - watch.looked_ns >= LOOK_NS && atomic_load(&watch.on);
    if (due) {
        watch.looked_ns = now;
        lost = launcher_ended();
        pe = find_ended();
        leaver = find_leaver();
    }
    pthread_mutex_unlock(&watch.lock);
    if (!due) return;
    if (stp_boot_ended()) _exit(1); /* whoever ended the job has said why */
    if (lost) stp_fatal(NULL, "the launcher is gone: its process %d has ended", (int)watch.parent);
    if (leaver >= 0) watch_fatal_leaver(leaver);
    if (pe >= 0)
        stp_fatal(NULL, "pe %d is gone: its process %d on this host has ended", pe,
                  (int)stp_boot_card(pe)->pid);
}

void stp_watch_start(void)
{
    watch.parent = getppid();
    watch.next = stp_local_of(stp_rt.pe) + 1;
    watch.looked_ns = stp_now_ns();
    stp_wait_hook = watch_look;
    atomic_store(&watch.on, true);
}

/*
 * Its finalize has met the last collectives of this PE, which so did not wait. What is left of it
 * would not match the whole of ours.
 */
void stp_watch_finalize(void)
{
    int leaver = find_leaver();

    if (leaver >= 0) watch_fatal_leaver(leaver);
}

void stp_watch_stop(void)
{
    atomic_store(&watch.on, false);
    pthread_mutex_lock(&watch.lock); /* who is looking now has finished */
    pthread_mutex_unlock(&watch.lock);
}
