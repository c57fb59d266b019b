/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks named blocks of a FAM space: the next opening finds them, the allocator does not hand
 * them out while they have a name, and invalid names are refused. With arguments, runs steps that
 * move a name to a new block; run_space_persist.sh kills these jobs, and the named block must
 * always be complete.
 *
 * usage: space_roots [<directory of the records> <steps>]
 */
#include "pe_test.h"

#include <shmemx.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { BYTES = 512 * 1024, MOST = 85 };

static char name[64];
static long drawn; /* symmetric */

struct opened {
    shmem_space_t space;
    shmem_team_t team;
};

static struct opened open_it(int keep)
{
    shmem_space_config_t config = {.device_type = SHMEM_DEVICE_FAM, .size = BYTES};
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    struct opened o;

    attr.name = name;
    attr.flags = keep ? SHMEMX_SPACE_KEEP : 0;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &o.space, &o.team) == 0,
               "creating or opening the named space failed");
    return o;
}

static void close_it(struct opened *o)
{
    shmem_team_destroy(o->team);
    PE_CHECK_EQ(shmem_space_destroy(o->space), 0);
}

static size_t blocks(shmem_space_t space)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;

    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    return info.n_blocks;
}

static void expect_bytes(const char *from, size_t nbytes, int value)
{
    for (size_t i = 0; i < nbytes; i++)
        if (!PE_CHECK(from[i] == (char)value,
                      "a named block changed: byte %zu of %zu is %d, expected %d", i, nbytes,
                      from[i], value))
            return;
}

static void expect(shmem_space_t space, const char *root, const char *at, size_t nbytes)
{
    void *addr = &name;
    size_t got = 1;

    PE_CHECK_EQ(shmemx_space_root_get(space, root, &addr, &got), at != NULL ? 0 : 1);
    PE_CHECK(addr == at, "the block named %s is at %p, expected %p", root, addr, (const void *)at);
    PE_CHECK_EQ(got, nbytes);
}

/* Two blocks, a hole before, and a word inside of one: all at their places when opened again. */
static void check_found_again(void)
{
    struct opened o = open_it(1);
    char *base, *hole = shmem_space_malloc(o.space, 5000);
    char *a = shmem_space_malloc(o.space, 1000), *b = shmem_space_malloc(o.space, 70000);
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    size_t at_a, at_b;

    PE_REQUIRE(hole != NULL && a != NULL && b != NULL, "shmem_space_malloc returned NULL");
    expect(o.space, "a", NULL, 0);
    PE_CHECK_EQ(shmemx_space_root_set(o.space, "a", a, 1000), 0);
    PE_CHECK_EQ(shmemx_space_root_set(o.space, "b", b, 70000), 0);
    PE_CHECK_EQ(shmemx_space_root_set(o.space, "in b", b + 100, 8), 0);
    expect(o.space, "in b", b + 100, 8);
    memset(a, 'a' + pe_me, 1000);
    memset(b, 'A' + pe_me, 70000);
    PE_CHECK_EQ(shmemx_space_query(o.space, &info), 0);
    at_a = (size_t)(a - (char *)info.base);
    at_b = (size_t)(b - (char *)info.base);
    shmem_space_free(o.space, hole);
    close_it(&o);

    o = open_it(1);
    PE_CHECK_EQ(shmemx_space_query(o.space, &info), 0);
    base = info.base;
    PE_CHECK_EQ(info.n_blocks, 2);
    expect(o.space, "a", base + at_a, 1000);
    expect(o.space, "b", base + at_b, 70000);
    expect(o.space, "in b", base + at_b + 100, 8);
    for (char *p; (p = shmem_space_malloc(o.space, 3000)) != NULL;)
        memset(p, 0, 3000); /* all the rest of the space */
    expect_bytes(base + at_a, 1000, 'a' + pe_me);
    expect_bytes(base + at_b, 70000, 'A' + pe_me);
    close_it(&o);
}

/* A name that is moved, and one that is forgotten: then the block goes like any other. */
static void check_moved_and_forgotten(void)
{
    struct opened o = open_it(1);
    void *a;
    size_t nbytes;
    char *other = shmem_space_malloc(o.space, 64);

    PE_CHECK_EQ(shmemx_space_root_get(o.space, "a", &a, &nbytes), 0);
    PE_CHECK_EQ(shmemx_space_root_set(o.space, "a", other, 64), 0);
    expect(o.space, "a", other, 64);
    shmem_space_free(o.space, a);
    PE_CHECK_EQ(shmemx_space_root_set(o.space, "b", NULL, 0), 0);
    PE_CHECK_EQ(shmemx_space_root_set(o.space, "in b", NULL, 0), 0);
    PE_CHECK_EQ(shmemx_space_root_set(o.space, "never", NULL, 0), 0);
    expect(o.space, "b", NULL, 0);
    close_it(&o);
    o = open_it(1);
    PE_CHECK_EQ(blocks(o.space), 1);
    PE_CHECK_EQ(shmemx_space_root_set(o.space, "a", NULL, 0), 0);
    close_it(&o);
    o = open_it(0);
    PE_CHECK_EQ(blocks(o.space), 0);
    close_it(&o);
}

static void check_refused(void)
{
    struct opened o = open_it(0);
    char *a = shmem_space_malloc(o.space, 1000), *heap = shmem_malloc(8);
    char longest[65], many[8];

    memset(longest, 'x', sizeof(longest));
    longest[64] = '\0';
    PE_CHECK(shmemx_space_root_set(o.space, longest, a, 8) != 0,
             "root_set with a name of 64 bytes returned 0, expected an error");
    longest[63] = '\0';
    PE_CHECK_EQ(shmemx_space_root_set(o.space, longest, a, 8), 0);
    expect(o.space, longest, a, 8);
    PE_CHECK(shmemx_space_root_set(o.space, "", a, 8) != 0,
             "root_set with an empty name returned 0, expected an error");
    PE_CHECK(shmemx_space_root_set(o.space, "a", a, 1001) != 0,
             "root_set of more bytes than the block has returned 0, expected an error");
    PE_CHECK(shmemx_space_root_set(o.space, "a", a + 2000, 8) != 0,
             "root_set of an address outside any block returned 0, expected an error");
    PE_CHECK(shmemx_space_root_set(o.space, "a", heap, 8) != 0,
             "root_set of a block of the heap returned 0, expected an error");
    PE_CHECK(shmemx_space_root_set(SHMEM_SPACE_DEFAULT, "a", heap, 8) != 0,
             "root_set in the default space returned 0, expected an error");
    PE_CHECK(shmemx_space_root_set(SHMEM_SPACE_INVALID, "a", a, 8) != 0,
             "root_set in SHMEM_SPACE_INVALID returned 0, expected an error");
    if (pe_n > 1) {
        PE_CHECK(shmemx_space_root_set(o.space, "a", a + 8 * (pe_me == 1), 8) != 0,
                 "root_set with addresses that differ between PEs returned 0, expected an error");
        PE_CHECK(shmemx_space_root_set(o.space, pe_me == 1 ? "a" : "", a, 8) != 0,
                 "root_set with an invalid name on one PE returned 0, expected an error");
    }
    expect(o.space, "a", NULL, 0);
    for (int i = 1; i < MOST; i++) {
        snprintf(many, sizeof(many), "%d", i);
        PE_CHECK_EQ(shmemx_space_root_set(o.space, many, a + i, 1), 0);
    }
    PE_CHECK(shmemx_space_root_set(o.space, "a", a, 8) != 0,
             "root_set of one name more than the limit returned 0, expected an error");
    PE_CHECK_EQ(shmemx_space_root_set(o.space, "7", a, 8), 0);
    expect(o.space, "84", a + 84, 1);
    shmem_free(heap);
    close_it(&o);
}

/* ---- killed while it names blocks ------------------------------------------------------------ */

/* "x" always names the block whose first word is the number that was said last, or one more. */
static void churn(const char *directory, uint64_t steps)
{
    struct opened o = open_it(1);
    uint64_t said = 0, first, *now = NULL, *next;
    size_t nbytes;
    char path[4096];
    int fd;

    snprintf(path, sizeof(path), "%s/said.%d", directory, pe_me);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    PE_REQUIRE(fd >= 0, "%s cannot be opened", path);
    if (pread(fd, &said, sizeof(said), 0) != sizeof(said)) said = 0;
    (void)shmemx_space_root_get(o.space, "x", (void **)&now, &nbytes);
    PE_REQUIRE((said == 0 && now == NULL) || (now != NULL && *now >= said && *now <= said + 1),
               "LOST: %" PRIu64 " was said, %" PRIu64 " is there", said,
               now != NULL ? *now : (uint64_t)0);
    first = now != NULL ? *now + 1 : 1;
    for (uint64_t i = first; i < first + steps; i++) {
        next = shmem_space_malloc(o.space, 1000 + i % 7 * 64);
        PE_REQUIRE(next != NULL, "shmem_space_malloc returned NULL");
        *next = i;
        PE_REQUIRE(shmemx_space_persist(o.space, next, sizeof(*next)) == 0,
                   "shmemx_space_persist of the new block failed");
        shmem_barrier_all();
        PE_REQUIRE(shmemx_space_root_set(o.space, "x", next, 1000) == 0,
                   "shmemx_space_root_set of the new block failed");
        PE_REQUIRE(pwrite(fd, &i, sizeof(i), 0) == sizeof(i),
                   "writing the record of the step failed");
        if (now != NULL) shmem_space_free(o.space, now);
        now = next;
    }
    close(fd);
    close_it(&o);
}

int main(int argc, char **argv)
{
    pe_test_begin();
    if (argc == 3) {
        snprintf(name, sizeof(name), "persist");
        churn(argv[1], strtoull(argv[2], NULL, 10));
        return pe_test_end();
    }
    if (pe_me == 0) drawn = getpid();
    shmem_barrier_all();
    snprintf(name, sizeof(name), "roots.%ld", shmem_long_g(&drawn, 0));
    check_found_again();
    check_moved_and_forgotten();
    check_refused();
    return pe_test_end();
}
