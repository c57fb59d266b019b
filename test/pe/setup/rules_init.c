/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks init and finalize rule by rule (OpenSHMEM 1.6, sections 9.1 and 9.2; rules R1-R9 and R16
 * of docs/reference/conformance.md): counted inits at each thread level, queries from any thread,
 * what the last finalize completes and frees, and a process that works without the library and
 * initializes it again many times without a leak.
 *
 * usage: rules_init [number of cycles, default 50]
 */
#include "pe_table.h"

#include "pe_leaks.h"
#include "pe_threads.h"

#include <sched.h>

enum { LEVELS = 4, WARM = 3, BULK = 64 * 1024 };

static const int levels[LEVELS] = {SHMEM_THREAD_SINGLE, SHMEM_THREAD_FUNNELED,
                                   SHMEM_THREAD_SERIALIZED, SHMEM_THREAD_MULTIPLE};
_Static_assert(SHMEM_THREAD_SINGLE < SHMEM_THREAD_FUNNELED &&
                   SHMEM_THREAD_FUNNELED < SHMEM_THREAD_SERIALIZED &&
                   SHMEM_THREAD_SERIALIZED < SHMEM_THREAD_MULTIPLE,
               "the values of the thread levels increase (R27)");
static int n_cycles = 50;
static long global_word;
static unsigned char global_bulk[BULK];

static int ask_initialized(void)
{
    int flag = -77;

    shmem_query_initialized(&flag);
    return flag;
}

static void *ask_in_thread(void *arg)
{
    int level = -77;

    *(int *)arg = ask_initialized();
    if (*(int *)arg) shmem_query_thread(&level);
    return (void *)(long)level;
}

/* Another thread's answers: initialised, and the level. */
static int thread_asks(int *level)
{
    int up = -1;
    void *said;

    pthread_join(pe_thread(ask_in_thread, &up), &said);
    *level = (int)(long)said;
    return up;
}

/* The answer of query_initialized follows the references, in this thread and in any other. */
static void expect_up(bool up, const char *when)
{
    int level;

    PE_CHECK((ask_initialized() != 0) == up,
             "%s: shmem_query_initialized returned %d, expected the opposite", when,
             ask_initialized());
    PE_CHECK(
        (thread_asks(&level) != 0) == up,
        "%s: shmem_query_initialized in another thread returned the opposite of the expected value",
        when);
}

/* Inits of any kind and level add up; each asks and is told; every finalize but the last waits. */
static void check_references(void)
{
    long *cell, depth = 0;
    int highest = SHMEM_THREAD_SINGLE;

    for (int k = 0; k < 12; k++) {
        int provided = -77, level = -77, other = -77;

        if (k % 4 == 3) {
            start_pes(5); /* adds nothing where the library is up */
            continue;
        }
        if (k % 4 == 2)
            shmem_init();
        else
            PE_CHECK_EQ(shmem_init_thread(levels[(k * 3) % LEVELS], &provided), 0);
        depth++;
        if (k == 0) pe_me = shmem_my_pe();
        shmem_query_thread(&level);
        if (k % 4 != 2) {
            PE_CHECK_EQ(level, provided);
            PE_CHECK(provided >= SHMEM_THREAD_SINGLE && provided <= SHMEM_THREAD_MULTIPLE,
                     "shmem_init_thread provided %d, which is not a thread level", provided);
            PE_CHECK(
                provided >= levels[(k * 3) % LEVELS],
                "shmem_init_thread provided level %d, expected at least the requested level %d",
                provided, levels[(k * 3) % LEVELS]);
        }
        PE_CHECK(level >= highest,
                 "the thread level is %d after another init, it was %d before and may not decrease",
                 level, highest);
        highest = level;
        expect_up(true, "between inits");
        PE_CHECK(thread_asks(&other) != 0 && other == level,
                 "shmem_query_thread in another thread returned %d, expected %d", other, level);
        PE_CHECK_EQ(shmem_my_pe(), pe_me);
    }
    pe_n = shmem_n_pes();
    cell = pe_calloc((size_t)pe_n, sizeof(*cell));
    for (long k = 1; k < depth; k++) {
        for (int pe = 0; pe < pe_n; pe++)
            shmem_long_p(&cell[pe_me], k, pe);
        if ((k + pe_me) % 3 == 0) sched_yield();
        shmem_finalize();
        for (int pe = 0; pe < pe_n; pe++)
            PE_CHECK(cell[pe] >= k,
                     "finalize %ld, which is not the last, returned before pe %d called it", k, pe);
        expect_up(true, "after a finalize that is not the last");
        PE_CHECK_EQ(shmem_my_pe(), pe_me);
        PE_CHECK_EQ(shmem_n_pes(), pe_n);
    }
    shmem_free(cell);
    shmem_finalize();
    expect_up(false, "after the last finalize");
}

/* Teams, contexts with work under way, memory: the last finalize ends all of it. */
static void leave_things(unsigned stamp)
{
    static unsigned char source[BULK];
    shmem_team_t team[3] = {SHMEM_TEAM_INVALID, SHMEM_TEAM_INVALID, SHMEM_TEAM_INVALID};
    shmem_ctx_t ctx[4] = {SHMEM_CTX_DEFAULT};
    int to = pe_right(), n = pe_n, quarter = BULK / 4;

    team[0] = pe_split(SHMEM_TEAM_WORLD, 0, 1, n);
    PE_CHECK_EQ(shmem_team_split_2d(team[0], 2, NULL, 0, &team[1], NULL, 0, &team[2]), 0);
    ctx[1] = pe_ctx(0);
    PE_CHECK_EQ(shmem_team_create_ctx(team[0], 0, &ctx[2]), 0);
    PE_CHECK_EQ(shmem_team_create_ctx(team[0], SHMEM_CTX_NOSTORE, &ctx[3]), 0);
    (void)pe_malloc(5000);
    (void)pe_ctx(SHMEM_CTX_PRIVATE); /* undefined: ended as well */
    pe_fill(source, BULK, stamp + (unsigned)pe_me);
    shmem_barrier_all();
    for (int i = 0; i < 4; i++)
        shmem_ctx_putmem_nbi(ctx[i], global_bulk + i * quarter, source + i * quarter,
                             (size_t)quarter, to);
    shmem_ctx_long_atomic_add(ctx[2], &global_word, 1, to);
    shmem_long_p((long *)global_bulk, shmem_long_g((long *)source, pe_me), to);
}

static void check_last_finalize(void)
{
    for (unsigned round = 0; round < 4; round++) {
        int provided;

        PE_CHECK_EQ(shmem_init_thread(levels[round % LEVELS], &provided), 0);
        global_word = 5;
        leave_things(round * 16);
        shmem_finalize();
        PE_CHECK_EQ(global_word, 6);
        PE_CHECK_BYTES(global_bulk, BULK, round * 16 + (unsigned)pe_left(), "put before finalize");
    }
}

static void *live_on(void *arg)
{
    memset(arg, 7, 100000);
    return NULL;
}

/* Without the library a process is a process: memory, threads, files, its globals. */
static void check_life_after(void)
{
    char *block = pe_private(100000), line[64] = "";
    long before = global_word;
    FILE *file = tmpfile();

    PE_REQUIRE(file != NULL, "tmpfile() failed");
    expect_up(false, "in the life after");
    pthread_join(pe_thread(live_on, block), NULL);
    PE_CHECK_SAME(block, 100000, 7, "another thread's memory");
    fprintf(file, "after finalize %d\n", pe_me);
    rewind(file);
    PE_CHECK(fgets(line, sizeof(line), file) != NULL && atoi(line + 15) == pe_me,
             "after finalize, a temporary file has the line \"%s\", expected the number of this PE",
             line);
    fclose(file);
    for (int i = 0; i < 10; i++)
        sched_yield();
    PE_CHECK_EQ(global_word, before);
    memset(global_bulk, 9, BULK);
    PE_CHECK_SAME(global_bulk, BULK, 9, "a global after finalize");
    free(block);
}

/* The same place in the job each time, a heap that is whole, a world that works. */
static void one_cycle(int cycle)
{
    int provided = -1;
    long *cell;

    if (cycle % 3 == 0)
        shmem_init();
    else
        PE_CHECK_EQ(shmem_init_thread(levels[cycle % LEVELS], &provided), 0);
    PE_CHECK_EQ(shmem_my_pe(), pe_me);
    PE_CHECK_EQ(shmem_n_pes(), pe_n);
    cell = pe_calloc(2, sizeof(*cell));
    shmem_long_p(&cell[0], cycle * 100 + pe_me, pe_right());
    shmem_barrier_all();
    PE_CHECK_EQ(cell[0], cycle * 100 + pe_left());
    cell[0] = pe_me;
    PE_CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &cell[1], &cell[0], 1), 0);
    PE_CHECK_EQ(cell[1], (long)pe_n * (pe_n - 1) / 2);
    if (cycle % 2) shmem_free(cell);
    if (cycle % 5 == 0) leave_things((unsigned)cycle);
    shmem_finalize();
    expect_up(false, "between cycles");
}

static void check_cycles(void)
{
    struct pe_slack slack = {
        .maps = 8, .heap_kib = 8, .virtual_kib = 2 * PE_ARENAS, .rss_kib = 8192};
    const char *provider = getenv("SHMEM_OFI_PROVIDER");
    struct pe_holdings before, after;

    if (provider != NULL) slack.heap_kib = 16;
    /* what closing these two leaves in libfabric, each time */
    if (provider != NULL && strcmp(provider, "net") == 0) slack.heap_kib += 5 * n_cycles;
    if (provider != NULL && strcmp(provider, "shm") == 0) slack.heap_kib += n_cycles;
    for (int cycle = 0; cycle < WARM; cycle++)
        one_cycle(cycle * 5); /* caches fill */
    before = pe_holdings();
    for (int cycle = 0; cycle < n_cycles; cycle++)
        one_cycle(cycle);
    after = pe_holdings();
    pe_check_holdings(&before, &after, &slack, "after cycles of init and finalize");
}

/* These leave the library as they find it, not initialised; so PEs do not meet between them. */
static const struct pe_rule rules[] = {
    {"R1 R2 R7 R8 R9 R16 references are counted, levels told", check_references},
    {"R4 R5 the last finalize completes and ends everything", check_last_finalize},
    {"R6 the process lives on", check_life_after},
    {"R3 up again and again, and nothing is left behind", check_cycles},
    {"R6 the process lives on, again", check_life_after},
};

int main(int argc, char **argv)
{
    if (argc > 1) n_cycles = atoi(argv[1]);
    expect_up(false, "before the first init");
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        int before = pe_failures;

        rules[i].check();
        if (pe_failures != before)
            fprintf(stderr, "pe %d: this rule is broken: %s\n", pe_me, rules[i].name);
    }
    pe_test_begin();
    return pe_test_end();
}
