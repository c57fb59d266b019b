/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts file descriptors, finds the provider's listening socket, and detects during a job that
 * this PE has no free descriptor. If no descriptor is free for a new connection, the provider tries
 * forever to accept the connection and reports no error (seen with libfabric 1.17). The PE that
 * connects also tries forever, so both PEs would hang. Therefore a PE without a free descriptor
 * checks whether connections wait at its listening socket.
 * Design: docs/design/security.md.
 */
#include "ofi_internal.h"

#include "peer_liveness_and_fd_limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHECK_NS 1000000000ull /* minimum time between two checks */
#define WARN_NS 2000000000ull  /* waiting time of connections after which a warning is logged */

static struct {
    pthread_mutex_t lock; /* guards all other fields except listener */
    uint64_t checked_ns;
    uint64_t since_ns; /* time at which waiting connections were first seen, or 0 */
    /*
     * Descriptor of the provider's listening socket, or -1. It changes only while no other thread
     * runs.
     */
    int listener;
    bool warned;
} descriptors = {.lock = PTHREAD_MUTEX_INITIALIZER, .listener = -1};

bool stp_ofi_fds_exhausted(void)
{
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

    if (fd < 0) return errno == EMFILE || errno == ENFILE;
    close(fd);
    return false;
}

/* ---- the provider's listening socket --------------------------------------------- */

in_port_t stp_ofi_port_of(const struct sockaddr *addr)
{
    if (addr->sa_family == AF_INET) return ((const struct sockaddr_in *)addr)->sin_port;
    if (addr->sa_family == AF_INET6) return ((const struct sockaddr_in6 *)addr)->sin6_port;
    return 0;
}

static bool listens_at(int fd, in_port_t port)
{
    struct sockaddr_storage addr = {0};
    socklen_t len = sizeof(addr), size = sizeof(int);
    int on = 0;

    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &size) == 0 && on != 0 &&
           getsockname(fd, (struct sockaddr *)&addr, &len) == 0 &&
           stp_ofi_port_of((struct sockaddr *)&addr) == port;
}

void stp_ofi_listener_find(const struct sockaddr *name)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;

    descriptors.listener = -1;
    if (dir == NULL) return;
    while (descriptors.listener < 0 && (entry = readdir(dir)) != NULL) {
        int fd = atoi(entry->d_name); /* 0 for the entries "." and ".." */

        if (fd > 0 && listens_at(fd, stp_ofi_port_of(name))) descriptors.listener = fd;
    }
    closedir(dir);
    /* libfabric 1.17 does not set this flag, so executed programs would inherit the socket. */
    if (descriptors.listener >= 0) fcntl(descriptors.listener, F_SETFD, FD_CLOEXEC);
}

int stp_ofi_provider_listener_fd(void)
{
    return descriptors.listener;
}

void stp_ofi_listener_close_in_child(void)
{
    if (descriptors.listener >= 0) close(descriptors.listener);
    descriptors.listener = -1;
}

/* ---- connections that never complete ---------------------------------------------- */

static bool connection_waits(void)
{
    struct pollfd poll_fd = {.fd = descriptors.listener, .events = POLLIN};

    return poll_fd.fd >= 0 && poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & POLLIN) != 0;
}

/*
 * Returns the number of nanoseconds for which connections have waited for a free descriptor, or 0
 * if no connection waits.
 */
static uint64_t waited_ns(uint64_t now)
{
    if (!stp_ofi_fds_exhausted() || !connection_waits())
        descriptors.since_ns = 0;
    else if (descriptors.since_ns == 0)
        descriptors.since_ns = now;
    return descriptors.since_ns != 0 ? now - descriptors.since_ns : 0;
}

void stp_ofi_fd_exhaustion_check(void)
{
    uint64_t limit = (uint64_t)stp_ofi.core->env->peer_timeout * 1000000000u;
    uint64_t now, waited = 0;
    bool warn = false;

    if (stp_ofi.info->addr_format == FI_ADDR_STR) return;
    if (pthread_mutex_trylock(&descriptors.lock) != 0) return;
    now = stp_now_ns();
    if (now - descriptors.checked_ns >= CHECK_NS) {
        descriptors.checked_ns = now;
        waited = waited_ns(now);
        warn = waited >= WARN_NS && !descriptors.warned;
        descriptors.warned |= warn;
    }
    pthread_mutex_unlock(&descriptors.lock);
    if (warn)
        stp_ofi.core->log(STP_LOG_WARN,
                          "fabric: this pe cannot accept connections of other PEs: %s",
                          stp_errno_text(EMFILE));
    if (limit != 0 && waited >= limit)
        stp_ofi.core->fatal("fabric",
                            "this pe has not accepted connections of other PEs for %d seconds "
                            "(SHMEM_PEER_TIMEOUT): %s",
                            stp_ofi.core->env->peer_timeout, stp_errno_text(EMFILE));
}

void stp_ofi_fd_exhaustion_reset(void)
{
    pthread_mutex_lock(&descriptors.lock);
    descriptors.listener = -1;
    descriptors.since_ns = 0;
    pthread_mutex_unlock(&descriptors.lock);
}

/* ---- number of free descriptors ---------------------------------------------------- */

size_t stp_ofi_endpoint_connection_fds(void)
{
    /* The endpoint connects to each peer, and each peer's new endpoint connects to this PE. */
    return 2 * (size_t)(stp_ofi.core->n_pes - 1);
}

size_t stp_ofi_fds_free(void)
{
    size_t limit = stp_limit(RLIMIT_NOFILE, NULL);
    int used = stp_count_fds();

    if (limit == SIZE_MAX || used < 0) return SIZE_MAX;
    return limit > (size_t)used ? limit - (size_t)used : 0;
}
