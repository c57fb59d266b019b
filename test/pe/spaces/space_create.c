/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks memory spaces: creation, configurations that must be refused on all PEs, and queries
 * about a space, a pointer and a team. Proposal text and rules S1, S8, S11, S12 and S14-S16 of
 * docs/reference/conformance-spaces.md. Only CPU spaces are used; other kinds may exist or not.
 */
#include "pe_spaces.h"

static long in_data = 1;
static shmem_space_t no_space = SHMEM_SPACE_INVALID; /* S16: an initialiser */

/* A refused configuration: nonzero, and INVALID twice, on every PE. */
static void check_refused(const shmem_space_config_t *config, const char *what)
{
    shmem_space_t space = SHMEM_SPACE_DEFAULT;
    shmem_team_t team = SHMEM_TEAM_WORLD;
    int rc = shmem_space_create(config, &space, &team);

    PE_CHECK(rc != 0, "%s: shmem_space_create returned 0, expected an error", what);
    PE_CHECK(space == SHMEM_SPACE_INVALID,
             "%s: a failed create set the space to %p, expected SHMEM_SPACE_INVALID", what, space);
    PE_CHECK(team == SHMEM_TEAM_INVALID,
             "%s: a failed create set the team to %p, expected SHMEM_TEAM_INVALID", what,
             (void *)team);
}

static void check_bad_configs(void)
{
    shmem_space_config_t config = pe_cpu_config(PE_MIB);

    config.device_type = (shmem_device_type_t)99;
    check_refused(&config, "kind 99");
    config.device_type = (shmem_device_type_t)-1;
    check_refused(&config, "kind -1");
    config = pe_cpu_config(0);
    check_refused(&config, "size 0"); /* S12 */
    config = pe_cpu_config(PE_MIB);
    config.flags = 0x4000;
    check_refused(&config, "unknown flag");
    config.flags = -1;
    check_refused(&config, "all flags");
    config = pe_cpu_config((size_t)1 << 50);
    check_refused(&config, "1 PiB");
    config = pe_cpu_config(SIZE_MAX);
    check_refused(&config, "SIZE_MAX bytes");
    config = pe_cpu_config(SIZE_MAX / 2 + 1);
    check_refused(&config, "half the address space");
}

/* A kind that the machine has or has not: members everywhere or nowhere, one answer for all. */
static void check_kind(shmem_device_type_t kind, const char *name)
{
    shmem_space_config_t config = pe_cpu_config(PE_MIB);
    shmem_space_t space = SHMEM_SPACE_DEFAULT;
    shmem_team_t team = SHMEM_TEAM_WORLD;
    int rc;

    config.device_type = kind;
    rc = shmem_space_create(&config, &space, &team);
    pe_check_agreed(rc != 0, name);
    PE_CHECK((space == SHMEM_SPACE_INVALID) == (team == SHMEM_TEAM_INVALID),
             "%s: create set only one of space and team to a valid handle", name);
    if (rc != 0)
        PE_CHECK(space == SHMEM_SPACE_INVALID, "%s: create returned an error and a valid space",
                 name);
    if (space != SHMEM_SPACE_INVALID) pe_space_end(space, team);
}

static void check_kinds(void)
{
    shmem_space_config_t config = pe_cpu_config(PE_MIB);

    check_kind(SHMEM_DEVICE_GPU, "GPU");
    check_kind(SHMEM_DEVICE_HBM, "HBM");
    unsetenv("SHMEM_FAM_PATH");
    config.device_type = SHMEM_DEVICE_FAM;
    check_refused(&config, "FAM without a path");
}

/* S1: one PE that asks for something else makes all fail; the next create works. */
static void check_differing(void)
{
    shmem_space_config_t config = pe_cpu_config(PE_MIB);
    shmem_space_t space;
    shmem_team_t team;

    if (pe_n < 2) return; /* nobody to differ from */
    config.size += pe_me == pe_n - 1 ? 4096 : 0;
    check_refused(&config, "differing sizes");
    config = pe_cpu_config(pe_me == 0 ? 0 : PE_MIB);
    check_refused(&config, "one size 0");
    config = pe_cpu_config(PE_MIB);
    config.device_type = pe_me == 0 ? SHMEM_DEVICE_FAM : SHMEM_DEVICE_CPU;
    check_refused(&config, "differing kinds");
    config = pe_cpu_config(PE_MIB);
    config.flags = pe_me == pe_n / 2 ? 8 : 0;
    check_refused(&config, "differing flags");
    space = pe_space_create(PE_MIB, &team);
    pe_space_end(space, team);
}

/* P: the returned team holds the PEs with access, here all in world order. */
static void check_team(shmem_space_t space, shmem_team_t team)
{
    shmem_team_t asked = SHMEM_TEAM_INVALID;
    shmem_space_t of_team = SHMEM_SPACE_INVALID;

    PE_CHECK(shmem_team_is_valid(team) != 0, "shmem_team_is_valid of the space's team returned 0");
    PE_CHECK_EQ(shmem_team_n_pes(team), pe_n);
    PE_CHECK_EQ(shmem_team_my_pe(team), pe_me);
    PE_CHECK_EQ(shmem_team_sync(team), 0);
    PE_CHECK_EQ(shmem_space_get_team(space, &asked), 0);
    PE_CHECK(asked == team, "shmem_space_get_team returned %p, expected %p", (void *)asked,
             (void *)team);
    PE_CHECK_EQ(shmem_team_get_space(team, &of_team), 0);
    PE_CHECK(of_team == space, "shmem_team_get_space returned %p, expected %p", of_team, space);
}

/* S8: what is always true of host memory; IDENT_ADDR is checked against the addresses. */
static void check_caps(shmem_space_t space)
{
    static uintptr_t base[1];
    const shmem_space_cap_t always = SHMEM_SPACE_CAP_RMA | SHMEM_SPACE_CAP_COLLECTIVES |
                                     SHMEM_SPACE_CAP_ATOMICS | SHMEM_SPACE_CAP_DIRECT_ACCESS |
                                     SHMEM_SPACE_CAP_WORLD_ACCESS;
    shmem_space_cap_t caps = 0;
    shmem_device_type_t kind = (shmem_device_type_t)-1;
    char *block = space == SHMEM_SPACE_DEFAULT ? shmem_malloc(64) : shmem_space_malloc(space, 64);

    PE_REQUIRE(block != NULL, "an allocation of 64 bytes in the space returned NULL");
    PE_CHECK_EQ(shmem_space_get_caps(space, &caps), 0);
    PE_CHECK(
        (caps & always) == always,
        "capabilities of a CPU space are 0x%lx, expected RMA, COLLECTIVES, ATOMICS, DIRECT_ACCESS "
        "and WORLD_ACCESS",
        (unsigned long)caps);
    pe_check_agreed((long)caps, "caps");
    PE_CHECK_EQ(shmem_space_get_device_type(space, &kind), 0);
    PE_CHECK_EQ(kind, SHMEM_DEVICE_CPU);
    base[0] = (uintptr_t)block;
    shmem_barrier_all();
    for (int pe = 0; (caps & SHMEM_SPACE_CAP_IDENT_ADDR) && pe < pe_n; pe++) {
        uintptr_t theirs = 0;

        shmem_getmem(&theirs, base, sizeof(theirs), pe);
        PE_CHECK(theirs == base[0],
                 "the space has IDENT_ADDR, but a block is at 0x%lx here and at 0x%lx on pe %d",
                 base[0], theirs, pe);
    }
    memset(block, 3, 64); /* DIRECT_ACCESS */
    shmem_barrier_all();
    shmem_free(block);
}

/* S14: interior pointers, both ends of a block; heap and globals are in the default space. */
static void check_get_space(shmem_space_t space, shmem_space_t other)
{
    char *block = shmem_space_malloc(space, 10000), *heap = shmem_malloc(100);
    char *in_other = shmem_space_malloc(other, 100);
    shmem_space_t got;
    int on_stack = 0;
    const struct {
        void *ptr;
        shmem_space_t space;
    } cases[] = {{block, space},
                 {block + 1, space},
                 {block + 9999, space},
                 {in_other, other},
                 {heap, SHMEM_SPACE_DEFAULT},
                 {heap + 99, SHMEM_SPACE_DEFAULT},
                 {&in_data, SHMEM_SPACE_DEFAULT}};

    PE_REQUIRE(block != NULL && heap != NULL && in_other != NULL,
               "an allocation in one of the spaces or the heap returned NULL");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        got = SHMEM_SPACE_INVALID;
        PE_CHECK_EQ(shmem_get_space(cases[i].ptr, &got), 0);
        PE_CHECK(got == cases[i].space,
                 "shmem_get_space of address %zu of the table returned %p, expected %p", i, got,
                 cases[i].space);
    }
    PE_CHECK(shmem_get_space(NULL, &got) != 0,
             "shmem_get_space of NULL returned 0, expected an error");
    PE_CHECK(shmem_get_space(&on_stack, &got) != 0,
             "shmem_get_space of an address on the stack returned 0, expected an error");
    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK_EQ(shmem_addr_accessible(block + 5, pe), 1);
    PE_CHECK(shmem_ptr(block, pe_me) == block, "shmem_ptr of a block for this PE is not the block");
    shmem_space_free(space, block);
    shmem_space_free(other, in_other);
    shmem_free(heap);
}

/* What is asked of no space, and of the default one (S11, S14). */
static void check_no_space(void)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_space_t space = SHMEM_SPACE_INVALID;
    shmem_device_type_t kind;
    shmem_space_cap_t caps;

    PE_CHECK(shmem_space_get_team(no_space, &team) != 0,
             "shmem_space_get_team of SHMEM_SPACE_INVALID returned 0, expected an error");
    PE_CHECK(shmem_space_get_device_type(no_space, &kind) != 0,
             "shmem_space_get_device_type of SHMEM_SPACE_INVALID returned 0, expected an error");
    PE_CHECK(shmem_space_get_caps(no_space, &caps) != 0,
             "shmem_space_get_caps of SHMEM_SPACE_INVALID returned 0, expected an error");
    PE_CHECK_EQ(shmem_space_destroy(no_space), 0);
    PE_CHECK(shmem_space_malloc(no_space, 8) == NULL,
             "shmem_space_malloc in SHMEM_SPACE_INVALID returned memory, expected NULL");
    PE_CHECK(shmem_space_calloc(no_space, 8, 8) == NULL,
             "shmem_space_calloc in SHMEM_SPACE_INVALID returned memory, expected NULL");
    shmem_space_free(no_space, &in_data);
    PE_CHECK(shmem_team_get_space(SHMEM_TEAM_INVALID, &space) != 0,
             "shmem_team_get_space of SHMEM_TEAM_INVALID returned 0, expected an error");
    PE_CHECK_EQ(shmem_team_get_space(SHMEM_TEAM_WORLD, &space), 0);
    PE_CHECK(space == SHMEM_SPACE_DEFAULT,
             "shmem_team_get_space of the world is %p, expected SHMEM_SPACE_DEFAULT", space);
    PE_CHECK_EQ(shmem_team_get_space(SHMEM_TEAM_SHARED, &space), 0);
    PE_CHECK(space == SHMEM_SPACE_DEFAULT,
             "shmem_team_get_space of the shared team is %p, expected SHMEM_SPACE_DEFAULT", space);
    PE_CHECK_EQ(shmem_space_get_team(SHMEM_SPACE_DEFAULT, &team), 0);
    PE_CHECK(team == SHMEM_TEAM_WORLD,
             "shmem_space_get_team of the default space is %p, expected SHMEM_TEAM_WORLD",
             (void *)team);
    PE_CHECK(shmem_space_destroy(SHMEM_SPACE_DEFAULT) != 0,
             "shmem_space_destroy of the default space returned 0, expected an error");
}

int main(void)
{
    shmem_team_t team = SHMEM_TEAM_INVALID, other_team = SHMEM_TEAM_INVALID;
    shmem_space_t space, other;

    pe_test_begin();
    check_no_space();
    check_bad_configs();
    check_kinds();
    check_differing();
    space = pe_space_create(2 * PE_MIB, &team);
    other = pe_space_create(PE_MIB, &other_team);
    PE_CHECK(space != other && team != other_team, "two spaces or their teams have equal handles");
    check_team(space, team);
    check_team(other, other_team);
    check_caps(space);
    check_caps(SHMEM_SPACE_DEFAULT);
    check_get_space(space, other);
    pe_space_end(space, team);
    check_team(other, other_team);
    pe_space_end(other, other_team);
    return pe_test_end();
}
