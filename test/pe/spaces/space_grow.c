/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks spaces that grow: old contents stay, each family of operations reaches the new memory and
 * crosses the border between old and new memory, allocation past max_size returns NULL, and a
 * member that cannot grow leaves all members as they were. With a small SHMEM_WINDOW_SIZE the
 * spaces lie outside the window.
 *
 * usage: space_grow [heap | hbm]
 *   heap: the default heap, with SHMEM_SYMMETRIC_SIZE=4m:200m; hbm: spaces of that kind
 */
#include "pe_kinds.h"
#include "pe_reach.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = PE_MIB, MAX = 300 * PE_MIB, EXTENT = 64 * PE_MIB, SLACK = PE_MIB / 4 };

static long *heap;
static int kind = PE_CPU;

static shmemx_space_info_t info_of(shmem_space_t space)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;

    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    return info;
}

static bool make(size_t max, size_t page, shmemx_space_numa_t numa, struct pe_space *s)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    *s = (struct pe_space){.kind = &pe_kinds[kind], .rank = -1};
    attr.max_size = max;
    attr.page_size = page;
    attr.numa_policy = kind == PE_HBM ? SHMEMX_NUMA_DEFAULT : numa; /* it has its own */
    if (shmemx_space_create_attr(&config, &attr, &s->space, &s->team) != 0) return false;
    s->rank = shmem_team_my_pe(s->team);
    s->n = shmem_team_n_pes(s->team);
    return true;
}

/* ---- across a border ------------------------------------------------------------------------- */

static unsigned char value_at(size_t i, unsigned salt)
{
    return (unsigned char)(i * 7 + i / 251 + salt);
}

static void expect(const unsigned char *bytes, size_t n, int pe, const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (!PE_CHECK(bytes[i] == value_at(i, (unsigned)pe),
                      "%s across the border, %zu bytes: byte %zu is %d, which is wrong", what, n, i,
                      bytes[i]))
            return;
}

/* nbytes of which half lie before the border, between it and private memory. */
static void check_size(unsigned char *border, size_t nbytes)
{
    unsigned char *there = border - nbytes / 2, *own = malloc(2 * nbytes);
    static uint64_t signal;

    signal = 0;
    for (size_t i = 0; i < nbytes; i++)
        own[i] = value_at(i, (unsigned)pe_me);
    memset(there, 0, nbytes);
    shmem_barrier_all();
    shmem_putmem(there, own, nbytes, pe_right());
    shmem_barrier_all();
    expect(there, nbytes, pe_left(), "put");
    shmem_barrier_all();
    memset(there, 0, nbytes);
    shmem_barrier_all();
    shmem_putmem_nbi(there, own, nbytes, pe_right());
    shmem_barrier_all();
    expect(there, nbytes, pe_left(), "put_nbi");
    shmem_getmem(own + nbytes, there, nbytes, pe_right());
    expect(own + nbytes, nbytes, pe_me, "get");
    memset(own + nbytes, 0, nbytes);
    shmem_getmem_nbi(own + nbytes, there, nbytes, pe_right());
    shmem_quiet();
    expect(own + nbytes, nbytes, pe_me, "get_nbi");
    shmem_barrier_all();
    memset(there, 0, nbytes);
    shmem_barrier_all();
    for (int nbi = 0; nbi < 2; nbi++) {
        if (nbi)
            shmem_putmem_signal_nbi(there, own, nbytes, &signal, 1, SHMEM_SIGNAL_SET, pe_right());
        else
            shmem_putmem_signal(there, own, nbytes, &signal, 1, SHMEM_SIGNAL_SET, pe_right());
        shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 1);
        expect(there, nbytes, pe_left(), nbi ? "put_signal_nbi" : "put_signal");
        shmem_barrier_all();
        memset(there, 0, nbytes);
        signal = 0;
        shmem_barrier_all();
    }
    free(own);
}

/* From and to memory that lies across the border on both sides. */
static void check_both(unsigned char *border, size_t nbytes)
{
    unsigned char *from = border - nbytes / 4, *to = heap != NULL ? (unsigned char *)heap : NULL;

    for (size_t i = 0; i < nbytes; i++)
        from[i] = value_at(i, (unsigned)pe_me);
    shmem_barrier_all();
    shmem_getmem(to, from, nbytes, pe_right());
    expect(to, nbytes, pe_right(), "get of it");
    shmem_barrier_all();
    shmem_putmem(to, from, nbytes, pe_right());
    shmem_barrier_all();
    expect(to, nbytes, pe_left(), "put of it");
    shmem_barrier_all();
}

static void check_border(char *border, const char *what)
{
    static const size_t sizes[] = {2, 8, 200, 1000, 9000, 20000, 300000};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        check_size((unsigned char *)border, sizes[i]);
    check_both((unsigned char *)border, 200000);
    pe_reach_all((long *)(void *)border - PE_REACH_N / 2, heap, what);
}

/* ---- a space ------------------------------------------------------------------------------- */

static void check_end(const struct pe_space *s, size_t max)
{
    shmemx_space_info_t before = info_of(s->space), after;

    PE_CHECK(shmem_space_malloc(s->space, max) == NULL,
             "shmem_space_malloc of max_size beside live blocks returned memory, expected NULL");
    PE_CHECK(shmem_space_malloc(s->space, SIZE_MAX / 2) == NULL,
             "shmem_space_malloc of SIZE_MAX / 2 returned memory, expected NULL");
    after = info_of(s->space);
    PE_CHECK_EQ(after.nbytes, before.nbytes);
    PE_CHECK_EQ(after.used, before.used);
}

static void check_use(size_t page, shmemx_space_numa_t numa, const char *what)
{
    struct pe_space s;
    char *keep, *first, *last, *cleared, *more;

    PE_REQUIRE(make(MAX, page, numa, &s), "shmemx_space_create_attr with max_size failed");
    PE_CHECK_EQ(info_of(s.space).nbytes, SIZE);
    PE_CHECK_EQ(info_of(s.space).max_size, MAX);
    keep = shmem_space_malloc(s.space, SIZE - 2 * SLACK);
    for (size_t i = 0; i < SIZE - 2 * SLACK; i++)
        keep[i] = (char)value_at(i, (unsigned)pe_me);
    first = shmem_space_malloc(s.space, 4 * PE_MIB);
    PE_REQUIRE(first != NULL, "%s: shmem_space_malloc returned NULL: the space did not grow", what);
    PE_CHECK_EQ(info_of(s.space).nbytes, SIZE + EXTENT);
    expect((unsigned char *)keep, SIZE - 2 * SLACK, pe_me, "what was there");
    check_border(keep + SIZE, what);
    last = shmem_space_malloc(s.space, EXTENT);
    PE_REQUIRE(last != NULL,
               "%s: shmem_space_malloc returned NULL: the space did not grow a second time", what);
    PE_CHECK_EQ(info_of(s.space).nbytes, 2 * (SIZE + EXTENT));
    check_border(keep + SIZE + EXTENT, what);
    check_border(keep + SIZE, what);
    memset(last, pe_me, 1000);
    /* the last block grows where it is, and with it the space */
    more = shmemx_space_realloc(s.space, last, 2 * EXTENT);
    PE_CHECK(more == last,
             "realloc moved the last block from %p to %p, expected it to grow in place",
             (void *)last, (void *)more);
    PE_CHECK_EQ(info_of(s.space).nbytes, 4 * (SIZE + EXTENT));
    PE_CHECK_EQ(more[999], (char)pe_me);
    check_border(keep + 2 * (SIZE + EXTENT), what);
    cleared = shmem_space_calloc(s.space, EXTENT, 1);
    PE_REQUIRE(cleared != NULL, "%s: shmem_space_calloc returned NULL", what);
    for (size_t i = 0; i < EXTENT; i += 4001)
        PE_CHECK_EQ(cleared[i], 0);
    check_end(&s, MAX);
    shmem_space_free(s.space, cleared);
    cleared = shmemx_space_align(s.space, PE_MIB, 2 * PE_MIB);
    PE_CHECK((uintptr_t)cleared % PE_MIB == 0,
             "shmemx_space_align to 1 MiB returned %p, which is not aligned", (void *)cleared);
    shmem_space_free(s.space, cleared);
    shmem_space_free(s.space, more);
    expect((unsigned char *)keep, SIZE - 2 * SLACK, pe_me, "what was there in the end");
    shmem_space_free(s.space, first);
    shmem_space_free(s.space, keep);
    PE_CHECK_EQ(info_of(s.space).largest, info_of(s.space).nbytes);
    pe_kind_destroy(&s);
}

/* The last extent takes all there may be, and ends where max_size says. */
static void check_all(void)
{
    struct pe_space s;
    char *block;

    PE_REQUIRE(make(MAX + 4097, 0, SHMEMX_NUMA_DEFAULT, &s),
               "shmemx_space_create_attr with max_size failed");
    PE_CHECK_EQ(info_of(s.space).max_size, MAX + 2 * 4096);
    block = shmem_space_malloc(s.space, MAX + 2 * 4096);
    PE_REQUIRE(block != NULL, "shmem_space_malloc of exactly max_size returned NULL");
    PE_CHECK_EQ(info_of(s.space).nbytes, MAX + 2 * 4096);
    shmem_char_p(block + MAX + 2 * 4096 - 1, (char)(1 + pe_me), pe_right());
    shmem_barrier_all();
    PE_CHECK_EQ(block[MAX + 2 * 4096 - 1], (char)(1 + pe_left()));
    pe_kind_destroy(&s);
    PE_REQUIRE(make(SIZE, 0, SHMEMX_NUMA_DEFAULT, &s),
               "shmemx_space_create_attr with max_size equal to size failed");
    PE_CHECK(shmem_space_malloc(s.space, 2 * SIZE) == NULL,
             "a space whose max_size is its size grew, expected NULL");
    pe_kind_destroy(&s);
}

static void check_subset(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_team_t some, team;
    shmem_space_t space;

    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, pe_n > 1, 2, pe_n > 2 ? pe_n / 2 : 1,
                                         NULL, 0, &some),
                0);
    if (some != SHMEM_TEAM_INVALID) {
        attr.parent = some;
        attr.max_size = MAX;
        PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, &team) == 0,
                   "shmemx_space_create_attr of a space of some PEs failed");
        for (int i = 0; i < 3; i++)
            PE_CHECK(shmem_space_malloc(space, 40 * PE_MIB) != NULL,
                     "block %d of 40 MiB in a space of some PEs is NULL: the space did not grow",
                     i);
        pe_space_end(space, team);
        shmem_team_destroy(some);
    }
    shmem_barrier_all();
}

/* ---- a member that cannot -------------------------------------------------------------------- */

/*
 * What keeps PE 0 from growing: its files may not, outside the window, or its mappings have run
 * out, inside it.
 */
struct obstacle {
    char *maps;
    size_t pages;
    struct rlimit before;
};

static long max_map_count(void)
{
    FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
    long n = 0;

    if (file == NULL || fscanf(file, "%ld", &n) != 1) n = 0;
    if (file != NULL) fclose(file);
    return n;
}

static void obstacle_set(struct obstacle *obstacle)
{
    struct rlimit limit;
    long n = max_map_count();

    getrlimit(RLIMIT_FSIZE, &obstacle->before);
    limit = obstacle->before;
    limit.rlim_cur = 8 * PE_MIB;
    setrlimit(RLIMIT_FSIZE, &limit);
    obstacle->pages = (size_t)n + 2;
    obstacle->maps = mmap(NULL, obstacle->pages * 4096, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (size_t i = 1; i < obstacle->pages; i += 2)
        if (mprotect(obstacle->maps + i * 4096, 4096, PROT_READ) != 0) break;
}

static void obstacle_clear(struct obstacle *obstacle)
{
    munmap(obstacle->maps, obstacle->pages * 4096);
    setrlimit(RLIMIT_FSIZE, &obstacle->before);
}

/* Asked of the kernel, which traps nobody. */
static bool may_touch(const char *addr)
{
    int ends[2];
    bool may;

    PE_REQUIRE(pipe(ends) == 0, "pipe() failed");
    may = write(ends[1], addr, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return may;
}

/* Files of parts outside the window that are longer than SIZE. */
static int longer_files(void)
{
    int n = 0;

    for (int fd = 3; fd < 256; fd++) {
        char path[32], name[64] = "";
        struct stat st;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (readlink(path, name, sizeof(name) - 1) > 0 && strstr(name, "steppe-space") != NULL &&
            fstat(fd, &st) == 0 && st.st_size > SIZE)
            n++;
    }
    return n;
}

/* Nothing of an attempt that failed is there: in this PE's part and in a peer's. */
static void check_undone(const char *base)
{
    const char *theirs = shmem_ptr(base, pe_right());

    PE_CHECK(may_touch(base + SIZE - 1),
             "after a refused growth, the old end of this PE's part is not accessible");
    PE_CHECK(!may_touch(base + SIZE),
             "after a refused growth, memory after this PE's old part is accessible");
    if (theirs == NULL) return;
    PE_CHECK(may_touch(theirs + SIZE - 1),
             "after a refused growth, the old end of the right PE's part is not accessible");
    PE_CHECK(!may_touch(theirs + SIZE),
             "after a refused growth, memory after the right PE's old part is accessible");
    PE_CHECK_EQ(longer_files(), 0);
}

/* A sanitizer needs mappings of its own. */
static bool may_set_obstacle(void)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return false;
#else
    return max_map_count() <= 200000;
#endif
}

static void check_refusal(void)
{
    shmemx_space_info_t before, after;
    struct obstacle obstacle;
    struct pe_space s;
    char *block;

    if (!may_set_obstacle()) return;
    PE_REQUIRE(make(MAX, 0, SHMEMX_NUMA_INTERLEAVE, &s),
               "shmemx_space_create_attr with max_size failed");
    block = shmem_space_malloc(s.space, SIZE / 2);
    before = info_of(s.space);
    for (int i = 0; i < 2; i++) {
        if (pe_me == 0) obstacle_set(&obstacle);
        PE_CHECK(shmem_space_malloc(s.space, 2 * SIZE) == NULL,
                 "the space grew although PE 0 cannot grow, expected NULL");
        if (pe_me == 0) obstacle_clear(&obstacle);
    }
    check_undone(before.base);
    after = info_of(s.space);
    PE_CHECK_EQ(after.nbytes, before.nbytes);
    PE_CHECK_EQ(after.largest, before.largest);
    PE_CHECK_EQ(after.n_blocks, 1);
    PE_CHECK(shmem_space_malloc(s.space, SIZE / 2) == block + SIZE / 2,
             "after a refused growth, the free part of the old memory was not allocated next");
    PE_CHECK(shmem_space_malloc(s.space, SIZE) == block + SIZE,
             "the space did not grow after the obstacle was removed");
    check_border(block + SIZE, "after a refusal");
    pe_kind_destroy(&s);
}

/* ---- the default heap ---------------------------------------------------------------------- */

static void check_heap(void)
{
    shmemx_space_info_t info = info_of(SHMEM_SPACE_DEFAULT);
    char *base = info.base, *block, *more;

    PE_CHECK_EQ(info.nbytes, 4 * PE_MIB);
    PE_CHECK_EQ(info.max_size, 200 * PE_MIB);
    block = shmem_malloc(3 * PE_MIB);
    more = shmem_calloc(4, PE_MIB);
    PE_REQUIRE(block != NULL && more != NULL,
               "allocation from the default heap returned NULL: the heap did not grow");
    PE_CHECK_EQ(info_of(SHMEM_SPACE_DEFAULT).nbytes, 68 * PE_MIB);
    check_border(base + 4 * PE_MIB, "the default heap");
    more = shmem_realloc(more, 100 * PE_MIB);
    PE_REQUIRE(more != NULL, "shmem_realloc to 100 MiB returned NULL");
    check_border(base + 68 * PE_MIB, "the default heap, once more");
    PE_CHECK(shmem_malloc(200 * PE_MIB) == NULL,
             "shmem_malloc of the heap's limit beside live blocks returned memory, expected NULL");
    shmem_free(more);
    shmem_free(block);
}

int main(int argc, char **argv)
{
    pe_test_begin();
    PE_REQUIRE(pe_n <= PE_REACH_MAX_PES, "this test runs with at most 16 PEs");
    heap = shmem_malloc(PE_REACH_N * sizeof(*heap));
    if (argc > 1 && strcmp(argv[1], "heap") == 0) {
        check_heap();
    } else {
        if (argc > 1 && strcmp(argv[1], "hbm") == 0) kind = PE_HBM;
        check_use(0, SHMEMX_NUMA_DEFAULT, "usual memory");
        check_use(4096, SHMEMX_NUMA_FIRST_TOUCH, "pages of 4 KiB");
        check_all();
        check_subset();
        check_refusal();
    }
    shmem_free(heap);
    return pe_test_end();
}
