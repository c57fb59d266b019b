/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several ranges of the program's memory as one space (the ranges of shmemx_buffer_register_attr):
 * 1, 3 and 16 of them, private, with descriptors and on a GPU, each PE's in another order of
 * addresses; as blocks and as heaps; and what may not become one. With an argument one mistake,
 * whose words run_space_ranges.sh checks.
 */
#include "pe_kinds.h"
#include "pe_leaks.h"
#include "pe_reach.h"

#include <sys/mman.h>

enum { PAGE = 4096, LONGS = PE_REACH_N, MOST = SHMEMX_BUFFER_RANGES };

static long *heap;

/* Ranges get larger, and the last one is large enough for every family of operations. */
static size_t size_of(int i, int n)
{
    return i == n - 1 ? LONGS * sizeof(long) : (size_t)(i + 1) * 1000 * sizeof(long);
}

static size_t sizes_of(int n)
{
    size_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += size_of(i, n);
    return sum;
}

/* In what order addresses come is another one on each PE. */
static void cut(shmemx_buffer_range_t *ranges, int n, char *at)
{
    for (int k = 0; k < n; k++) {
        int i = (k + pe_me) % n;

        at += PAGE;
        ranges[i] = (shmemx_buffer_range_t){at, size_of(i, n), 0, 0, 0};
        at += (size_of(i, n) + PAGE - 1) / PAGE * PAGE;
    }
}

static size_t room_of(int n)
{
    return (sizes_of(n) + PAGE - 1) / PAGE * PAGE + (size_t)(2 * n + 1) * PAGE;
}

static shmem_space_t register_all(const shmemx_buffer_range_t *ranges, int n, int flags)
{
    shmemx_buffer_attr_t attr = SHMEMX_BUFFER_ATTR_INITIALIZER;
    shmem_space_t space = SHMEM_SPACE_INVALID;

    attr.flags = flags;
    attr.ranges = ranges;
    attr.n_ranges = n;
    PE_REQUIRE(shmemx_buffer_register_attr(SHMEM_TEAM_WORLD, &attr, &space) == 0,
               "no space of %d ranges", n);
    return space;
}

static void check_facts(shmem_space_t space, const shmemx_buffer_range_t *ranges, int n)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    shmem_space_t found = SHMEM_SPACE_INVALID;

    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    PE_CHECK_EQ(info.nbytes, sizes_of(n));
    PE_CHECK_EQ(info.max_size, sizes_of(n));
    PE_CHECK_EQ(info.n_blocks, (size_t)n);
    PE_CHECK(info.base == ranges[0].addr, "base is %p, not %p", info.base, ranges[0].addr);
    for (int i = 0; i < n; i++) {
        char *last = (char *)ranges[i].addr + ranges[i].nbytes - 1;

        PE_CHECK_EQ(shmem_get_space(ranges[i].addr, &found), 0);
        PE_CHECK(found == space, "range %d begins in another space", i);
        PE_CHECK_EQ(shmem_get_space(last, &found), 0);
        PE_CHECK(found == space, "range %d ends in another space", i);
        PE_CHECK(shmem_addr_accessible(last, pe_right()), "range %d is out of reach", i);
    }
}

/* The same range and offset of the next PE, by a context that takes objects of the space alone. */
static void check_puts(shmem_space_t space, const shmemx_buffer_range_t *ranges, int n)
{
    shmemx_ctx_config_t config = {SHMEM_TEAM_WORLD, space};
    shmem_ctx_t ctx;
    long values[1000], got[1000];

    PE_REQUIRE(shmemx_ctx_create(0, &config, &ctx) == 0, "no context of the space");
    for (int i = 0; i < n; i++) {
        size_t at = ranges[i].nbytes / sizeof(long) - 1000;

        for (int k = 0; k < 1000; k++)
            values[k] = pe_me * 100000L + i * 1000 + k;
        shmem_ctx_long_put(ctx, (long *)ranges[i].addr + at, values, 1000, pe_right());
    }
    PE_CHECK_EQ(shmemx_ctx_space_quiet(ctx, space), 0);
    PE_CHECK(shmem_space_destroy(space) != 0, "destroyed under a context");
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
    for (int i = 0; i < n; i++) {
        const long *end = (const long *)ranges[i].addr + ranges[i].nbytes / sizeof(long) - 1000;

        shmem_long_get(got, end, 1000, pe_me);
        for (int k = 0; k < 1000; k += 333)
            PE_CHECK_EQ(got[k], pe_left() * 100000L + i * 1000 + k);
    }
    shmem_barrier_all();
}

static void destroy(shmem_space_t space, const shmemx_buffer_range_t *ranges, int n)
{
    shmem_space_t found;

    PE_CHECK_EQ(shmem_space_destroy(space), 0);
    for (int i = 0; i < n; i++)
        PE_CHECK(shmem_get_space(ranges[i].addr, &found) != 0, "range %d is still there", i);
}

static void check_private(int n)
{
    shmemx_buffer_range_t ranges[MOST];
    char *all = aligned_alloc(PAGE, room_of(n));
    shmem_space_t space;

    PE_REQUIRE(all != NULL, "%zu bytes", room_of(n));
    cut(ranges, n, all);
    space = register_all(ranges, n, 0);
    check_facts(space, ranges, n);
    check_puts(space, ranges, n);
    pe_reach_all(ranges[n - 1].addr, heap, "the last range");
    destroy(space, ranges, n);
    free(all);
}

/* Each range in a file of its own, or all in one. */
static void check_descriptors(int n, bool one)
{
    shmemx_buffer_range_t ranges[MOST];
    int fd = memfd_create("ranges", MFD_CLOEXEC);
    char *all = NULL;
    shmem_space_t space;

    PE_REQUIRE(ftruncate(fd, (off_t)room_of(n)) == 0, "no memfd");
    if (one) all = mmap(NULL, room_of(n), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cut(ranges, n, all);
    for (int i = 0; i < n; i++) {
        shmemx_buffer_range_t *range = &ranges[i];

        range->with_fd = 1;
        range->fd = fd;
        range->offset = one ? (size_t)((char *)range->addr - all) : (size_t)pe_me * PAGE;
        if (one) continue;
        range->fd = memfd_create("range", MFD_CLOEXEC);
        PE_REQUIRE(ftruncate(range->fd, (off_t)(range->offset + range->nbytes)) == 0, "no memfd");
        range->addr = mmap(NULL, range->nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, range->fd,
                           (off_t)range->offset);
        PE_REQUIRE(range->addr != MAP_FAILED, "not mapped");
    }
    space = register_all(ranges, n, 0);
    for (int i = 0; i < n && !one; i++)
        close(ranges[i].fd);
    check_facts(space, ranges, n);
    check_puts(space, ranges, n);
    if (shmem_ptr(heap, pe_right()) != NULL)
        PE_CHECK_EQ(shmemx_space_path(space, pe_right()), SHMEMX_PATH_LOAD_STORE);
    pe_reach_all(ranges[n - 1].addr, heap, "the last range");
    destroy(space, ranges, n);
    for (int i = 0; i < n && !one; i++)
        munmap(ranges[i].addr, ranges[i].nbytes);
    if (one) munmap(all, room_of(n));
    close(fd);
}

/* Blocks come from the first range that has room, and lie in one. */
static void check_heap(void)
{
    enum { N = 3 };
    shmemx_buffer_range_t ranges[N];
    char *all = aligned_alloc(PAGE, room_of(N));
    long *first, *large, *moved;
    shmem_space_t space;

    cut(ranges, N, all);
    space = register_all(ranges, N, SHMEMX_ADOPT_HEAP);
    first = shmem_space_malloc(space, 128);
    large = shmem_space_malloc(space, 15000);
    PE_CHECK(first == ranges[0].addr, "the first block is at %p", (void *)first);
    PE_CHECK(large == ranges[1].addr, "the second block is at %p", (void *)large);
    PE_CHECK(shmem_space_malloc(space, LONGS * sizeof(long) + 64) == NULL, "a block in two ranges");
    first[0] = pe_me + 40;
    moved = shmem_realloc(first, 100000);
    PE_REQUIRE(moved == ranges[2].addr, "moved to %p", (void *)moved);
    PE_CHECK_EQ(shmem_long_g(moved, pe_right()), pe_right() + 40);
    PE_CHECK(shmem_space_calloc(space, 1000, 8) == ranges[0].addr, "no block where one was freed");
    shmem_space_free(space, moved);
    shmem_free(large);
    shmem_free(ranges[0].addr);
    destroy(space, ranges, N);
    free(all);
}

static void check_gpu(void)
{
    shmemx_buffer_range_t ranges[2];
    unsigned long long address[2];
    void *before, *context;
    shmem_space_t space;

    if (!pe_gpu_load() || !pe_kind_exists(PE_GPU)) return;
    PE_REQUIRE(pe_cuda.get_current(&before) == 0 && pe_cuda.retain(&context, 0) == 0 &&
                   pe_cuda.set_current(context) == 0,
               "no context");
    for (int i = 0; i < 2; i++) {
        PE_REQUIRE(pe_cuda.alloc(&address[i], size_of(i, 2)) == 0, "no device memory");
        ranges[i] = (shmemx_buffer_range_t){(void *)(uintptr_t)address[i], size_of(i, 2), 0, 0, 0};
    }
    space = register_all(ranges, 2, 0);
    check_facts(space, ranges, 2);
    check_puts(space, ranges, 2);
    PE_CHECK(shmemx_space_device_ptr(space, (char *)ranges[1].addr + 8, pe_me) ==
                 (char *)ranges[1].addr + 8,
             "another pointer for kernels");
    destroy(space, ranges, 2);
    for (int i = 0; i < 2; i++)
        PE_CHECK_EQ(pe_cuda.free(address[i]), 0);
    pe_cuda.set_current(before);
    pe_cuda.release(0);
}

static void refused(const shmemx_buffer_range_t *ranges, int n, const char *what)
{
    shmemx_buffer_attr_t attr = SHMEMX_BUFFER_ATTR_INITIALIZER;
    shmem_space_t space = SHMEM_SPACE_DEFAULT;

    attr.ranges = ranges;
    attr.n_ranges = n;
    PE_CHECK(shmemx_buffer_register_attr(SHMEM_TEAM_WORLD, &attr, &space) != 0, "a space of %s",
             what);
    PE_CHECK(space == SHMEM_SPACE_INVALID, "%s: the handle is no invalid one", what);
}

static void check_refused(char *all)
{
    shmemx_buffer_range_t ranges[MOST + 1] = {{0}}, good[3];
    shmem_space_t space;

    cut(good, 3, all);
    memcpy(ranges, good, sizeof(good));
    refused(ranges, MOST + 1, "17 ranges");
    refused(ranges, 0, "no range");
    refused(NULL, 3, "a null pointer");
    ranges[2].addr = (char *)good[1].addr + 1024;
    refused(ranges, 3, "ranges that overlap");
    ranges[2] = good[2];
    ranges[1].nbytes = 0;
    refused(ranges, 3, "an empty range");
    ranges[1] = good[1];
    ranges[2].with_fd = 1;
    refused(ranges, 3, "two kinds");
    ranges[2] = good[2];
    if (pe_n > 1) {
        ranges[1].nbytes -= pe_me == pe_n - 1 ? 8 : 0;
        refused(ranges, 3, "sizes that differ");
        ranges[1] = good[1];
        refused(ranges, pe_me == 0 ? 3 : 2, "numbers that differ");
        ranges[2].addr = pe_me == pe_n - 1 ? heap : good[2].addr;
        refused(ranges, 3, "a range of the heap on the last PE");
        ranges[2] = good[2];
    }
    space = register_all(good, 3, 0);
    ranges[0] = (shmemx_buffer_range_t){all, 64, 0, 0, 0};
    ranges[1].addr = (char *)good[2].addr + 8;
    refused(ranges, 2, "a piece of a live space");
    destroy(space, good, 3);
}

/* Many times, also refused ones, and nothing is left. */
static void check_leaks(char *all)
{
    shmemx_buffer_range_t ranges[MOST];
    static const struct pe_slack slack = {4, 64, 0, 1024, 1024};
    struct pe_holdings before = {0}, after;

    for (int i = 0; i < 30; i++) {
        cut(ranges, 5, all);
        destroy(register_all(ranges, 5, 0), ranges, 5);
        ranges[4].addr = heap;
        refused(ranges, 5, "a range of the heap");
        if (i == 9) before = pe_holdings();
    }
    after = pe_holdings();
    pe_check_holdings(&before, &after, &slack, "30 rounds");
}

/* ---- past the end of a range ------------------------------------------------------------ */

enum { FIRST = 16000, PAST = FIRST - 80, SECOND = 320000 };

/* Two ranges, the second one behind the first in memory, and in the file if there is one. */
static void cut_beside(shmemx_buffer_range_t *ranges, char *all, int fd)
{
    ranges[0] = (shmemx_buffer_range_t){all, FIRST, fd >= 0, fd, 0};
    ranges[1] = (shmemx_buffer_range_t){all + FIRST, SECOND, fd >= 0, fd, FIRST};
}

static const char *const operations[] = {
    "put",       "put_nbi",  "get", "get_nbi", "iput",     "iget",    "put_signal", "p",       "g",
    "broadcast", "fcollect", "sum", "source",  "alltoall", "own_sum", "own_cast",   "own_scan"};
static shmem_team_t own; /* of the last PE alone */

/* With 80 bytes in the first range, or 4 for those of one element. */
static void reach_past(const char *name, char *base)
{
    long *at = (long *)(void *)(base + PAST);
    long *one = (long *)(void *)(base + FIRST - 4);
    static uint64_t signal;
    static long values[400];

    if (strcmp(name, "put") == 0) shmem_long_put(at, heap, 20, 0);
    if (strcmp(name, "put_nbi") == 0) shmem_long_put_nbi(at, heap, 20, 0);
    if (strcmp(name, "get") == 0) shmem_long_get(heap, at, 20, 0);
    if (strcmp(name, "get_nbi") == 0) shmem_long_get_nbi(heap, at, 20, 0);
    if (strcmp(name, "iput") == 0) shmem_long_iput(at, heap, 2, 1, 10, 0);
    if (strcmp(name, "iget") == 0) shmem_long_iget(heap, at, 1, 2, 10, 0);
    if (strcmp(name, "put_signal") == 0)
        shmem_long_put_signal(at, heap, 20, &signal, 1, SHMEM_SIGNAL_SET, 0);
    if (strcmp(name, "p") == 0) shmem_long_p(one, 7, 0);
    if (strcmp(name, "g") == 0) heap[0] = shmem_long_g(one, 0);
    if (strcmp(name, "broadcast") == 0) shmem_long_broadcast(SHMEM_TEAM_WORLD, at, heap, 20, 0);
    if (strcmp(name, "fcollect") == 0) shmem_long_fcollect(SHMEM_TEAM_WORLD, at, heap, 10);
    if (strcmp(name, "sum") == 0) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, at, heap, 20);
    if (strcmp(name, "source") == 0) shmem_long_broadcast(SHMEM_TEAM_WORLD, values, at, 20, 0);
    if (strcmp(name, "alltoall") == 0) shmem_long_alltoall(SHMEM_TEAM_WORLD, at, heap, 10);
    if (strcmp(name, "own_sum") == 0) shmem_long_sum_reduce(own, at, heap, 20);
    if (strcmp(name, "own_cast") == 0) shmem_long_broadcast(own, at, heap, 20, 0);
    if (strcmp(name, "own_scan") == 0) shmem_long_sum_inscan(own, at, heap, 20);
}

static bool is_collective(const char *name)
{
    return strcmp(name, "broadcast") == 0 || strcmp(name, "fcollect") == 0 ||
           strcmp(name, "sum") == 0 || strcmp(name, "source") == 0 || strcmp(name, "alltoall") == 0;
}

/* Ends the job, the last PE's or that of all, or says that it was survived. */
static void go_past(const char *name, const char *memory)
{
    shmemx_buffer_range_t ranges[2];
    bool mapped = strcmp(memory, "descriptor") == 0;
    int fd = mapped ? memfd_create("ranges", MFD_CLOEXEC) : -1;
    char *all = NULL;
    shmem_space_t space;

    if (mapped) {
        PE_REQUIRE(ftruncate(fd, FIRST + SECOND) == 0, "no memfd");
        all = mmap(NULL, FIRST + SECOND, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    } else {
        all = aligned_alloc(PAGE, (FIRST + SECOND + PAGE - 1) / PAGE * PAGE);
    }
    cut_beside(ranges, all, fd);
    space = register_all(ranges, 2, 0);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, pe_n - 1, 1, 1, NULL, 0, &own);
    if (pe_me == pe_n - 1 || is_collective(name))
        reach_past(name, all);
    else
        shmem_long_wait_until(heap, SHMEM_CMP_EQ, 7);
    printf("survived\n");
    for (int pe = 0; pe < pe_n; pe++)
        shmem_long_p(heap, 7, pe);
    destroy(space, ranges, 2);
}

static bool is_operation(const char *name)
{
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
        if (strcmp(operations[i], name) == 0) return true;
    return false;
}

/* One mistake; the last PE makes it. */
static void mistake(const char *name, char *all)
{
    shmemx_buffer_range_t ranges[MOST];
    bool here = pe_me == pe_n - 1;
    shmem_space_t space;

    cut(ranges, 3, all);
    if (strcmp(name, "size") == 0) {
        ranges[1].nbytes -= here ? 8 : 0;
        refused(ranges, 3, name);
    } else if (strcmp(name, "number") == 0) {
        refused(ranges, here ? 2 : 3, name);
    } else if (strcmp(name, "overlap") == 0) {
        if (here) ranges[2].addr = (char *)ranges[1].addr + 8;
        refused(ranges, 3, name);
    } else if (strcmp(name, "taken") == 0) {
        if (here) ranges[2].addr = heap;
        refused(ranges, 3, name);
    } else if (strcmp(name, "persist") == 0) {
        space = register_all(ranges, 3, 0);
        PE_CHECK(shmemx_space_persist(space, ranges[1].addr, 100) != 0, "it was made durable");
        destroy(space, ranges, 3);
    } else if (strcmp(name, "free") == 0) {
        space = register_all(ranges, 3, 0);
        shmem_space_free(space, ranges[1].addr);
    } else {
        PE_CHECK(false, "no mistake is called %s", name);
    }
}

int main(int argc, char **argv)
{
    static const int numbers[] = {1, 3, MOST};
    char *all;

    pe_test_begin();
    heap = shmem_calloc(LONGS, sizeof(*heap));
    all = aligned_alloc(PAGE, room_of(MOST));
    if (argc > 1) {
        if (is_operation(argv[1]))
            go_past(argv[1], argv[2]);
        else
            mistake(argv[1], all);
        free(all);
        return pe_test_end();
    }
    for (int i = 0; i < 3; i++) {
        check_private(numbers[i]);
        check_descriptors(numbers[i], i % 2 == 0);
        check_descriptors(numbers[i], i % 2 != 0);
    }
    check_heap();
    check_gpu();
    check_refused(all);
    check_leaks(all);
    free(all);
    shmem_free(heap);
    return pe_test_end();
}
