/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw limit on GPUs: the same bytes between memory of the same kinds, by the driver's own
 * copies within this process.
 */
#include "bench.h"
#include "raw_cuda.h"

void driver_put(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        run->cuda->copy(run->driver_remote, run->driver_local, run->nbytes);
        run->cuda->wait();
    }
}

void driver_get(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        run->cuda->copy(run->driver_local, run->driver_remote, run->nbytes);
        run->cuda->wait();
    }
}

void driver_put_window(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++)
            run->cuda->copy(run->driver_remote, run->driver_local, run->nbytes);
        run->cuda->wait();
    }
}

void driver_get_window(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++)
            run->cuda->copy(run->driver_local, run->driver_remote, run->nbytes);
        run->cuda->wait();
    }
}

void driver_p(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        run->cuda->copy(run->driver_remote, &i, sizeof(i)); /* few bytes are taken at once */
    run->cuda->wait();
}

/* There is no atomic without a kernel: read, add, write back. */
void driver_fadd(struct bench_run *run, uint64_t n_ops)
{
    uint64_t value;

    for (uint64_t i = 0; i < n_ops; i++) {
        run->cuda->copy(&value, run->driver_remote, sizeof(value));
        run->cuda->wait();
        value++;
        run->cuda->copy(run->driver_remote, &value, sizeof(value));
        run->cuda->wait();
    }
}

static void signal_peer(struct bench_run *run)
{
    uint64_t *theirs = &run->shared_there->side[BENCH_RAW].turn.value;

    run->cuda->copy(run->driver_remote, run->driver_local, run->nbytes);
    run->cuda->wait();
    __atomic_store_n(theirs, run->token, __ATOMIC_RELEASE);
}

void driver_ping(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *mine = &run->shared->side[BENCH_RAW].turn.value;

    for (uint64_t i = 0; i < n_ops; i++) {
        run->token++;
        signal_peer(run);
        bench_spin_until(mine, run->token, run->polls);
    }
}

void driver_pong(struct bench_run *run, uint64_t n_ops)
{
    uint64_t *mine = &run->shared->side[BENCH_RAW].turn.value;

    for (uint64_t i = 0; i < n_ops; i++) {
        bench_spin_until(mine, ++run->token, run->polls);
        signal_peer(run);
    }
}

void driver_create(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        run->cuda->create(run->nbytes);
}
