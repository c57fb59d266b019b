/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports whether each provider is used or refused, and the reason. Also reports how the user can
 * change this, and which defects the provider has in this version of libfabric. This file makes no
 * decisions. Design: docs/design/providers.md.
 */
#include "provider_report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * Reason and advice for each verdict. If the reason is NULL, the function that gives the verdict
 * supplies the reason. The word PROVIDER in an advice stands for the name of the provider. The user
 * replaces this word.
 */
static const struct {
    const char *reason;
    const char *advice; /* advice to the user, or NULL if the user cannot or need not act */
} offers[] = {
    [STP_PROVIDER_UNJUDGED] = {NULL, NULL},
    [STP_PROVIDER_USED] = {"the best of those that fit and pass a trial", NULL},
    [STP_PROVIDER_NOT_CHOSEN] = {"works, but another comes first", NULL},
    [STP_PROVIDER_UNTRIED] = {"may work, but another comes first", NULL},
    [STP_PROVIDER_NOT_PROVIDER] = {"not the one SHMEM_OFI_PROVIDER names",
                                   "to have it tried: unset SHMEM_OFI_PROVIDER, or name it there"},
    [STP_PROVIDER_NOT_FABRIC] = {"not the one SHMEM_OFI_FABRIC names",
                                 "to have it tried: unset SHMEM_OFI_FABRIC"},
    [STP_PROVIDER_NOT_DOMAIN] = {"not the one SHMEM_OFI_DOMAIN names",
                                 "to have it tried: unset SHMEM_OFI_DOMAIN"},
    [STP_PROVIDER_NOT_INTERFACE] = {"not on what SHMEM_OFI_INTERFACE names",
                                    "to have it tried: unset SHMEM_OFI_INTERFACE, or add its "
                                    "interface or subnet there"},
    [STP_PROVIDER_NO_DATAGRAMS] = {"has no reliable datagram endpoints", NULL},
    [STP_PROVIDER_NO_RMA] = {"has no remote memory access", NULL},
    [STP_PROVIDER_NO_ATOMICS] = {"has neither atomics nor messages", NULL},
    [STP_PROVIDER_REGISTRATION] = {"wants a way of registration that is not supported", NULL},
    [STP_PROVIDER_MODE] = {"wants an application mode that is not supported", NULL},
    [STP_PROVIDER_UNSAFE] = {NULL, "use another; to have it all the same: "
                                   "SHMEM_OFI_PROVIDER=PROVIDER"},
    [STP_PROVIDER_ONE_HOST] = {"does not leave the node, and the job does", NULL},
    [STP_PROVIDER_TOO_MANY] = {"reaches 256 PEs at most, the job has more", "start fewer PEs"},
    [STP_PROVIDER_NUMBERS] =
        {"names processes by number, and this PE has another PID namespace "
         "than PE 0: start them in one, or set SHMEM_OFI_PROVIDER=tcp",
         "start the PEs of a host in one PID namespace (containers: --pid=host), "
         "or set SHMEM_OFI_PROVIDER=tcp"},
    [STP_PROVIDER_ONE_LINK] = {"its address is valid on one link only",
                               "give the interface an address that all hosts can use: ip addr add "
                               "ADDRESS/BITS dev INTERFACE (as root)"},
    [STP_PROVIDER_NETWORK] = {NULL,
                              "give the hosts addresses in one network, or name the interface "
                              "to use in SHMEM_OFI_INTERFACE"},
    [STP_PROVIDER_NOT_OPENED] = {NULL, "FI_LOG_LEVEL=warn oshinfo providers shows what libfabric "
                                       "says of it"},
    [STP_PROVIDER_TRIAL] = {NULL,
                            "FI_LOG_LEVEL=warn oshinfo providers shows what libfabric says of "
                            "it; SHMEM_OFI_PROVIDER chooses another"},
    [STP_PROVIDER_ABSENT] = {"libfabric has it, but it finds nothing here that it could use",
                             "only where this host has its adapter: FI_LOG_LEVEL=info fi_info -p "
                             "PROVIDER shows what it looks for"},
};

/*
 * Advice for the errno of a failed call. If the errno is in this table, this advice is reported
 * instead of the advice for the verdict.
 */
static const struct {
    int error;
    const char *advice;
} errors[] = {
    {ETIMEDOUT, "let traffic of this host to its own address through (firewall: iptables -S or "
                "nft list ruleset), or name another interface in SHMEM_OFI_INTERFACE"},
    {EMFILE, "raise the limit on descriptors: ulimit -n 4096"},
    {ENFILE, "raise the host's limit on open files: sysctl fs.file-max (as root)"},
    {ENOMEM, "give it memory: ulimit -l unlimited (what it may lock), ulimit -v unlimited (address "
             "space)"},
    {ENETUNREACH, "bring its interface up: ip link set INTERFACE up (as root)"},
    {EADDRNOTAVAIL, "bring its interface up: ip link set INTERFACE up (as root)"},
    {EHOSTUNREACH, "look at the routes: ip route"},
    {ECONNREFUSED, "let traffic of this host to its own address through (firewall: iptables -S or "
                   "nft list ruleset)"},
    {EACCES, "get access to its device: ls -l /dev/infiniband /dev/cxi* shows who has"},
    {EPERM, "get access to its device: ls -l /dev/infiniband /dev/cxi* shows who has"},
    {ENOSPC, "make room in /dev/shm: df /dev/shm"},
};

const char *stp_ofi_reason(enum stp_provider_verdict code)
{
    return offers[code].reason;
}

static const char *advice_for(enum stp_provider_verdict code, int error)
{
    for (unsigned i = 0; error != 0 && i < STP_COUNT(errors); i++)
        if (errors[i].error == error) return errors[i].advice;
    return offers[code].advice;
}

static const char *trouble_of(const struct fi_info *info)
{
    const struct stp_ofi_provider *provider = stp_ofi_provider_of(info);
    uint32_t version = fi_version(), before = provider->trouble.before;

    if (version < provider->trouble.from || (before != 0 && version >= before)) return NULL;
    return provider->trouble.text;
}

const char *stp_ofi_strerror(int error)
{
    bool limit = error == EMFILE || error == ENFILE || error == EFBIG;

    return limit ? stp_errno_text(error) : fi_strerror(error);
}

void stp_ofi_report_candidate(const struct stp_core *core, const struct stp_ofi_choice *choice)
{
    const struct fi_info *info = choice->info;
    const char *domain = info->domain_attr->name;
    bool worked = choice->code == STP_PROVIDER_USED || choice->code == STP_PROVIDER_NOT_CHOSEN;
    struct stp_provider_status offer = {
        .provider = info->fabric_attr->prov_name,
        .domain = domain != NULL ? domain : "-",
        .reason = choice->refused,
        .advice = advice_for(choice->code, choice->error),
        .trouble = trouble_of(info),
        .code = choice->code,
        .error = choice->error,
        .leaves_host = stp_ofi_leaves_host(info),
        .pins = (info->domain_attr->mr_mode & FI_MR_ALLOCATED) != 0,
        .fds_open = worked ? choice->fds_open : -1,
        .fds_peer = worked ? choice->fds_peer : -1,
    };

    core->report(core->report_arg, &offer);
}

/*
 * Returns whether the name belongs to a layer or a hook of libfabric. Layers and hooks are not
 * providers of their own.
 */
static bool is_layer(const char *provider)
{
    return strncmp(provider, "ofi_", 4) == 0;
}

static bool offered(const struct stp_ofi_choice *choices, int n, const char *provider)
{
    for (int i = 0; i < n; i++)
        if (stp_ofi_names(provider, choices[i].info->fabric_attr->prov_name)) return true;
    return false;
}

void stp_ofi_report_providers_without_info(const struct stp_core *core,
                                           const struct stp_ofi_choice *choices, int n)
{
    struct fi_info *all = NULL;

    if (fi_getinfo(STP_OFI_VERSION, NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &all) != 0) return;
    for (const struct fi_info *info = all; info != NULL; info = info->next) {
        const char *provider = info->fabric_attr != NULL ? info->fabric_attr->prov_name : NULL;
        struct stp_provider_status offer = {
            .provider = provider,
            .domain = "-",
            .reason = stp_ofi_reason(STP_PROVIDER_ABSENT),
            .advice = advice_for(STP_PROVIDER_ABSENT, 0),
            .code = STP_PROVIDER_ABSENT,
            .fds_open = -1,
            .fds_peer = -1,
        };

        if (provider == NULL || is_layer(provider) || offered(choices, n, provider)) continue;
        core->report(core->report_arg, &offer);
    }
    fi_freeinfo(all);
}
