/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets NUMA policies for ranges of host memory. Calls the kernel directly, in order to avoid a
 * dependency on libnuma. Design: docs/design/memory.md.
 */
#include "spaces/space_registry.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Sets *set to the NUMA nodes on which this process may allocate memory. Returns 0, or -errno, for
 * example if the seccomp filter of a container forbids the system call.
 */
static int numa_allowed(struct stp_numbers *set)
{
    int mode;

    memset(set, 0, sizeof(*set));
    return syscall(SYS_get_mempolicy, &mode, set->words, STP_NUMBERS, NULL, MPOL_F_MEMS_ALLOWED) ==
                   0
               ? 0
               : -errno;
}

/* Returns the node on which this thread runs, or -1 if it is unknown. */
static int numa_own_node(void)
{
    unsigned cpu, node;

    return syscall(SYS_getcpu, &cpu, &node, NULL) == 0 ? (int)node : -1;
}

static bool numa_exists(int node)
{
    char path[64];

    snprintf(path, sizeof(path), "/sys/devices/system/node/node%d", node);
    return access(path, F_OK) == 0 || access("/sys/devices/system/node", F_OK) != 0;
}

/* Returns the name of the setting that chose the NUMA node. Messages contain this name. */
static const char *numa_setting_name(const struct stp_space_params *params)
{
    return params->numa_by != NULL ? params->numa_by : "attr->numa_node";
}

int stp_numa_check(const struct stp_space_params *params)
{
    const char *prefix = params->numa_by != NULL ? "the NUMA node for " : "";
    struct stp_numbers allowed;
    int node = params->numa_node;

    if (params->numa != STP_NUMA_BIND || node == -1) return 0;
    if (node < 0 || !numa_exists(node)) {
        stp_error("%s%s is %d: this host has no such NUMA node (numactl -H lists them)", prefix,
                  numa_setting_name(params), node);
        return -ENODEV;
    }
    if (numa_allowed(&allowed) == 0 && !stp_numbers_have(&allowed, node)) {
        stp_error("%s%s is %d: this NUMA node has no memory, or the cpuset of this process "
                  "excludes it",
                  prefix, numa_setting_name(params), node);
        return -ENODEV;
    }
    return 0;
}

/* Returns whether a policy was set. Sets *bound_node to the node of the pages, or to -1. */
static bool numa_bind(const struct stp_space_params *params, void *base, size_t nbytes,
                      int *bound_node)
{
    static const int modes[STP_N_NUMAS] = {MPOL_DEFAULT, MPOL_BIND, MPOL_INTERLEAVE, MPOL_LOCAL};
    struct stp_numbers nodes = {{0}};
    bool has_nodes = params->numa != STP_NUMA_TOUCH;
    int node = params->numa_node != -1 ? params->numa_node : numa_own_node(), rc = 0;

    *bound_node = -1;
    if (params->numa == STP_NUMA_DEFAULT) return false;
    if (params->numa == STP_NUMA_BIND && node >= 0) stp_numbers_add(&nodes, node);
    if (params->numa == STP_NUMA_INTERLEAVE) rc = numa_allowed(&nodes);
    if (rc == 0 && syscall(SYS_mbind, base, nbytes, modes[params->numa],
                           has_nodes ? nodes.words : NULL, has_nodes ? STP_NUMBERS : 0, 0) != 0)
        rc = -errno;
    if (rc != 0)
        stp_warn("%s has no effect, so pages can come from any NUMA node: mbind: %s",
                 params->numa_by != NULL ? params->numa_by : "attr->numa_policy", strerror(-rc));
    if (rc == 0 && params->numa == STP_NUMA_BIND) *bound_node = node;
    return rc == 0;
}

void stp_numa_apply(struct stp_space *space, const struct stp_space_params *params, size_t nbytes)
{
    space->numa_is_set = numa_bind(params, space->base, nbytes, &space->numa_node);
    space->numa = space->numa_is_set ? params->numa : STP_NUMA_DEFAULT;
}

void stp_numa_extend(const struct stp_space *space, void *base, size_t nbytes)
{
    struct stp_space_params params = {
        .numa = space->numa, .numa_node = space->numa_node, .numa_by = space->kind->numa_by};
    int node;

    if (space->numa_is_set) (void)numa_bind(&params, base, nbytes, &node);
}

void stp_numa_reset_policy(void *base, size_t nbytes)
{
    if (syscall(SYS_mbind, base, nbytes, MPOL_DEFAULT, NULL, 0, 0) != 0)
        stp_warn("cannot reset the NUMA policy of a destroyed space: mbind: %s", strerror(errno));
}
