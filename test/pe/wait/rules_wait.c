/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks waits and tests rule by rule (OpenSHMEM 1.6, section 9.11; rules R201-R203, R205-R207,
 * R209-R213, R215-R217 and R235 of docs/reference/conformance.md): which updates end a wait, what
 * is visible when it returns, progress of other PEs' operations during a wait, masks, empty sets,
 * and positions. Each type and comparison is in typed_wait.c.
 */
#include "pe_table.h"
#include "pe_wait.h"

#include <limits.h>

enum { N = 12, BLOCK = 100, TURNS = 3 };

static int words[N];
static long blocks[N][BLOCK];
static long acks;

static void clear_words(void)
{
    for (int i = 0; i < N; i++)
        words[i] = 0;
    acks = 0;
    shmem_barrier_all();
}

/* Each way to change the right neighbour's word; a put where no store reaches it. */
static void update(int way, int *word, int old, int value)
{
    int *there = shmem_ptr(word, pe_right());

    switch (way) {
    case 0:
        shmem_int_atomic_set(word, value, pe_right());
        break;
    case 1:
        shmem_int_atomic_add(word, value - old, pe_right());
        break;
    case 2:
        shmem_int_atomic_swap(word, value, pe_right());
        break;
    case 3:
        shmem_int_atomic_compare_swap(word, old, value, pe_right());
        break;
    case 4:
        shmem_int32_atomic_xor((int32_t *)word, old ^ value, pe_right());
        break;
    case 5:
        shmem_int_p(word, value, pe_right());
        break;
    case 6:
        shmem_int_put(word, &value, 1, pe_right());
        break;
    case 7:
        shmem_int_put_nbi(word, &value, 1, pe_right());
        break;
    case 8:
        shmem_int_iput(word, &value, 1, 1, 1, pe_right());
        break;
    case 9:
        shmem_putmem(word, &value, sizeof(value), pe_right());
        break;
    default:
        if (there != NULL)
            __atomic_store_n(there, value, __ATOMIC_RELEASE);
        else
            shmem_int_p(word, value, pe_right());
    }
    shmem_quiet();
}

static void check_updates(void)
{
    clear_words();
    for (int way = 0; way <= 10; way++) {
        update(way, &words[way % N], 0, 40 + way);
        shmem_int_wait_until(&words[way % N], SHMEM_CMP_EQ, 40 + way);
        PE_CHECK_EQ(shmem_int_test(&words[way % N], SHMEM_CMP_NE, 0), 1);
    }
    shmem_barrier_all();
}

/* The right neighbour's blocks first, then, behind a fence, the words that announce them. */
static void announce(int turn, int first)
{
    static long outbox[BLOCK];

    for (int i = 0; i < BLOCK; i++)
        outbox[i] = turn;
    for (int k = 0; k < N; k++)
        shmem_long_put(blocks[(first + k) % N], outbox, BLOCK, pe_right());
    shmem_fence();
    for (int k = 0; k < N; k++)
        shmem_int_atomic_set(&words[(first + k) % N], turn, pe_right());
}

static void block_is_here(int i, int turn, const char *form)
{
    PE_CHECK_EACH(int, k, BLOCK, blocks[i][k] == turn,
                  "%s: word %d was found before its data: the data are %ld, expected %d", form, i,
                  blocks[i][k], turn);
}

/* By this form wait for all words, and look at the data behind each the moment it is found. */
static void gather(enum wait_form form, int turn)
{
    int status[N] = {0}, wanted[N], found = 0;

    for (int i = 0; i < N; i++)
        wanted[i] = turn;
    while (found < N) {
        size_t indices[N];
        size_t n = wait_call(form, words, N, indices, status, SHMEM_CMP_EQ, turn, wanted);

        if (!PE_CHECK(n <= (size_t)(N - found), "%s returned %zu elements, more than are left",
                      wait_name[form], n))
            return;
        for (size_t k = 0; k < n; k++) {
            int i = (int)indices[k];

            if (!PE_CHECK(i >= 0 && i < N && status[i] == 0,
                          "%s returned index %d, which is out of range or masked", wait_name[form],
                          i))
                return;
            block_is_here(i, turn, wait_name[form]);
            status[i] = 1;
        }
        found += (int)n;
    }
}

static void check_acquire(void)
{
    int turn = 0;

    clear_words();
    for (int lap = 0; lap < TURNS; lap++)
        for (enum wait_form form = 0; form < WAIT_N_FORMS; form++) {
            turn++;
            announce(turn, lap + (int)form);
            gather(form, turn);
            shmem_long_atomic_set(&acks, turn, pe_left());
            shmem_long_wait_until(&acks, SHMEM_CMP_EQ, turn);
        }
}

/* The word goes back and forth between two values; a mixture of their halves is never seen. */
static void check_whole(void)
{
    static int64_t wide;
    int64_t one = INT64_C(1) << 32 | 1, two = one * 2;
    int64_t mixed[2] = {INT64_C(1) << 32 | 2, INT64_C(2) << 32 | 1};

    wide = one;
    shmem_barrier_all();
    for (int i = 0; i < 400; i++) {
        int64_t value = i % 2 ? one : two;

        if (i % 4 < 2)
            shmem_int64_p(&wide, value, pe_right());
        else
            shmem_int64_atomic_set(&wide, value, pe_right());
        for (int k = 0; k < 2; k++) {
            PE_CHECK(shmem_int64_test(&wide, SHMEM_CMP_EQ, mixed[k]) == 0,
                     "a test is true for %016lx, a mixture of two values", mixed[k]);
            PE_CHECK(shmem_int64_test_any(&wide, 1, NULL, SHMEM_CMP_EQ, mixed[k]) == SIZE_MAX,
                     "a test is true for %016lx, a mixture of two values", mixed[k]);
        }
    }
    shmem_barrier_all();
}

enum serving {
    SERVE_WAIT_UNTIL = WAIT_N_FORMS,
    SERVE_TEST,
    SERVE_SIGNAL_WAIT_UNTIL,
    SERVE_SIGNAL_FETCH,
    SERVE_SET_LOCK,
    SERVE_TEST_LOCK
};

static uint64_t served_signal;
static long served_locks[8];             /* kept by different PEs */
static long *served_lock = served_locks; /* held by the last PE until the end of the wait */

/* Return when the last PE has said `turn`: by a form of pe_wait.h, or by one of those above. */
static void wait_by(int way, int turn)
{
    size_t indices[1];

    switch (way) {
    case SERVE_WAIT_UNTIL:
        shmem_int_wait_until(words, SHMEM_CMP_EQ, turn);
        break;
    case SERVE_TEST:
        while (!shmem_int_test(words, SHMEM_CMP_EQ, turn))
            ;
        break;
    case SERVE_SIGNAL_WAIT_UNTIL:
        shmem_signal_wait_until(&served_signal, SHMEM_CMP_EQ, (uint64_t)turn);
        break;
    case SERVE_SIGNAL_FETCH:
        while (shmem_signal_fetch(&served_signal) != (uint64_t)turn)
            ;
        break;
    case SERVE_SET_LOCK:
        shmem_set_lock(served_lock);
        shmem_clear_lock(served_lock);
        break;
    case SERVE_TEST_LOCK:
        while (shmem_test_lock(served_lock))
            ;
        shmem_clear_lock(served_lock);
        break;
    default:
        while (wait_call((enum wait_form)way, words, 1, indices, NULL, SHMEM_CMP_EQ, turn, &turn) ==
               0)
            ;
    }
}

/*
 * PE 0 waits in this way and does nothing else; the last PE reads, changes and writes PE 0's
 * memory, needs each answer for the next step, and only then ends the wait.
 */
static void serve(int way)
{
    static long cells[8];
    static int turn;

    cells[0] = ++turn;
    if (pe_me == pe_n - 1 && pe_n > 1) shmem_set_lock(served_lock);
    shmem_barrier_all();
    if (pe_me == 0 && pe_n > 1) {
        wait_by(way, turn);
        PE_CHECK_EQ(cells[1], 2 * turn + 1);
    } else if (pe_me == pe_n - 1 && pe_n > 1) {
        long got = shmem_long_g(&cells[0], 0);

        PE_CHECK_EQ(got, turn);
        PE_CHECK_EQ(shmem_long_atomic_fetch_add(&cells[0], got, 0), turn);
        shmem_long_get(&got, &cells[0], 1, 0);
        shmem_long_p(&cells[1], got + 1, 0);
        shmem_quiet();
        shmem_int_atomic_set(&words[0], turn, 0);
        shmem_signal_set(&served_signal, (uint64_t)turn, 0);
        shmem_clear_lock(served_lock);
    }
    shmem_barrier_all();
}

static void check_serves(void)
{
    clear_words();
    for (int way = 0; way < SERVE_SET_LOCK; way++)
        serve(way);
    for (size_t i = 0; i < sizeof(served_locks) / sizeof(served_locks[0]); i++) {
        served_lock = &served_locks[i];
        serve(SERVE_SET_LOCK);
        serve(SERVE_TEST_LOCK);
    }
}

/* Nonzero is out, whatever the number; the marks lie where nobody may write. */
static void check_status(void)
{
    static const int marks[N] = {0, 1,       -1,      256,     INT_MIN, 0x10000,
                                 0, INT_MAX, 1 << 24, 1 << 31, 2,       0};
    int wanted[N];
    size_t indices[N];

    for (int i = 0; i < N; i++) {
        words[i] = marks[i] == 0 ? 7 : 6;
        wanted[i] = 7;
    }
    for (enum wait_form form = 0; form < WAIT_N_FORMS; form++) {
        size_t n = wait_call(form, words, N, indices, marks, SHMEM_CMP_EQ, 7, wanted);

        PE_CHECK(n > 0, "%s found no element, expected the unmasked ones that satisfy",
                 wait_name[form]);
        for (size_t k = 0; k < n; k++)
            PE_CHECK(indices[k] < N && marks[indices[k]] == 0,
                     "%s returned index %zu, which is out of range or masked", wait_name[form],
                     indices[k]);
        if (wait_is_any(form)) continue;
        PE_CHECK(n == 3, "%s found %zu elements, expected 3", wait_name[form], n);
    }
    for (int i = 0; i < N; i++)
        words[i] = marks[i] == 0 ? 6 : 7; /* the other way round: only those left out hold */
    for (enum wait_form form = WAIT_TESTS; form < WAIT_N_FORMS; form++)
        PE_CHECK(wait_call(form, words, N, indices, marks, SHMEM_CMP_EQ, 7, wanted) == 0,
                 "%s found an element that the mask excludes", wait_name[form]);
    shmem_barrier_all();
}

/* Nothing to wait for: no array, an array of none, all left out. At once, with these results. */
static void check_empty(void)
{
    static const int out[N] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -1}, in[N];
    int values[N] = {0};
    size_t indices[N];
    const struct {
        int *ivars;
        size_t n, *indices;
        const int *status;
        const int *values;
    } sets[] = {{NULL, 0, NULL, NULL, NULL},
                {words, 0, indices, in, values},
                {NULL, 0, indices, out, values},
                {words, N, indices, out, values}};

    clear_words();
    for (size_t s = 0; s < sizeof(sets) / sizeof(sets[0]); s++)
        for (enum wait_form form = 0; form < WAIT_N_FORMS; form++) {
            size_t got = wait_raw(form, sets[s].ivars, sets[s].n, sets[s].indices, sets[s].status,
                                  SHMEM_CMP_GT, 5, sets[s].values);

            PE_CHECK(got == wait_empty(form),
                     "%s of empty set %zu returned %zd, which is not the result for no elements",
                     wait_name[form], s, (ssize_t)got);
        }
    shmem_barrier_all();
}

/* some: every element is looked at in one call; unique positions, as many as hold. */
static void check_some(void)
{
    int wanted[N];

    for (int i = 0; i < N; i++)
        wanted[i] = 3;
    clear_words();
    for (unsigned set = 1; set < 1u << N; set = set * 3 + 1) {
        for (int i = 0; i < N; i++)
            words[i] = set >> i & 1 ? 3 : 0;
        for (enum wait_form form = 0; form < WAIT_N_FORMS; form++) {
            size_t indices[N], n;
            unsigned got = 0;

            if (!wait_is_some(form)) continue;
            n = wait_call(form, words, N, indices, NULL, SHMEM_CMP_EQ, 3, wanted);
            for (size_t k = 0; k < n && k < N; k++)
                got |= 1u << indices[k];
            PE_CHECK(n == (size_t)__builtin_popcount(set) && got == set,
                     "%s returned %zu positions, as bits 0x%x, expected 0x%x", wait_name[form], n,
                     got, set);
        }
    }
    shmem_barrier_all();
}

/* Blocks until one is there: the last one, after a while. */
static void check_some_blocks(void)
{
    clear_words();
    for (int turn = 1; turn <= 6; turn++) {
        size_t indices[N], n;

        pe_dawdle(20 * pe_me);
        shmem_int_atomic_set(&words[N - 1], turn, pe_right());
        n = shmem_int_wait_until_some(words, N, indices, NULL, SHMEM_CMP_GE, turn);
        PE_CHECK(n == 1 && indices[0] == N - 1,
                 "wait_until_some returned %zu elements, expected only the last word", n);
        shmem_barrier_all();
    }
}

/* None holds: SIZE_MAX from any, 0 from some and from all, also when all but one hold. */
static void check_tests_of_none(void)
{
    int values[N];

    for (int i = 0; i < N; i++) {
        words[i] = i;
        values[i] = i + 1;
    }
    PE_CHECK(shmem_int_test_any(words, N, NULL, SHMEM_CMP_LT, 0) == SIZE_MAX,
             "test_any when no element satisfies did not return SIZE_MAX");
    PE_CHECK(shmem_int_test_any_vector(words, N, NULL, SHMEM_CMP_EQ, values) == SIZE_MAX,
             "test_any_vector when no element satisfies did not return SIZE_MAX");
    PE_CHECK(shmem_int_test_some(words, N, (size_t[N]){0}, NULL, SHMEM_CMP_GE, N) == 0,
             "test_some when no element satisfies did not return 0");
    PE_CHECK(shmem_int_test_some_vector(words, N, (size_t[N]){0}, NULL, SHMEM_CMP_GE, values) == 0,
             "test_some_vector when no element satisfies did not return 0");
    PE_CHECK_EQ(shmem_int_test_all(words, N, NULL, SHMEM_CMP_GE, 1), 0);
    PE_CHECK_EQ(shmem_int_test_all(words, N, NULL, SHMEM_CMP_GE, 0), 1);
    values[3] = 3;
    PE_CHECK_EQ(shmem_int_test_all_vector(words, N, NULL, SHMEM_CMP_LT, values), 0);
    values[3] = 4;
    PE_CHECK_EQ(shmem_int_test_all_vector(words, N, NULL, SHMEM_CMP_LT, values), 1);
}

/* all: each has held, though never two of them at one time. */
static void check_not_at_once(void)
{
    static int done;
    int ones[2] = {1, 1};

    done = 0;
    clear_words();
    if (pe_n > 1 && pe_me == 0) {
        shmem_int_wait_until_all(words, 2, NULL, SHMEM_CMP_EQ, 1);
        shmem_int_wait_until_all_vector(words, 2, NULL, SHMEM_CMP_EQ, ones);
        shmem_int_atomic_set(&done, 1, pe_n - 1);
    } else if (pe_n > 1 && pe_me == pe_n - 1) {
        for (int i = 0; shmem_int_atomic_fetch(&done, pe_me) == 0; i++) {
            shmem_int_atomic_set(&words[i % 2], 1, 0);
            shmem_quiet();
            pe_dawdle(5);
            shmem_int_atomic_set(&words[i % 2], 0, 0);
            shmem_quiet();
        }
    }
    shmem_barrier_all();
}

/* vector: operand i belongs to element i, left out or not, and is the program's to keep. */
static void check_positions(void)
{
    static const int values[6] = {10, 20, 30, 40, 50, 60}, marks[6] = {1, 0, 1, 0, 0, 1};
    static const int shifted[6] = {20, 40, 50, 20, 40, 50}; /* as if those left out had no place */
    size_t indices[6];

    for (int i = 0; i < 6; i++)
        words[i] = marks[i] ? -1 : values[i];
    for (enum wait_form form = WAIT_VECTORS; form < WAIT_N_FORMS; form++) {
        size_t n;

        if (!wait_is_vector(form)) continue;
        n = wait_call(form, words, 6, indices, marks, SHMEM_CMP_EQ, 0, values);
        PE_CHECK(n == 3 || (wait_is_any(form) && n == 1),
                 "%s returned %zu elements, more than are left", wait_name[form], n);
        for (size_t k = 0; k < n; k++)
            PE_CHECK(indices[k] < 6 && !marks[indices[k]],
                     "%s returned index %zu, which is out of range or masked", wait_name[form],
                     indices[k]);
        if (form < WAIT_TESTS) continue;
        PE_CHECK(wait_call(form, words, 6, indices, marks, SHMEM_CMP_EQ, 0, shifted) == 0,
                 "%s used the operands in sequence instead of by element", wait_name[form]);
    }
}

/* The oldest forms wait for a change, also for one to a smaller value. */
static void check_old(void)
{
    static short s;
    static int i;
    static long l, untyped;
    static long long ll;

    s = i = 5;
    l = ll = untyped = -5;
    shmem_barrier_all();
    shmem_short_p(&s, SHRT_MIN, pe_right());
    shmem_int_p(&i, INT_MAX, pe_right());
    shmem_long_p(&l, LONG_MIN, pe_right());
    shmem_longlong_p(&ll, 0, pe_right());
    shmem_long_p(&untyped, -4, pe_right());
    shmem_short_wait(&s, 5);
    shmem_int_wait(&i, 5);
    shmem_long_wait(&l, -5);
    shmem_longlong_wait(&ll, -5);
    shmem_wait(&untyped, -5);
    PE_CHECK(
        s == SHRT_MIN && i == INT_MAX && l == LONG_MIN && ll == 0 && untyped == -4,
        "after the old waits the words are %d %d %ld %lld %ld: one of them did not change as the "
        "left PE put it",
        s, i, l, ll, untyped);
    shmem_barrier_all();
}

/* The C function for long beside the generic of its name: by its address, and in parentheses. */
static void check_function(void)
{
    static long word;
    void (*function)(long *, int, long) = shmem_wait_until;

    word = 1;
    shmem_barrier_all();
    shmem_long_atomic_set(&word, LONG_MIN, pe_right());
    function(&word, SHMEM_CMP_LT, 0);
    (shmem_wait_until)(&word, SHMEM_CMP_EQ, LONG_MIN);
    shmem_wait_until(&word, SHMEM_CMP_NE, 1);
    pshmem_wait_until(&word, SHMEM_CMP_LE, LONG_MIN);
    PE_CHECK_EQ(word, LONG_MIN);
    shmem_barrier_all();
}

/* test says 1, not merely nonzero, and 0; any and some count in size_t. */
static void check_returns(void)
{
#define RETURNS(call, type) _Static_assert(_Generic((call), type : 1, default : 0), #call)
    RETURNS(shmem_int_test(words, 0, 0), int);
    RETURNS(shmem_int_test_all(words, 1, NULL, 0, 0), int);
    RETURNS(shmem_int_test_any(words, 1, NULL, 0, 0), size_t);
    RETURNS(shmem_int_test_some(words, 1, NULL, NULL, 0, 0), size_t);
    RETURNS(shmem_int_wait_until_any(words, 1, NULL, 0, 0), size_t);
    RETURNS(shmem_int_wait_until_some_vector(words, 1, NULL, NULL, 0, words), size_t);
#undef RETURNS
    for (int cmp = SHMEM_CMP_EQ; cmp <= SHMEM_CMP_GE; cmp++) {
        int n_true = 0;

        for (words[0] = -1; words[0] <= 1; words[0]++) {
            int got = shmem_int_test(words, cmp, 0);

            PE_CHECK(got == 0 || got == 1, "shmem_int_test returned %d, expected 0 or 1", got);
            PE_CHECK_EQ(shmem_int_test_all(words, 1, NULL, cmp, 0), got);
            n_true += got;
        }
        PE_CHECK_EQ(n_true,
                    cmp == SHMEM_CMP_EQ || cmp == SHMEM_CMP_LT || cmp == SHMEM_CMP_GT ? 1 : 2);
    }
}

static const struct pe_rule rules[] = {
    {"R201 atomics, puts and stores end a wait", check_updates},
    {"R202 what was sent before is visible", check_acquire},
    {"R202 no torn value", check_whole},
    {"R203 R235 who waits or tests serves the others", check_serves},
    {"R205 marks: nonzero is out, never written", check_status},
    {"R206 R207 empty sets do not hang", check_empty},
    {"R209 R210 some finds all that hold, once each", check_some},
    {"R210 some blocks until there is one", check_some_blocks},
    {"R211 tests when none holds", check_tests_of_none},
    {"R212 all need not hold at one time", check_not_at_once},
    {"R213 vectors keep their positions", check_positions},
    {"R215 the oldest waits", check_old},
    {"R216 the function beside the generic", check_function},
    {"R217 what is returned", check_returns},
};

int main(void)
{
    pe_test_begin();
    PE_RULES_RUN(rules);
    return pe_test_end();
}
