/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by all tests that run as PEs: counted checks, and an exit status on which all PEs agree.
 *
 * A test is: pe_test_begin(); checks...; return pe_test_end();
 *
 * The exit status of each PE is 0 (passed), 2 (a check failed on some PE) or 77 (skipped). All PEs
 * return the same status, because launchers may combine the statuses of the PEs by OR.
 */
#ifndef STEPPE_TEST_PE_TEST_H
#define STEPPE_TEST_PE_TEST_H

#include <shmem.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PE_PASS = 0, PE_FAIL = 2, PE_SKIP = 77, PE_MAX_LINES = 20 };

static int pe_me = -1;  /* this PE, -1 while the library is not up */
static int pe_n;        /* number of PEs */
static int pe_failures; /* failed checks of this PE; any thread may count */
static int pe_skipped;  /* this PE asked for a skip */
static int *pe_tally;   /* symmetric, on PE 0: failed PEs, skipping PEs */

/*
 * Count and report a failed check. Returns the condition, so a test may stop early on it.
 * Only the first PE_MAX_LINES failures of a PE are printed; all are counted.
 */
static inline bool __attribute__((format(printf, 4, 5)))
pe_check_at(const char *file, int line, bool ok, const char *fmt, ...)
{
    if (ok) return true;
    if (__atomic_add_fetch(&pe_failures, 1, __ATOMIC_RELAXED) <= PE_MAX_LINES) {
        char text[512];
        va_list args;

        va_start(args, fmt);
        vsnprintf(text, sizeof(text), fmt, args);
        va_end(args);
        fprintf(stderr, "pe %d: %s:%d: %s\n", pe_me, file, line, text);
    }
    return false;
}

/* The check: condition, then a printf format with its arguments saying what went wrong. */
#define PE_CHECK(cond, ...) pe_check_at(__FILE__, __LINE__, !!(cond), __VA_ARGS__)

/* Two integers are equal; prints both and the expressions' text. */
#define PE_CHECK_EQ(got, want)                                                                     \
    __extension__({                                                                                \
        long long pe_got_ = (long long)(got), pe_want_ = (long long)(want);                        \
        pe_check_at(__FILE__, __LINE__, pe_got_ == pe_want_, "%s is %lld, expected %s (%lld)",     \
                    #got, pe_got_, #want, pe_want_);                                               \
    })

/* Checks a condition on each i from 0 to n - 1, of this type, and stops at the first failure. */
#define PE_CHECK_EACH(type, i, n, ...)                                                             \
    for (type i = 0; i < (n) && PE_CHECK(__VA_ARGS__); i++)                                        \
    continue

/* A check without which going on makes no sense (or would block the others): ends the job. */
#define PE_REQUIRE(cond, ...)                                                                      \
    do {                                                                                           \
        if (!PE_CHECK(cond, __VA_ARGS__)) shmem_global_exit(PE_FAIL);                              \
    } while (0)

/* Learn who we are and prepare the end; for tests that initialise the library themselves. */
static inline void pe_test_attach(void)
{
    pe_me = shmem_my_pe();
    pe_n = shmem_n_pes();
    pe_tally = shmem_calloc(2, sizeof(*pe_tally));
    PE_REQUIRE(pe_tally != NULL,
               "shmem_calloc returned NULL: no symmetric memory for the test's count of failures");
}

static inline void pe_test_begin(void)
{
    shmem_init();
    pe_test_attach();
}

/*
 * Each of the following functions returns what its name says, or ends the job, because a test
 * cannot go on without its memory, teams or contexts. All PEs allocate symmetric memory together.
 */
static inline void *pe_malloc(size_t nbytes)
{
    void *block = shmem_malloc(nbytes);

    PE_REQUIRE(block != NULL, "shmem_malloc of %zu bytes returned NULL", nbytes);
    return block;
}

static inline void *pe_calloc(size_t n, size_t nbytes)
{
    void *block = shmem_calloc(n, nbytes);

    PE_REQUIRE(block != NULL, "shmem_calloc of %zu times %zu bytes returned NULL", n, nbytes);
    return block;
}

/* Returns memory of this process alone, for free(). */
static inline void *pe_private(size_t nbytes)
{
    void *block = malloc(nbytes);

    PE_REQUIRE(block != NULL, "malloc of %zu bytes failed", nbytes);
    return block;
}

/* Returns a new team of some PEs of the parent; SHMEM_TEAM_INVALID if this PE is not a member. */
static inline shmem_team_t pe_split(shmem_team_t parent, int start, int stride, int size)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    int rc = shmem_team_split_strided(parent, start, stride, size, NULL, 0, &team);

    PE_REQUIRE(rc == 0, "shmem_team_split_strided(%d, %d, %d) returned %d, expected 0", start,
               stride, size, rc);
    return team;
}

static inline shmem_ctx_t pe_ctx(long options)
{
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;

    PE_REQUIRE(shmem_ctx_create(options, &ctx) == 0,
               "shmem_ctx_create with options %ld failed, expected 0", options);
    return ctx;
}

/*
 * Say that this test cannot run here, and why. Call it on all PEs or on those that know; then
 * go to pe_test_end(), which makes all PEs exit with PE_SKIP unless a check failed.
 */
static inline void pe_test_skip(const char *why)
{
    if (!pe_skipped) fprintf(stderr, "pe %d: skip: %s\n", pe_me, why);
    pe_skipped = 1;
}

/* All PEs agree on the exit status without finalizing; for tests that end in their own way. */
static inline int pe_test_verdict(void)
{
    int total[2] = {0, 0};

    shmem_barrier_all();
    if (pe_failures) shmem_int_atomic_add(&pe_tally[0], 1, 0);
    if (pe_skipped) shmem_int_atomic_add(&pe_tally[1], 1, 0);
    shmem_barrier_all();
    shmem_int_get(total, pe_tally, 2, 0);
    if (pe_me == 0 && total[0])
        fprintf(stderr, "pe 0: checks failed on %d of %d PEs\n", total[0], pe_n);
    shmem_barrier_all();
    if (total[0] || pe_failures) return PE_FAIL;
    return total[1] || pe_skipped ? PE_SKIP : PE_PASS;
}

/* The end: all PEs agree, finalize once; returns the exit status for main. Collective. */
static inline int pe_test_end(void)
{
    int status = pe_test_verdict();

    shmem_finalize();
    return status;
}

#endif
