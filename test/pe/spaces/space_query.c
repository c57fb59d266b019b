/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks shmemx_space_query() with structures of shorter and longer headers: known fields are
 * filled in, bytes after a shorter structure are unchanged, and unknown fields of a longer one are
 * zero. Also checks the init functions of structures, attributes of a later header, and some wrong
 * arguments. A struct_size that was never set is in space_errors.c.
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
    PE_CHECK(answer->info.caps & SHMEM_SPACE_CAP_RMA,
             "capabilities of a CPU space are %#llx, without SHMEM_SPACE_CAP_RMA",
             (unsigned long long)answer->info.caps);
}

static void expect_bytes(const union answer *answer, size_t from, size_t to, int value)
{
    for (size_t i = from; i < to; i++)
        if (!PE_CHECK(answer->bytes[i] == value,
                      "structure of %zu bytes: byte %zu is %#x, expected %#x",
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
    PE_CHECK(strcmp(answer.info.kind, "cpu") == 0, "the kind of a CPU space is %s, expected cpu",
             answer.info.kind);
    expect_bytes(&answer, with_kind, sizeof(answer), CANARY);
}

static void check_same_and_longer(const struct pe_space *s)
{
    union answer same, longer;

    ask(s, whole.struct_size, &same);
    PE_CHECK(strcmp(same.info.kind, "cpu") == 0, "the kind of a CPU space is %s, expected cpu",
             same.info.kind);
    expect_bytes(&same, sizeof(same.info), sizeof(same), CANARY);
    ask(s, sizeof(longer) - 8, &longer);
    PE_CHECK(strcmp(longer.info.where, same.info.where) == 0,
             "the place of the space is \"%s\", with a longer structure it is \"%s\"",
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
    PE_CHECK(shmemx_space_query(SHMEM_SPACE_INVALID, &answer.info) != 0,
             "shmemx_space_query of SHMEM_SPACE_INVALID returned 0, expected an error");
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
    PE_CHECK(
        shmemx_space_attr_init(&attr.attr, offsetof(shmemx_space_attr_t, name)) != 0,
        "shmemx_space_attr_init with a size that no version had returned 0, expected an error");
    PE_CHECK_EQ(attr.bytes[0], CANARY);
    PE_CHECK_EQ(shmemx_space_attr_init(&attr.attr, sizeof(attr.attr)), 0);
    PE_CHECK(attr.attr.parent == SHMEM_TEAM_WORLD,
             "the default of attr.parent is not SHMEM_TEAM_WORLD");
    PE_CHECK_EQ(attr.attr.device, -1);
    for (size_t i = sizeof(attr.attr); i < sizeof(attr); i++)
        PE_CHECK_EQ(attr.bytes[i], CANARY);
    PE_CHECK_EQ(shmemx_space_attr_init(&attr.attr, sizeof(attr)), 0);
    PE_CHECK_EQ(attr.attr.struct_size, sizeof(attr));
    PE_CHECK(attr.attr.name == NULL && attr.attr.buffer == NULL,
             "the default of attr.name or attr.buffer is not NULL");
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
    PE_CHECK(shmemx_device_options_init(&options, 4) != 0,
             "shmemx_device_options_init of 4 bytes returned 0, expected an error");
    PE_CHECK(shmemx_device_info_init(&info, 0) != 0,
             "shmemx_device_info_init of 0 bytes returned 0, expected an error");
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
    PE_CHECK(shmemx_space_create_attr(&config, &later.attr, &space, &team) != 0,
             "create with an unknown field that is set returned 0, expected an error");
}

/* Wrong arguments of routines that have no test of their own. */
static void check_refused(void)
{
    static long source, dest;

    PE_CHECK(shmemx_space_print(-1) != 0,
             "shmemx_space_print to descriptor -1 returned 0, expected an error");
    PE_CHECK_EQ(shmemx_info_print(-1, "nosuch", 0), EINVAL);
    PE_CHECK(shmemx_sync_on_stream(SHMEM_TEAM_INVALID, NULL) != 0,
             "shmemx_sync_on_stream of SHMEM_TEAM_INVALID returned 0, expected an error");
    PE_CHECK(shmemx_barrier_on_stream(SHMEM_TEAM_INVALID, NULL) != 0,
             "shmemx_barrier_on_stream of SHMEM_TEAM_INVALID returned 0, expected an error");
    PE_CHECK(
        shmemx_broadcastmem_on_stream(SHMEM_TEAM_WORLD, &dest, &source, 8, pe_n, NULL) != 0,
        "shmemx_broadcastmem_on_stream with a root outside the team returned 0, expected an error");
    PE_CHECK(
        shmemx_long_sum_reduce_on_stream(SHMEM_TEAM_INVALID, &dest, &source, 1, NULL) != 0,
        "shmemx_long_sum_reduce_on_stream of SHMEM_TEAM_INVALID returned 0, expected an error");
    PE_CHECK(shmemx_space_align(SHMEM_SPACE_DEFAULT, 3, 8) == NULL,
             "shmemx_space_align to 3 returned memory, expected NULL");
}

int main(void)
{
    struct pe_space s;

    check_defaults();
    check_device_defaults();
    pe_test_begin();
    check_made();
    PE_CHECK_EQ(whole.struct_size, sizeof(whole));
    PE_REQUIRE(pe_kind_create(PE_CPU, PE_MIB, &s), "creating a CPU space failed");
    check_shorter(&s);
    check_same_and_longer(&s);
    check_none();
    check_refused();
    pe_kind_destroy(&s);
    return pe_test_end();
}
