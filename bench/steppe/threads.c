/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the rate of 8-byte puts that several threads of PE 0 issue at once. In one bench all
 * threads use the default context. In the others each thread has its own context, which is private
 * or serialized. The program initializes the library with SHMEM_THREAD_MULTIPLE and does not bind
 * PEs to cores.
 */
#include "portable/bench_definition.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define MAX_THREADS 64

/*
 * A thread of PE 0. Each time pool.sample rises, the thread performs its share of the operations.
 */
struct worker {
    pthread_t thread;
    shmem_ctx_t ctx;
    char *dest, *source;
};

static struct {
    struct worker workers[MAX_THREADS];
    struct bench_run *run;
    int n;
    /* Number of operations of one sample, summed over all threads. */
    uint64_t n_ops;
    /* Number of the current sample. Each time this number rises, the threads start. */
    uint64_t sample __attribute__((aligned(BENCH_LINE)));
    /* Number of threads that have finished the current sample. */
    uint64_t n_done __attribute__((aligned(BENCH_LINE)));
    uint64_t n_ready, n_failed;
    long options; /* options for shmem_ctx_create() */
    bool shared, ended;
} pool;

static void puts_of(const struct worker *w, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_ctx_putmem_nbi(w->ctx, w->dest, w->source, sizeof(uint64_t), pool.run->peer);
    shmem_ctx_quiet(w->ctx);
}

/*
 * Returns the number of operations of a thread. The first threads perform one more than the others
 * if pool.n_ops is not a multiple of the number of threads.
 */
static uint64_t share_of(const struct worker *w)
{
    uint64_t n = (uint64_t)pool.n, number = (uint64_t)(w - pool.workers);

    return pool.n_ops / n + (number < pool.n_ops % n);
}

/*
 * Runs in each thread of the pool. The thread creates its context itself, because only the creator
 * of a private context may use it.
 */
static void *work(void *arg)
{
    struct worker *w = arg;
    bool has_ctx = pool.shared || shmem_ctx_create(pool.options, &w->ctx) == 0;

    __atomic_fetch_add(has_ctx ? &pool.n_ready : &pool.n_failed, 1, __ATOMIC_ACQ_REL);
    for (uint64_t next = 1; has_ctx; next++) {
        bench_spin_until(&pool.sample, next, BENCH_POLLS_CROWDED);
        if (pool.ended) break;
        puts_of(w, share_of(w));
        __atomic_fetch_add(&pool.n_done, 1, __ATOMIC_ACQ_REL);
    }
    if (has_ctx && !pool.shared) shmem_ctx_destroy(w->ctx);
    return NULL;
}

static void steppe(struct bench_run *run, uint64_t n_ops)
{
    (void)run;
    pool.n_ops = n_ops;
    __atomic_store_n(&pool.n_done, 0, __ATOMIC_RELEASE);
    __atomic_fetch_add(&pool.sample, 1, __ATOMIC_ACQ_REL);
    bench_spin_until(&pool.n_done, (uint64_t)pool.n, BENCH_POLLS_CROWDED);
}

/* ---- threads and contexts ------------------------------------------------------------------ */

static void end_threads(int n)
{
    pool.ended = true;
    __atomic_fetch_add(&pool.sample, 1, __ATOMIC_ACQ_REL);
    for (int i = 0; i < n; i++)
        pthread_join(pool.workers[i].thread, NULL);
}

/*
 * Starts up to n threads and returns the number of started threads. The number is less than n if
 * the system refuses to create a thread.
 */
static int make_threads(struct bench_run *run, int n)
{
    for (int i = 0; i < n; i++) {
        struct worker *w = &pool.workers[i];
        size_t offset = (size_t)i * BENCH_LINE;

        w->ctx = SHMEM_CTX_DEFAULT;
        w->dest = run->remote + offset;
        w->source = run->local + offset;
        if (pthread_create(&w->thread, NULL, work, w) != 0) return i;
    }
    return n;
}

static int open_pool(struct bench_run *run, long options, bool shared, char *reason, size_t len)
{
    int n = (int)run->value, n_threads = n;

    if (n > MAX_THREADS) {
        snprintf(reason, len, "%d threads are too many: the maximum is %d", n, MAX_THREADS);
        return -1;
    }
    memset(&pool, 0, sizeof(pool));
    pool.run = run;
    pool.n = n;
    pool.options = options;
    pool.shared = shared;
    if (run->me == 0) {
        n_threads = make_threads(run, n);
        while (__atomic_load_n(&pool.n_ready, __ATOMIC_ACQUIRE) +
                   __atomic_load_n(&pool.n_failed, __ATOMIC_ACQUIRE) <
               (uint64_t)n_threads)
            sched_yield();
    }
    if (bench_worst(n_threads < n || pool.n_failed > 0) == 0) return 0;
    if (run->me == 0) {
        snprintf(reason, len,
                 "of the %d threads, %d could be started, and %d of the started threads could not "
                 "create a context",
                 n, n_threads, (int)pool.n_failed);
        end_threads(n_threads);
    }
    return -1;
}

static int open_shared(struct bench_run *run, const struct bench *bench, char *reason, size_t len)
{
    (void)bench;
    return open_pool(run, 0, true, reason, len);
}

static int open_private(struct bench_run *run, const struct bench *bench, char *reason, size_t len)
{
    (void)bench;
    return open_pool(run, SHMEM_CTX_PRIVATE, false, reason, len);
}

static int open_serialized(struct bench_run *run, const struct bench *bench, char *reason,
                           size_t len)
{
    (void)bench;
    return open_pool(run, SHMEM_CTX_SERIALIZED, false, reason, len);
}

static void close_pool(struct bench_run *run)
{
    if (run->me == 0) end_threads(pool.n);
}

static void values(const struct bench_run *run, const struct bench_options *options,
                   struct bench_values *values)
{
    (void)run;
    bench_stepping(options, 2, 1, 8, values);
}

static size_t extent(const struct bench_run *run)
{
    return (size_t)run->value * BENCH_LINE;
}

static const struct bench_parameter threads = {"threads", NULL, values};

#define THREADS(kind, text)                                                                        \
    {                                                                                              \
        .name = "context-threads-" #kind, .group = "threads",                                      \
        .description = "shmem_ctx_putmem_nbi of 8 bytes by threads that " text,                    \
        .metric = BENCH_RATE, .min_ops = 4000, .cycle = BENCH_MULTIPLE, .parameter = &threads,     \
        .extent = extent, .open = open_##kind, .close = close_pool, .steppe = {                    \
            steppe,                                                                                \
            NULL                                                                                   \
        }                                                                                          \
    }

static const struct bench rows[] = {
    THREADS(shared, "all use the default context"),
    THREADS(private, "each use a private context"),
    THREADS(serialized, "each use a serialized context"),
};
BENCH_LIST(bench_list_threads, rows);
