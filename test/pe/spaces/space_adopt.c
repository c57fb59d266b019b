/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks memory of the program as a space (shmemx_buffer_register): private pages at different
 * addresses, memory with a descriptor (memfd, file) at any offset, and GPU memory, as one block
 * and as a heap. Runs each family of operations on host memory. Also checks memory that must be
 * refused, a buffer that is unmapped before its space is destroyed, and leaks.
 *
 * usage: space_adopt [staged]
 *   staged: processes may not copy from each other; private pages only
 */
#include "pe_copies.h"
#include "pe_kinds.h"
#include "pe_leaks.h"
#include "pe_reach.h"

#include <sys/mman.h>

enum { PAGE = 4096, BYTES = PE_REACH_N * sizeof(long) };

static long *heap;
static bool same_node; /* as the PE to the right */
static long touched;
static bool staged; /* nobody copies but owners */

/* Each PE elsewhere, and not at a page. */
static char *allocate(size_t nbytes)
{
    char *all = aligned_alloc(PAGE, (nbytes / PAGE + 4 + (size_t)pe_me) * PAGE);

    PE_REQUIRE(all != NULL, "aligned_alloc of %zu bytes failed", nbytes);
    return all + (size_t)pe_me * PAGE + 192;
}

static void release(char *buffer)
{
    free(buffer - (size_t)pe_me * PAGE - 192);
}

static void destroy(shmem_space_t space)
{
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

static void check_facts(shmem_space_t space, void *buffer, size_t nbytes)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    shmem_team_t team = SHMEM_TEAM_WORLD;
    shmem_space_t found;

    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    PE_CHECK_EQ(info.nbytes, nbytes);
    PE_CHECK_EQ(info.n_blocks, 1);
    PE_CHECK(info.base == buffer, "the base of the space is %p, expected the buffer at %p",
             info.base, buffer);
    PE_CHECK(info.caps & SHMEM_SPACE_CAP_ATOMICS, "the space lacks SHMEM_SPACE_CAP_ATOMICS");
    PE_CHECK_EQ(shmem_get_space((char *)buffer + nbytes - 1, &found), 0);
    PE_CHECK(found == space,
             "shmem_get_space of the last byte of the buffer returned another space");
    PE_CHECK_EQ(shmem_space_get_team(space, &team), 0);
    PE_CHECK(team == SHMEM_TEAM_INVALID,
             "shmem_space_get_team did not return SHMEM_TEAM_INVALID for a registered buffer");
    PE_CHECK(shmem_space_malloc(space, 64) == NULL,
             "shmem_space_malloc in a space that is one block returned memory, expected NULL");
    PE_CHECK(shmem_ptr(buffer, pe_me) == buffer,
             "shmem_ptr of the buffer for this PE is not the buffer");
}

/* What leads to the right: by load and store where it is mapped, or by the kernel or its owner. */
static void check_path(shmem_space_t space, bool mapped)
{
    shmemx_space_path_t path = shmemx_space_path(space, pe_right());

    PE_CHECK_EQ(shmemx_space_path(space, pe_me), SHMEMX_PATH_LOAD_STORE);
    if (pe_n == 1) return;
    if (mapped && same_node)
        PE_CHECK_EQ(path, SHMEMX_PATH_LOAD_STORE);
    else if (same_node)
        PE_CHECK(path == (staged ? SHMEMX_PATH_STAGED : SHMEMX_PATH_PROCESS),
                 "the path to the right PE is %s, which is not the expected path",
                 shmemx_space_path_name(path));
    else
        PE_CHECK(path == SHMEMX_PATH_FABRIC || path == SHMEMX_PATH_STAGED,
                 "the path to the right PE is %s, which is not the expected path",
                 shmemx_space_path_name(path));
}

static void check_private(void)
{
    char *buffer = allocate(BYTES);
    shmem_space_t space;

    for (int i = 0; i < 2; i++) {
        memset(buffer, 17 + i, BYTES);
        PE_REQUIRE(shmemx_buffer_register(SHMEM_TEAM_WORLD, buffer, BYTES, 0, -1, 0, &space) == 0,
                   "shmemx_buffer_register of private pages failed");
        PE_CHECK(buffer[BYTES - 1] == 17 + i, "registering the buffer changed its contents");
        check_facts(space, buffer, BYTES);
        check_path(space, false);
        pe_reach_all((long *)buffer, heap, "private");
        destroy(space);
    }
    release(buffer);
}

static void check_heap(void)
{
    char *buffer = allocate(2 * BYTES);
    shmem_space_t space;
    long *first, *second;

    PE_REQUIRE(shmemx_buffer_register(SHMEM_TEAM_WORLD, buffer, 2 * BYTES, SHMEMX_ADOPT_HEAP, -1, 0,
                                      &space) == 0,
               "shmemx_buffer_register of private pages as a heap failed");
    first = shmem_space_malloc(space, BYTES / 2);
    second = shmem_space_malloc(space, BYTES);
    PE_REQUIRE(
        first == (long *)buffer && second != NULL,
        "blocks in the registered heap are at %p and %p, expected the first at its start and a "
        "second one",
        (void *)first, (void *)second);
    pe_reach_all(second, heap, "heap");
    shmem_free(first);
    shmem_space_free(space, second);
    destroy(space);
    release(buffer);
}

/* PEs map other offsets of files of their own. */
static void check_descriptor(int fd, const char *what)
{
    size_t at = (size_t)(pe_me + 1) * PAGE, whole = BYTES + 2 * PAGE;
    shmem_space_t space;
    char *map;

    PE_REQUIRE(fd >= 0 && ftruncate(fd, (off_t)(at + whole)) == 0,
               "the %s does not exist or cannot be made longer", what);
    map = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
    PE_REQUIRE(map != MAP_FAILED, "mmap of the %s failed", what);
    PE_REQUIRE(shmemx_buffer_register(SHMEM_TEAM_WORLD, map + 64, BYTES, 0, fd, at + 64, &space) ==
                   0,
               "shmemx_buffer_register of a %s failed", what);
    close(fd);
    check_facts(space, map + 64, BYTES);
    check_path(space, true);
    pe_reach_all((long *)(void *)(map + 64), heap, what);
    destroy(space);
    munmap(map, whole);
}

static void check_gpu(void)
{
    unsigned long long address;
    shmem_space_t space;
    void *before, *context;
    long *buffer, got[10] = {0}, values[10];

    if (!pe_gpu_load() || !pe_kind_exists(PE_GPU)) return;
    PE_REQUIRE(pe_cuda.get_current(&before) == 0 && pe_cuda.retain(&context, 0) == 0 &&
                   pe_cuda.set_current(context) == 0 && pe_cuda.alloc(&address, BYTES) == 0,
               "allocating device memory for the test failed");
    buffer = (long *)(uintptr_t)address;
    PE_REQUIRE(shmemx_buffer_register(SHMEM_TEAM_WORLD, buffer, BYTES, 0, -1, 0, &space) == 0,
               "shmemx_buffer_register of device memory failed");
    for (int i = 0; i < 10; i++)
        values[i] = 100L * pe_me + i;
    shmem_long_put(buffer, values, 10, pe_right());
    shmem_barrier_all();
    shmem_long_get(got, buffer, 10, pe_me);
    for (int i = 0; i < 10; i++)
        PE_CHECK_EQ(got[i], 100L * pe_left() + i);
    destroy(space);
    PE_CHECK_EQ(pe_cuda.free(address), 0);
    pe_cuda.set_current(before);
    pe_cuda.release(0);
}

static void refused(void *addr, size_t nbytes, int flags, int fd, const char *what)
{
    shmem_space_t space = SHMEM_SPACE_DEFAULT;

    PE_CHECK(shmemx_buffer_register(SHMEM_TEAM_WORLD, addr, nbytes, flags, fd, 0, &space) != 0,
             "shmemx_buffer_register of %s returned 0, expected an error", what);
    PE_CHECK(space == SHMEM_SPACE_INVALID,
             "%s: a failed register did not set the space to SHMEM_SPACE_INVALID", what);
}

static void check_refused(void)
{
    static long global[64];
    char *map = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int zero = open("/dev/zero", O_RDWR | O_CLOEXEC);
    shmem_space_t space;

    refused(map, 0, 0, -1, "no bytes");
    refused(NULL, PAGE, 0, -1, "a null pointer");
    refused(map + 4, PAGE, 0, -1, "an odd address");
    refused(map + 8, PAGE, SHMEMX_ADOPT_HEAP, -1, "an address for no heap");
    refused(global, sizeof(global), 0, -1, "globals");
    refused(heap, PAGE, 0, -1, "the heap");
    munmap(map + 2 * PAGE, PAGE);
    refused(map, 4 * PAGE, 0, -1, "memory with a hole");
    mprotect(map + PAGE, PAGE, PROT_READ);
    refused(map, 2 * PAGE, 0, -1, "memory that cannot be written");
    refused(map, PAGE, 0, 99, "a descriptor that is not open");
    refused(map, PAGE, 0, zero, "a descriptor of something else");
    close(zero);
    if (pe_n > 1) {
        refused(map, pe_me == 0 ? PAGE : PAGE / 2, 0, -1, "sizes that differ");
        refused(pe_me == pe_n - 1 ? NULL : map, PAGE, 0, -1, "a null pointer on the last PE");
    }
    PE_REQUIRE(shmemx_buffer_register(SHMEM_TEAM_WORLD, map, PAGE, 0, -1, 0, &space) == 0,
               "shmemx_buffer_register of one page failed");
    refused(map + 2048, 64, 0, -1, "a piece of a live space");
    munmap(map, PAGE);
    PE_CHECK(shmem_space_destroy(space) != 0,
             "shmem_space_destroy returned 0 although the buffer was unmapped, expected an error");
    PE_CHECK(shmem_get_space(map, &space) != 0,
             "shmem_get_space still finds the space after its destroy failed");
    munmap(map + PAGE, PAGE);
    munmap(map + 3 * PAGE, PAGE);
}

/* Many times, and nothing is left. */
static void check_leaks(void)
{
    char *buffer = allocate(BYTES);
    struct pe_holdings before = {0}, after;
    shmem_space_t space;

    for (int i = 0; i < 60; i++) {
        int fd = memfd_create("adopted", MFD_CLOEXEC);
        long *map;

        PE_CHECK_EQ(shmemx_buffer_register(SHMEM_TEAM_WORLD, buffer, BYTES, 0, -1, 0, &space), 0);
        shmem_long_p((long *)buffer, i, pe_right());
        destroy(space);
        PE_REQUIRE(ftruncate(fd, PAGE) == 0, "memfd_create or ftruncate failed");
        map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        PE_CHECK_EQ(shmemx_buffer_register(SHMEM_TEAM_WORLD, map, PAGE, 0, fd, 0, &space), 0);
        close(fd);
        shmem_long_p(map, i, pe_right());
        destroy(space);
        munmap(map, PAGE);
        if (i == 9) before = pe_holdings();
    }
    after = pe_holdings();
    PE_CHECK_EQ(after.fds, before.fds);
    PE_CHECK(after.maps <= before.maps + 4, "leak: the process has %ld mappings, it had %ld",
             after.maps, before.maps);
    PE_CHECK(after.heap_kib <= before.heap_kib + 64,
             "leak: the process has %ld KiB of malloc memory, it had %ld", after.heap_kib,
             before.heap_kib);
    release(buffer);
}

int main(int argc, char **argv)
{
    char path[] = "/tmp/steppe-test-adopt-XXXXXX";
    bool refuse;
    int fd;

    pe_test_begin();
    heap = shmem_malloc(PE_REACH_N * sizeof(*heap));
    for (int pe = 0; pe < pe_n; pe++) /* heaps and globals of the node are mapped */
        (void)(shmem_long_g(heap, pe) + shmem_long_g(&touched, pe));
    same_node = shmem_ptr(heap, pe_right()) != NULL;
    refuse = argc > 1 && strcmp(argv[1], "staged") == 0;
    if (refuse) pe_refuse_copies();
    staged = refuse || !pe_copies_allowed();
    check_private();
    check_heap();
    if (refuse) return pe_test_end();
    check_descriptor(memfd_create("adopted", MFD_CLOEXEC), "memfd");
    fd = mkostemp(path, O_CLOEXEC);
    unlink(path);
    check_descriptor(fd, "file");
    check_gpu();
    check_refused();
    check_leaks();
    shmem_free(heap);
    return pe_test_end();
}
