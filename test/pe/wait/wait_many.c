/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks waits and tests for all, any and some of several words, with masks and with one operand
 * for each word (OpenSHMEM 1.6, section 9.11; rules R205 and R208-R214 of
 * docs/reference/conformance.md), also that repeated calls of an any form return every index that
 * satisfies. Empty sets are in rules_wait.c.
 */
#include "pe_threads.h"
#include "pe_wait.h"

enum { N = 40 };

static int words[N];
static long long_words[N], more_words[N];

static void clear_words(void)
{
    for (int i = 0; i < N; i++)
        words[i] = 0;
    shmem_barrier_all();
}

static void set_right(int i, int value)
{
    shmem_int_atomic_set(&words[i], value, pe_right());
}

/* Each index once. */
static void check_permutation(const size_t *indices)
{
    int times[N] = {0};

    for (int i = 0; i < N; i++)
        if (PE_CHECK(indices[i] < N, "test_some_vector returned index %zu, which is out of range",
                     indices[i]))
            times[indices[i]]++;
    for (int i = 0; i < N; i++)
        PE_CHECK(times[i] == 1, "test_some_vector returned index %d %d times, expected once", i,
                 times[i]);
}

/* Test forms when nothing, one, and all of the words satisfy. */
static void check_tests(void)
{
    int status[N] = {0}, wanted[N];
    size_t indices[N];

    for (int i = 0; i < N; i++) {
        words[i] = 0;
        wanted[i] = i + 1;
    }
    PE_CHECK_EQ(shmem_int_test_all(words, N, NULL, SHMEM_CMP_EQ, 1), 0);
    PE_CHECK(shmem_int_test_any(words, N, NULL, SHMEM_CMP_EQ, 1) == SIZE_MAX,
             "test_any when no element satisfies did not return SIZE_MAX");
    PE_CHECK_EQ(shmem_int_test_some(words, N, indices, NULL, SHMEM_CMP_EQ, 1), 0);
    words[17] = 18;
    PE_CHECK_EQ(shmem_int_test_any(words, N, NULL, SHMEM_CMP_EQ, 18), 17); /* R208 */
    PE_CHECK_EQ(shmem_int_test_any_vector(words, N, NULL, SHMEM_CMP_EQ, wanted), 17);
    PE_CHECK_EQ(shmem_int_test_some(words, N, indices, NULL, SHMEM_CMP_EQ, 18), 1);
    PE_CHECK_EQ(indices[0], 17);
    PE_CHECK_EQ(shmem_int_test_all(words, N, NULL, SHMEM_CMP_EQ, 18), 0);
    status[17] = 1;
    PE_CHECK(shmem_int_test_any(words, N, status, SHMEM_CMP_EQ, 18) == SIZE_MAX,
             "test_any when only a masked element satisfies did not return SIZE_MAX");
    PE_CHECK_EQ(shmem_int_test_some(words, N, indices, status, SHMEM_CMP_EQ, 18), 0);
    PE_CHECK_EQ(shmem_int_test_all(words, N, status, SHMEM_CMP_EQ, 0), 1);
    for (int i = 0; i < N; i++)
        words[i] = i + 1;
    PE_CHECK_EQ(shmem_int_test_all_vector(words, N, NULL, SHMEM_CMP_EQ, wanted), 1); /* R213 */
    PE_CHECK_EQ(shmem_int_test_some_vector(words, N, indices, NULL, SHMEM_CMP_EQ, wanted), N);
    check_permutation(indices);
    wanted[5] = -1;
    PE_CHECK_EQ(shmem_int_test_all_vector(words, N, NULL, SHMEM_CMP_EQ, wanted), 0);
    status[5] = 1;
    PE_CHECK_EQ(shmem_int_test_all_vector(words, N, status, SHMEM_CMP_EQ, wanted), 1);
    shmem_barrier_all();
}

/* Each word set by the left neighbour in some order: wait for all of them, half of them masked. */
static void check_all(void)
{
    int status[N], wanted[N];

    for (int i = 0; i < N; i++) {
        status[i] = i % 2;
        wanted[i] = 100 + i;
    }
    clear_words();
    for (int i = N - 1; i >= 0; i--)
        set_right(i, 9);
    shmem_int_wait_until_all(words, N, NULL, SHMEM_CMP_EQ, 9);
    for (int i = 0; i < N; i++)
        PE_CHECK_EQ(words[i], 9);
    clear_words();
    for (int i = 0; i < N; i += 2)
        set_right(i, 9);
    shmem_int_wait_until_all(words, N, status, SHMEM_CMP_EQ, 9);
    for (int i = 0; i < N; i++)
        PE_CHECK_EQ(words[i], i % 2 ? 0 : 9);
    clear_words();
    for (int i = 0; i < N; i += 2)
        set_right(i, 100 + i);
    shmem_int_wait_until_all_vector(words, N, status, SHMEM_CMP_EQ, wanted);
    for (int i = 0; i < N; i += 2)
        PE_CHECK_EQ(words[i], 100 + i);
    shmem_barrier_all();
}

/*
 * The usual loop over any or some (R209, R210): each index comes once when masked after its turn,
 * and values are there. Of words that all hold, some returns all.
 */
static void check_taken(enum wait_form form)
{
    int status[N] = {0}, wanted[N], taken = 0;
    size_t indices[N], n;

    for (int i = 0; i < N; i++)
        wanted[i] = wait_is_vector(form) ? 200 + i : 9;
    clear_words();
    for (int i = 0; i < N; i++)
        set_right(i * 7 % N, wanted[i * 7 % N]);
    while (taken < N) {
        n = wait_call(form, words, N, indices, status, SHMEM_CMP_EQ, 9, wanted);
        if (!PE_CHECK(n >= 1 && n <= N, "%s returned %zu elements, expected 1 to 40",
                      wait_name[form], n))
            break;
        for (size_t k = 0; k < n; k++) {
            PE_REQUIRE(indices[k] < N && status[indices[k]] == 0,
                       "%s returned index %zu, which is out of range or was returned before",
                       wait_name[form], indices[k]);
            PE_CHECK_EQ(words[indices[k]], wanted[indices[k]]);
            status[indices[k]] = 1;
            taken++;
        }
    }
    shmem_barrier_all();
    n = wait_call(form, words, N, indices, NULL, SHMEM_CMP_EQ, 9, wanted);
    PE_CHECK_EQ(n, wait_is_some(form) ? N : 1);
    shmem_barrier_all();
}

/* R208: while several hold, repeated calls return each of them sooner or later. */
static void check_fair(bool test)
{
    int times[N] = {0}, other[N] = {0};

    for (int i = 0; i < N; i++) {
        long_words[i] = i % 3 == 0;
        more_words[i] = i % 2 == 0;
    }
    for (int call = 0; call < 50 * N; call++) { /* two arrays in turn */
        size_t i = test ? shmem_long_test_any(long_words, N, NULL, SHMEM_CMP_EQ, 1)
                        : shmem_long_wait_until_any(long_words, N, NULL, SHMEM_CMP_EQ, 1);
        size_t k = test ? shmem_long_test_any(more_words, N, NULL, SHMEM_CMP_EQ, 1)
                        : shmem_long_wait_until_any(more_words, N, NULL, SHMEM_CMP_EQ, 1);

        if (!PE_CHECK(i < N && k < N,
                      "an any form returned the indices %zu and %zu, one of which is out of range",
                      i, k))
            return;
        times[i]++;
        other[k]++;
    }
    for (int i = 0; i < N; i++) {
        PE_CHECK(
            (times[i] > 0) == (i % 3 == 0),
            "an any form returned index %d of the first array %d times: expected each satisfied "
            "index and no other",
            i, times[i]);
        PE_CHECK(
            (other[i] > 0) == (i % 2 == 0),
            "an any form returned index %d of the second array %d times: expected each satisfied "
            "index and no other",
            i, other[i]);
    }
}

/* What one of several callers on the same array does, and what it must find sooner or later. */
struct caller {
    size_t (*call)(const struct caller *c);
    long *words;
    const int *status;
    int found[N];
};

static long ones[N];

static size_t call_wait_any(const struct caller *c)
{
    return shmem_long_wait_until_any(c->words, N, c->status, SHMEM_CMP_EQ, 1);
}

static size_t call_test_any(const struct caller *c)
{
    return shmem_long_test_any(c->words, N, c->status, SHMEM_CMP_EQ, 1);
}

static size_t call_wait_vector(const struct caller *c)
{
    return shmem_long_wait_until_any_vector(c->words, N, c->status, SHMEM_CMP_EQ, ones);
}

static size_t call_test_vector(const struct caller *c)
{
    return shmem_long_test_any_vector(c->words, N, c->status, SHMEM_CMP_EQ, ones);
}

/* The callers take turns; times: how often each of them asks. */
static void take_turns(struct caller *callers, int n_callers, int times)
{
    for (int call = 0; call < times; call++)
        for (int k = 0; k < n_callers; k++) {
            size_t i = callers[k].call(&callers[k]);

            if (!PE_CHECK(
                    i < N,
                    "an any form returned index %zu, which does not satisfy or is out of range", i))
                return;
            callers[k].found[i]++;
        }
}

static void check_found(const struct caller *callers, int n_callers, const char *what)
{
    for (int k = 0; k < n_callers; k++)
        for (int i = 0; i < N; i++) {
            const struct caller *c = &callers[k];
            bool holds = c->words[i] == 1 && (c->status == NULL || c->status[i] == 0);

            PE_CHECK(
                (c->found[i] > 0) == holds,
                "%s: caller %d got index %d %d times: expected each satisfied index and no other",
                what, k, i, c->found[i]);
        }
}

/*
 * R208: a caller gets every index that holds, whoever else asks for the same array in between: two
 * words that hold, in turns of two; three in turns of three; the same routine from two places; a
 * marked array and an unmarked one.
 */
static void check_starving(void)
{
    static const int most[N] = {[0] = 1, [4] = 1}, few[N] = {[1] = 1, [2] = 1};
    size_t (*const calls[])(const struct caller *) = {call_wait_any, call_test_any,
                                                      call_wait_vector, call_test_vector};

    for (int i = 0; i < N; i++)
        ones[i] = 1;
    for (int n = 2; n <= 4; n++)
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) {
                struct caller callers[4] = {{calls[a], long_words, NULL, {0}},
                                            {calls[b], long_words, NULL, {0}},
                                            {calls[(a + 1) % 4], long_words, NULL, {0}},
                                            {calls[(b + 1) % 4], long_words, NULL, {0}}};

                memset(long_words, 0, sizeof(long_words));
                for (int i = 0; i < n; i++)
                    long_words[3 + i * 5] = 1;
                take_turns(callers, n, 4000);
                check_found(callers, n, "in turns");
            }
    for (int a = 0; a < 4; a++) {
        struct caller masks[2] = {{calls[a], more_words, most, {0}},
                                  {calls[a], more_words, few, {0}}};

        for (int i = 0; i < N; i++)
            more_words[i] = i < 5 || i == N - 1;
        take_turns(masks, 2, 4000);
        check_found(masks, 2, "with masks");
    }
}

/* R208: one caller alone gets all that hold within two rounds. */
static void check_rounds(void)
{
    struct caller alone = {call_wait_any, more_words, NULL, {0}};

    for (int i = 0; i < N; i++)
        more_words[i] = i % 4 == 1 || i % 4 == 2;
    for (int start = 0; start < 3; start++) {
        memset(alone.found, 0, sizeof(alone.found));
        take_turns(&alone, 1, N);
        check_found(&alone, 1, "alone");
        shmem_long_test_any(&more_words[start], N - 3, NULL, SHMEM_CMP_EQ, 1);
    }
}

/* The same caller on more arrays than anybody remembers, in turn. */
static void check_many_arrays(void)
{
    enum { ARRAYS = 200, WORDS = 3 };
    static long arrays[ARRAYS][WORDS];
    static int found[ARRAYS][WORDS];

    for (int a = 0; a < ARRAYS; a++)
        arrays[a][0] = arrays[a][2] = 1;
    for (int call = 0; call < 400; call++)
        for (int a = 0; a < ARRAYS; a++) {
            size_t i = shmem_long_test_any(arrays[a], WORDS, NULL, SHMEM_CMP_EQ, 1);

            if (PE_CHECK(
                    i == 0 || i == 2,
                    "an any form returned index %zu, which does not satisfy or is out of range", i))
                found[a][i]++;
        }
    for (int a = 0; a < ARRAYS; a++)
        PE_CHECK(
            found[a][0] > 0 && found[a][2] > 0,
            "array %d of many: the two satisfied indices were returned %d and %d times, expected "
            "both",
            a, found[a][0], found[a][2]);
}

static void *turns_in_thread(void *arg)
{
    take_turns(arg, 2, 4000);
    return NULL;
}

/* Two threads, each alternating two routines on the array that both use. */
static void check_threads(void)
{
    struct caller callers[2][2] = {
        {{call_wait_any, long_words, NULL, {0}}, {call_test_any, long_words, NULL, {0}}},
        {{call_test_any, long_words, NULL, {0}}, {call_wait_any, long_words, NULL, {0}}}};
    pthread_t thread[2];

    memset(long_words, 0, sizeof(long_words));
    long_words[7] = long_words[8] = 1;
    for (int k = 0; k < 2; k++)
        thread[k] = pe_thread(turns_in_thread, callers[k]);
    for (int k = 0; k < 2; k++)
        pthread_join(thread[k], NULL);
    for (int k = 0; k < 2; k++)
        check_found(callers[k], 2, "in a thread");
}

int main(void)
{
    int provided;

    PE_REQUIRE(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0,
               "shmem_init_thread failed");
    pe_test_attach();
    check_tests();
    check_all();
    for (enum wait_form form = 0; form < WAIT_TESTS; form++)
        if (!wait_is_all(form)) check_taken(form);
    check_fair(false);
    check_fair(true);
    check_starving();
    check_rounds();
    check_many_arrays();
    if (provided == SHMEM_THREAD_MULTIPLE) check_threads();
    return pe_test_end();
}
