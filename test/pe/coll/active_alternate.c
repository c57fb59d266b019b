/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks active-set collectives that alternate between two pSync arrays, with no other call between
 * them (OpenSHMEM 1.6, section 9.10; rules R193 and R198 of docs/reference/conformance.md). Each
 * call must deliver its own data although its buffers are those of the calls before and after it.
 * Runs each kind alone and a random mix of all kinds, from one root and from changing roots, over
 * three sets, while members are late at random.
 */
#include "pe_active.h"

#include <sched.h>

enum { CAPACITY = 131072, ROOTS_IN_TURN = -1 };

static long sync_pair[2][SHMEM_SYNC_SIZE];
static long work[2][CAPACITY / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long *buffers[2];
static uint64_t late; /* state of random numbers of this PE alone */

/* One call: dest and source are the buffers, in turn where swap is set. */
struct turn {
    const struct pe_set *set;
    int round, root;
    size_t n; /* longs in all of what a member gets */
    long *dest, *source;
    long *psync, *work;
};

/* Element i of what member rank has in this round. */
static long value(const struct turn *t, int rank, size_t i)
{
    return (long)((uint64_t)(t->round + 1) << 40 | (uint64_t)rank << 32 | (i + 1));
}

static void fill(const struct turn *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        t->source[i] = value(t, t->set->rank, i);
}

/* n elements at dest are those of a member from `at` on. */
static bool expect(const struct turn *t, const char *call, const long *dest, int stride, int rank,
                   size_t at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        long got = dest[i * (size_t)stride], want = value(t, rank, at + i);
        if (!PE_CHECK(
                got == want,
                "round %d, %s over set %d, %d, %d: element %zu of %zu from member %d is 0x%lx, "
                "expected 0x%lx",
                t->round, call, PE_SET(t->set), i, n, rank, got, want))
            return false;
    }
    return true;
}

static void turn_broadcast(const struct turn *t)
{
    int root = t->root == ROOTS_IN_TURN ? t->round % t->set->size : t->root;

    fill(t, t->n);
    shmem_broadcast64(t->dest, t->source, t->n, root, PE_SET(t->set), t->psync);
    if (t->set->rank != root) expect(t, "broadcast64", t->dest, 1, root, 0, t->n);
}

/* Four bytes, or as many as there are. */
static void turn_broadcast32(const struct turn *t)
{
    int root = t->round % t->set->size;
    size_t n = 2 * t->n - 1;
    const unsigned *dest = (const unsigned *)t->dest;
    unsigned *source = (unsigned *)t->source;

    for (size_t i = 0; i < n; i++)
        source[i] = (unsigned)(t->round * 100000 + t->set->rank * 1000) + (unsigned)i;
    shmem_broadcast32(t->dest, t->source, n, root, PE_SET(t->set), t->psync);
    for (size_t i = 0; i < n && t->set->rank != root; i++)
        if (!PE_CHECK(
                dest[i] == (unsigned)(t->round * 100000 + root * 1000) + (unsigned)i,
                "round %d, broadcast32: element %zu of %zu is %u, which is not the root's value",
                t->round, i, n, dest[i]))
            break;
}

static void turn_fcollect(const struct turn *t)
{
    size_t n = t->n / (size_t)t->set->size + 1;

    fill(t, n);
    shmem_fcollect64(t->dest, t->source, n, PE_SET(t->set), t->psync);
    for (int k = 0; k < t->set->size; k++)
        if (!expect(t, "fcollect64", t->dest + (size_t)k * n, 1, k, 0, n)) return;
}

/* Members with odd numbers give one element less. */
static void turn_collect(const struct turn *t)
{
    size_t n = t->n / (size_t)t->set->size + 1, at = 0;

    fill(t, n);
    shmem_collect64(t->dest, t->source, n - (t->set->rank & 1), PE_SET(t->set), t->psync);
    for (int k = 0; k < t->set->size; k++) {
        if (!expect(t, "collect64", t->dest + at, 1, k, 0, n - (k & 1))) return;
        at += n - (k & 1);
    }
}

static void turn_alltoall(const struct turn *t)
{
    size_t n = t->n / (size_t)t->set->size + 1, size = (size_t)t->set->size;

    fill(t, n * size);
    shmem_alltoall64(t->dest, t->source, n, PE_SET(t->set), t->psync);
    for (size_t k = 0; k < size; k++)
        if (!expect(t, "alltoall64", t->dest + k * n, 1, (int)k, (size_t)t->set->rank * n, n))
            return;
}

static void turn_alltoalls(const struct turn *t)
{
    size_t n = t->n / (size_t)t->set->size / 8 + 1, size = (size_t)t->set->size;

    fill(t, n * size);
    shmem_alltoalls64(t->dest, t->source, 2, 1, n, PE_SET(t->set), t->psync);
    for (size_t k = 0; k < size; k++)
        if (!expect(t, "alltoalls64", t->dest + 2 * k * n, 2, (int)k, (size_t)t->set->rank * n, n))
            return;
}

static void turn_reduce(const struct turn *t)
{
    fill(t, t->n);
    shmem_long_max_to_all(t->dest, t->source, (int)t->n, PE_SET(t->set), t->work, t->psync);
    expect(t, "max_to_all", t->dest, 1, t->set->size - 1, 0, t->n);
}

static void (*const turns[])(const struct turn *t) = {
    turn_broadcast, turn_broadcast32, turn_fcollect, turn_collect,
    turn_alltoall,  turn_alltoalls,   turn_reduce,
};
enum { N_TURNS = sizeof(turns) / sizeof(turns[0]) };

/* Now and then a few microseconds, seldom the core, so that nobody is always first. */
static void be_late(void)
{
    if (pe_random_in(&late, 0, 3) > 0) return;
    for (size_t n = pe_random_in(&late, 1, 5000); n > 0; n--)
        atomic_signal_fence(memory_order_seq_cst);
    if (pe_random_in(&late, 0, 7) == 0) sched_yield();
}

static void rounds(const struct pe_set *set, int n_rounds, size_t n, int kind, int root, bool swap)
{
    uint64_t chance = 12345; /* the same on all members */

    for (int round = 0; round < n_rounds && set->rank >= 0; round++) {
        bool other = swap && round % 2;
        struct turn t = {set,
                         round,
                         root,
                         n,
                         buffers[other],
                         buffers[!other],
                         sync_pair[round % 2],
                         work[round % 2]};

        be_late();
        turns[kind < 0 ? (int)pe_random_in(&chance, 0, N_TURNS - 1) : kind](&t);
    }
    PE_CHECK_PSYNC(sync_pair[0], 2 * SHMEM_SYNC_SIZE, "calls in turn");
    shmem_barrier_all();
}

static void check_size(const struct pe_set *set, int n_rounds, size_t n)
{
    int first = n_rounds < 20 ? 0 : n_rounds / 4; /* calls of single kinds need no more */

    for (int root = ROOTS_IN_TURN; root<set->size; root += set->size> 2 ? set->size - 1 : 1)
        rounds(set, n_rounds, n, 0, root, false);
    for (int kind = 1; kind < N_TURNS; kind++)
        rounds(set, first > 0 ? first : n_rounds, n, kind, 0, false);
    rounds(set, n_rounds, n, -1, 0, false);
    rounds(set, n_rounds, n, -1, ROOTS_IN_TURN, true);
}

int main(void)
{
    struct pe_set all, odd, upper;

    pe_test_begin();
    late = 88172645463325252ull + (uint64_t)pe_me * 7919;
    pe_psync_init(sync_pair[0], 2 * SHMEM_SYNC_SIZE);
    for (int i = 0; i < 2; i++)
        buffers[i] = pe_malloc((CAPACITY + 1024) * sizeof(**buffers));
    shmem_barrier_all();
    all = pe_set(0, 0, pe_n);
    odd = pe_set(pe_n > 1, 1, pe_n > 1 ? pe_n / 2 : 1);
    upper = pe_set(pe_n > 3, 0, pe_n > 3 ? pe_n - 1 : pe_n);
    check_size(&all, pe_rounds(120), 1);
    check_size(&all, pe_rounds(120), 100);
    check_size(&upper, pe_rounds(40), 40);
    check_size(&upper, pe_rounds(80), 1000);
    check_size(&odd, pe_rounds(80), 1000);
    check_size(&all, pe_rounds(40), 8192);
    check_size(&all, 3, CAPACITY);
    return pe_test_end();
}
