/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Uses an address that looks like that of a global and is not symmetric: data of a library that is
 * linked or opened by dlopen, constants, and pages that cannot be shared. Checks that
 * shmem_addr_accessible is 0 for the address. The use must end the job; run_foreign.sh checks the
 * message.
 *
 * usage: foreign ADDRESS USE
 *   USE is made by the last PE, or by all PEs if it is "reduce"
 */
#include "pe_data.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

enum { UNIT = 65536, MANY = 140 };

extern long *foreign_word(int zeroed);
extern const long *foreign_constant(void);

static long word, *block;
static const long constant[4] = {1, 2, 3, 4};
static char pages[MANY * UNIT] __attribute__((aligned(UNIT)));

/* Before the library is initialised: some pages, or every second one, cannot be written. */
static void protect_pages(int argc, char **argv, char **envp)
{
    int n = argc > 1 && strcmp(argv[1], "many") == 0 ? MANY : 2;

    (void)envp;
    for (int i = 1; i < n; i += 2)
        mprotect(pages + (size_t)i * UNIT, UNIT, PROT_READ);
}

__attribute__((section(".preinit_array"), used)) static void (*hook)(int, char **,
                                                                     char **) = protect_pages;

/* That of the library that was linked, or of the one that is opened. */
static long *library_word(bool opened, int zeroed)
{
    long *(*find)(int) = foreign_word;
    void *library;

    if (!opened) return find(zeroed);
    library = dlopen(FOREIGN_PLUGIN, RTLD_NOW);
    PE_REQUIRE(library != NULL, "dlopen of the plugin failed: %s", dlerror());
    find = (long *(*)(int))dlsym(library, "foreign_word");
    PE_REQUIRE(find != NULL && find != foreign_word,
               "dlsym found no foreign_word in the opened library, or that of the linked library");
    return find(zeroed);
}

/* Uses an address in the routine of this name, of which only "reduce" is collective. */
static void use(const char *name, long *addr)
{
    if (strcmp(name, "put") == 0) shmem_long_put(addr, block, 1, 0);
    if (strcmp(name, "get") == 0) shmem_long_get(block, addr, 1, 0);
    if (strcmp(name, "add") == 0) shmem_long_atomic_add(addr, 1, 0);
    if (strcmp(name, "signal") == 0)
        shmem_putmem_signal(block, block + 1, 8, (uint64_t *)addr, 1, SHMEM_SIGNAL_SET, 0);
    if (strcmp(name, "lock") == 0) shmem_set_lock(addr);
    if (strcmp(name, "wait") == 0) shmem_long_wait_until(addr, SHMEM_CMP_NE, -1);
    if (strcmp(name, "reduce") == 0) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, addr, block, 1);
    if (strcmp(name, "overrun") == 0) /* a store between two ranges of its globals */
        ((char *)shmem_ptr(pages, 0))[UNIT + 8] = 1;
}

static long *address(const char *what)
{
    if (strcmp(what, "linked") == 0) return library_word(false, 0);
    if (strcmp(what, "linked_bss") == 0) return library_word(false, 1);
    if (strcmp(what, "opened") == 0) return library_word(true, 0);
    if (strcmp(what, "opened_bss") == 0) return library_word(true, 1);
    if (strcmp(what, "linked_constant") == 0) return (long *)(uintptr_t)foreign_constant();
    if (strcmp(what, "constant") == 0) return (long *)(uintptr_t)constant;
    if (strcmp(what, "protected") == 0) return (long *)(uintptr_t)(pages + UNIT);
    return &word;
}

int main(int argc, char **argv)
{
    long *addr;

    shmem_init();
    pe_test_attach();
    PE_REQUIRE(argc > 2, "usage: foreign ADDRESS USE");
    block = shmem_calloc(8, sizeof(*block));
    addr = address(argv[1]);
    PE_CHECK(
        shmem_addr_accessible(addr, 0) == (strcmp(argv[1], "none") == 0),
        "shmem_addr_accessible of the address is wrong: expected 1 for ADDRESS \"none\", 0 for all "
        "others");
    if (pe_me == pe_n - 1 || strcmp(argv[2], "reduce") == 0) use(argv[2], addr);
    shmem_barrier_all();
    puts("survived");
    return pe_test_end();
}
