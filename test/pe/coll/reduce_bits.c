/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that double sums whose value depends on the order of the terms have the same bits on all
 * members, in place and not. The sizes are on both sides of the limits at which the algorithm
 * changes. Does not check the values of the sums.
 */
#include "pe_test.h"

#include <stdint.h>
#include <string.h>

enum { MOST = 70001 };

static double source[MOST], again[MOST], sum[MOST], first[MOST];

/* Numbers of one member, of very different size. */
static void fill(double *into, size_t n)
{
    uint64_t state = (uint64_t)pe_me * 7919 + n;

    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        into[i] = ((double)(state >> 11) / 9e15 - 0.5) * (double)(1 + state % 1000);
    }
}

static void check(size_t n)
{
    fill(source, n);
    fill(again, n);
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sum, source, n);
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, again, again, n);
    PE_CHECK(memcmp(sum, again, n * sizeof(*sum)) == 0,
             "double sum of %zu elements: the result in place differs in bits from the result in "
             "another array",
             n);
    shmem_double_broadcast(SHMEM_TEAM_WORLD, first, sum, n, 0);
    PE_CHECK(memcmp(sum, first, n * sizeof(*sum)) == 0,
             "double sum of %zu elements: the result differs in bits from that of PE 0", n);
    shmem_sync_all();
}

int main(void)
{
    static const size_t sizes[] = {1, 3, 32, 48, 49, 700, 2049, 8193, 16383, 16391, MOST};

    pe_test_begin();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        check(sizes[i]);
    return pe_test_end();
}
