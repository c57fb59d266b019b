/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake CUDA driver, a test double and never evidence about a GPU: functions of the program that run
 * in the order of a stream. One thread runs all of them, so that a function which waits for another
 * one hangs.
 */
#include "fake.h"

#include <stdlib.h>

struct host_work {
    struct fake_work work;
    CUhostFn function;
    void *user;
    bool done;
    struct host_work *next;
};

static struct {
    bool running; /* has its thread */
    struct host_work *head;
    struct host_work **tail;
} queue = {.tail = &queue.head};

static void *serve(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&fake.lock);
    for (;;) {
        struct host_work *own = queue.head;

        if (!own) {
            pthread_cond_wait(&fake.changed, &fake.lock);
            continue;
        }
        queue.head = own->next;
        if (!queue.head) queue.tail = &queue.head;
        pthread_mutex_unlock(&fake.lock);
        fake_host_function(true);
        own->function(own->user);
        fake_host_function(false);
        pthread_mutex_lock(&fake.lock);
        own->done = true;
        pthread_cond_broadcast(&fake.changed);
    }
    return NULL;
}

static bool start_locked(void)
{
    if (!queue.running) {
        pthread_t thread;

        queue.running = fake_thread_start(&thread, serve, NULL);
        if (queue.running) pthread_detach(thread);
    }
    return queue.running;
}

/* On the thread of the stream, which waits. */
static CUresult run_host(struct fake_work *work)
{
    struct host_work *own = (struct host_work *)work;

    pthread_mutex_lock(&fake.lock);
    *queue.tail = own;
    queue.tail = &own->next;
    pthread_cond_broadcast(&fake.changed);
    while (!own->done)
        pthread_cond_wait(&fake.changed, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
    return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *user)
{
    struct host_work *own;
    CUcontext ctx;
    CUresult fault;
    CUresult result = fake_begin_async(FAKE_cuLaunchHostFunc, &ctx, &fault);
    CUstream stream;

    if (result != CUDA_SUCCESS) return result;
    if (!function) return fake_end(CUDA_ERROR_INVALID_VALUE);
    result = fake_stream_of_locked(handle, NULL, &stream);
    if (result != CUDA_SUCCESS) return fake_end(result);
    own = start_locked() ? calloc(1, sizeof(*own)) : NULL;
    if (!own) return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    own->work.run = run_host;
    own->function = function;
    own->user = user;
    return fake_end(fake_work_submit_locked(stream, &own->work, fault));
}
