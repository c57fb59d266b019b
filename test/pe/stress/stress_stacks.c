/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks threads with the smallest stack that the library promises to support
 * (docs/design/base.md). Each round starts new threads with such stacks, which communicate with
 * random operations on contexts of their own, and end. Thread_stack.c tests each family of routines
 * once; this program tests many threads over a long time. Needs SHMEM_THREAD_MULTIPLE. The options
 * are those of pe_stress.h.
 */
#include "pe_stress.h"
#include "pe_threads.h"

enum { ROUNDS = 12, THREADS = 4, OPS = 60, PART = 6000, N_WAYS = 7 };

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { STACK = 1 << 20 }; /* sanitizers enlarge stack frames */
#else
enum { STACK = 32 << 10 };
#endif

static unsigned char *parts; /* symmetric: a part for each PE and thread */
static uint64_t *words;      /* symmetric: a counter and a signal for each PE and thread */
static unsigned char sources[THREADS][PART], copies[THREADS][PART];

/* One operation on part `slot` of PE `pe`, to which no other thread writes. */
static void operate(shmem_ctx_t ctx, int way, int id, size_t slot, int pe, unsigned stamp)
{
    unsigned char *part = parts + slot * PART;
    unsigned char *source = sources[id], *copy = copies[id];
    uint64_t *word = &words[2 * slot];
    size_t n = way % 2 ? PART : PART / 50;

    pe_fill(source, n, stamp);
    if (way < 2) {
        shmem_ctx_putmem(ctx, part, source, n, pe);
    } else if (way < 4) {
        shmem_ctx_putmem_nbi(ctx, part, source, n, pe);
    } else if (way < 6) {
        shmem_ctx_putmem_signal(ctx, part, source, n, &word[1], stamp, SHMEM_SIGNAL_SET, pe);
    } else {
        shmem_ctx_uchar_iput(ctx, part, source, 1, 1, n, pe);
    }
    shmem_ctx_quiet(ctx);
    shmem_ctx_uint64_atomic_inc(ctx, word, pe);
    shmem_ctx_getmem(ctx, copy, part, n, pe);
    PE_CHECK_BYTES(copy, n, stamp, "an operation of a thread with a small stack");
}

static void *thread_main(void *arg)
{
    int id = (int)(intptr_t)arg;
    uint64_t state = stress_state(stress_seed ^ stress_round, (uint64_t)(pe_me * THREADS + id));
    size_t slot = (size_t)(pe_me * THREADS + id);
    shmem_ctx_t ctx = pe_ctx(id % 2 ? SHMEM_CTX_PRIVATE : 0);

    for (int i = 0; i < pe_rounds(OPS); i++)
        operate(ctx, (int)pe_random_in(&state, 0, N_WAYS - 1), id, slot,
                (int)pe_random_in(&state, 0, (size_t)pe_n - 1), (unsigned)pe_random(&state));
    shmem_ctx_destroy(ctx);
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[THREADS];
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    PE_REQUIRE(pthread_attr_setstacksize(&attr, STACK) == 0,
               "pthread_attr_setstacksize refused %d bytes", STACK);
    for (intptr_t i = 0; i < THREADS; i++)
        PE_REQUIRE(pthread_create(&threads[i], &attr, thread_main, (void *)i) == 0,
                   "pthread_create with a stack of %d bytes failed", STACK);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_attr_destroy(&attr);
}

/* All operations of all PEs were counted once. */
static void check_count(void)
{
    uint64_t count = 0;
    static uint64_t mine, total;

    for (int slot = 0; slot < pe_n * THREADS; slot++)
        count += words[2 * slot];
    mine = count;
    PE_CHECK_EQ(shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, &total, &mine, 1), 0);
    PE_CHECK_EQ(total, stress_round * (uint64_t)(pe_n * THREADS * pe_rounds(OPS)));
}

int main(int argc, char **argv)
{
    stress_options(argc, argv);
    signal(SIGALRM, stress_hung);
    stress_stage("shmem_init");
    if (!pe_threads_begin()) return pe_test_end();
    clock_gettime(CLOCK_MONOTONIC, &stress_started);
    parts = pe_calloc((size_t)pe_n * THREADS, PART);
    words = pe_calloc((size_t)pe_n * THREADS, 2 * sizeof(*words));
    while (stress_more(ROUNDS)) {
        stress_stage("threads with %d bytes of stack", STACK);
        run_threads();
        stress_ops += (uint64_t)(THREADS * pe_rounds(OPS));
        shmem_barrier_all();
        check_count();
        shmem_barrier_all();
    }
    return stress_end("stress_stacks");
}
