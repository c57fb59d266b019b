/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What small collectives are through the fabric: in each round a message that brings data and word
 * together, and what answers those of others. No reads, no writes, no word behind them. Counted by
 * the provider shim.
 */
#include "pe_test.h"

#include <dlfcn.h>
#include <limits.h>

enum { CALLS = 320, WORDS = 48, BATCHES = 80 };

static long source[64], dest[64];

static long counted(const char *what)
{
    long (*count)(const char *) = (long (*)(const char *))dlsym(RTLD_DEFAULT, "provshim_count");

    PE_REQUIRE(count != NULL, "the provider shim is not here");
    return count(what);
}

static void one_sync(int call)
{
    (void)call;
    shmem_team_sync(SHMEM_TEAM_WORLD);
}

static void one_broadcast(int call)
{
    int root = call % pe_n;

    source[0] = call * 100L + pe_me;
    shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, WORDS, root);
    PE_CHECK(dest[0] == call * 100L + root, "broadcast %d: %ld", call, dest[0]);
}

static void one_reduce(int call)
{
    long sum = 0;

    for (int pe = 0; pe < pe_n; pe++)
        sum += call + pe;
    source[0] = call + pe_me;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, WORDS);
    PE_CHECK(dest[0] == sum, "reduce %d: %ld, not %ld", call, dest[0], sum);
}

static void one_fcollect(int call)
{
    source[0] = call * 100L + pe_me;
    shmem_long_fcollect(SHMEM_TEAM_WORLD, dest, source, 1);
    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK(dest[pe] == call * 100L + pe, "fcollect %d: %ld from %d", call, dest[pe], pe);
}

/* PE p has p + 1 words. */
static void one_collect(int call)
{
    for (int i = 0; i <= pe_me; i++)
        source[i] = call * 100L + pe_me * 10 + i;
    shmem_long_collect(SHMEM_TEAM_WORLD, dest, source, (size_t)pe_me + 1);
    for (int pe = 0, at = 0; pe < pe_n; pe++)
        for (int i = 0; i <= pe; i++, at++)
            PE_CHECK(dest[at] == call * 100L + pe * 10 + i, "collect %d: %ld", call, dest[at]);
}

static void one_alltoall(int call)
{
    for (int pe = 0; pe < pe_n; pe++)
        source[pe] = call * 100L + pe_me * 10 + pe;
    shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, 1);
    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK(dest[pe] == call * 100L + pe * 10 + pe_me, "alltoall %d: %ld", call, dest[pe]);
}

/* A message is its send, the answer, and at both ends a buffer for what comes next. */
static void check(const char *what, void (*one)(int call))
{
    long posts, rma, n_rounds = 0;

    while (1 << n_rounds < pe_n)
        n_rounds++;
    shmem_barrier_all();
    posts = counted("posts");
    rma = counted("rma");
    for (int call = 0; call < CALLS; call++)
        one(call);
    posts = counted("posts") - posts;
    rma = counted("rma") - rma;
    PE_CHECK(posts <= 5 * n_rounds * CALLS, "%s: %ld posts in %d calls", what, posts, CALLS);
    PE_CHECK(rma == 0, "%s: %ld reads and writes in %d calls", what, rma, CALLS);
    shmem_barrier_all();
}

/*
 * Nobody waits for the answers to these words, so that a later word carries each: a send and a
 * buffer in each round, then. Not in every call, since a PE may lose its core for long.
 */
static void check_answers(void)
{
    long least = LONG_MAX, most, n_rounds = 0;

    while (1 << n_rounds < pe_n)
        n_rounds++;
    most = 12 * n_rounds * (CALLS / BATCHES) / 5;
    for (int batch = 0; batch < BATCHES; batch++) {
        long posts = counted("posts");

        for (int call = 0; call < CALLS / BATCHES; call++)
            one_sync(call);
        posts = counted("posts") - posts;
        if (posts < least) least = posts;
    }
    PE_CHECK(least <= most, "%ld posts in %d syncs, not %ld", least, CALLS / BATCHES, most);
}

int main(void)
{
    pe_test_begin();
    check_answers();
    check("sync", one_sync);
    check("broadcast", one_broadcast);
    check("reduce", one_reduce);
    check("fcollect", one_fcollect);
    check("collect", one_collect);
    check("alltoall", one_alltoall);
    return pe_test_end();
}
