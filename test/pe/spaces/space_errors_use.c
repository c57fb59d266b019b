/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes with puts, gets, atomics and collectives on memory of spaces, and losses of a device or
 * a PE. Each function must end the job; run_space_errors.sh checks the message.
 */
#include "space_errors.h"

#include <signal.h>

static void fatal_put_stale(void)
{
    end_space();
    shmem_long_p(block, 1, peer);
}

static void fatal_get_stale(void)
{
    static long dest[N];

    end_space();
    shmem_long_get(dest, block, N, peer);
}

static void fatal_amo_stale(void)
{
    end_space();
    shmem_long_atomic_inc(block, peer);
}

static void fatal_put_beyond(void)
{
    static long source[2 * SIZE / sizeof(long)];

    if (the_one()) shmem_long_put(block, source, 2 * SIZE / sizeof(long), peer);
}

static void fatal_get_beyond(void)
{
    static long dest[2 * SIZE / sizeof(long)];

    if (the_one()) shmem_long_get(dest, block, 2 * SIZE / sizeof(long), peer);
}

static void fatal_broadcast_beyond(void)
{
    shmem_long_broadcast(s.team, block, block, 2 * SIZE / sizeof(long), 0);
}

static void fatal_reduce_beyond(void)
{
    shmem_long_sum_reduce(s.team, block, block, 2 * SIZE / sizeof(long));
}

/* Where a space that may grow has not got yet: an object of nobody's. */
static long *kept_words(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_t space;
    shmem_team_t team;
    long *words;

    attr.max_size = (size_t)64 * SIZE;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, &team) == 0,
               "creating a space that may grow failed");
    words = shmem_space_malloc(space, SIZE);
    for (int i = 0; i < 100; i++) /* all parts are open by now */
        shmem_long_p(words, i, i % pe_n);
    shmem_barrier_all();
    return words;
}

static void fatal_kept_put(void)
{
    long *words = kept_words();

    if (the_one()) shmem_long_p(words + 4 * SIZE / sizeof(long), 1, peer);
}

static void fatal_kept_store(void)
{
    long *there = shmem_ptr(kept_words(), peer);

    if (the_one()) there[4 * SIZE / sizeof(long)] = 1;
}

static void fatal_store_beyond(void)
{
    long *there = shmem_ptr(block, peer);

    if (the_one()) there[2 * SIZE / sizeof(long)] = 1; /* behind the large page of the part */
}

static void fatal_put_past_block(void)
{
    static long source[2 * N];

    if (the_one()) shmem_long_put(block, source, 2 * N, peer);
}

static void fatal_amo_unaligned(void)
{
    if (the_one()) shmem_long_atomic_inc((long *)((char *)block + 2), peer);
}

/* Device memory of the application's own, which is private. */
static long *private_memory(void)
{
    unsigned long long device = 0;
    void *context = NULL;

    PE_REQUIRE(pe_gpu_load(), "libcuda.so.1 cannot be loaded or has no device");
    PE_REQUIRE(pe_cuda.retain(&context, 0) == 0 && pe_cuda.set_current(context) == 0,
               "the primary context of device 0 cannot be retained and made current");
    PE_REQUIRE(pe_cuda.alloc(&device, 4096) == 0, "cuMemAlloc of 4096 bytes failed");
    return (long *)(uintptr_t)device;
}

static void fatal_private_dest(void)
{
    if (the_one()) shmem_long_put(private_memory(), block, 10, peer);
}

static void fatal_private_amo(void)
{
    if (the_one()) shmem_long_atomic_inc(private_memory(), peer);
}

/* Some PE has no part of the space: run with FAKECUDA_RANKS. */
static int no_member(void)
{
    for (int pe = 0; pe < pe_n; pe++)
        if (shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, s.team) < 0) return pe;
    return -1;
}

static void fatal_put_outside(void)
{
    if (the_one()) shmem_long_p(block, 1, no_member());
}

static void fatal_get_outside(void)
{
    if (the_one()) (void)shmem_long_g(block, no_member());
}

/* Members that do not agree. SHMEM_CHECK=1. */
static void fatal_malloc_differs(void)
{
    shmem_space_malloc(s.space, (size_t)(100 + s.rank));
}

static void fatal_calloc_differs(void)
{
    shmem_space_calloc(s.space, the_one() ? 20 : 10, 8);
}

static void fatal_free_differs(void)
{
    long *other = pe_kind_malloc(&s, 10);

    shmem_space_free(s.space, the_one() ? block : other);
}

/* Collectives where the last member gives memory of another space. SHMEM_CHECK=1. S9. */
static void fatal_mixed_dest(void)
{
    static long in_globals[N];

    shmem_long_broadcast(s.team, the_one() ? in_globals : block, block + N / 2, 10, 0);
}

static void fatal_mixed_source(void)
{
    static long in_globals[N];

    shmem_long_sum_reduce(s.team, block, the_one() ? in_globals : block + N / 2, 10);
}

/* The world's collective on memory of which some PEs have no part. SHMEM_CHECK=1. */
static void fatal_coll_outside(void)
{
    static long in_globals[N];

    shmem_long_broadcast(SHMEM_TEAM_WORLD, s.rank >= 0 ? block : in_globals,
                         s.rank >= 0 ? block + N / 2 : in_globals + N / 2, 10, 0);
}

/* A context of one space is given memory of another. SHMEM_CHECK=1. */
static shmem_ctx_t bound_context(void)
{
    shmemx_ctx_config_t config = {s.team, s.space};
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;

    PE_REQUIRE(shmemx_ctx_create(0, &config, &ctx) == 0,
               "shmemx_ctx_create of a context bound to the space failed");
    return ctx;
}

static long elsewhere[N];

static void fatal_bound_put(void)
{
    shmem_ctx_t ctx = bound_context();

    if (the_one()) shmem_ctx_long_p(ctx, elsewhere, 1, (s.rank + 1) % s.n);
}

static void fatal_bound_get(void)
{
    shmem_ctx_t ctx = bound_context();

    if (the_one()) (void)shmem_ctx_long_g(ctx, elsewhere, (s.rank + 1) % s.n);
}

static void fatal_bound_amo(void)
{
    shmem_ctx_t ctx = bound_context();

    if (the_one()) shmem_ctx_long_atomic_inc(ctx, elsewhere, (s.rank + 1) % s.n);
}

static void fatal_bound_signal(void)
{
    shmem_ctx_t ctx = bound_context();

    if (the_one())
        shmem_ctx_long_put_signal(ctx, block + 1, elsewhere, 4, (uint64_t *)elsewhere, 1,
                                  SHMEM_SIGNAL_SET, (s.rank + 1) % s.n);
}

static void fatal_bound_data(void)
{
    shmem_ctx_t ctx = bound_context();

    if (the_one())
        shmem_ctx_long_put_signal(ctx, elsewhere, elsewhere + 8, 4, (uint64_t *)block, 1,
                                  SHMEM_SIGNAL_SET, (s.rank + 1) % s.n);
}

/* Use without end: a device that the run has fail at some time ends it. */
static void fatal_lost_device(void)
{
    for (long round = 0; round < 500; round++) {
        pe_kind_ring(&s, block, N, round);
        shmem_long_atomic_inc(block, peer);
        shmem_long_sum_reduce(s.team, block, block + N / 2, N / 2);
        pe_kind_use(&s, round);
    }
}

/* A PE dies without a word in the middle of the use of everybody's memory. */
static void fatal_killed(void)
{
    for (long round = 0; round < 100; round++) {
        pe_kind_ring(&s, block, N, round);
        if (round == 20 && the_one()) raise(SIGKILL);
    }
}

static const struct mistake mistakes[] = {
    {"put_stale", fatal_put_stale, MADE_BY_MEMBERS},
    {"get_stale", fatal_get_stale, MADE_BY_MEMBERS},
    {"amo_stale", fatal_amo_stale, MADE_BY_MEMBERS},
    {"put_beyond", fatal_put_beyond, MADE_BY_MEMBERS},
    {"get_beyond", fatal_get_beyond, MADE_BY_MEMBERS},
    {"broadcast_beyond", fatal_broadcast_beyond, MADE_BY_MEMBERS},
    {"reduce_beyond", fatal_reduce_beyond, MADE_BY_MEMBERS},
    {"kept_put", fatal_kept_put, MADE_BY_MEMBERS},
    {"kept_store", fatal_kept_store, MADE_BY_MEMBERS},
    {"store_beyond", fatal_store_beyond, MADE_BY_MEMBERS},
    {"put_past_block", fatal_put_past_block, MADE_BY_MEMBERS},
    {"amo_unaligned", fatal_amo_unaligned, MADE_BY_MEMBERS},
    {"private_dest", fatal_private_dest, MADE_BY_MEMBERS},
    {"private_amo", fatal_private_amo, MADE_BY_MEMBERS},
    {"put_outside", fatal_put_outside, MADE_BY_MEMBERS},
    {"get_outside", fatal_get_outside, MADE_BY_MEMBERS},
    {"malloc_differs", fatal_malloc_differs, MADE_BY_MEMBERS},
    {"calloc_differs", fatal_calloc_differs, MADE_BY_MEMBERS},
    {"free_differs", fatal_free_differs, MADE_BY_MEMBERS},
    {"mixed_dest", fatal_mixed_dest, MADE_BY_MEMBERS},
    {"mixed_source", fatal_mixed_source, MADE_BY_MEMBERS},
    {"coll_outside", fatal_coll_outside, MADE_BY_ALL},
    {"bound_put", fatal_bound_put, MADE_BY_MEMBERS},
    {"bound_get", fatal_bound_get, MADE_BY_MEMBERS},
    {"bound_amo", fatal_bound_amo, MADE_BY_MEMBERS},
    {"bound_signal", fatal_bound_signal, MADE_BY_MEMBERS},
    {"bound_data", fatal_bound_data, MADE_BY_MEMBERS},
    {"lost_device", fatal_lost_device, MADE_BY_MEMBERS},
    {"killed", fatal_killed, MADE_BY_MEMBERS},
    {NULL, NULL, MADE_BY_MEMBERS},
};

static int failures(void)
{
    return pe_failures;
}

const struct concern concern_use = {mistakes, concern_begin, failures};
