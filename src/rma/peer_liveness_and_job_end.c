/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks, while this PE waits, whether it waits in vain. This PE waits in vain if the launcher or a
 * PE of the node has ended. It also waits in vain if another PE has reached the end of the job
 * although this PE still needs that PE. A launcher normally ends the job when a PE is killed. The
 * checks are needed if the launcher does not end the job, or has itself ended. A wait makes the
 * first check only after it has yielded for a while. Programs whose waits are short therefore spend
 * no time on checks. transport/ofi/peer_failure.c checks PEs on other hosts. Design:
 * docs/design/security.md.
 */
#include "rma.h"

#include "pmi/pmi.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CHECK_NS 500000000ull /* minimum time between two checks */
#define CHECKS_PER_ROUND 2    /* number of checks that together cover all PEs of the node */
/*
 * Time after which a PE that waits at the end of the job sends its first notice to other nodes. The
 * time between two notices doubles with each notice.
 */
#define FIRST_NOTICE_NS 1000000000ull
/*
 * Seconds that this process waits after the end of the job, so that the launcher can end this
 * process.
 */
#define GRACE_S 1

/* A closing PE, which is a PE that has reached the end of the job. */
struct closer {
    int pe; /* number of the PE, or -1 for no PE */
    enum stp_pe_exit exit_kind;
};

static struct {
    bool on;
    pid_t parent;
    pthread_mutex_t lock; /* guards the following fields */
    uint64_t checked_ns;
    int next; /* local index of the next PE to check */
    /* CLOSING notice that this PE has received. Its field pe is -1 if there is no notice. */
    struct stp_notice received;
    /* CLOSING notice that this PE sends. Its field pe is -1 if there is no notice. */
    struct stp_notice sent;
    /* Time of this PE's next notice, and current interval between its notices. */
    uint64_t next_notice_ns, notice_interval_ns;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .received.pe = -1, .sent.pe = -1};

/* ---- processes of the node ------------------------------------------------------- */

int stp_alive_memfd_create(struct stp_alive_fd *witness)
{
    struct stat info;

    if (witness->fd >= 0) return 0;
    witness->fd = memfd_create(STP_ALIVE_FD_NAME, MFD_CLOEXEC);
    if (witness->fd < 0) return -errno;
    if (fstat(witness->fd, &info) != 0) {
        int rc = -errno;

        close(witness->fd);
        witness->fd = -1;
        return rc;
    }
    witness->device = info.st_dev;
    witness->inode = info.st_ino;
    return 0;
}

/* Returns whether a process has ended. A zombie counts as ended. */
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
 * Returns whether the process of the PE no longer runs the PE's program. While the program runs,
 * its process keeps a memfd open, the witness file. The PID alone is not sufficient,
 * because the process may have executed another program, or the PID may now belong to another
 * process.
 */
static bool program_ended(const struct stp_pe_info *pe_info)
{
    const struct stp_alive_fd *witness = &pe_info->witness;
    char path[64];
    struct stat info;

    if (witness->fd < 0) return process_ended(pe_info->pid);
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pe_info->pid, witness->fd);
    if (stat(path, &info) == 0)
        return info.st_dev != witness->device || info.st_ino != witness->inode;
    return errno == ENOENT || errno == ESRCH || process_ended(pe_info->pid);
}

static int peers_per_round(int n_local)
{
    return (n_local + CHECKS_PER_ROUND - 1) / CHECKS_PER_ROUND;
}

/* Checks the next few PEs of the node. Returns the number of a PE that has ended, or -1. */
static int find_ended_locked(void)
{
    int n_local = stp_boot_n_local();

    for (int i = peers_per_round(n_local); i > 0; i--) {
        int pe = stp_local_pe(watch.next % n_local);

        watch.next = (watch.next + 1) % n_local;
        if (pe != stp_rt.pe && program_ended(stp_boot_local_pe_info(pe))) return pe;
    }
    return -1;
}

_Noreturn static void fatal_ended(int pe)
{
    const struct stp_pe_info *pe_info = stp_boot_local_pe_info(pe);

    if (process_ended(pe_info->pid))
        stp_fatal(NULL, "pe %d is gone: its process %d on this host has ended", pe,
                  (int)pe_info->pid);
    stp_fatal(NULL, "pe %d is gone: its process %d on this host runs another program now", pe,
              (int)pe_info->pid);
}

void stp_peer_require_local_alive(int pe)
{
    if (stp_local_of(pe) >= 0 && program_ended(stp_boot_local_pe_info(pe))) fatal_ended(pe);
}

/*
 * Returns whether the launcher has ended. In that case this process has a new parent process, and
 * its connection to the launcher is closed. A new parent alone is not sufficient, because a wrapper
 * process may have ended. A closed connection alone is not sufficient, because an MPI library in
 * this process may have closed it.
 */
static bool launcher_ended(void)
{
    return getppid() != watch.parent && stp_pmi_hung_up();
}

/* ---- PEs that have finished ------------------------------------------------------- */

/*
 * Returns the number of world syncs that this PE has started. Another thread may still be inside
 * the last sync.
 */
static uint64_t world_syncs(void)
{
    return __atomic_load_n(&stp_team_world->sync_epoch, __ATOMIC_RELAXED);
}

/* Returns the number of world collectives, except syncs, that this PE has started. */
static uint64_t world_cells(void)
{
    return __atomic_load_n(&stp_team_world->sequence, __ATOMIC_RELAXED);
}

/*
 * Returns whether this PE has started more world collectives than a closing PE. The parameters
 * syncs and cells are the counts of the closing PE.
 */
static bool has_more_collectives(uint64_t syncs, uint64_t cells)
{
    return world_syncs() > syncs || world_cells() > cells;
}

/*
 * Returns a closing PE that has started fewer world collectives than this PE. This PE waits for the
 * closing PE in vain. The field pe of the result is -1 if there is no such PE. After all PEs have
 * met in finalize, the field is always -1.
 */
static struct closer find_closer_locked(void)
{
    struct closer no_closer = {.pe = -1};

    if (__atomic_load_n(&stp_rt.stopping, __ATOMIC_RELAXED)) return no_closer;
    for (int local = 0; local < stp_boot_n_local(); local++) {
        int pe = stp_local_pe(local);
        const struct stp_closing *closing = &stp_boot_local_pe_info(pe)->closing;
        /* Pairs with the release store that the other PE makes in stp_boot_set_closing(). */
        int exit_kind = __atomic_load_n(&closing->pe_exit, __ATOMIC_ACQUIRE);

        if (exit_kind != STP_PE_EXIT_NONE && pe != stp_rt.pe &&
            has_more_collectives(closing->syncs, closing->cells))
            return (struct closer){.pe = pe, .exit_kind = (enum stp_pe_exit)exit_kind};
    }
    if (watch.received.pe >= 0 && has_more_collectives(watch.received.syncs, watch.received.cells))
        return (struct closer){.pe = watch.received.pe, .exit_kind = watch.received.exit_kind};
    return no_closer;
}

_Noreturn static void fatal_closer(struct closer closer)
{
    stp_fatal(
        NULL,
        "this PE is in a collective over all PEs, but pe %d %s instead of joining it: all PEs must "
        "call the same collectives",
        closer.pe,
        closer.exit_kind == STP_PE_EXIT_EXIT ? "left the program without shmem_finalize"
                                             : "called shmem_finalize");
}

/*
 * Notifies PEs of other nodes that this PE waits for them at the end of the job, if the time for a
 * notice has come. The first notice is delayed, because these PEs normally reach the end of the job
 * soon.
 */
static void send_closing_locked(uint64_t now)
{
    if (watch.sent.pe < 0 || !stp_rt.has_fabric || now < watch.next_notice_ns) return;
    watch.notice_interval_ns *= 2;
    watch.next_notice_ns = now + watch.notice_interval_ns;
    watch.sent.round++;
    stp_rt.fabric.send_notice(&watch.sent);
}

/*
 * Handles a CLOSING notice. Stores a new notice and passes it on to other PEs. A notice is new if
 * its counts are smaller than the stored counts, or if it is a later notice of the same PE. It is
 * sufficient to store the smallest counts. If this PE has started more collectives than one of the
 * closing PEs, the counts of this PE are also above the smallest counts.
 */
static void receive_closing(const struct stp_notice *notice)
{
    struct stp_notice *received = &watch.received;
    bool is_new;

    if (notice->pe == stp_rt.pe) return;
    pthread_mutex_lock(&watch.lock);
    is_new = received->pe < 0 || notice->syncs < received->syncs ||
             (notice->syncs == received->syncs && notice->cells < received->cells) ||
             (notice->pe == received->pe && notice->round > received->round);
    if (is_new) *received = *notice;
    pthread_mutex_unlock(&watch.lock);
    if (is_new) stp_rt.fabric.send_notice(notice);
}

static struct closer find_closer(void)
{
    struct closer closer;

    pthread_mutex_lock(&watch.lock);
    closer = find_closer_locked();
    pthread_mutex_unlock(&watch.lock);
    return closer;
}

/*
 * Packs a number of syncs and the kind of exit into one word. The word is never 0, because the kind
 * of exit is not STP_PE_EXIT_NONE.
 */
static uint64_t closing_word(uint64_t syncs, enum stp_pe_exit exit_kind)
{
    return syncs << 2 | (uint64_t)exit_kind;
}

static void begin_closing(enum stp_pe_exit exit_kind, uint64_t syncs, uint64_t cells)
{
    stp_boot_set_closing(exit_kind, syncs, cells);
    pthread_mutex_lock(&watch.lock);
    watch.sent = (struct stp_notice){.kind = STP_NOTICE_CLOSING,
                                     .pe = stp_rt.pe,
                                     .exit_kind = exit_kind,
                                     .syncs = syncs,
                                     .cells = cells};
    watch.notice_interval_ns = FIRST_NOTICE_NS;
    watch.next_notice_ns = stp_now_ns() + FIRST_NOTICE_NS;
    pthread_mutex_unlock(&watch.lock);
}

void stp_peer_meet_at_job_end(enum stp_pe_exit exit_kind, stp_watch_meet_fn *meet)
{
    uint64_t syncs = world_syncs(), word;
    struct closer closer = find_closer();
    int other_pe;

    if (closer.pe >= 0) fatal_closer(closer);
    begin_closing(exit_kind, syncs, world_cells());
    other_pe = meet(stp_team_world, closing_word(syncs, exit_kind), &word);
    /*
     * By now all PEs of this node have published their counts. If other_pe is not -1, PE other_pe
     * is on another node, and word contains the number of syncs that PE other_pe has started.
     */
    closer = find_closer();
    if (other_pe >= 0 && word >> 2 < world_syncs())
        closer = (struct closer){.pe = other_pe, .exit_kind = (enum stp_pe_exit)(word & 3)};
    if (closer.pe >= 0) fatal_closer(closer);
    pthread_mutex_lock(&watch.lock);
    watch.sent.pe = -1;
    pthread_mutex_unlock(&watch.lock);
}

/* ---- end of the job, reported by another PE ----------------------------------------- */

static int end_status; /* exit status for end_late() */

static void end_late(void)
{
    _exit(end_status);
}

/*
 * Ends this process. Prints no message, because the PE that ended the job has printed the reason.
 * First flushes the output of this process, and then gives the launcher one second to end this
 * process.
 */
_Noreturn static void end_with(int status)
{
    struct timespec grace = {.tv_sec = GRACE_S};

    end_status = status;
    stp_fatal_silence_others();
    stp_fabric_remove_files(true);
    stp_flush_stdio_before_exit(end_late);
    while (nanosleep(&grace, &grace) != 0 && errno == EINTR)
        continue;
    _exit(status);
}

void stp_peer_relay_closing_or_job_end(const struct stp_notice *notice)
{
    static bool ending;

    if (notice->kind == STP_NOTICE_CLOSING) {
        receive_closing(notice);
    } else if (notice->kind == STP_NOTICE_ENDED &&
               /* Pairs with the same exchange in other threads. Only the first thread proceeds. */
               !__atomic_exchange_n(&ending, true, __ATOMIC_SEQ_CST)) {
        stp_fatal_silence_others();
        stp_debug("pe %d ends the job with status %d", notice->pe, notice->status);
        stp_boot_publish_job_ended(notice->status);
        stp_rt.fabric.send_notice(notice);
        end_with(notice->status);
    }
}

void stp_peer_tell_job_end(int status)
{
    struct stp_notice notice = {.kind = STP_NOTICE_ENDED, .pe = stp_rt.pe};

    /* An exit status has only 8 bits. Make sure that these bits are not all 0 after a failure. */
    if (status != 0 && (status & 0xff) == 0) status = 1;
    status &= 0xff;
    notice.status = status;
    stp_boot_publish_job_ended(status);
    if (stp_rt.has_fabric) stp_rt.fabric.send_notice(&notice);
}

/* ---- checks ----------------------------------------------------------------------- */

void stp_peer_check(void)
{
    struct closer closer = {.pe = -1};
    uint64_t now;
    int pe = -1, status;
    bool due, launcher_lost = false;

    if (!__atomic_load_n(&watch.on, __ATOMIC_RELAXED)) return;
    if (pthread_mutex_trylock(&watch.lock) != 0) return;
    now = stp_now_ns();
    /*
     * Pairs with the store in stp_peer_checks_disable(). After the store, that function waits for
     * watch.lock and so for the end of this check.
     */
    due = now - watch.checked_ns >= CHECK_NS && __atomic_load_n(&watch.on, __ATOMIC_SEQ_CST);
    if (due) {
        watch.checked_ns = now;
        launcher_lost = launcher_ended();
        pe = find_ended_locked();
        closer = find_closer_locked();
        send_closing_locked(now);
    }
    pthread_mutex_unlock(&watch.lock);
    if (!due) return;
    if (stp_boot_ended(&status)) end_with(status);
    if (launcher_lost)
        stp_fatal(NULL, "the launcher is gone: its process %d has ended", (int)watch.parent);
    if (closer.pe >= 0) fatal_closer(closer);
    if (pe >= 0) fatal_ended(pe);
}

void stp_peer_checks_enable(void)
{
    watch.parent = getppid();
    watch.next = stp_local_of(stp_rt.pe) + 1;
    watch.checked_ns = stp_now_ns();
    watch.received.pe = watch.sent.pe = -1;
    /* Pairs with the loads in stp_peer_check(). */
    __atomic_store_n(&watch.on, true, __ATOMIC_SEQ_CST);
}

void stp_peer_checks_disable(void)
{
    /* Pairs with the load that stp_peer_check() makes while it holds watch.lock. */
    __atomic_store_n(&watch.on, false, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&watch.lock); /* waits for the end of a check in progress */
    pthread_mutex_unlock(&watch.lock);
}
