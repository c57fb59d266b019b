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
    [STP_PROVIDER_USED] = {"the best provider that fits and passes its test", NULL},
    [STP_PROVIDER_NOT_CHOSEN] = {"works, but another provider is preferred", NULL},
    [STP_PROVIDER_UNTRIED] = {"may work, but another provider is preferred", NULL},
    [STP_PROVIDER_NOT_PROVIDER] = {"SHMEM_OFI_PROVIDER names another provider",
                                   "to try it, unset SHMEM_OFI_PROVIDER or set "
                                   "SHMEM_OFI_PROVIDER=PROVIDER"},
    [STP_PROVIDER_NOT_FABRIC] = {"SHMEM_OFI_FABRIC names another fabric",
                                 "to try it, unset SHMEM_OFI_FABRIC"},
    [STP_PROVIDER_NOT_DOMAIN] = {"SHMEM_OFI_DOMAIN names another domain",
                                 "to try it, unset SHMEM_OFI_DOMAIN"},
    [STP_PROVIDER_NOT_INTERFACE] = {"SHMEM_OFI_INTERFACE names another interface or subnet",
                                    "to try it, unset SHMEM_OFI_INTERFACE, or add the interface "
                                    "or subnet of this provider to it"},
    [STP_PROVIDER_NO_DATAGRAMS] = {"has no reliable datagram endpoints", NULL},
    [STP_PROVIDER_NO_RMA] = {"has no remote memory access", NULL},
    [STP_PROVIDER_NO_ATOMICS] = {"has neither atomics nor messages", NULL},
    [STP_PROVIDER_REGISTRATION] = {"requires a mode of memory registration that Steppe does not "
                                   "support",
                                   NULL},
    [STP_PROVIDER_MODE] = {"requires an application mode that Steppe does not support", NULL},
    [STP_PROVIDER_UNSAFE] = {NULL, "use another provider; to use this one nevertheless, set "
                                   "SHMEM_OFI_PROVIDER=PROVIDER"},
    [STP_PROVIDER_ONE_HOST] = {"works within one host only, but the job has several hosts", NULL},
    [STP_PROVIDER_TOO_MANY] = {"supports at most 256 PEs, but the job has more", "start fewer PEs"},
    [STP_PROVIDER_NUMBERS] =
        {"identifies processes by PID, but this PE is in another PID namespace than PE 0: start "
         "all PEs of the host in one PID namespace, or set SHMEM_OFI_PROVIDER=tcp",
         "start the PEs of a host in one PID namespace (containers: --pid=host), "
         "or set SHMEM_OFI_PROVIDER=tcp"},
    [STP_PROVIDER_ONE_LINK] = {"its address is valid on one link only",
                               "give the interface an address that all hosts can use: ip addr add "
                               "ADDRESS/BITS dev INTERFACE (as root)"},
    [STP_PROVIDER_NETWORK] = {NULL,
                              "give the hosts addresses in one network, or name the interface "
                              "to use in SHMEM_OFI_INTERFACE"},
    [STP_PROVIDER_NOT_OPENED] = {NULL, "run FI_LOG_LEVEL=warn oshinfo providers to see the "
                                       "messages of libfabric"},
    [STP_PROVIDER_TRIAL] = {NULL, "run FI_LOG_LEVEL=warn oshinfo providers to see the messages "
                                  "of libfabric; set SHMEM_OFI_PROVIDER to choose another "
                                  "provider"},
    [STP_PROVIDER_ABSENT] = {"libfabric contains this provider, but it finds nothing on this host "
                             "that it can use",
                             "if this host has its adapter, run FI_LOG_LEVEL=info fi_info -p "
                             "PROVIDER to see what it looks for"},
};

/*
 * Advice for the errno of a failed call. If the errno is in this table, this advice is reported
 * instead of the advice for the verdict.
 */
static const struct {
    int error;
    const char *advice;
} errors[] = {
    {ETIMEDOUT, "allow traffic from this host to its own address (firewall: iptables -S or nft "
                "list ruleset), or name another interface in SHMEM_OFI_INTERFACE"},
    {EMFILE, "raise the limit on descriptors: ulimit -n 4096"},
    {ENFILE, "raise the host's limit on open files: sysctl fs.file-max (as root)"},
    {ENOMEM, "raise the memory limits: ulimit -l unlimited (locked memory), ulimit -v unlimited "
             "(address space)"},
    {ENETUNREACH, "bring its interface up: ip link set INTERFACE up (as root)"},
    {EADDRNOTAVAIL, "bring its interface up: ip link set INTERFACE up (as root)"},
    {EHOSTUNREACH, "check the routes of this host: ip route"},
    {ECONNREFUSED, "allow traffic from this host to its own address (firewall: iptables -S or "
                   "nft list ruleset)"},
    {EACCES, "get access to its device: ls -l /dev/infiniband /dev/cxi* shows who has access"},
    {EPERM, "get access to its device: ls -l /dev/infiniband /dev/cxi* shows who has access"},
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
    uint32_t version = fi_version(), fixed_in = provider->trouble.fixed_in;

    if (version < provider->trouble.since || (fixed_in != 0 && version >= fixed_in)) return NULL;
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
        .reason = choice->reason,
        .advice = advice_for(choice->code, choice->error),
        .trouble = trouble_of(info),
        .code = choice->code,
        .error = choice->error,
        .leaves_host = stp_ofi_leaves_host(choice),
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
    struct fi_info *infos = NULL;

    if (fi_getinfo(STP_OFI_VERSION, NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &infos) != 0) return;
    for (const struct fi_info *info = infos; info != NULL; info = info->next) {
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
    fi_freeinfo(infos);
}
