/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks threads rule by rule (OpenSHMEM 1.6, section 9.2; rules R28-R32, R34-R36, R85, R86 and R98
 * of docs/reference/conformance.md): a blocked thread blocks no other thread, one quiet completes
 * the operations of all threads, atomics and waits of one PE's threads see each other, and
 * collectives of different teams run at the same time. A thread that blocks others shows as a hang.
 *
 * usage: rules_threads [late]
 *   late: shmem_init comes first, and shmem_init_thread raises the level
 */
#include "pe_table.h"
#include "pe_threads.h"

#include <sched.h>

enum { THREADS = 4, BULK = 100 * 1024, CELLS = 64 };

static long *cells;                          /* symmetric, CELLS */
static char *inbox;                          /* symmetric, THREADS * BULK */
static char *outbox;                         /* THREADS * BULK */
static uint64_t *words;                      /* symmetric, 4 */
static char letters_in[64], letters_out[64]; /* one for each PE */
static shmem_team_t teams[THREADS];          /* the world again, once for each thread */
static shmem_ctx_t shared_ctx;
static pthread_barrier_t together;

/* ---- a blocked call blocks its thread only ------------------------------------------------ */

enum blocker {
    IN_WAIT,
    IN_SIGNAL,
    IN_WAIT_ALL,
    IN_WAIT_ANY,
    IN_WAIT_SOME,
    IN_LOCK,
    IN_BARRIER,
    IN_SYNC_ALL,
    IN_SYNC,
    IN_REDUCE,
    IN_BROADCAST,
    IN_ALLTOALL,
    IN_MALLOC,
    IN_FREE,
    IN_REALLOC,
    IN_SPLIT,
    IN_FINALIZE,
    N_BLOCKERS
};
static const char *const blocker_names[N_BLOCKERS] = {
    "wait_until", "signal_wait_until", "wait_until_all", "wait_until_any", "wait_until_some",
    "set_lock",   "barrier_all",       "sync_all",       "team_sync",      "reduce",
    "broadcast",  "alltoall",          "malloc",         "free",           "realloc",
    "split",      "finalize"};
static long taken_lock; /* the last PE has it while another thread wants it */
static void *spare;     /* symmetric, for free and realloc */

/* A call that cannot end before somebody else does something. */
static void block_in(enum blocker in)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    size_t found;

    switch (in) {
    case IN_WAIT:
        shmem_long_wait_until(&cells[0], SHMEM_CMP_EQ, 1);
        break;
    case IN_SIGNAL:
        shmem_signal_wait_until(&words[0], SHMEM_CMP_EQ, 1);
        break;
    case IN_WAIT_ALL:
        shmem_long_wait_until_all(&cells[0], 1, NULL, SHMEM_CMP_EQ, 1);
        break;
    case IN_WAIT_ANY:
        shmem_long_wait_until_any(&cells[0], 1, NULL, SHMEM_CMP_EQ, 1);
        break;
    case IN_WAIT_SOME:
        shmem_long_wait_until_some(&cells[0], 1, &found, NULL, SHMEM_CMP_EQ, 1);
        break;
    case IN_LOCK:
        shmem_set_lock(&taken_lock);
        shmem_clear_lock(&taken_lock);
        break;
    case IN_BARRIER:
        shmem_barrier_all();
        break;
    case IN_SYNC_ALL:
        shmem_sync_all();
        break;
    case IN_SYNC:
        shmem_team_sync(teams[0]);
        break;
    case IN_REDUCE:
        shmem_long_sum_reduce(teams[0], &cells[8], &cells[9], 1);
        break;
    case IN_BROADCAST:
        shmem_long_broadcast(teams[0], &cells[10], &cells[11], 1, pe_n - 1);
        break;
    case IN_ALLTOALL:
        shmem_alltoallmem(teams[0], letters_in, letters_out, 1);
        break;
    case IN_MALLOC:
        shmem_free(shmem_malloc(100));
        break;
    case IN_FREE:
        shmem_free(spare);
        break;
    case IN_REALLOC:
        shmem_free(shmem_realloc(spare, 200));
        break;
    case IN_SPLIT:
        shmem_team_split_strided(teams[0], 0, 1, 1, NULL, 0, &team);
        shmem_team_destroy(team);
        break;
    default:
        shmem_finalize(); /* not the last one */
    }
}

static void *blocked(void *arg)
{
    block_in(*(const enum blocker *)arg);
    return NULL;
}

/* A lock that nobody wants, a wait that is over, and heap calls that have nothing to do. */
static void wait_beside(void)
{
    static long free_lock; /* symmetric */
    size_t found = 1;

    shmem_set_lock(&free_lock);
    shmem_clear_lock(&free_lock);
    PE_CHECK_EQ(shmem_test_lock(&free_lock), 0);
    shmem_clear_lock(&free_lock);
    shmem_long_atomic_set(&cells[21], 1, pe_me);
    PE_CHECK_EQ(shmem_long_wait_until_some(&cells[21], 1, &found, NULL, SHMEM_CMP_EQ, 1), 1);
    PE_CHECK_EQ(found, 0);
    shmem_free(NULL);
    PE_CHECK(shmem_realloc(NULL, 0) == NULL,
             "shmem_realloc(NULL, 0) returned memory, expected NULL");
}

/* What a thread does beside the blocked one: something of every kind that needs no partner. */
static void work_beside(void)
{
    static uint64_t fetched; /* symmetric */
    int provided = -1, level = -1, up = 0;
    long got;
    shmem_ctx_t ctx = pe_ctx(0);

    shmem_putmem_nbi(inbox, outbox, BULK, pe_right());
    shmem_ctx_putmem(ctx, inbox + BULK, outbox, 1000, pe_right());
    got = shmem_long_atomic_fetch_add(&cells[20], 1, pe_right());
    PE_CHECK_EQ(got, 0);
    shmem_ctx_uint64_atomic_fetch_nbi(ctx, &fetched, (uint64_t *)&cells[20], pe_right());
    shmem_ctx_quiet(ctx);
    PE_CHECK_EQ(fetched, 1);
    shmem_fence();
    shmem_quiet();
    shmem_ctx_destroy(ctx);
    PE_CHECK_EQ(shmem_long_g(&cells[20], pe_right()), 1);
    PE_CHECK_EQ(shmem_team_my_pe(teams[0]), pe_me);
    PE_CHECK_EQ(shmem_team_translate_pe(teams[0], pe_me, SHMEM_TEAM_WORLD), pe_me);
    PE_CHECK_EQ(shmem_my_pe(), pe_me);
    wait_beside();
    shmem_query_initialized(&up);
    PE_CHECK(up != 0,
             "shmem_query_initialized returned 0 beside a blocked thread, expected nonzero");
    shmem_query_thread(&level);
    PE_CHECK_EQ(level, SHMEM_THREAD_MULTIPLE);
    PE_CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0); /* one more reference */
    PE_CHECK_EQ(provided, SHMEM_THREAD_MULTIPLE);
}

/*
 * PE 0's second thread blocks; its first works, and only then lets the others come, who go into
 * the same call. If the blocked thread kept anything from the first one, nobody would go on.
 */
static void check_blocked(void)
{
    for (enum blocker in = 0; in < N_BLOCKERS; in++) {
        pthread_t thread;

        for (int i = 0; i < CELLS; i++)
            cells[i] = 0;
        words[0] = 0;
        if (in == IN_FINALIZE) shmem_init(); /* the reference that is given up */
        if (in == IN_FREE || in == IN_REALLOC) spare = shmem_malloc(100);
        if (in == IN_LOCK && pe_me == pe_n - 1) shmem_set_lock(&taken_lock);
        shmem_barrier_all();
        if (pe_me != 0) {
            shmem_long_wait_until(&cells[1], SHMEM_CMP_EQ, 1);
            if (in == IN_LOCK && pe_me == pe_n - 1) shmem_clear_lock(&taken_lock);
            if (in >= IN_BARRIER) block_in(in);
            shmem_init(); /* as many references as PE 0 has got */
        } else {
            thread = pe_thread(blocked, &in);
            for (int i = 0; i < 50; i++)
                sched_yield(); /* likely in it by now */
            work_beside();
            for (int pe = 1; pe < pe_n; pe++)
                shmem_long_atomic_set(&cells[1], 1, pe);
            if (in == IN_LOCK && pe_n == 1)
                shmem_clear_lock(&taken_lock);
            else if (in == IN_SIGNAL)
                shmem_signal_set(&words[0], 1, 0);
            else if (in < IN_BARRIER)
                shmem_long_atomic_set(&cells[0], 1, 0);
            pthread_join(thread, NULL);
        }
        shmem_finalize();
        PE_CHECK(shmem_my_pe() == pe_me,
                 "after a thread was blocked in %s, shmem_my_pe returned another number",
                 blocker_names[in]);
    }
}

/* ---- one PE, several threads -------------------------------------------------------------- */

/* Whoever the thread is, it is this PE, and its heap is the PE's. */
static void *same_pe(void *arg)
{
    long i = (long)arg;

    PE_CHECK_EQ(shmem_my_pe(), pe_me);
    PE_CHECK_EQ(shmem_n_pes(), pe_n);
    shmem_long_atomic_add(&cells[i], pe_me + 1, pe_right());
    PE_CHECK(shmem_ptr(cells, pe_me) == cells,
             "shmem_ptr for this PE itself is not the address of the object");
    return NULL;
}

static void check_same_pe(void)
{
    memset(cells, 0, CELLS * sizeof(*cells));
    shmem_barrier_all();
    pe_run_threads(THREADS, same_pe);
    shmem_barrier_all();
    for (int i = 0; i < THREADS; i++)
        PE_CHECK_EQ(cells[i], pe_left() + 1);
}

/* Threads 1.. start puts on the shared context; thread 0, afterwards, quiets and tells. */
static void *put_and_quiet(void *arg)
{
    long i = (long)arg;

    for (int round = 1; round <= pe_rounds(24); round++) {
        char *mine = outbox + i * BULK;

        pe_fill(mine, BULK, (unsigned)(round * 64 + i * 16 + pe_me));
        if (i > 0) {
            shmem_ctx_putmem_nbi(shared_ctx, inbox + i * BULK, mine, BULK, pe_right());
            shmem_ctx_long_atomic_add(shared_ctx, &cells[i], 1, pe_right());
        }
        pthread_barrier_wait(&together); /* orders the puts before the quiet */
        if (i == 0) {
            shmem_ctx_quiet(shared_ctx);
            shmem_signal_set(&words[1], (uint64_t)round, pe_right()); /* on another context */
            shmem_signal_wait_until(&words[1], SHMEM_CMP_GE, (uint64_t)round);
            for (int t = 1; t < THREADS; t++) {
                PE_CHECK_BYTES(inbox + t * BULK, BULK, (unsigned)(round * 64 + t * 16 + pe_left()),
                               "another thread's put");
                PE_CHECK_EQ(cells[t], round);
            }
            shmem_barrier_all();
        }
        pthread_barrier_wait(&together);
    }
    return NULL;
}

static void check_quiet_of_others(void)
{
    memset(cells, 0, CELLS * sizeof(*cells));
    words[1] = 0;
    shmem_barrier_all();
    pe_run_threads(THREADS, put_and_quiet);
}

/* Plain stores of one thread, handed over inside the PE, then quiet and flag by another. */
static void *store_for_another(void *arg)
{
    long i = (long)arg;
    long *there = shmem_ptr(cells, pe_right());

    for (long round = 1; round <= pe_rounds(200); round++) {
        if (i == 1 && there != NULL) there[2] = round;
        if (i == 1 && there == NULL) shmem_long_p(&cells[2], round, pe_right());
        pthread_barrier_wait(&together);
        if (i == 0) {
            if (round % 2)
                shmem_quiet();
            else
                shmem_fence();
            shmem_long_atomic_set(&cells[3], round, pe_right());
            shmem_long_wait_until(&cells[3], SHMEM_CMP_GE, round);
            PE_CHECK(
                cells[2] >= round,
                "round %ld: quiet or fence did not order the store of another thread: the word is "
                "%ld when the flag is here",
                round, cells[2]);
        }
        pthread_barrier_wait(&together); /* alone, a PE stores what it has just read */
    }
    return NULL;
}

static void check_stores_of_others(void)
{
    memset(cells, 0, CELLS * sizeof(*cells));
    shmem_barrier_all();
    pe_run_threads(THREADS, store_for_another);
}

/*
 * One thread's atomic, fence and put stay in order while another one quiets the same context all
 * the time: a quiet is not the end of what others have sent since.
 */
static void *fence_beside_quiet(void *arg)
{
    long i = (long)arg;

    for (long round = 1; i == 1 && round <= pe_rounds(400); round++) {
        shmem_ctx_long_atomic_set(shared_ctx, &cells[5], round, pe_right());
        shmem_ctx_fence(shared_ctx);
        shmem_ctx_long_p(shared_ctx, &cells[6], round, pe_right());
        shmem_long_wait_until(&cells[6], SHMEM_CMP_GE, round);
        PE_CHECK(
            cells[5] >= round,
            "round %ld: fence did not order the atomic before the put while another thread quiets: "
            "the word is %ld",
            round, cells[5]);
    }
    if (i == 1) __atomic_store_n(&cells[7], 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&cells[7], __ATOMIC_ACQUIRE) == 0) {
        shmem_ctx_quiet(shared_ctx);
        sched_yield();
    }
    return NULL;
}

static void check_fence_beside_quiet(void)
{
    memset(cells, 0, CELLS * sizeof(*cells));
    shmem_barrier_all();
    pe_run_threads(THREADS, fence_beside_quiet);
}

/* A ring of threads of this PE: each waits for its word, and sets the next one's by an atomic. */
static void *ring_of_threads(void *arg)
{
    long i = (long)arg, next = (i + 1) % THREADS;
    int *word = (int *)&cells[i], *next_word = (int *)&cells[next];

    for (int round = 1; round <= pe_rounds(400); round++) {
        if (i > 0 || round > 1) {
            int want = i > 0 ? round : round - 1;

            if (round % 2)
                shmem_int_wait_until(word, SHMEM_CMP_GE, want);
            else
                while (!shmem_int_test(word, SHMEM_CMP_GE, want))
                    sched_yield();
        }
        switch (round % 4) {
        case 0:
            shmem_int_atomic_set(next_word, round, pe_me);
            break;
        case 1:
            shmem_int_atomic_inc(next_word, pe_me);
            break;
        case 2:
            shmem_int_atomic_fetch_add(next_word, 1, pe_me);
            break;
        default:
            shmem_int_atomic_compare_swap(next_word, round - 1, round, pe_me);
        }
    }
    return NULL;
}

static void check_ring(void)
{
    memset(cells, 0, CELLS * sizeof(*cells));
    shmem_barrier_all();
    pe_run_threads(THREADS, ring_of_threads);
    for (int i = 0; i < THREADS; i++)
        PE_CHECK_EQ(*(int *)&cells[i], pe_rounds(400));
}

/* ---- collectives ---------------------------------------------------------------------------- */

/* What one thread brings to a collective. */
struct voice {
    long i; /* the thread's number */
    shmem_team_t team;
    long *words;
    char *source, *dest;
    int round;
};

static void sing_reduce(const struct voice *v)
{
    v->words[0] = v->round + pe_me;
    PE_CHECK_EQ(shmem_long_sum_reduce(v->team, &v->words[1], &v->words[0], 1), 0);
    PE_CHECK_EQ(v->words[1], (long)v->round * pe_n + (long)pe_n * (pe_n - 1) / 2);
}

static void sing_broadcast(const struct voice *v)
{
    size_t n = v->round % 10 == 9 ? 3000 : 8;

    pe_fill(v->source, n, (unsigned)(v->round + v->i * 16));
    PE_CHECK_EQ(shmem_broadcastmem(v->team, v->dest, v->source, n, v->round % pe_n), 0);
    PE_CHECK_BYTES(v->dest, n, (unsigned)(v->round + v->i * 16), "broadcast");
}

static void sing_fcollect(const struct voice *v)
{
    size_t n = v->round % 10 == 9 ? 3000 : 8;

    pe_fill(v->source, n, (unsigned)(v->round + pe_me));
    PE_CHECK_EQ(shmem_fcollectmem(v->team, v->dest, v->source, n), 0);
    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK_BYTES(v->dest + (size_t)pe * n, n, (unsigned)(v->round + pe), "fcollect");
}

static void sing_alltoall(const struct voice *v)
{
    for (int pe = 0; pe < pe_n; pe++)
        pe_fill(v->source + (size_t)pe * 8, 8, (unsigned)(v->round + pe * 16 + pe_me));
    PE_CHECK_EQ(shmem_alltoallmem(v->team, v->dest, v->source, 8), 0);
    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK_BYTES(v->dest + (size_t)pe * 8, 8, (unsigned)(v->round + pe_me * 16 + pe),
                       "alltoall");
}

static void sing_sync(const struct voice *v)
{
    if (v->i == 0)
        shmem_barrier_all();
    else
        shmem_team_sync(v->team);
}

static void sing_question(const struct voice *v)
{
    PE_CHECK_EQ(shmem_team_my_pe(teams[(v->i + 1) % THREADS]), pe_me);
}

/* Thread 0 on the world, the others each on a team; another collective every time. */
static void *collectives(void *arg)
{
    static void (*const songs[])(const struct voice *) = {
        sing_reduce, sing_broadcast, sing_fcollect, sing_alltoall, sing_sync, sing_question};
    struct voice v = {.i = (long)arg};
    uint64_t rng = (uint64_t)(v.i * 100 + pe_me + 1);

    v.team = v.i == 0 ? SHMEM_TEAM_WORLD : teams[v.i];
    v.words = cells + v.i * 16;
    v.source = outbox + v.i * BULK;
    v.dest = inbox + v.i * BULK;
    for (v.round = 0; v.round < pe_rounds(120); v.round++) {
        for (uint64_t k = pe_random(&rng) % 4; k > 0; k--)
            sched_yield();
        songs[(v.round + v.i) % 6](&v);
        if (v.i == 0)
            shmem_sync_all(); /* dest of the next call is everybody's again */
        else
            shmem_team_sync(v.team);
    }
    return NULL;
}

static void check_collectives(void)
{
    pe_run_threads(THREADS, collectives);
}

/* Threads ask teams while others make and destroy some. */
static void *ask_or_split(void *arg)
{
    long i = (long)arg;

    for (int round = 0; round < pe_rounds(60); round++) {
        shmem_team_config_t config = {.num_contexts = -1};
        shmem_team_t team = SHMEM_TEAM_INVALID;

        if (i < 2) { /* of different parents at the same time */
            team = pe_split(teams[i], pe_n - 1, -1, pe_n);
            PE_CHECK_EQ(shmem_team_my_pe(team), pe_n - 1 - pe_me);
            PE_CHECK_EQ(shmem_team_sync(team), 0);
            shmem_team_destroy(team);
            continue;
        }
        for (int pe = 0; pe < pe_n; pe++)
            PE_CHECK_EQ(shmem_team_translate_pe(teams[i], pe, teams[0]), pe);
        PE_CHECK_EQ(shmem_team_n_pes(teams[1]), pe_n);
        PE_CHECK_EQ(shmem_team_get_config(teams[0], SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
        PE_CHECK_EQ(config.num_contexts, 0);
    }
    return NULL;
}

static void check_queries(void)
{
    pe_run_threads(THREADS, ask_or_split);
}

static const struct pe_rule rules[] = {
    {"R28 R29 a blocked call blocks its thread only", check_blocked},
    {"R30 every thread is the PE", check_same_pe},
    {"R31 R85 collectives of different teams at once", check_collectives},
    {"R32 R86 questions and splits of different parents at once", check_queries},
    {"R34 atomics and waits of one PE's threads", check_ring},
    {"R35 stores of another thread, made visible, are ordered", check_stores_of_others},
    {"R29 R98 fences of one thread beside quiets of others", check_fence_beside_quiet},
    {"R36 one quiet completes what all threads began", check_quiet_of_others},
};

/* "late": the library is up for one thread when the level is raised. */
int main(int argc, char **argv)
{
    bool late = argc > 1 && strcmp(argv[1], "late") == 0;
    int provided = -1;

    if (late) shmem_init();
    PE_CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
    pe_test_attach();
    PE_REQUIRE(provided == SHMEM_THREAD_MULTIPLE,
               "shmem_init_thread provided level %d, expected SHMEM_THREAD_MULTIPLE", provided);
    PE_REQUIRE((size_t)pe_n * 3000 <= BULK,
               "the test's buffers are too small for this number of PEs");
    cells = pe_calloc(CELLS, sizeof(*cells));
    inbox = pe_malloc(THREADS * BULK);
    outbox = pe_malloc(THREADS * BULK);
    words = pe_calloc(4, sizeof(*words));
    for (int t = 0; t < THREADS; t++)
        teams[t] = pe_split(SHMEM_TEAM_WORLD, 0, 1, pe_n);
    shared_ctx = pe_ctx(0);
    pthread_barrier_init(&together, NULL, THREADS);
    PE_RULES_RUN(rules);
    shmem_ctx_destroy(shared_ctx);
    if (late) shmem_finalize();
    return pe_test_end();
}
