/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks large reductions and broadcasts after half a million small broadcasts. Words that belong
 * to other kinds of collectives have then not been sent for longer than the low bits, which travel
 * with the data, can distinguish.
 */
#include "pe_test.h"

enum { SMALL = (1 << 19) + 100, WORDS = 4096 };

static long source[WORDS], dest[WORDS], one, other;

static void check(const char *what, long factor, long sum)
{
    PE_CHECK_EACH(long, i, WORDS, dest[i] == factor * i + sum,
                  "%s after many broadcasts: a wrong value %ld at element %ld", what, dest[i], i);
}

int main(void)
{
    pe_test_begin();
    for (long i = 0; i < SMALL; i++) {
        one = i;
        shmem_long_broadcast(SHMEM_TEAM_WORLD, &other, &one, 1, 0);
        if (!PE_CHECK(other == i,
                      "broadcast %ld delivered %ld, expected the number of the broadcast", i,
                      other))
            break;
    }
    shmem_barrier_all();
    for (long i = 0; i < WORDS; i++)
        source[i] = pe_me + i;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, WORDS);
    check("reduce", pe_n, pe_n * (pe_n - 1L) / 2);
    shmem_barrier_all();
    shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, WORDS, pe_n - 1);
    check("broadcast", 1, pe_n - 1);
    return pe_test_end();
}
