/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the IP addresses by which other hosts reach this host. Each host publishes its networks.
 * Every leader then computes the same order of preference for the networks. Networks to which all
 * hosts belong are preferred, the fastest first. If no such network exists, the hosts are connected
 * through routers. An address is then used only if the kernel would send from it to all other
 * hosts. Design: docs/design/launch.md.
 */
#include "boot_internal.h"

#include "base/ip_address.h"
#include "pmi/pmi.h"

#include <arpa/inet.h>
#include <errno.h>
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
    uint16_t has_carrier;
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

static struct network_host my_networks;
static char network_names[STP_NETWORKS_MAX][IF_NAMESIZE];

/* ---- this host ------------------------------------------------------------- */

/* Returns a hash of the kernel's boot ID and of the network namespace of this process. */
static uint64_t network_identity(void)
{
    char boot_id[64] = "";
    struct stat ns = {0};
    uint64_t hash = STP_HASH_EMPTY;

    if (stp_file_read("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id)) == 0)
        snprintf(boot_id, sizeof(boot_id), "%s", stp_hostname());
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
static bool network_read(const struct ifaddrs *ifa, struct network_addr *addr)
{
    unsigned n_bits = 0;
    const unsigned char *mask = stp_ip_bits(ifa->ifa_netmask, &n_bits);
    const unsigned char *bits = stp_ip_bits(ifa->ifa_addr, &n_bits);

    memset(addr, 0, sizeof(*addr));
    if (bits == NULL || mask == NULL) return false;
    if ((ifa->ifa_flags & (IFF_UP | IFF_LOOPBACK)) != IFF_UP) return false;
    if (n_bits == 128 && IN6_IS_ADDR_LINKLOCAL((const void *)bits)) return false;
    addr->has_carrier = (ifa->ifa_flags & IFF_RUNNING) != 0;
    addr->version = n_bits == 32 ? 4 : 6;
    memcpy(addr->addr, bits, n_bits / 8);
    addr->prefix = network_prefix(mask, n_bits / 8);
    return true;
}

static void network_list(struct network_host *host)
{
    struct ifaddrs *list = NULL;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    memset(host, 0, sizeof(*host));
    host->identity = network_identity();
    if (getifaddrs(&list) != 0) list = NULL;
    for (struct ifaddrs *ifa = list; ifa != NULL && host->n < STP_NETWORKS_MAX;
         ifa = ifa->ifa_next) {
        if (!network_read(ifa, &host->addrs[host->n])) continue;
        host->addrs[host->n].speed = network_speed(fd, ifa->ifa_name);
        snprintf(network_names[host->n++], IF_NAMESIZE, "%s", ifa->ifa_name);
    }
    freeifaddrs(list);
    if (fd >= 0) close(fd);
}

/*
 * Fills in *network for address i of this host. The fields rank and refused stay empty, because
 * they depend on data of other hosts.
 */
static void network_fill(uint32_t i, struct stp_network *network)
{
    const struct network_addr *addr = &my_networks.addrs[i];

    *network = (struct stp_network){.version = addr->version, .prefix = addr->prefix};
    memcpy(network->name, network_names[i], sizeof(network->name));
    memcpy(network->addr, addr->addr, sizeof(network->addr));
}

int stp_network_list_local(struct stp_network networks[STP_NETWORKS_MAX])
{
    network_list(&my_networks);
    for (uint32_t i = 0; i < my_networks.n; i++)
        network_fill(i, &networks[i]);
    return (int)my_networks.n;
}

void stp_network_publish_host(int pe)
{
    network_list(&my_networks);
    stp_boot_publish("net", pe, &my_networks,
                     offsetof(struct network_host, addrs) +
                         my_networks.n * sizeof(struct network_addr));
}

/* ---- other hosts ------------------------------------------------------------- */

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
 * Finds an address of a host that is in the same network as the address `my_addr`. Skips addresses
 * equal to `my_addr`, as network_routes() does. Returns NULL if the host has no such address.
 */
static const struct network_addr *network_find_common(const struct network_addr *my_addr,
                                                      const struct network_host *host)
{
    for (uint32_t i = 0; i < host->n; i++)
        if (network_same_net(my_addr, &host->addrs[i]) &&
            !network_same_addr(my_addr, &host->addrs[i]))
            return &host->addrs[i];
    return NULL;
}

/*
 * Returns true if the kernel would use the source address `my_addr` for packets to at least one
 * address of the host. Sends no packet. Skips addresses of the host that are equal to `my_addr`,
 * because bridges for virtual machines have the same address on every host.
 */
static bool network_routes(const struct network_addr *my_addr, const struct network_host *host)
{
    bool found = false;

    for (uint32_t i = 0; i < host->n && !found; i++) {
        const struct network_addr *addr = &host->addrs[i];
        struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(9)};
        struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
        bool is_ipv4 = addr->version == 4;
        socklen_t len = is_ipv4 ? sizeof(v4) : sizeof(v6);
        void *dest = is_ipv4 ? (void *)&v4 : (void *)&v6;
        void *bits = is_ipv4 ? (void *)&v4.sin_addr : (void *)&v6.sin6_addr;
        size_t n_bits = is_ipv4 ? 4 : 16;
        int fd;

        if (addr->version != my_addr->version || network_same_addr(my_addr, addr)) continue;
        fd = socket(is_ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        memcpy(bits, addr->addr, n_bits);
        if (fd >= 0 && connect(fd, dest, len) == 0 && getsockname(fd, dest, &len) == 0)
            found = memcmp(bits, my_addr->addr, n_bits) == 0;
        if (fd >= 0) close(fd);
    }
    return found;
}

/* ---- the verdict ----------------------------------------------------------- */

/* Value of the field `unreached_pe` in struct network_verdict if the address reaches all hosts. */
#define NO_PE UINT64_MAX

struct network_verdict {
    uint64_t quality;      /* lowest value of network_quality() over all hosts */
    uint64_t unreached_pe; /* first PE of a host that the address does not reach, or NO_PE */
};

/* Rates an address by its carrier, then by its speed. An unknown speed is the lowest. */
static uint64_t network_quality(const struct network_addr *addr)
{
    return (uint64_t)addr->has_carrier << 32 | addr->speed;
}

/*
 * Returns the verdict on the address `my_addr` of this host. The address is good if all other hosts
 * have an address in the same network. pes[i] is the first PE of host i, and n is the number of
 * hosts.
 */
static struct network_verdict network_judge(const struct network_addr *my_addr,
                                            const struct network_host *hosts, const int *pes, int n)
{
    struct network_verdict verdict = {network_quality(my_addr), NO_PE};

    for (int i = 0; i < n && verdict.unreached_pe == NO_PE; i++) {
        const struct network_addr *peer_addr;

        if (hosts[i].identity == my_networks.identity) continue;
        peer_addr = network_find_common(my_addr, &hosts[i]);
        if (peer_addr == NULL)
            verdict.unreached_pe = (uint64_t)pes[i];
        else if (network_quality(peer_addr) < verdict.quality)
            verdict.quality = network_quality(peer_addr);
    }
    return verdict;
}

/*
 * Returns the first PE of a host to which the kernel would not send from the address `my_addr`.
 * Returns NO_PE if the kernel would use this address for all other hosts.
 */
static uint64_t network_first_unrouted(const struct network_addr *my_addr,
                                       const struct network_host *hosts, const int *pes, int n)
{
    for (int i = 0; i < n; i++)
        if (hosts[i].identity != my_networks.identity && !network_routes(my_addr, &hosts[i]))
            return (uint64_t)pes[i];
    return NO_PE;
}

/*
 * Returns true if network a is preferred to network b. A network of higher quality is preferred. At
 * equal quality, IPv4 is preferred to IPv6, and then the lower address is preferred.
 */
static bool network_is_preferred(int a, int b, const struct network_verdict *verdicts)
{
    const struct network_addr *addr_a = &my_networks.addrs[a], *addr_b = &my_networks.addrs[b];

    if (verdicts[a].quality != verdicts[b].quality)
        return verdicts[a].quality > verdicts[b].quality;
    if (addr_a->version != addr_b->version) return addr_a->version < addr_b->version;
    return memcmp(addr_a->addr, addr_b->addr, sizeof(addr_a->addr)) < 0;
}

static void network_text(const struct network_addr *addr, char *text, size_t len)
{
    char bits[INET6_ADDRSTRLEN];

    inet_ntop(addr->version == 4 ? AF_INET : AF_INET6, addr->addr, bits, sizeof(bits));
    snprintf(text, len, "%s/%d", bits, addr->prefix);
}

static void network_report(const struct network_verdict *verdicts, bool common,
                           struct stp_network *networks)
{
    for (int i = 0; i < (int)my_networks.n; i++) {
        const struct network_addr *addr = &my_networks.addrs[i];
        struct stp_network *network = &networks[i];
        uint64_t unreached_pe = verdicts[i].unreached_pe;
        char text[INET6_ADDRSTRLEN + 8];

        network_fill((uint32_t)i, network);
        for (int k = 0; k < (int)my_networks.n; k++)
            network->rank +=
                verdicts[k].unreached_pe == NO_PE && network_is_preferred(k, i, verdicts);
        network_text(addr, text, sizeof(text));
        if (unreached_pe != NO_PE)
            snprintf(network->refusal, sizeof(network->refusal),
                     common ? "the host of PE %d has no address of its own in network %s"
                            : "the route to the host of PE %d does not use address %s",
                     (int)unreached_pe, text);
        stp_debug("start: interface %s %s: %s", network->name, text,
                  unreached_pe == NO_PE ? "reaches all hosts" : network->refusal);
    }
}

static int network_decide(const struct network_host *hosts, const int *pes, int n,
                          struct stp_network *networks)
{
    struct network_verdict verdicts[STP_NETWORKS_MAX];
    bool common = false, one_stack = true;

    for (int i = 0; i < n; i++)
        one_stack = one_stack && hosts[i].identity == my_networks.identity;
    /*
     * If all hosts share one network stack, every address reaches all PEs, so no verdict is needed.
     */
    if (one_stack) return 0;
    for (uint32_t i = 0; i < my_networks.n; i++) {
        verdicts[i] = network_judge(&my_networks.addrs[i], hosts, pes, n);
        common = common || verdicts[i].unreached_pe == NO_PE;
    }
    for (uint32_t i = 0; i < my_networks.n && !common; i++)
        verdicts[i].unreached_pe = network_first_unrouted(&my_networks.addrs[i], hosts, pes, n);
    network_report(verdicts, common, networks);
    return (int)my_networks.n;
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
    int *pes = network_first_pes(n_hosts, n_pes), my_host = stp_pmi_node_of(pe), n_networks;

    if (hosts == NULL || pes == NULL)
        stp_fatal("shmem_init",
                  "out of memory: cannot allocate the networks of the hosts (number of hosts: %d)",
                  n_hosts);
    /*
     * With SHMEM_NODE=off, a host has several leaders. Only the first of them has called
     * network_list() before, in stp_network_publish_host().
     */
    if (pes[my_host] != pe) network_list(&my_networks);
    for (int i = 0; i < n_hosts; i++) {
        size_t nbytes = sizeof(*hosts), head = offsetof(struct network_host, addrs);

        if (i == my_host)
            hosts[i] = my_networks;
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
