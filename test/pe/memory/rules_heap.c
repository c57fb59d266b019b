/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the routines of the symmetric heap rule by rule (OpenSHMEM 1.6, section 9.3; rules R38,
 * R50-R66 of docs/reference/conformance.md): which calls synchronize the PEs and which a PE may
 * make alone, alignment, agreement between PEs, zeroing, and what realloc keeps. A full heap is in
 * heap_full.c.
 */
#include "heap_ways.h"
#include "pe_table.h"

#include <sched.h>
#include <stddef.h>

enum { KIB = 1024, BLOCK = 192 * KIB, BULK = 512 * KIB };

static long *entered; /* one word for each PE: the last call it went into */

/* Tell all PEs that this one comes to call number `call`; some PEs come late. */
static void enter(long call)
{
    for (int pe = 0; pe < pe_n; pe++)
        shmem_long_p(&entered[pe_me], call, pe);
    if ((call + pe_me) % 3 == 0)
        for (int i = 0; i < 20; i++)
            sched_yield();
}

/* Behind the call everybody has entered it, and what they put before has come. */
static void left(long call, const char *what)
{
    for (int pe = 0; pe < pe_n; pe++) {
        long seen = __atomic_load_n(&entered[pe], __ATOMIC_ACQUIRE);

        PE_CHECK(
            seen >= call,
            "%s: the call returned before pe %d made it: that PE is in call %ld, expected %ld or "
            "later",
            what, pe, seen, call);
    }
}

static void release(enum way way, void *block)
{
    if (way == BY_REALLOC)
        PE_CHECK(shmem_realloc(block, 0) == NULL, "realloc(p, 0) returned memory, expected NULL");
    else if (way == BY_SHREALLOC)
        PE_CHECK(shrealloc(block, 0) == NULL, "shrealloc(p, 0) returned memory, expected NULL");
    else if (way == BY_SHMALLOC || way == BY_SHMEMALIGN)
        shfree(block);
    else
        shmem_free(block);
}

/* Who returns with memory, without memory, or from a free has met everybody. */
static void check_calls_separate(void)
{
    static long call;

    for (int round = 0; round < pe_rounds(16); round++)
        for (int way = 0; way < N_WAYS; way++) {
            void *block;

            enter(++call);
            block = allocate(way, NULL, 1000);
            left(call, way_names[way]);
            PE_REQUIRE(block != NULL, "%s of 1000 bytes returned NULL", way_names[way]);
            enter(++call);
            release(way, block);
            left(call, "free");
            enter(++call);
            PE_CHECK(allocate(way, NULL, (size_t)1 << 44) == NULL,
                     "%s of 16 TiB returned memory, expected NULL", way_names[way]);
            left(call, "a call that fails");
        }
}

/* An existing block: realloc separates whether it grows, shrinks, moves or fails. */
static void check_realloc_separates(void)
{
    static const size_t sizes[] = {5000, 100, BLOCK, (size_t)1 << 44, 64};
    static long call;
    char *block = shmem_malloc(1000);

    memset(entered, 0, (size_t)pe_n * sizeof(*entered));
    shmem_barrier_all();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *got;

        enter(++call);
        got = shmem_realloc(block, sizes[i]);
        left(call, "realloc");
        PE_CHECK((got == NULL) == (sizes[i] > BLOCK),
                 "realloc to %zu bytes returned %p: expected NULL only if the size is 16 TiB",
                 sizes[i], (void *)got);
        if (got != NULL) block = got;
    }
    shmem_free(block);
}

/* Nothing to do is no collective: each PE does it as often as it likes. */
static void check_nothing_is_alone(void)
{
    for (int i = 0; i <= pe_me; i++) {
        for (int way = 0; way < N_WAYS; way++)
            PE_CHECK(allocate(way, NULL, 0) == NULL, "%s of 0 bytes returned memory, expected NULL",
                     way_names[way]);
        PE_CHECK(shmem_calloc(0, 0) == NULL && shmem_calloc(0, 7) == NULL,
                 "shmem_calloc of 0 elements returned memory, expected NULL");
        PE_CHECK(shmem_malloc_with_hints(0, 0) == NULL,
                 "shmem_malloc_with_hints(0, 0) returned memory, expected NULL");
        shmem_free(NULL);
        shfree(NULL);
    }
}

/* All allocators give what any type can be stored in; typed atomics work at its start. */
static void check_alignment(void)
{
    for (int way = 0; way < N_WAYS; way++)
        for (size_t nbytes = 1; nbytes < 70; nbytes += 17) {
            char *block = allocate(way, NULL, nbytes);

            PE_REQUIRE(block != NULL, "%s of a few bytes returned NULL", way_names[way]);
            PE_CHECK((uintptr_t)block % _Alignof(max_align_t) == 0,
                     "%s returned %p, which is not aligned for max_align_t", way_names[way],
                     (void *)block);
            release(way, block);
        }
}

/* Offsets agree and blocks do not overlap: what is put into mine is whole in everybody's. */
static void check_symmetric_at_random(void)
{
    enum { N = 24, MOST = 20000 };
    static char *block[N], source[MOST];
    static size_t size[N];
    uint64_t rng = 77;

    for (int step = 0; step < pe_rounds(400); step++) {
        size_t i = pe_random_in(&rng, 0, N - 1), nbytes = pe_random_in(&rng, 1, MOST);

        if (block[i] == NULL) {
            block[i] = allocate((enum way)pe_random_in(&rng, 0, N_WAYS - 1), NULL, nbytes);
        } else if (pe_random(&rng) % 3 == 0) {
            shmem_free(block[i]);
            block[i] = NULL;
        } else {
            char *got = shmem_realloc(block[i], nbytes);

            if (got != NULL) block[i] = got;
        }
        size[i] = nbytes;
    }
    for (size_t i = 0; i < N; i++)
        if (block[i] != NULL) {
            pe_fill(source, size[i], (unsigned)(i * 16) + (unsigned)pe_me);
            shmem_putmem(block[i], source, size[i], pe_right());
        }
    shmem_barrier_all();
    for (size_t i = 0; i < N; i++) {
        if (block[i] != NULL)
            PE_CHECK_BYTES(block[i], size[i], (unsigned)(i * 16) + (unsigned)pe_left(),
                           "a block after random allocations, reallocs and frees");
        shmem_free(block[i]);
        block[i] = NULL;
    }
}

/*
 * What is under way on the default context is complete behind malloc, realloc and free. A large
 * get is what shows it: the messages of a sync do not push it ahead.
 */
static void check_heap_completes(void)
{
    static const char *const names[] = {"malloc", "realloc", "free"};
    static long mine[BULK], got[BULK];
    void *block = NULL;

    for (long turn = 0; turn < 12; turn++) {
        long want = turn * 100 + pe_right();

        for (int i = 0; i < BULK; i++)
            mine[i] = turn * 100 + pe_me;
        shmem_barrier_all();
        shmem_long_get_nbi(got, mine, BULK, pe_right());
        if (turn % 3 == 0)
            block = shmem_malloc(64);
        else if (turn % 3 == 1)
            block = shmem_realloc(block, 128);
        else
            shmem_free(block);
        PE_CHECK_EACH(int, i, BULK, got[i] == want,
                      "shmem_%s did not complete a get_nbi: word %d is %ld, expected %ld",
                      names[turn % 3], i, got[i], want);
        shmem_barrier_all();
    }
}

/* Free finishes traffic into the block: it does not reach the next owner of the memory. */
static void check_free_completes(void)
{
    static char source[BLOCK];

    memset(source, 0x77, BLOCK);
    for (int round = 0; round < pe_rounds(16); round++) {
        char *block = pe_malloc(BLOCK);

        shmem_putmem_nbi(block, source, BLOCK, pe_right());
        shmem_free(block);
        block = pe_calloc(1, BLOCK);
        shmem_barrier_all();
        PE_CHECK_SAME(block, BLOCK, 0,
                      "a new block in memory that another block was freed from during a put");
        shmem_free(block);
    }
}

/* What goes out on another context is not the allocators' concern; nor is it harmed by them. */
static void check_other_context(void)
{
    static char source[BLOCK];
    char *dest = pe_malloc(BLOCK), *other;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;

    PE_REQUIRE(shmem_ctx_create(0, &ctx) == 0, "shmem_ctx_create failed");
    pe_fill(source, BLOCK, (unsigned)(pe_me + 5));
    shmem_sync_all();
    shmem_ctx_putmem_nbi(ctx, dest, source, BLOCK, pe_right());
    other = shmem_malloc(100);
    shmem_free(other);
    shmem_ctx_quiet(ctx);
    shmem_sync_all();
    PE_CHECK_BYTES(dest, BLOCK, (unsigned)(pe_left() + 5), "put_nbi around malloc and free");
    shmem_ctx_destroy(ctx);
    shmem_sync_all();
    shmem_free(dest);
}

/*
 * A block that moves: what neighbours have put is copied, and what they put into the new block at
 * once is not overwritten by a copy that is still going on.
 */
static void check_realloc_moves(void)
{
    static char before[BLOCK], after[64];

    for (int round = 0; round < pe_rounds(32); round++) {
        char *block = pe_malloc(BLOCK), *wall = pe_malloc(64), *moved;

        pe_fill(before, BLOCK, (unsigned)(round * 16 + pe_me));
        memset(after, 1 + pe_me, sizeof(after));
        shmem_putmem_nbi(block, before, BLOCK, pe_right());
        moved = shmem_realloc(block, 2 * BLOCK);
        PE_REQUIRE(moved != NULL, "shmem_realloc to twice the size returned NULL");
        PE_CHECK(moved != block,
                 "round %d: realloc did not move the block, so the copy was not tested", round);
        shmem_putmem(moved + BLOCK - 64, after, 64, pe_right()); /* last to be copied */
        shmem_barrier_all();
        PE_CHECK_BYTES(moved, BLOCK - 64, (unsigned)(round * 16 + pe_left()), "moved block");
        PE_CHECK_SAME(moved + BLOCK - 64, 64, 1 + pe_left(),
                      "a put to the end of a block right after realloc");
        shmem_free(wall);
        shmem_free(moved);
    }
}

/* A realloc that fails leaves a block that works: same place, same bytes, on every PE. */
static void check_realloc_fails(void)
{
    char *block = shmem_align(4096, 3000);

    PE_REQUIRE(block != NULL, "shmem_align(4096, 3000) returned NULL");
    pe_fill(block, 3000, (unsigned)(9 + pe_me));
    for (int i = 0; i < 10; i++)
        PE_CHECK(shmem_realloc(block, SIZE_MAX - (size_t)i) == NULL,
                 "shmem_realloc to nearly SIZE_MAX bytes returned memory, expected NULL");
    PE_CHECK_BYTES(block, 3000, (unsigned)(9 + pe_me), "block after failed reallocs");
    shmem_barrier_all();
    shmem_putmem(block, "still there", 12, pe_right());
    shmem_barrier_all();
    PE_CHECK(
        strcmp(block, "still there") == 0,
        "after failed reallocs, a put into the block delivered \"%.11s\", expected \"still there\"",
        block);
    shmem_free(block);
}

/* Hinted memory stays good for what was hinted, wherever realloc moves it; no hint is an error. */
static void check_hints(void)
{
    static const long hints[] = {0, SHMEM_MALLOC_ATOMICS_REMOTE, SHMEM_MALLOC_SIGNAL_REMOTE,
                                 SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE,
                                 1L << 40};

    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        uint64_t *words = shmem_malloc_with_hints(2 * sizeof(*words), hints[i]);
        void *wall = pe_malloc(64);

        PE_REQUIRE(words != NULL, "shmem_malloc_with_hints with hints %#lx returned NULL",
                   hints[i]);
        words[0] = words[1] = 3;
        words = shmem_realloc(words, BLOCK);
        PE_REQUIRE(words != NULL, "shmem_realloc of memory with hints returned NULL");
        shmem_uint64_atomic_add(&words[0], 4, pe_right());
        shmem_putmem_signal(&words[2], &i, sizeof(i), &words[1], 5, SHMEM_SIGNAL_ADD, pe_right());
        PE_CHECK_EQ(shmem_signal_wait_until(&words[1], SHMEM_CMP_EQ, 8), 8);
        PE_CHECK_EQ(words[2], i);
        shmem_barrier_all();
        PE_CHECK_EQ(words[0], 7);
        shmem_free(wall);
        shmem_free(words);
    }
}

/* Alignments up to what is larger than the heap: an aligned block, or NULL on all PEs. */
static void check_large_alignments(void)
{
    for (size_t align = sizeof(void *); align != 0 && align <= (size_t)1 << 46; align *= 4) {
        static int got;
        char *block = shmem_align(align, 1);

        got = block != NULL;
        shmem_barrier_all();
        for (int pe = 0; pe < pe_n; pe++)
            PE_CHECK(shmem_int_g(&got, pe) == got,
                     "shmem_align(%zu, 1) returned NULL on some PEs and memory on others", align);
        PE_CHECK((uintptr_t)block % align == 0,
                 "shmem_align(%zu, 1) returned %p, which is not aligned", align, (void *)block);
        PE_CHECK(got || align > (size_t)1 << 20, "shmem_align(%zu, 1) returned NULL", align);
        shmem_barrier_all();
        shmem_free(block);
    }
}

/* Small powers of two do as 8; what is no power of two is a failure like any other. */
static void check_other_alignments(void)
{
    static void *(*const ways[])(size_t, size_t) = {shmem_align, shmemalign};
    static const size_t rounded[][2] = {
        {0, sizeof(void *)}, {3, sizeof(void *)}, {24, 32}, {63, 64}, {1000, 1024}};
    static const size_t bad[] = {SIZE_MAX, SIZE_MAX / 2 + 2};
    static long call;

    memset(entered, 0, (size_t)pe_n * sizeof(*entered));
    shmem_barrier_all();
    for (int w = 0; w < 2; w++) {
        for (size_t align = 1; align < sizeof(void *); align *= 2) {
            char *block = ways[w](align, 100);

            PE_REQUIRE(block != NULL, "an allocation with alignment %zu returned NULL", align);
            PE_CHECK(
                (uintptr_t)block % sizeof(void *) == 0,
                "an allocation with alignment %zu returned %p, which is not aligned for a pointer",
                align, (void *)block);
            shmem_char_p(&block[99], (char)align, pe_right());
            shmem_barrier_all();
            PE_CHECK_EQ(block[99], align);
            shmem_free(block);
        }
        for (size_t i = 0; i < sizeof(rounded) / sizeof(rounded[0]); i++) {
            char *block;

            enter(++call);
            block = ways[w](rounded[i][0], 100);
            left(call, "an alignment that is rounded up");
            PE_REQUIRE(block != NULL && (uintptr_t)block % rounded[i][1] == 0,
                       "an allocation with alignment %zu returned %p, expected a multiple of %zu",
                       rounded[i][0], (void *)block, rounded[i][1]);
            shmem_free(block);
        }
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
            enter(++call);
            PE_CHECK(
                ways[w](bad[i], 100) == NULL,
                "an allocation with the impossible alignment %zu returned memory, expected NULL",
                bad[i]);
            left(call, "a wrong alignment");
        }
    }
    PE_CHECK(shmem_align(3, 0) == NULL, "shmem_align(3, 0) returned memory, expected NULL");
}

/* count times size that does not fit is a failure, not a small block. */
static void check_calloc_overflow(void)
{
    PE_CHECK(shmem_calloc(SIZE_MAX, 2) == NULL,
             "shmem_calloc(SIZE_MAX, 2) returned memory, expected NULL");
    PE_CHECK(shmem_calloc(((size_t)1 << 32) + 1, ((size_t)1 << 32) + 1) == NULL,
             "shmem_calloc(2^32 + 1, 2^32 + 1) returned memory, expected NULL");
    PE_CHECK(shmem_calloc(SIZE_MAX / 8 + 2, 8) == NULL,
             "shmem_calloc whose product wraps to 8 bytes returned memory, expected NULL");
}

/* Bytes that were used come back as zeros, and are zeros before a neighbour can write. */
static void check_calloc_zeroes(void)
{
    for (int round = 0; round < pe_rounds(16); round++) {
        unsigned char *block = pe_malloc(BLOCK);

        memset(block, 0xa5, BLOCK);
        shmem_free(block);
        block = pe_calloc(BLOCK / 8, 8);
        shmem_uchar_p(&block[BLOCK - 1], 0x99, pe_right());
        shmem_barrier_all();
        PE_CHECK_SAME(block, BLOCK - 1, 0, "memory from calloc");
        PE_CHECK_EQ(block[BLOCK - 1], 0x99);
        shmem_free(block);
    }
}

/* realloc keeps the smaller of both lengths, in place or not, and shrinking gives room back. */
static void check_realloc_keeps(void)
{
    static const size_t sizes[] = {1, 17, 4096, 100000, 50, BLOCK, 7, 8};
    char *block = pe_malloc(1);
    size_t old = 1;

    pe_fill(block, 1, 3);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t least = old < sizes[i] ? old : sizes[i];

        block = i % 2 ? shrealloc(block, sizes[i]) : shmem_realloc(block, sizes[i]);
        PE_REQUIRE(block != NULL, "realloc to %zu bytes returned NULL", sizes[i]);
        PE_CHECK_BYTES(block, least, 3, "contents that realloc must keep");
        PE_CHECK((uintptr_t)block % _Alignof(max_align_t) == 0,
                 "realloc returned %p, which is not aligned for max_align_t", (void *)block);
        pe_fill(block, sizes[i], 3);
        old = sizes[i];
    }
    PE_CHECK(shmem_realloc(block, 0) == NULL, "realloc(p, 0) returned memory, expected NULL");
}

static const struct pe_rule rules[] = {
    {"R51 R54 R56 size 0 and NULL: NULL at once, no PE waits", check_nothing_is_alone},
    {"R50 R52 R54 R56 R66 allocation, failure and free meet everybody", check_calls_separate},
    {"R57 realloc of a block meets everybody", check_realloc_separates},
    {"R53 aligned for any type, whatever the allocator", check_alignment},
    {"R62 aligned as asked, or NULL on all PEs", check_large_alignments},
    {"R62 other alignments: rounded up, or NULL on all PEs", check_other_alignments},
    {"R50 R38 same sequence, symmetric results", check_symmetric_at_random},
    {"R52 R54 R61 what is under way is complete behind heap calls", check_heap_completes},
    {"R54 what was put into a block ends with its free", check_free_completes},
    {"R55 other contexts are left alone", check_other_context},
    {"R58 R65 a failed realloc leaves the block", check_realloc_fails},
    {"R60 realloc keeps what fits", check_realloc_keeps},
    {"R61 realloc moves between two barriers", check_realloc_moves},
    {"R59 R64 hints are kept or ignored, never an error", check_hints},
    {"R63 calloc zeroes before anyone writes", check_calloc_zeroes},
    {"R63 R65 calloc's product is checked", check_calloc_overflow},
};

int main(void)
{
    pe_test_begin();
    entered = pe_calloc((size_t)pe_n, sizeof(*entered));
    PE_RULES_RUN(rules);
    return pe_test_end();
}
