/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw limit on the node: the same work by memcpy, plain stores and CPU atomics on the peer's
 * memory as shmem_ptr maps it. Waits are plain loads.
 */
#include "bench.h"

#include <string.h>

/* What quiet promises beyond memcpy: the stores are seen before anything done later. */
static void full_fence(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void node_put(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        memcpy(run->remote_there, run->local, run->nbytes);
        full_fence();
    }
}

void node_get(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        memcpy(run->local, run->remote_there, run->nbytes);
        bench_touch();
    }
}

void node_put_window(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++) {
            memcpy(run->remote_there, run->local, run->nbytes);
            bench_touch();
        }
        full_fence();
    }
}

void node_get_window(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        for (int k = 0; k < run->window; k++) {
            memcpy(run->local, run->remote_there, run->nbytes);
            bench_touch();
        }
}

void node_p(struct bench_run *run, uint64_t n_ops)
{
    volatile uint64_t *dest = (volatile uint64_t *)run->remote_there;

    for (uint64_t i = 0; i < n_ops; i++)
        *dest = i;
    full_fence();
}

void node_rate(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        memcpy(run->remote_there, run->local, run->nbytes);
        bench_touch();
    }
    full_fence();
}

void node_get_rate(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        memcpy(run->local, run->remote_there, run->nbytes);
        bench_touch();
    }
}

void node_fadd(struct bench_run *run, uint64_t n_ops)
{
    /* The very line Steppe's side adds to. */
    uint64_t *counter = &run->shared_there->side[BENCH_STEPPE].counter.value;
    volatile uint64_t seen;

    for (uint64_t i = 0; i < n_ops; i++)
        seen = __atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
    (void)seen;
}

void node_lock(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *lock = &run->shared_there->side[BENCH_RAW].counter.value;

    for (uint64_t i = 0; i < n_ops; i++) {
        uint64_t taken = 1;

        __atomic_exchange_n(lock, taken, __ATOMIC_SEQ_CST);
        __atomic_compare_exchange_n(lock, &taken, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
}

void node_ping(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *mine = &run->shared->side[BENCH_RAW].turn.value;
    uint64_t *theirs = &run->shared_there->side[BENCH_RAW].turn.value;

    for (uint64_t i = 0; i < n_ops; i++) {
        __atomic_store_n(theirs, ++run->token, __ATOMIC_RELEASE);
        bench_spin_until(mine, run->token, run->polls);
    }
}

void node_pong(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *mine = &run->shared->side[BENCH_RAW].turn.value;
    uint64_t *theirs = &run->shared_there->side[BENCH_RAW].turn.value;

    for (uint64_t i = 0; i < n_ops; i++) {
        bench_spin_until(mine, ++run->token, run->polls);
        __atomic_store_n(theirs, run->token, __ATOMIC_RELEASE);
    }
}

/* Dissemination: with two PEs it is one flag each way. */
void node_barrier(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        run->token++;
        for (int k = 0, step = 1; step < run->n_pes; k++, step *= 2) {
            struct bench_shared *next = run->shared_of[(run->me + step) % run->n_pes];
            const struct bench_shared *mine = run->shared;

            __atomic_store_n(&next->side[BENCH_RAW].round[k].value, run->token, __ATOMIC_RELEASE);
            bench_spin_until(&mine->side[BENCH_RAW].round[k].value, run->token, run->polls);
        }
    }
}
