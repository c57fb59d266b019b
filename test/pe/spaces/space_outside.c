/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks spaces with addresses outside the window: spaces that do not fit in it, and spaces whose
 * parts have files of their own (FAM, pages of a chosen size). Runs each family of operations,
 * also beside a space in the window and on a subset of the PEs. Needs SHMEM_WINDOW_SIZE=64m.
 */
#include "pe_kinds.h"
#include "pe_reach.h"

enum { SIZE = 80 * PE_MIB };

static long *heap;

/* The window has 64 MiB, and the heap lies in it. */
static bool is_outside(const void *addr)
{
    uintptr_t at = (uintptr_t)addr, there = (uintptr_t)heap;

    return (at > there ? at - there : there - at) > 64 * (size_t)PE_MIB;
}

static void check_use(int kind)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    shmem_space_t found;
    struct pe_space s;
    char *block;

    PE_REQUIRE(pe_kind_create(kind, SIZE, &s), "creating a %s space of 80 MiB failed",
               pe_kinds[kind].name);
    block = shmem_space_malloc(s.space, SIZE);
    PE_REQUIRE(block != NULL, "shmem_space_malloc of %d bytes in a %s space returned NULL", SIZE,
               pe_kinds[kind].name);
    PE_CHECK_EQ(shmemx_space_query(s.space, &info), 0);
    PE_CHECK(info.base == (void *)block, "a block that fills the space is not at its base");
    PE_CHECK((uintptr_t)block % (2 * PE_MIB) == 0,
             "the base %p of the space is not aligned to 2 MiB", (void *)block);
    PE_CHECK_EQ(shmem_get_space(block + SIZE - 1, &found), 0);
    PE_CHECK(found == s.space, "shmem_get_space of the last byte returned another space");
    if (shmem_ptr(heap, pe_right()) != NULL) {
        long *there = shmem_ptr(block + SIZE - sizeof(long), pe_right());

        PE_REQUIRE(there != NULL,
                   "there is no pointer to the part of PE %d, which shares memory with this PE",
                   pe_right());
        *there = pe_me;
        PE_CHECK_EQ(shmemx_space_path(s.space, pe_right()), SHMEMX_PATH_LOAD_STORE);
    }
    shmem_barrier_all();
    if (shmem_ptr(heap, pe_left()) != NULL)
        PE_CHECK_EQ(*(long *)(block + SIZE - sizeof(long)), pe_left());
    shmem_barrier_all();
    pe_reach_all((long *)(block + SIZE / 2), heap, pe_kinds[kind].name);
    shmem_space_free(s.space, block);
    pe_kind_destroy(&s);
}

/* Two at once, and a small one that the window takes. */
static void check_beside(void)
{
    struct pe_space first, small, second;

    PE_REQUIRE(pe_kind_create(PE_CPU, SIZE, &first), "creating the first space of 80 MiB failed");
    PE_REQUIRE(pe_kind_create(PE_CPU, PE_MIB, &small), "creating a space of 1 MiB failed");
    PE_REQUIRE(pe_kind_create(PE_CPU, 2 * SIZE, &second),
               "creating the second space, of 160 MiB, failed");
    pe_kind_use(&first, 1);
    pe_kind_use(&small, 2);
    pe_kind_use(&second, 3);
    pe_kind_destroy(&first);
    pe_kind_use(&second, 4);
    pe_kind_use(&small, 5);
    pe_kind_destroy(&small);
    pe_kind_destroy(&second);
}

/* Small ones, which would fit the window, of each kind of file and, to compare, of none. */
static void check_files(void)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_CPU, PE_MIB);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    struct pe_space paged = {.kind = &pe_kinds[PE_CPU], .rank = pe_me, .n = pe_n}, fam, usual;
    long *block;

    attr.page_size = 4096;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &paged.space, &paged.team) == 0,
               "creating a space with pages of 4096 bytes failed");
    PE_REQUIRE(pe_kind_create(PE_CPU, PE_MIB, &usual), "creating a CPU space of 1 MiB failed");
    block = pe_kind_malloc(&paged, 1000);
    PE_CHECK(is_outside(block), "pages of a chosen size lie in the window");
    pe_kind_ring(&paged, block, 1000, 9);
    shmem_space_free(paged.space, block);
    block = pe_kind_malloc(&usual, 1000);
    PE_CHECK(!is_outside(block), "the usual space lies outside the window");
    shmem_space_free(usual.space, block);
    if (pe_kind_exists(PE_FAM)) {
        PE_REQUIRE(pe_kind_create(PE_FAM, PE_MIB, &fam), "creating a FAM space of 1 MiB failed");
        block = pe_kind_malloc(&fam, 1000);
        PE_CHECK(is_outside(block), "FAM lies in the window");
        shmem_space_free(fam.space, block);
        pe_kind_destroy(&fam);
    }
    pe_kind_destroy(&usual);
    pe_kind_destroy(&paged);
}

/* For GPUs, where there are any: own part and peers'. */
static void check_pinned(void)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_CPU, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    struct pe_space s = {.kind = &pe_kinds[PE_CPU], .rank = -1};
    long *block;

    if (!pe_kind_exists(PE_GPU)) return;
    attr.flags = SHMEMX_SPACE_PINNED;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &s.space, &s.team) == 0,
               "creating a pinned space failed");
    s.rank = shmem_team_my_pe(s.team);
    s.n = shmem_team_n_pes(s.team);
    block = pe_kind_malloc(&s, 1000);
    PE_CHECK(shmemx_space_device_ptr(s.space, block, pe_me) != NULL,
             "shmemx_space_device_ptr to this PE's own part is NULL");
    if (shmem_ptr(heap, pe_right()) != NULL)
        PE_CHECK(shmemx_space_device_ptr(s.space, block, pe_right()) != NULL,
                 "there is no pointer to the part of PE %d, which shares memory with this PE",
                 pe_right());
    pe_kind_ring(&s, block, 1000, 8);
    shmem_space_free(s.space, block);
    pe_kind_destroy(&s);
}

static void check_subset(void)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_CPU, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    struct pe_space s = {.kind = &pe_kinds[PE_CPU], .rank = -1};
    shmem_team_t odd;

    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, pe_n > 1, 2, pe_n > 1 ? pe_n / 2 : 1,
                                         NULL, 0, &odd),
                0);
    if (odd != SHMEM_TEAM_INVALID) {
        attr.parent = odd;
        PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &s.space, &s.team) == 0,
                   "creating a space of some PEs failed");
        s.rank = shmem_team_my_pe(s.team);
        s.n = shmem_team_n_pes(s.team);
        pe_kind_use(&s, 7);
        pe_kind_destroy(&s);
        shmem_team_destroy(odd);
    }
    shmem_barrier_all();
}

int main(void)
{
    pe_test_begin();
    PE_REQUIRE(pe_n <= PE_REACH_MAX_PES, "this test runs with at most 16 PEs");
    if (getenv("SHMEM_WINDOW_SIZE") == NULL) pe_test_skip("SHMEM_WINDOW_SIZE=64m is to be set");
    heap = shmem_malloc(PE_REACH_N * sizeof(*heap));
    check_use(PE_CPU);
    if (pe_kind_exists(PE_FAM)) check_use(PE_FAM);
    check_beside();
    check_files();
    check_subset();
    check_pinned();
    shmem_free(heap);
    return pe_test_end();
}
