/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects network interfaces. If the user names interfaces, only these are used. Otherwise, the
 * library uses only interfaces on which it has reached the other hosts. This second check is made
 * only for providers with IP addresses. Design: docs/design/providers.md.
 */
#include "ofi_internal.h"

#include "base/ip_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 64 /* size of a buffer for an interface name, or for a subnet as address/bits */

static const unsigned char *source_of(const struct fi_info *info, unsigned *n_bits)
{
    if (info->addr_format != FI_SOCKADDR_IN && info->addr_format != FI_SOCKADDR_IN6) return NULL;
    return stp_ip_bits(info->src_addr, n_bits);
}

/*
 * Returns whether the argument word is the given address or a subnet that contains the address. A
 * subnet is written like 10.1.0.0/16.
 */
static bool in_subnet(const char *word, const unsigned char *bits, unsigned n_bits)
{
    const char *slash = strchr(word, '/');
    char address[WORD_MAX], *end;
    unsigned char net[16];
    unsigned long prefix = n_bits;

    snprintf(address, sizeof(address), "%.*s", (int)(slash ? slash - word : WORD_MAX), word);
    if (inet_pton(n_bits == 32 ? AF_INET : AF_INET6, address, net) != 1) return false;
    if (slash != NULL) {
        prefix = strtoul(slash + 1, &end, 10);
        if (end == slash + 1 || *end != '\0' || prefix > n_bits) return false;
    }
    return stp_same_bits(net, bits, (unsigned)prefix);
}

/*
 * Returns whether word equals the interface name or matches the address. The word is one item of
 * the list SHMEM_OFI_INTERFACE.
 */
static bool word_names(const char *word, const char *name, const unsigned char *bits,
                       unsigned n_bits)
{
    return (name != NULL && strcmp(word, name) == 0) || (bits && in_subnet(word, bits, n_bits));
}

/*
 * Returns whether any word of the list matches. Commas separate the words. The function compares
 * each word by word_names().
 */
static bool list_names(const char *list, const char *name, const unsigned char *bits,
                       unsigned n_bits)
{
    for (const char *pos = list;; pos++) {
        char word[WORD_MAX];
        size_t n = strcspn(pos, ",");

        snprintf(word, sizeof(word), "%.*s", (int)n, pos);
        if (n < sizeof(word) && word_names(word, name, bits, n_bits)) return true;
        pos += n;
        if (*pos == '\0') return false;
    }
}

/*
 * Returns whether the list of the user names the address, its interface, or a subnet that contains
 * the address.
 */
static bool address_named(const char *list, const unsigned char *bits, unsigned n_bits)
{
    struct ifaddrs *ifa_list = NULL;
    bool found = false;

    if (getifaddrs(&ifa_list) != 0) ifa_list = NULL;
    for (struct ifaddrs *ifa = ifa_list; ifa != NULL && !found; ifa = ifa->ifa_next) {
        unsigned n = 0;
        const unsigned char *ifa_bits = stp_ip_bits(ifa->ifa_addr, &n);

        found = ifa_bits != NULL && n == n_bits && memcmp(ifa_bits, bits, n / 8) == 0 &&
                list_names(list, ifa->ifa_name, bits, n_bits);
    }
    freeifaddrs(ifa_list);
    return found;
}

/*
 * Returns whether the provider uses a network interface. The shm provider does not, because it
 * works within one host only.
 */
static bool needs_interface(const struct fi_info *info)
{
    return !stp_ofi_is(info, STP_OFI_SHM);
}

bool stp_ofi_netif_named(const struct fi_info *info, const struct stp_env *env)
{
    unsigned n_bits = 0;
    const unsigned char *bits = source_of(info, &n_bits);
    const char *domain = info->domain_attr->name;

    if (env->ofi_interface == NULL || !needs_interface(info)) return true;
    if (domain != NULL && list_names(env->ofi_interface, domain, NULL, 0)) return true;
    return bits != NULL && address_named(env->ofi_interface, bits, n_bits);
}

/*
 * Returns the entry of core->networks for the address of info, or NULL if there is none. Sets
 * *internet to true if info has an IP address.
 */
static const struct stp_network *network_of(const struct fi_info *info, const struct stp_core *core,
                                            bool *internet)
{
    unsigned n_bits = 0;
    const unsigned char *bits = source_of(info, &n_bits);

    *internet = bits != NULL;
    for (int i = 0; i < core->n_networks && bits != NULL; i++) {
        const struct stp_network *network = &core->networks[i];
        unsigned n = network->version == 4 ? 32 : 128;

        if (n == n_bits && memcmp(network->addr, bits, n / 8) == 0) return network;
    }
    return NULL;
}

const char *stp_ofi_netif_unreachable(const struct fi_info *info, const struct stp_core *core)
{
    bool internet;
    const struct stp_network *network = network_of(info, core, &internet);

    if (core->n_networks == 0 || !internet || core->env->ofi_interface != NULL) return NULL;
    if (network == NULL) return "its address is valid on this host only, or its interface is down";
    return network->refusal[0] != '\0' ? network->refusal : NULL;
}

int stp_ofi_netif_place_in_job_order(const struct fi_info *info, const struct stp_core *core)
{
    bool internet;
    const struct stp_network *network = network_of(info, core, &internet);

    if (network != NULL) return (int)network->rank;
    return core->n_networks > 0 && internet ? STP_NETWORKS_MAX : 0;
}

/* Writes a list of the active interfaces to text, such as "eth0 10.1.0.7, lo 127.0.0.1". */
static void list_interfaces(char *text, size_t size)
{
    struct ifaddrs *ifa_list = NULL;
    size_t used = 0;

    text[0] = '\0';
    if (getifaddrs(&ifa_list) != 0) ifa_list = NULL;
    for (struct ifaddrs *ifa = ifa_list; ifa != NULL && used < size; ifa = ifa->ifa_next) {
        unsigned n = 0;
        const unsigned char *bits = stp_ip_bits(ifa->ifa_addr, &n);
        char addr[INET6_ADDRSTRLEN];

        if (bits == NULL || (ifa->ifa_flags & IFF_UP) == 0) continue;
        if (n == 128 && bits[0] == 0xfe && (bits[1] & 0xc0) == 0x80) continue; /* link-local */
        inet_ntop(n == 32 ? AF_INET : AF_INET6, bits, addr, sizeof(addr));
        used += (size_t)snprintf(text + used, size - used, "%s%s %s", used > 0 ? ", " : "",
                                 ifa->ifa_name, addr);
    }
    freeifaddrs(ifa_list);
}

int stp_ofi_netif_check_env_matches(const struct fi_info *infos, const struct stp_core *core)
{
    char text[512];

    if (core->env->ofi_interface == NULL) return 0;
    for (const struct fi_info *info = infos; info != NULL; info = info->next)
        if (needs_interface(info) && stp_ofi_netif_named(info, core->env)) return 0;
    list_interfaces(text, sizeof(text));
    core->log(STP_LOG_ERROR,
              "fabric: SHMEM_OFI_INTERFACE is '%s': no interface that libfabric uses has that name "
              "or an address in that subnet; expected one of: %s; or a subnet such as 10.1.0.0/16",
              core->env->ofi_interface, text);
    return core->report != NULL ? 0 : -EINVAL;
}
