/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmemx_space_query() with structures of older and newer headers: it fills in what both know,
 * leaves what lies behind a shorter one, and makes zero what it does not know of a longer one.
 * Sizes that were never set end the job: space_errors.c. Defaults without the initializers, too.
 */
#include "pe_kinds.h"

#include <errno.h>

enum { LATER = 72, CANARY = 0xa5 };

/* A structure of a later version, or what lies behind an earlier one. */
union answer {
    shmemx_space_info_t info;
    unsigned char bytes[sizeof(shmemx_space_info_t) + LATER];
};

static const shmemx_space_info_t whole = SHMEMX_SPACE_INFO_INITIALIZER;

static void ask(const struct pe_space *s, size_t struct_size, union answer *answer)
{
    memset(answer, CANARY, sizeof(*answer));
    answer->info.struct_size = struct_size;
    PE_CHECK_EQ(shmemx_space_query(s->space, &answer->info), 0);
    PE_CHECK_EQ(answer->info.struct_size, struct_size);
    PE_CHECK_EQ(answer->info.device_type, SHMEM_DEVICE_CPU);
    PE_CHECK_EQ(answer->info.n_pes, s->n);
    PE_CHECK_EQ(answer->info.nbytes, PE_MIB);
    PE_CHECK(answer->info.caps & SHMEM_SPACE_CAP_RMA, "caps: %#llx",
             (unsigned long long)answer->info.caps);
}

static void expect_bytes(const union answer *answer, size_t from, size_t to, int value)
{
    for (size_t i = from; i < to; i++)
        if (!PE_CHECK(answer->bytes[i] == value, "size %zu: byte %zu is %#x, not %#x",
                      answer->info.struct_size, i, answer->bytes[i], (unsigned)value))
            return;
}

static void check_shorter(const struct pe_space *s)
{
    size_t numbers = offsetof(shmemx_space_info_t, kind);
    size_t with_kind = offsetof(shmemx_space_info_t, where);
    union answer answer;

    ask(s, numbers, &answer);
    expect_bytes(&answer, numbers, sizeof(answer), CANARY);
    ask(s, with_kind, &answer);
    PE_CHECK(strcmp(answer.info.kind, "cpu") == 0, "kind is %s", answer.info.kind);
    expect_bytes(&answer, with_kind, sizeof(answer), CANARY);
}

static void check_same_and_longer(const struct pe_space *s)
{
    union answer same, longer;

    ask(s, whole.struct_size, &same);
    PE_CHECK(strcmp(same.info.kind, "cpu") == 0, "kind is %s", same.info.kind);
    expect_bytes(&same, sizeof(same.info), sizeof(same), CANARY);
    ask(s, sizeof(longer) - 8, &longer);
    PE_CHECK(strcmp(longer.info.where, same.info.where) == 0, "%s, with a longer structure %s",
             same.info.where, longer.info.where);
    expect_bytes(&longer, sizeof(longer.info), sizeof(longer) - 8, 0);
    expect_bytes(&longer, sizeof(longer) - 8, sizeof(longer), CANARY);
}

/* Of no space, nothing is set. */
static void check_none(void)
{
    union answer answer;

    memset(&answer, CANARY, sizeof(answer));
    answer.info.struct_size = sizeof(answer.info);
    PE_CHECK(shmemx_space_query(SHMEM_SPACE_INVALID, &answer.info) != 0, "facts about no space");
    expect_bytes(&answer, sizeof(size_t), sizeof(answer), CANARY);
}

/* As programs without our macros set them, before init too. */
static void check_defaults(void)
{
    static const shmemx_space_attr_t attr_whole = SHMEMX_SPACE_ATTR_INITIALIZER;
    union {
        shmemx_space_attr_t attr;
        unsigned char bytes[sizeof(shmemx_space_attr_t) + LATER];
    } attr;
    union answer info;

    memset(&attr, CANARY, sizeof(attr));
    PE_CHECK(shmemx_space_attr_init(&attr.attr, offsetof(shmemx_space_attr_t, name)) != 0,
             "attributes that no version had");
    PE_CHECK_EQ(attr.bytes[0], CANARY);
    PE_CHECK_EQ(shmemx_space_attr_init(&attr.attr, sizeof(attr.attr)), 0);
    PE_CHECK(attr.attr.parent == SHMEM_TEAM_WORLD, "the parent is another one");
    PE_CHECK_EQ(attr.attr.device, -1);
    for (size_t i = sizeof(attr.attr); i < sizeof(attr); i++)
        PE_CHECK_EQ(attr.bytes[i], CANARY);
    PE_CHECK_EQ(shmemx_space_attr_init(&attr.attr, sizeof(attr)), 0);
    PE_CHECK_EQ(attr.attr.struct_size, sizeof(attr));
    PE_CHECK(attr.attr.name == NULL && attr.attr.buffer == NULL, "a name or a buffer");
    PE_CHECK_EQ(attr.attr.flags, attr_whole.flags);
    PE_CHECK_EQ(attr.attr.open, attr_whole.open);
    for (size_t i = sizeof(attr.attr); i < sizeof(attr); i++)
        PE_CHECK_EQ(attr.bytes[i], 0);

    memset(&info, CANARY, sizeof(info));
    shmemx_space_info_init(&info.info, sizeof(info.info));
    PE_CHECK_EQ(info.info.struct_size, sizeof(info.info));
    PE_CHECK_EQ(info.info.device, -1);
    PE_CHECK_EQ(info.info.where[0], 0);
    expect_bytes(&info, sizeof(info.info), sizeof(info), CANARY);
}

/* The structures of devices likewise: whole, shorter, and of a size that none has. */
static void check_device_defaults(void)
{
    static const shmemx_device_options_t whole_options = SHMEMX_DEVICE_OPTIONS_INITIALIZER;
    shmemx_device_options_t options;
    shmemx_device_info_t info;

    memset(&options, CANARY, sizeof(options));
    PE_CHECK_EQ(shmemx_device_options_init(&options, sizeof(options)), 0);
    PE_CHECK_EQ(options.n_rings, whole_options.n_rings);
    PE_CHECK_EQ(options.n_slots, whole_options.n_slots);
    PE_CHECK_EQ(options.kind, whole_options.kind);
    PE_CHECK_EQ(options.device, -1);
    memset(&info, CANARY, sizeof(info));
    PE_CHECK_EQ(shmemx_device_info_init(&info, offsetof(shmemx_device_info_t, nbytes)), 0);
    PE_CHECK_EQ(info.struct_size, offsetof(shmemx_device_info_t, nbytes));
    PE_CHECK_EQ(info.device, -1);
    PE_CHECK_EQ(*(unsigned char *)&info.nbytes, CANARY);
    PE_CHECK(shmemx_device_options_init(&options, 4) != 0, "options of 4 bytes");
    PE_CHECK(shmemx_device_info_init(&info, 0) != 0, "a structure of no bytes");
}

/* Made from the defaults that the library has set, also in a structure of a later header. */
static void check_made(void)
{
    shmem_space_config_t config = {SHMEM_DEVICE_CPU, PE_MIB, SHMEM_SPACE_FLAG_DEFAULT};
    union {
        shmemx_space_attr_t attr;
        unsigned char bytes[sizeof(shmemx_space_attr_t) + LATER];
    } later;
    shmem_space_t space;
    shmem_team_t team;

    PE_CHECK_EQ(shmemx_space_attr_init(&later.attr, sizeof(later)), 0);
    PE_CHECK_EQ(shmemx_space_create_attr(&config, &later.attr, &space, &team), 0);
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
    later.bytes[sizeof(later) - 1] = 1; /* a field that this library does not know */
    PE_CHECK(shmemx_space_create_attr(&config, &later.attr, &space, &team) != 0, "it was ignored");
}

/* Wrong arguments of routines that have no test of their own. */
static void check_refused(void)
{
    static long source, dest;

    PE_CHECK(shmemx_space_print(-1) != 0, "a table for descriptor -1");
    PE_CHECK_EQ(shmemx_info_print(-1, "nosuch", 0), EINVAL);
    PE_CHECK(shmemx_sync_on_stream(SHMEM_TEAM_INVALID, NULL) != 0, "a sync of no team");
    PE_CHECK(shmemx_barrier_on_stream(SHMEM_TEAM_INVALID, NULL) != 0, "a barrier of no team");
    PE_CHECK(shmemx_broadcastmem_on_stream(SHMEM_TEAM_WORLD, &dest, &source, 8, pe_n, NULL) != 0,
             "a broadcast by nobody");
    PE_CHECK(shmemx_long_sum_reduce_on_stream(SHMEM_TEAM_INVALID, &dest, &source, 1, NULL) != 0,
             "a sum of no team");
    PE_CHECK(shmemx_space_align(SHMEM_SPACE_DEFAULT, 3, 8) == NULL, "alignment 3");
}

int main(void)
{
    struct pe_space s;

    check_defaults();
    check_device_defaults();
    pe_test_begin();
    check_made();
    PE_CHECK_EQ(whole.struct_size, sizeof(whole));
    PE_REQUIRE(pe_kind_create(PE_CPU, PE_MIB, &s), "a space of host memory");
    check_shorter(&s);
    check_same_and_longer(&s);
    check_none();
    check_refused();
    pe_kind_destroy(&s);
    return pe_test_end();
}
