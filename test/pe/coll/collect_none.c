/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collect of what no other PE maps, private pages and memory of GPUs, where members that have
 * nothing pass no source, or one of another space: all take the same way. And members that have
 * nothing and pass no dest. Rules R44, R176.
 */
#include "pe_spaces.h"

#include <shmemx.h>

enum { MOST = 16, ROOM = 300000, PRIVATE = 1 << 20 };

static const size_t sizes[] = {8, 48, 1000, 40000, ROOM};
static unsigned char *dest, *plain;

static unsigned char value_of(int pe, size_t nbytes, size_t i)
{
    return (unsigned char)((size_t)pe * 31 + nbytes + i + i / 251);
}

/* Who has nothing: the odd ones, or all but the last. */
static size_t size_of(int pattern, int pe, size_t nbytes)
{
    return (pattern == 0 ? pe % 2 == 1 : pe < pe_n - 1) ? 0 : nbytes;
}

static void check(const char *what, unsigned char *source, const void *none, int pattern,
                  size_t nbytes)
{
    size_t mine = size_of(pattern, pe_me, nbytes), at = 0;

    for (size_t i = 0; i < nbytes; i++)
        plain[i] = value_of(pe_me, nbytes, i);
    shmem_putmem(source, plain, nbytes, pe_me);
    memset(dest, 0xee, nbytes * (size_t)pe_n);
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_collectmem(SHMEM_TEAM_WORLD, dest, mine > 0 ? source : none, mine), 0);
    for (int pe = 0; pe < pe_n; pe++)
        for (size_t i = 0; i < size_of(pattern, pe, nbytes); i++, at++)
            PE_REQUIRE(dest[at] == value_of(pe, nbytes, i),
                       "%s of %zu bytes: byte %zu of PE %d is %u, not %u", what, nbytes, i, pe,
                       dest[at], value_of(pe, nbytes, i));
    shmem_barrier_all();
}

static void check_all(const char *what, unsigned char *source)
{
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
        for (int pattern = 0; pattern < 2; pattern++) {
            check(what, source, NULL, pattern, sizes[k]);
            check(what, source, plain, pattern, sizes[k]);
        }
}

/* In the heap; whoever passes no dest gets nothing, or what others put there. */
static void check_nowhere(int pattern, size_t nbytes)
{
    size_t mine = size_of(pattern, pe_me, nbytes), at = 0;

    for (size_t i = 0; i < mine; i++)
        plain[i] = value_of(pe_me, nbytes, i);
    shmem_barrier_all();
    PE_CHECK_EQ(
        shmem_collectmem(SHMEM_TEAM_WORLD, mine > 0 ? dest : NULL, mine > 0 ? plain : NULL, mine),
        0);
    for (int pe = 0; pe < pe_n && mine > 0; pe++)
        for (size_t i = 0; i < size_of(pattern, pe, nbytes); i++, at++)
            PE_REQUIRE(dest[at] == value_of(pe, nbytes, i), "of %zu bytes: byte %zu of PE %d",
                       nbytes, i, pe);
    shmem_barrier_all();
}

static void check_private(void)
{
    void *pages = aligned_alloc(4096, PRIVATE);
    shmem_space_t space;

    PE_REQUIRE(pages != NULL, "no memory");
    PE_REQUIRE(shmemx_buffer_register(SHMEM_TEAM_WORLD, pages, PRIVATE, 0, -1, 0, &space) == 0,
               "a space");
    check_all("private pages", pages);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
    free(pages);
}

static void check_gpu(void)
{
    shmem_space_config_t config = {
        .device_type = SHMEM_DEVICE_GPU, .size = PRIVATE, .flags = SHMEM_SPACE_FLAG_DEFAULT};
    shmem_space_t space;
    shmem_team_t team;
    void *memory;

    PE_REQUIRE(shmem_space_create(&config, &space, &team) == 0, "a space on GPUs");
    memory = shmem_space_malloc(space, ROOM);
    PE_REQUIRE(memory != NULL, "no GPU memory");
    check_all("GPU memory", memory);
    shmem_space_free(space, memory);
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

int main(void)
{
    pe_test_begin();
    PE_REQUIRE(pe_n <= MOST, "more than %d PEs", MOST);
    dest = pe_malloc((size_t)ROOM * (size_t)pe_n);
    plain = pe_malloc(ROOM);
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        check_nowhere(0, sizes[k]);
        check_nowhere(1, sizes[k]);
    }
    check_private();
    check_gpu();
    return pe_test_end();
}
