/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks contexts (OpenSHMEM 1.6, section 9.5; rules R92-R102 of docs/reference/conformance.md):
 * creation of many contexts and with each option, operations on them and their completion by quiet
 * and destroy, contexts of teams, which take the team's PE numbers, and SHMEM_CTX_INVALID.
 */
#include "pe_data.h"

enum { MANY = 200 };

static long *cells; /* heap, MANY words, written by the left neighbour */

/* R95: what does nothing on an invalid context does nothing. */
static void check_invalid(void)
{
    static const shmem_ctx_t none = SHMEM_CTX_INVALID; /* R67: an initialiser */
    shmem_team_t team = SHMEM_TEAM_WORLD;
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    int me = pe_me;

    shmem_ctx_quiet(none);
    shmem_ctx_fence(none);
    shmem_ctx_destroy(none);
    shmem_ctx_pe_quiet(none, &me, 1);
    PE_CHECK(shmem_ctx_get_team(none, &team) != 0,
             "shmem_ctx_get_team of SHMEM_CTX_INVALID returned 0, expected nonzero");
    PE_CHECK(team == SHMEM_TEAM_INVALID,
             "shmem_ctx_get_team of SHMEM_CTX_INVALID did not set the team to SHMEM_TEAM_INVALID");
    PE_CHECK(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx) != 0,
             "shmem_team_create_ctx on SHMEM_TEAM_INVALID returned 0, expected nonzero (R94)");
    PE_CHECK(
        ctx == SHMEM_CTX_INVALID,
        "shmem_team_create_ctx on SHMEM_TEAM_INVALID did not set the context to SHMEM_CTX_INVALID");
}

/* R93, R100, R101: operations on a context with these options, completed by its quiet. */
static void check_options(long options)
{
    long source[8], got[8];
    int right = pe_right();
    shmem_ctx_t ctx = pe_ctx(options);

    PE_CHECK(ctx != SHMEM_CTX_INVALID && ctx != SHMEM_CTX_DEFAULT,
             "shmem_ctx_create returned SHMEM_CTX_INVALID or SHMEM_CTX_DEFAULT as its context");
    for (int i = 0; i < 8; i++)
        source[i] = options * 1000 + pe_me * 10 + i;
    memset(cells, 0, 16 * sizeof(*cells));
    shmem_barrier_all();
    shmem_ctx_long_put(ctx, cells, source, 4, right);
    shmem_ctx_long_put_nbi(ctx, cells + 4, source + 4, 3, right);
    shmem_ctx_long_p(ctx, &cells[7], source[7], right);
    shmem_ctx_fence(ctx);
    shmem_ctx_long_atomic_add(ctx, &cells[8], 3, right);
    shmem_ctx_quiet(ctx);
    shmem_ctx_long_get(ctx, got, cells, 8, right);
    PE_CHECK(memcmp(got, source, sizeof(source)) == 0,
             "put, put_nbi, p and quiet on a context with options %ld: get returned other data",
             options);
    memset(got, 0, sizeof(got));
    shmem_ctx_getmem_nbi(ctx, got, cells, sizeof(got), right);
    shmem_ctx_quiet(ctx);
    PE_CHECK(memcmp(got, source, sizeof(source)) == 0,
             "get_nbi and quiet on a context with options %ld: wrong data", options);
    PE_CHECK_EQ(shmem_ctx_long_atomic_fetch_add(ctx, &cells[8], 1, right), 3);
    PE_CHECK_EQ(shmem_ctx_long_g(ctx, &cells[8], right), 4);
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
}

/* Many at once, each with traffic of its own; R96: destroy completes what is pending. */
static void check_many(void)
{
    static shmem_ctx_t ctx[MANY];
    static long source[MANY];

    memset(cells, 0, MANY * sizeof(*cells));
    shmem_barrier_all();
    for (int i = 0; i < MANY; i++) {
        ctx[i] = pe_ctx(i % 2 ? SHMEM_CTX_PRIVATE : 0);
        source[i] = 1000 * i + pe_me;
        shmem_ctx_long_put_nbi(ctx[i], &cells[i], &source[i], 1, pe_right());
    }
    for (int i = 0; i < MANY; i += 2) { /* R98: each completed on its own */
        shmem_ctx_quiet(ctx[i]);
        PE_CHECK_EQ(shmem_long_g(&cells[i], pe_right()), source[i]);
    }
    for (int i = MANY - 1; i >= 0; i--)
        shmem_ctx_destroy(ctx[i]);
    shmem_sync_all(); /* no quiet of the default context */
    for (int i = 0; i < MANY; i++)
        PE_CHECK_EQ(cells[i], 1000 * i + pe_left());
    for (int i = 0; i < MANY; i++) { /* none is used up by its use */
        ctx[0] = pe_ctx(0);
        shmem_ctx_destroy(ctx[0]);
    }
    shmem_barrier_all();
}

/* R96: destroy is a quiet: what was still on its way is there. */
static void check_destroy_completes(void)
{
    enum { BULK = 512 * 1024 };
    char *dest = pe_malloc(BULK), *source = pe_private(BULK);

    for (unsigned round = 0; round < 8; round++) {
        shmem_ctx_t ctx = SHMEM_CTX_INVALID;

        memset(dest, 0, BULK);
        pe_fill(source, BULK, round * 16 + (unsigned)pe_me);
        ctx = pe_ctx(0);
        shmem_sync_all();
        shmem_ctx_putmem_nbi(ctx, dest, source, BULK, pe_left());
        shmem_ctx_destroy(ctx);
        shmem_sync_all();
        PE_CHECK_BYTES(dest, BULK, round * 16 + (unsigned)pe_right(), "put before ctx_destroy");
        shmem_sync_all();
    }
    free(source);
    shmem_free(dest);
}

/* R93, R97: numbers on a team context are the team's, for every kind of operation. */
static void check_team_context(void)
{
    static uint64_t sig;
    shmem_team_t team = SHMEM_TEAM_INVALID, asked = SHMEM_TEAM_INVALID;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    shmem_team_config_t config = {.num_contexts = 2};
    int me, right, value;

    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, pe_n - 1, -1, pe_n, &config,
                                         SHMEM_TEAM_NUM_CONTEXTS, &team),
                0);
    PE_REQUIRE(shmem_team_create_ctx(team, 0, &ctx) == 0, "shmem_team_create_ctx failed");
    PE_CHECK_EQ(shmem_ctx_get_team(ctx, &asked), 0);
    PE_CHECK(asked == team, "shmem_ctx_get_team returned another team than that of the context");
    me = shmem_team_my_pe(team); /* pe_n - 1 - pe_me */
    right = (me + 1) % pe_n;     /* pe_left() in the world */
    memset(cells, 0, 8 * sizeof(*cells));
    sig = 0;
    shmem_barrier_all();
    shmem_ctx_long_p(ctx, &cells[0], 100 + me, right);
    shmem_ctx_long_atomic_set(ctx, &cells[1], 200 + me, right);
    shmem_ctx_long_put_signal(ctx, &cells[2], (const long[]){300 + me}, 1, &sig, 9,
                              SHMEM_SIGNAL_SET, right);
    value = right;
    shmem_ctx_pe_quiet(ctx, &value, 1);
    PE_CHECK_EQ(shmem_ctx_long_g(ctx, &cells[0], right), 100 + me);
    PE_CHECK_EQ(shmem_long_g(&cells[1], pe_left()), 200 + me);
    shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 9);
    value = (me + pe_n - 1) % pe_n;
    PE_CHECK_EQ(cells[2], 300 + value);
    shmem_ctx_destroy(ctx);
    PE_CHECK_EQ(shmem_team_create_ctx(team, SHMEM_CTX_SERIALIZED, &ctx), 0);
    shmem_ctx_long_p(ctx, &cells[3], 400 + me, right); /* R87: destroy completes it */
    shmem_team_destroy(team);
    shmem_sync_all();
    PE_CHECK_EQ(cells[3], 400 + value);
    shmem_barrier_all();
}

int main(void)
{
    static const long options[] = {0,
                                   SHMEM_CTX_PRIVATE,
                                   SHMEM_CTX_SERIALIZED,
                                   SHMEM_CTX_NOSTORE,
                                   SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE,
                                   SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE};

    pe_test_begin();
    cells = pe_calloc(MANY, sizeof(*cells));
    check_invalid();
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        check_options(options[i]);
    check_many();
    check_destroy_completes();
    check_team_context();
    return pe_test_end();
}
