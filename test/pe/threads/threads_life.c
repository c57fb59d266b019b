/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks four threads of each PE that create and destroy at the same time: contexts of the world
 * and of teams, and teams of different parents with all collectives. Then one thread allocates
 * while the others query and communicate. New objects must work, and destroying a context must
 * complete its operations.
 */
#include "pe_threads.h"

enum { THREADS = 4, ROUNDS = 24, VALUES = 8, MAX_PES = 16, WORDS = VALUES * MAX_PES * 2 };

static shmem_team_t parents[THREADS];
static long *source, *dest, *slots; /* WORDS a thread */
static int asking;                  /* threads that still ask, while one allocates */

static void run_threads(void *(*body)(void *))
{
    pe_run_threads(THREADS, body);
    shmem_barrier_all();
}

/* ---- contexts --------------------------------------------------------------------- */

/* A context lives for a round; its end is its quiet. */
static void *contexts(void *arg)
{
    static const long options[] = {0, SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED, SHMEM_CTX_NOSTORE};
    long id = (long)arg, *mine = slots + id * WORDS;
    int right = (shmem_team_my_pe(parents[id]) + 1) % pe_n;

    for (long round = 0; round < pe_rounds(ROUNDS * 4); round++) {
        long values[VALUES], got[VALUES], opts = options[(round + id) % 4];
        shmem_team_t team = SHMEM_TEAM_INVALID;
        shmem_ctx_t ctx = SHMEM_CTX_INVALID;
        int rc = round % 2 ? shmem_ctx_create(opts, &ctx)
                           : shmem_team_create_ctx(parents[id], opts, &ctx);

        PE_REQUIRE(rc == 0 && ctx != SHMEM_CTX_INVALID, "round %ld: creating a context failed",
                   round);
        PE_CHECK_EQ(shmem_ctx_get_team(ctx, &team), 0);
        PE_CHECK(team == (round % 2 ? SHMEM_TEAM_WORLD : parents[id]),
                 "shmem_ctx_get_team returned another team than that of the context");
        for (int i = 0; i < VALUES; i++)
            values[i] = round * 100 + id * 10 + i;
        shmem_ctx_long_put_nbi(ctx, mine, values, VALUES, right);
        shmem_ctx_long_atomic_inc(ctx, &mine[VALUES], right);
        shmem_ctx_destroy(ctx);
        shmem_long_get(got, mine, VALUES, right);
        PE_CHECK(memcmp(got, values, sizeof(got)) == 0,
                 "round %ld, thread %ld: shmem_ctx_destroy did not complete the put on the context",
                 round, id);
        PE_CHECK_EQ(shmem_long_atomic_fetch(&mine[VALUES], right), round + 1);
    }
    return NULL;
}

/* ---- teams and their collectives ----------------------------------------------------- */

static void use_reductions(shmem_team_t team, long tag, long *from, long *to)
{
    int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team);

    for (int i = 0; i < VALUES; i++)
        from[i] = tag + me * (i + 1);
    PE_CHECK_EQ(shmem_long_sum_reduce(team, to, from, VALUES), 0);
    for (int i = 0; i < VALUES; i++)
        PE_CHECK_EQ(to[i], tag * n + (long)n * (n - 1) / 2 * (i + 1));
    shmem_team_sync(team);
    PE_CHECK_EQ(shmem_long_max_reduce(team, to, from, VALUES), 0);
    for (int i = 0; i < VALUES; i++)
        PE_CHECK_EQ(to[i], tag + (n - 1) * (i + 1));
    shmem_team_sync(team);
}

static void use_collections(shmem_team_t team, long tag, long *from, long *to)
{
    int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team), root = (int)(tag % n);
    int mine = me % 2 + 1, at = 0;

    for (int i = 0; i < n; i++)
        from[i] = tag + me * 100 + i;
    shmem_team_sync(team); /* some were busy in another team with the same memory */
    PE_CHECK_EQ(shmem_long_alltoall(team, to, from, 1), 0);
    for (int i = 0; i < n; i++)
        PE_CHECK_EQ(to[i], tag + i * 100 + me);
    shmem_team_sync(team);
    PE_CHECK_EQ(shmem_long_fcollect(team, to, from, 2), 0);
    for (int i = 0; i < n; i++)
        PE_CHECK_EQ(to[2 * i], tag + i * 100);
    shmem_team_sync(team);
    PE_CHECK_EQ(shmem_long_collect(team, to, from, (size_t)mine), 0);
    for (int i = 0; i < n; at += i % 2 + 1, i++)
        PE_CHECK_EQ(to[at], tag + i * 100);
    shmem_team_sync(team);
    PE_CHECK_EQ(shmem_long_broadcast(team, to, from, 2, root), 0);
    PE_CHECK_EQ(to[0], tag + root * 100);
    shmem_team_sync(team);
}

/* Split this thread's parent, use what comes, let go of it. */
static void *teams(void *arg)
{
    long id = (long)arg, *from = source + id * WORDS, *to = dest + id * WORDS;

    for (long round = 0; round < pe_rounds(ROUNDS); round++) {
        shmem_team_t whole = SHMEM_TEAM_INVALID, part = SHMEM_TEAM_INVALID;
        long tag = (id + 1) * 10000 + round * 17;
        int even = (pe_n + 1) / 2;

        whole = pe_split(parents[id], pe_n - 1, -1, pe_n);
        PE_CHECK_EQ(shmem_team_my_pe(whole), pe_n - 1 - shmem_team_my_pe(parents[id]));
        use_reductions(whole, tag, from, to);
        part = pe_split(whole, 0, 2, even);
        if (part != SHMEM_TEAM_INVALID) {
            PE_CHECK_EQ(shmem_team_n_pes(part), even);
            use_collections(part, tag, from, to);
            shmem_team_destroy(part);
        }
        use_collections(whole, tag + 1, from, to);
        shmem_team_destroy(whole);
    }
    return NULL;
}

/* ---- allocation and questions --------------------------------------------------------- */

/* One thread a PE, as allocation is collective over the world. */
static void allocate(void)
{
    for (long round = 0; round < pe_rounds(ROUNDS); round++) {
        size_t n = 100u << (round % 8);
        long *one = pe_malloc(n * sizeof(*one));
        long *two = pe_calloc(n, sizeof(*two));

        PE_CHECK_SAME(two, n * sizeof(*two), 0, "memory from calloc");
        for (size_t i = 0; i < n; i++)
            one[i] = two[i] = round * 7 + (long)i;
        one = shmem_realloc(one, 2 * n * sizeof(*one));
        PE_REQUIRE(one != NULL, "round %ld: shmem_realloc returned NULL", round);
        PE_CHECK(memcmp(one, two, n * sizeof(*two)) == 0,
                 "round %ld: shmem_realloc did not keep the contents", round);
        shmem_free(two);
        shmem_free(one);
    }
}

static void ask(long id)
{
    long *mine = slots + id * WORDS, local = 0;
    int level = -1, up = 0, major, minor, pe = (int)((pe_me + id) % pe_n);
    long *there = shmem_ptr(mine, pe);

    shmem_query_thread(&level);
    PE_CHECK_EQ(level, SHMEM_THREAD_MULTIPLE);
    shmem_query_initialized(&up);
    PE_CHECK_EQ(up, 1);
    shmem_info_get_version(&major, &minor);
    PE_CHECK_EQ(major, SHMEM_MAJOR_VERSION);
    PE_CHECK_EQ(shmem_my_pe(), pe_me);
    PE_CHECK_EQ(shmem_n_pes(), pe_n);
    PE_CHECK_EQ(shmem_pe_accessible(pe), 1);
    PE_CHECK_EQ(shmem_addr_accessible(mine, pe), 1);
    PE_CHECK_EQ(shmem_addr_accessible(&local, pe), 0);
    PE_CHECK_EQ(shmem_team_translate_pe(parents[id], 0, SHMEM_TEAM_WORLD), 0);
    PE_CHECK_EQ(shmem_long_g(&mine[VALUES + 1], pe), 4711 + id);
    if (there != NULL) PE_CHECK_EQ(there[VALUES + 1], 4711 + id);
}

static void *allocate_and_ask(void *arg)
{
    long id = (long)arg;

    if (id == 0) {
        allocate();
        __atomic_store_n(&asking, 0, __ATOMIC_RELEASE);
    } else {
        do
            ask(id);
        while (__atomic_load_n(&asking, __ATOMIC_ACQUIRE));
    }
    return NULL;
}

/* ---- all of it ------------------------------------------------------------------------- */

static void check_threads(void)
{
    for (int t = 0; t < THREADS; t++) {
        parents[t] = pe_split(SHMEM_TEAM_WORLD, 0, 1, pe_n);
        slots[t * WORDS + VALUES + 1] = 4711 + t;
    }
    shmem_barrier_all();
    run_threads(contexts);
    run_threads(teams);
    asking = 1;
    run_threads(allocate_and_ask);
    for (int t = 0; t < THREADS; t++)
        shmem_team_destroy(parents[t]);
}

int main(void)
{
    if (!pe_threads_begin()) return pe_test_end();
    PE_REQUIRE(pe_n <= MAX_PES, "this test runs with at most %d PEs", MAX_PES);
    source = pe_calloc((size_t)THREADS * WORDS, sizeof(*source));
    dest = pe_calloc((size_t)THREADS * WORDS, sizeof(*dest));
    slots = pe_calloc((size_t)THREADS * WORDS, sizeof(*slots));
    check_threads();
    return pe_test_end();
}
