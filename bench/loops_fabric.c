/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw limit on the fabric: the same work by plain libfabric calls between the same PEs, on an
 * endpoint and memory of their own. Memory of a PE: remote buffer, local buffer, flags.
 */
#include "bench.h"
#include "raw_ofi.h"

#define AT(run, field) (2 * (run)->max_nbytes + offsetof(struct bench_flags, field))

static const struct bench_flags *flags_of(const struct bench_run *run)
{
    return (const struct bench_flags *)(run->fabric->memory + 2 * run->max_nbytes);
}

static char *local_of(const struct bench_run *run)
{
    return run->fabric->memory + run->max_nbytes;
}

/* Wait for a flag that a peer stores: it arrives while this PE polls. */
static void wait_flag(const struct bench_run *run, const uint64_t *flag, uint64_t value)
{
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) < value)
        run->fabric->poll();
}

void fabric_put(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        run->fabric->put(run->peer, 0, local_of(run), run->nbytes);
        run->fabric->wait();
    }
}

void fabric_get(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        run->fabric->get(run->peer, 0, local_of(run), run->nbytes);
        run->fabric->wait();
    }
}

/* n puts back to back, then wait until all have arrived. */
static void stream(const struct bench_run *run, uint64_t n)
{
    const struct raw_ofi *fabric = run->fabric;
    void (*put)(int, size_t, const void *, size_t) =
        run->raw_flush ? fabric->put_plain : fabric->put;

    for (uint64_t i = 0; i < n; i++)
        put(run->peer, 0, local_of(run), run->nbytes);
    if (run->raw_flush) fabric->get(run->peer, 0, local_of(run), 1);
    fabric->wait();
}

void fabric_put_window(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        stream(run, (uint64_t)run->window);
}

void fabric_get_window(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++)
            run->fabric->get(run->peer, 0, local_of(run), run->nbytes);
        run->fabric->wait();
    }
}

void fabric_p(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        run->fabric->store(run->peer, 0, i);
    /* Stores have no completion; the answer of an atomic behind them says they were executed. */
    run->fabric->fetch_add(run->peer, AT(run, counter), 0);
    run->fabric->wait();
}

void fabric_rate(struct bench_run *run, uint64_t n_ops)
{
    stream(run, n_ops);
}

void fabric_get_rate(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        run->fabric->get(run->peer, 0, local_of(run), run->nbytes);
    run->fabric->wait();
}

void fabric_fadd(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        run->fabric->fetch_add(run->peer, AT(run, counter), 1);
        run->fabric->wait();
    }
}

void fabric_lock(struct bench_run *run, uint64_t n_ops)
{
    fabric_fadd(run, 2 * n_ops);
}

void fabric_ping(struct bench_run *run, uint64_t n_ops)
{
    const struct bench_flags *mine = flags_of(run);

    for (uint64_t i = 0; i < n_ops; i++) {
        run->fabric->store(run->peer, AT(run, turn), ++run->token);
        wait_flag(run, &mine->turn.value, run->token);
    }
}

void fabric_pong(struct bench_run *run, uint64_t n_ops)
{
    const struct bench_flags *mine = flags_of(run);

    for (uint64_t i = 0; i < n_ops; i++) {
        wait_flag(run, &mine->turn.value, ++run->token);
        run->fabric->store(run->peer, AT(run, turn), run->token);
    }
}

void fabric_barrier(struct bench_run *run, uint64_t n_ops)
{
    const struct bench_flags *mine = flags_of(run);

    for (uint64_t i = 0; i < n_ops; i++) {
        run->token++;
        for (int k = 0, step = 1; step < run->n_pes; k++, step *= 2) {
            size_t offset = AT(run, round) + (size_t)k * sizeof(struct bench_word);

            run->fabric->store((run->me + step) % run->n_pes, offset, run->token);
            wait_flag(run, &mine->round[k].value, run->token);
        }
    }
}

void fabric_serve(struct bench_run *run, uint64_t stop)
{
    wait_flag(run, &flags_of(run)->stop.value, stop);
}

void fabric_stop(struct bench_run *run, uint64_t stop, int pe)
{
    run->fabric->store(pe, AT(run, stop), stop);
}

void fabric_poll(struct bench_run *run)
{
    run->fabric->poll();
}
