/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes that creating or growing a space must refuse. Each function checks the returned error
 * and handles; run_space_errors.sh checks the message.
 */
#include "space_errors.h"

static void refused(const shmem_space_config_t *config, const shmemx_space_attr_t *attr)
{
    shmem_space_t space = SHMEM_SPACE_DEFAULT;
    shmem_team_t team = SHMEM_TEAM_WORLD;
    int rc = shmemx_space_create_attr(config, attr, &space, &team);

    PE_CHECK(rc != 0, "shmemx_space_create_attr returned 0, expected an error");
    PE_CHECK(space == SHMEM_SPACE_INVALID,
             "a failed create set the space to %p, expected SHMEM_SPACE_INVALID", space);
    PE_CHECK(team == SHMEM_TEAM_INVALID,
             "a failed create set the team to %p, expected SHMEM_TEAM_INVALID", (void *)team);
}

static void create_as_it_is(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, 8 * PE_MIB);

    refused(&config, NULL);
}

static void create_bad_kind(void)
{
    shmem_space_config_t config = pe_kind_config((shmem_device_type_t)99, SIZE);

    refused(&config, NULL);
}

static void create_hbm(void)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_HBM, SIZE);

    refused(&config, NULL);
}

static void create_hbm_numa(void)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_HBM, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.numa_policy = SHMEMX_NUMA_INTERLEAVE;
    refused(&config, &attr);
}

static void create_hbm_node(void)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_HBM, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.numa_node = 7;
    refused(&config, &attr);
}

/* Of what the node has free, an equal share of each PE and a half of that more. */
static size_t hbm_share(void)
{
    shmemx_device_info_t info = SHMEMX_DEVICE_INFO_INITIALIZER;
    static long least, mine;

    PE_REQUIRE(shmemx_device_describe(SHMEM_DEVICE_HBM, 0, &info) == 0,
               "shmemx_device_describe of HBM device 0 failed");
    mine = (long)info.free;
    shmem_long_min_reduce(SHMEM_TEAM_WORLD, &least, &mine, 1);
    return (size_t)least / (size_t)pe_n / 2 * 3;
}

static void create_hbm_together(void)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_HBM, hbm_share());

    refused(&config, NULL);
}

static void create_hbm_grown(void)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_HBM, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_t space;
    shmem_team_t team;

    attr.max_size = 2 * hbm_share();
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, &team) == 0,
               "shmemx_space_create_attr of a HBM space that may grow failed");
    PE_CHECK(shmem_space_malloc(space, hbm_share()) == NULL,
             "a HBM space grew by more than its share of the free memory, expected NULL");
}

static void create_zero(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, 0);

    refused(&config, NULL);
}

static void create_negative(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE_MAX);

    refused(&config, NULL);
}

static void create_bad_device(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.device = -2;
    refused(&config, &attr);
}

static void create_too_large(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, (size_t)1 << 46);

    refused(&config, NULL);
}

/* Of the last PE alone: all members return, and the space that comes next is made. */
static void create_unset_size(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    if (pe_me == pe_n - 1) attr.struct_size = 12345;
    refused(&config, &attr);
}

/* A structure that was not initialized, on the last PE alone: its parent is no team either. */
static void create_garbage(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    if (pe_me == pe_n - 1) {
        memset(&attr, 0xa5, sizeof(attr));
        attr.struct_size = 0;
    }
    refused(&config, &attr);
}

static void create_on_gpu(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.device = 0;
    refused(&config, &attr);
}

static void create_no_parent(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.parent = SHMEM_TEAM_INVALID;
    refused(&config, &attr);
}

static void create_bad_flags(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);

    config.flags = 0x40;
    refused(&config, NULL);
}

static void create_bad_attr_flags(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.flags = 0x48;
    refused(&config, &attr);
}

static void create_pinned(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.flags = SHMEMX_SPACE_PINNED;
    refused(&config, &attr);
}

static void create_null_config(void)
{
    refused(NULL, NULL);
}

static void create_with_name(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.name = word;
    refused(&config, &attr);
}

static void create_keep(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.flags = SHMEMX_SPACE_KEEP;
    refused(&config, &attr);
}

static void create_reshaped(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.flags = SHMEMX_SPACE_RESHAPE;
    refused(&config, &attr);
}

static void create_in_buffer(void)
{
    static char buffer[SIZE];
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.buffer = buffer;
    refused(&config, &attr);
}

static void create_growing(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.max_size = (size_t)atol(word);
    refused(&config, &attr);
}

static void create_on_device(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.device = 9;
    refused(&config, &attr);
}

/* A named space of `word` bytes, kept: the second job asks for another shape. */
static void create_named(void)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_FAM, (size_t)atol(word));
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    struct pe_space named = {.kind = &pe_kinds[PE_FAM]};

    attr.name = "shape";
    attr.flags = SHMEMX_SPACE_KEEP;
    if (getenv("EXPECT_REFUSED") != NULL) {
        refused(&config, &attr);
        return;
    }
    PE_CHECK_EQ(shmemx_space_create_attr(&config, &attr, &named.space, &named.team), 0);
    shmem_team_destroy(named.team);
    PE_CHECK_EQ(shmem_space_destroy(named.space), 0);
}

static const struct mistake mistakes[] = {
    {"create", create_as_it_is, TOLD_WITHOUT},
    {"bad_kind", create_bad_kind, TOLD_WITHOUT},
    {"hbm", create_hbm, TOLD_WITHOUT},
    {"hbm_numa", create_hbm_numa, TOLD_WITHOUT},
    {"hbm_node", create_hbm_node, TOLD_WITHOUT},
    {"hbm_together", create_hbm_together, TOLD_WITHOUT},
    {"hbm_grown", create_hbm_grown, TOLD_WITHOUT},
    {"zero", create_zero, TOLD_WITHOUT},
    {"negative", create_negative, TOLD_WITHOUT},
    {"bad_device", create_bad_device, TOLD_WITHOUT},
    {"too_large", create_too_large, TOLD_WITHOUT},
    {"bad_flags", create_bad_flags, TOLD_WITHOUT},
    {"bad_attr_flags", create_bad_attr_flags, TOLD_WITHOUT},
    {"pinned", create_pinned, TOLD_WITHOUT},
    {"unset_size", create_unset_size, TOLD_WITHOUT},
    {"garbage", create_garbage, TOLD_WITHOUT},
    {"on_gpu", create_on_gpu, TOLD_WITHOUT},
    {"no_parent", create_no_parent, TOLD_WITHOUT},
    {"null_config", create_null_config, TOLD_WITHOUT},
    {"with_name", create_with_name, TOLD_WITHOUT},
    {"keep", create_keep, TOLD_WITHOUT},
    {"reshaped", create_reshaped, TOLD_WITHOUT},
    {"in_buffer", create_in_buffer, TOLD_WITHOUT},
    {"growing", create_growing, TOLD_WITHOUT},
    {"on_device", create_on_device, TOLD_WITHOUT},
    {"named", create_named, TOLD_WITHOUT},
    {NULL, NULL, MADE_BY_MEMBERS},
};

static int failures(void)
{
    return pe_failures;
}

const struct concern concern_create = {mistakes, concern_begin, failures};
