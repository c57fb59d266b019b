/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects the provider and the network interface of the job. libfabric offers pairs of a provider
 * and an interface. Each pair gets a cost. A refused pair also gets the reason for the refusal.
 * open.c first opens the cheapest pair that is not refused, and tests whether the provider works as
 * promised. Some providers are refused as unsafe, unless the user names them.
 * Design: docs/design/providers.md.
 */
#include "ofi_internal.h"

#include "provider_report.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Bits of mr_mode that this module supports (region_mr.c and local_mr.c). */
#define MR_MODES (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT)
#if FI_MAJOR_VERSION < 2
/* Old values, which stand for sets of mr_mode bits. */
#define MR_MODES_OLD (FI_MR_BASIC | FI_MR_SCALABLE)
#else
/* libfabric 2 refuses these old values if a program uses API 1.5 or later. */
#define MR_MODES_OLD 0
#endif
#define MODES (FI_CONTEXT | FI_CONTEXT2)
#define SHM_PEERS_MAX 256 /* maximum number of PEs with the shm provider (libfabric 1.17) */

static bool differs(const char *requested, const char *name)
{
    return requested != NULL && (name == NULL || strcmp(requested, name) != 0);
}

/*
 * Returns whether the user wants the provider net, but this libfabric has merged it into tcp. The
 * native provider tcp then takes the place of net.
 */
static bool net_is_tcp(const struct fi_info *infos, const struct stp_env *env)
{
    if (env->ofi_provider == NULL || strcasecmp(env->ofi_provider, "net") != 0 ||
        FI_VERSION_LT(fi_version(), FI_VERSION(1, 18)))
        return false;
    while (infos != NULL && !stp_ofi_names("net", infos->fabric_attr->prov_name))
        infos = infos->next;
    return infos == NULL;
}

static enum stp_provider_verdict judge_name(const struct fi_info *info, const struct stp_env *env,
                                            bool net_means_tcp)
{
    const char *provider = info->fabric_attr->prov_name;

    if (net_means_tcp ? strcmp(provider, "tcp") != 0
                      : env->ofi_provider != NULL && !stp_ofi_names(env->ofi_provider, provider))
        return STP_PROVIDER_NOT_PROVIDER;
    if (differs(env->ofi_fabric, info->fabric_attr->name)) return STP_PROVIDER_NOT_FABRIC;
    if (differs(env->ofi_domain, info->domain_attr->name)) return STP_PROVIDER_NOT_DOMAIN;
    if (!stp_ofi_netif_named(info, env)) return STP_PROVIDER_NOT_INTERFACE;
    return STP_PROVIDER_UNJUDGED;
}

/* Returns the mr_mode bits that this module accepts when it requests the capabilities caps. */
static int mr_modes(uint64_t caps)
{
    return MR_MODES | (caps & FI_HMEM ? FI_MR_HMEM : 0);
}

static enum stp_provider_verdict judge_attr(const struct fi_info *info)
{
    int mr_mode = info->domain_attr->mr_mode;

    if (info->ep_attr->type != FI_EP_RDM) return STP_PROVIDER_NO_DATAGRAMS;
    if (!(info->caps & FI_RMA)) return STP_PROVIDER_NO_RMA;
    if (!(info->caps & (FI_ATOMIC | FI_MSG))) return STP_PROVIDER_NO_ATOMICS;
    if (mr_mode & ~mr_modes(info->caps) & ~MR_MODES_OLD) return STP_PROVIDER_REGISTRATION;
    return info->mode & ~MODES ? STP_PROVIDER_MODE : STP_PROVIDER_UNJUDGED;
}

enum reach { REACH_ALL, REACH_HOST, REACH_LINK };

/*
 * Returns whether the address of info is valid for all hosts, only for this host, or only on one
 * link.
 */
static enum reach reach_of(const struct fi_info *info)
{
    const struct sockaddr_in *v4 = info->src_addr;
    const struct sockaddr_in6 *v6 = info->src_addr;

    if (info->src_addr == NULL) return REACH_ALL;
    if (info->addr_format == FI_SOCKADDR_IN)
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127 ? REACH_HOST : REACH_ALL;
    if (info->addr_format != FI_SOCKADDR_IN6) return REACH_ALL;
    if (IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr)) return REACH_HOST;
    return IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) ? REACH_LINK : REACH_ALL;
}

static enum stp_provider_verdict judge_reach(const struct stp_ofi_choice *choice,
                                             const struct stp_core *core)
{
    const struct fi_info *info = choice->info;

    if (choice->host_only && core->n_local < core->n_pes) return STP_PROVIDER_ONE_HOST;
    if (stp_ofi_is(info, STP_OFI_SHM)) {
        if (core->n_pes > SHM_PEERS_MAX) return STP_PROVIDER_TOO_MANY;
        if (core->foreign_pids) return STP_PROVIDER_NUMBERS;
    }
    if (reach_of(info) == REACH_LINK) return STP_PROVIDER_ONE_LINK;
    return stp_ofi_netif_unreachable(info, core) != NULL ? STP_PROVIDER_NETWORK
                                                         : STP_PROVIDER_UNJUDGED;
}

bool stp_ofi_leaves_host(const struct stp_ofi_choice *choice)
{
    return !choice->host_only && reach_of(choice->info) == REACH_ALL;
}

static void judge(struct stp_ofi_choice *choice, const struct stp_core *core, bool net_means_tcp)
{
    const struct fi_info *info = choice->info;
    const char *unsafe_reason = stp_ofi_provider_of(info)->refusal;

    choice->code = judge_name(info, core->env, net_means_tcp);
    choice->excluded = choice->code != STP_PROVIDER_UNJUDGED;
    if (choice->code == STP_PROVIDER_UNJUDGED) choice->code = judge_attr(info);
    if (choice->code == STP_PROVIDER_UNJUDGED && core->env->ofi_provider == NULL &&
        unsafe_reason != NULL)
        choice->code = STP_PROVIDER_UNSAFE;
    if (choice->code == STP_PROVIDER_UNJUDGED) choice->code = judge_reach(choice, core);
    choice->reason = choice->code == STP_PROVIDER_UNSAFE    ? unsafe_reason
                     : choice->code == STP_PROVIDER_NETWORK ? stp_ofi_netif_unreachable(info, core)
                                                            : stp_ofi_reason(choice->code);
}

/*
 * Returns the cost of info. The rank of the provider has the largest weight. The second criterion
 * is the place of the interface in the order that all hosts share. After that, loopback addresses
 * cost more than other addresses. Finally, IPv6 costs more than IPv4.
 */
static int cost_of(const struct fi_info *info, const struct stp_core *core)
{
    return (stp_ofi_rank_of(info) * 32 + stp_ofi_netif_place_in_job_order(info, core)) * 4 +
           (reach_of(info) == REACH_HOST ? 2 : 0) + (info->addr_format == FI_SOCKADDR_IN6 ? 1 : 0);
}

static struct fi_info *make_hints(uint64_t caps, const char *provider)
{
    struct fi_info *hints = fi_allocinfo();

    if (hints == NULL) return NULL;
    if (provider != NULL) hints->fabric_attr->prov_name = strdup(provider);
    hints->caps = caps;
    hints->mode = MODES;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = MR_MODES;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->domain_attr->av_type = FI_AV_TABLE;
    return hints;
}

/*
 * Appends the infos that match the hints to the list. If hints is NULL, appends all infos. Frees
 * the hints. Returns 0, or the error of fi_getinfo().
 */
static int append(struct fi_info **list, struct fi_info *hints)
{
    struct fi_info *found = NULL;
    int rc = fi_getinfo(STP_OFI_VERSION, NULL, NULL, 0, hints, &found);

    fi_freeinfo(hints);
    if (rc != 0) return rc;
    while (*list != NULL)
        list = &(*list)->next;
    *list = found;
    return 0;
}

/*
 * Makes a list of infos. The list begins with infos that have atomics. Infos with messages follow,
 * and then all infos, which begin at *complete. If provider is not NULL, the list contains only
 * infos of this provider. An interface may occur several times.
 */
static int list_infos(const char *provider, struct fi_info **infos, const struct fi_info **complete)
{
    struct fi_info **end = infos;
    int rc;

    *infos = NULL;
    append(infos, make_hints(FI_RMA | FI_ATOMIC, provider));
    append(infos, make_hints(FI_RMA | FI_MSG, provider));
    while (*end != NULL)
        end = &(*end)->next;
    rc = append(end, provider != NULL ? make_hints(0, provider) : NULL);
    *complete = *end;
    return *infos != NULL ? 0 : rc != 0 ? rc : -FI_ENODATA;
}

/* Returns whether the folder contains an entry. */
static bool has_entry(const char *folder)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry = NULL;

    while (entries != NULL && (entry = readdir(entries)) != NULL && entry->d_name[0] == '.')
        continue;
    if (entries != NULL) closedir(entries);
    return entry != NULL;
}

const char *stp_ofi_provider_to_ask_first(const struct stp_core *core)
{
    const struct stp_env *env = core->env;

    if (core->report != NULL || env->ofi_fabric != NULL || env->ofi_domain != NULL ||
        env->ofi_interface != NULL)
        return NULL;
    if (env->ofi_provider != NULL) return env->ofi_provider;
    return !has_entry("/sys/class") || has_entry("/sys/class/infiniband") ||
                   has_entry("/sys/class/cxi")
               ? NULL
               : "tcp";
}

static bool equal(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_interface(const struct fi_info *a, const struct fi_info *b)
{
    return a->ep_attr->type == b->ep_attr->type && a->addr_format == b->addr_format &&
           equal(a->fabric_attr->prov_name, b->fabric_attr->prov_name) &&
           equal(a->fabric_attr->name, b->fabric_attr->name) &&
           equal(a->domain_attr->name, b->domain_attr->name);
}

/*
 * Returns whether the provider of info connects only processes of one host. Such a provider (shm
 * and sm2 of libfabric 1.17 to 2.6) does not list FI_REMOTE_COMM. libfabric lists this capability
 * only if the hints request no capabilities. TCP providers do not list it for loopback addresses,
 * on which simulated hosts may communicate.
 */
static bool is_host_only(const struct fi_info *info, const struct fi_info *complete)
{
    bool found = false;

    for (; complete != NULL; complete = complete->next) {
        if (!same_interface(complete, info)) continue;
        if ((complete->caps | complete->domain_attr->caps) & FI_REMOTE_COMM) return false;
        found = true;
    }
    return found && reach_of(info) != REACH_HOST;
}

static bool listed(const struct stp_ofi_choice *choices, int n, const struct fi_info *info)
{
    for (int i = 0; i < n; i++)
        if (same_interface(choices[i].info, info)) return true;
    return false;
}

static int order_choices(const void *a, const void *b)
{
    const struct stp_ofi_choice *x = a, *y = b;

    if ((x->reason != NULL) != (y->reason != NULL)) return x->reason != NULL ? 1 : -1;
    return x->cost < y->cost ? -1 : x->cost > y->cost;
}

int stp_ofi_provider_select(const struct stp_core *core, const char *provider,
                            struct fi_info **all_infos, struct stp_ofi_choice **choices)
{
    const struct fi_info *complete;
    struct fi_info *infos;
    struct stp_ofi_choice *list;
    int rc = list_infos(provider, &infos, &complete), n = 0, room = 0;
    bool net_means_tcp;

    *all_infos = NULL;
    *choices = NULL;
    if (rc != 0) {
        if (provider != NULL) return rc;
        core->log(STP_LOG_ERROR, "fabric: libfabric lists no providers: %s", fi_strerror(-rc));
        return rc;
    }
    rc = stp_ofi_netif_check_env_matches(infos, core);
    if (rc != 0) {
        fi_freeinfo(infos);
        return rc;
    }
    net_means_tcp = net_is_tcp(infos, core->env);
    if (net_means_tcp && core->pe == 0)
        core->log(STP_LOG_WARN,
                  "SHMEM_OFI_PROVIDER=net: libfabric %u.%u has merged net into tcp, so this job "
                  "uses the native provider tcp",
                  FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
    for (struct fi_info *info = infos; info != NULL; info = info->next)
        room++;
    list = calloc((size_t)room, sizeof(*list));
    if (list == NULL) {
        fi_freeinfo(infos);
        return -ENOMEM;
    }
    for (struct fi_info *info = infos; info != NULL; info = info->next) {
        if (listed(list, n, info)) continue;
        /* Add n to the cost, so that libfabric's order decides between infos of equal cost. */
        list[n].info = info;
        list[n].cost = cost_of(info, core) * room + n;
        list[n].host_only = is_host_only(info, complete);
        judge(&list[n++], core, net_means_tcp);
    }
    qsort(list, (size_t)n, sizeof(*list), order_choices);
    *all_infos = infos;
    *choices = list;
    return n;
}

/*
 * Returns a new info for the same interface. The new info has RMA, the given capabilities and the
 * given message order. Returns NULL if the provider does not offer them. The caller frees the info.
 */
static struct fi_info *refine(const struct fi_info *info, uint64_t caps, uint64_t order)
{
    struct fi_info *hints, *found = NULL;
    struct fi_info *match, *result = NULL;

    hints = fi_dupinfo(info);
    if (hints == NULL) return NULL;
    hints->caps = FI_RMA | caps;
    hints->mode = MODES;
    hints->domain_attr->mr_mode = mr_modes(caps);
    hints->tx_attr->caps = hints->rx_attr->caps = 0;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = order;
    if (fi_getinfo(STP_OFI_VERSION, NULL, NULL, 0, hints, &found) != 0) found = NULL;
    for (match = found; match != NULL && !same_interface(match, info);)
        match = match->next;
    if (match != NULL && (match->caps & caps) == caps && judge_attr(match) == STP_PROVIDER_UNJUDGED)
        result = fi_dupinfo(match);
    /* Remove FI_ATOMIC and FI_MSG if they were not requested, because some providers add them. */
    if (result != NULL && !(caps & FI_ATOMIC)) result->caps &= ~FI_ATOMIC;
    if (result != NULL && !(caps & FI_MSG)) result->caps &= ~FI_MSG;
    fi_freeinfo(found);
    fi_freeinfo(hints);
    return result;
}

/*
 * Returns the capabilities FI_ATOMIC and FI_MSG, as far as info has them. Atomics and batches
 * depend on these capabilities.
 */
static uint64_t amo_and_msg_caps(const struct fi_info *info)
{
    return info->caps & (FI_ATOMIC | FI_MSG);
}

uint64_t stp_ofi_order_needed(const struct fi_info *info)
{
    return info->caps & FI_ATOMIC ? FI_ORDER_RAW | FI_ORDER_WAR | FI_ORDER_WAW
                                  : FI_ORDER_WAW | FI_ORDER_SAW | FI_ORDER_SAS;
}

/* Returns the message order that is needed to detect lost messages. */
static uint64_t send_order_of(const struct fi_info *info)
{
    return info->caps & FI_MSG ? FI_ORDER_SAS : 0;
}

void stp_ofi_request_progress(struct fi_info *info)
{
    enum fi_progress *progress = &info->domain_attr->data_progress;
    struct fi_info *granted = NULL;

    *progress = FI_PROGRESS_AUTO;
    if (stp_ofi_provider_of(info)->progress == FI_PROGRESS_AUTO)
        granted = refine(info, amo_and_msg_caps(info), 0);
    if (granted == NULL || granted->domain_attr->data_progress != FI_PROGRESS_AUTO)
        *progress = FI_PROGRESS_MANUAL;
    fi_freeinfo(granted);
}

struct fi_info *stp_ofi_info_with_order(const struct fi_info *info)
{
    /*
     * Request no order from the shm provider. If an order is requested, shm of libfabric 1.17 does
     * not use its single-copy path, and get is much slower.
     */
    if (stp_ofi_is(info, STP_OFI_SHM)) return NULL;
    return refine(info, amo_and_msg_caps(info), stp_ofi_order_needed(info) | send_order_of(info));
}

struct fi_info *stp_ofi_info_for_amo_and_messages(const struct fi_info *info)
{
    return refine(info, FI_ATOMIC | FI_MSG, FI_ORDER_SAS);
}

struct fi_info *stp_ofi_info_for_messages(const struct fi_info *info)
{
    return refine(info, FI_MSG, 0);
}

/*
 * Returns whether PEs that use info a can communicate with PEs that use info b. Both infos must
 * have the same kind of addresses and keys, and the same order of operations.
 */
static bool compatible(const struct fi_info *a, const struct fi_info *b)
{
    int modes = a->domain_attr->mr_mode ^ b->domain_attr->mr_mode;
    uint64_t orders = a->tx_attr->msg_order ^ b->tx_attr->msg_order;

    return (modes & (FI_MR_VIRT_ADDR | FI_MR_PROV_KEY)) == 0 &&
           (orders & stp_ofi_order_needed(a)) == 0 &&
           a->domain_attr->mr_key_size == b->domain_attr->mr_key_size &&
           a->ep_attr->max_order_waw_size == b->ep_attr->max_order_waw_size;
}

struct fi_info *stp_ofi_info_for_device_memory(const struct fi_info *info)
{
    uint64_t order = stp_ofi_order_needed(info) | send_order_of(info);
    struct fi_info *found =
        refine(info, amo_and_msg_caps(info) | FI_HMEM, info->tx_attr->msg_order & order);

    if (found != NULL && compatible(found, info)) return found;
    fi_freeinfo(found);
    return NULL;
}
