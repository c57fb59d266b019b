/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks allocation from spaces: sizes, alignment, zeroing, a full space, the synchronization in
 * the calls, and the plain heap routines on pointers into a space. CPU spaces only. Proposal text
 * and rules S4, S6, S7, S12, S14 and S17 of docs/reference/conformance-spaces.md.
 */
#include "pe_spaces.h"

#include <shmemx.h>

/* Zero sizes and NULL do nothing, hence no barrier: one PE alone may call them. */
static void check_no_action(shmem_space_t space)
{
    if (pe_me == pe_n - 1) {
        PE_CHECK(shmem_space_malloc(space, 0) == NULL,
                 "shmem_space_malloc of 0 bytes returned memory, expected NULL");
        PE_CHECK(shmem_space_calloc(space, 0, 8) == NULL,
                 "shmem_space_calloc of 0 elements returned memory, expected NULL");
        PE_CHECK(shmem_space_calloc(space, 8, 0) == NULL,
                 "shmem_space_calloc of elements of 0 bytes returned memory, expected NULL");
        shmem_space_free(space, NULL);
    }
    shmem_barrier_all();
}

/* S17, S7: nearly all of a fresh space in one piece, writable to the last byte everywhere. */
static void check_most(shmem_space_t space)
{
    size_t n = 7 * (size_t)PE_MIB;
    char *block = shmem_space_malloc(space, n);

    PE_REQUIRE(block != NULL,
               "shmem_space_malloc of 7 MiB in a fresh space of 8 MiB returned NULL");
    PE_CHECK((uintptr_t)block % 64 == 0, "a block is at %p, which is not aligned to 64",
             (void *)block);
    pe_fill(block, n, (unsigned)pe_me);
    shmem_barrier_all();
    shmem_char_p(&block[n - 1], (char)(80 + pe_me), pe_right());
    shmem_barrier_all();
    PE_CHECK_EQ(block[n - 1], 80 + pe_left());
    PE_CHECK_BYTES(block, n - 1, (unsigned)pe_me, "a block of 7 MiB");
    PE_CHECK(
        shmem_space_malloc(space, 2 * PE_MIB) == NULL,
        "shmem_space_malloc of 2 MiB beside 7 MiB in a space of 8 MiB returned memory, expected "
        "NULL");
    PE_CHECK_BYTES(block, n - 1, (unsigned)pe_me,
                   "a block of 7 MiB after an allocation that failed");
    shmem_space_free(space, block);
}

/* Powers of two, small ones too; anything else is NULL on all PEs. */
static void check_alignments(shmem_space_t space)
{
    static const size_t bad[] = {0, 6, 24, SIZE_MAX};

    for (size_t align = 1; align <= 4096; align *= 2) {
        char *block = shmemx_space_align(space, align, 100);

        PE_REQUIRE(block != NULL, "shmemx_space_align to %zu returned NULL", align);
        PE_CHECK((uintptr_t)block % (align < 8 ? 8 : align) == 0,
                 "shmemx_space_align to %zu returned %p, which is not aligned", align,
                 (void *)block);
        shmem_space_free(space, block);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        PE_CHECK(shmemx_space_align(space, bad[i], 100) == NULL,
                 "shmemx_space_align to the invalid alignment %zu returned memory, expected NULL",
                 bad[i]);
}

/* Fill with equal blocks: NULL comes at the same call on all PEs; free makes room again. */
static void check_exhaustion(shmem_space_t space)
{
    enum { MAX = 200, SIZE = 100000 };
    static char *block[MAX];
    int n = 0;

    while (n < MAX && (block[n] = shmem_space_malloc(space, SIZE)) != NULL) {
        memset(block[n], n, SIZE);
        n++;
    }
    pe_check_agreed(n, "blocks out of 8 MiB");
    PE_CHECK(n >= 8 * PE_MIB / SIZE * 3 / 4 && n < MAX,
             "%d blocks of %d bytes fit in 8 MiB, expected about 80", n, SIZE);
    PE_CHECK(shmem_space_calloc(space, SIZE, 1) == NULL,
             "shmem_space_calloc in a full space returned memory, expected NULL");
    for (int i = 0; i < n; i++) {
        PE_CHECK((uintptr_t)block[i] % 64 == 0, "a block is at %p, which is not aligned to 64",
                 (void *)block[i]);
        PE_CHECK_SAME(block[i], SIZE, i & 0xff, "a block of the full space");
    }
    for (int i = 1; i < n; i += 2)
        shmem_space_free(space, block[i]);
    for (int i = 1; i < n; i += 2)
        PE_CHECK((block[i] = shmem_space_malloc(space, SIZE)) != NULL,
                 "the freed block %d cannot be allocated again", i);
    for (int i = 0; i < n; i++)
        shmem_space_free(space, block[i]);
    block[0] = shmem_space_malloc(space, 7 * (size_t)PE_MIB);
    PE_CHECK(block[0] != NULL,
             "shmem_space_malloc of 7 MiB in the emptied space returned NULL: freed blocks did not "
             "merge");
    shmem_space_free(space, block[0]);
}

/* S6: zeroed before anybody leaves; free finishes what is on its way into the block. */
static void check_calloc(shmem_space_t space)
{
    enum { SIZE = 200000 };
    static char source[SIZE];

    memset(source, 0x5a, SIZE);
    for (int round = 0; round < 10; round++) {
        char *block = shmem_space_malloc(space, SIZE);

        PE_REQUIRE(block != NULL, "shmem_space_malloc returned NULL");
        shmem_putmem_nbi(block, source, SIZE, pe_right());
        shmem_space_free(space, block);
        block = shmem_space_calloc(space, SIZE / 8, 8);
        PE_REQUIRE(block != NULL, "shmem_space_calloc returned NULL");
        shmem_char_p(&block[round], 1, pe_right());
        shmem_barrier_all();
        PE_CHECK_EQ(block[round], 1);
        block[round] = 0;
        PE_CHECK_SAME(block, SIZE, 0, "memory from calloc");
        shmem_space_free(space, block);
    }
    PE_CHECK(shmem_space_calloc(space, SIZE_MAX / 2, 4) == NULL,
             "shmem_space_calloc whose product overflows returned memory, expected NULL");
    PE_CHECK(shmem_space_malloc(space, SIZE_MAX) == NULL,
             "shmem_space_malloc of SIZE_MAX returned memory, expected NULL");
    PE_CHECK(shmem_space_malloc(space, SIZE_MAX - 32) == NULL,
             "shmem_space_malloc of SIZE_MAX - 32 returned memory, expected NULL");
}

/* S14: shmem_free and shmem_realloc find the space; a block never changes its space. */
static void check_plain_routines(shmem_space_t space)
{
    char *block = shmem_space_malloc(space, 1000), *wall = shmem_space_malloc(space, 1000);
    shmem_space_t got = SHMEM_SPACE_INVALID;

    PE_REQUIRE(block != NULL && wall != NULL, "shmem_space_malloc returned NULL");
    pe_fill(block, 1000, (unsigned)pe_me);
    block = shmem_realloc(block, 3 * PE_MIB);
    PE_REQUIRE(block != NULL, "shmem_realloc to 3 MiB returned NULL");
    PE_CHECK_BYTES(block, 1000, (unsigned)pe_me, "contents that realloc in a space must keep");
    PE_CHECK_EQ(shmem_get_space(block, &got), 0);
    PE_CHECK(got == space, "realloc moved the block into another space");
    PE_CHECK(shmem_realloc(block, 100 * (size_t)PE_MIB) == NULL,
             "shmem_realloc to more than the space returned memory, expected NULL");
    PE_CHECK_BYTES(block, 1000, (unsigned)pe_me, "a block after a failed realloc");
    shmem_free(wall);
    shmem_free(block);
    block = shmem_space_malloc(space, 7 * (size_t)PE_MIB);
    PE_CHECK(block != NULL, "shmem_free did not give the memory back to the space");
    PE_CHECK(shmem_realloc(block, 0) == NULL,
             "shmem_realloc to 0 bytes returned memory, expected NULL");
}

/* S12: room is reserved, memory is touched on use; odd sizes are fine, too. */
static void check_sizes(void)
{
    static const size_t sizes[] = {1, 100, 4095, 4097, 256 * (size_t)PE_MIB};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        shmem_team_t team = SHMEM_TEAM_INVALID;
        shmem_space_t space = pe_space_create(sizes[i], &team);
        size_t n = sizes[i] > 100000 ? sizes[i] / 2 : 1;
        char *block = shmem_space_malloc(space, n);

        if (PE_CHECK(block != NULL,
                     "shmem_space_malloc of %zu bytes in a space of %zu returned NULL", n,
                     sizes[i])) {
            shmem_char_p(&block[n - 1], (char)(1 + pe_me), pe_right());
            shmem_barrier_all();
            PE_CHECK_EQ(block[n - 1], 1 + pe_left());
            shmem_space_free(space, block);
        }
        pe_space_end(space, team);
    }
}

/* Blocks of two spaces and the heap do not overlap, whoever writes. */
static void check_apart(shmem_space_t space, shmem_space_t other)
{
    enum { N = 20, SIZE = 30000 };
    char *block[3][N];

    for (int i = 0; i < N; i++) {
        block[0][i] = shmem_space_malloc(space, SIZE);
        block[1][i] = shmem_space_malloc(other, SIZE);
        block[2][i] = shmem_malloc(SIZE);
        for (int k = 0; k < 3; k++) {
            static char source[SIZE];

            PE_REQUIRE(block[k][i] != NULL, "block %d of space %d (2 is the heap) is NULL", i, k);
            memset(source, i * 3 + k, SIZE);
            shmem_putmem(block[k][i], source, SIZE, pe_right());
        }
    }
    shmem_barrier_all();
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++)
            PE_CHECK_SAME(block[k][i], SIZE, i * 3 + k, "a block among others");
    for (int i = 0; i < N; i++) {
        shmem_space_free(space, block[0][i]);
        shmem_free(block[1][i]);
        shmem_free(block[2][i]);
    }
}

int main(void)
{
    shmem_team_t team = SHMEM_TEAM_INVALID, other_team = SHMEM_TEAM_INVALID;
    shmem_space_t space, other;
    char *block;

    pe_test_begin();
    space = pe_space_create(8 * PE_MIB, &team);
    check_most(space); /* first: the space is fresh */
    other = pe_space_create(PE_MIB, &other_team);
    check_no_action(space);
    check_alignments(space);
    check_exhaustion(space);
    check_calloc(space);
    check_plain_routines(space);
    check_apart(space, other);
    pe_space_end(other, other_team);
    shmem_team_destroy(team); /* S4: the space goes on without its team */
    block = shmem_space_malloc(space, 1000);
    PE_CHECK(block != NULL,
             "shmem_space_malloc after the space's team was destroyed returned NULL");
    shmem_space_free(space, block);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
    check_sizes();
    return pe_test_end();
}
