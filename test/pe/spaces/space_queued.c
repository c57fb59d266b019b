/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that spaces can grow and be destroyed while operations on them are queued: puts in a
 * session, signals that wait for their data, and writes of several pieces. Each thread uses its
 * own team and a context of the world. shmem_space_destroy must complete the operations of all
 * contexts on the space.
 */
#include "pe_kinds.h"

#include <pthread.h>

enum { THREADS = 3, ROUNDS = 12, SIZE = PE_MIB, MAX = 8 * PE_MIB, MOST = 100000 };

enum { N_SIZES = 6 };
static const size_t sizes[N_SIZES] = {8, 256, 300, 4096, 16384, MOST};

struct worker {
    pthread_t thread;
    shmem_team_t parent;
    shmem_ctx_t ctx; /* with a session in every other round */
    unsigned char source[MOST];
    int id;
};

/* Issues a put of each size, a put with signal and an atomic, and waits for none of them. */
static void queue_puts(struct worker *w, unsigned char *block, uint64_t *signal)
{
    size_t at = 0;

    for (size_t i = 0; i < N_SIZES; i++) {
        shmem_ctx_putmem_nbi(w->ctx, block + at, w->source, sizes[i], pe_right());
        at += sizes[i];
    }
    shmem_ctx_putmem_signal_nbi(w->ctx, block + at, w->source, sizes[3], signal, 1,
                                SHMEM_SIGNAL_ADD, pe_right());
    shmem_ctx_ulong_atomic_add(w->ctx, (unsigned long *)(signal + 1), 1, pe_right());
}

static void check_puts(const struct worker *w, const unsigned char *block, const uint64_t *signal,
                       uint64_t times)
{
    size_t at = 0, wrong = 0;

    for (size_t i = 0; i < N_SIZES; i++) {
        wrong += memcmp(block + at, w->source, sizes[i]) != 0;
        at += sizes[i];
    }
    PE_CHECK(wrong == 0, "thread %d: the data of %zu puts of the left PE are wrong", w->id, wrong);
    PE_CHECK(
        signal[0] == times && signal[1] == times,
        "thread %d: the signal is %llu and the counter is %llu, expected both to be the number of "
        "rounds",
        w->id, (unsigned long long)signal[0], (unsigned long long)signal[1]);
}

/* All PEs have the same bytes, so that a PE knows what its left neighbour has put. */
static void fill(struct worker *w, int round)
{
    for (size_t i = 0; i < MOST; i++)
        w->source[i] = (unsigned char)(i * 7 + (size_t)(round * 31 + w->id));
}

static void run_round(struct worker *w, int round)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_CPU, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    unsigned char *block, *more;
    shmem_space_t space;
    shmem_team_t team;
    uint64_t *signal;

    attr.parent = w->parent;
    attr.max_size = MAX;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, &team) == 0,
               "shmemx_space_create_attr failed");
    block = shmem_space_malloc(space, SIZE / 2);
    signal = shmem_space_calloc(space, 2, sizeof(*signal));
    fill(w, round);
    queue_puts(w, block, signal);
    more = shmem_space_malloc(space, 2 * SIZE); /* it grows */
    PE_REQUIRE(block != NULL && signal != NULL && more != NULL,
               "an allocation in the space returned NULL, or the space did not grow");
    queue_puts(w, more, signal);
    if (round % 3 == 0) {
        shmem_ctx_quiet(w->ctx);
        shmem_team_sync(team);
        check_puts(w, block, signal, 2);
        check_puts(w, more, signal, 2);
        shmem_team_sync(team);
        queue_puts(w, block, signal);
    }
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

static void *run(void *arg)
{
    struct worker *w = arg;

    PE_CHECK_EQ(shmem_ctx_create(0, &w->ctx), 0);
    for (int round = 0; round < pe_rounds(ROUNDS); round++) {
        if (round % 2 == 1) shmem_ctx_session_start(w->ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
        run_round(w, round);
        if (round % 2 == 1) shmem_ctx_session_stop(w->ctx);
    }
    shmem_ctx_destroy(w->ctx);
    return NULL;
}

int main(void)
{
    static struct worker workers[THREADS];
    int provided;

    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    pe_test_attach();
    for (int i = 0; i < THREADS; i++) {
        workers[i].id = i;
        PE_CHECK_EQ(shmemx_team_duplicate(SHMEM_TEAM_WORLD, &workers[i].parent), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&workers[i].thread, NULL, run, &workers[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        shmem_team_destroy(workers[i].parent);
    }
    return pe_test_end();
}
