/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long it takes to find the space of an address. Raw: a binary search of as many ranges in the
 * loop itself.
 */
#include "../spaces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOKUPS 4096 /* addresses in a row: more than a branch predictor keeps in mind */

static struct {
    void *address[LOOKUPS];
    uintptr_t *base; /* of all spaces, rising: for the raw side */
    int n;
} lookup;

static uint64_t lookup_random(void)
{
    static uint64_t state = 88172645463325252u;

    state ^= state << 13; /* xorshift64 */
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int lookup_compare(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

    return (x > y) - (x < y);
}

enum lookup_order { LOOKUP_RANDOM, LOOKUP_TURN, LOOKUP_SAME };

static int lookup_next(enum lookup_order order, int last)
{
    int n = bench_n_spaces;

    if (order == LOOKUP_SAME || n == 1) return n / 2;
    if (order == LOOKUP_TURN) return (last + 1) % n;
    return (last + 1 + (int)(lookup_random() % (uint64_t)(n - 1))) % n; /* any but the last */
}

static void lookup_fill(enum lookup_order order, size_t block)
{
    int at = 0;

    for (int i = 0; i < LOOKUPS; i++) {
        at = lookup_next(order, at);
        lookup.address[i] = bench_spaces[at].memory + lookup_random() % block;
    }
}

/* Every address is found in the space it was taken from: what is wrong is not timed. */
static bool lookup_is_right(void)
{
    for (int k = 0; k < bench_n_spaces; k++) {
        shmem_space_t found = SHMEM_SPACE_INVALID;

        if (shmem_get_space(bench_spaces[k].memory, &found) != 0) return false;
        if (found != bench_spaces[k].space) return false;
    }
    return true;
}

static int lookup_open(struct bench_run *run, enum lookup_order order, char *why, size_t len)
{
    int status;

    free(lookup.base); /* of the bench before */
    lookup.base = calloc((size_t)run->n_many, sizeof(*lookup.base));
    if (bench_worst(lookup.base == NULL) != 0) {
        snprintf(why, len, "no memory for %d addresses", run->n_many);
        return -ENOMEM;
    }
    status = bench_spaces_prepare(run, run->n_many, run->n_many, why, len);
    if (status != 0) return status;
    lookup.n = bench_n_spaces;
    for (int k = 0; k < lookup.n; k++)
        lookup.base[k] = (uintptr_t)bench_spaces[k].memory;
    qsort(lookup.base, (size_t)lookup.n, sizeof(*lookup.base), lookup_compare);
    lookup_fill(order, 4096);
    if (bench_worst(!lookup_is_right()) == 0) return 0;
    bench_die(run, "shmem_get_space finds another space than the one an address is from");
}

static int open_random(struct bench_run *run, const struct bench *bench, char *why, size_t len)
{
    (void)bench;
    return lookup_open(run, LOOKUP_RANDOM, why, len);
}

static int open_turn(struct bench_run *run, const struct bench *bench, char *why, size_t len)
{
    (void)bench;
    return lookup_open(run, LOOKUP_TURN, why, len);
}

static int open_same(struct bench_run *run, const struct bench *bench, char *why, size_t len)
{
    (void)bench;
    return lookup_open(run, LOOKUP_SAME, why, len);
}

static void lookup_space(struct bench_run *run, uint64_t n_ops)
{
    shmem_space_t found;

    (void)run;
    for (uint64_t i = 0; i < n_ops; i++) {
        (void)shmem_get_space(lookup.address[i % LOOKUPS], &found);
        bench_touch();
    }
}

/* What a program without a library might do that knows the ranges. */
static void raw_lookup(struct bench_run *run, uint64_t n_ops)
{
    volatile int found;

    (void)run;
    for (uint64_t i = 0; i < n_ops; i++) {
        uintptr_t address = (uintptr_t)lookup.address[i % LOOKUPS];
        int low = 0, high = lookup.n;

        while (low < high) {
            int mid = (low + high) / 2;

            if (lookup.base[mid] <= address)
                low = mid + 1;
            else
                high = mid;
        }
        found = low - 1;
    }
    (void)found;
}

#define LOOKUP(bench_name, order, opens)                                                           \
    {                                                                                              \
        .name = bench_name, .group = "spaces",                                                     \
        .what = "shmem_get_space, " order "; raw: a binary search of as many ranges",              \
        .metric = BENCH_LATENCY, .shape = BENCH_ALONE, .min_ops = 1000, .in_spaces = true,         \
        .open = opens, .close = bench_spaces_close, .steppe = {lookup_space, NULL}, .node = {      \
            raw_lookup,                                                                            \
            NULL                                                                                   \
        }                                                                                          \
    }

static const struct bench rows[] = {
    LOOKUP("space-lookup", "another space every time, at random", open_random),
    LOOKUP("space-lookup-turn", "the spaces in turn", open_turn),
    LOOKUP("space-lookup-same", "the same space every time", open_same),
};
BENCH_LIST(bench_list_space_lookup, rows);
