/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares random use of the heap's allocator with a model that is too simple to be wrong: a sorted
 * list of live blocks. CTest runs the program as unit.heap_random with the seeds 1 to 12. Most
 * failures name their seed, and STEPPE_TEST_SEED=n runs seed n alone.
 */
#include "heap_verify.h"
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB ((size_t)1024)
#define MIB (KIB * KIB)

static struct stp_heap *heap_new(size_t size)
{
    struct stp_heap *heap = NULL;

    ck_assert_int_eq(stp_heap_create(size, &heap), 0);
    return heap;
}

#define MAX_LIVE 300

/* The model: live blocks in order of offset. */
struct model {
    size_t size;
    int n_refused; /* allocations */
    int n_resized;
    int n_grown;
    int n;
    struct live {
        size_t offset;
        size_t asked;
    } live[MAX_LIVE];
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t rounded(size_t nbytes)
{
    return (nbytes + STP_HEAP_ALIGN - 1) / STP_HEAP_ALIGN * STP_HEAP_ALIGN;
}

static size_t model_end(const struct model *model, int i)
{
    return i < 0 ? 0 : model->live[i].offset + rounded(model->live[i].asked);
}

/* Start of live block i, the heap's end behind the last. */
static size_t model_start(const struct model *model, int i)
{
    return i < model->n ? model->live[i].offset : model->size;
}

static bool model_fits(const struct model *model, size_t nbytes, size_t align)
{
    for (int i = -1; i < model->n; i++) {
        size_t at = (model_end(model, i) + align - 1) / align * align;

        if (at + rounded(nbytes) <= model_start(model, i + 1)) return true;
    }
    return false;
}

static void model_add(struct model *model, size_t offset, size_t asked, uint64_t seed)
{
    int i = 0;

    while (i < model->n && model->live[i].offset < offset)
        i++;
    if (offset < model_end(model, i - 1) || offset + rounded(asked) > model_start(model, i))
        ck_abort_msg("seed %llu: the new block at offset %zu of %zu bytes overlaps a live block",
                     (unsigned long long)seed, offset, asked);
    memmove(&model->live[i + 1], &model->live[i], (size_t)(model->n - i) * sizeof(struct live));
    model->live[i] = (struct live){offset, asked};
    model->n++;
}

static void model_remove(struct model *model, int i)
{
    model->n--;
    memmove(&model->live[i], &model->live[i + 1], (size_t)(model->n - i) * sizeof(struct live));
}

static void model_compare(const struct model *model, struct stp_heap *heap, uint64_t seed)
{
    struct stp_heap_stats stats;
    size_t used = 0;
    size_t largest = 0;

    stp_heap_stats(heap, &stats);
    for (int i = -1; i < model->n; i++) {
        size_t gap = model_start(model, i + 1) - model_end(model, i);

        if (gap > largest) largest = gap;
        if (i >= 0) used += rounded(model->live[i].asked);
    }
    if (heap_verify(heap) != 0 || stats.used != used || stats.largest_free != largest ||
        stats.n_blocks != (size_t)model->n)
        ck_abort_msg(
            "seed %llu: the heap's records are damaged, or its sums differ from the model's",
            (unsigned long long)seed);
}

static size_t random_size(uint64_t *state, size_t heap_size)
{
    uint64_t r = next_random(state);

    switch (r % 4) {
    case 0:
        return 1 + (r >> 8) % 200;
    case 1:
        return 1 + (r >> 8) % (4 * KIB);
    case 2:
        return 64 * (1 + (r >> 8) % 64);
    default:
        return 1 + (r >> 8) % (heap_size / 8);
    }
}

/* What did not fit does when the heap has the size that it lacks, and not with a granule less. */
static void step_grow(struct model *model, struct stp_heap *heap, size_t nbytes, size_t align,
                      uint64_t seed)
{
    size_t size = stp_heap_size_needed(heap, nbytes, align), offset;

    ck_assert_uint_gt(size, model->size);
    ck_assert_int_eq(stp_heap_reserve_record(heap), 0);
    ck_assert_int_eq(stp_heap_grow(heap, size - STP_HEAP_ALIGN), 0);
    model->size = size - STP_HEAP_ALIGN;
    model_compare(model, heap, seed);
    ck_assert_int_eq(stp_heap_alloc(heap, nbytes, align, &offset), -ENOMEM);
    ck_assert_int_eq(stp_heap_grow(heap, size), 0);
    model->size = size;
    model_compare(model, heap, seed);
    ck_assert_int_eq(stp_heap_alloc(heap, nbytes, align, &offset), 0);
    ck_assert_uint_eq(offset, size - rounded(nbytes));
    model_add(model, offset, nbytes, seed);
    model->n_grown++;
}

static void step_alloc(struct model *model, struct stp_heap *heap, uint64_t *state, uint64_t seed)
{
    size_t nbytes = random_size(state, model->size);
    uint64_t r = next_random(state);
    size_t align = r % 3 != 0 ? 1 : (size_t)64 << (r >> 8) % 11;
    size_t offset;
    bool fits = model_fits(model, nbytes, align < 64 ? 64 : align);
    size_t lack = stp_heap_size_needed(heap, nbytes, align);
    int rc = stp_heap_alloc(heap, nbytes, align, &offset);

    if ((lack == 0) != fits)
        ck_abort_msg(
            "seed %llu: size_needed(%zu, %zu) returned %zu; expected 0 if the block fits: %d",
            (unsigned long long)seed, nbytes, align, lack, fits);
    if (rc != (fits ? 0 : -ENOMEM))
        ck_abort_msg("seed %llu: alloc(%zu, %zu) returned %d; in the model it fits: %d",
                     (unsigned long long)seed, nbytes, align, rc, fits);
    if (rc != 0 && model->n_refused++ % 8 == 7) {
        step_grow(model, heap, nbytes, align, seed);
    } else if (rc == 0) {
        ck_assert_uint_eq(offset % (align < 64 ? 64 : align), 0);
        model_add(model, offset, nbytes, seed);
    }
}

static void step_resize(struct model *model, struct stp_heap *heap, uint64_t *state, uint64_t seed)
{
    int i = (int)(next_random(state) % (unsigned)model->n);
    size_t nbytes = random_size(state, model->size);
    size_t room = model_start(model, i + 1) - model->live[i].offset;
    size_t lack = stp_heap_size_to_extend_block(heap, model->live[i].offset, nbytes);
    int rc = stp_heap_resize(heap, model->live[i].offset, nbytes);

    if (lack != (i == model->n - 1 ? model->live[i].offset + rounded(nbytes) : SIZE_MAX))
        ck_abort_msg(
            "seed %llu: size_to_extend_block of block %d of %d at %zu returned %zu for %zu bytes",
            (unsigned long long)seed, i, model->n, model->live[i].offset, lack, nbytes);

    if (rc != (rounded(nbytes) <= room ? 0 : -ENOMEM))
        ck_abort_msg("seed %llu: resize to %zu bytes returned %d, and the model has room for %zu",
                     (unsigned long long)seed, nbytes, rc, room);
    if (rc == 0) {
        model->live[i].asked = nbytes;
        model->n_resized++;
    }
}

static void step_find(const struct model *model, struct stp_heap *heap, uint64_t *state,
                      uint64_t seed)
{
    size_t offset = next_random(state) % model->size;
    size_t start;
    size_t nbytes;
    int want = -ENOENT;
    int rc = stp_heap_find(heap, offset, &start, &nbytes);

    for (int i = 0; i < model->n; i++) {
        const struct live *live = &model->live[i];

        if (offset < live->offset || offset - live->offset >= live->asked) continue;
        want = 0;
        if (rc != 0 || start != live->offset || nbytes != live->asked) want = 1;
    }
    if (rc != want)
        ck_abort_msg("seed %llu: find(%zu) returned %d or a block that differs from the model's",
                     (unsigned long long)seed, offset, rc);
}

/* Phases of growing and shrinking, so that the heap runs full and empties again. */
static void random_run(uint64_t seed, int n_steps)
{
    struct model model = {.size = 256 * KIB};
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    struct stp_heap *heap = heap_new(model.size);

    for (int step = 0; step < n_steps; step++) {
        unsigned grow = step / 400 % 2 == 0 ? 60 : 25;
        unsigned dice = next_random(&state) % 100;

        if (model.n == 0 || (dice < grow && model.n < MAX_LIVE)) {
            step_alloc(&model, heap, &state, seed);
        } else if (dice < 85) {
            int i = (int)(next_random(&state) % (unsigned)model.n);

            ck_assert_int_eq(stp_heap_free(heap, model.live[i].offset), 0);
            model_remove(&model, i);
        } else {
            step_resize(&model, heap, &state, seed);
        }
        step_find(&model, heap, &state, seed);
        model_compare(&model, heap, seed);
    }
    /* A run that never filled the heap or never grew a block would have shown little. */
    ck_assert_int_gt(model.n_refused, 0);
    ck_assert_int_gt(model.n_resized, 0);
    ck_assert_int_gt(model.n_grown, 0);
    while (model.n > 0) {
        ck_assert_int_eq(stp_heap_free(heap, model.live[0].offset), 0);
        model_remove(&model, 0);
        model_compare(&model, heap, seed);
    }
    stp_heap_destroy(heap);
}

TEST(random_against_model)
{
    const char *wanted = getenv("STEPPE_TEST_SEED");

    if (wanted) {
        printf("seed %s\n", wanted);
        random_run(strtoull(wanted, NULL, 10), 3000);
        return;
    }
    for (uint64_t seed = 1; seed <= 12; seed++)
        random_run(seed, 3000);
}

/* PEs must agree on every offset without a word: the same calls give the same answers. */
TEST(equal_calls_equal_offsets)
{
    struct stp_heap *heaps[2] = {heap_new(MIB), NULL};
    uint64_t state = 4711;
    size_t live[64] = {0};
    void *noise = malloc(12345); /* other addresses for the second heap's records */

    heaps[1] = heap_new(MIB);
    for (int step = 0; step < 5000; step++) {
        size_t slot = next_random(&state) % 64;
        size_t nbytes = random_size(&state, MIB);
        size_t got[2] = {0, 0};

        for (int i = 0; i < 2; i++) {
            if (live[slot] != 0)
                ck_assert_int_eq(stp_heap_free(heaps[i], live[slot] - 1), 0);
            else if (stp_heap_alloc(heaps[i], nbytes, 1, &got[i]) == 0)
                got[i]++;
        }
        ck_assert_uint_eq(got[0], got[1]);
        live[slot] = got[0];
    }
    free(noise);
    stp_heap_destroy(heaps[0]);
    stp_heap_destroy(heaps[1]);
}
