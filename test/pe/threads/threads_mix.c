/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks four threads of each PE that communicate at the same time: a random mix of operations
 * against a model on shared and own contexts, one thread's quiet for the operations of others, and
 * all families of waits and tests. The threads synchronize by pthread barriers, because the thread
 * sanitizer does not see the order of accesses through symmetric memory.
 *
 * usage: threads_mix [seed]
 */
#include "pe_threads.h"

enum { THREADS = 4, AREA = 1024, MAX_PES = 16, STEPS = 1500, ROUNDS = 40, VALUES = 8 };

/* The contexts that a thread draws from. The default one and `common` are used by all threads. */
enum which { DEFAULT, COMMON, PRIVATE, OWN, SERIAL, N_CTX };

static unsigned char *area; /* MAX_PES * THREADS areas: one writer each */
static long *counters;      /* of all PEs and threads: added to by all */
static long *flags;         /* THREADS * VALUES, set by the left neighbour's thread */
static uint64_t *signals;   /* THREADS */
static long *data;          /* THREADS * VALUES */
static shmem_ctx_t common = SHMEM_CTX_INVALID, serial = SHMEM_CTX_INVALID;
static pthread_mutex_t serial_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t together;
static uint64_t seed = 815;

struct worker {
    int id;
    uint64_t rng;
    shmem_ctx_t ctx[N_CTX];
    long added; /* to counters, by this thread */
    bool pending[MAX_PES];
    unsigned char model[MAX_PES][AREA];
    unsigned char source[2][AREA]; /* of puts under way, by turns */
    int turn;
};

static struct worker workers[THREADS];

static void run_threads(void *(*body)(void *))
{
    pe_run_threads(THREADS, body);
    shmem_barrier_all();
}

/* ---- a random mix --------------------------------------------------------------- */

/* My area on any PE. */
static unsigned char *mine(const struct worker *w)
{
    return area + (size_t)(pe_me * THREADS + w->id) * AREA;
}

/* A context for the next step. The serialized one stays locked until done_ctx(). */
static enum which draw_ctx(struct worker *w)
{
    enum which which = (enum which)pe_random_in(&w->rng, 0, N_CTX - 1);

    if (which == SERIAL) pthread_mutex_lock(&serial_lock);
    return which;
}

static void done_ctx(enum which which)
{
    if (which == SERIAL) pthread_mutex_unlock(&serial_lock);
}

/* Everything this thread wrote is done, on whichever context. */
static void settle(struct worker *w)
{
    for (int i = 0; i < N_CTX; i++) {
        if (i == SERIAL) pthread_mutex_lock(&serial_lock);
        shmem_ctx_quiet(w->ctx[i]);
        done_ctx((enum which)i);
    }
    memset(w->pending, 0, sizeof(w->pending));
}

static void step_put(struct worker *w, int pe)
{
    size_t n = pe_random_in(&w->rng, 0, AREA), at = pe_random_in(&w->rng, 0, AREA - n);
    unsigned char *from = w->source[w->turn ^= 1];
    enum which which;

    if (w->pending[pe] || w->turn == 0) settle(w); /* order, and the source is free again */
    for (size_t i = 0; i < n; i++)
        from[i] = (unsigned char)pe_random(&w->rng);
    memcpy(w->model[pe] + at, from, n);
    which = draw_ctx(w);
    switch (pe_random_in(&w->rng, 0, 3)) {
    case 0:
        shmem_ctx_putmem(w->ctx[which], mine(w) + at, from, n, pe);
        break;
    case 1:
        shmem_ctx_putmem_nbi(w->ctx[which], mine(w) + at, from, n, pe);
        break;
    case 2:
        shmem_ctx_uchar_iput(w->ctx[which], mine(w) + at, from, 1, 1, n, pe);
        break;
    default:
        for (size_t i = 0; i < n && i < 9; i++)
            shmem_ctx_uchar_p(w->ctx[which], mine(w) + at + i, from[i], pe);
        if (n > 9) shmem_ctx_putmem(w->ctx[which], mine(w) + at + 9, from + 9, n - 9, pe);
        break;
    }
    done_ctx(which);
    w->pending[pe] = true;
}

static void step_get(struct worker *w, int pe)
{
    size_t n = pe_random_in(&w->rng, 0, AREA), at = pe_random_in(&w->rng, 0, AREA - n);
    unsigned char got[AREA];
    enum which which;

    if (w->pending[pe]) settle(w);
    which = draw_ctx(w);
    if (pe_random_in(&w->rng, 0, 1)) {
        shmem_ctx_getmem(w->ctx[which], got, mine(w) + at, n, pe);
    } else {
        shmem_ctx_getmem_nbi(w->ctx[which], got, mine(w) + at, n, pe);
        shmem_ctx_quiet(w->ctx[which]);
    }
    done_ctx(which);
    PE_CHECK(
        memcmp(got, w->model[pe] + at, n) == 0,
        "seed %lu: thread %d: a get returned other data than it had put to pe %d at %zu, %zu bytes",
        seed, w->id, pe, at, n);
}

static void step_atomic(struct worker *w, int pe)
{
    enum which which = draw_ctx(w);
    shmem_ctx_t ctx = w->ctx[which];
    long *counter = &counters[pe_random_in(&w->rng, 0, VALUES - 1)];
    long value = (long)pe_random_in(&w->rng, 1, 9), old = -1;

    switch (pe_random_in(&w->rng, 0, 4)) {
    case 0:
        shmem_ctx_long_atomic_add(ctx, counter, value, pe);
        break;
    case 1:
        old = shmem_ctx_long_atomic_fetch_add(ctx, counter, value, pe);
        PE_CHECK(old >= 0, "fetch_add returned %ld, expected 0 or more", old);
        break;
    case 2:
        shmem_ctx_long_atomic_fetch_add_nbi(ctx, &old, counter, value, pe);
        shmem_ctx_quiet(ctx);
        PE_CHECK(old >= 0, "fetch_add_nbi fetched %ld, expected 0 or more", old);
        break;
    case 3: /* until nobody comes between */
        do
            old = shmem_ctx_long_atomic_fetch(ctx, counter, pe);
        while (shmem_ctx_long_atomic_compare_swap(ctx, counter, old, old + value, pe) != old);
        break;
    default:
        shmem_ctx_long_atomic_inc(ctx, counter, pe);
        value = 1;
        break;
    }
    done_ctx(which);
    w->added += value;
}

static void *mix(void *arg)
{
    struct worker *w = &workers[(long)arg];
    int steps = pe_rounds(STEPS);

    w->ctx[DEFAULT] = SHMEM_CTX_DEFAULT;
    w->ctx[COMMON] = common;
    w->ctx[SERIAL] = serial;
    w->ctx[PRIVATE] = pe_ctx(SHMEM_CTX_PRIVATE);
    w->ctx[OWN] = pe_ctx(0);
    for (int i = 0; i < steps; i++) {
        int pe = (int)pe_random_in(&w->rng, 0, (size_t)pe_n - 1);

        switch (pe_random_in(&w->rng, 0, 7)) {
        case 0:
        case 1:
            step_put(w, pe);
            break;
        case 2:
        case 3:
            step_get(w, pe);
            break;
        case 4:
            shmem_ctx_fence(w->ctx[pe_random_in(&w->rng, DEFAULT, OWN)]);
            break;
        default:
            step_atomic(w, pe);
            break;
        }
    }
    settle(w);
    shmem_ctx_destroy(w->ctx[PRIVATE]);
    shmem_ctx_destroy(w->ctx[OWN]);
    return NULL;
}

/* What all threads of all PEs added is what all counters hold. */
static void check_counters(void)
{
    long *sums = shmem_calloc(4, sizeof(*sums));

    for (int i = 0; i < VALUES; i++)
        sums[0] += counters[i];
    for (int i = 0; i < THREADS; i++)
        sums[1] += workers[i].added;
    shmem_barrier_all();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sums + 2, sums, 2);
    PE_CHECK_EQ(sums[2], sums[3]);
    PE_CHECK(sums[3] > 0, "the sum of all additions is 0, so nothing was tested");
    shmem_free(sums);
}

/* ---- one thread's quiet is everybody's -------------------------------------------- */

/* On a context that all use: what was issued before the quiet, by whomever, is there after it. */
static void *quiet_for_others(void *arg)
{
    struct worker *w = &workers[(long)arg];
    long *slot = data + w->id * VALUES;

    for (long round = 0; round < pe_rounds(ROUNDS); round++) {
        shmem_ctx_t ctx = round % 2 ? SHMEM_CTX_DEFAULT : common;
        long source[VALUES], got[VALUES], fetched = -1, want = round * THREADS;

        for (int i = 0; i < VALUES; i++)
            source[i] = round * 1000 + pe_me * 100 + w->id * 10 + i;
        shmem_ctx_long_put_nbi(ctx, slot, source, VALUES, pe_right());
        shmem_ctx_long_atomic_inc(ctx, &counters[0], pe_right());
        shmem_ctx_long_atomic_fetch_nbi(ctx, &fetched, &counters[0], pe_right());
        pthread_barrier_wait(&together);
        if (w->id == round % THREADS) shmem_ctx_quiet(ctx);
        pthread_barrier_wait(&together);
        PE_CHECK(
            fetched >= want && fetched <= want + THREADS,
            "round %ld: after another thread's quiet a nonblocking fetch has %ld, expected %ld to "
            "%ld",
            round, fetched, want, want + THREADS);
        shmem_long_get(got, slot, VALUES, pe_right());
        PE_CHECK(memcmp(got, source, sizeof(got)) == 0,
                 "round %ld, thread %d: another thread's quiet did not complete the put", round,
                 w->id);
        PE_CHECK_EQ(shmem_long_atomic_fetch(&counters[0], pe_right()), want + THREADS);
        pthread_barrier_wait(&together);
    }
    return NULL;
}

/* ---- waits and tests -------------------------------------------------------------- */

/* All of the thread's flags become `round`, one call after the other. */
static void wait_flags(long *flag, long round, int how)
{
    size_t indices[VALUES];
    int status[VALUES] = {0};
    long values[VALUES];
    size_t n = 0;

    for (int i = 0; i < VALUES; i++)
        values[i] = round;
    switch (how) {
    case 0:
        for (int i = 0; i < VALUES; i++)
            shmem_long_wait_until(&flag[i], SHMEM_CMP_EQ, round);
        return;
    case 1:
        shmem_long_wait_until_all(flag, VALUES, NULL, SHMEM_CMP_EQ, round);
        return;
    case 2:
        shmem_long_wait_until_all_vector(flag, VALUES, NULL, SHMEM_CMP_GE, values);
        return;
    case 3:
        while (!shmem_long_test_all(flag, VALUES, NULL, SHMEM_CMP_EQ, round))
            continue;
        return;
    case 4:
        while (!shmem_long_test(&flag[VALUES - 1], SHMEM_CMP_EQ, round))
            continue;
        shmem_long_wait_until_all(flag, VALUES, NULL, SHMEM_CMP_GT, round - 1);
        return;
    default:
        break;
    }
    while (n < VALUES) {
        size_t some = 1;

        if (how == 5)
            indices[0] = shmem_long_wait_until_any(flag, VALUES, status, SHMEM_CMP_EQ, round);
        else if (how == 6)
            indices[0] = shmem_long_test_any(flag, VALUES, status, SHMEM_CMP_EQ, round);
        else if (how == 7)
            some = shmem_long_wait_until_some(flag, VALUES, indices, status, SHMEM_CMP_EQ, round);
        else
            some = shmem_long_test_some_vector(flag, VALUES, indices, status, SHMEM_CMP_EQ, values);
        if (some == 1 && indices[0] == SIZE_MAX) continue;
        for (size_t i = 0; i < some; i++)
            status[indices[i]] = 1;
        n += some;
    }
}

/*
 * Thread t of each PE and thread t of its right neighbour: data, then a signal; or data, a fence
 * and flags. What arrived is right. Nobody goes into the next round before its data was read.
 */
static void *waits(void *arg)
{
    struct worker *w = &workers[(long)arg];
    long *slot = data + w->id * VALUES, *flag = flags + w->id * VALUES;
    uint64_t *signal = &signals[w->id], *taken = &signals[THREADS + w->id];

    for (long round = 1; round <= pe_rounds(ROUNDS); round++) {
        long source[VALUES];
        int how = (int)((round + w->id) % 9);

        for (int i = 0; i < VALUES; i++)
            source[i] = round * 1000 + pe_me * 10 + w->id + i;
        if (round % 3 == 0) {
            shmem_long_put_signal_nbi(slot, source, VALUES, signal, 1, SHMEM_SIGNAL_ADD,
                                      pe_right());
            shmem_signal_wait_until(signal, SHMEM_CMP_GE, (uint64_t)(round / 3));
        } else {
            shmem_long_put(slot, source, VALUES, pe_right());
            shmem_fence();
            for (int i = 0; i < VALUES; i++)
                shmem_long_atomic_set(&flag[i], round, pe_right());
            wait_flags(flag, round, how);
        }
        for (int i = 0; i < VALUES; i++)
            PE_CHECK_EQ(slot[i], round * 1000 + pe_left() * 10 + w->id + i);
        shmem_quiet(); /* the source is on this stack */
        shmem_uint64_atomic_inc(taken, pe_left());
        shmem_uint64_wait_until(taken, SHMEM_CMP_GE, (uint64_t)round);
    }
    PE_CHECK_EQ(shmem_signal_fetch(signal), (uint64_t)(pe_rounds(ROUNDS) / 3));
    return NULL;
}

/* ---- all of it --------------------------------------------------------------------- */

static void check_threads(void)
{
    common = pe_ctx(0);
    serial = pe_ctx(SHMEM_CTX_SERIALIZED);
    for (int i = 0; i < THREADS; i++) {
        workers[i].id = i;
        workers[i].rng = seed * 2654435761u + (uint64_t)(pe_me * THREADS + i + 1);
    }
    run_threads(mix);
    check_counters();
    memset(counters, 0, VALUES * sizeof(*counters));
    shmem_barrier_all();
    run_threads(quiet_for_others);
    run_threads(waits);
    shmem_ctx_destroy(common);
    shmem_ctx_destroy(serial);
}

int main(int argc, char **argv)
{
    if (argc > 1) seed = strtoull(argv[1], NULL, 0);
    if (!pe_threads_begin()) return pe_test_end();
    PE_REQUIRE(pe_n <= MAX_PES, "this test runs with at most %d PEs", MAX_PES);
    area = pe_calloc((size_t)MAX_PES * THREADS, AREA);
    counters = pe_calloc(VALUES, sizeof(*counters));
    flags = pe_calloc((size_t)THREADS * VALUES, sizeof(*flags));
    data = pe_calloc((size_t)THREADS * VALUES, sizeof(*data));
    signals = pe_calloc((size_t)THREADS * 2, sizeof(*signals));
    pthread_barrier_init(&together, NULL, THREADS);
    check_threads();
    pthread_barrier_destroy(&together);
    return pe_test_end();
}
