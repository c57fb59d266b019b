/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks queries about PEs, addresses and the library rule by rule (OpenSHMEM 1.6, sections 3 and
 * 9.1; rules R16-R23, R25, R26, R37 and R39 of docs/reference/conformance.md): pe_accessible and
 * addr_accessible for valid and invalid arguments, shmem_ptr and shmem_team_ptr, the shared team,
 * name and version.
 */
#include "pe_table.h"

#include <dlfcn.h>
#include <limits.h>
#include <sys/mman.h>

enum { WORDS = 2000 };

struct pair {
    int number;
    char name[5];
};

static long *heap; /* symmetric, WORDS */
static long in_bss_words[WORDS];
static struct pair in_bss[300];
static struct pair in_data[3] = {{1, "one"}, {2, "two"}, {3, "drei"}};
static __thread int of_thread;
static const char constant[] = "a constant";

static void expect_private(const void *addr, const char *what)
{
    for (int pe = 0; pe < pe_n; pe++) {
        PE_CHECK(shmem_addr_accessible(addr, pe) == 0, "shmem_addr_accessible of %s at %p is not 0",
                 what, addr);
        PE_CHECK(shmem_ptr(addr, pe) == NULL,
                 "shmem_ptr of %s, which is not symmetric, is not NULL", what);
    }
}

static void expect_symmetric(const void *addr, const char *what)
{
    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK(shmem_addr_accessible(addr, pe) == 1,
                 "shmem_addr_accessible of %s on pe %d is %d, expected 1", what, pe,
                 shmem_addr_accessible(addr, pe));
}

static void check_addresses(void)
{
    static int function_static;
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    void *private_heap = pe_private(100);

    PE_REQUIRE(libc != NULL && map != MAP_FAILED, "dlopen of the loaded libc.so.6 or mmap failed");
    expect_symmetric(heap, "the heap's first word");
    expect_symmetric((char *)&heap[WORDS] - 1, "a block's last byte");
    expect_symmetric(&in_bss[299].name[4], "a static's last byte");
    expect_symmetric(&in_data[1].number, "inside initialised data");
    expect_symmetric(&function_static, "a function's static");
    expect_private(&libc, "the stack");
    expect_private(private_heap, "malloc");
    expect_private(map, "a mapping that is shared, but not with PEs");
    expect_private(&of_thread, "a thread's variable");
    expect_private(constant, "a constant");
    expect_private("literal", "a literal");
    expect_private(dlsym(libc, "environ"), "the C library's data");
    expect_private((const void *)(uintptr_t)&check_addresses, "code");
    expect_private((const void *)(uintptr_t)&shmem_init, "the library's code");
    expect_private(NULL, "NULL");
    expect_private((const void *)UINTPTR_MAX, "the last address");
    expect_private((const void *)8, "an address near NULL");
    munmap(map, 4096);
    free(private_heap);
    dlclose(libc);
}

/* No two PEs have the same number. */
static void check_own_number(void)
{
    int *seen = pe_calloc((size_t)pe_n, sizeof(*seen));

    PE_CHECK(pe_me >= 0 && pe_me < pe_n, "shmem_my_pe is %d, expected 0 or more and less than %d",
             pe_me, pe_n);
    for (int pe = 0; pe < pe_n; pe++)
        shmem_int_atomic_inc(&seen[pe_me], pe);
    shmem_barrier_all();
    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK(seen[pe] == 1, "%d PEs have the number %d, expected one", seen[pe], pe);
    shmem_free(seen);
}

static void check_pe_numbers(void)
{
    static const int none[] = {-1, INT_MIN, INT_MAX, INT_MIN + 1};

    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK_EQ(shmem_pe_accessible(pe), 1);
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        PE_CHECK_EQ(shmem_pe_accessible(none[i]), 0);
        PE_CHECK_EQ(shmem_addr_accessible(heap, none[i]), 0);
        PE_CHECK(shmem_ptr(heap, none[i]) == NULL,
                 "shmem_ptr for pe %d, which does not exist, is not NULL", none[i]);
    }
    for (int pe = pe_n; pe < pe_n + 70; pe++) {
        PE_CHECK_EQ(shmem_pe_accessible(pe), 0);
        PE_CHECK(shmem_ptr(heap, pe) == NULL,
                 "shmem_ptr for pe %d, which does not exist, is not NULL", pe);
    }
}

/* Store my number into word pe_me of everybody. What no store reaches is put. */
static void store_everywhere(long *words, long base)
{
    for (int pe = 0; pe < pe_n; pe++) {
        long *there = shmem_ptr(words, pe);

        if (there != NULL)
            there[pe_me] = base + pe_me;
        else
            shmem_long_p(&words[pe_me], base + pe_me, pe);
    }
}

/* Owner and get see what was stored through a pointer. */
static void expect_stores(const long *words, long base)
{
    for (int pe = 0; pe < pe_n; pe++) {
        PE_CHECK_EQ(words[pe], base + pe);
        PE_CHECK_EQ(shmem_long_g(&words[pe_me], pe), base + pe_me);
    }
}

/* What is at my address of each PE's object, by pointer where there is one. */
static void check_loads_and_stores(void)
{
    heap[0] = in_bss[7].number = 100 + pe_me;
    shmem_barrier_all();
    for (int pe = 0; pe < pe_n; pe++) {
        const long *there = shmem_ptr(heap, pe);
        struct pair *pair = shmem_ptr(&in_bss[7], pe);

        if (there != NULL) PE_CHECK_EQ(*(volatile const long *)there, 100 + pe);
        if (pair != NULL) PE_CHECK_EQ(*(volatile int *)&pair->number, 100 + pe);
        if (pair != NULL)
            PE_CHECK(shmem_ptr(in_bss, pe) == pair - 7,
                     "shmem_ptr of the first element of a static is not that of element 7 minus 7");
        if (there != NULL)
            PE_CHECK(
                shmem_ptr(heap + WORDS - 1, pe) == there + WORDS - 1,
                "shmem_ptr of the last word of a block is not at the expected distance from the "
                "first");
    }
    PE_CHECK(shmem_ptr(heap, pe_me) == heap && shmem_ptr(in_bss, pe_me) == in_bss,
             "shmem_ptr for this PE itself is not the address of the object");
    shmem_barrier_all();
    store_everywhere(heap, 1000);
    store_everywhere(in_bss_words, 2000);
    shmem_barrier_all();
    expect_stores(heap, 1000);
    expect_stores(in_bss_words, 2000);
    shmem_barrier_all();
}

/* Numbers are those of the team; others are no members. */
static void check_team_ptr(void)
{
    int first = pe_n / 2, n = pe_n - first;
    shmem_team_t upper = pe_split(SHMEM_TEAM_WORLD, pe_n - 1, -1, n);

    if (upper != SHMEM_TEAM_INVALID) {
        for (int i = 0; i < n; i++)
            PE_CHECK(shmem_team_ptr(upper, heap, i) == shmem_ptr(heap, pe_n - 1 - i),
                     "shmem_team_ptr for number %d of a team is not shmem_ptr for the same PE", i);
        PE_CHECK(shmem_team_ptr(upper, heap, n) == NULL,
                 "shmem_team_ptr for the number after the last of a team is not NULL");
        PE_CHECK(shmem_team_ptr(upper, heap, -1) == NULL,
                 "shmem_team_ptr for number -1 is not NULL");
    }
    for (int pe = -1; pe <= pe_n; pe++) {
        PE_CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, heap, pe) == NULL,
                 "shmem_team_ptr on SHMEM_TEAM_INVALID is not NULL");
        PE_CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, heap, pe) == shmem_ptr(heap, pe),
                 "shmem_team_ptr on SHMEM_TEAM_WORLD is not shmem_ptr");
    }
    shmem_barrier_all();
    shmem_team_destroy(upper);
}

/*
 * Every PE writes down whom it can reach by loads and stores, and whom it finds in the shared
 * team and with which number: the first is mutual, the second the same for all its members.
 */
static void check_shared(void)
{
    size_t n = (size_t)pe_n;
    int *mine = pe_malloc(2 * n * sizeof(int)), *all = pe_malloc(2 * n * n * sizeof(int));

    for (int pe = 0; pe < pe_n; pe++) {
        mine[pe] = shmem_ptr(heap, pe) != NULL;
        mine[pe_n + pe] = shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED);
    }
    PE_CHECK_EQ(shmem_int_fcollect(SHMEM_TEAM_WORLD, all, mine, 2 * n), 0);
    for (int a = 0; a < pe_n; a++)
        for (int b = 0; b < pe_n; b++) {
            const int *row = all + (size_t)a * 2 * n, *other = all + (size_t)b * 2 * n;

            PE_CHECK(row[b] == other[a],
                     "shmem_ptr reaches memory from pe %d to pe %d, but not in the other direction",
                     a, b);
            if (row[pe_n + b] < 0) continue; /* b is not in a's shared team */
            PE_CHECK(row[b], "pe %d is in the shared team of pe %d, but shmem_ptr to it is NULL", b,
                     a);
            PE_CHECK(memcmp(row + n, other + n, n * sizeof(int)) == 0,
                     "pes %d and %d are in one shared team and have different numbers in it", a, b);
        }
    PE_CHECK(
        mine[pe_n + pe_me] == shmem_team_my_pe(SHMEM_TEAM_SHARED) && mine[pe_n + pe_me] >= 0,
        "translating this PE's number to SHMEM_TEAM_SHARED does not give shmem_team_my_pe of that "
        "team");
    shmem_free(all);
    shmem_free(mine);
}

static void check_info(void)
{
    struct {
        char name[SHMEM_MAX_NAME_LEN];
        char guard[8];
    } text;
    int major = -1, minor = -1;

    memset(&text, '#', sizeof(text));
    shmem_info_get_name(text.name);
    PE_CHECK(memchr(text.name, 0, SHMEM_MAX_NAME_LEN) != NULL,
             "shmem_info_get_name wrote no null byte within SHMEM_MAX_NAME_LEN");
    PE_CHECK(strcmp(text.name, SHMEM_VENDOR_STRING) == 0,
             "shmem_info_get_name is \"%.80s\", expected SHMEM_VENDOR_STRING", text.name);
    PE_CHECK_SAME(text.guard, sizeof(text.guard), '#',
                  "bytes after the buffer of shmem_info_get_name");
    shmem_info_get_version(&major, &minor);
    PE_CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION,
             "shmem_info_get_version is %d.%d, expected the macros of the header", major, minor);
    PE_CHECK(major == 1 && minor == 6, "shmem_info_get_version is %d.%d, expected 1.6", major,
             minor);
}

static const struct pe_rule rules[] = {
    {"R16 every PE has a number of its own", check_own_number},
    {"R17 accessible PEs: 1 or 0", check_pe_numbers},
    {"R18 R37 accessible addresses: 1 or 0", check_addresses},
    {"R19 R20 the version is the specification's, the name fits", check_info},
    {"R21 R25 R39 pointers for loads and stores, or NULL", check_loads_and_stores},
    {"R22 R23 team_ptr takes the team's numbers", check_team_ptr},
    {"R26 sharing is mutual", check_shared},
};

int main(void)
{
    pe_test_begin();
    heap = pe_calloc(WORDS, sizeof(*heap));
    PE_RULES_RUN(rules);
    return pe_test_end();
}
