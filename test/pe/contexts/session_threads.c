/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks sessions with several threads of a PE (OpenSHMEM 1.6, section 9.9; rules R142, R146, R148
 * and R224 of docs/reference/conformance.md): threads that share a context with a session, a thread
 * that starts and stops sessions beside them, quiets beside threads that never stop issuing, and a
 * context for each thread. No operation may be lost or done twice. A quiet that does not return
 * shows as a timeout.
 */
#include "pe_threads.h"

#include <stdint.h>

enum { THREADS = 4, WORDS = 64 };

static int each; /* operations of a thread */
static long counter, *words, *sums;
static shmem_ctx_t shared;
static int done; /* the threads that count are */

static void run_threads(void *(*body)(void *))
{
    done = 0;
    pe_run_threads(THREADS, body);
    shmem_barrier_all();
}

/* Atomics of all threads, to all PEs, complete by the quiet of one of them. */
static void *add_together(void *arg)
{
    long me = (long)arg;

    for (int i = 0; i < each; i++) {
        shmem_ctx_long_atomic_add(shared, &counter, 1, (int)((me + i) % pe_n));
        shmem_ctx_long_p(shared, &words[me * WORDS + i % WORDS], i * 10 + me, pe_right());
        if (i % 50 == 49) {
            shmem_ctx_quiet(shared);
            PE_CHECK_EQ(shmem_long_g(&words[me * WORDS + i % WORDS], pe_right()), i * 10 + me);
        }
        if (i % 50 == 20) shmem_ctx_fence(shared);
    }
    shmem_ctx_quiet(shared);
    __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* The same beside one that starts and stops sessions, with other numbers every time. */
static void *add_or_switch(void *arg)
{
    shmem_ctx_session_config_t config;

    if ((long)arg > 0) return add_together(arg);
    for (size_t i = 0; __atomic_load_n(&done, __ATOMIC_RELAXED) < THREADS - 1; i++) {
        config.total_ops = i % 5;
        shmem_ctx_session_start(shared, SHMEM_CTX_SESSION_BATCH, &config,
                                i % 2 ? SHMEM_CTX_SESSION_TOTAL_OPS : 0);
        if (i % 3 == 0) shmem_ctx_session_stop(shared);
        shmem_ctx_quiet(shared);
    }
    return NULL;
}

/* Quiets and quiets of one PE end, though others never stop. */
static void *flood_or_quiet(void *arg)
{
    long me = (long)arg;
    int right = pe_right();

    if (me > 0) {
        while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
            shmem_ctx_long_atomic_inc(shared, &sums[me], right);
        return NULL;
    }
    for (long i = 1; i <= 20; i++) {
        shmem_ctx_long_p(shared, &sums[0], i, right);
        if (i % 2)
            shmem_ctx_quiet(shared);
        else
            shmem_ctx_pe_quiet(shared, &right, 1);
        PE_CHECK_EQ(shmem_long_g(&sums[0], right), i);
    }
    __atomic_store_n(&done, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void *add_alone(void *arg)
{
    long me = (long)arg;
    shmem_ctx_t ctx = pe_ctx(me % 2 ? SHMEM_CTX_PRIVATE : 0);

    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    for (int i = 0; i < each; i++)
        shmem_ctx_long_atomic_add(ctx, &counter, 1, (int)((me + i) % pe_n));
    shmem_ctx_destroy(ctx);
    return NULL;
}

/* How often (thread + i) % n_pes was this PE, over all PEs: the same on each. */
static long expected(int threads, int first)
{
    long n = 0;

    for (int t = first; t < first + threads; t++)
        for (int i = 0; i < each; i++)
            n += (t + i) % pe_n == pe_me;
    return n * pe_n;
}

static void check_counter(void *(*body)(void *), int threads, int first, const char *what)
{
    counter = 0;
    shmem_barrier_all();
    run_threads(body);
    PE_CHECK(counter == expected(threads, first),
             "%s: the counter is %ld after all additions, expected %ld", what, counter,
             expected(threads, first));
    shmem_barrier_all();
}

int main(void)
{
    if (!pe_threads_begin()) return pe_test_end();
    each = pe_rounds(2400);
    words = pe_calloc(THREADS * WORDS, sizeof(*words));
    sums = pe_calloc(THREADS, sizeof(*sums));
    shared = pe_ctx(0);
    shmem_ctx_session_start(shared, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    check_counter(add_together, THREADS, 0, "one session");
    check_counter(add_or_switch, THREADS - 1, 1, "sessions that come and go");
    shmem_ctx_session_start(shared, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    run_threads(flood_or_quiet);
    check_counter(add_alone, THREADS, 0, "a session each");
    shmem_ctx_destroy(shared);
    return pe_test_end();
}
