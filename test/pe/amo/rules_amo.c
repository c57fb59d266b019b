/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks atomics rule by rule (OpenSHMEM 1.6, section 9.7; rules R107, R115-R126 and R269 of
 * docs/reference/conformance.md): completion and order, nonblocking fetches, the order of
 * arguments, wrap-around, bit patterns of floating-point values, and mixtures of types and domains
 * that the standard leaves open. Heavy contention is in amo.c, all types are in typed_amo.c.
 */
#include "pe_table.h"

#include <limits.h>

enum { SLOTS = 64, TIMES = 50 };

static long globals[SLOTS];
static long *heap; /* SLOTS words */

static void clear_cells(void)
{
    memset(globals, 0, sizeof(globals));
    memset(heap, 0, SLOTS * sizeof(*heap));
    shmem_barrier_all();
}

/* Every way to move or change data takes this PE itself for a target. */
static void check_self_target(void)
{
    static long near_cells[8];
    static uint64_t signal;
    long got[4] = {0};

    signal = 0;
    clear_cells();
    shmem_long_put(&globals[0], (const long[]){1, 2}, 2, pe_me);
    shmem_long_put_nbi(&heap[0], (const long[]){3}, 1, pe_me);
    shmem_long_p(&globals[2], 4, pe_me);
    shmem_long_iput(&heap[2], (const long[]){5, 6, 7}, 2, 1, 3, pe_me);
    shmem_long_ibput(near_cells, (const long[]){8, 9, 10, 11}, 4, 2, 2, 2, pe_me);
    shmem_long_put_signal(&globals[3], (const long[]){12}, 1, &signal, 1, SHMEM_SIGNAL_ADD, pe_me);
    shmem_long_atomic_add(&heap[8], 13, pe_me);
    shmem_signal_add(&signal, 1, pe_me);
    shmem_quiet();
    shmem_long_get(got, globals, 2, pe_me);
    shmem_long_iget(&got[2], &heap[2], 1, 2, 2, pe_me);
    PE_CHECK(got[0] == 1 && got[1] == 2 && got[2] == 5 && got[3] == 6,
             "get or iget of this PE from itself returned other values than its puts had stored");
    PE_CHECK(heap[0] == 3 && globals[2] == 4 && heap[6] == 7 && heap[8] == 13,
             "put_nbi, p, iput or atomic_add of this PE to itself stored a wrong value");
    PE_CHECK(near_cells[0] == 8 && near_cells[1] == 9 && near_cells[4] == 10 &&
                 near_cells[5] == 11 && near_cells[2] == 0,
             "ibput of this PE to itself stored a wrong value or changed a gap");
    PE_CHECK(globals[3] == 12 && signal == 2,
             "put_signal or signal_add of this PE to itself: wrong data, or the signal is not 2");
    PE_CHECK_EQ(shmem_long_g(&heap[8], pe_me), 13);
    PE_CHECK_EQ(shmem_long_atomic_fetch(&heap[8], pe_me), 13);
}

/*
 * The standard promises exclusivity for one type only. In Steppe it goes by width: int beside
 * int32_t, long beside long long, size_t beside uint64_t lose nothing.
 */
static void check_same_width(void)
{
    static int narrow;
    static size_t wide;

    narrow = 0;
    wide = 0;
    shmem_barrier_all();
    for (int i = 0; i < TIMES; i++) {
        if ((i + pe_me) % 2) {
            shmem_int_atomic_inc(&narrow, 0);
            shmem_size_atomic_fetch_add(&wide, 3, 0);
        } else {
            shmem_int32_atomic_add((int32_t *)&narrow, 1, 0);
            shmem_longlong_atomic_add((long long *)&wide, 3, 0);
        }
        shmem_uint64_atomic_fetch_inc((uint64_t *)&wide, 0);
    }
    shmem_barrier_all();
    if (pe_me == 0) {
        PE_CHECK_EQ(narrow, TIMES * pe_n);
        PE_CHECK_EQ(wide, 4 * TIMES * pe_n);
    }
}

/* Contexts of the world, of a split of it and of a split of the split are one domain. */
static void check_domain_of_world(void)
{
    static long total;
    shmem_team_t half = SHMEM_TEAM_INVALID, quarter = SHMEM_TEAM_INVALID;
    shmem_ctx_t ctx[2] = {SHMEM_CTX_INVALID, SHMEM_CTX_INVALID};

    total = 0;
    PE_REQUIRE(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe_n, NULL, 0, &half) == 0 &&
                   shmem_team_split_strided(half, 0, 1, pe_n, NULL, 0, &quarter) == 0 &&
                   shmem_team_create_ctx(half, 0, &ctx[0]) == 0 &&
                   shmem_team_create_ctx(quarter, 0, &ctx[1]) == 0,
               "splitting the world twice or creating contexts on the splits failed");
    for (int i = 0; i < TIMES; i++) {
        shmem_long_atomic_inc(&total, 0);
        shmem_ctx_long_atomic_add(ctx[i % 2], &total, 1, 0);
        shmem_ctx_long_atomic_fetch_inc(ctx[(i + 1) % 2], &total, 0);
    }
    shmem_ctx_destroy(ctx[0]);
    shmem_ctx_destroy(ctx[1]);
    shmem_barrier_all();
    if (pe_me == 0) PE_CHECK_EQ(total, 3 * TIMES * pe_n);
    shmem_team_destroy(quarter);
    shmem_team_destroy(half);
}

/* The shared team is another domain by the standard; in Steppe the two may be mixed. */
static void check_domain_of_shared(void)
{
    static unsigned int total;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    int mates = shmem_team_n_pes(SHMEM_TEAM_SHARED);

    total = 0;
    PE_REQUIRE(shmem_team_create_ctx(SHMEM_TEAM_SHARED, 0, &ctx) == 0,
               "shmem_team_create_ctx on SHMEM_TEAM_SHARED failed");
    shmem_barrier_all();
    for (int i = 0; i < TIMES; i++) {
        for (int mate = 0; mate < mates; mate++)
            shmem_ctx_uint_atomic_inc(ctx, &total, mate);
        for (int pe = 0; pe < pe_n; pe++)
            shmem_uint_atomic_add(&total, 1, pe);
    }
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
    PE_CHECK_EQ(total, TIMES * (mates + pe_n));
}

/* A wait on the word that others count up by atomics sees whole values, in their order. */
static void check_wait_among(void)
{
    static uint64_t word;
    uint64_t step = UINT64_C(1) << 32 | 1, seen = 0;

    word = 0;
    shmem_barrier_all();
    for (int i = 0; i < TIMES; i++)
        shmem_uint64_atomic_add(&word, step, pe_right());
    while (seen < TIMES * step) {
        uint64_t now;

        shmem_uint64_wait_until(&word, SHMEM_CMP_GT, seen);
        now = shmem_uint64_atomic_fetch(&word, pe_me);
        if (!PE_CHECK(
                now > seen && now >> 32 == (now & UINT32_MAX),
                "a word that atomics count up is %016lx after %016lx, expected a larger value with "
                "equal halves",
                now, seen))
            break;
        PE_CHECK_EQ(shmem_uint64_test(&word, SHMEM_CMP_GE, now), 1);
        seen = now;
    }
}

/* What fetches has the old value on return; what does not is done after quiet, after barrier. */
static void check_completion(void)
{
    clear_cells();
    for (long i = 0; i < TIMES; i++) {
        PE_CHECK_EQ(shmem_long_atomic_fetch_add(&heap[0], 2, pe_right()), 2 * i);
        PE_CHECK_EQ(shmem_long_atomic_swap(&heap[1], i + 1, pe_right()), i);
        shmem_long_atomic_inc(&globals[0], pe_right());
        shmem_long_atomic_set(&globals[1], i + 1, pe_right());
        shmem_quiet();
        PE_CHECK_EQ(shmem_long_g(&globals[0], pe_right()), i + 1);
        PE_CHECK_EQ(shmem_long_g(&globals[1], pe_right()), i + 1);
        shmem_long_atomic_add(&globals[2], 3, pe_right());
        shmem_barrier_all();
        PE_CHECK(globals[2] == 3 * (i + 1),
                 "round %ld: a word is %ld after the barrier, which did not complete an atomic_add",
                 i, globals[2]);
        shmem_barrier_all();
    }
}

/* Fence orders them: whoever sees the second sees the first. */
static void check_fence(void)
{
    static long last;
    long ack;

    last = 0;
    clear_cells();
    for (long i = 1; i <= TIMES; i++) {
        for (int k = 0; k < SLOTS; k++)
            shmem_long_atomic_add(&heap[k], 1, pe_right());
        shmem_fence();
        shmem_long_atomic_set(&last, i, pe_right());
        shmem_long_wait_until(&last, SHMEM_CMP_GE, i);
        PE_CHECK_EACH(
            int, k, SLOTS, heap[k] >= i,
            "slot %d is %ld, but the atomic_set after fence %ld has arrived: fence did not order "
            "the add",
            k, heap[k], i);
        ack = shmem_long_atomic_fetch_inc(&globals[0], pe_left());
        PE_CHECK(ack < i,
                 "this PE had already acknowledged %ld times in round %ld, expected fewer than the "
                 "number of the round",
                 ack, i);
    }
}

/* To oneself without fetching: there for loads after quiet. */
static void check_self_quiet(void)
{
    static int word;
    static uint64_t bits;

    for (int i = 1; i <= TIMES; i++) {
        word = 0;
        bits = UINT64_C(1) << 63;
        shmem_int_atomic_add(&word, i, pe_me);
        shmem_int_atomic_inc(&word, pe_me);
        shmem_uint64_atomic_or(&bits, (uint64_t)i, pe_me);
        shmem_quiet();
        PE_CHECK_EQ(word, i + 1);
        PE_CHECK(bits == (UINT64_C(1) << 63 | (uint64_t)i),
                 "atomic_or to itself and quiet: the word is %016lx, which lacks or has extra bits",
                 bits);
        shmem_int_atomic_set(&word, -i, pe_me);
        shmem_quiet();
        PE_CHECK_EQ(word, -i);
    }
}

/* Results of nonblocking fetches, into memory of all kinds, stand after the context's quiet. */
static void check_nbi_results(shmem_ctx_t ctx)
{
    enum { N = 200 };
    static long in_global[N];
    long on_stack[N], *in_malloc = pe_private(N * sizeof(long)), *into[3];
    bool seen[3 * N] = {false};

    into[0] = on_stack;
    into[1] = in_malloc;
    into[2] = in_global;
    for (int i = 0; i < N; i++)
        on_stack[i] = in_malloc[i] = in_global[i] = -1;
    clear_cells();
    for (int i = 0; i < 3 * N; i++)
        shmem_ctx_long_atomic_fetch_inc_nbi(ctx, &into[i % 3][i / 3], &globals[5], pe_right());
    shmem_ctx_quiet(ctx);
    for (int i = 0; i < 3 * N; i++) {
        long ticket = into[i % 3][i / 3];

        if (!PE_CHECK(ticket >= 0 && ticket < 3 * N && !seen[ticket],
                      "fetch_inc_nbi: the result after quiet is %ld, which is out of range or was "
                      "returned before",
                      ticket))
            break;
        seen[ticket] = true;
    }
    PE_CHECK_EQ(shmem_long_g(&globals[5], pe_right()), 3 * N);
    shmem_barrier_all();
    free(in_malloc);
}

static void check_nbi(void)
{
    shmem_ctx_t ctx = pe_ctx(0);

    check_nbi_results(SHMEM_CTX_DEFAULT);
    check_nbi_results(ctx);
    shmem_ctx_destroy(ctx);
}

/* Their updates, unlike what they fetch, are ordered by a fence. */
static void check_nbi_fence(void)
{
    static long flag;
    long old[TIMES][2];

    flag = 0;
    clear_cells();
    for (long i = 1; i <= TIMES; i++) {
        shmem_long_atomic_fetch_add_nbi(&old[i - 1][0], &heap[0], 1, pe_right());
        shmem_long_atomic_swap_nbi(&old[i - 1][1], &globals[0], i, pe_right());
        shmem_fence();
        shmem_long_p(&flag, i, pe_right());
        shmem_long_wait_until(&flag, SHMEM_CMP_GE, i);
        PE_CHECK(
            heap[0] >= i && globals[0] >= i,
            "round %ld: the flag came before nonblocking atomics that a fence ordered: words are "
            "%ld and %ld",
            i, heap[0], globals[0]);
    }
    shmem_quiet();
    for (long i = 0; i < TIMES; i++)
        PE_CHECK(old[i][0] == i && old[i][1] == i,
                 "nonblocking atomics fetched %ld and %ld, expected %ld twice", old[i][0],
                 old[i][1], i);
}

/* Quiet of a context and quiet towards a PE complete them as quiet does. */
static void check_pe_quiet(void)
{
    int right = pe_right();
    shmem_ctx_t ctx = pe_ctx(0);

    clear_cells();
    for (long i = 1; i <= 10; i++) {
        long old = -1, swapped = -1;

        shmem_long_atomic_fetch_inc_nbi(&old, &heap[0], right);
        shmem_long_atomic_add(&heap[1], 2, right);
        shmem_pe_quiet(&right, 1);
        shmem_ctx_long_atomic_swap_nbi(ctx, &swapped, &heap[2], i, right);
        shmem_ctx_long_atomic_inc(ctx, &heap[3], right);
        shmem_ctx_pe_quiet(ctx, &right, 1);
        PE_CHECK(
            old == i - 1 && swapped == i - 1,
            "after pe_quiet, nonblocking atomics have fetched %ld and %ld in turn %ld, expected "
            "turn - 1",
            old, swapped, i);
        PE_CHECK(shmem_long_g(&heap[1], right) == 2 * i && shmem_long_g(&heap[3], right) == i,
                 "after pe_quiet, the atomic updates of turn %ld are not complete at the target",
                 i);
    }
    shmem_ctx_destroy(ctx);
}

/* (dest, cond, value, pe): swaps where cond is there, returns what was there in any case. */
static void check_compare_swap(void)
{
    int64_t got[2] = {-1, -1};
    static int64_t cell;

    cell = 5;
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_int64_atomic_compare_swap(&cell, 7, 5, pe_right()), 5); /* is not 7 */
    PE_CHECK_EQ(shmem_int64_atomic_fetch(&cell, pe_right()), 5);
    PE_CHECK_EQ(shmem_int64_atomic_compare_swap(&cell, 5, 7, pe_right()), 5);
    PE_CHECK_EQ(shmem_int64_atomic_fetch(&cell, pe_right()), 7);
    shmem_int64_atomic_compare_swap_nbi(&got[0], &cell, 9, 7, pe_right()); /* is not 9 */
    shmem_quiet();
    shmem_int64_atomic_compare_swap_nbi(&got[1], &cell, 7, INT64_MIN, pe_right());
    shmem_quiet();
    PE_CHECK(got[0] == 7 && got[1] == 7,
             "compare_swap_nbi: the old values after quiet are %ld and %ld, expected 7 and 7",
             got[0], got[1]);
    shmem_barrier_all();
    PE_CHECK(cell == INT64_MIN, "the cell is %ld after compare_swap_nbi, expected INT64_MIN", cell);
}

static void check_float_bits_of(uint64_t bits)
{
    static double cell;
    static float narrow;
    double value, got;
    float small, old;
    uint32_t low = (uint32_t)(bits >> 32), got_low;
    uint64_t got_bits;

    memcpy(&value, &bits, sizeof(value));
    memcpy(&small, &low, sizeof(small));
    shmem_barrier_all();
    shmem_double_atomic_set(&cell, value, pe_right());
    shmem_float_atomic_set(&narrow, small, pe_right());
    shmem_quiet();
    got = shmem_double_atomic_swap(&cell, 1.0, pe_right());
    shmem_float_atomic_fetch_nbi(&old, &narrow, pe_right());
    shmem_quiet();
    memcpy(&got_bits, &got, sizeof(got));
    memcpy(&got_low, &old, sizeof(old));
    PE_CHECK(got_bits == bits,
             "double bits %016lx came back as %016lx after atomic_set and atomic_swap", bits,
             got_bits);
    PE_CHECK(got_low == low,
             "float bits %08x came back as %08x after atomic_set and atomic_fetch_nbi", low,
             got_low);
}

/* fetch, set and swap move floating values as they are: zeros with sign, infinities, NaNs. */
static void check_float_bits(void)
{
    static const uint64_t patterns[] = {
        0, UINT64_C(1) << 63, 0x7ff00000fff00000, 0x7ff8000012345678, 0xffffffffffffffff,
        1, 0x0000000100000001};

    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
        check_float_bits_of(patterns[i]);
}

/* Past the largest value comes the smallest, and the neighbours do not notice. */
static void check_wrap(void)
{
    static int cells[3];
    static long wide[3];
    static unsigned int counts[3];

    cells[0] = cells[2] = 1;
    cells[1] = INT_MAX;
    wide[0] = wide[2] = 1;
    wide[1] = LONG_MIN;
    counts[0] = counts[2] = 1;
    counts[1] = UINT_MAX;
    shmem_barrier_all();
    shmem_int_atomic_inc(&cells[1], pe_right());
    shmem_long_atomic_add(&wide[1], -1, pe_right());
    PE_CHECK(shmem_uint_atomic_fetch_inc(&counts[1], pe_right()) == UINT_MAX,
             "uint atomic_fetch_inc did not return the old value UINT_MAX");
    shmem_quiet();
    PE_CHECK_EQ(shmem_int_atomic_fetch_add(&cells[1], INT_MIN, pe_right()), INT_MIN);
    PE_CHECK_EQ(shmem_long_atomic_fetch_inc(&wide[1], pe_right()), LONG_MAX);
    shmem_barrier_all();
    PE_CHECK(cells[0] == 1 && cells[1] == 0 && cells[2] == 1,
             "int wrap-around: the word is %d, expected 0, or a neighbour of it changed", cells[1]);
    PE_CHECK(wide[0] == 1 && wide[1] == LONG_MIN && wide[2] == 1,
             "long wrap-around: the word is %ld, expected LONG_MIN, or a neighbour of it changed",
             wide[1]);
    PE_CHECK(counts[0] == 1 && counts[1] == 0 && counts[2] == 1,
             "unsigned int wrap-around: the word is %u, expected 0, or a neighbour of it changed",
             counts[1]);
}

static void check_heap_and_globals(void)
{
    static int64_t function_static;
    long *place[3] = {heap + 7, globals + 7, (long *)&function_static};

    function_static = 0;
    clear_cells();
    for (int i = 0; i < 3; i++)
        for (int pe = 0; pe < pe_n; pe++)
            shmem_long_atomic_add(place[i], pe_me + 1, pe);
    shmem_barrier_all();
    for (int i = 0; i < 3; i++)
        PE_CHECK_EQ(*place[i], pe_n * (pe_n + 1) / 2);
}

static const struct pe_rule rules[] = {
    {"R107 the caller itself is a target like any other", check_self_target},
    {"R115 types of one width are one in Steppe", check_same_width},
    {"R116 splits of the world are one domain", check_domain_of_world},
    {"R116 the shared team may be mixed in", check_domain_of_shared},
    {"R117 waits and tests are exclusive with atomics", check_wait_among},
    {"R119 fetched on return, complete at quiet and barrier", check_completion},
    {"R119 ordered by fence", check_fence},
    {"R120 to oneself, quiet, load", check_self_quiet},
    {"R121 nbi fetches stand after quiet", check_nbi},
    {"R121 nbi updates are ordered by fence", check_nbi_fence},
    {"R269 ctx_quiet and pe_quiet complete atomics", check_pe_quiet},
    {"R122 compare_swap: dest, cond, value", check_compare_swap},
    {"R123 fetch, set, swap of floating values", check_float_bits},
    {"R125 add and inc wrap", check_wrap},
    {"R126 heap, globals, statics", check_heap_and_globals},
};

int main(void)
{
    pe_test_begin();
    heap = pe_calloc(SLOTS, sizeof(*heap));
    PE_RULES_RUN(rules);
    return pe_test_end();
}
