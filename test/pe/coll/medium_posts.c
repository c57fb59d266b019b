/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What collectives of vectors that fit no cell are through the fabric: data and word are one write,
 * and nobody reads. Counted by the provider shim.
 */
#include "pe_test.h"

#include <dlfcn.h>

enum { CALLS = 64, WORDS = 4096 };

static long source[WORDS], dest[WORDS];

static long counted(const char *what)
{
    long (*count)(const char *) = (long (*)(const char *))dlsym(RTLD_DEFAULT, "provshim_count");

    PE_REQUIRE(count != NULL, "the provider shim is not here");
    return count(what);
}

static void one_broadcast(int call)
{
    int root = call % pe_n;

    for (long i = 0; i < WORDS; i++)
        source[i] = call * 100L + pe_me + i;
    shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, WORDS, root);
    for (long i = 0; i < WORDS; i++)
        if (!PE_CHECK(dest[i] == call * 100L + root + i, "broadcast %d: %ld at %ld", call, dest[i],
                      i))
            return;
}

static void one_reduce(int call)
{
    for (long i = 0; i < WORDS; i++)
        source[i] = call + pe_me + i;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, WORDS);
    for (long i = 0; i < WORDS; i++)
        if (!PE_CHECK(dest[i] == pe_n * (call + i) + pe_n * (pe_n - 1L) / 2,
                      "reduce %d: %ld at %ld", call, dest[i], i))
            return;
}

/* In place, each behind the last without a sync. */
static void one_in_place(int call)
{
    for (long i = 0; i < WORDS; i++)
        dest[i] = call * (pe_me + 1) + i;
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, dest, dest, WORDS);
    for (long i = 0; i < WORDS; i++)
        if (!PE_CHECK(dest[i] == (long)call * pe_n + i, "max %d: %ld at %ld", call, dest[i], i))
            return;
}

/*
 * writes: of this PE in a call at most. syncs: between calls, since the next root may write into a
 * dest that is still looked at.
 */
static void check(const char *what, void (*one)(int call), long writes, bool syncs)
{
    long rma, reads, posts;

    shmem_barrier_all();
    posts = counted("posts");
    rma = counted("rma");
    reads = counted("reads");
    for (int call = 0; call < CALLS; call++) {
        one(call);
        if (syncs) shmem_sync_all();
    }
    rma = counted("rma") - rma;
    reads = counted("reads") - reads;
    posts = counted("posts") - posts;
    PE_CHECK(reads == 0, "%s: %ld reads in %d calls", what, reads, CALLS);
    PE_CHECK(rma <= writes * CALLS, "%s: %ld writes in %d calls, more than %ld each", what, rma,
             CALLS, writes);
    PE_CHECK(pe_n == 1 || rma > 0, "%s: no writes in %d calls", what, CALLS);
    /* Beside them there are the syncs for cells that are used again: not a word for each write. */
    PE_CHECK(syncs || posts - rma < CALLS, "%s: %ld posts besides %ld writes in %d calls", what,
             posts - rma, rma, CALLS);
    shmem_barrier_all();
}

int main(void)
{
    long n_rounds = 0;

    pe_test_begin();
    while (1 << n_rounds < pe_n)
        n_rounds++;
    check("broadcast", one_broadcast, n_rounds, true);
    check("reduce", one_reduce, 2 * n_rounds - 1, false); /* the last block may be short */
    check("reduce in place", one_in_place, 2 * n_rounds - 1, false);
    return pe_test_end();
}
