/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks how many operations collectives post on the fabric. The provider shim counts them.
 *
 * usage: posts small|medium|large
 *   small   A PE sends one message in each round, which has the data and the flag word. It answers
 *           the messages of others, and posts no read, no write and no other word.
 *   medium  Vectors that do not fit a cell: data and word are one write, and no PE reads.
 *   large   Vectors of any size take few operations, because a PE waits for each of them.
 */
#include "pe_test.h"

#include <dlfcn.h>
#include <limits.h>

enum { SMALL = 48, MEDIUM = 4096, LARGE = 1 << 20, SMALL_CALLS = 320, MEDIUM_CALLS = 64 };
enum { BATCHES = 80, MOST = 60 /* posts of a large collective and its syncs */ };

static long source[LARGE], dest[LARGE];
static size_t n;      /* words of a vector */
static long n_rounds; /* of a message from one PE to all */

struct cost {
    long posts, rma, reads;
};

static struct cost cost_now(void)
{
    long (*count)(const char *) = (long (*)(const char *))dlsym(RTLD_DEFAULT, "provshim_count");

    PE_REQUIRE(count != NULL, "the provider shim is not loaded: no function provshim_count");
    return (struct cost){count("posts"), count("rma"), count("reads")};
}

/* What so many calls cost; with syncs between, because the next root may write into a dest. */
static struct cost cost_of(void (*one)(int call), int calls, bool syncs)
{
    struct cost before, after;

    shmem_barrier_all();
    before = cost_now();
    for (int call = 0; call < calls; call++) {
        one(call);
        if (syncs) shmem_sync_all();
    }
    after = cost_now();
    shmem_barrier_all();
    return (struct cost){after.posts - before.posts, after.rma - before.rma,
                         after.reads - before.reads};
}

/* ---- collectives, each with data of the call ---------------------------------------------- */

static void fill(long first)
{
    for (size_t i = 0; i < n; i++)
        source[i] = first + (long)i;
}

static void expect(const char *what, int call, long first, long step)
{
    PE_CHECK_EACH(size_t, i, n, dest[i] == first + step * (long)i,
                  "%s, call %d: wrong value %ld at element %zu, expected %ld", what, call, dest[i],
                  i, first + step * (long)i);
}

static void one_sync(int call)
{
    (void)call;
    shmem_team_sync(SHMEM_TEAM_WORLD);
}

static void one_broadcast(int call)
{
    int root = call % pe_n;

    fill(call * 100L + pe_me);
    shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, n, root);
    expect("broadcast", call, call * 100L + root, 1);
}

static void one_reduce(int call)
{
    fill(call + pe_me);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, n);
    expect("reduce", call, (long)pe_n * call + pe_n * (pe_n - 1L) / 2, pe_n);
}

/* In place, each call after the last without a sync. */
static void one_in_place(int call)
{
    for (size_t i = 0; i < n; i++)
        dest[i] = call * (pe_me + 1) + (long)i;
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, dest, dest, n);
    expect("max", call, (long)call * pe_n, 1);
}

static void one_inscan(int call)
{
    fill(pe_me);
    shmem_long_sum_inscan(SHMEM_TEAM_WORLD, dest, source, n);
    expect("inscan", call, pe_me * (pe_me + 1L) / 2, pe_me + 1);
}

static void one_exscan(int call)
{
    fill(pe_me);
    shmem_long_sum_exscan(SHMEM_TEAM_WORLD, dest, source, n);
    expect("exscan", call, pe_me * (pe_me - 1L) / 2, pe_me);
}

static void one_fcollect(int call)
{
    source[0] = call * 100L + pe_me;
    shmem_long_fcollect(SHMEM_TEAM_WORLD, dest, source, 1);
    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK(dest[pe] == call * 100L + pe, "fcollect, call %d: wrong value %ld from PE %d",
                 call, dest[pe], pe);
}

/* PE p has p + 1 words. */
static void one_collect(int call)
{
    fill(call * 100L + pe_me * 10);
    shmem_long_collect(SHMEM_TEAM_WORLD, dest, source, (size_t)pe_me + 1);
    for (int pe = 0, at = 0; pe < pe_n; pe++)
        for (int i = 0; i <= pe; i++, at++)
            PE_CHECK(dest[at] == call * 100L + pe * 10 + i,
                     "collect, call %d: dest has the wrong value %ld", call, dest[at]);
}

static void one_alltoall(int call)
{
    fill(call * 100L + pe_me * 10);
    shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, 1);
    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK(dest[pe] == call * 100L + pe * 10 + pe_me,
                 "alltoall, call %d: dest has the wrong value %ld", call, dest[pe]);
}

/* ---- what they may cost ------------------------------------------------------------------- */

/* A message is its send, the answer, and at both ends a buffer for what comes next. */
static void check_small(const char *what, void (*one)(int call))
{
    struct cost cost = cost_of(one, SMALL_CALLS, false);

    PE_CHECK(cost.posts <= 5 * n_rounds * SMALL_CALLS,
             "%s: this PE posted %ld operations in %d calls, more than 5 in each round", what,
             cost.posts, SMALL_CALLS);
    PE_CHECK(cost.rma == 0, "%s: this PE posted %ld reads and writes in %d calls, expected none",
             what, cost.rma, SMALL_CALLS);
}

/*
 * Nobody waits for the answers to these words, so that a later word carries each: a send and a
 * buffer in each round, then. Not in every call, since a PE may lose its core for long.
 */
static void check_answers(void)
{
    enum { CALLS = SMALL_CALLS / BATCHES };
    long least = LONG_MAX, most = 12 * n_rounds * CALLS / 5;

    for (int batch = 0; batch < BATCHES; batch++) {
        long before = cost_now().posts, posts;

        for (int call = 0; call < CALLS; call++)
            one_sync(call);
        posts = cost_now().posts - before;
        if (posts < least) least = posts;
    }
    PE_CHECK(least <= most,
             "at least %ld operations were posted in each %d syncs, expected at most %ld", least,
             CALLS, most);
}

/* writes: of this PE in a call at most. */
static void check_medium(const char *what, void (*one)(int call), long writes, bool syncs)
{
    struct cost cost = cost_of(one, MEDIUM_CALLS, syncs);

    PE_CHECK(cost.reads == 0, "%s: this PE posted %ld reads in %d calls, expected none", what,
             cost.reads, MEDIUM_CALLS);
    PE_CHECK(cost.rma <= writes * MEDIUM_CALLS,
             "%s: this PE posted %ld writes in %d calls, expected at most %ld in each", what,
             cost.rma, MEDIUM_CALLS, writes);
    PE_CHECK(pe_n == 1 || cost.rma > 0,
             "%s: this PE posted no writes in %d calls, expected data to be written", what,
             MEDIUM_CALLS);
    /* Beside them there are the syncs for cells that are used again: not a word for each write. */
    PE_CHECK(
        syncs || cost.posts - cost.rma < MEDIUM_CALLS,
        "%s: this PE posted %ld operations besides %ld writes, expected less than one in each call",
        what, cost.posts - cost.rma, cost.rma);
}

static void check_large(const char *what, void (*one)(int call))
{
    struct cost cost = cost_of(one, 1, false);

    PE_CHECK(cost.posts <= MOST,
             "%s: this PE posted %ld operations for %zu bytes, expected at most %d", what,
             cost.posts, sizeof(source), MOST);
}

int main(int argc, char **argv)
{
    const char *size = argc > 1 ? argv[1] : "";

    pe_test_begin();
    while (1 << n_rounds < pe_n)
        n_rounds++;
    if (strcmp(size, "small") == 0) {
        n = SMALL;
        check_answers();
        check_small("sync", one_sync);
        check_small("broadcast", one_broadcast);
        check_small("reduce", one_reduce);
        check_small("fcollect", one_fcollect);
        check_small("collect", one_collect);
        check_small("alltoall", one_alltoall);
    } else if (strcmp(size, "medium") == 0) {
        n = MEDIUM;
        check_medium("broadcast", one_broadcast, n_rounds, true);
        check_medium("reduce", one_reduce, 2 * n_rounds - 1, false); /* a last block may be short */
        check_medium("reduce in place", one_in_place, 2 * n_rounds - 1, false);
    } else if (PE_CHECK(strcmp(size, "large") == 0, "usage: posts small|medium|large")) {
        n = LARGE;
        check_large("inscan", one_inscan);
        check_large("exscan", one_exscan);
        check_large("reduce", one_reduce);
    }
    return pe_test_end();
}
