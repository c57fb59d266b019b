/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets the progress thread sleep on the provider's TCP sockets instead of a wait descriptor. If the
 * completion queue has a wait descriptor, libfabric 1.17 keeps the sockets in nested epoll sets.
 * This costs 1.5 us per operation even if no thread sleeps. This file finds the provider's sockets
 * in /proc/self/fd. Such a socket is bound to the address of this PE's endpoint or connected to the
 * address of a PE. If this file misses a socket, the data at this socket is only delayed, because
 * every sleep has a time limit. The limit is 1 ms after traffic, and grows while nothing arrives.
 * Design: docs/design/fabric.md.
 */
#include "tcp_socket_sleep.h"

#include "peer_liveness_and_fd_limits.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define MAX_PES 64 /* largest value of the field sleepers in provider_table.c */
#define FIRST (1 + STP_OFI_FAILURE_FDS)
/*
 * Maximum number of descriptors that a sleep polls. Events at further sockets do not end a sleep.
 * They are handled when the sleep ends at its time limit.
 */
#define MAX_FDS 192
#define MAX_SLEEP_MS 128
#define DOUBLINGS 7 /* number of doublings from 1 ms to MAX_SLEEP_MS */
#define RUSH 4096
/*
 * Number of wake-ups after which the sockets are searched again. The search is necessary because
 * the provider may have closed sockets, and the program may have reused their descriptors.
 */
#define WAKES_PER_SCAN 64

union address {
    struct sockaddr sa;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

static struct {
    union address my_addr;
    union address pes[MAX_PES];
    int n_pes; /* number of valid entries in pes */
    /*
     * Stream of the directory /proc/self/fd. It stays open between scans, because a program may
     * check that its list of open descriptors does not change.
     */
    DIR *dir;
    /*
     * Descriptors to poll. Entry 0 is wake_fd, and the descriptors of stp_ofi_failure_fds() follow.
     * The provider's sockets begin at index FIRST.
     */
    struct pollfd fds[MAX_FDS];
    nfds_t n_fds;
    int listener;      /* index of the provider's listening socket in fds, or 0 */
    unsigned n_calm;   /* number of consecutive sleeps that ended by timeout */
    unsigned n_wakes;  /* number of events that ended or prevented a sleep */
    unsigned n_rushed; /* number of consecutive checks that found an event */
    bool scan;         /* true if a scan for sockets must precede the next sleep */
    /* True if new connections may exist. Scans for sockets then continue for a while. */
    bool unsettled;
} sockets;

/* ---- this job's processes ------------------------------------------------- */

static bool is_any(const union address *address)
{
    if (address->sa.sa_family == AF_INET) return address->in.sin_addr.s_addr == INADDR_ANY;
    return IN6_IS_ADDR_UNSPECIFIED(&address->in6.sin6_addr);
}

/*
 * Compares two socket addresses. Returns true if their families, ports and hosts are equal. The
 * hosts may differ if the host in *known is the wildcard address.
 */
static bool matches(const union address *known, const union address *found)
{
    if (known->sa.sa_family != found->sa.sa_family) return false;
    if (known->sa.sa_family == AF_INET)
        return known->in.sin_port == found->in.sin_port &&
               (is_any(known) || known->in.sin_addr.s_addr == found->in.sin_addr.s_addr);
    return known->in6.sin6_port == found->in6.sin6_port &&
           (is_any(known) ||
            memcmp(&known->in6.sin6_addr, &found->in6.sin6_addr, sizeof(struct in6_addr)) == 0);
}

static bool is_internet(const union address *address)
{
    return address->sa.sa_family == AF_INET || address->sa.sa_family == AF_INET6;
}

/* Returns whether the socket fd is bound to this PE's endpoint address or connected to a PE. */
static bool is_ours(int fd)
{
    union address address = {0};
    socklen_t len = sizeof(address);
    int n_pes;

    if (getsockname(fd, &address.sa, &len) != 0 || !is_internet(&address)) return false;
    if (matches(&sockets.my_addr, &address)) return true;
    len = sizeof(address);
    if (getpeername(fd, &address.sa, &len) != 0) return false;
    /* Pairs with the release store in stp_ofi_socket_sleep_set_peers(). */
    n_pes = __atomic_load_n(&sockets.n_pes, __ATOMIC_ACQUIRE);
    for (int pe = 0; pe < n_pes; pe++)
        if (matches(&sockets.pes[pe], &address)) return true;
    return false;
}

static void scan(void)
{
    struct dirent *entry;

    sockets.scan = false;
    sockets.n_fds = FIRST;
    sockets.listener = 0;
    if (sockets.dir == NULL) return;
    rewinddir(sockets.dir);
    while (sockets.n_fds < MAX_FDS && (entry = readdir(sockets.dir)) != NULL) {
        int fd = atoi(entry->d_name); /* 0 for the entries "." and "..", which are skipped */

        if (fd <= 0 || !is_ours(fd)) continue;
        if (fd == stp_ofi_provider_listener_fd()) sockets.listener = (int)sockets.n_fds;
        sockets.fds[sockets.n_fds++] = (struct pollfd){.fd = fd};
    }
}

/* ---- sleeping ------------------------------------------------------------- */

/*
 * Polls all descriptors once, without waiting. Returns true if one of them has input or an error.
 * Also sets the events that end the next sleep. Input on a socket always ends the sleep. If the
 * send buffer of a socket is full, the provider may have more data to send. Free space in this
 * buffer then also ends the sleep.
 */
static bool poll_once(void)
{
    bool ready = false;

    for (nfds_t i = FIRST; i < sockets.n_fds; i++)
        sockets.fds[i].events = POLLIN | POLLOUT;
    poll(sockets.fds, sockets.n_fds, 0);
    for (nfds_t i = 0; i < sockets.n_fds; i++) {
        short found = sockets.fds[i].revents;

        if (found & ~POLLOUT || (found != 0 && i < FIRST)) ready = true;
        if (i >= FIRST) sockets.fds[i].events = found & POLLOUT ? POLLIN : POLLIN | POLLOUT;
    }
    return ready;
}

/*
 * Returns the time limit of the next sleep in milliseconds. The limit grows (1, 1, 2, 2, 4, ...)
 * while sleeps end without an event. The limit bounds the delay of events at sockets that this file
 * has missed. Such events are less likely after a long time without any event.
 */
static int sleep_ms(void)
{
    unsigned doubled = sockets.n_calm / 2;

    return doubled < DOUBLINGS ? 1 << doubled : MAX_SLEEP_MS;
}

/* Updates the state after an event. Stops polling broken sockets, which the provider will close. */
static void after_wakeup(void)
{
    for (nfds_t i = FIRST; i < sockets.n_fds; i++) {
        short found = sockets.fds[i].revents;

        if (found & (POLLNVAL | POLLERR | POLLHUP)) {
            sockets.fds[i].fd = -1;
            sockets.unsettled = true;
        } else if (found != 0 && (int)i == sockets.listener) {
            sockets.unsettled = sockets.scan = true;
        }
    }
    if (++sockets.n_wakes % WAKES_PER_SCAN == 0) sockets.scan = true;
    sockets.n_calm = 0;
}

void stp_ofi_socket_sleep(int limit_ms, const struct pollfd extra_fds[STP_OFI_FAILURE_FDS])
{
    int ms = sleep_ms();
    bool ready;

    if (sockets.scan) scan();
    memcpy(sockets.fds + 1, extra_fds, STP_OFI_FAILURE_FDS * sizeof(*extra_fds));
    if (limit_ms >= 0 && limit_ms < ms) ms = limit_ms;
    ready = poll_once();
    sockets.n_rushed = ready ? sockets.n_rushed + 1 : 0;
    /*
     * Rest for 1 ms after more than RUSH consecutive polls that found an event. Otherwise this
     * thread could spin forever on an event that the provider never handles. Under heavy traffic,
     * the rest is too rare to matter.
     */
    if (sockets.n_rushed > RUSH) {
        sockets.n_rushed = 0;
        poll(sockets.fds, 1, 1);
    }
    if (ready || poll(sockets.fds, sockets.n_fds, ms) > 0) {
        after_wakeup();
        return;
    }
    sockets.scan = sockets.unsettled && sockets.n_calm % 2 == 0;
    if (ms == MAX_SLEEP_MS)
        sockets.unsettled = false;
    else
        sockets.n_calm++;
}

void stp_ofi_socket_sleep_mark_stale(void)
{
    /*
     * Do not search for sockets before the next sleep, because the application may soon make calls
     * again. The search follows if that sleep ends without an event.
     */
    sockets.unsettled = true;
    sockets.n_calm = 0;
}

/* ---- set up --------------------------------------------------------------- */

bool stp_ofi_socket_sleep_usable(const struct fi_info *info, int n_pes)
{
    bool small_job = n_pes <= stp_ofi_provider_of(info)->sleepers;
    DIR *dir = small_job ? opendir("/proc/self/fd") : NULL;

    if (dir == NULL) return false;
    closedir(dir);
    return true;
}

void stp_ofi_socket_sleep_init(int wake_fd)
{
    unsigned char my_addr[STP_FABRIC_ADDR_MAX] = {0};
    size_t len;

    memset(&sockets, 0, sizeof(sockets));
    /*
     * This call succeeds, because the same call has already succeeded when the module was opened. A
     * failure would only delay progress.
     */
    if (stp_ofi_make_published_address(my_addr, &len) == 0)
        memcpy(&sockets.my_addr, my_addr, sizeof(sockets.my_addr));
    sockets.dir = opendir("/proc/self/fd");
    sockets.fds[0] = (struct pollfd){.fd = wake_fd, .events = POLLIN};
    for (nfds_t i = 1; i < FIRST; i++)
        sockets.fds[i] = (struct pollfd){.fd = -1};
    sockets.n_fds = FIRST;
    stp_ofi_socket_sleep_mark_stale();
}

void stp_ofi_socket_sleep_fini(void)
{
    if (sockets.dir != NULL) closedir(sockets.dir);
    sockets.dir = NULL;
}

void stp_ofi_socket_sleep_set_peers(const unsigned char *addrs, size_t addr_len, int n_pes)
{
    size_t len = addr_len < sizeof(sockets.pes[0]) ? addr_len : sizeof(sockets.pes[0]);

    for (int pe = 0; pe < n_pes && pe < MAX_PES; pe++)
        memcpy(&sockets.pes[pe], addrs + (size_t)pe * addr_len, len);
    /* Pairs with the acquire load in is_ours(). The progress thread may already run. */
    __atomic_store_n(&sockets.n_pes, n_pes < MAX_PES ? n_pes : MAX_PES, __ATOMIC_RELEASE);
}
