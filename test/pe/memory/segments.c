/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks executables with several ranges of writable memory and with pages of other protections:
 * all writable globals are symmetric, protections stay as they were, and a forked child has both
 * (rules R37, R41 and R126 of docs/reference/conformance.md; the rest is a promise of Steppe).
 * CMakeLists.txt builds several code models and layouts. SEGMENTS_RANGES is the least number of
 * ranges of globals, without the split by early_protect().
 */
#include "pe_data.h"

#include <link.h>
#include <shmemx.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 200000, UNIT = 65536 }; /* a multiple of every page size */

#ifdef SEGMENTS_FAR
#define FAR __attribute__((section(".far")))
#else
#define FAR
#endif

static long small_data[8] = {3, [7] = 4};
static long small_bss[8];
static long large_data[LARGE] = {[0] = 5, [LARGE / 2] = 6, [LARGE - 1] = 7};
static long large_bss[LARGE];
static FAR long far_data[64] = {[0] = 8, [63] = 9};
static uint64_t signal_word;
static const char *const names[] = {"a table", "of pointers", "behind RELRO where code may move"};

/* Three units: the middle one is made read-only before any library is initialised. */
static char early[3 * UNIT] __attribute__((aligned(UNIT))) = {[0] = 1, [UNIT] = 2, [2 * UNIT] = 3};
/* The same for the program's own protections after init: read-only, untouchable. */
static char late[4 * UNIT] __attribute__((aligned(UNIT)));

#ifdef SEGMENTS_JIT
__asm__(".pushsection .jit, \"awx\", @progbits\n"
        "jit_code: .byte 0xb8, 42, 0, 0, 0, 0xc3\n" /* return 42 */
        ".skip 58\n"
        ".popsection\n");
extern unsigned char jit_code[];
#endif

static void early_protect(int argc, char **argv, char **envp)
{
    (void)argc;
    (void)argv;
    (void)envp;
    mprotect(early + UNIT, UNIT, PROT_READ);
}

__attribute__((section(".preinit_array"), used)) static void (*early_hook)(int, char **,
                                                                           char **) = early_protect;

static const struct object {
    const char *name;
    long *words;
    long last;
} objects[] = {
    {"small data", small_data, 7},
    {"small bss", small_bss, 7},
    {"large data", large_data, LARGE - 1},
    {"large bss", large_bss, LARGE - 1},
    {"far data", far_data, 63},
};
enum { N_OBJECTS = sizeof(objects) / sizeof(objects[0]) };

/* ---- what is mapped -------------------------------------------------------- */

/* The line of /proc/self/maps that holds an address. */
static void line_of(const void *addr, char line[256])
{
    FILE *file = fopen("/proc/self/maps", "re");
    unsigned long start, end;

    PE_REQUIRE(file != NULL, "/proc/self/maps cannot be opened");
    while (fgets(line, 256, file) != NULL)
        if (sscanf(line, "%lx-%lx", &start, &end) == 2 && (unsigned long)addr - start < end - start)
            break;
    fclose(file);
}

/* Is the page mapped with one of these permissions, from the library's file or not? */
static bool is_mapped(const void *addr, const char *perms, bool ours)
{
    char line[256] = "", found[5] = "";

    line_of(addr, line);
    sscanf(line, "%*s %4s", found);
    if (strstr(perms, found) != NULL && (strstr(line, "steppe-data") != NULL) == ours) return true;
    fprintf(stderr, "pe %d: expected a mapping with permissions %s at %p, /proc/self/maps has: %s",
            pe_me, perms, addr, line);
    return false;
}

static int relro_wrong(struct dl_phdr_info *info, size_t size, void *arg)
{
    int *wrong = arg;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const char *at = (const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

        if (info->dlpi_phdr[i].p_type != PT_GNU_RELRO) continue;
        if (!is_mapped(at, "r--p", false)) ++*wrong;
        if (shmem_addr_accessible(at, pe_me)) ++*wrong;
    }
    return 1; /* the executable comes first */
}

static void check_protections(void)
{
    int wrong = 0;

    dl_iterate_phdr(relro_wrong, &wrong);
    PE_CHECK_EQ(wrong, 0);
    PE_CHECK(names[1][0] == 'o', "a constant behind RELRO does not have its value");
    PE_CHECK(is_mapped(early, "rw-s rwxs", true),
             "the page before the read-only page is not mapped from the library's file");
    PE_CHECK(is_mapped(early + UNIT, "r--p", false),
             "the page that was made read-only before init is not mapped private and read-only");
    PE_CHECK(early[0] == 1 && early[UNIT] == 2 && early[2 * UNIT] == 3,
             "globals around the read-only page do not have their initial values");
    PE_CHECK_EQ(shmem_addr_accessible(early + UNIT - 1, pe_right()), 1);
    PE_CHECK_EQ(shmem_addr_accessible(early + UNIT, pe_right()), 0);
    PE_CHECK_EQ(shmem_addr_accessible(early + 2 * UNIT, pe_right()), 1);
    PE_CHECK(shmem_ptr(early + UNIT, pe_right()) == NULL,
             "shmem_ptr of a page that is not symmetric is not NULL");
#ifdef SEGMENTS_JIT
    PE_CHECK(is_mapped(jit_code, "rwxs", true),
             "the page with code is not mapped from the library's file with permissions rwxs");
    PE_CHECK_EQ(((int (*)(void))jit_code)(), 42);
#endif
}

/* A row of the table for each range. */
static void check_ranges(void)
{
    FILE *file = tmpfile();
    char line[512];
    int n = 0;

    PE_REQUIRE(file != NULL, "tmpfile() failed: no file for the table of spaces");
    shmemx_space_print(fileno(file));
    rewind(file);
    while (fgets(line, sizeof(line), file) != NULL)
        n += strstr(line, " globals ") != NULL;
    fclose(file);
    PE_CHECK(n > SEGMENTS_RANGES,
             "the table of spaces has %d ranges of globals, expected more than %d", n,
             SEGMENTS_RANGES);
}

/* ---- communication --------------------------------------------------------- */

static void check_initial(void)
{
    PE_CHECK(small_data[0] == 3 && small_data[7] == 4,
             "small initialised data do not have their initial values");
    PE_CHECK(large_data[0] == 5 && large_data[LARGE / 2] == 6 && large_data[LARGE - 1] == 7,
             "large initialised data do not have their initial values");
    PE_CHECK(far_data[0] == 8 && far_data[63] == 9,
             "far initialised data do not have their initial values");
    PE_CHECK_SAME(large_bss, sizeof(large_bss), 0, "large bss");
}

static void check_object(const struct object *object, int i)
{
    long *first = object->words, *last = object->words + object->last, value, *there;

    PE_CHECK(shmem_addr_accessible(first, pe_right()) == 1 &&
                 shmem_addr_accessible((char *)last + 7, pe_right()) == 1,
             "shmem_addr_accessible of %s is not 1", object->name);
    shmem_long_p(first, 100 * pe_me + i, pe_right());
    value = 1000 * pe_me + i;
    shmem_long_put(last, &value, 1, pe_right());
    shmem_barrier_all();
    PE_CHECK(*first == 100 * pe_left() + i && *last == 1000 * pe_left() + i,
             "%s: p or put of the left PE did not arrive: the words are %ld and %ld", object->name,
             *first, *last);
    PE_CHECK(shmem_long_g(last, pe_right()) == 1000 * pe_me + i,
             "%s: g from the right PE returned a wrong value", object->name);
    there = shmem_ptr(last, pe_right());
    if (there != NULL)
        PE_CHECK(*there == 1000 * pe_me + i, "%s: a load through shmem_ptr has a wrong value",
                 object->name);
    shmem_barrier_all();
    *first = 0;
    shmem_barrier_all();
    for (int pe = 0; pe < pe_n; pe++)
        shmem_long_atomic_add(first, pe_me + 1, pe);
    shmem_barrier_all();
    PE_CHECK(*first == (long)pe_n * (pe_n + 1) / 2,
             "%s: the word does not have the sum of all atomic_add", object->name);
}

/* From each object to each. */
static void check_pairs(void)
{
    for (int from = 0; from < N_OBJECTS; from++) {
        for (int to = 0; to < N_OBJECTS; to++) {
            const struct object *source = &objects[from], *dest = &objects[to];

            source->words[1] = 10 * from + to + 7 * pe_me;
            dest->words[2] = -1;
            shmem_barrier_all();
            shmem_long_put(&dest->words[2], &source->words[1], 1, pe_right());
            shmem_barrier_all();
            PE_CHECK(dest->words[2] == 10 * from + to + 7 * pe_left(),
                     "put from %s to %s: dest does not have the value", source->name, dest->name);
            shmem_long_get(&dest->words[3], &source->words[1], 1, pe_right());
            PE_CHECK(dest->words[3] == 10 * from + to + 7 * pe_right(),
                     "get from %s to %s: dest does not have the value", source->name, dest->name);
            shmem_barrier_all();
        }
    }
}

static void check_rest(uint64_t life)
{
    pe_fill(large_data, sizeof(large_data), (unsigned)pe_me);
    shmem_barrier_all();
    shmem_putmem_signal(large_bss, large_data, sizeof(large_bss), &signal_word, life,
                        SHMEM_SIGNAL_SET, pe_right());
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, life);
    PE_CHECK_BYTES(large_bss, sizeof(large_bss), (unsigned)pe_left(), "data of the signal");
    shmem_barrier_all();
    for (int i = 0; i < 1000; i++)
        large_data[i] = i + pe_me;
    PE_CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, large_bss, large_data, 1000), 0);
    PE_CHECK_EQ(large_bss[999], 999L * pe_n + (long)pe_n * (pe_n - 1) / 2);
    PE_CHECK_EQ(shmem_long_broadcast(SHMEM_TEAM_WORLD, far_data, large_data, 8, pe_n - 1), 0);
    PE_CHECK_EQ(far_data[7], 7 + pe_n - 1);
    shmem_barrier_all();
}

/* ---- fork ------------------------------------------------------------------- */

static int child(int go)
{
    char byte;

    if (small_data[7] != 71 || large_data[LARGE - 1] != 72 || far_data[63] != 73) return 1;
    if (read(go, &byte, 1) != 1) return 2; /* now the neighbour has written */
    if (small_data[7] != 71 || large_data[LARGE - 1] != 72 || far_data[63] != 73) return 3;
    if (!is_mapped(late, "rw-p rwxp", false)) return 4;
    if (!is_mapped(late + UNIT, "r--p", false)) return 5;
    if (!is_mapped(late + 2 * UNIT, "---p", false)) return 6;
    if (!is_mapped(early + UNIT, "r--p", false)) return 7;
    if (late[UNIT] != 5) return 8;
    if (mprotect(late + 2 * UNIT, UNIT, PROT_READ) != 0 || late[2 * UNIT] != 6) return 9;
#ifdef SEGMENTS_JIT
    if (!is_mapped(jit_code, "rwxp", false) || ((int (*)(void))jit_code)() != 42) return 10;
#endif
    return 0;
}

static void protect_late(int read_only, int untouchable)
{
    PE_REQUIRE(mprotect(late + UNIT, UNIT, read_only) == 0 &&
                   mprotect(late + 2 * UNIT, UNIT, untouchable) == 0,
               "mprotect() failed");
}

static void check_fork(void)
{
    int go[2], status = -1;
    pid_t pid;

    protect_late(PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE);
    late[UNIT] = 5;
    late[2 * UNIT] = 6;
    protect_late(PROT_READ, PROT_NONE);
    small_data[7] = 71;
    large_data[LARGE - 1] = 72;
    far_data[63] = 73;
    PE_REQUIRE(pipe(go) == 0, "pipe() failed");
    pid = fork();
    PE_REQUIRE(pid >= 0, "fork() failed");
    if (pid == 0) _exit(child(go[0]));
    shmem_barrier_all();
    shmem_long_p(&small_data[7], 81, pe_right());
    shmem_long_p(&large_data[LARGE - 1], 82, pe_right());
    shmem_long_p(&far_data[63], 83, pe_right());
    shmem_barrier_all();
    PE_CHECK(small_data[7] == 81 && large_data[LARGE - 1] == 82 && far_data[63] == 83,
             "after fork, the puts of the left PE are not in the parent's globals");
    PE_REQUIRE(write(go[1], "x", 1) == 1, "writing to the child's pipe failed");
    PE_CHECK_EQ(waitpid(pid, &status, 0), pid);
    PE_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0,
             "the child ended with wait status 0x%x, expected 0", status);
    PE_CHECK(is_mapped(late + UNIT, "r--s", true),
             "the parent's page does not have the read-only protection that the program set");
    close(go[0]);
    close(go[1]);
    shmem_barrier_all();
}

static void check_life(uint64_t life)
{
    check_protections();
    check_ranges();
    for (int i = 0; i < N_OBJECTS; i++)
        check_object(&objects[i], i);
    check_pairs();
    check_rest(life);
    check_fork();
}

int main(void)
{
    check_initial();
    shmem_init();
    pe_me = shmem_my_pe();
    pe_n = shmem_n_pes();
    check_initial();
    shmem_barrier_all();
    check_life(1);
    shmem_finalize();
    pe_test_begin();
    check_life(2);
    protect_late(PROT_READ, PROT_READ); /* LeakSanitizer reads all globals at exit */
    return pe_test_end();
}
