/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bodies of the benches on Steppe's side: public OpenSHMEM calls only.
 */
#include "bench.h"

#include <shmem.h>
#include <time.h>

void steppe_put(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_putmem(run->remote, run->local, run->nbytes, run->peer);
        shmem_quiet();
    }
}

void steppe_get(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_getmem(run->local, run->remote, run->nbytes, run->peer);
}

void steppe_put_window(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++)
            shmem_putmem_nbi(run->remote, run->local, run->nbytes, run->peer);
        shmem_quiet();
    }
}

void steppe_get_window(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++)
            shmem_getmem_nbi(run->local, run->remote, run->nbytes, run->peer);
        shmem_quiet();
    }
}

void steppe_p(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *dest = (uint64_t *)run->remote;

    for (uint64_t i = 0; i < n_ops; i++)
        shmem_uint64_p(dest, i, run->peer);
    shmem_quiet();
}

void steppe_rate(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_putmem_nbi(run->remote, run->local, run->nbytes, run->peer);
    shmem_quiet();
}

void steppe_get_rate(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_getmem_nbi(run->local, run->remote, run->nbytes, run->peer);
    shmem_quiet();
}

void steppe_fadd(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *counter = &run->shared->side[BENCH_STEPPE].counter.value;

    for (uint64_t i = 0; i < n_ops; i++)
        (void)shmem_uint64_atomic_fetch_add(counter, 1, run->peer);
}

/* A lock whose state, while it is held, is on the peer; the first one where there is none. */
static long *lock_of_peer(struct bench_run *run)
{
    for (int i = 0; i < BENCH_LOCKS; i++) {
        long *lock = &run->shared->locks[i], there;

        shmem_set_lock(lock);
        there = shmem_long_g(lock, run->peer);
        shmem_clear_lock(lock);
        if (there != 0) return lock;
    }
    return run->shared->locks;
}

void steppe_lock(struct bench_run *run, uint64_t n_ops)
{
    static long *lock;

    if (lock == NULL) lock = lock_of_peer(run);
    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_set_lock(lock);
        shmem_clear_lock(lock);
    }
}

void steppe_ping(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *turn = &run->shared->side[BENCH_STEPPE].turn.value;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_uint64_p(turn, ++run->token, run->peer);
        shmem_uint64_wait_until(turn, SHMEM_CMP_GE, run->token);
    }
}

void steppe_pong(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *turn = &run->shared->side[BENCH_STEPPE].turn.value;

    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_uint64_wait_until(turn, SHMEM_CMP_GE, ++run->token);
        shmem_uint64_p(turn, run->token, run->peer);
    }
}

void steppe_barrier(struct bench_run *run, uint64_t n_ops)
{
    (void)run;
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_barrier_all();
}

/* ---- sessions ---------------------------------------------------------------- */

/* Of the default context, on every PE. */
int bench_session_open(struct bench_run *run, const struct bench *bench, char *why, size_t len)
{
    (void)run;
    (void)bench;
    (void)why;
    (void)len;
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    return 0;
}

void bench_session_close(struct bench_run *run)
{
    (void)run;
    shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
}

/* ---- idle PEs ---------------------------------------------------------------- */

static void rest_ns(long ns)
{
    struct timespec left = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

    while (nanosleep(&left, &left) != 0)
        continue;
}

/* The word is written by whatever serves this process meanwhile. */
void bench_sleep(const uint64_t *word, uint64_t value)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value)
        rest_ns(1000000);
}

void bench_compute(const uint64_t *word, uint64_t value)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value)
        bench_pause();
}

void steppe_rest(struct bench_run *run, uint64_t n_ops)
{
    (void)run;
    for (uint64_t i = 0; i < n_ops; i++)
        rest_ns(BENCH_IDLE_NS);
}
