/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contains the table of libfabric's providers. The columns are properties of providers that the
 * interface of libfabric does not report. The rows describe the behaviour that was observed with
 * libfabric 1.17. Design: docs/design/providers.md.
 */
#include "ofi_internal.h"

#include <string.h>
#include <strings.h>

#define RXM (STP_OFI_CPU | STP_OFI_MAY_LOSE_AMO)
#define TCP (STP_OFI_KERNEL | STP_OFI_LATE)
#define PSM3_SOCKETS "psm3 on sockets" /* name of the row, not of a provider */

/*
 * The best provider comes first. The row ";ofi_rxm" is for providers with the layer ofi_rxm that
 * have no row of their own.
 */
static const struct stp_ofi_provider providers[] = {
    {.name = "cxi", .progress = FI_PROGRESS_AUTO, .dmabuf_since = FI_VERSION(2, 5)},
    {.name = "opx", .progress = FI_PROGRESS_AUTO, .dmabuf_since = FI_VERSION(2, 6)},
    {.name = "psm3", .progress = FI_PROGRESS_AUTO},
    {.name = "efa", .progress = FI_PROGRESS_AUTO, .dmabuf_since = FI_VERSION(1, 20)},
    {.name = "verbs;ofi_rxm",
     .flags = RXM,
     .progress = FI_PROGRESS_MANUAL,
     .dmabuf_since = FI_VERSION(1, 20)},
    {.name = "verbs", .progress = FI_PROGRESS_AUTO, .dmabuf_since = FI_VERSION(1, 20)},
    {.name = ";ofi_rxm", .flags = RXM, .progress = FI_PROGRESS_MANUAL},
    {.name = ""}, /* row for all providers that the table does not name */
    {.name = "tcp",
     .flags = TCP | STP_OFI_OWN_DOMAIN,
     .progress = FI_PROGRESS_MANUAL,
     .sleepers = 64},
    {.name = "tcp;ofi_rxm",
     .flags = RXM | TCP,
     .progress = FI_PROGRESS_MANUAL,
     /*
      * In jobs of up to 12 PEs, the progress thread sleeps on the provider's sockets. In larger
      * jobs, the thread sleeps on the wait descriptor of the completion queue, because this is
      * faster there. With a wait descriptor, ofi_rxm uses epoll. Without one, ofi_rxm polls each
      * socket, which takes 55 ns per socket.
      */
     .sleepers = 12,
     .trouble =
         {FI_VERSION(1, 17), 0,
          "reconnects forever to a peer that has died, without reporting an error; workaround: "
          "Steppe checks silent peers itself (SHMEM_PEER_TIMEOUT)"}},
    {.name = "shm",
     .flags = STP_OFI_SHM | STP_OFI_CPU,
     .progress = FI_PROGRESS_MANUAL,
     .trouble = {FI_VERSION(1, 17), FI_VERSION(1, 18),
                 "frees a buffer twice when an atomic update requests delivery; workaround: "
                 "Steppe posts updates as fetching atomics"}},
    {.name = "net",
     .flags = TCP | STP_OFI_OWN_DOMAIN,
     .progress = FI_PROGRESS_MANUAL,
     .sleepers = 64,
     .trouble = {FI_VERSION(1, 17), FI_VERSION(1, 18),
                 "reports atomics that it does not have; workaround: Steppe sends atomics as "
                 "messages to the target"}},
    {.name = PSM3_SOCKETS, .progress = FI_PROGRESS_AUTO},
    {.name = "sockets",
     .progress = FI_PROGRESS_AUTO,
     .refusal = "takes milliseconds per operation and is no longer maintained"},
    {.name = "udp;ofi_rxd", .refusal = "loses updates of compare-and-swap and swap"},
    {.name = "net;ofi_rxm", /* defect fixed in libfabric 1.19 */
     .flags = RXM,
     .progress = FI_PROGRESS_MANUAL,
     .refusal = "its wait descriptor never blocks, which costs a whole core"},
};

static int find(const char *name)
{
    for (int i = 0; i < (int)STP_COUNT(providers); i++)
        if (strcmp(providers[i].name, name) == 0) return i;
    return -1;
}

/*
 * Returns whether psm3 uses its sockets transport. psm3 offers this transport on each interface and
 * gives its fabric the name "TCP-SUBNET" or "UDP-SUBNET".
 */
static bool is_psm3_on_sockets(const struct fi_fabric_attr *attr)
{
    return strcmp(attr->prov_name, "psm3") == 0 && attr->name != NULL &&
           (strncmp(attr->name, "TCP-", 4) == 0 || strncmp(attr->name, "UDP-", 4) == 0);
}

int stp_ofi_rank_of(const struct fi_info *info)
{
    const char *name = info->fabric_attr->prov_name, *layer = strchr(name, ';');
    int row = find(is_psm3_on_sockets(info->fabric_attr) ? PSM3_SOCKETS : name);

    if (row < 0 && layer != NULL) row = find(layer);
    return row >= 0 ? row : find("");
}

const struct stp_ofi_provider *stp_ofi_provider_of(const struct fi_info *info)
{
    return &providers[stp_ofi_rank_of(info)];
}

bool stp_ofi_is(const struct fi_info *info, unsigned flag)
{
    return (stp_ofi_provider_of(info)->flags & flag) != 0;
}

bool stp_ofi_names(const char *requested, const char *provider)
{
    size_t n = strlen(requested);

    return strncasecmp(requested, provider, n) == 0 && (provider[n] == '\0' || provider[n] == ';');
}
