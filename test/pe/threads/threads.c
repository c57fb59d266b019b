/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks several threads of each PE inside the library (OpenSHMEM 1.6, section 9.2; rules R28, R29,
 * R31, R34 and R36 of docs/reference/conformance.md): a shared context, own contexts, a blocked
 * thread beside working threads, and collectives on different teams. Skipped without
 * SHMEM_THREAD_MULTIPLE.
 */
#include "pe_threads.h"

enum { THREADS = 4, MAX_EACH = 400, SLOT = 64 };

static int each; /* operations of a thread */
static long counter, hidden, woken;
static long *slots; /* THREADS * SLOT words, written by the left neighbour */
static shmem_team_t team[THREADS];

static void run_threads(void *(*body)(void *))
{
    pe_run_threads(THREADS, body);
    shmem_barrier_all();
}

/* R29, R36: puts, atomics and quiets of all threads on the default context. */
static void *shared_context(void *arg)
{
    long me = (long)arg, *mine = slots + me * SLOT;

    for (int i = 1; i <= each; i++) {
        shmem_long_p(&mine[i % SLOT], i * 10 + me, pe_right());
        shmem_long_atomic_inc(&counter, i % pe_n);
        if (i % 16 == 0) shmem_quiet();
        if (i % 16 == 8) {
            shmem_quiet();
            PE_CHECK_EQ(shmem_long_g(&mine[i % SLOT], pe_right()), i * 10 + me);
        }
    }
    return NULL;
}

/* The same with a context of one's own, private or not. */
static void *own_context(void *arg)
{
    long me = (long)arg, *mine = slots + me * SLOT, source[SLOT], got[SLOT];
    shmem_ctx_t ctx = pe_ctx(me % 2 ? SHMEM_CTX_PRIVATE : 0);

    for (int i = 1; i <= each / 8 + 1; i++) {
        for (int k = 0; k < SLOT; k++)
            source[k] = i * 1000 + k * 10 + me;
        shmem_ctx_long_put_nbi(ctx, mine, source, SLOT, pe_right());
        shmem_ctx_long_atomic_add(ctx, &counter, 2, pe_right());
        shmem_ctx_quiet(ctx);
        shmem_ctx_long_get(ctx, got, mine, SLOT, pe_right());
        PE_CHECK(
            memcmp(got, source, sizeof(got)) == 0,
            "thread %ld, round %d: get on its own context did not return the data that it had put",
            me, i);
    }
    shmem_ctx_destroy(ctx);
    return NULL;
}

/* R28, R34: thread 0 blocks in a wait that thread 1 of the same PE ends; others communicate. */
static void *blocked_beside(void *arg)
{
    long me = (long)arg;

    if (me == 0) {
        shmem_long_wait_until(&hidden, SHMEM_CMP_EQ, 7);
        shmem_long_atomic_inc(&woken, pe_right());
    } else {
        for (int i = 0; i < each / 4; i++)
            shmem_long_atomic_fetch_add(&counter, 1, pe_right());
        if (me == 1) shmem_long_atomic_set(&hidden, 7, pe_me);
    }
    return NULL;
}

/* R31: collectives of different teams at once, each thread its own team. */
static void *own_team(void *arg)
{
    long me = (long)arg, *source = slots + me * SLOT, *dest = source + SLOT / 2;

    for (int i = 0; i < each / 8 + 1; i++) {
        source[0] = i + pe_me + me;
        shmem_team_sync(team[me]);
        shmem_long_sum_reduce(team[me], dest, source, 1);
        PE_CHECK_EQ(dest[0], (long)pe_n * (i + me) + (long)pe_n * (pe_n - 1) / 2);
        shmem_team_sync(team[me]);
    }
    return NULL;
}

/* The sum over all PEs of what their counters hold, then zero again. */
static long take_counters(void)
{
    static long mine, sum;

    mine = counter;
    shmem_barrier_all();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1);
    counter = 0;
    shmem_barrier_all();
    return sum;
}

static void check_threads(void)
{
    run_threads(shared_context);
    for (int t = 0; t < THREADS; t++)
        PE_CHECK_EQ(slots[t * SLOT + each % SLOT], each * 10 + t);
    PE_CHECK_EQ(take_counters(), (long)pe_n * THREADS * each);
    run_threads(own_context);
    PE_CHECK_EQ(take_counters(), 2L * pe_n * THREADS * (each / 8 + 1));
    run_threads(blocked_beside);
    PE_CHECK_EQ(take_counters(), (long)pe_n * (THREADS - 1) * (each / 4));
    PE_CHECK_EQ(woken, 1);
    for (int t = 0; t < THREADS; t++)
        team[t] = pe_split(SHMEM_TEAM_WORLD, 0, 1, pe_n);
    run_threads(own_team);
    for (int t = 0; t < THREADS; t++)
        shmem_team_destroy(team[t]);
}

int main(void)
{
    if (!pe_threads_begin()) return pe_test_end();
    each = pe_rounds(MAX_EACH);
    slots = pe_calloc((size_t)(THREADS * SLOT), sizeof(*slots));
    check_threads();
    return pe_test_end();
}
