/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens two sockets of this PE that do not belong to the provider. The liveness socket listens but
 * never accepts. The kernel answers on this socket while the process lives, even if the process is
 * stopped or busy. A datagram socket at the same address receives notices of the end of the job.
 * peer_failure.c connects to the liveness sockets of other PEs.
 *
 * The kernel closes both sockets when the process ends or executes another program. A forked child
 * closes its copies of both sockets, and its copy of the provider's listening socket. Otherwise the
 * parent would seem to be alive as long as the child lives. Design: docs/design/security.md.
 */
#include "ofi_internal.h"

#include "base/ip_address.h"
#include "peer_liveness_and_fd_limits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 4096   /* maximum number of connections that the kernel queues */
#define PORTS_TRIED 16 /* maximum number of attempts to find a port for both sockets */
#define LOCAL_RANDOM 8 /* number of random bytes in the name of a local socket */
#define NOTICES_PER_READ 64
#define NOTICE_MAGIC 0x7374657070654e31u

_Static_assert(sizeof(struct stp_ofi_liveness_addr) == STP_OFI_LIVENESS,
               "the size must be STP_OFI_LIVENESS, the published size");

static struct {
    int listen_fd;
    int notice_fd;
    struct stp_ofi_liveness_addr my_addr;
    bool connected; /* whether the addresses of all liveness sockets are known */
    bool atfork;
    /* Whether this PE has logged a warning that it has no liveness socket. */
    bool warned;
} life = {.listen_fd = -1, .notice_fd = -1};

/*
 * A datagram that contains a notice. The layout is the same on all PEs, because they run the same
 * build.
 */
struct datagram {
    uint64_t magic;
    uint64_t token; /* token of the job */
    struct stp_notice notice;
};

/* ---- addresses ------------------------------------------------------------- */

socklen_t stp_ofi_liveness_sockaddr(const struct stp_ofi_liveness_addr *live_addr,
                                    struct sockaddr_storage *out)
{
    struct sockaddr_in *in4 = (struct sockaddr_in *)out;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
    struct sockaddr_un *local = (struct sockaddr_un *)out;

    memset(out, 0, sizeof(*out));
    switch (live_addr->family) {
    case STP_OFI_LIVENESS_IP4:
        in4->sin_family = AF_INET;
        in4->sin_port = live_addr->port;
        memcpy(&in4->sin_addr, live_addr->address, sizeof(in4->sin_addr));
        return sizeof(*in4);
    case STP_OFI_LIVENESS_IP6:
        in6->sin6_family = AF_INET6;
        in6->sin6_port = live_addr->port;
        memcpy(&in6->sin6_addr, live_addr->address, sizeof(in6->sin6_addr));
        return sizeof(*in6);
    /* The name of an abstract socket begins with a zero byte and is in no file system. */
    default:
        local->sun_family = AF_UNIX;
        memcpy(local->sun_path + 1, live_addr->address, sizeof(live_addr->address));
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + sizeof(live_addr->address));
    }
}

static bool live_addr_from(struct stp_ofi_liveness_addr *live_addr, const struct sockaddr *addr)
{
    unsigned n_bits = 0;
    const unsigned char *bits = stp_ip_bits(addr, &n_bits);

    memset(live_addr, 0, sizeof(*live_addr));
    if (bits == NULL) return false;
    live_addr->family = n_bits == 32 ? STP_OFI_LIVENESS_IP4 : STP_OFI_LIVENESS_IP6;
    memcpy(live_addr->address, bits, n_bits / 8);
    return true;
}

/*
 * Stores the address of this host's first active IPv4 interface in *live_addr. Loopback is
 * excluded. Called if the provider does not use IP addresses. Returns false if there is no such
 * interface.
 */
static bool live_addr_of_host(struct stp_ofi_liveness_addr *live_addr)
{
    struct ifaddrs *ifa_list;
    bool found = false;

    if (getifaddrs(&ifa_list) != 0) return false;
    for (struct ifaddrs *ifa = ifa_list; ifa != NULL && !found; ifa = ifa->ifa_next)
        if (ifa->ifa_addr != NULL && ifa->ifa_addr->sa_family == AF_INET &&
            (ifa->ifa_flags & (IFF_UP | IFF_RUNNING | IFF_LOOPBACK)) == (IFF_UP | IFF_RUNNING))
            found = live_addr_from(live_addr, ifa->ifa_addr);
    freeifaddrs(ifa_list);
    return found;
}

uint64_t stp_ofi_dev_shm_id(void)
{
    struct stat st;

    return stat(STP_OFI_SHM_DIRECTORY, &st) == 0 ? (uint64_t)st.st_dev : 0;
}

/*
 * Makes the name of a liveness socket for a job on one host. The name begins with random bytes, so
 * that other processes cannot guess or reuse it. It also contains the device number of /dev/shm,
 * which PEs compare (dev_shm_check.c). Returns false if the kernel supplies no random bytes.
 */
static bool live_addr_of_process(struct stp_ofi_liveness_addr *live_addr)
{
    uint64_t dev_id = stp_ofi_dev_shm_id();

    memset(live_addr, 0, sizeof(*live_addr));
    live_addr->family = STP_OFI_LIVENESS_LOCAL;
    memcpy(live_addr->address + LOCAL_RANDOM, &dev_id, sizeof(dev_id));
    return getrandom(live_addr->address, LOCAL_RANDOM, 0) == LOCAL_RANDOM;
}

/*
 * Chooses the address of this PE's liveness socket. Uses the IP address of the provider if it has
 * one. Returns false if no address is available.
 */
static bool live_addr_choose(struct stp_ofi_liveness_addr *live_addr, const struct sockaddr *name)
{
    if (stp_ofi.info->addr_format == FI_ADDR_STR) return live_addr_of_process(live_addr);
    return (stp_ofi_speaks_ip() && live_addr_from(live_addr, name)) || live_addr_of_host(live_addr);
}

bool stp_ofi_speaks_ip(void)
{
    uint32_t format = stp_ofi.info->addr_format;

    return format == FI_SOCKADDR || format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6;
}

/*
 * Returns whether the addresses of all PEs are known. The progress thread may call this function
 * before they are known. A thread that ends the job early may do so, too.
 */
static bool is_connected(void)
{
    /* Pairs with the release store in stp_ofi_liveness_set_addrs_known(). */
    return __atomic_load_n(&life.connected, __ATOMIC_ACQUIRE);
}

static struct stp_ofi_liveness_addr published_by(int pe)
{
    struct stp_ofi_liveness_addr live_addr;

    memcpy(&live_addr, stp_ofi.world + (size_t)(pe + 1) * stp_ofi.addr_len - sizeof(live_addr),
           sizeof(live_addr));
    return live_addr;
}

struct stp_ofi_liveness_addr stp_ofi_liveness_addr_of(int pe)
{
    if (!is_connected()) return (struct stp_ofi_liveness_addr){.family = STP_OFI_LIVENESS_NONE};
    return published_by(pe);
}

const char *stp_ofi_liveness_host(int pe, char *text, size_t len)
{
    struct stp_ofi_liveness_addr live_addr = stp_ofi_liveness_addr_of(pe);
    int family = live_addr.family == STP_OFI_LIVENESS_IP4 ? AF_INET : AF_INET6;

    if (live_addr.family == STP_OFI_LIVENESS_LOCAL)
        snprintf(text, len, "this host");
    else if (live_addr.family == STP_OFI_LIVENESS_NONE ||
             inet_ntop(family, live_addr.address, text, (socklen_t)len) == NULL)
        snprintf(text, len, "its host");
    return text;
}

/* ---- this PE's liveness socket ------------------------------------------------------ */

static void close_fd(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/*
 * Closes the sockets in a forked child. Otherwise the kernel would answer on them after the parent
 * has ended.
 */
static void close_in_child(void)
{
    close_fd(&life.listen_fd);
    close_fd(&life.notice_fd);
    stp_ofi_listener_close_in_child();
}

/*
 * Opens a socket of the given type and binds it to *live_addr. Returns the descriptor of the
 * socket, or -errno.
 */
static int socket_at(const struct stp_ofi_liveness_addr *live_addr, int type)
{
    struct sockaddr_storage addr;
    socklen_t len = stp_ofi_liveness_sockaddr(live_addr, &addr);
    int fd = socket(addr.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) return -errno;
    if (bind(fd, (struct sockaddr *)&addr, len) != 0 ||
        (type == SOCK_STREAM && listen(fd, BACKLOG) != 0)) {
        int rc = -errno;

        close(fd);
        return rc;
    }
    return fd;
}

/* Returns the port that the kernel has chosen for the socket fd. */
static uint16_t port_of(int fd)
{
    struct sockaddr_storage addr;
    socklen_t len = sizeof(addr);

    if (getsockname(fd, (struct sockaddr *)&addr, &len) != 0) return 0;
    return stp_ofi_port_of((struct sockaddr *)&addr);
}

/*
 * Opens both sockets at *live_addr. Returns 0, or -errno if the liveness socket cannot be opened.
 * If only the datagram socket cannot be opened, returns 0.
 */
static int open_at(struct stp_ofi_liveness_addr *live_addr)
{
    for (int i = 0; i < PORTS_TRIED; i++) {
        live_addr->port = 0;
        life.listen_fd = socket_at(live_addr, SOCK_STREAM);
        if (life.listen_fd < 0) return life.listen_fd;
        live_addr->port = port_of(life.listen_fd);
        life.notice_fd = socket_at(live_addr, SOCK_DGRAM);
        if (life.notice_fd != -EADDRINUSE || i == PORTS_TRIED - 1) break;
        close_fd(&life.listen_fd);
    }
    if (life.notice_fd < 0) life.notice_fd = -1;
    return 0;
}

void stp_ofi_liveness_listen(const void *provider_addr, void *my_addr_out)
{
    struct stp_ofi_liveness_addr live_addr = life.my_addr;

    if (life.listen_fd < 0 && live_addr_choose(&live_addr, provider_addr)) {
        int rc = open_at(&live_addr);

        if (rc < 0) {
            /*
             * Warn only once, because this function is called again for each address that is
             * published.
             */
            stp_ofi.core->log(life.warned ? STP_LOG_DEBUG : STP_LOG_WARN,
                              "fabric: cannot open the socket through which other PEs notice at "
                              "once that this pe has died: %s",
                              stp_errno_text(-rc));
            life.warned = true;
            life.listen_fd = -1;
            live_addr.family = STP_OFI_LIVENESS_NONE;
        } else if (stp_ofi_speaks_ip()) {
            /*
             * Find the listening socket of the provider. A peer also connects to that socket if it
             * suspects that this process is dead.
             */
            stp_ofi_listener_find(provider_addr);
        }
    }
    if (!life.atfork) life.atfork = pthread_atfork(NULL, NULL, close_in_child) == 0;
    life.my_addr = live_addr;
    memcpy(my_addr_out, &live_addr, sizeof(live_addr));
}

uint64_t stp_ofi_dev_shm_id_of_pe(int pe)
{
    struct stp_ofi_liveness_addr live_addr = published_by(pe);
    uint64_t dev_id;

    memcpy(&dev_id, live_addr.address + LOCAL_RANDOM, sizeof(dev_id));
    return dev_id;
}

void stp_ofi_liveness_set_addrs_known(void)
{
    /* Pairs with the acquire load in is_connected(), whose caller then reads the addresses. */
    __atomic_store_n(&life.connected, true, __ATOMIC_RELEASE);
}

void stp_ofi_liveness_close_own_sockets(void)
{
    close_fd(&life.listen_fd);
    close_fd(&life.notice_fd);
    __atomic_store_n(&life.connected, false, __ATOMIC_RELAXED);
    life.my_addr = (struct stp_ofi_liveness_addr){.family = STP_OFI_LIVENESS_NONE};
}

/* ---- notices -------------------------------------------------------------------- */

int stp_ofi_notice_fd(void)
{
    return life.notice_fd;
}

static void send_to(const struct datagram *datagram, int pe)
{
    struct stp_ofi_liveness_addr live_addr = stp_ofi_liveness_addr_of(pe);
    struct sockaddr_storage addr;
    socklen_t len;

    if (live_addr.family == STP_OFI_LIVENESS_NONE || live_addr.family != life.my_addr.family)
        return;
    len = stp_ofi_liveness_sockaddr(&live_addr, &addr);
    sendto(life.notice_fd, datagram, sizeof(*datagram), MSG_DONTWAIT | MSG_NOSIGNAL,
           (struct sockaddr *)&addr, len);
}

void stp_ofi_notice_send_pow2_peers(const struct stp_notice *notice)
{
    struct datagram datagram;
    int pe = stp_ofi.core->pe, n_pes = stp_ofi.core->n_pes, saved = errno;

    if (life.notice_fd < 0 || !is_connected()) return;
    memset(&datagram, 0, sizeof(datagram)); /* This also clears the padding. */
    datagram.magic = NOTICE_MAGIC;
    datagram.token = stp_ofi.core->job_token;
    datagram.notice = *notice;
    for (int64_t step = 1; step < n_pes; step *= 2) {
        send_to(&datagram, (int)((pe + step) % n_pes));
        send_to(&datagram, (int)((pe + n_pes - step) % n_pes));
    }
    errno = saved;
}

static bool datagram_is_sound(const struct datagram *datagram)
{
    const struct stp_notice *notice = &datagram->notice;

    return datagram->magic == NOTICE_MAGIC && datagram->token == stp_ofi.core->job_token &&
           notice->pe >= 0 && notice->pe < stp_ofi.core->n_pes;
}

void stp_ofi_notice_read_socket(void)
{
    struct datagram datagram;

    if (life.notice_fd < 0) return;
    for (int i = 0; i < NOTICES_PER_READ; i++) {
        ssize_t n = recv(life.notice_fd, &datagram, sizeof(datagram), MSG_DONTWAIT | MSG_TRUNC);

        if (n < 0) return;
        if (n == (ssize_t)sizeof(datagram) && datagram_is_sound(&datagram))
            stp_ofi.core->on_notice(&datagram.notice);
    }
}
