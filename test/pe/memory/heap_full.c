/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small heap, filled: NULL on all PEs at the same call, nothing lost, everything usable again
 * after the frees. The size comes from SHMEM_SYMMETRIC_SIZE. Rules R52, R58, R65, R243, R244.
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

        PE_CHECK(theirs == got, "%s: %d blocks here, %d on pe %d", what, got, theirs, pe);
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
    PE_CHECK((size_t)n * size <= 2 * (size_t)HEAP, "%d blocks of %zu out of 8 MiB", n, size);
    PE_CHECK((size_t)n * size >= HEAP / 2, "only %d blocks of %zu out of 8 MiB", n, size);
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
        PE_CHECK(block[i] != NULL, "hole %d of %zu bytes was lost", i, size);
    }
    PE_CHECK(again == (n + 1) / 2, "%d holes", again);
    for (int i = 0; i < n; i++)
        shmem_free(block[i]);
    block[0] = shmem_malloc(7 * (size_t)MIB); /* freed neighbours have merged */
    PE_CHECK(block[0] != NULL, "7 MiB of an empty 8 MiB heap failed after %zu", size);
    shmem_free(block[0]);
}

/* R58: realloc that cannot grow keeps the block; all PEs take the same decision. */
static void check_realloc(void)
{
    char *block = shmem_malloc(3 * (size_t)MIB);

    PE_REQUIRE(block != NULL, "3 MiB failed");
    pe_fill(block, 3 * (size_t)MIB, (unsigned)pe_me);
    check_agreed(shmem_realloc(block, 16 * (size_t)MIB) == NULL, "realloc beyond the heap");
    PE_CHECK_BYTES(block, 3 * (size_t)MIB, (unsigned)pe_me, "block after failed realloc");
    shmem_free(block);
}

/* R52: a failing malloc still ends like a barrier: what was put before it has arrived. */
static void check_failure_barrier(void)
{
    long *cell = shmem_calloc(1, sizeof(*cell));

    PE_REQUIRE(cell != NULL, "calloc failed");
    for (long round = 1; round <= 20; round++) {
        shmem_long_p(cell, round, pe_right());
        PE_CHECK(shmem_malloc(100 * (size_t)MIB) == NULL, "100 MiB of an 8 MiB heap");
        PE_CHECK_EQ(*cell, round);
        shmem_barrier_all();
    }
    shmem_free(cell);
}

int main(void)
{
    static const size_t sizes[] = {7 * MIB, MIB, 100000, 30000};

    setenv("SHMEM_SYMMETRIC_SIZE", "8m", 1);
    pe_test_begin();
    for (int i = 0; i < (pe_rounds(8) == 8 ? 4 : 3); i++)
        check_fill(sizes[i]);
    check_realloc();
    check_failure_barrier();
    return pe_test_end();
}
