/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the IP addresses by which other hosts reach this host. Each host publishes its networks.
 * Every leader then computes the same order of preference for the networks. Networks to which all
 * hosts belong are preferred, the fastest first. If no such network exists, the hosts are connected
 * through routers. An address is then used only if the kernel would send from it to all other
 * hosts. Design: docs/design/launch.md.
 */
#include "boot_internal.h"

#include "pmi/pmi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* IP address that a host publishes. An IPv4 address is in the first four bytes of addr. */
struct network_addr {
    unsigned char addr[16];
    uint8_t version;
    uint8_t prefix;
    /* Whether the link has a carrier (1 or 0). The kernel reports a new carrier with a delay. */
    uint16_t running;
    uint32_t speed; /* speed in Mb/s, or 0 if unknown */
};

struct network_host {
    /*
     * Hash that identifies the network stack. It is equal on hosts that share one stack, such as
     * containers on one machine.
     */
    uint64_t identity;
    uint32_t n;
    struct network_addr addrs[STP_NETWORKS_MAX];
};

static struct network_host network_mine;
static char network_names[STP_NETWORKS_MAX][IF_NAMESIZE];

/* ---- this host ------------------------------------------------------------- */

/* Returns a hash of the kernel's boot ID and of the network namespace of this process. */
static uint64_t network_identity(void)
{
    char boot_id[64] = "";
    struct stat ns = {0};
    uint64_t hash = STP_HASH_EMPTY;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        if (read(fd, boot_id, sizeof(boot_id)) < 0) boot_id[0] = '\0';
        close(fd);
    }
    if (boot_id[0] == '\0') snprintf(boot_id, sizeof(boot_id), "%s", stp_hostname());
    if (stat("/proc/self/ns/net", &ns) != 0) ns.st_ino = 0;
    hash = stp_hash(hash, boot_id, sizeof(boot_id));
    return stp_hash(hash, &ns.st_ino, sizeof(ns.st_ino));
}

/*
 * Returns the speed of an interface in Mb/s, or 0 if it is unknown. Asks the driver, because /sys
 * may show the devices of another network namespace.
 */
static uint32_t network_speed(int fd, const char *name)
{
    struct ethtool_cmd command = {.cmd = ETHTOOL_GSET};
    struct ifreq request = {.ifr_data = (char *)&command};
    uint32_t speed;

    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    if (fd < 0 || ioctl(fd, SIOCETHTOOL, &request) != 0) return 0;
    speed = (uint32_t)command.speed_hi << 16 | command.speed;
    return speed == (uint32_t)SPEED_UNKNOWN || speed == UINT16_MAX ? 0 : speed;
}

static uint8_t network_prefix(const unsigned char *mask, size_t nbytes)
{
    unsigned bits = 0;

    while (bits < 8 * nbytes && mask[bits / 8] >> (7 - bits % 8) & 1)
        bits++;
    return (uint8_t)bits;
}

/*
 * Converts an address of an interface from the format of getifaddrs(). Returns false if no other
 * host can use the address, for example a loopback address.
 */
static bool network_read(const struct ifaddrs *from, struct network_addr *to)
{
    const struct sockaddr_in *v4 = (const void *)from->ifa_addr, *mask4 = (void *)from->ifa_netmask;
    const struct sockaddr_in6 *v6 = (const void *)from->ifa_addr,
                              *mask6 = (void *)from->ifa_netmask;

    memset(to, 0, sizeof(*to));
    if (from->ifa_addr == NULL || from->ifa_netmask == NULL) return false;
    if ((from->ifa_flags & (IFF_UP | IFF_LOOPBACK)) != IFF_UP) return false;
    to->running = (from->ifa_flags & IFF_RUNNING) != 0;
    if (from->ifa_addr->sa_family == AF_INET) {
        to->version = 4;
        memcpy(to->addr, &v4->sin_addr, 4);
        to->prefix = network_prefix((const void *)&mask4->sin_addr, 4);
        return true;
    }
    if (from->ifa_addr->sa_family != AF_INET6 || IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
        return false;
    to->version = 6;
    memcpy(to->addr, &v6->sin6_addr, 16);
    to->prefix = network_prefix((const void *)&mask6->sin6_addr, 16);
    return true;
}

static void network_list(struct network_host *host)
{
    struct ifaddrs *all = NULL;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    memset(host, 0, sizeof(*host));
    host->identity = network_identity();
    if (getifaddrs(&all) != 0) all = NULL;
    for (struct ifaddrs *at = all; at != NULL && host->n < STP_NETWORKS_MAX; at = at->ifa_next) {
        if (!network_read(at, &host->addrs[host->n])) continue;
        host->addrs[host->n].speed = network_speed(fd, at->ifa_name);
        snprintf(network_names[host->n++], IF_NAMESIZE, "%s", at->ifa_name);
    }
    freeifaddrs(all);
    if (fd >= 0) close(fd);
}

/*
 * Fills in *network for address i of this host. The fields rank and refused stay empty, because
 * they depend on data of other hosts.
 */
static void network_fill(uint32_t i, struct stp_network *network)
{
    const struct network_addr *addr = &network_mine.addrs[i];

    *network = (struct stp_network){.version = addr->version, .prefix = addr->prefix};
    memcpy(network->name, network_names[i], sizeof(network->name));
    memcpy(network->addr, addr->addr, sizeof(network->addr));
}

int stp_network_here(struct stp_network networks[STP_NETWORKS_MAX])
{
    network_list(&network_mine);
    for (uint32_t i = 0; i < network_mine.n; i++)
        network_fill(i, &networks[i]);
    return (int)network_mine.n;
}

void stp_network_publish_host(int pe)
{
    network_list(&network_mine);
    stp_boot_publish("net", pe, &network_mine,
                     offsetof(struct network_host, addrs) +
                         network_mine.n * sizeof(struct network_addr));
}

/* ---- other members --------------------------------------------------------- */

static bool network_same_net(const struct network_addr *a, const struct network_addr *b)
{
    return a->version == b->version && a->prefix == b->prefix &&
           stp_same_bits(a->addr, b->addr, a->prefix);
}

static bool network_same_addr(const struct network_addr *a, const struct network_addr *b)
{
    return a->version == b->version && memcmp(a->addr, b->addr, sizeof(a->addr)) == 0;
}

/*
 * Finds an address of a host that is in the same network as the address `mine`. Skips addresses
 * equal to `mine`, as network_routes() does. Returns NULL if the host has no such address.
 */
static const struct network_addr *network_meet(const struct network_addr *mine,
                                               const struct network_host *host)
{
    for (uint32_t i = 0; i < host->n; i++)
        if (network_same_net(mine, &host->addrs[i]) && !network_same_addr(mine, &host->addrs[i]))
            return &host->addrs[i];
    return NULL;
}

/*
 * Returns true if the kernel would use the source address `mine` for packets to at least one
 * address of the host. Sends no packet. Skips addresses of the host that are equal to `mine`,
 * because bridges for virtual machines have the same address on every host.
 */
static bool network_routes(const struct network_addr *mine, const struct network_host *host)
{
    bool found = false;

    for (uint32_t i = 0; i < host->n && !found; i++) {
        const struct network_addr *addr = &host->addrs[i];
        struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(9)};
        struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
        bool old = addr->version == 4;
        socklen_t len = old ? sizeof(v4) : sizeof(v6);
        void *to = old ? (void *)&v4 : (void *)&v6;
        void *bits = old ? (void *)&v4.sin_addr : (void *)&v6.sin6_addr;
        size_t n_bits = old ? 4 : 16;
        int fd;

        if (addr->version != mine->version || network_same_addr(mine, addr)) continue;
        fd = socket(old ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        memcpy(bits, addr->addr, n_bits);
        if (fd >= 0 && connect(fd, to, len) == 0 && getsockname(fd, to, &len) == 0)
            found = memcmp(bits, mine->addr, n_bits) == 0;
        if (fd >= 0) close(fd);
    }
    return found;
}

/* ---- the verdict ----------------------------------------------------------- */

/* Value of the field `wrong` in struct network_verdict if the address reaches all hosts. */
#define NOBODY UINT64_MAX

struct network_verdict {
    uint64_t quality; /* lowest value of network_quality() over all hosts */
    uint64_t wrong;   /* first PE of a host that the address does not reach, or NOBODY */
};

/* Rates an address by its carrier, then by its speed. An unknown speed is the lowest. */
static uint64_t network_quality(const struct network_addr *addr)
{
    return (uint64_t)addr->running << 32 | addr->speed;
}

/*
 * Returns the verdict on the address `mine` of this host. The address is good if all other hosts
 * have an address in the same network. pes[i] is the first PE of host i, and n is the number of
 * hosts.
 */
static struct network_verdict network_judge(const struct network_addr *mine,
                                            const struct network_host *hosts, const int *pes, int n)
{
    struct network_verdict verdict = {network_quality(mine), NOBODY};

    for (int i = 0; i < n && verdict.wrong == NOBODY; i++) {
        const struct network_addr *there;

        if (hosts[i].identity == network_mine.identity) continue;
        there = network_meet(mine, &hosts[i]);
        if (there == NULL)
            verdict.wrong = (uint64_t)pes[i];
        else if (network_quality(there) < verdict.quality)
            verdict.quality = network_quality(there);
    }
    return verdict;
}

/*
 * Returns the first PE of a host to which the kernel would not send from the address `mine`.
 * Returns NOBODY if the kernel would use this address for all other hosts.
 */
static uint64_t network_astray(const struct network_addr *mine, const struct network_host *hosts,
                               const int *pes, int n)
{
    for (int i = 0; i < n; i++)
        if (hosts[i].identity != network_mine.identity && !network_routes(mine, &hosts[i]))
            return (uint64_t)pes[i];
    return NOBODY;
}

/*
 * Returns true if network a is preferred to network b. A network of higher quality is preferred. At
 * equal quality, IPv4 is preferred to IPv6, and then the lower address is preferred.
 */
static bool network_before(int a, int b, const struct network_verdict *verdicts)
{
    const struct network_addr *of_a = &network_mine.addrs[a], *of_b = &network_mine.addrs[b];

    if (verdicts[a].quality != verdicts[b].quality)
        return verdicts[a].quality > verdicts[b].quality;
    if (of_a->version != of_b->version) return of_a->version < of_b->version;
    return memcmp(of_a->addr, of_b->addr, sizeof(of_a->addr)) < 0;
}

static void network_text(const struct network_addr *addr, char *text, size_t len)
{
    char bits[INET6_ADDRSTRLEN];

    inet_ntop(addr->version == 4 ? AF_INET : AF_INET6, addr->addr, bits, sizeof(bits));
    snprintf(text, len, "%s/%d", bits, addr->prefix);
}

static void network_tell(const struct network_verdict *verdicts, bool common,
                         struct stp_network *networks)
{
    for (int i = 0; i < (int)network_mine.n; i++) {
        const struct network_addr *addr = &network_mine.addrs[i];
        struct stp_network *network = &networks[i];
        uint64_t wrong = verdicts[i].wrong;
        char text[INET6_ADDRSTRLEN + 8];

        network_fill((uint32_t)i, network);
        for (int k = 0; k < (int)network_mine.n; k++)
            network->rank += verdicts[k].wrong == NOBODY && network_before(k, i, verdicts);
        network_text(addr, text, sizeof(text));
        if (wrong != NOBODY)
            snprintf(network->refusal, sizeof(network->refusal),
                     common ? "the host of PE %d has no other address in network %s"
                            : "the route to the host of PE %d does not use address %s",
                     (int)wrong, text);
        stp_debug("start: interface %s %s: %s", network->name, text,
                  wrong == NOBODY ? "reaches all hosts" : network->refusal);
    }
}

static int network_decide(const struct network_host *hosts, const int *pes, int n,
                          struct stp_network *networks)
{
    struct network_verdict verdicts[STP_NETWORKS_MAX];
    bool common = false, alone = true;

    for (int i = 0; i < n; i++)
        alone = alone && hosts[i].identity == network_mine.identity;
    /*
     * If all hosts share one network stack, every address reaches all PEs, so no verdict is needed.
     */
    if (alone) return 0;
    for (uint32_t i = 0; i < network_mine.n; i++) {
        verdicts[i] = network_judge(&network_mine.addrs[i], hosts, pes, n);
        common = common || verdicts[i].wrong == NOBODY;
    }
    for (uint32_t i = 0; i < network_mine.n && !common; i++)
        verdicts[i].wrong = network_astray(&network_mine.addrs[i], hosts, pes, n);
    network_tell(verdicts, common, networks);
    return (int)network_mine.n;
}

/* Returns an array with the first PE of each of the n hosts, or NULL if there is no memory. */
static int *network_first_pes(int n, int n_pes)
{
    int *pes = malloc((size_t)n * sizeof(*pes));

    if (pes == NULL) return NULL;
    for (int pe = n_pes - 1; pe >= 0; pe--)
        pes[stp_pmi_node_of(pe)] = pe;
    return pes;
}

int stp_network_judge_published(int pe, int n_pes, int n_hosts,
                                struct stp_network networks[STP_NETWORKS_MAX])
{
    struct network_host *hosts = calloc((size_t)n_hosts, sizeof(*hosts));
    int *pes = network_first_pes(n_hosts, n_pes), mine = stp_pmi_node_of(pe), n_networks;

    if (hosts == NULL || pes == NULL)
        stp_fatal("shmem_init", "no memory for the networks of %d hosts", n_hosts);
    /*
     * With SHMEM_NODE=off, a host has several leaders. Only the first of them has called
     * network_list() before, in stp_network_publish_host().
     */
    if (pes[mine] != pe) network_list(&network_mine);
    for (int i = 0; i < n_hosts; i++) {
        size_t nbytes = sizeof(*hosts), head = offsetof(struct network_host, addrs);

        if (i == mine)
            hosts[i] = network_mine;
        else
            nbytes = stp_boot_kvs_get("net", pes[i], &hosts[i], sizeof(*hosts));
        if (nbytes < head || hosts[i].n > (nbytes - head) / sizeof(struct network_addr))
            stp_fatal("shmem_init",
                      "the list of networks that PE %d published is incomplete (%zu bytes; "
                      "oshinfo --doctor shows the launcher's limits)",
                      pes[i], nbytes);
    }
    n_networks = network_decide(hosts, pes, n_hosts, networks);
    free(hosts);
    free(pes);
    return n_networks;
}
