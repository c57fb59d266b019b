/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The symmetric heap: allocators, zero sizes, alignment, contents, and what the implicit
 * barriers promise. Exhaustion has its own test. Rules R50-R66.
 */
#include "pe_data.h"

#include <stddef.h>

enum { BLOCK = 256 * 1024 };

/* R51, R54, R56: these do nothing, hence no barrier: one PE alone may call them. */
static void check_no_action(void)
{
    if (pe_me == 0) {
        PE_CHECK(shmem_malloc(0) == NULL, "malloc(0) is not NULL");
        PE_CHECK(shmem_calloc(0, 8) == NULL, "calloc(0, 8) is not NULL");
        PE_CHECK(shmem_calloc(8, 0) == NULL, "calloc(8, 0) is not NULL");
        PE_CHECK(shmem_align(64, 0) == NULL, "align(64, 0) is not NULL");
        PE_CHECK(shmem_malloc_with_hints(0, SHMEM_MALLOC_ATOMICS_REMOTE) == NULL,
                 "malloc_with_hints(0) is not NULL");
        PE_CHECK(shmem_realloc(NULL, 0) == NULL, "realloc(NULL, 0) is not NULL");
        shmem_free(NULL);
    }
    shmem_barrier_all();
}

/* R53, R62: aligned as asked, writable from end to end. */
static void check_alignment(void)
{
    for (size_t size = 1; size < 200; size += 13) {
        char *block = shmem_malloc(size);

        PE_REQUIRE(block != NULL, "malloc(%zu) failed", size);
        PE_CHECK((uintptr_t)block % _Alignof(max_align_t) == 0, "malloc(%zu) gave %p", size,
                 (void *)block);
        memset(block, 1, size);
        shmem_free(block);
    }
    for (size_t align = sizeof(void *); align <= 256 * 1024 * 1024; align *= 2) {
        char *block = shmem_align(align, 100);

        PE_REQUIRE(block != NULL, "align(%zu, 100) failed", align);
        PE_CHECK((uintptr_t)block % align == 0, "align(%zu) gave %p", align, (void *)block);
        memset(block, 2, 100);
        shmem_free(block);
    }
}

/* Blocks of the same random sizes everywhere are symmetric: a put into mine lands in theirs. */
static void check_symmetric(void)
{
    enum { N = 60 };
    char *block[N];
    size_t size[N];
    uint64_t rng = 12345;

    for (int i = 0; i < N; i++) {
        size[i] = pe_random_in(&rng, 1, 9000);
        block[i] = i % 3 == 2 ? shmem_align(256, size[i]) : shmem_malloc(size[i]);
        PE_REQUIRE(block[i] != NULL, "block %d of %zu bytes failed", i, size[i]);
        if (i % 4 == 3) { /* leave holes, the same on all PEs */
            shmem_free(block[i - 2]);
            block[i - 2] = NULL;
        }
    }
    for (int i = 0; i < N; i++) {
        static char source[9000];

        pe_fill(source, size[i], (unsigned)(i * 16 + pe_me));
        if (block[i] != NULL) shmem_putmem(block[i], source, size[i], pe_right());
    }
    shmem_barrier_all();
    for (int i = 0; i < N; i++) {
        if (block[i] != NULL)
            PE_CHECK_BYTES(block[i], size[i], (unsigned)(i * 16 + pe_left()), "random block");
        shmem_free(block[i]);
    }
}

/* R63: zeroed, and zeroed before any PE leaves: an early put from a neighbour survives. */
static void check_calloc(void)
{
    for (int round = 0; round < pe_rounds(24); round++) {
        char *block = shmem_malloc(BLOCK);

        PE_REQUIRE(block != NULL, "malloc failed");
        memset(block, 0xff, BLOCK);
        shmem_free(block);
        block = shmem_calloc(BLOCK / 16, 16);
        PE_REQUIRE(block != NULL, "calloc failed");
        shmem_char_p(&block[round], (char)(1 + pe_me), pe_right());
        shmem_char_p(&block[BLOCK - 1 - round], (char)(1 + pe_me), pe_right());
        shmem_barrier_all();
        PE_CHECK_EQ(block[round], 1 + pe_left());
        PE_CHECK_EQ(block[BLOCK - 1 - round], 1 + pe_left());
        block[round] = block[BLOCK - 1 - round] = 0;
        PE_CHECK_SAME(block, BLOCK, 0, "calloc");
        shmem_free(block);
    }
    PE_CHECK(shmem_calloc(SIZE_MAX / 4, 16) == NULL, "calloc overflow is not NULL");
}

/* R54: free finishes traffic into the block: it does not reach the next owner of the memory. */
static void check_free_completes(void)
{
    static char source[BLOCK];

    memset(source, 0x77, BLOCK);
    for (int round = 0; round < pe_rounds(16); round++) {
        char *block = shmem_malloc(BLOCK);

        PE_REQUIRE(block != NULL, "malloc failed");
        shmem_putmem_nbi(block, source, BLOCK, pe_right());
        shmem_free(block);
        block = shmem_calloc(1, BLOCK);
        PE_REQUIRE(block != NULL, "calloc failed");
        shmem_barrier_all();
        PE_CHECK_SAME(block, BLOCK, 0, "put into a freed block");
        shmem_free(block);
    }
}

/* R56, R60, R61: contents kept, including what a neighbour has just put. */
static void check_realloc(void)
{
    static char source[BLOCK];
    char *block = shmem_realloc(NULL, 1000), *wall, *grown;

    PE_REQUIRE(block != NULL, "realloc(NULL, 1000) failed");
    wall = shmem_malloc(1000); /* keeps the block from growing in place */
    pe_fill(source, 1000, (unsigned)pe_me);
    shmem_putmem_nbi(block, source, 1000, pe_right());
    grown = shmem_realloc(block, BLOCK);
    PE_REQUIRE(grown != NULL, "realloc to %d failed", BLOCK);
    PE_CHECK_BYTES(grown, 1000, (unsigned)pe_left(), "grown block");
    PE_CHECK((uintptr_t)grown % _Alignof(max_align_t) == 0, "realloc gave %p", (void *)grown);
    shmem_sync_all(); /* checked before the next put arrives */

    pe_fill(source, BLOCK, (unsigned)(32 + pe_me));
    shmem_putmem(grown, source, BLOCK, pe_right());
    block = shmem_realloc(grown, 333);
    PE_REQUIRE(block != NULL, "shrinking failed");
    PE_CHECK_BYTES(block, 333, (unsigned)(32 + pe_left()), "shrunk block");
    PE_CHECK(shmem_realloc(block, 0) == NULL, "realloc(p, 0) is not NULL");
    shmem_free(wall);
}

/* R58: a failed realloc leaves the block as it was. */
static void check_realloc_fails(void)
{
    char *block = shmem_malloc(5000);

    PE_REQUIRE(block != NULL, "malloc failed");
    pe_fill(block, 5000, 3);
    PE_CHECK(shmem_realloc(block, SIZE_MAX / 2) == NULL, "realloc to SIZE_MAX / 2 succeeded");
    PE_CHECK_BYTES(block, 5000, 3, "block after a failed realloc");
    shmem_sync_all();
    shmem_char_p(block, (char)pe_me, pe_right());
    shmem_barrier_all();
    PE_CHECK_EQ(block[0], pe_left());
    shmem_free(block);
}

/* R64: hints change nothing that can be seen. */
static void check_hints(void)
{
    static const long hints[] = {0, SHMEM_MALLOC_ATOMICS_REMOTE, SHMEM_MALLOC_SIGNAL_REMOTE,
                                 SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE};

    for (int i = 0; i < 4; i++) {
        uint64_t *word = shmem_malloc_with_hints(sizeof(*word), hints[i]);

        PE_REQUIRE(word != NULL, "malloc_with_hints(%ld) failed", hints[i]);
        *word = 5;
        shmem_barrier_all();
        shmem_uint64_atomic_add(word, (uint64_t)pe_me, pe_right());
        shmem_barrier_all();
        PE_CHECK_EQ(*word, 5 + pe_left());
        word = shmem_realloc(word, 4096); /* R59 */
        PE_REQUIRE(word != NULL, "realloc of hinted memory failed");
        PE_CHECK_EQ(*word, 5 + pe_left());
        shmem_free(word);
    }
}

/* R66: the old names. */
static void check_old_names(void)
{
    char *block = shmalloc(100), *aligned = shmemalign(512, 100);

    PE_REQUIRE(block != NULL && aligned != NULL, "shmalloc or shmemalign failed");
    PE_CHECK((uintptr_t)aligned % 512 == 0, "shmemalign gave %p", (void *)aligned);
    memset(block, 9, 100);
    block = shrealloc(block, 5000);
    PE_REQUIRE(block != NULL, "shrealloc failed");
    PE_CHECK_SAME(block, 100, 9, "shrealloc");
    shfree(block);
    shfree(aligned);
}

int main(void)
{
    pe_test_begin();
    check_no_action();
    check_alignment();
    check_symmetric();
    check_calloc();
    check_free_completes();
    check_realloc();
    check_realloc_fails();
    check_hints();
    check_old_names();
    return pe_test_end();
}
