/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks spaces with pages of a chosen size: the page size of the mappings of this PE's and a
 * peer's part in /proc/self/smaps must be the size that the library reports. If root may, the test
 * reserves huge pages and restores their number.
 *
 * usage: space_pages [grows | giant]
 *   grows: parts that may grow to 100 MiB; giant: pages of 1 GiB
 */
#include "pe_kinds.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

enum { HUGE = 2 << 20, GIANT = 1 << 30, PAGES = 3 };

#define POOL "/sys/kernel/mm/hugepages/hugepages-"
static const char *const huge_pool = POOL "2048kB/nr_hugepages";
static const char *const giant_pool = POOL "1048576kB/nr_hugepages";
static const char *const lock_file = "/proc/sys/vm/nr_hugepages"; /* of who changes either */
static size_t kept;      /* attr.max_size of spaces; 0: they do not grow */
static long can_reserve; /* symmetric */

static long number_in(const char *path)
{
    FILE *file = fopen(path, "re");
    long n = -1;

    if (file != NULL && fscanf(file, "%ld", &n) != 1) n = -1;
    if (file != NULL) fclose(file);
    return n;
}

static void write_number(const char *path, long n)
{
    FILE *file = fopen(path, "we");

    if (file == NULL) return;
    fprintf(file, "%ld\n", n);
    fclose(file);
}

/* A field of the mapping of addr in smaps, kB. */
static long smaps(const void *addr, const char *field)
{
    FILE *file = fopen("/proc/self/smaps", "re");
    unsigned long first, last;
    bool here = false;
    long found = -1;
    char line[512];

    PE_REQUIRE(file != NULL, "/proc/self/smaps cannot be opened");
    while (found < 0 && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "%lx-%lx ", &first, &last) == 2)
            here = first <= (uintptr_t)addr && (uintptr_t)addr < last;
        else if (here && strncmp(line, field, strlen(field)) == 0)
            found = strtol(line + strlen(field), NULL, 10);
    }
    fclose(file);
    return found;
}

static int make(int type, size_t nbytes, size_t page, shmem_space_t *space, shmem_team_t *team)
{
    shmem_space_config_t config = {(shmem_device_type_t)type, nbytes, SHMEM_SPACE_FLAG_DEFAULT};
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.page_size = page;
    attr.max_size = kept;
    attr.numa_policy = type == SHMEM_DEVICE_CPU ? SHMEMX_NUMA_FIRST_TOUCH : SHMEMX_NUMA_DEFAULT;
    return shmemx_space_create_attr(&config, &attr, space, team);
}

static void expect_page(const void *addr, size_t page, const char *whose)
{
    size_t kernel = (size_t)smaps(addr, "KernelPageSize:") * 1024;

    if (kernel < HUGE && smaps(addr, "ShmemPmdMapped:") > 0) kernel = HUGE;
    PE_CHECK(kernel == page, "%s pages have %zu bytes in smaps, the library reports %zu", whose,
             kernel, page);
}

/* got: what all PEs must have; 0: what the library says. */
static void check(size_t nbytes, size_t page, size_t got)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    int right = (pe_me + 1) % pe_n, left = (pe_me + pe_n - 1) % pe_n;
    size_t n = nbytes / sizeof(long) / 2;
    shmem_space_t space;
    shmem_team_t team;
    long *block, *theirs;

    PE_REQUIRE(make(SHMEM_DEVICE_CPU, nbytes, page, &space, &team) == 0,
               "creating a space with pages of %zu bytes failed", page);
    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    if (got != 0) PE_CHECK_EQ(info.page_size, got);
    PE_CHECK(info.nbytes >= nbytes, "the space has %zu bytes, expected at least %zu", info.nbytes,
             nbytes);
    PE_CHECK_EQ((int)info.numa_policy, (int)SHMEMX_NUMA_FIRST_TOUCH);
    if (got >= HUGE) PE_CHECK_EQ((uintptr_t)info.base % got, 0);
    block = shmem_space_malloc(space, n * sizeof(*block));
    PE_REQUIRE(block != NULL, "shmem_space_malloc of half of the space returned NULL");
    for (size_t i = 0; i < n; i++)
        block[i] = pe_me * 1000L + (long)(i % 997);
    expect_page(info.base, info.page_size, "own");
    theirs = shmem_ptr(info.base, right);
    if (theirs != NULL && got != 0) {
        (void)*(volatile long *)theirs;
        expect_page(theirs, info.page_size, "a peer's");
    }
    shmem_barrier_all();
    for (size_t i = 0; i < n; i += 509)
        PE_CHECK_EQ(shmem_long_g(&block[i], left), left * 1000L + (long)(i % 997));
    shmem_barrier_all();
    shmem_long_p(&block[n - 1], 7 + pe_me, right);
    shmem_barrier_all();
    PE_CHECK_EQ(block[n - 1], 7 + left);
    shmem_space_free(space, block);
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

static void refuse(int type, size_t page)
{
    shmem_space_t space;
    shmem_team_t team;

    PE_CHECK(make(type, HUGE, page, &space, &team) != 0,
             "creating a space with pages of %zu bytes returned 0, expected an error", page);
    PE_CHECK(space == SHMEM_SPACE_INVALID && team == SHMEM_TEAM_INVALID,
             "a failed create did not set space and team to INVALID");
}

/* Of pages that are reserved: as many as the request needs, or none. */
static void check_growth(size_t page)
{
    shmem_space_config_t config = {SHMEM_DEVICE_CPU, page, SHMEM_SPACE_FLAG_DEFAULT};
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    int right = (pe_me + 1) % pe_n, left = (pe_me + pe_n - 1) % pe_n;
    shmem_space_t space;
    shmem_team_t team;
    char *first, *second;

    attr.page_size = page;
    attr.max_size = kept > 0 && kept > 8 * page ? kept : 8 * page;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, &team) == 0,
               "creating a space that may grow failed");
    first = shmem_space_malloc(space, page);
    second = shmem_space_malloc(space, page);
    PE_REQUIRE(first != NULL && second != NULL,
               "shmem_space_malloc of one page returned NULL: the space did not grow");
    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    PE_CHECK_EQ(info.nbytes, 2 * page);
    second[0] = 0;
    expect_page(second, page, "the new");
    shmem_barrier_all();
    shmem_char_p(second + page - 1, (char)(1 + pe_me), right);
    shmem_char_p(second, (char)(101 + pe_me), right);
    shmem_barrier_all();
    PE_CHECK_EQ(second[0], (char)(101 + left));
    PE_CHECK_EQ(second[page - 1], (char)(1 + left));
    PE_CHECK(shmem_space_malloc(space, 2 * page) == NULL,
             "shmem_space_malloc of more pages than are reserved returned memory, expected NULL");
    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    PE_CHECK_EQ(info.nbytes, 2 * page);
    shmem_char_p(second + page / 2, (char)(11 + pe_me), right);
    shmem_barrier_all();
    PE_CHECK_EQ(second[page / 2], (char)(11 + left));
    if (page == HUGE)
        PE_CHECK(shmem_space_malloc(space, page) != NULL,
                 "shmem_space_malloc of the last reserved page returned NULL");
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

/* As many more as wanted: all of them are there, or none is and that is told. */
static bool pool_grow(const char *pool, long wanted, long *before)
{
    *before = number_in(pool);
    if (*before >= 0) write_number(pool, *before + wanted);
    if (*before >= 0 && number_in(pool) >= *before + wanted) return true;
    if (*before >= 0) write_number(pool, *before);
    fprintf(stderr, "none are tried: %s has %ld, and %ld more cannot be had here\n", pool, *before,
            wanted);
    return false;
}

/* Ours are asked for on top of what there is; one job at a time, so that the count is restored. */
static void with_pages(const char *pool, long wanted, void (*run)(void))
{
    long before = 0;
    int lock = -1;

    if (pe_me == 0) {
        lock = open(lock_file, O_RDONLY | O_CLOEXEC);
        if (lock >= 0) flock(lock, LOCK_EX);
        can_reserve = pool_grow(pool, wanted, &before);
    }
    shmem_barrier_all();
    if (shmem_long_g(&can_reserve, 0)) {
        run();
        shmem_barrier_all();
        if (pe_me == 0) write_number(pool, before);
    }
    if (lock >= 0) close(lock);
    shmem_barrier_all();
}

static void check_huge(void)
{
    check((PAGES - 1) * (size_t)HUGE, HUGE, HUGE);
    check(100000, HUGE, HUGE);
    check_growth(HUGE);
    check((PAGES - 1) * (size_t)HUGE, HUGE, HUGE); /* the last ones gave them back */
    /* smaller ones than were asked for, where there are none of those */
    if (number_in(POOL "1048576kB/free_hugepages") <= 0) check(100000, GIANT, HUGE);
}

static void check_giant(void)
{
    check(100000, GIANT, GIANT);
}

static void check_giant_growth(void)
{
    check_growth(GIANT);
}

int main(int argc, char **argv)
{
    bool giant = argc > 1 && strcmp(argv[1], "giant") == 0;

    pe_test_begin();
    if (argc > 1 && !giant) kept = 100 * PE_MIB;
    if (giant) {
        check(3 * (size_t)HUGE + 100, GIANT, 0); /* whatever there is: the space is made */
        if (pe_n > 1) with_pages(giant_pool, pe_n, check_giant);
        if (pe_n == 1) with_pages(giant_pool, 2, check_giant_growth);
        return pe_test_end();
    }
    check(HUGE + 4096, 4096, 4096);
    check(3 * (size_t)HUGE + 100, HUGE, 0); /* whatever there is: the space is made */
    check(3 * (size_t)HUGE, 4096, 4096);
    with_pages(huge_pool, (long)PAGES * pe_n, check_huge);
    refuse(SHMEM_DEVICE_CPU, 8192);
    refuse(SHMEM_DEVICE_CPU, (size_t)1 << 29);
    if (pe_n > 1) refuse(SHMEM_DEVICE_CPU, pe_me == pe_n - 1 ? 4096 : HUGE);
    if (pe_n > 1) refuse(SHMEM_DEVICE_CPU, pe_me == pe_n - 1 ? 4096 : GIANT);
    return pe_test_end();
}
