/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the allocator of the symmetric heap rule by rule: which requests fit, which are refused,
 * which free blocks join, and which block is found at an offset. CTest runs the program as
 * unit.heap. Random runs against a model are in test_heap_random.c.
 */
#include "heap_verify.h"
#include "unit.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#define KIB ((size_t)1024)
#define MIB (KIB * KIB)

static struct stp_heap *newest;

static void destroy_newest(void)
{
    stp_heap_destroy(newest);
    newest = NULL;
}

/* The heap lives until the next one is made or the test ends. */
static struct stp_heap *heap_new(size_t size)
{
    destroy_newest();
    ck_assert_int_eq(stp_heap_create(size, &newest), 0);
    ck_assert_int_eq(heap_verify(newest), 0);
    return newest;
}

static size_t alloc_ok(struct stp_heap *heap, size_t nbytes, size_t align)
{
    size_t offset = SIZE_MAX;

    ck_assert_int_eq(stp_heap_alloc(heap, nbytes, align, &offset), 0);
    ck_assert_int_eq(heap_verify(heap), 0);
    return offset;
}

static void free_ok(struct stp_heap *heap, size_t offset)
{
    ck_assert_int_eq(stp_heap_free(heap, offset), 0);
    ck_assert_int_eq(heap_verify(heap), 0);
}

static struct stp_heap_stats stats_of(struct stp_heap *heap)
{
    struct stp_heap_stats stats;

    stp_heap_stats(heap, &stats);
    return stats;
}

static void check_empty(struct stp_heap *heap, size_t size)
{
    struct stp_heap_stats stats = stats_of(heap);

    ck_assert_uint_eq(stats.size, size);
    ck_assert_uint_eq(stats.used, 0);
    ck_assert_uint_eq(stats.n_blocks, 0);
    ck_assert_uint_eq(stats.largest_free, size);
}

TEST_CASE(heap, NULL, destroy_newest)

TEST(no_power_of_two_rounding)
{
    struct stp_heap *heap = heap_new(8 * MIB);
    size_t offset;

    ck_assert_uint_eq(alloc_ok(heap, 7 * MIB, 1), 0);
    ck_assert_uint_eq(stats_of(heap).largest_free, MIB);
    ck_assert_uint_eq(alloc_ok(heap, MIB, 1), 7 * MIB);
    ck_assert_int_eq(stp_heap_alloc(heap, 1, 1, &offset), -ENOMEM);
}

TEST(exactly_full)
{
    const size_t size = 500 * STP_HEAP_ALIGN;
    struct stp_heap *heap = heap_new(size);
    size_t offset = 77;

    ck_assert_uint_eq(alloc_ok(heap, size, 1), 0);
    ck_assert_uint_eq(stats_of(heap).used, size);
    ck_assert_uint_eq(stats_of(heap).largest_free, 0);
    ck_assert_int_eq(stp_heap_alloc(heap, 1, 1, &offset), -ENOMEM);
    ck_assert_uint_eq(offset, 77);
    free_ok(heap, 0);
    check_empty(heap, size);
    for (size_t i = 0; i < 500; i++)
        ck_assert_uint_eq(alloc_ok(heap, 1, 1), i * STP_HEAP_ALIGN);
    ck_assert_int_eq(stp_heap_alloc(heap, 1, 1, &offset), -ENOMEM);
    for (size_t i = 0; i < 500; i += 2)
        ck_assert_int_eq(stp_heap_free(heap, i * STP_HEAP_ALIGN), 0);
    ck_assert_int_eq(heap_verify(heap), 0);
    ck_assert_uint_eq(stats_of(heap).largest_free, STP_HEAP_ALIGN);
    ck_assert_int_eq(stp_heap_alloc(heap, STP_HEAP_ALIGN + 1, 1, &offset), -ENOMEM);
    for (size_t i = 1; i < 500; i += 2)
        ck_assert_int_eq(stp_heap_free(heap, i * STP_HEAP_ALIGN), 0);
    ck_assert_int_eq(heap_verify(heap), 0);
    check_empty(heap, size);
}

TEST(heap_of_no_bytes)
{
    struct stp_heap *heap = heap_new(STP_HEAP_ALIGN - 1);
    size_t offset;

    check_empty(heap, 0);
    ck_assert_int_eq(stp_heap_alloc(heap, 1, 1, &offset), -ENOMEM);
    ck_assert_int_eq(stp_heap_free(heap, 0), -EINVAL);
    ck_assert_int_eq(stp_heap_find(heap, 0, &offset, &offset), -ENOENT);
    stp_heap_destroy(NULL);
}

TEST(size_is_rounded_down)
{
    struct stp_heap *heap = heap_new(3 * STP_HEAP_ALIGN + 63);
    size_t offset;

    check_empty(heap, 3 * STP_HEAP_ALIGN);
    ck_assert_int_eq(stp_heap_alloc(heap, 3 * STP_HEAP_ALIGN + 1, 1, &offset), -ENOMEM);
    ck_assert_uint_eq(alloc_ok(heap, 3 * STP_HEAP_ALIGN, 1), 0);
}

TEST(wrong_arguments)
{
    struct stp_heap *heap = heap_new(MIB);
    size_t offset = 5;

    ck_assert_int_eq(stp_heap_alloc(heap, 0, 64, &offset), -EINVAL);
    ck_assert_int_eq(stp_heap_alloc(heap, 10, 96, &offset), -EINVAL);
    ck_assert_uint_eq(offset, 5);
    offset = alloc_ok(heap, 10, 0);
    ck_assert_int_eq(stp_heap_resize(heap, offset, 0), -EINVAL);
    ck_assert_int_eq(heap_verify(heap), 0);
}

TEST(huge_numbers)
{
    const size_t top = SIZE_MAX & ~(size_t)(STP_HEAP_ALIGN - 1);
    struct stp_heap *heap = heap_new(MIB);
    size_t offset;

    ck_assert_int_eq(stp_heap_alloc(heap, SIZE_MAX, 1, &offset), -ENOMEM);
    ck_assert_int_eq(stp_heap_alloc(heap, SIZE_MAX - 62, 1, &offset), -ENOMEM);
    ck_assert_int_eq(stp_heap_alloc(heap, MIB + 1, 1, &offset), -ENOMEM);
    ck_assert_uint_eq(alloc_ok(heap, 64, (size_t)1 << 63), 0);
    ck_assert_int_eq(stp_heap_alloc(heap, 64, (size_t)1 << 63, &offset), -ENOMEM);
    ck_assert_int_eq(stp_heap_resize(heap, 0, SIZE_MAX), -ENOMEM);
    ck_assert_int_eq(stp_heap_resize(heap, 0, SIZE_MAX - 63), -ENOMEM);
    ck_assert_int_eq(stp_heap_free(heap, SIZE_MAX), -EINVAL);

    heap = heap_new(SIZE_MAX);
    check_empty(heap, top);
    ck_assert_int_eq(stp_heap_alloc(heap, SIZE_MAX, 1, &offset), -ENOMEM);
    ck_assert_uint_eq(alloc_ok(heap, 1, 1), 0);
    ck_assert_uint_eq(alloc_ok(heap, 1, (size_t)1 << 63), (size_t)1 << 63);
    ck_assert_int_eq(stp_heap_alloc(heap, 1, (size_t)1 << 63, &offset), -ENOMEM);
    free_ok(heap, (size_t)1 << 63);
    ck_assert_uint_eq(alloc_ok(heap, top - STP_HEAP_ALIGN, 1), STP_HEAP_ALIGN);
    free_ok(heap, 0);
    free_ok(heap, STP_HEAP_ALIGN);
    check_empty(heap, top);
}

TEST(alignment_gives_the_gap_back)
{
    struct stp_heap *heap = heap_new(MIB);

    ck_assert_uint_eq(alloc_ok(heap, 1, 1), 0);
    ck_assert_uint_eq(alloc_ok(heap, 100, 4096), 4096);
    ck_assert_uint_eq(stats_of(heap).used, 64 + 128);
    ck_assert_uint_eq(alloc_ok(heap, 4096 - 64, 1), 64);
    for (size_t align = 1; align <= 64 * KIB; align *= 2)
        ck_assert_uint_eq(alloc_ok(heap, 3, align) % align, 0);
}

/* The whole heap is aligned to anything at offset 0: no room for a gap may be demanded. */
TEST(alignment_without_room_for_a_gap)
{
    struct stp_heap *heap = heap_new(8 * MIB);

    ck_assert_uint_eq(alloc_ok(heap, 8 * MIB, 2 * MIB), 0);
    free_ok(heap, 0);
    ck_assert_uint_eq(alloc_ok(heap, 64, 1), 0);
    ck_assert_uint_eq(alloc_ok(heap, 6 * MIB, 2 * MIB), 2 * MIB);
}

/* Only one of many free blocks of nearly equal sizes fits. */
TEST(fit_among_nearly_equal)
{
    enum { N = 20 };
    const size_t size = 1024 * STP_HEAP_ALIGN;
    struct stp_heap *heap = heap_new(N * 2 * size);
    size_t offsets[N];
    size_t offset;

    for (int i = 0; i < N; i++) {
        offsets[i] = alloc_ok(heap, size + (size_t)(N - i) * STP_HEAP_ALIGN, 1);
        alloc_ok(heap, 1, 1);
    }
    alloc_ok(heap, stats_of(heap).largest_free, 1);
    for (int i = 0; i < N; i++)
        free_ok(heap, offsets[i]);
    ck_assert_uint_eq(stats_of(heap).largest_free, size + N * STP_HEAP_ALIGN);
    ck_assert_int_eq(stp_heap_alloc(heap, size + N * STP_HEAP_ALIGN + 1, 1, &offset), -ENOMEM);
    ck_assert_uint_eq(alloc_ok(heap, size + N * STP_HEAP_ALIGN, 1), offsets[0]);
}

TEST(lowest_offset_first)
{
    struct stp_heap *heap = heap_new(64 * KIB);
    const size_t sizes[] = {2 * KIB, KIB, 8 * KIB, KIB, KIB, KIB, 4 * KIB, KIB};
    size_t offsets[8];

    for (int i = 0; i < 8; i++)
        offsets[i] = alloc_ok(heap, sizes[i], 1);
    for (int i = 6; i >= 0; i -= 2)
        free_ok(heap, offsets[i]);
    ck_assert_uint_eq(alloc_ok(heap, KIB, 1), offsets[0]);
    ck_assert_uint_eq(alloc_ok(heap, 4 * KIB, 1), offsets[2]);
    ck_assert_uint_eq(alloc_ok(heap, KIB, 1), offsets[0] + KIB);
    ck_assert_uint_eq(alloc_ok(heap, 5 * KIB, 1), offsets[7] + KIB);
}

TEST(free_what_is_not_a_block)
{
    struct stp_heap *heap = heap_new(MIB);
    size_t a = alloc_ok(heap, 1000, 1);
    size_t b = alloc_ok(heap, 1000, 1);

    ck_assert_int_eq(stp_heap_free(heap, a + 64), -EINVAL);
    ck_assert_int_eq(stp_heap_free(heap, a + 1), -EINVAL);
    ck_assert_int_eq(stp_heap_free(heap, b + 1024), -EINVAL);
    ck_assert_int_eq(stp_heap_free(heap, MIB), -EINVAL);
    free_ok(heap, a);
    ck_assert_int_eq(stp_heap_free(heap, a), -EINVAL);
    free_ok(heap, b);
    ck_assert_int_eq(stp_heap_free(heap, b), -EINVAL);
    ck_assert_int_eq(stp_heap_resize(heap, b, 5), -EINVAL);
    check_empty(heap, MIB);
}

TEST(neighbours_join)
{
    struct stp_heap *heap = heap_new(4 * KIB);
    size_t a = alloc_ok(heap, KIB, 1);
    size_t b = alloc_ok(heap, KIB, 1);
    size_t c = alloc_ok(heap, KIB, 1);
    size_t d = alloc_ok(heap, KIB, 1);

    free_ok(heap, a);
    free_ok(heap, c);
    ck_assert_uint_eq(stats_of(heap).largest_free, KIB);
    free_ok(heap, b); /* with the one before and the one behind */
    ck_assert_uint_eq(stats_of(heap).largest_free, 3 * KIB);
    free_ok(heap, d);
    check_empty(heap, 4 * KIB);
}

TEST(find_offsets_inside)
{
    struct stp_heap *heap = heap_new(MIB);
    size_t start = 9;
    size_t nbytes = 9;
    size_t a = alloc_ok(heap, 100, 1);
    size_t b = alloc_ok(heap, 128, 1);

    ck_assert_int_eq(stp_heap_find(heap, a + 99, &start, &nbytes), 0);
    ck_assert_uint_eq(start, a);
    ck_assert_uint_eq(nbytes, 100);
    ck_assert_int_eq(stp_heap_find(heap, a + 100, &start, &nbytes), -ENOENT);
    ck_assert_uint_eq(start, a);
    ck_assert_int_eq(stp_heap_find(heap, b, &start, &nbytes), 0);
    ck_assert_uint_eq(start, b);
    ck_assert_int_eq(stp_heap_find(heap, b + 128, &start, &nbytes), -ENOENT);
    free_ok(heap, b);
    ck_assert_int_eq(stp_heap_find(heap, b, &start, &nbytes), -ENOENT);
    ck_assert_int_eq(stp_heap_find(heap, SIZE_MAX, &start, &nbytes), -ENOENT);
}

static int resize(struct stp_heap *heap, size_t offset, size_t nbytes)
{
    int rc = stp_heap_resize(heap, offset, nbytes);

    ck_assert_int_eq(heap_verify(heap), 0);
    return rc;
}

static size_t asked_at(struct stp_heap *heap, size_t offset)
{
    size_t start;
    size_t nbytes;

    ck_assert_int_eq(stp_heap_find(heap, offset, &start, &nbytes), 0);
    ck_assert_uint_eq(start, offset);
    return nbytes;
}

TEST(resize_in_place)
{
    struct stp_heap *heap = heap_new(8 * KIB);
    size_t a = alloc_ok(heap, KIB, 1);
    size_t b = alloc_ok(heap, KIB, 1);

    ck_assert_int_eq(resize(heap, a, KIB - 1), 0); /* the same granules */
    ck_assert_uint_eq(asked_at(heap, a), KIB - 1);
    ck_assert_int_eq(resize(heap, a, KIB + 1), -ENOMEM); /* b is in the way */
    ck_assert_uint_eq(asked_at(heap, a), KIB - 1);
    ck_assert_int_eq(resize(heap, a, 65), 0); /* the tail becomes free */
    ck_assert_uint_eq(stats_of(heap).used, 128 + KIB);
    ck_assert_int_eq(resize(heap, a, 500), 0); /* and is taken back in part */
    ck_assert_uint_eq(stats_of(heap).used, 512 + KIB);
    ck_assert_int_eq(resize(heap, a, KIB), 0); /* and exactly */
    ck_assert_int_eq(resize(heap, b, 7 * KIB), 0);
    ck_assert_uint_eq(stats_of(heap).largest_free, 0);
    ck_assert_int_eq(resize(heap, b, 7 * KIB + 1), -ENOMEM);
    ck_assert_int_eq(resize(heap, b, 1), 0);
    ck_assert_uint_eq(stats_of(heap).largest_free, 7 * KIB - 64);
    ck_assert_int_eq(resize(heap, b + 64, 1), -EINVAL);
    free_ok(heap, a);
    free_ok(heap, b);
    check_empty(heap, 8 * KIB);
}

/* Many blocks, made and freed in order, which is what makes a careless tree a list. */
TEST(many_blocks)
{
    enum { N = 50000 };
    struct stp_heap *heap = heap_new((size_t)N * STP_HEAP_ALIGN);
    size_t offset;
    size_t nbytes;

    for (size_t i = 0; i < N; i++)
        ck_assert_int_eq(stp_heap_alloc(heap, 1 + i % STP_HEAP_ALIGN, 1, &offset), 0);
    for (size_t i = 0; i < N; i++) {
        ck_assert_int_eq(stp_heap_find(heap, i * STP_HEAP_ALIGN, &offset, &nbytes), 0);
        ck_assert_uint_eq(nbytes, 1 + i % STP_HEAP_ALIGN);
    }
    ck_assert_int_eq(heap_verify(heap), 0);
    for (size_t i = N; i-- > 0;)
        ck_assert_int_eq(stp_heap_free(heap, i * STP_HEAP_ALIGN), 0);
    ck_assert_int_eq(heap_verify(heap), 0);
    check_empty(heap, (size_t)N * STP_HEAP_ALIGN);
}

/* As if it had been allocated: at both ends, in the middle, and not over what lives. */
TEST(reserve)
{
    const size_t size = 100 * STP_HEAP_ALIGN;
    struct stp_heap *heap = heap_new(size);
    size_t start, nbytes;

    ck_assert_int_eq(stp_heap_reserve(heap, 50 * STP_HEAP_ALIGN, 100), 0);
    ck_assert_int_eq(stp_heap_reserve(heap, 0, STP_HEAP_ALIGN), 0);
    ck_assert_int_eq(stp_heap_reserve(heap, 99 * STP_HEAP_ALIGN, 1), 0);
    ck_assert_int_eq(heap_verify(heap), 0);
    ck_assert_uint_eq(stats_of(heap).n_blocks, 3);
    ck_assert_uint_eq(stats_of(heap).used, 4 * STP_HEAP_ALIGN);
    ck_assert_int_eq(stp_heap_find(heap, 51 * STP_HEAP_ALIGN, &start, &nbytes), 0);
    ck_assert_uint_eq(start, 50 * STP_HEAP_ALIGN);
    ck_assert_uint_eq(nbytes, 100);
    ck_assert_int_eq(stp_heap_reserve(heap, 51 * STP_HEAP_ALIGN, 1), -EEXIST);
    ck_assert_int_eq(stp_heap_reserve(heap, 40 * STP_HEAP_ALIGN, 11 * STP_HEAP_ALIGN), -EEXIST);
    ck_assert_int_eq(stp_heap_reserve(heap, 8, 1), -EINVAL);
    ck_assert_int_eq(stp_heap_reserve(heap, size, 1), -EINVAL);
    ck_assert_int_eq(stp_heap_reserve(heap, 98 * STP_HEAP_ALIGN, SIZE_MAX), -EINVAL);
    ck_assert_int_eq(stp_heap_reserve(heap, STP_HEAP_ALIGN, 0), -EINVAL);
    ck_assert_uint_eq(alloc_ok(heap, 49 * STP_HEAP_ALIGN, 1), STP_HEAP_ALIGN);
    ck_assert_uint_eq(alloc_ok(heap, 47 * STP_HEAP_ALIGN, 1), 52 * STP_HEAP_ALIGN);
    ck_assert_int_eq(heap_verify(heap), 0);
    for (size_t i = 0; i < 4; i++)
        free_ok(heap, (const size_t[]){1, 50, 52, 99}[i] * STP_HEAP_ALIGN);
    free_ok(heap, 0);
    check_empty(heap, size);
}

TEST(growth)
{
    struct stp_heap *heap = heap_new(MIB);
    size_t offset;

    ck_assert_uint_eq(stp_heap_size_needed(heap, MIB, 1), 0);
    ck_assert_uint_eq(alloc_ok(heap, MIB, 1), 0);
    ck_assert_uint_eq(stp_heap_size_needed(heap, 100, 1), MIB + 128);
    ck_assert_uint_eq(stp_heap_size_needed(heap, 100, 64 * KIB), MIB + 128);
    ck_assert_uint_eq(stp_heap_size_needed(heap, 100, 4 * MIB), 4 * MIB + 128);
    ck_assert_uint_eq(stp_heap_size_to_extend_block(heap, 0, 2 * MIB), 2 * MIB);
    ck_assert_uint_eq(stp_heap_size_to_extend_block(heap, 64, 2 * MIB), SIZE_MAX);
    /* behind a live block: a block of its own */
    ck_assert_int_eq(stp_heap_grow(heap, 2 * MIB + 63), 0);
    ck_assert_int_eq(heap_verify(heap), 0);
    ck_assert_uint_eq(stats_of(heap).size, 2 * MIB);
    ck_assert_uint_eq(stats_of(heap).largest_free, MIB);
    /* behind a free one: joined with it */
    ck_assert_uint_eq(stp_heap_size_needed(heap, 2 * MIB, 1), 3 * MIB);
    ck_assert_int_eq(stp_heap_grow(heap, 3 * MIB), 0);
    ck_assert_int_eq(heap_verify(heap), 0);
    ck_assert_uint_eq(alloc_ok(heap, 2 * MIB, 1), MIB);
    ck_assert_uint_eq(stp_heap_size_to_extend_block(heap, 0, 4 * MIB),
                      SIZE_MAX); /* one is behind it */
    ck_assert_int_eq(stp_heap_grow(heap, 3 * MIB), 0);
    ck_assert_int_eq(stp_heap_grow(heap, 2 * MIB), -EINVAL);
    ck_assert_uint_eq(stp_heap_size_needed(heap, SIZE_MAX, 1), SIZE_MAX);
    ck_assert_uint_eq(stp_heap_size_needed(heap, SIZE_MAX - 4 * MIB, 1),
                      SIZE_MAX - 4 * MIB + 3 * MIB + 1);
    ck_assert_uint_eq(stp_heap_size_needed(heap, 1, (size_t)1 << 63), ((size_t)1 << 63) + 64);
    free_ok(heap, 0);
    free_ok(heap, MIB);
    check_empty(heap, 3 * MIB);

    heap = heap_new(0);
    ck_assert_int_eq(stp_heap_reserve_record(heap), 0);
    ck_assert_uint_eq(stp_heap_size_needed(heap, 1, 1), 64);
    ck_assert_int_eq(stp_heap_grow(heap, 64), 0);
    ck_assert_uint_eq(alloc_ok(heap, 64, 1), 0);
    ck_assert_int_eq(stp_heap_alloc(heap, 1, 1, &offset), -ENOMEM);
}

/* What was found before is found after, and a live block is not cut where the heap ended. */
TEST(growth_keeps_what_was_found)
{
    struct stp_heap *heap = heap_new(MIB);
    size_t first = alloc_ok(heap, 1000, 1), start, nbytes;

    ck_assert_int_eq(stp_heap_find(heap, first + 999, &start, &nbytes), 0);
    ck_assert_int_eq(stp_heap_grow(heap, 8 * MIB), 0);
    ck_assert_int_eq(stp_heap_find(heap, first + 999, &start, &nbytes), 0);
    ck_assert_uint_eq(nbytes, 1000);
    ck_assert_int_eq(stp_heap_resize(heap, first, 5 * MIB), 0);
    ck_assert_int_eq(stp_heap_find(heap, 5 * MIB - 1, &start, &nbytes), 0);
    ck_assert_uint_eq(start, first);
    ck_assert_int_eq(heap_verify(heap), 0);
}
