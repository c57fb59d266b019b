/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts and threads: each thread of a PE has a context of its own. shmem_ctx_quiet in one
 * thread does not wait for the transfers of the others.
 *
 *     oshcc contexts.c -o contexts -pthread && oshrun -n 2 ./contexts
 */
#include <shmem.h>

#include <pthread.h>
#include <stdio.h>

#define THREADS 4
#define N 10000

static long dest[THREADS][N];

struct thread {
    pthread_t id;
    int number, failed;
};

static void *transfer(void *argument)
{
    struct thread *thread = argument;
    int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes();
    long numbers[N];
    shmem_ctx_t ctx;

    /* PRIVATE: only the thread that created the context uses it, so the library takes no lock. */
    thread->failed = shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) != 0;
    if (thread->failed) return NULL; /* resources for contexts are limited */
    for (long i = 0; i < N; i++)
        numbers[i] = me + i * (thread->number + 1);
    for (int i = 0; i < N; i += 1000)
        shmem_ctx_long_put_nbi(ctx, &dest[thread->number][i], &numbers[i], 1000, next);
    shmem_ctx_quiet(ctx); /* `numbers` ends with this function, so its puts must be complete */
    shmem_ctx_destroy(ctx);
    return NULL;
}

int main(void)
{
    struct thread threads[THREADS];
    int provided, wrong = 0;

    /* MULTIPLE: any thread may call the library at any time. Check what the library provides. */
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0 ||
        provided < SHMEM_THREAD_MULTIPLE)
        shmem_global_exit(1);
    for (int i = 0; i < THREADS; i++) {
        threads[i].number = i;
        if (pthread_create(&threads[i].id, NULL, transfer, &threads[i]) != 0) shmem_global_exit(1);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i].id, NULL);
        if (threads[i].failed) shmem_global_exit(1);
    }
    shmem_barrier_all();

    int me = shmem_my_pe(), before = (me + shmem_n_pes() - 1) % shmem_n_pes();
    for (int t = 0; t < THREADS; t++)
        for (long i = 0; i < N; i++)
            wrong += dest[t][i] != before + i * (t + 1);
    printf("PE %d: %d threads, %d wrong numbers\n", me, THREADS, wrong);
    shmem_finalize();
    return wrong != 0;
}
