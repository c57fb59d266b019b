/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects dead peers. Providers report most broken connections, but some providers of libfabric
 * 1.17 hide failures. Such a provider may reconnect forever, may lose the reply to an atomic
 * without an error, or may send to a dead host for a quarter of an hour. Therefore each PE connects
 * to the liveness socket of its successor, which is the PE with the next number
 * (liveness_socket_and_notices.c). If an operation stalls, the PE also connects to the liveness
 * socket of the operation's target. Such a connection is called a link. A PE that finds a dead peer
 * ends the job and notifies the other PEs.
 * Design: docs/design/security.md and fabric.md.
 */
#include "peer_liveness_and_fd_limits.h"

#include "am.h"
#include "tcp_socket_sleep.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STALL_NS 1000000000ull   /* time without a completion after which targets are suspected */
#define FINISH_NS 20000000ull    /* time used instead of STALL_NS and POLL_NS while the job ends */
#define POLL_NS 100000000ull     /* minimum time between two polls of the links */
#define RETRY_NS 1000000000ull   /* time between two attempts to connect to a peer */
#define ANSWER_MS 2000           /* time limit of the last check before a PE is declared dead */
#define FIRST_MS 1000            /* time limit of the first connection to the successor */
#define BLAME_MS 1000            /* time limit of the search after an error that names no PE */
#define LINKS 16                 /* maximum number of links; the first link is to the successor */
#define RESETS 3                 /* number of consecutive resets after which a PE counts as dead */
#define STEADY_NS 10000000000ull /* uptime of a link after which its reset counter restarts */

/*
 * States of a link. In LINK_WAITING, the link waits for its next attempt to connect. In
 * LINK_PROCESS, a pidfd watches the peer instead of a connection. In LINK_USELESS, this PE cannot
 * watch the peer.
 */
enum link_state { LINK_FREE, LINK_WAITING, LINK_CONNECTING, LINK_UP, LINK_PROCESS, LINK_USELESS };

struct link {
    enum link_state state;
    int pe;
    int fd;
    int resets; /* number of consecutive resets */
    /*
     * True if the link was up at least once. If the link was never up, its failure does not prove
     * that the peer is dead.
     */
    bool was_up;
    /*
     * True if host_was_reachable_locked() has already tried to start a link to another PE on the
     * peer's host.
     */
    bool neighbour_tried;
    uint64_t silent_ns; /* time at which the peer became silent, or 0 */
    uint64_t next_ns;   /* time of the next attempt to connect, in state LINK_WAITING */
    uint64_t up_ns;     /* time at which the link came up */
    uint64_t used_ns;   /* time at which this PE last suspected the peer */
};

static struct {
    pthread_mutex_t lock; /* guards all other fields; it is not held while a thread ends the job */
    /*
     * Time at which this PE found for the first time that another PE had left the ending job, or 0.
     */
    uint64_t gone_ns;
    struct link links[LINKS];
    uint64_t polled_ns;
} health = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_finishing(void)
{
    return __atomic_load_n(&stp_ofi.finishing, __ATOMIC_RELAXED);
}

/*
 * Returns the number of nanoseconds for which a peer may be silent before this PE makes the final
 * check of the peer. Returns 0 if a peer may be silent forever.
 */
static uint64_t max_silence_ns(void)
{
    int ms = stp_ofi.core->env->peer_timeout * 1000;

    if (ms <= 0) return 0;
    return (uint64_t)(ms > 2 * ANSWER_MS ? ms - ANSWER_MS : ms / 2) * 1000000u;
}

/* ---- links -------------------------------------------------------------------- */

static void link_log(const struct link *link, const char *event, int error)
{
    stp_ofi.core->log(STP_LOG_DEBUG, "fabric: link to pe %d: %s%s%s", link->pe, event,
                      error != 0 ? ": " : "", error != 0 ? strerror(error) : "");
}

static void link_wait(struct link *link, uint64_t delay)
{
    if (link->fd >= 0) close(link->fd);
    link->fd = -1;
    link->state = LINK_WAITING;
    link->next_ns = stp_now_ns() + delay;
}

static void link_free(struct link *link)
{
    if (link->state != LINK_FREE && link->fd >= 0) close(link->fd);
    link->fd = -1;
    link->state = LINK_FREE;
}

/*
 * Makes the kernel send keepalive probes to the peer's host. If the host does not reply, the link
 * gets an error.
 */
static void keep_alive(int fd)
{
    int total_s = stp_ofi.core->env->peer_timeout, enable = 1, probes = 3;
    int interval_s = total_s / 5 > 0 ? total_s / 5 : 1, limit_ms = interval_s * (probes + 1) * 1000;

    if (total_s <= 0) return;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &enable, sizeof(enable));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &interval_s, sizeof(interval_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof(limit_ms));
}

/*
 * Watches a peer on this host by a pidfd instead of a connection. This is needed if the PEs share a
 * PID namespace but not a network namespace. The address of a local socket is valid in one network
 * namespace only.
 */
static void link_start_process(struct link *link)
{
    char addr[STP_FABRIC_ADDR_MAX + 1] = "";
    const char *prefix_end;
    size_t len = STP_FABRIC_ADDR_MAX;
    int pid;

    link_wait(link, RETRY_NS);
    link->state = LINK_USELESS;
    if (fi_av_lookup(stp_ofi.main.av, stp_ofi_addr(&stp_ofi.main, link->pe), addr, &len) != 0)
        return;
    /* An shm address begins with the process number, after an optional prefix like "fi_shm://". */
    prefix_end = strstr(addr, "://");
    if (sscanf(prefix_end != NULL ? prefix_end + 3 : addr, "%d:", &pid) != 1 || pid <= 0) return;
    link->fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (link->fd >= 0) {
        link->state = LINK_PROCESS;
        link->was_up = true;
    } else if (errno == ESRCH) { /* proves that the peer has ended, as a broken link does */
        link->was_up = true;
        link->resets = RESETS;
        link_wait(link, RETRY_NS);
    }
}

static bool is_local(const struct link *link)
{
    return stp_ofi_liveness_addr_of(link->pe).family == STP_OFI_LIVENESS_LOCAL;
}

/* Updates the link after an attempt to connect. The argument error is 0 or an errno value. */
static void link_outcome(struct link *link, int error)
{
    if (error == 0) {
        link->state = LINK_UP;
        link->was_up = true;
        link->silent_ns = 0;
        link->up_ns = stp_now_ns();
        link_log(link, "up", 0);
        return;
    }
    link_log(link, "cannot connect", error);
    if ((error == ECONNREFUSED || error == ECONNRESET) && !link->was_up && is_local(link)) {
        link_start_process(link);
        return;
    }
    link_wait(link, RETRY_NS);
    /*
     * EAGAIN only means that the backlog of a local socket is full, so it does not count as
     * silence.
     */
    if (error == ECONNREFUSED || error == ECONNRESET)
        link->resets = RESETS;
    else if (error != EAGAIN && link->silent_ns == 0)
        link->silent_ns = stp_now_ns();
}

static void link_start(struct link *link)
{
    struct sockaddr_storage addr;
    struct stp_ofi_liveness_addr live_addr = stp_ofi_liveness_addr_of(link->pe);
    socklen_t len;

    if (live_addr.family == STP_OFI_LIVENESS_NONE) {
        link->state = LINK_USELESS;
        link_log(link, "not used, because that pe has no liveness socket", 0);
        return;
    }
    len = stp_ofi_liveness_sockaddr(&live_addr, &addr);
    link->fd = socket(addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (link->fd < 0) { /* an error of this PE, not of the peer */
        link_wait(link, RETRY_NS);
        return;
    }
    link_log(link, "connecting", 0);
    if (addr.ss_family != AF_UNIX) keep_alive(link->fd);
    link->state = LINK_CONNECTING;
    if (connect(link->fd, (struct sockaddr *)&addr, len) == 0)
        link_outcome(link, 0);
    else if (errno != EINPROGRESS)
        link_outcome(link, errno);
}

/* Updates a link that broke. The peer's process, its host, or the network may be the cause. */
static void link_broke(struct link *link, int error)
{
    link_log(link, "broken", error);
    if (link->state == LINK_PROCESS) {
        link->resets = RESETS;
        link_wait(link, RETRY_NS);
    } else if (error == 0 || error == ECONNRESET || error == EPIPE) {
        link->resets = stp_now_ns() - link->up_ns > STEADY_NS ? 1 : link->resets + 1;
        link_wait(link, 0);
    } else {
        /* The host has not replied to the keepalive probes. Count their duration as silence. */
        if (link->silent_ns == 0) {
            uint64_t now = stp_now_ns(), elapsed = max_silence_ns() / 5 * 4;

            link->silent_ns = now > elapsed ? now - elapsed : 1;
        }
        link_wait(link, 0);
    }
}

static void link_poll(struct link *link, uint64_t now)
{
    struct pollfd poll_fd = {.fd = link->fd,
                             .events = link->state == LINK_CONNECTING ? POLLOUT : POLLIN};
    socklen_t size = sizeof(int);
    int error = 0;

    if (link->state == LINK_WAITING && now >= link->next_ns) link_start(link);
    if (link->fd < 0 ||
        (link->state != LINK_CONNECTING && link->state != LINK_UP && link->state != LINK_PROCESS))
        return;
    poll_fd.fd = link->fd;
    if (poll(&poll_fd, 1, 0) <= 0) {
        /*
         * The silence of the peer begins now. Do not wait for an error, because the kernel retries
         * the connection for minutes.
         */
        if (link->state == LINK_CONNECTING && link->silent_ns == 0) link->silent_ns = now;
        return;
    }
    getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (link->state == LINK_CONNECTING)
        link_outcome(link, error);
    else
        link_broke(link, error);
}

/* ---- verdicts ------------------------------------------------------------------- */

/*
 * Makes the final check whether PE pe lives. For this check, connects to the IP address of the PE's
 * provider. Returns true if a process listens there. The liveness socket was then unreachable for
 * another reason. For example, its backlog is full, or a firewall allows only the provider's port.
 */
static bool accepts_connection(int pe)
{
    struct sockaddr_storage addr;
    size_t len = sizeof(addr);
    struct pollfd poll_fd = {.events = POLLOUT};
    socklen_t size = sizeof(int);
    int rc = 0;

    if (fi_av_lookup(stp_ofi.main.av, stp_ofi_addr(&stp_ofi.main, pe), &addr, &len) != 0)
        return false;
    poll_fd.fd = socket(addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (poll_fd.fd < 0) return true; /* an error of this PE, not of the peer */
    if (connect(poll_fd.fd, (struct sockaddr *)&addr, (socklen_t)len) != 0 && errno != EINPROGRESS)
        rc = errno;
    if (rc == 0 && poll(&poll_fd, 1, ANSWER_MS) == 0) rc = ETIMEDOUT;
    if (rc == 0) getsockopt(poll_fd.fd, SOL_SOCKET, SO_ERROR, &rc, &size);
    close(poll_fd.fd);
    return rc == 0;
}

static void suspect_locked(int pe, uint64_t now);

static bool same_host(const struct stp_ofi_liveness_addr *a, const struct stp_ofi_liveness_addr *b)
{
    return a->family == b->family && memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

/* Returns another PE that runs on the same host as the link's PE, or -1 if none exists. */
static int neighbour_of(const struct link *link)
{
    struct stp_ofi_liveness_addr live_addr = stp_ofi_liveness_addr_of(link->pe);

    for (int pe = 0; pe < stp_ofi.core->n_pes; pe++) {
        struct stp_ofi_liveness_addr candidate = stp_ofi_liveness_addr_of(pe);

        if (pe != link->pe && pe != stp_ofi.core->pe && same_host(&live_addr, &candidate))
            return pe;
    }
    return -1;
}

/*
 * Returns whether a link to another PE on the peer's host was ever up. Such a link proves that no
 * firewall blocks the liveness sockets of that host. If no such link exists, the first call for the
 * given link starts one.
 */
static bool host_was_reachable_locked(struct link *link, uint64_t now)
{
    struct stp_ofi_liveness_addr live_addr = stp_ofi_liveness_addr_of(link->pe);
    int pe;

    for (int i = 0; i < LINKS; i++) {
        const struct link *candidate = &health.links[i];
        struct stp_ofi_liveness_addr candidate_addr;

        if (candidate == link || candidate->state == LINK_FREE || !candidate->was_up) continue;
        candidate_addr = stp_ofi_liveness_addr_of(candidate->pe);
        if (same_host(&live_addr, &candidate_addr)) return true;
    }
    if (link->neighbour_tried) return false;
    link->neighbour_tried = true;
    pe = neighbour_of(link);
    if (pe >= 0) suspect_locked(pe, now);
    return false;
}

enum verdict { ALIVE, GONE, SILENT };

/*
 * Returns the verdict that follows from the link's state alone. The current time (now) must not be
 * earlier than any time stored in the link.
 */
static enum verdict link_verdict(const struct link *link, uint64_t now)
{
    if (link->state != LINK_WAITING && link->state != LINK_CONNECTING) return ALIVE;
    if (link->resets >= RESETS) return GONE;
    if (max_silence_ns() != 0 && link->silent_ns != 0 && now - link->silent_ns >= max_silence_ns())
        return SILENT;
    return ALIVE;
}

/*
 * Returns the final verdict on the link's PE. While the job ends, the PE counts as dead only if
 * this link was ever up or this PE suspected the peer recently. At other times, if the provider
 * uses IP, accepts_connection() makes the final check. If the provider does not use IP, the PE
 * counts as dead only if this link, or a link to another PE on its host, was ever up.
 */
static enum verdict judge_locked(struct link *link)
{
    uint64_t now = stp_now_ns();
    enum verdict verdict = link_verdict(link, now);

    if (verdict == ALIVE) return ALIVE;
    if (is_finishing())
        return link->was_up || now - link->used_ns <= 2 * STALL_NS ? verdict : ALIVE;
    if (!stp_ofi_speaks_ip())
        return link->was_up || host_was_reachable_locked(link, now) ? verdict : ALIVE;
    if (!accepts_connection(link->pe)) return verdict;
    link->silent_ns = 0;
    link->resets = 0;
    link_wait(link, STEADY_NS);
    return ALIVE;
}

/*
 * Returns the time in nanoseconds since the first call of this function. The first call is made
 * when this PE finds for the first time that another PE has left the ending job.
 */
static uint64_t gone_for(void)
{
    uint64_t now, since;

    pthread_mutex_lock(&health.lock);
    now = stp_now_ns();
    if (health.gone_ns == 0) health.gone_ns = now;
    since = now - health.gone_ns;
    pthread_mutex_unlock(&health.lock);
    return since;
}

_Noreturn static void end_job(int pe, enum verdict verdict)
{
    char text[INET6_ADDRSTRLEN];
    const char *host = stp_ofi_liveness_host(pe, text, sizeof(text));

    stp_ofi_notice_read_socket(); /* does not return if a PE has ended the job */
    if (verdict == GONE)
        stp_ofi.core->fatal("fabric", "pe %d is gone: its process at %s has ended", pe, host);
    stp_ofi.core->fatal("fabric",
                        "pe %d is gone: nothing has been heard from %s for %d seconds "
                        "(SHMEM_PEER_TIMEOUT)",
                        pe, host, stp_ofi.core->env->peer_timeout);
}

/*
 * Ends the job because PE pe is dead. If the job is ending anyway, abandons the requests to PE pe
 * instead, so that no thread waits for them any longer. A PE leaves only after its last message has
 * arrived. If this PE is still waiting after max_silence_ns() nanoseconds, a message is missing,
 * and the function ends the job with an error.
 */
static void end_job_or_abandon(int pe, enum verdict verdict)
{
    char text[INET6_ADDRSTRLEN];

    if (!is_finishing()) end_job(pe, verdict);
    stp_ofi_abandon_reqs_to(pe);
    if (gone_for() > max_silence_ns() && max_silence_ns() != 0)
        stp_ofi.core->fatal("fabric", "pe %d at %s ended before its last message arrived", pe,
                            stp_ofi_liveness_host(pe, text, sizeof(text)));
}

/*
 * Polls all links and calls on_dead() for each dead PE. Does not poll if another thread polls, or
 * if the last poll was less than POLL_NS ago.
 */
static void links_poll(void (*on_dead)(int pe, enum verdict verdict))
{
    enum verdict verdicts[LINKS];
    int pes[LINKS];
    uint64_t now;
    int n = 0;

    stp_ofi_notice_read_socket();
    stp_ofi_fd_exhaustion_check();
    if (pthread_mutex_trylock(&health.lock) != 0) return;
    now = stp_now_ns();
    for (int i = 0; i < LINKS && now - health.polled_ns >= (is_finishing() ? FINISH_NS : POLL_NS);
         i++) {
        struct link *link = &health.links[i];

        if (link->state == LINK_FREE) continue;
        link_poll(link, now);
        verdicts[n] = judge_locked(link);
        pes[n] = link->pe;
        n += verdicts[n] != ALIVE;
    }
    if (now - health.polled_ns >= POLL_NS) health.polled_ns = now;
    pthread_mutex_unlock(&health.lock);
    for (int i = 0; i < n; i++)
        on_dead(pes[i], verdicts[i]);
}

void stp_ofi_failure_poll(void)
{
    links_poll(end_job_or_abandon);
}

/*
 * Starts a link to PE pe if there is no link to it yet. If all links are in use, replaces the least
 * recently used link.
 */
static void suspect_locked(int pe, uint64_t now)
{
    struct link *victim = NULL;

    for (int i = 0; i < LINKS; i++) {
        struct link *link = &health.links[i];

        if (link->state != LINK_FREE && link->pe == pe) {
            link->used_ns = now;
            return;
        }
        if (i > 0 && (victim == NULL || link->state == LINK_FREE ||
                      (victim->state != LINK_FREE && link->used_ns < victim->used_ns)))
            victim = link;
    }
    /* Do not replace a link that was used recently, because its PE is still a suspect. */
    if (victim->state != LINK_FREE && now - victim->used_ns < 2 * STALL_NS) return;
    link_free(victim);
    *victim = (struct link){.state = LINK_WAITING, .pe = pe, .fd = -1, .used_ns = now};
}

static void suspect_targets(void)
{
    int pes[LINKS];
    int n = stp_ofi_targets(pes, LINKS - 1);
    uint64_t now;

    pthread_mutex_lock(&health.lock);
    now = stp_now_ns();
    for (int i = 0; i < n; i++)
        if (pes[i] != stp_ofi.core->pe) suspect_locked(pes[i], now);
    if (is_finishing()) health.polled_ns = 0;
    pthread_mutex_unlock(&health.lock);
}

void stp_ofi_failure_blame(void)
{
    suspect_targets();
    for (int ms = 0; ms < BLAME_MS; ms += 10) {
        /*
         * Pass end_job(), because end_job_or_abandon() locks endpoints and the caller holds such a
         * lock.
         */
        links_poll(end_job);
        poll(NULL, 0, 10);
    }
}

/* ---- the module's side ------------------------------------------------------------ */

/*
 * Waits until the link is up, but at most FIRST_MS milliseconds. Only the failure of a link that
 * was up proves that the PE has died.
 */
static void await_first_locked(struct link *link)
{
    uint64_t end = stp_now_ns() + (uint64_t)FIRST_MS * 1000000u;

    while (link->state == LINK_CONNECTING && stp_now_ns() < end) {
        struct pollfd poll_fd = {.fd = link->fd, .events = POLLOUT};

        poll(&poll_fd, 1, FIRST_MS);
        link_poll(link, stp_now_ns());
    }
}

/* Frees all links. Also runs in a forked child, because a child must not use its parent's links. */
static void links_free(void)
{
    for (int i = 0; i < LINKS; i++)
        link_free(&health.links[i]);
}

void stp_ofi_failure_connect(void)
{
    static bool atfork;
    int n_pes = stp_ofi.core->n_pes, next = (stp_ofi.core->pe + 1) % n_pes;

    /* Lock the links, because the progress thread may already poll them. */
    pthread_mutex_lock(&health.lock);
    for (int i = 0; i < LINKS; i++)
        health.links[i] = (struct link){.state = LINK_FREE, .fd = -1};
    if (!atfork) atfork = pthread_atfork(NULL, NULL, links_free) == 0;
    if (n_pes > 1) {
        stp_ofi_liveness_set_addrs_known();
        health.links[0] = (struct link){.state = LINK_WAITING, .pe = next, .fd = -1};
        link_start(&health.links[0]);
        await_first_locked(&health.links[0]);
    }
    pthread_mutex_unlock(&health.lock);
}

/*
 * Another thread may close these descriptors while the caller polls them. The caller's sleep then
 * ends early or at its time limit.
 */
void stp_ofi_failure_fds(struct pollfd fds[STP_OFI_FAILURE_FDS])
{
    const struct link *link = &health.links[0];

    fds[0].fd = -1;
    fds[1] = (struct pollfd){.fd = stp_ofi_notice_fd(), .events = POLLIN};
    if (stp_ofi.core->n_pes == 1 || is_finishing()) return;
    if (pthread_mutex_trylock(&health.lock) != 0) return;
    if (link->state == LINK_UP || link->state == LINK_PROCESS || link->state == LINK_CONNECTING) {
        fds[0].fd = link->fd;
        fds[0].events = link->state == LINK_CONNECTING ? POLLOUT : POLLIN;
    }
    pthread_mutex_unlock(&health.lock);
}

void stp_ofi_failure_close(void)
{
    links_free();
    stp_ofi_liveness_close_own_sockets();
    health.gone_ns = 0;
    stp_ofi_fd_exhaustion_reset();
    stp_ofi_amo_loss_reset();
}

void stp_ofi_wait_stalled(struct stp_ofi_wait *wait)
{
    uint64_t now = stp_now_ns();
    int pe;

    if (stp_ofi.core->on_stall != NULL)
        stp_ofi.core->on_stall(++wait->n_stalls, stp_ofi_targets(&pe, 1) > 0 ? pe : -1);
    if (wait->since_ns == 0) {
        wait->since_ns = now;
    } else if (now - wait->since_ns > (is_finishing() ? FINISH_NS : STALL_NS)) {
        wait->since_ns = now;
        suspect_targets();
        stp_ofi_ping_for_lost_messages();
        stp_ofi_amo_loss_check(wait->endpoint);
        stp_ofi_failure_poll();
    }
}
