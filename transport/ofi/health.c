/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding dead peers. Providers report operations that break with a connection, but not all:
 * some try to connect again for ever, lose the answer to an atomic without a word, or send into
 * the dark for a quarter of an hour. Each PE therefore listens on a lifeline, a socket of its own
 * that nobody ever reads: the kernel answers on it while the process lives, stopped or busy, and
 * resets it when the process ends. A PE keeps a link to its successor's, and to those of the
 * targets of operations that stand still. Own host: a descriptor of the process instead.
 * Design: docs/design/security.md and fabric.md.
 */
#include "ofi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STALL_NS 1000000000ull   /* a wait is suspicious when nothing completes for so long, */
#define FINISH_NS 20000000ull    /* and when the job is ending: then peers are expected to go */
#define LOOK_NS 100000000ull     /* between two looks at the links */
#define RETRY_NS 1000000000ull   /* between two attempts to reach a silent host */
#define SLEEP_MS 1000            /* of a thread that looks at nothing but the successor's link */
#define ANSWER_MS 2000           /* for the last question before a verdict */
#define BACKLOG 4096             /* links of others that the kernel keeps for us */
#define LINKS 16                 /* to other PEs; the first is the successor's */
#define RESETS 3                 /* of links to one PE, in a row, that mean its end, */
#define STEADY_NS 10000000000ull /* unless it was up for so long in between */

/* What a PE publishes behind its provider's address. family 0: it has no lifeline. */
struct lifeline {
    uint8_t family; /* 4 or 6 */
    uint8_t pad;
    uint16_t port;  /* as the network has it */
    uint8_t ip[16]; /* 4: the first four */
};

_Static_assert(sizeof(struct lifeline) == STP_OFI_LIFELINE, "ofi.h says how long it is");

enum link_state { LINK_FREE, LINK_WAITING, LINK_CONNECTING, LINK_UP, LINK_PROCESS, LINK_USELESS };

struct link {
    enum link_state state;
    int pe;
    int fd;
    int resets;         /* in a row */
    bool was_up;        /* once at least: what it says can be believed */
    uint64_t silent_ns; /* since when nobody answers, 0: somebody does */
    uint64_t next_ns;   /* WAITING: time of the next attempt */
    uint64_t up_ns;     /* UP: since when */
    uint64_t used_ns;   /* last asked for */
};

static struct {
    pthread_mutex_t lock; /* guards links, connected, looked_ns; never held over a verdict */
    int listen_fd;
    struct lifeline mine;
    uint64_t gone_ns;       /* since when a PE was found to have gone in the end; 0: none */
    bool connected; /* the lifelines of all PEs are known */
    struct link links[LINKS];
    uint64_t looked_ns;
    bool atfork;
    bool said; /* that there is no lifeline */
} life = {.lock = PTHREAD_MUTEX_INITIALIZER, .listen_fd = -1};

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_finishing(void)
{
    return atomic_load_explicit(&stp_ofi.finishing, memory_order_relaxed);
}

/* Nanoseconds of silence after which the last question is asked; 0: never. */
static uint64_t patience(void)
{
    int ms = stp_ofi.core->env->peer_timeout * 1000;

    if (ms <= 0) return 0;
    return (uint64_t)(ms > 2 * ANSWER_MS ? ms - ANSWER_MS : ms / 2) * 1000000u;
}

/* ---- addresses ------------------------------------------------------------- */

static socklen_t lifeline_sockaddr(const struct lifeline *line, struct sockaddr_storage *out)
{
    struct sockaddr_in *in4 = (struct sockaddr_in *)out;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;

    memset(out, 0, sizeof(*out));
    if (line->family == 4) {
        in4->sin_family = AF_INET;
        in4->sin_port = line->port;
        memcpy(&in4->sin_addr, line->ip, sizeof(in4->sin_addr));
        return sizeof(*in4);
    }
    in6->sin6_family = AF_INET6;
    in6->sin6_port = line->port;
    memcpy(&in6->sin6_addr, line->ip, sizeof(in6->sin6_addr));
    return sizeof(*in6);
}

static bool lifeline_from(struct lifeline *line, const struct sockaddr *addr)
{
    memset(line, 0, sizeof(*line));
    if (addr->sa_family == AF_INET) {
        line->family = 4;
        memcpy(line->ip, &((const struct sockaddr_in *)addr)->sin_addr, 4);
    } else if (addr->sa_family == AF_INET6) {
        line->family = 6;
        memcpy(line->ip, &((const struct sockaddr_in6 *)addr)->sin6_addr, 16);
    }
    return line->family != 0;
}

/* Adapters have addresses of their own kind: take the host's first interface then. */
static bool lifeline_of_host(struct lifeline *line)
{
    struct ifaddrs *all;
    bool found = false;

    if (getifaddrs(&all) != 0) return false;
    for (struct ifaddrs *at = all; at != NULL && !found; at = at->ifa_next)
        if (at->ifa_addr != NULL && at->ifa_addr->sa_family == AF_INET &&
            (at->ifa_flags & (IFF_UP | IFF_RUNNING | IFF_LOOPBACK)) == (IFF_UP | IFF_RUNNING))
            found = lifeline_from(line, at->ifa_addr);
    freeifaddrs(all);
    return found;
}

/* How PE pe's lifeline is reached; family 0: it has none, or is not known yet. */
static struct lifeline lifeline_of(int pe)
{
    struct lifeline line = {.family = 0};

    if (life.connected && stp_ofi.info->addr_format != FI_ADDR_STR)
        memcpy(&line, stp_ofi.world + (size_t)(pe + 1) * stp_ofi.addr_len - sizeof(line),
               sizeof(line));
    return line;
}

/* The address of PE pe as the provider has it, as text without port, for messages. */
static const char *where_is(int pe, char *text, size_t len)
{
    struct lifeline line = lifeline_of(pe);

    if (line.family == 0 ||
        inet_ntop(line.family == 4 ? AF_INET : AF_INET6, line.ip, text, (socklen_t)len) == NULL)
        snprintf(text, len, "its host");
    return text;
}

/* ---- this PE's lifeline ------------------------------------------------------ */

/* A child must not keep its parent's lifeline alive. */
static void close_in_child(void)
{
    if (life.listen_fd >= 0) close(life.listen_fd);
    life.listen_fd = -1;
    for (int i = 0; i < LINKS; i++) {
        if (life.links[i].fd >= 0 && life.links[i].state != LINK_FREE) close(life.links[i].fd);
        life.links[i].state = LINK_FREE;
    }
}

static int listen_at(struct lifeline *line)
{
    struct sockaddr_storage addr;
    socklen_t len = lifeline_sockaddr(line, &addr);
    int fd = socket(addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) return -errno;
    if (bind(fd, (struct sockaddr *)&addr, len) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&addr, &len) != 0) {
        int rc = -errno;

        close(fd);
        return rc;
    }
    line->port = line->family == 4 ? ((struct sockaddr_in *)&addr)->sin_port
                                   : ((struct sockaddr_in6 *)&addr)->sin6_port;
    return fd;
}

void stp_ofi_lifeline_open(const void *name, void *mine)
{
    const struct sockaddr *addr = name;
    uint32_t format = stp_ofi.info->addr_format;
    struct lifeline line = life.mine;
    bool ip = format == FI_SOCKADDR || format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6;

    if (format != FI_ADDR_STR && life.listen_fd < 0 &&
        ((ip && lifeline_from(&line, addr)) || lifeline_of_host(&line))) {
        life.listen_fd = listen_at(&line);
        if (life.listen_fd < 0) {
            /* Asked for again with each address. */
            stp_ofi.core->log(life.said ? STP_LOG_DEBUG : STP_LOG_WARN,
                              "fabric: no lifeline (%s): the others see later when this pe ends",
                              stp_strerror(-life.listen_fd));
            life.said = true;
            life.listen_fd = -1;
            line.family = 0;
        }
    }
    if (!life.atfork) life.atfork = pthread_atfork(NULL, NULL, close_in_child) == 0;
    life.mine = line;
    memcpy(mine, &line, sizeof(line));
}

/* ---- links -------------------------------------------------------------------- */

static void link_say(const struct link *link, const char *what, int error)
{
    stp_ofi.core->log(STP_LOG_DEBUG, "fabric: link to pe %d: %s%s%s", link->pe, what,
                      error != 0 ? ": " : "", error != 0 ? strerror(error) : "");
}

static void link_wait(struct link *link, uint64_t delay)
{
    if (link->fd >= 0) close(link->fd);
    link->fd = -1;
    link->state = LINK_WAITING;
    link->next_ns = now_ns() + delay;
}

static void link_free(struct link *link)
{
    if (link->state != LINK_FREE && link->fd >= 0) close(link->fd);
    link->fd = -1;
    link->state = LINK_FREE;
}

/* Let the kernel ask the other one now and then, so that silence becomes an error in time. */
static void keep_alive(int fd)
{
    int total = stp_ofi.core->env->peer_timeout, on = 1, probes = 3;
    int every = total / 5 > 0 ? total / 5 : 1, limit = total * 1000;

    if (total <= 0) return;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &every, sizeof(every));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
    limit = every * (probes + 1) * 1000;
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof(limit));
}

static void link_start_process(struct link *link)
{
    char addr[STP_FABRIC_ADDR_MAX + 1] = "";
    const char *at;
    size_t len = STP_FABRIC_ADDR_MAX;
    int pid;

    link->state = LINK_USELESS;
    if (fi_av_lookup(stp_ofi.av, stp_ofi_addr(&stp_ofi.main, link->pe), addr, &len) != 0) return;
    at = strstr(addr, "://"); /* addresses of the shm provider begin with the process number */
    if (sscanf(at != NULL ? at + 3 : addr, "%d:", &pid) != 1 || pid <= 0) return;
    link->fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (link->fd >= 0) {
        link->state = LINK_PROCESS;
        link->was_up = true;
    } else if (errno == ESRCH) {
        link->resets = RESETS;
        link_wait(link, RETRY_NS);
    }
}

/* What became of an attempt to connect: up, refused, or nobody answers. */
static void link_outcome(struct link *link, int error)
{
    if (error == 0) {
        link->state = LINK_UP;
        link->was_up = true;
        link->silent_ns = 0;
        link->up_ns = now_ns();
        link_say(link, "up", 0);
        return;
    }
    link_say(link, "not reached", error);
    if (error == ECONNREFUSED || error == ECONNRESET) {
        link->resets = RESETS;
        link_wait(link, RETRY_NS);
        return;
    }
    if (link->silent_ns == 0) link->silent_ns = now_ns();
    link_wait(link, RETRY_NS);
}

static void link_start(struct link *link)
{
    struct sockaddr_storage addr;
    struct lifeline line = lifeline_of(link->pe);
    socklen_t len;

    if (stp_ofi.info->addr_format == FI_ADDR_STR) {
        link_start_process(link);
        return;
    }
    if (line.family == 0) {
        link->state = LINK_USELESS;
        link_say(link, "none: it has no lifeline", 0);
        return;
    }
    len = lifeline_sockaddr(&line, &addr);
    link->fd = socket(addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (link->fd < 0) { /* our trouble, not the peer's */
        link_wait(link, RETRY_NS);
        return;
    }
    link_say(link, "connecting", 0);
    keep_alive(link->fd);
    link->state = LINK_CONNECTING;
    if (connect(link->fd, (struct sockaddr *)&addr, len) != 0 && errno != EINPROGRESS)
        link_outcome(link, errno);
}

/* The link broke: with the process, with the host, or by whatever stands between us. */
static void link_broke(struct link *link, int error)
{
    link_say(link, "broken", error);
    if (link->state == LINK_PROCESS) {
        link->resets = RESETS;
        link_wait(link, RETRY_NS);
    } else if (error == 0 || error == ECONNRESET || error == EPIPE) {
        link->resets = now_ns() - link->up_ns > STEADY_NS ? 1 : link->resets + 1;
        link_wait(link, 0);
    } else { /* the kernel has asked in vain for as long as it was told to */
        if (link->silent_ns == 0) {
            uint64_t now = now_ns(), ago = patience() / 5 * 4;

            link->silent_ns = now > ago ? now - ago : 1;
        }
        link_wait(link, 0);
    }
}

static void link_look(struct link *link, uint64_t now)
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
        /* The kernel sends SYN after SYN for minutes: the clock of silence runs meanwhile. */
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
 * The last question, when the provider's addresses are IP: somebody listening there would prove
 * the lifeline wrong (a firewall lets only the provider's port through; its backlog is full).
 */
static bool answers(int pe)
{
    struct sockaddr_storage addr;
    size_t len = sizeof(addr);
    struct pollfd poll_fd = {.events = POLLOUT};
    socklen_t size = sizeof(int);
    int rc = 0;

    if (stp_ofi.info->addr_format == FI_ADDR_STR ||
        fi_av_lookup(stp_ofi.av, stp_ofi_addr(&stp_ofi.main, pe), &addr, &len) != 0 ||
        (addr.ss_family != AF_INET && addr.ss_family != AF_INET6))
        return false;
    poll_fd.fd = socket(addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (poll_fd.fd < 0) return true; /* our trouble, not the peer's */
    if (connect(poll_fd.fd, (struct sockaddr *)&addr, (socklen_t)len) != 0 && errno != EINPROGRESS)
        rc = errno;
    if (rc == 0 && poll(&poll_fd, 1, ANSWER_MS) == 0) rc = ETIMEDOUT;
    if (rc == 0) getsockopt(poll_fd.fd, SOL_SOCKET, SO_ERROR, &rc, &size);
    close(poll_fd.fd);
    return rc == 0;
}

enum verdict { ALIVE, GONE, SILENT };

/* What the link says, before the last question. */
static enum verdict link_verdict(const struct link *link, uint64_t now)
{
    if (link->state != LINK_WAITING && link->state != LINK_CONNECTING) return ALIVE;
    if (link->resets >= RESETS) return GONE;
    if (patience() != 0 && link->silent_ns != 0 && now - link->silent_ns >= patience())
        return SILENT;
    return ALIVE;
}

/* In the end PEs go, but not before the others have their last words: no wait for those is long. */
static void let_go(int pe, const char *where)
{
    uint64_t now = now_ns();

    stp_ofi_abandon(pe);
    if (life.gone_ns == 0) life.gone_ns = now;
    if (patience() != 0 && now - life.gone_ns > patience())
        stp_ofi.core->fatal("fabric", "pe %d at %s ended without its last word", pe, where);
}

static void end(int pe, enum verdict verdict)
{
    char where[INET6_ADDRSTRLEN];

    where_is(pe, where, sizeof(where));
    if (is_finishing()) {
        let_go(pe, where);
        return;
    }
    if (verdict == GONE)
        stp_ofi.core->fatal("fabric", "pe %d is gone: its process at %s has ended", pe, where);
    stp_ofi.core->fatal("fabric",
                        "pe %d is gone: nothing has been heard from %s for %d seconds "
                        "(SHMEM_PEER_TIMEOUT)",
                        pe, where, stp_ofi.core->env->peer_timeout);
}

/* Look at all links, at most every LOOK_NS; one thread at a time. */
void stp_ofi_health_look(void)
{
    uint64_t now = now_ns();
    enum verdict verdicts[LINKS];
    int pes[LINKS];
    int n = 0;

    stp_ofi_descriptors_look();
    if (pthread_mutex_trylock(&life.lock) != 0) return;
    for (int i = 0; i < LINKS && now - life.looked_ns >= (is_finishing() ? FINISH_NS : LOOK_NS);
         i++) {
        struct link *link = &life.links[i];

        if (link->state == LINK_FREE) continue;
        link_look(link, now);
        verdicts[n] = link_verdict(link, now);
        pes[n] = link->pe;
        if (verdicts[n] != ALIVE && !is_finishing() && answers(link->pe)) {
            link->silent_ns = 0;
            link->resets = 0;
            link_wait(link, STEADY_NS);
            verdicts[n] = ALIVE;
        }
        /* Nothing is known of a lifeline that was never reached, unless we wait for that PE. */
        if (!link->was_up && now - link->used_ns > 2 * STALL_NS) verdicts[n] = ALIVE;
        n += verdicts[n] != ALIVE;
    }
    if (now - life.looked_ns >= LOOK_NS) life.looked_ns = now;
    pthread_mutex_unlock(&life.lock);
    for (int i = 0; i < n; i++)
        end(pes[i], verdicts[i]);
}

/* A link to PE pe, made if there is none; the one unused for longest makes room. */
static void suspect_locked(int pe, uint64_t now)
{
    struct link *victim = NULL;

    for (int i = 0; i < LINKS; i++) {
        struct link *link = &life.links[i];

        if (link->state != LINK_FREE && link->pe == pe) {
            link->used_ns = now;
            return;
        }
        if (i > 0 && (victim == NULL || link->state == LINK_FREE ||
                      (victim->state != LINK_FREE && link->used_ns < victim->used_ns)))
            victim = link;
    }
    /* All taken by suspects of this moment: they have to be cleared first. */
    if (victim->state != LINK_FREE && now - victim->used_ns < 2 * STALL_NS) return;
    link_free(victim);
    *victim = (struct link){.state = LINK_WAITING, .pe = pe, .fd = -1, .used_ns = now};
}

static void suspect_targets(void)
{
    int pes[LINKS];
    int n = stp_ofi_targets(pes, LINKS - 1);
    uint64_t now = now_ns();

    pthread_mutex_lock(&life.lock);
    for (int i = 0; i < n; i++)
        if (pes[i] != stp_ofi.core->pe) suspect_locked(pes[i], now);
    if (is_finishing()) life.looked_ns = 0;
    pthread_mutex_unlock(&life.lock);
}

/* ---- the module's side ------------------------------------------------------------ */

void stp_ofi_health_connect(void)
{
    int n_pes = stp_ofi.core->n_pes, next = (stp_ofi.core->pe + 1) % n_pes;

    pthread_mutex_lock(&life.lock); /* the progress thread looks already */
    for (int i = 0; i < LINKS; i++)
        life.links[i] = (struct link){.state = LINK_FREE, .fd = -1};
    if (n_pes > 1) {
        life.connected = true;
        life.links[0] = (struct link){.state = LINK_WAITING, .pe = next, .fd = -1};
        link_start(&life.links[0]);
    }
    pthread_mutex_unlock(&life.lock);
}

int stp_ofi_health_sleep(struct pollfd *fd)
{
    const struct link *link = &life.links[0];

    fd->fd = -1;
    if (stp_ofi.core->n_pes == 1 || is_finishing()) return -1;
    if (pthread_mutex_trylock(&life.lock) != 0) return SLEEP_MS;
    if (link->state == LINK_UP || link->state == LINK_PROCESS || link->state == LINK_CONNECTING) {
        fd->fd = link->fd;
        fd->events = link->state == LINK_CONNECTING ? POLLOUT : POLLIN;
    }
    pthread_mutex_unlock(&life.lock);
    return SLEEP_MS; /* another thread may start or drop a link meanwhile */
}

void stp_ofi_health_close(void)
{
    for (int i = 0; i < LINKS; i++)
        link_free(&life.links[i]);
    if (life.listen_fd >= 0) close(life.listen_fd);
    life.listen_fd = -1;
    life.connected = false;
    life.mine.family = 0;
    life.gone_ns = 0;
    stp_ofi_descriptors_forget();
    stp_ofi_lost_forget();
}

void stp_ofi_wait_stalled(struct stp_ofi_wait *wait)
{
    uint64_t now = now_ns();

    if (wait->since_ns == 0) {
        wait->since_ns = now;
    } else if (now - wait->since_ns > (is_finishing() ? FINISH_NS : STALL_NS)) {
        wait->since_ns = now;
        suspect_targets();
        stp_ofi_message_check();
        stp_ofi_lost_check(wait->lane);
        stp_ofi_health_look();
    }
}
