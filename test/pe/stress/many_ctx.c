/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks a thousand contexts at the same time (OpenSHMEM 1.6, section 9.5; rules R29, R35, R36,
 * R87, R92, R93, R96 and R98-R101 of docs/reference/conformance.md): traffic on all of them,
 * completed one by one by quiet or destroy; contexts of teams; threads with private contexts; and
 * creating and destroying without a leak. Needs SHMEM_THREAD_MULTIPLE. The options are those of
 * pe_stress.h.
 */
#include "pe_leaks.h"
#include "pe_stress.h"
#include "pe_threads.h"

enum { MANY = 1000, FEW = 256, CHUNK = 48, THREADS = 4, CYCLES = 4000, ROUNDS = 2, OPS = 4000 };

static const long options[] = {0,
                               SHMEM_CTX_SERIALIZED,
                               SHMEM_CTX_PRIVATE,
                               SHMEM_CTX_NOSTORE,
                               SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE,
                               SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE};
enum { N_OPTIONS = sizeof(options) / sizeof(options[0]) };

static shmem_ctx_t ctxs[MANY];
static unsigned char *inbox; /* symmetric: a chunk of each context */
static unsigned char outbox[MANY][CHUNK];
static uint64_t *sums; /* symmetric: one word a context */
static uint64_t fetched[MANY];
static uint64_t hammered[THREADS]; /* symmetric: what threads of all PEs add */
static int n_ctxs;

static unsigned stamp_of(int from, int i)
{
    return (unsigned)(from * 17 + i + (int)stress_round * 3);
}

static void create_all(shmem_team_t team)
{
    for (int i = 0; i < n_ctxs; i++) {
        long option = options[i % N_OPTIONS];
        int rc = team == SHMEM_TEAM_WORLD ? shmem_ctx_create(option, &ctxs[i])
                                          : shmem_team_create_ctx(team, option, &ctxs[i]);

        PE_REQUIRE(rc == 0, "creating context %d of %d failed", i, n_ctxs);
    }
}

/* A put, an addition and a fetch on each context, none completed. pe: a number of the team. */
static void start_all(int pe)
{
    for (int i = 0; i < n_ctxs; i++) {
        pe_fill(outbox[i], CHUNK, stamp_of(pe_me, i));
        shmem_ctx_putmem_nbi(ctxs[i], inbox + i * CHUNK, outbox[i], CHUNK, pe);
        shmem_ctx_uint64_atomic_add(ctxs[i], &sums[i], (uint64_t)i + 1, pe);
        fetched[i] = 0;
        shmem_ctx_uint64_atomic_fetch_nbi(ctxs[i], &fetched[i], &sums[MANY], pe);
    }
}

/* What has been completed on one context is there: read it with another one. */
static void check_done(int i, int world_pe)
{
    unsigned char got[CHUNK];

    PE_CHECK_EQ(fetched[i], 4711);
    shmem_getmem(got, inbox + i * CHUNK, CHUNK, world_pe);
    PE_CHECK_BYTES(got, CHUNK, stamp_of(pe_me, i), "put on a completed context");
    PE_CHECK_EQ(shmem_uint64_atomic_fetch(&sums[i], world_pe), i + 1);
}

static void check_arrived(int from)
{
    for (int i = 0; i < n_ctxs; i++) {
        if (!PE_CHECK_BYTES(inbox + i * CHUNK, CHUNK, stamp_of(from, i),
                            "put on one of many contexts"))
            return;
        PE_CHECK_EQ(sums[i], i + 1);
    }
}

static void clear(void)
{
    memset(inbox, 0xee, (size_t)MANY * CHUNK);
    memset(sums, 0, MANY * sizeof(*sums));
    sums[MANY] = 4711;
    shmem_barrier_all();
}

/* Quiet on some, in an order of their own; destroy completes the others. */
static void check_many(shmem_team_t team)
{
    int n = shmem_team_n_pes(team), me = shmem_team_my_pe(team), right = (me + 1) % n;
    int to = shmem_team_translate_pe(team, right, SHMEM_TEAM_WORLD);
    int from = shmem_team_translate_pe(team, (me + n - 1) % n, SHMEM_TEAM_WORLD);
    int step = 7; /* no divisor of 256 or 1000 */

    stress_stage("%d contexts, team of %d", n_ctxs, n);
    clear();
    create_all(team);
    start_all(right);
    for (int k = 0, i = (int)stress_pick((size_t)n_ctxs); k < n_ctxs / 2; k++) {
        if (k % 3 == 2)
            shmem_ctx_pe_quiet(ctxs[i], &right, 1);
        else
            shmem_ctx_quiet(ctxs[i]);
        if (k % 16 == 0) check_done(i, to);
        i = (i + step) % n_ctxs;
    }
    for (int i = 0; i < n_ctxs; i++)
        shmem_ctx_destroy(ctxs[i]);
    for (int i = 0; i < n_ctxs; i++)
        PE_CHECK_EQ(fetched[i], 4711);
    shmem_sync_all(); /* completes no operation */
    check_arrived(from);
    shmem_barrier_all();
}

/* A team with numbers of its own; the shareable half of its contexts goes with it (R87). */
static void check_team(void)
{
    shmem_team_t team = pe_split(SHMEM_TEAM_WORLD, pe_n - 1, -1, pe_n);

    check_many(team);
    clear();
    for (int i = 0; i < 32; i++)
        PE_REQUIRE(shmem_team_create_ctx(team, 0, &ctxs[i]) == 0,
                   "shmem_team_create_ctx failed for context %d", i);
    for (int i = 0; i < 32; i++)
        shmem_ctx_uint64_atomic_add(ctxs[i], &sums[i], 5, 0); /* the world's last PE */
    shmem_team_destroy(team);
    shmem_sync_all();
    for (int i = 0; i < 32 && pe_me == pe_n - 1; i++)
        PE_CHECK_EQ(sums[i], 5 * pe_n);
    shmem_barrier_all();
}

/* A context of its own for each thread, each towards another PE than its neighbour. */
static void *hammer(void *arg)
{
    int id = (int)(intptr_t)arg, ops = pe_rounds(OPS), pe = (pe_me + id) % pe_n;
    unsigned char from[CHUNK], got[CHUNK];
    unsigned char *there = inbox + (size_t)(pe_me * THREADS + id) * CHUNK;
    shmem_ctx_t ctx = pe_ctx(SHMEM_CTX_PRIVATE);

    for (int i = 1; i <= ops; i++) {
        shmem_ctx_uint64_atomic_add(ctx, &hammered[id], 1, pe);
        if (i % 16) continue;
        pe_fill(from, CHUNK, (unsigned)(i + id));
        shmem_ctx_putmem_nbi(ctx, there, from, CHUNK, pe);
        if (i % 32) shmem_ctx_fence(ctx);
        shmem_ctx_quiet(ctx);
        shmem_ctx_getmem_nbi(ctx, got, there, CHUNK, pe);
        shmem_ctx_quiet(ctx);
        PE_CHECK_BYTES(got, CHUNK, (unsigned)(i + id), "a thread's put on its context");
    }
    shmem_ctx_destroy(ctx);
    return NULL;
}

static void check_threads(void)
{
    if (pe_n * THREADS > MANY) return;
    stress_stage("%d threads", THREADS);
    memset(hammered, 0, sizeof(hammered));
    shmem_barrier_all();
    pe_run_threads(THREADS, hammer);
    shmem_sync_all();                 /* destroy has completed what they did */
    for (int i = 0; i < THREADS; i++) /* each PE is the target of one PE per thread number */
        PE_CHECK_EQ(hammered[i], pe_rounds(OPS));
    shmem_barrier_all();
}

static void cycle(int times)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_ctx_t ctx;

    for (int i = 0; i < times; i++) {
        ctx = pe_ctx(options[i % N_OPTIONS]);
        if (i % 8 == 0) shmem_ctx_uint64_atomic_inc(ctx, &sums[0], pe_right());
        shmem_ctx_destroy(ctx);
    }
    for (int i = 0; i < times / 100; i++) {
        team = pe_split(SHMEM_TEAM_WORLD, 0, 1, pe_n);
        PE_REQUIRE(shmem_team_create_ctx(team, 0, &ctx) == 0,
                   "shmem_team_create_ctx failed in cycle %d", i);
        shmem_team_destroy(team);
    }
    shmem_barrier_all();
}

static void check_leaks(void)
{
    static const struct pe_slack slack = {
        .maps = 8, .heap_kib = 64, .virtual_kib = PE_ARENAS, .rss_kib = 4096};
    struct pe_holdings before, after;

    stress_stage("contexts in cycles");
    cycle(CYCLES); /* what grows once has grown */
    before = pe_holdings();
    cycle(CYCLES);
    after = pe_holdings_settled(&before);
    pe_check_holdings(&before, &after, &slack, "contexts created and destroyed");
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    int provided;

    stress_options(argc, argv);
    signal(SIGALRM, stress_hung);
    PE_REQUIRE(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0,
               "shmem_init_thread failed");
    pe_test_attach();
    clock_gettime(CLOCK_MONOTONIC, &stress_started);
    PE_REQUIRE(provided == SHMEM_THREAD_MULTIPLE,
               "the library provides thread level %d, expected SHMEM_THREAD_MULTIPLE", provided);
    inbox = pe_malloc((size_t)MANY * CHUNK);
    sums = pe_calloc(MANY + 1, sizeof(*sums));
    while (stress_more(ROUNDS)) {
        n_ctxs = stress_round % 2 ? MANY : FEW;
        check_many(SHMEM_TEAM_WORLD);
        check_team();
        check_threads();
        check_leaks();
        stress_ops += (uint64_t)n_ctxs * 6;
    }
    return stress_end("many_ctx");
}
