/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs each family of operations (RMA, atomics, signals, collectives, locks) on a block of
 * PE_REACH_N longs and on a block of the heap. The owner reads the results with plain loads, so
 * the block must be host memory. Collective over the world; at most PE_REACH_MAX_PES PEs.
 */
#ifndef STEPPE_TEST_PE_REACH_H
#define STEPPE_TEST_PE_REACH_H

#include "pe_spaces.h"

#include <shmemx.h>

enum { PE_REACH_N = 40000, PE_REACH_MAX_PES = 16 };

static inline void pe_reach_fill(long *block, long salt)
{
    for (long i = 0; i < PE_REACH_N; i++)
        block[i] = salt * 1000000 + i;
}

static inline void pe_reach_expect(const long *block, long salt, long n, const char *what)
{
    PE_CHECK_EACH(long, i, n, block[i] == salt * 1000000 + i, "%s: word %ld is %ld, expected %ld",
                  what, i, block[i], salt * 1000000 + i);
}

/* Between the block, the heap and private memory. */
static inline void pe_reach_rma(long *block, long *heap, const char *what)
{
    long *own = malloc(PE_REACH_N * sizeof(*own));
    static const long odd[] = {1, 3, 700, PE_REACH_N};

    pe_reach_fill(own, pe_me);
    memset(block, 0, PE_REACH_N * sizeof(*block));
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        shmem_barrier_all();
        shmem_long_put(block, own, (size_t)odd[i], pe_right());
        shmem_barrier_all();
        pe_reach_expect(block, pe_left(), odd[i], what);
    }
    memset(own, 0, PE_REACH_N * sizeof(*own));
    shmem_long_get(own, block, PE_REACH_N, pe_right());
    pe_reach_expect(own, pe_me, PE_REACH_N, what);
    memset(heap, 0, PE_REACH_N * sizeof(*heap));
    shmem_barrier_all();
    shmem_long_put_nbi(heap, block, PE_REACH_N, pe_right());
    shmem_barrier_all();
    pe_reach_expect(heap, (pe_left() + pe_n - 1) % pe_n, PE_REACH_N, what);
    shmem_long_get_nbi(own, block, PE_REACH_N, pe_left());
    shmem_quiet();
    pe_reach_expect(own, (pe_left() + pe_n - 1) % pe_n, PE_REACH_N, what);
    shmem_barrier_all();
    pe_reach_fill(own, pe_me);
    memset(block, 0, 1000 * sizeof(*block));
    shmem_barrier_all();
    shmem_long_iput(block + 1, own, 3, 2, 100, pe_right());
    shmem_short_p((short *)&block[900], (short)(77 + pe_me), pe_right());
    shmem_barrier_all();
    for (long i = 0; i < 100; i++)
        PE_CHECK_EQ(block[1 + 3 * i], 1000000L * pe_left() + 2 * i);
    PE_CHECK_EQ(block[2], 0);
    PE_CHECK_EQ(shmem_short_g((short *)&block[900], pe_right()), 77 + pe_me);
    shmem_long_iget(own, block + 1, 1, 3, 100, pe_right());
    PE_CHECK_EQ(own[99], 1000000L * pe_me + 198);
    free(own);
}

static inline void pe_reach_atomics(long *block, const char *what)
{
    int *word = (int *)&block[4];

    memset(block, 0, 100 * sizeof(*block));
    shmem_barrier_all();
    for (int i = 0; i < 30; i++)
        for (int pe = 0; pe < pe_n; pe++) {
            shmem_long_atomic_add(&block[1], i + 1, pe);
            shmem_int_atomic_inc(word, pe);
        }
    shmem_long_wait_until(&block[1], SHMEM_CMP_EQ, 465L * pe_n);
    shmem_barrier_all();
    PE_CHECK(*word == 30 * pe_n, "%s: the counter is %d after all increments, expected %d", what,
             *word, 30 * pe_n);
    PE_CHECK_EQ(shmem_long_atomic_fetch(&block[1], pe_right()), 465L * pe_n);
    PE_CHECK_EQ(shmem_long_atomic_swap(&block[2], 5, pe_right()), 0);
    PE_CHECK_EQ(shmem_long_atomic_compare_swap(&block[2], 5, 9 + pe_me, pe_right()), 5);
    PE_CHECK_EQ(shmem_ulong_atomic_fetch_or((unsigned long *)&block[3], 6, pe_right()), 0);
    shmem_barrier_all();
    PE_CHECK_EQ(block[2], 9 + pe_left());
    PE_CHECK_EQ(block[3], 6);
    shmem_barrier_all();
}

/* The signal in the block, the data there or in the heap, and the other way round. */
static inline void pe_reach_signals(long *block, long *heap, const char *what)
{
    static uint64_t global;
    uint64_t *in_block = (uint64_t *)&block[PE_REACH_N - 1];
    struct {
        long *data;
        uint64_t *word;
    } ways[] = {{block, in_block}, {heap, in_block}, {block, &global}};
    long *own = malloc(PE_REACH_N * sizeof(*own));

    for (int round = 1; round <= 20; round++)
        for (int i = 0; i < 3; i++) {
            long n = round % 2 ? PE_REACH_N - 2 : 2;

            *ways[i].word = 0;
            memset(ways[i].data, 0, (size_t)n * sizeof(long));
            pe_reach_fill(own, pe_me + 100L * round);
            shmem_barrier_all();
            if (round % 3)
                shmem_long_put_signal(ways[i].data, own, (size_t)n, ways[i].word, (uint64_t)round,
                                      SHMEM_SIGNAL_SET, pe_right());
            else
                shmem_long_put_signal_nbi(ways[i].data, own, (size_t)n, ways[i].word,
                                          (uint64_t)round, SHMEM_SIGNAL_ADD, pe_right());
            PE_CHECK_EQ(shmem_signal_wait_until(ways[i].word, SHMEM_CMP_EQ, (uint64_t)round),
                        round);
            pe_reach_expect(ways[i].data, pe_left() + 100L * round, n, what);
            shmem_barrier_all();
        }
    free(own);
}

static inline void pe_reach_collectives(long *block, long *heap, const char *what)
{
    long *second = block + PE_REACH_N / 2;
    long n = PE_REACH_N / 2 / PE_REACH_MAX_PES;

    for (long nelems = 3; nelems <= n; nelems += n - 3) {
        pe_reach_fill(block, pe_me);
        shmem_barrier_all();
        PE_CHECK_EQ(shmem_long_fcollect(SHMEM_TEAM_WORLD, second, block, (size_t)nelems), 0);
        for (int pe = 0; pe < pe_n; pe++)
            PE_CHECK_EQ(second[pe * nelems + nelems - 1], 1000000L * pe + nelems - 1);
        shmem_barrier_all();
        PE_CHECK_EQ(shmem_long_alltoall(SHMEM_TEAM_WORLD, second, block, (size_t)nelems), 0);
        for (int pe = 0; pe < pe_n; pe++)
            PE_CHECK_EQ(second[pe * nelems], 1000000L * pe + pe_me * nelems);
        shmem_barrier_all();
        PE_CHECK_EQ(shmem_long_collect(SHMEM_TEAM_WORLD, second, block, (size_t)(1 + pe_me)), 0);
        PE_CHECK_EQ(second[(pe_n - 1) * pe_n / 2], 1000000L * (pe_n - 1));
        shmem_barrier_all();
        PE_CHECK_EQ(shmem_long_broadcast(SHMEM_TEAM_WORLD, second, block, (size_t)nelems, pe_n - 1),
                    0);
        pe_reach_expect(second, pe_n - 1, nelems, what);
        shmem_barrier_all();
        PE_CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, second, block, (size_t)nelems), 0);
        for (long i = 0; i < nelems; i++)
            PE_CHECK_EQ(second[i], 1000000L * pe_n * (pe_n - 1) / 2 + pe_n * i);
        shmem_barrier_all();
        PE_CHECK_EQ(shmem_long_max_reduce(SHMEM_TEAM_WORLD, heap, block, (size_t)nelems), 0);
        PE_CHECK_EQ(heap[nelems - 1], 1000000L * (pe_n - 1) + nelems - 1);
        shmem_barrier_all();
        PE_CHECK_EQ(shmem_long_max_reduce(SHMEM_TEAM_WORLD, second, heap, (size_t)nelems), 0);
        PE_CHECK_EQ(second[nelems - 1], 1000000L * (pe_n - 1) + nelems - 1);
        shmem_barrier_all();
    }
}

/* A counter that a lock of the block guards. */
static inline void pe_reach_lock(long *block)
{
    long *lock = &block[10], *counter = &block[20];

    *lock = *counter = 0;
    shmem_barrier_all();
    for (int i = 0; i < 10; i++) {
        shmem_set_lock(lock);
        shmem_long_p(counter, shmem_long_g(counter, 0) + 1, 0);
        shmem_quiet();
        shmem_clear_lock(lock);
    }
    shmem_barrier_all();
    if (pe_me == 0) PE_CHECK_EQ(*counter, 10L * pe_n);
    shmem_barrier_all();
}

/* All of it on PE_REACH_N longs, block and heap. */
static inline void pe_reach_all(long *block, long *heap, const char *what)
{
    pe_reach_rma(block, heap, what);
    pe_reach_atomics(block, what);
    pe_reach_signals(block, heap, what);
    pe_reach_collectives(block, heap, what);
    pe_reach_lock(block);
}

#endif
