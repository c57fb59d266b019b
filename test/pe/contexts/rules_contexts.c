/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks contexts rule by rule (OpenSHMEM 1.6, section 9.5; rules R92-R94 and R96-R101 of
 * docs/reference/conformance.md): creation by one PE alone and without memory, the team's PE
 * numbers in every kind of call, what fence, quiet and destroy of one context complete, and all
 * options. Operations on a thousand contexts are in many_ctx.c.
 */
#include "pe_table.h"

#include <sys/resource.h>

enum { WORDS = 512, MANY = 4096 };

static const long all_options[] = {0,
                                   SHMEM_CTX_PRIVATE,
                                   SHMEM_CTX_SERIALIZED,
                                   SHMEM_CTX_NOSTORE,
                                   SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE,
                                   SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE,
                                   SHMEM_CTX_PRIVATE | SHMEM_CTX_SERIALIZED,
                                   SHMEM_CTX_PRIVATE | SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE};
enum { N_OPTIONS = sizeof(all_options) / sizeof(all_options[0]) };

static long *words; /* symmetric, WORDS */
static long *flags; /* symmetric, one for each PE */

/* Not a pointer to data of any type that a generic could mean. */
_Static_assert(_Generic((shmem_ctx_t)0, void * : 0, const void * : 0, char * : 0, int * : 0,
                        long * : 0, unsigned long * : 0, double * : 0, shmem_team_t : 0,
                        default : 1),
               "shmem_ctx_t is a type of its own");
static const shmem_ctx_t static_contexts[] = {SHMEM_CTX_DEFAULT, SHMEM_CTX_INVALID};

/* One PE makes and destroys contexts while the others are elsewhere. */
static void check_create_alone(void)
{
    PE_CHECK(static_contexts[0] == SHMEM_CTX_DEFAULT && static_contexts[1] == SHMEM_CTX_INVALID,
             "SHMEM_CTX_DEFAULT or SHMEM_CTX_INVALID changed its value in a static initializer");
    for (int i = 0; i < 3 * pe_me; i++) {
        shmem_ctx_t ctx = pe_ctx(all_options[i % N_OPTIONS]);

        PE_CHECK(ctx != SHMEM_CTX_INVALID && ctx != SHMEM_CTX_DEFAULT,
                 "shmem_ctx_create returned SHMEM_CTX_INVALID or SHMEM_CTX_DEFAULT as its context");
        shmem_ctx_destroy(ctx);
    }
}

/*
 * As many as fit into memory; then an error with INVALID, and all is well again afterwards. Not
 * where a sanitizer needs memory of its own.
 */
static void check_create_fails(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    static shmem_ctx_t made[MANY];
    struct rlimit before, tight;
    shmem_ctx_t failed = SHMEM_CTX_DEFAULT;
    int n = 0, rc = 0;

    if (shmem_team_n_pes(SHMEM_TEAM_SHARED) != pe_n) return; /* a provider is no part of this */
    getrlimit(RLIMIT_AS, &before);
    tight = before;
    tight.rlim_cur = 1; /* nothing more from the system */
    PE_REQUIRE(setrlimit(RLIMIT_AS, &tight) == 0, "setrlimit(RLIMIT_AS) failed");
    while (n < MANY && (rc = shmem_ctx_create(0, &failed)) == 0) {
        made[n++] = failed;
        failed = SHMEM_CTX_DEFAULT;
    }
    setrlimit(RLIMIT_AS, &before);
    PE_CHECK(rc != 0, "%d contexts were created without more memory, expected a failure before", n);
    PE_CHECK(failed == SHMEM_CTX_INVALID,
             "shmem_ctx_create that failed set the context to %p, expected SHMEM_CTX_INVALID",
             (void *)failed);
    failed = pe_ctx(0);
    shmem_ctx_long_p(failed, &flags[pe_me], 5, pe_right());
    shmem_ctx_destroy(failed);
    PE_CHECK_EQ(shmem_long_g(&flags[pe_me], pe_right()), 5);
    while (n > 0)
        shmem_ctx_destroy(made[--n]);
#endif
}

/* Every kind of call takes the team's numbers: here the reversed world's. */
static void use_numbers(shmem_ctx_t ctx, int to, int from_world, int me)
{
    uint64_t *sig = (uint64_t *)&words[60], fetched = 0;
    long got[2] = {0, 0}, source[2] = {50 + me, 60 + me};

    memset(words, 0, 64 * sizeof(*words));
    shmem_barrier_all();
    shmem_ctx_long_put(ctx, &words[0], source, 2, to);
    shmem_ctx_long_put_nbi(ctx, &words[2], source, 2, to);
    shmem_ctx_long_iput(ctx, &words[4], source, 2, 1, 2, to);
    shmem_ctx_long_ibput(ctx, &words[8], source, 2, 2, 2, 1, to);
    shmem_ctx_long_p(ctx, &words[10], 70 + me, to);
    shmem_ctx_put64(ctx, &words[11], source, 1, to);
    shmem_ctx_putmem(ctx, &words[12], source, 8, to);
    shmem_ctx_long_atomic_set(ctx, &words[13], 80 + me, to);
    shmem_ctx_long_atomic_add(ctx, &words[14], 3, to);
    shmem_ctx_long_put_signal(ctx, &words[15], source, 1, sig, 9, SHMEM_SIGNAL_ADD, to);
    shmem_ctx_signal_add(ctx, &sig[1], 4, to);
    shmem_ctx_pe_quiet(ctx, &to, 1);
    PE_CHECK_EQ(shmem_ctx_long_g(ctx, &words[10], to), 70 + me);
    shmem_ctx_long_get(ctx, got, &words[0], 2, to);
    PE_CHECK_EQ(got[1], 60 + me);
    shmem_ctx_getmem_nbi(ctx, got, &words[2], 16, to);
    shmem_ctx_quiet(ctx);
    PE_CHECK_EQ(got[0], 50 + me);
    shmem_ctx_long_iget(ctx, got, &words[4], 1, 2, 2, to);
    PE_CHECK_EQ(got[1], 60 + me);
    shmem_ctx_long_ibget(ctx, got, &words[8], 2, 2, 2, 1, to);
    PE_CHECK_EQ(got[0], 50 + me);
    PE_CHECK_EQ(shmem_ctx_long_atomic_fetch(ctx, &words[13], to), 80 + me);
    PE_CHECK_EQ(shmem_ctx_long_atomic_compare_swap(ctx, &words[14], 3, 8, to), 3);
    shmem_ctx_uint64_atomic_fetch_nbi(ctx, &fetched, &sig[1], to);
    shmem_ctx_quiet(ctx);
    PE_CHECK_EQ(fetched, 4);
    shmem_barrier_all();
    PE_CHECK_EQ(words[0], 50 + from_world);
    PE_CHECK_EQ(words[3], 60 + from_world);
    PE_CHECK_EQ(words[6], 60 + from_world);
    PE_CHECK_EQ(words[9], 60 + from_world);
    PE_CHECK_EQ(words[11], 50 + from_world);
    PE_CHECK_EQ(words[12], 50 + from_world);
    PE_CHECK_EQ(words[14], 8);
    PE_CHECK_EQ(words[15], 50 + from_world);
    PE_CHECK_EQ(sig[0], 9);
}

static void check_numbers(void)
{
    shmem_team_t reversed = SHMEM_TEAM_INVALID, asked = SHMEM_TEAM_INVALID;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    int me;

    reversed = pe_split(SHMEM_TEAM_WORLD, pe_n - 1, -1, pe_n);
    me = shmem_team_my_pe(reversed);
    PE_REQUIRE(shmem_team_create_ctx(reversed, 0, &ctx) == 0,
               "shmem_team_create_ctx on the reversed team failed");
    /* to the next in the team, which is the left one of the world; from the one before */
    use_numbers(ctx, (me + 1) % pe_n, (me + pe_n - 1) % pe_n, me);
    PE_CHECK_EQ(shmem_ctx_get_team(ctx, &asked), 0);
    PE_CHECK(asked == reversed,
             "shmem_ctx_get_team returned another team than that of the context");
    shmem_ctx_destroy(ctx);
    ctx = pe_ctx(0);
    use_numbers(ctx, pe_right(), pe_left(), pe_me); /* of the world */
    PE_CHECK_EQ(shmem_ctx_get_team(ctx, &asked), 0);
    PE_CHECK(asked == SHMEM_TEAM_WORLD,
             "shmem_ctx_get_team of a context of the world is not SHMEM_TEAM_WORLD");
    shmem_ctx_destroy(ctx);
    PE_CHECK_EQ(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &asked), 0);
    PE_CHECK(asked == SHMEM_TEAM_WORLD,
             "shmem_ctx_get_team of SHMEM_CTX_DEFAULT is not SHMEM_TEAM_WORLD");
    PE_CHECK_EQ(shmem_team_create_ctx(SHMEM_TEAM_SHARED, 0, &ctx), 0);
    PE_CHECK_EQ(shmem_ctx_get_team(ctx, &asked), 0);
    PE_CHECK(asked == SHMEM_TEAM_SHARED,
             "shmem_ctx_get_team of a context of the shared team is not SHMEM_TEAM_SHARED");
    shmem_ctx_destroy(ctx);
    shmem_team_destroy(reversed);
}

static void check_no_team(void)
{
    for (int i = 0; i < N_OPTIONS; i++) {
        shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;

        PE_CHECK(shmem_team_create_ctx(SHMEM_TEAM_INVALID, all_options[i], &ctx) != 0,
                 "shmem_team_create_ctx on SHMEM_TEAM_INVALID returned 0, expected nonzero");
        PE_CHECK(ctx == SHMEM_CTX_INVALID,
                 "shmem_team_create_ctx on SHMEM_TEAM_INVALID did not set the context to "
                 "SHMEM_CTX_INVALID");
    }
}

/*
 * Rounds of data, fence or quiet, flag, all on a context with these options. Who sees the flag
 * sees the data: options are promises of the program, and NOSTORE is about plain stores only.
 */
static void order_with(long options, bool quiet)
{
    long source[WORDS];
    shmem_ctx_t ctx = pe_ctx(options);

    memset(flags, 0, (size_t)pe_n * sizeof(*flags));
    shmem_barrier_all();
    for (long round = 1; round <= pe_rounds(80); round++) {
        size_t n = round % 3 ? 5 : WORDS;

        for (size_t i = 0; i < n; i++)
            source[i] = round * 1000 + pe_me;
        if (round % 2)
            shmem_ctx_long_put(ctx, words, source, n, pe_right());
        else
            shmem_ctx_long_put_nbi(ctx, words, source, n, pe_right());
        shmem_ctx_long_atomic_set(ctx, &words[1], round, pe_right());
        if (quiet)
            shmem_ctx_quiet(ctx);
        else
            shmem_ctx_fence(ctx);
        shmem_ctx_long_atomic_set(ctx, &flags[0], round, pe_right());
        shmem_long_wait_until(&flags[0], SHMEM_CMP_GE, round);
        PE_CHECK_EQ(words[0], round * 1000 + pe_left());
        PE_CHECK_EQ(words[n - 1], round * 1000 + pe_left());
        PE_CHECK(
            words[1] == round || words[1] == round * 1000 + pe_left(),
            "words[1] is %ld in round %ld, which neither the put nor the atomic_set of this round "
            "stored",
            words[1], round);
        shmem_ctx_quiet(ctx);
        shmem_barrier_all();
    }
    shmem_ctx_destroy(ctx);
}

static void check_options_order(void)
{
    for (int i = 0; i < N_OPTIONS; i++) {
        order_with(all_options[i], false);
        order_with(all_options[i], true);
    }
}

/*
 * Two contexts with bulk under way: the quiet of each completes its own, in either order, and so
 * does that of the default context. Nothing says that it leaves the other's alone.
 */
static void check_each_its_own(void)
{
    enum { BULK = 128 * 1024 };
    char *dest = pe_malloc(3 * BULK), *source = pe_private(3 * BULK);
    shmem_ctx_t ctx[3] = {SHMEM_CTX_DEFAULT, SHMEM_CTX_INVALID, SHMEM_CTX_INVALID};

    PE_REQUIRE(shmem_ctx_create(0, &ctx[1]) == 0 && shmem_ctx_create(0, &ctx[2]) == 0,
               "shmem_ctx_create of two contexts failed");
    for (int first = 0; first < 3; first++) {
        for (int i = 0; i < 3; i++)
            pe_fill(source + i * BULK, BULK, (unsigned)(first * 48 + i * 16 + pe_me));
        shmem_sync_all();
        for (int i = 0; i < 3; i++)
            shmem_ctx_putmem_nbi(ctx[i], dest + i * BULK, source + i * BULK, BULK, pe_right());
        for (int k = 0; k < 3; k++) {
            int i = (first + k) % 3;
            char last;

            shmem_ctx_quiet(ctx[i]);
            shmem_getmem(&last, dest + (i + 1) * BULK - 1, 1, pe_right());
            PE_CHECK_EQ(last, source[(i + 1) * BULK - 1]);
        }
        shmem_sync_all();
        for (int i = 0; i < 3; i++)
            PE_CHECK_BYTES(dest + i * BULK, BULK, (unsigned)(first * 48 + i * 16 + pe_left()),
                           "bulk of a context");
        shmem_sync_all();
    }
    shmem_ctx_destroy(ctx[1]);
    shmem_ctx_destroy(ctx[2]);
    free(source);
    shmem_barrier_all();
    shmem_free(dest);
}

/* destroy is a quiet of that context: puts, atomics, gets, whatever the options. */
static void check_destroy_completes(void)
{
    for (int i = 0; i < N_OPTIONS; i++) {
        shmem_ctx_t ctx = SHMEM_CTX_INVALID;
        long source[WORDS], got = -1, fetched = -1;

        for (int k = 0; k < WORDS; k++)
            source[k] = 100 * i + pe_me;
        memset(words, 0, WORDS * sizeof(*words));
        flags[0] = 7000 + pe_me;
        shmem_barrier_all();
        ctx = pe_ctx(all_options[i]);
        shmem_ctx_long_get_nbi(ctx, &got, &flags[0], 1, pe_right());
        shmem_ctx_long_atomic_fetch_nbi(ctx, &fetched, &flags[0], pe_right());
        shmem_ctx_long_put_nbi(ctx, words, source, WORDS, pe_right());
        shmem_ctx_destroy(ctx);
        PE_CHECK_EQ(got, 7000 + pe_right());
        PE_CHECK_EQ(fetched, 7000 + pe_right());
        shmem_sync_all();
        PE_CHECK_EQ(words[0], 100 * i + pe_left());
        PE_CHECK_EQ(words[WORDS - 1], 100 * i + pe_left());
        shmem_barrier_all();
    }
}

/* A plain store through shmem_ptr before a fence of the default context is ordered: no NOSTORE. */
static void check_default_orders_stores(void)
{
    long *there = shmem_ptr(words, pe_right());

    flags[0] = 0;
    shmem_barrier_all();
    for (long round = 1; round <= pe_rounds(200); round++) {
        if (there != NULL)
            there[WORDS - 1] = round;
        else
            shmem_long_p(&words[WORDS - 1], round, pe_right());
        shmem_fence();
        shmem_long_atomic_set(&flags[0], round, pe_right());
        shmem_long_wait_until(&flags[0], SHMEM_CMP_GE, round);
        PE_CHECK(
            words[WORDS - 1] >= round,
            "round %ld: the plain store before the fence is missing when the flag is here: the "
            "word is %ld",
            round, words[WORDS - 1]);
        shmem_barrier_all();
    }
}

static const struct pe_rule rules[] = {
    {"R92 contexts are made alone", check_create_alone},
    {"R92 a creation that fails gives INVALID and can be tried again", check_create_fails},
    {"R93 R97 a team's context takes the team's numbers, and knows its team", check_numbers},
    {"R94 no context of no team", check_no_team},
    {"R96 destroy completes", check_destroy_completes},
    {"R98 each context completes its own", check_each_its_own},
    {"R99 R100 R101 options promise, they do not break order", check_options_order},
    {"R100 the default context orders stores", check_default_orders_stores},
};

int main(void)
{
    pe_test_begin();
    words = pe_calloc(WORDS, sizeof(*words));
    flags = pe_calloc((size_t)pe_n + 1, sizeof(*flags));
    PE_RULES_RUN(rules);
    return pe_test_end();
}
