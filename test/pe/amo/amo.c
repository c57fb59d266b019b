/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks atomics of all PEs on the same words (OpenSHMEM 1.6, section 9.7): no update is lost or
 * done twice, and neighbouring words keep their values. Counters are in the heap and in globals.
 * Rules R115, R121-R123, R125 and R126 of docs/reference/conformance.md. Other rules are in
 * rules_amo.c, all types in typed_amo.c.
 */
#include "pe_data.h"

#include <limits.h>

enum { MAX_EACH = 600 };

static int each; /* operations of a PE in a loop */

static long global_counter;

/* Every value of a counter is handed out exactly once. */
static void check_tickets(long *counter, const char *what)
{
    long total = (long)pe_n * each;
    int *seen = pe_calloc((size_t)total, sizeof(*seen));

    for (int host = 0; host<pe_n; host += pe_n> 1 ? pe_n - 1 : 1) {
        memset(seen, 0, (size_t)total * sizeof(*seen));
        *counter = 0;
        shmem_barrier_all();
        for (int i = 0; i < each; i++) {
            long ticket = i % 2 ? shmem_long_atomic_fetch_add(counter, 1, host)
                                : shmem_long_atomic_fetch_inc(counter, host);

            if (PE_CHECK(
                    ticket >= 0 && ticket < total,
                    "%s: fetch_add or fetch_inc returned %ld, expected 0 or more and less than %ld",
                    what, ticket, total))
                shmem_int_atomic_inc(&seen[ticket], host);
        }
        shmem_barrier_all();
        PE_CHECK_EQ(shmem_long_atomic_fetch(counter, host), total);
        for (long t = 0; pe_me == host && t < total; t++)
            PE_CHECK(seen[t] == 1, "%s: value %ld was returned %d times, expected once", what, t,
                     seen[t]);
        shmem_barrier_all();
    }
    shmem_free(seen);
}

/* A lock made of compare_swap guards a plain read-modify-write by get and put (R122). */
static void check_cswap_lock(void)
{
    enum { TURNS = 15 };
    static int lock;
    static long guarded[4];

    for (int i = 0; i < TURNS; i++) {
        long values[4];

        while (shmem_int_atomic_compare_swap(&lock, 0, pe_me + 1, 0) != 0)
            ;
        shmem_long_get(values, guarded, 4, pe_n - 1);
        for (int k = 0; k < 4; k++)
            values[k] += k + 1;
        shmem_long_put(guarded, values, 4, pe_n - 1);
        shmem_quiet();
        PE_CHECK_EQ(shmem_int_atomic_compare_swap(&lock, pe_me + 1, 0, 0), pe_me + 1);
    }
    shmem_barrier_all();
    for (int k = 0; pe_me == pe_n - 1 && k < 4; k++)
        PE_CHECK_EQ(guarded[k], (long)TURNS * pe_n * (k + 1));
}

/* Tokens swapped in and out of one cell: at the end each exists exactly once. */
static void check_swap_chain(void)
{
    unsigned long *cell = pe_calloc(1, sizeof(*cell));
    int *holder = pe_calloc((size_t)pe_n + 1, sizeof(*holder));
    unsigned long token = (unsigned long)pe_me + 1;

    for (int i = 0; i < each; i++)
        token = shmem_ulong_atomic_swap(cell, token, 0);
    PE_CHECK(token <= (unsigned long)pe_n,
             "swap returned %lu, which is larger than the number of PEs and was never stored",
             token);
    shmem_int_atomic_inc(&holder[token % ((unsigned long)pe_n + 1)], 0);
    shmem_barrier_all();
    if (pe_me == 0) {
        holder[*cell % ((unsigned long)pe_n + 1)]++;
        for (int t = 0; t <= pe_n; t++)
            PE_CHECK(holder[t] == 1, "token %d exists %d times after all swaps, expected once", t,
                     holder[t]);
    }
    shmem_barrier_all();
    shmem_free(holder);
    shmem_free(cell);
}

/* Each PE owns a bit: or sets it, xor flips it, and clears it; fetches see only own changes. */
static void check_bitwise(void)
{
    uint64_t *word = pe_calloc(1, sizeof(*word)), old;
    uint64_t bit = (uint64_t)1 << (pe_me * 7 % 64);
    unsigned int *narrow = pe_calloc(2, sizeof(*narrow));

    for (int i = 0; i < (each + 3) / 4; i++) {
        old = shmem_uint64_atomic_fetch_or(word, bit, 0);
        PE_CHECK((old & bit) == 0,
                 "fetch_or: this PE's bit %016lx is set in the old value %016lx, expected clear",
                 bit, old);
        old = shmem_uint64_atomic_fetch_xor(word, bit, 0);
        PE_CHECK((old & bit) != 0,
                 "fetch_xor: this PE's bit %016lx is clear in the old value %016lx, expected set",
                 bit, old);
        shmem_uint64_atomic_xor(word, bit, 0);
        shmem_fence(); /* without, nothing orders it before the next */
        old = shmem_uint64_atomic_fetch_and(word, ~bit, 0);
        PE_CHECK((old & bit) != 0,
                 "fetch_and: this PE's bit %016lx is clear in the old value %016lx, expected set",
                 bit, old);
    }
    shmem_uint64_atomic_or(word, bit, 0);
    shmem_uint_atomic_or(narrow, 1u << (pe_me % 32), 0);
    shmem_uint_atomic_xor(narrow, 0u, 0);
    shmem_uint_atomic_and(narrow, ~0u, 0);
    shmem_barrier_all();
    for (int pe = 0; pe_me == 0 && pe < pe_n; pe++) {
        PE_CHECK((*word >> (pe * 7 % 64) & 1) == 1,
                 "the bit of pe %d is clear in the 64-bit word after atomic_or, expected set", pe);
        PE_CHECK((narrow[0] >> (pe % 32) & 1) == 1,
                 "the bit of pe %d is clear in the 32-bit word after atomic_or, expected set", pe);
    }
    PE_CHECK_EQ(narrow[1], 0);
    shmem_barrier_all();
    shmem_free(narrow);
    shmem_free(word);
}

/* R123: float and double know set, fetch and swap; the sum of what is swapped is conserved. */
static void check_floating(void)
{
    double *d = pe_calloc(2, sizeof(*d)), mine = pe_me + 0.5;
    float *f = pe_calloc(2, sizeof(*f)), old;

    shmem_float_atomic_set(f, 1.5f + (float)pe_me, pe_right());
    shmem_double_atomic_set(&d[1], -2.25 * (pe_me + 1), pe_right());
    shmem_barrier_all();
    PE_CHECK(
        f[0] == 1.5f + (float)pe_left() && f[1] == 0,
        "float atomic_set by the left PE: the word and its neighbour are %g and %g, expected 1.5 + "
        "PE and 0",
        f[0], f[1]);
    PE_CHECK(d[1] == -2.25 * (pe_left() + 1),
             "double atomic_set by the left PE: the word is %g, expected -2.25 * (PE + 1)", d[1]);
    PE_CHECK(shmem_float_atomic_fetch(f, pe_right()) == 1.5f + (float)pe_me,
             "float atomic_fetch did not return the value that this PE had set");
    PE_CHECK(shmem_double_atomic_fetch(&d[1], pe_right()) == -2.25 * (pe_me + 1),
             "double atomic_fetch did not return the value that this PE had set");
    shmem_barrier_all();
    old = shmem_float_atomic_swap(f, 77.f, pe_right());
    PE_CHECK(old == 1.5f + (float)pe_me,
             "float atomic_swap returned %g, expected the value that this PE had set", old);
    for (int i = 0; i < (each + 3) / 4; i++)
        mine = shmem_double_atomic_swap(&d[0], mine, 0);
    d[1] = mine;
    shmem_barrier_all();
    if (pe_me == 0) {
        double sum = d[0], want = 0;

        for (int pe = 0; pe < pe_n; pe++) {
            sum += shmem_double_g(&d[1], pe);
            want += pe + 0.5;
        }
        PE_CHECK(sum == want,
                 "the doubles in the cell and on all PEs add up to %g after the swaps, expected %g",
                 sum, want);
    }
    shmem_barrier_all();
    shmem_free(f);
    shmem_free(d);
}

/* Adjacent words of 32 bits, each hammered by one op: no op spills into its neighbour. */
static void check_neighbours(void)
{
    int *cell = pe_calloc(4, sizeof(*cell));

    cell[1] = -1;
    cell[3] = INT_MAX - 10;
    shmem_barrier_all();
    for (int i = 0; i < each; i++) {
        shmem_int_atomic_add(&cell[0], -1, i % pe_n);
        shmem_int_atomic_inc(&cell[2], i % pe_n);
    }
    shmem_barrier_all();
    int visits = 0;
    for (int i = 0; i < each; i++)
        visits += i % pe_n == pe_me;
    PE_CHECK_EQ(cell[0], -visits * pe_n);
    PE_CHECK_EQ(cell[1], -1);
    PE_CHECK_EQ(cell[2], visits * pe_n);
    PE_CHECK_EQ(cell[3], INT_MAX - 10);
    shmem_barrier_all();
    shmem_int_atomic_add(&cell[3], 11, pe_right()); /* R125: wraps */
    shmem_int_atomic_add(&cell[1], 1, pe_right());
    shmem_barrier_all();
    PE_CHECK_EQ(cell[3], INT_MIN);
    PE_CHECK_EQ(cell[1], 0);
    PE_CHECK_EQ(cell[2], visits * pe_n);
    shmem_barrier_all();
    shmem_free(cell);
}

/* R121: nonblocking fetches are there after quiet; the updates happen once each. */
static void check_nbi(void)
{
    long *cell = pe_calloc(6, sizeof(*cell));
    int64_t *bits = pe_calloc(1, sizeof(*bits)), old_bits = -9;
    long old[6] = {-9, -9, -9, -9, -9, -9}, tickets[MAX_EACH];

    for (int i = 0; i < 5; i++)
        cell[i] = 10 * i + pe_me;
    *bits = 1;
    shmem_barrier_all();
    shmem_long_atomic_fetch_nbi(&old[0], &cell[0], pe_right());
    shmem_long_atomic_fetch_add_nbi(&old[1], &cell[1], 5, pe_right());
    shmem_long_atomic_fetch_inc_nbi(&old[2], &cell[2], pe_right());
    shmem_long_atomic_swap_nbi(&old[3], &cell[3], -3, pe_right());
    shmem_long_atomic_compare_swap_nbi(&old[4], &cell[4], 40 + pe_right(), -4, pe_right());
    shmem_int64_atomic_fetch_or_nbi(&old_bits, bits, 6, pe_right());
    for (int i = 0; i < each; i++)
        shmem_long_atomic_fetch_add_nbi(&tickets[i], &cell[5], 1, pe_right());
    shmem_quiet();
    for (int i = 0; i < 5; i++)
        PE_CHECK(
            old[i] == 10 * i + pe_right(),
            "nonblocking fetch %d: the result after quiet is %ld, expected the old value of the "
            "target",
            i, old[i]);
    PE_CHECK_EQ(old_bits, 1);
    for (int i = 0; i < each; i++)
        PE_CHECK(
            tickets[i] >= 0 && tickets[i] < each,
            "fetch_add_nbi: the result after quiet is %ld, expected 0 or more and less than the "
            "number of calls",
            tickets[i]);
    shmem_barrier_all();
    PE_CHECK(cell[0] == pe_me && cell[1] == 15 + pe_me && cell[2] == 21 + pe_me && cell[3] == -3 &&
                 cell[4] == -4 && cell[5] == each && *bits == 7,
             "nonblocking atomics: a target word does not have the value of exactly one update");
    shmem_barrier_all();
    shmem_free(bits);
    shmem_free(cell);
}

int main(void)
{
    long *heap_counter;

    pe_test_begin();
    each = pe_rounds(MAX_EACH);
    heap_counter = pe_calloc(1, sizeof(*heap_counter));
    check_tickets(heap_counter, "heap");
    check_tickets(&global_counter, "global"); /* R126 */
    check_cswap_lock();
    check_swap_chain();
    check_bitwise();
    check_floating();
    check_neighbours();
    check_nbi();
    return pe_test_end();
}
