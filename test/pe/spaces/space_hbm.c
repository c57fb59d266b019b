/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks spaces of high-bandwidth memory. hwloc is told that the host's one NUMA node has such
 * memory (test/topology/here.xml). Asks the kernel for the policy of the range and the node of
 * touched pages, checks that the members of a host share the free memory of the node, and that a
 * space is created without a policy if mbind is refused.
 *
 * usage: space_hbm [some [pinned | refused]]
 *   some: only PEs with even numbers have such memory; pinned: it is also pinned for GPUs;
 *   refused: the driver refuses to pin it
 */
#include "pe_kinds.h"
#include "pe_numa.h"

#include <limits.h>

static bool forbidden; /* mbind is */

static shmemx_space_info_t info_of(shmem_space_t space)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;

    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    return info;
}

static int make(size_t nbytes, const shmemx_space_attr_t *attr, shmem_space_t *space,
                shmem_team_t *team)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_HBM, nbytes);

    return shmemx_space_create_attr(&config, attr, space, team);
}

static void refuse(size_t nbytes, const shmemx_space_attr_t *attr, const char *what)
{
    shmem_space_t space;
    shmem_team_t team;

    PE_CHECK(make(nbytes, attr, &space, &team) != 0,
             "%s: creating a HBM space returned 0, expected an error", what);
    PE_CHECK(space == SHMEM_SPACE_INVALID && team == SHMEM_TEAM_INVALID,
             "%s: a failed create did not set space and team to INVALID", what);
}

static shmemx_device_info_t device_of(void)
{
    shmemx_device_info_t info = SHMEMX_DEVICE_INFO_INITIALIZER;

    PE_CHECK_EQ(shmemx_device_count(SHMEM_DEVICE_HBM), 1);
    PE_CHECK_EQ(shmemx_device_describe(SHMEM_DEVICE_HBM, 0, &info), 0);
    PE_CHECK(info.usable, "the HBM device is not usable: %s", info.why_not);
    PE_CHECK_EQ(info.numa_node, 0);
    PE_CHECK(strcmp(info.name, "HBM, NUMA node 0") == 0,
             "the name of the HBM device is %s, expected \"HBM, NUMA node 0\"", info.name);
    PE_CHECK(info.n_page_sizes >= 1, "the HBM device has no page sizes");
    return info;
}

/* Own pages lie where they must, and a peer's that this PE touches first too. */
static void check_place(char *block, size_t nbytes)
{
    for (int end = 0; end < 2 && !forbidden; end++)
        PE_CHECK_EQ(pe_numa_policy_of(block + (end ? nbytes - 1 : 0)), MPOL_BIND);
    memset(block, 1, nbytes / 2);
    if (!forbidden) PE_CHECK_EQ(pe_numa_node_of(block), 0);
    shmem_barrier_all();
    shmem_char_p(block + nbytes - 1, (char)(1 + pe_me), pe_right());
    shmem_barrier_all();
    PE_CHECK_EQ(block[nbytes - 1], (char)(1 + pe_left()));
    if (!forbidden) PE_CHECK_EQ(pe_numa_node_of(block + nbytes - 1), 0);
}

static void check(int node, size_t page, size_t max)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmemx_space_info_t info;
    shmem_space_cap_t caps;
    shmem_space_t space;
    shmem_team_t team;
    char *block, *more;

    attr.numa_node = node;
    attr.page_size = page;
    attr.max_size = max;
    PE_REQUIRE(make(PE_MIB, &attr, &space, &team) == 0, "creating a HBM space failed");
    info = info_of(space);
    PE_CHECK_EQ(info.device_type, SHMEM_DEVICE_HBM);
    PE_CHECK_EQ(info.device, 0);
    PE_CHECK(strcmp(info.kind, "hbm") == 0, "the kind of the space is %s, expected hbm", info.kind);
    PE_CHECK(strstr(info.where, "HBM, NUMA node 0") != NULL,
             "the place of the space is \"%s\", expected \"HBM, NUMA node 0\" in it", info.where);
    PE_CHECK_EQ((int)info.numa_policy,
                forbidden ? (int)SHMEMX_NUMA_DEFAULT : (int)SHMEMX_NUMA_BIND);
    PE_CHECK_EQ(info.numa_node, forbidden ? -1 : 0);
    PE_CHECK_EQ(info.page_size, page);
    PE_CHECK_EQ(shmem_space_get_caps(space, &caps), 0);
    PE_CHECK((caps & SHMEM_SPACE_CAP_DIRECT_ACCESS) != 0 &&
                 (caps & SHMEM_SPACE_CAP_WORLD_ACCESS) != 0,
             "capabilities of the space are %#llx, expected DIRECT_ACCESS and WORLD_ACCESS",
             (unsigned long long)caps);
    PE_CHECK(shmem_team_n_pes(team) == pe_n, "the space has %d members, expected all PEs",
             shmem_team_n_pes(team));
    block = shmem_space_malloc(space, PE_MIB / 2);
    PE_REQUIRE(block != NULL, "shmem_space_malloc of half of the space returned NULL");
    check_place(block, PE_MIB / 2);
    if (max > 0) {
        more = shmem_space_malloc(space, 2 * PE_MIB);
        PE_REQUIRE(more != NULL,
                   "shmem_space_malloc of 2 MiB returned NULL: the space did not grow");
        check_place(more, 2 * PE_MIB);
    }
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

/* The range that a space of HBM had is any memory again. */
static void check_forgotten(int mode)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_CPU, PE_MIB);
    shmem_space_t space;
    shmem_team_t team;

    PE_REQUIRE(shmem_space_create(&config, &space, &team) == 0, "creating a CPU space failed");
    PE_CHECK_EQ(pe_numa_policy_of(info_of(space).base), mode);
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

static void check_refusals(void)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.numa_node = 1;
    refuse(PE_MIB, &attr, "a node without");
    attr.numa_node = pe_me == pe_n - 1 ? 1 : 0;
    refuse(PE_MIB, &attr, "a node without, on one PE");
    attr.numa_node = -1;
    attr.numa_policy = SHMEMX_NUMA_INTERLEAVE;
    refuse(PE_MIB, &attr, "a policy of its own");
    attr.numa_policy = SHMEMX_NUMA_DEFAULT;
    attr.flags = SHMEMX_SPACE_PINNED;
    refuse(PE_MIB, &attr, "pinned, without a GPU");
}

/* A space that may grow does not by so much, and then does by what there is. */
static void check_growth(size_t nbytes, const char *what)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_t space;
    shmem_team_t team;

    attr.max_size = 4 * nbytes;
    PE_REQUIRE(make(PE_MIB, &attr, &space, &team) == 0,
               "creating a HBM space with a large max_size failed, although only address space is "
               "reserved");
    PE_CHECK(shmem_space_malloc(space, nbytes) == NULL, "the space grew by %s, expected NULL",
             what);
    PE_CHECK(shmem_space_malloc(space, 2 * PE_MIB) != NULL,
             "the space did not grow by 2 MiB, which are free");
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

/* More than the node has free: at creation, and when a space grows. Others take and give. */
static void check_free(void)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    size_t nbytes = device_of().free, most;
    long mine = (long)nbytes;
    static long all;

    PE_CHECK(nbytes != SHMEMX_BYTES_UNKNOWN, "the free memory of the HBM device is unknown");
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
    most = (size_t)all + (size_t)all / 4 + (size_t)64 * PE_MIB;
    refuse(most, &attr, "more than there is");
    check_growth(most, "more than there is");
}

/* What this host may use at most, and its group of processes: larger parts are refused for that. */
static size_t most_of_host(void)
{
    unsigned long long limit = ULLONG_MAX;
    FILE *file = fopen("/sys/fs/cgroup/memory.max", "re");

    if (file == NULL) return SIZE_MAX;
    if (fscanf(file, "%llu", &limit) != 1) limit = ULLONG_MAX;
    fclose(file);
    return (size_t)limit;
}

/* The least that any PE finds free. */
static size_t free_for_all(void)
{
    static long least, mine;

    mine = (long)device_of().free;
    shmem_long_min_reduce(SHMEM_TEAM_WORLD, &least, &mine, 1);
    return (size_t)least;
}

/*
 * Parts that fit the node each, and not together: at creation, and when a space grows. A third of
 * it does, and all of it for a space with one member on the host.
 */
static void check_together(void)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    size_t nbytes = free_for_all() / (size_t)pe_n / 2 * 3;
    shmem_space_t space;
    shmem_team_t team, alone;

    if (pe_n == 1 || nbytes > most_of_host()) return;
    refuse(nbytes, &attr, "more than there is for all");
    PE_REQUIRE(make(nbytes / 3, &attr, &space, &team) == 0,
               "creating a HBM space of a third of the free share failed");
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
    check_growth(nbytes, "more than there is for all");
    for (int pe = 0; pe < pe_n; pe++) {
        PE_REQUIRE(shmem_team_split_strided(SHMEM_TEAM_WORLD, pe, 1, 1, NULL, 0, &alone) == 0,
                   "splitting off a team of PE %d failed", pe);
        if (pe != pe_me) continue;
        attr.parent = alone;
        PE_REQUIRE(make(nbytes, &attr, &space, &team) == 0,
                   "creating a HBM space with one member on the host failed");
        shmem_team_destroy(team);
        PE_CHECK_EQ(shmem_space_destroy(space), 0);
        shmem_team_destroy(alone);
    }
}

/* Pinned for GPUs: who is no member hears of it, too. */
static void check_some_pinned(bool member, bool refused)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_t space;
    shmem_team_t team;

    attr.flags = SHMEMX_SPACE_PINNED;
    if (refused) {
        refuse(PE_MIB, &attr, "pinned, which the driver refuses");
        return;
    }
    PE_REQUIRE(make(PE_MIB, &attr, &space, &team) == 0, "creating a pinned HBM space failed");
    PE_CHECK((space != SHMEM_SPACE_INVALID) == member,
             "a PE is a member of the pinned space if and only if it has HBM, expected so");
    if (!member) return;
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

/* Who has none is no member. hwloc is loaded when such memory is asked for first. */
static void check_some(bool pinned, bool refused)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_HBM, PE_MIB);
    bool member = pe_me % 2 == 0;
    struct pe_space s = {.kind = &pe_kinds[PE_HBM], .rank = -1};

    if (!member) {
        unsetenv("HWLOC_XMLFILE");
        setenv("HWLOC_SYNTHETIC", "node:2 pu:2", 1);
    }
    if (pinned) check_some_pinned(member, refused);
    PE_REQUIRE(shmem_space_create(&config, &s.space, &s.team) == 0, "creating a HBM space failed");
    PE_CHECK_EQ(shmemx_device_count(SHMEM_DEVICE_HBM), member ? 1 : 0);
    if (!member) {
        PE_CHECK(s.space == SHMEM_SPACE_INVALID && s.team == SHMEM_TEAM_INVALID,
                 "a PE without HBM did not get INVALID handles");
        return;
    }
    s.rank = shmem_team_my_pe(s.team);
    s.n = shmem_team_n_pes(s.team);
    PE_CHECK_EQ(s.n, (pe_n + 1) / 2);
    PE_CHECK_EQ(pe_member(&s, s.rank), pe_me);
    pe_kind_ring(&s, pe_kind_malloc(&s, 1000), 1000, 7);
    pe_kind_destroy(&s);
}

int main(int argc, char **argv)
{
    int mode = pe_numa_policy();

    if (mode < 0) return PE_SKIP;
    pe_test_begin();
    if (argc > 1 && strcmp(argv[1], "some") == 0) {
        check_some(argc > 2, argc > 2 && strcmp(argv[2], "refused") == 0);
        return pe_test_end();
    }
    (void)device_of();
    check(-1, 0, 0);
    check_forgotten(mode);
    check(0, 0, 0);
    check(-1, 0, (size_t)64 * PE_MIB);
    check(-1, 4096, 0);
    check(-1, 4096, (size_t)64 * PE_MIB);
    check_refusals();
    check_free();
    check_together();
    forbidden = pe_numa_forbid_mbind();
    if (forbidden) check(-1, 0, (size_t)64 * PE_MIB);
    return pe_test_end();
}
