/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks spaces whose pages come from chosen NUMA nodes: asks the kernel for the policy of the
 * range and the node of touched pages. A node that does not exist must be refused on all PEs, the
 * address range of a destroyed space must have no policy, and a space is created without a policy
 * if mbind is refused. Skipped if the kernel does not support policies.
 */
#include "pe_kinds.h"
#include "pe_numa.h"

static bool forbidden; /* mbind is */

static int make(shmemx_space_numa_t policy, int node, shmem_space_t *space, shmem_team_t *team)
{
    shmem_space_config_t config = {SHMEM_DEVICE_CPU, PE_MIB, SHMEM_SPACE_FLAG_DEFAULT};
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.numa_policy = policy;
    attr.numa_node = node;
    return shmemx_space_create_attr(&config, &attr, space, team);
}

static void check(shmemx_space_numa_t policy, int node, int mode)
{
    shmem_space_t space;
    shmem_team_t team;
    char *block;
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;

    PE_REQUIRE(make(policy, node, &space, &team) == 0,
               "creating a space with a NUMA policy failed");
    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    PE_CHECK_EQ((int)info.numa_policy, forbidden ? (int)SHMEMX_NUMA_DEFAULT : (int)policy);
    if (policy != SHMEMX_NUMA_BIND)
        PE_CHECK_EQ(info.numa_node, -1);
    else
        PE_CHECK(info.numa_node == node || (node == -1 && info.numa_node >= 0),
                 "the space is on NUMA node %d, expected %d", info.numa_node, node);
    block = shmem_space_malloc(space, 65536);
    PE_REQUIRE(block != NULL, "shmem_space_malloc of 64 KiB returned NULL");
    PE_CHECK_EQ(pe_numa_policy_of(block), mode);
    memset(block, 1, 65536);
    if (policy == SHMEMX_NUMA_BIND && node >= 0) PE_CHECK_EQ(pe_numa_node_of(block), node);
    PE_CHECK(pe_numa_node_of(block) >= 0, "the kernel reports no NUMA node for a touched page");
    shmem_space_free(space, block);
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

static void refuse(shmemx_space_numa_t policy, int node)
{
    shmem_space_t space;
    shmem_team_t team;

    PE_CHECK(make(policy, node, &space, &team) != 0,
             "creating a space with policy %d and node %d returned 0, expected an error",
             (int)policy, node);
    PE_CHECK(space == SHMEM_SPACE_INVALID && team == SHMEM_TEAM_INVALID,
             "a failed create did not set space and team to INVALID");
}

int main(void)
{
    unsigned cpu = 0, node = 0;
    int mode = pe_numa_policy();

    if (mode < 0) return PE_SKIP;
    (void)syscall(SYS_getcpu, &cpu, &node, NULL);
    pe_test_begin();
    check(SHMEMX_NUMA_BIND, (int)node, MPOL_BIND);
    check(SHMEMX_NUMA_DEFAULT, -1, mode); /* where the last one was */
    check(SHMEMX_NUMA_BIND, -1, MPOL_BIND);
    check(SHMEMX_NUMA_INTERLEAVE, -1, MPOL_INTERLEAVE);
    check(SHMEMX_NUMA_FIRST_TOUCH, -1, MPOL_LOCAL);
    check(SHMEMX_NUMA_DEFAULT, -1, mode);
    refuse(SHMEMX_NUMA_BIND, 1000);
    refuse(SHMEMX_NUMA_BIND, -2);
    refuse(SHMEMX_NUMA_BIND, pe_me == pe_n - 1 ? 1000 : -1); /* one PE alone is enough */
    refuse(SHMEMX_NUMA_DEFAULT, (int)node);
    refuse((shmemx_space_numa_t)77, -1);
    forbidden = pe_numa_forbid_mbind();
    if (forbidden) check(SHMEMX_NUMA_INTERLEAVE, -1, mode);
    return pe_test_end();
}
