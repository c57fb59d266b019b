/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fills a heap of 8 MiB (SHMEM_SYMMETRIC_SIZE) with blocks of one size. All PEs must get the same
 * number of blocks, the blocks must not overlap, and after the frees the memory must be available
 * again (OpenSHMEM 1.6, sections 8 and 9.3; rules R65, R243 and R244 of
 * docs/reference/conformance.md).
 */
#include "pe_data.h"

enum { MIB = 1024 * 1024, HEAP = 8 * MIB, MAX_BLOCKS = 1024 };

/* The number of blocks got is the same on all PEs. */
static void check_agreed(int got, const char *what)
{
    static int counts[1];

    counts[0] = got;
    shmem_barrier_all();
    for (int pe = 0; pe < pe_n; pe++) {
        int theirs = shmem_int_g(counts, pe);

        PE_CHECK(theirs == got, "%s: PEs differ: %d blocks here, %d on pe %d", what, got, theirs,
                 pe);
    }
    shmem_barrier_all();
}

static int fill_heap(size_t size, char **block)
{
    int n = 0;

    while (n < MAX_BLOCKS && (block[n] = shmem_malloc(size)) != NULL)
        n++;
    return n;
}

/* R65: fill with blocks of one size; give back every second, then all; nothing leaks. */
static void check_fill(size_t size)
{
    static char *block[MAX_BLOCKS];
    int n = fill_heap(size, block), again = 0;

    check_agreed(n, "first fill");
    PE_CHECK((size_t)n * size <= 2 * (size_t)HEAP,
             "%d blocks of %zu bytes were allocated, more than twice the heap of 8 MiB", n, size);
    PE_CHECK((size_t)n * size >= HEAP / 2,
             "only %d blocks of %zu bytes were allocated, less than half of the heap of 8 MiB", n,
             size);
    for (int i = 0; i < n; i++)
        memset(block[i], i, size);
    for (int i = 0; i < n; i++)
        PE_CHECK_SAME(block[i], size, i & 0xff, "a block of the full heap");
    for (int i = 0; i < n; i += 2) {
        shmem_free(block[i]);
        block[i] = NULL;
    }
    for (int i = 0; i < n; i += 2, again++) {
        block[i] = shmem_malloc(size);
        PE_CHECK(block[i] != NULL, "the freed block %d of %zu bytes cannot be allocated again", i,
                 size);
    }
    PE_CHECK(again == (n + 1) / 2,
             "%d freed blocks were allocated again, expected one for each free", again);
    for (int i = 0; i < n; i++)
        shmem_free(block[i]);
    block[0] = shmem_malloc(7 * (size_t)MIB); /* freed neighbours have merged */
    PE_CHECK(
        block[0] != NULL,
        "shmem_malloc of 7 MiB in the empty heap of 8 MiB returned NULL after blocks of %zu bytes",
        size);
    shmem_free(block[0]);
}

int main(void)
{
    static const size_t sizes[] = {7 * MIB, MIB, 100000, 30000};

    setenv("SHMEM_SYMMETRIC_SIZE", "8m", 1);
    pe_test_begin();
    for (int i = 0; i < (pe_rounds(8) == 8 ? 4 : 3); i++)
        check_fill(sizes[i]);
    return pe_test_end();
}
