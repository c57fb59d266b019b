/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the names, types and values of the spaces proposal, most of them at compile time, and
 * that each routine and its pshmem_ form work on one CPU space. Rules P of
 * docs/reference/conformance-spaces.md and S18.
 */
#include "pe_spaces.h"

#include <pshmem.h>

_Static_assert(SHMEM_DEVICE_CPU == 0, "the one device type with a value");
_Static_assert(SHMEM_SPACE_FLAG_DEFAULT == 0x0000, "flag");
_Static_assert(SHMEM_SPACE_CAP_RMA == UINT64_C(0x0001), "capability");
_Static_assert(SHMEM_SPACE_CAP_COLLECTIVES == UINT64_C(0x0002), "capability");
_Static_assert(SHMEM_SPACE_CAP_ATOMICS == UINT64_C(0x0004), "capability");
_Static_assert(SHMEM_SPACE_CAP_DIRECT_ACCESS == UINT64_C(0x0008), "capability");
_Static_assert(SHMEM_SPACE_CAP_WORLD_ACCESS == UINT64_C(0x0010), "capability");
_Static_assert(SHMEM_SPACE_CAP_IDENT_ADDR == UINT64_C(0x0020), "capability");

#define SAME_TYPE(expression, type) _Generic((expression), type : 1, default : 0)
_Static_assert(SAME_TYPE((shmem_space_t)0, void *), "a handle is a void *");
_Static_assert(SAME_TYPE((shmem_space_cap_t)0, uint64_t), "capabilities are 64 bits");
_Static_assert(SAME_TYPE(((shmem_space_config_t *)0)->device_type, shmem_device_type_t), "config");
_Static_assert(SAME_TYPE(((shmem_space_config_t *)0)->size, size_t), "config");
_Static_assert(SAME_TYPE(((shmem_space_config_t *)0)->flags, int), "config");

/* Constant expressions: statics begin with them. */
static shmem_space_t invalid = SHMEM_SPACE_INVALID, by_default = SHMEM_SPACE_DEFAULT;
static const shmem_device_type_t types[] = {SHMEM_DEVICE_CPU, SHMEM_DEVICE_GPU, SHMEM_DEVICE_HBM,
                                            SHMEM_DEVICE_FAM};

/* The prototypes, letter by letter: another one does not compile. */
static int (*const creates[])(const shmem_space_config_t *, shmem_space_t *,
                              shmem_team_t *) = {shmem_space_create, pshmem_space_create};
static int (*const destroys[])(shmem_space_t) = {shmem_space_destroy, pshmem_space_destroy};
static void *(*const mallocs[])(shmem_space_t, size_t) = {shmem_space_malloc, pshmem_space_malloc};
static void *(*const callocs[])(shmem_space_t, size_t, size_t) = {shmem_space_calloc,
                                                                  pshmem_space_calloc};
static void (*const frees[])(shmem_space_t, void *) = {shmem_space_free, pshmem_space_free};
static int (*const get_teams[])(shmem_space_t, shmem_team_t *) = {shmem_space_get_team,
                                                                  pshmem_space_get_team};
static int (*const get_types[])(shmem_space_t, shmem_device_type_t *) = {
    shmem_space_get_device_type, pshmem_space_get_device_type};
static int (*const get_caps[])(shmem_space_t, shmem_space_cap_t *) = {shmem_space_get_caps,
                                                                      pshmem_space_get_caps};
static int (*const get_spaces[])(void *, shmem_space_t *) = {shmem_get_space, pshmem_get_space};
static int (*const team_get_spaces[])(shmem_team_t, shmem_space_t *) = {shmem_team_get_space,
                                                                        pshmem_team_get_space};

static void check_constants(void)
{
    PE_CHECK(
        invalid == SHMEM_SPACE_INVALID && by_default == SHMEM_SPACE_DEFAULT,
        "SHMEM_SPACE_INVALID or SHMEM_SPACE_DEFAULT changed its value in a static initializer");
    PE_CHECK(invalid != by_default, "SHMEM_SPACE_DEFAULT and SHMEM_SPACE_INVALID are equal");
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++)
            PE_CHECK(types[i] != types[k], "device types %d and %d of the list are equal", i, k);
}

/* The whole of the proposal's example, by one twin and then by the other. */
static void check_routines(int twin)
{
    shmem_space_config_t config = {
        .device_type = SHMEM_DEVICE_CPU, .size = 1024 * 1024, .flags = SHMEM_SPACE_FLAG_DEFAULT};
    shmem_space_t space = SHMEM_SPACE_INVALID, found = SHMEM_SPACE_INVALID;
    shmem_team_t team = SHMEM_TEAM_INVALID, asked = SHMEM_TEAM_INVALID;
    shmem_device_type_t type = SHMEM_DEVICE_GPU;
    shmem_space_cap_t caps = 0;
    int *a, *b;

    PE_REQUIRE(creates[twin](&config, &space, &team) == 0 && shmem_team_is_valid(team),
               "shmem_space_create of a CPU space failed");
    a = mallocs[twin](space, 16 * sizeof(int));
    b = callocs[twin](space, 16, sizeof(int));
    PE_REQUIRE(a != NULL && b != NULL && a != b,
               "shmem_space_malloc or _calloc returned NULL, or both returned one block");
    PE_CHECK_EQ(get_teams[twin](space, &asked), 0);
    PE_CHECK(asked == team, "shmem_space_get_team did not return the team of the space");
    PE_CHECK_EQ(get_types[twin](space, &type), 0);
    PE_CHECK_EQ(type, SHMEM_DEVICE_CPU);
    PE_CHECK_EQ(get_caps[twin](space, &caps), 0);
    PE_CHECK(caps & SHMEM_SPACE_CAP_RMA,
             "capabilities of a CPU space are %#llx, without SHMEM_SPACE_CAP_RMA",
             (unsigned long long)caps);
    PE_CHECK_EQ(get_spaces[twin](b, &found), 0);
    PE_CHECK(found == space, "shmem_get_space of a block did not return its space");
    PE_CHECK_EQ(team_get_spaces[twin](team, &found), 0);
    PE_CHECK(found == space, "shmem_team_get_space did not return the space of the team");
    shmem_team_sync(team);
    frees[twin](space, a);
    frees[twin](space, b);
    shmem_team_destroy(team);
    PE_CHECK_EQ(destroys[twin](space), 0);
}

/* S18: the standard's split_2d has eight arguments; the example with four is this one. */
static void check_first_example(void)
{
    shmem_space_config_t config = pe_cpu_config(PE_MIB);
    shmem_team_t team = SHMEM_TEAM_INVALID, row = SHMEM_TEAM_INVALID, column = SHMEM_TEAM_INVALID;
    shmem_space_t space = SHMEM_SPACE_INVALID;
    int *data;

    PE_REQUIRE(shmem_space_create(&config, &space, &team) == 0,
               "shmem_space_create of a CPU space failed");
    PE_REQUIRE(shmem_team_split_2d(team, 2, NULL, 0, &row, NULL, 0, &column) == 0,
               "shmem_team_split_2d of the space's team failed");
    data = shmem_space_malloc(space, 16 * sizeof(int));
    for (int i = 0; i < 16; i++)
        data[i] = 100 * pe_me + i;
    shmem_team_sync(team);
    PE_CHECK_EQ(shmem_int_broadcast(row, data, data, 16, 0), 0);
    for (int i = 0; i < 16; i++)
        PE_CHECK_EQ(data[i], 100 * (pe_me - pe_me % 2) + i);
    shmem_space_free(space, data);
    shmem_team_destroy(row);
    shmem_team_destroy(column);
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

int main(void)
{
    pe_test_begin();
    check_constants();
    check_routines(0);
    check_routines(1);
    check_first_example();
    return pe_test_end();
}
