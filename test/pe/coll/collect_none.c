/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks collect when some members contribute no elements (OpenSHMEM 1.6, section 9.10; rules R44
 * and R176 of docs/reference/conformance.md). The data is in the heap, in private pages and in GPU
 * memory, which other PEs do not map. The members without elements pass NULL or an address in
 * another space as source, or NULL as dest, and must still take the same algorithm as the others.
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
                       "collect from %s, %zu bytes a member: byte %zu of PE %d is %u, expected %u",
                       what, nbytes, i, pe, dest[at], value_of(pe, nbytes, i));
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
            PE_REQUIRE(
                dest[at] == value_of(pe, nbytes, i),
                "collect with NULL dest on some PEs, %zu bytes a member: byte %zu of PE %d is "
                "wrong",
                nbytes, i, pe);
    shmem_barrier_all();
}

static void check_private(void)
{
    void *pages = aligned_alloc(4096, PRIVATE);
    shmem_space_t space;

    PE_REQUIRE(pages != NULL, "aligned_alloc of the private pages failed");
    PE_REQUIRE(shmemx_buffer_register(SHMEM_TEAM_WORLD, pages, PRIVATE, 0, -1, 0, &space) == 0,
               "shmemx_buffer_register of private pages failed");
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

    PE_REQUIRE(shmem_space_create(&config, &space, &team) == 0,
               "shmem_space_create of a GPU space failed");
    memory = shmem_space_malloc(space, ROOM);
    PE_REQUIRE(memory != NULL, "shmem_space_malloc in the GPU space returned NULL");
    check_all("GPU memory", memory);
    shmem_space_free(space, memory);
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

int main(void)
{
    pe_test_begin();
    PE_REQUIRE(pe_n <= MOST, "this test runs with at most %d PEs", MOST);
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
