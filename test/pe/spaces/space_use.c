/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks communication on the memory of CPU spaces: put, get, strided, atomics, signals, waits,
 * contexts and collectives, also between two spaces, the heap and globals. Proposal text and rules
 * S9, S10 and S16 of docs/reference/conformance-spaces.md.
 */
#include "pe_spaces.h"

enum { N = 5000 };

static shmem_space_t space, other;
static shmem_team_t team, other_team;
static long *block, *second, *heap; /* in space, in other, in the heap */
static long in_data[N];

static void check_put_get(long *dest, const long *source, const char *what)
{
    static long got[N];

    memset(dest, 0, N * sizeof(*dest));
    shmem_barrier_all();
    shmem_long_put(dest, source, N, pe_right());
    shmem_barrier_all();
    for (int i = 0; i < N; i++)
        if (!PE_CHECK(dest[i] == pe_left() * 10000 + i,
                      "%s: word %d is %ld, which is not the value of the left PE", what, i,
                      dest[i]))
            break;
    shmem_long_get(got, dest, N, pe_right());
    PE_CHECK(got[N - 1] == pe_me * 10000 + N - 1,
             "%s: get from the right PE returned %ld, expected the value that this PE had put",
             what, got[N - 1]);
    shmem_barrier_all();
}

/* S9: source and dest in any two of space, other space, heap, globals. */
static void check_rma(void)
{
    long *const places[4] = {block, second, heap, in_data};
    static const char *const names[4] = {"space", "other", "heap", "globals"};

    for (int s = 0; s < 4; s++)
        for (int d = 0; d < 4; d++) {
            char what[64];

            if (s == d) continue;
            for (int i = 0; i < N; i++)
                places[s][i] = pe_me * 10000 + i;
            snprintf(what, sizeof(what), "%s to %s", names[s], names[d]);
            check_put_get(places[d], places[s], what);
        }
}

static void check_small_ops(void)
{
    static long from[8] = {1, 2, 3, 4, 5, 6, 7, 8};

    memset(block, 0, 100 * sizeof(*block));
    shmem_barrier_all();
    shmem_long_iput(block, from, 3, 2, 4, pe_right());
    shmem_long_p(&block[50], 500 + pe_me, pe_right());
    shmem_long_put_nbi(&block[60], from, 8, pe_right());
    shmem_quiet();
    PE_CHECK_EQ(shmem_long_g(&block[50], pe_right()), 500 + pe_me);
    shmem_barrier_all();
    for (int i = 0; i < 12; i++)
        PE_CHECK_EQ(block[i], i % 3 == 0 ? 1 + i / 3 * 2 : 0);
    PE_CHECK_EQ(block[67], 8);
    shmem_barrier_all();
}

/* Everybody counts on everybody; a wait sees it. */
static void check_atomics(void)
{
    memset(second, 0, 100 * sizeof(*second));
    shmem_barrier_all();
    for (int i = 0; i < 50; i++)
        for (int pe = 0; pe < pe_n; pe++)
            shmem_long_atomic_inc(&second[7], pe);
    shmem_long_wait_until(&second[7], SHMEM_CMP_EQ, 50L * pe_n);
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_long_atomic_compare_swap(&second[8], 0, 5, pe_right()), 0);
    shmem_barrier_all();
    PE_CHECK_EQ(second[8], 5);
    PE_CHECK_EQ(second[6], 0);
    PE_CHECK_EQ(second[9], 0);
    shmem_barrier_all();
}

/* S10: data here, signal there; the signal comes after the data. */
static void check_signal(long *data, uint64_t *sig, const char *what)
{
    static long from[N];

    *sig = 0;
    shmem_barrier_all();
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(20); round++) {
        for (int i = 0; i < N; i++)
            from[i] = (long)round * 7 + pe_me;
        shmem_long_put_signal(data, from, N, sig, round, SHMEM_SIGNAL_SET, pe_right());
        shmem_signal_wait_until(sig, SHMEM_CMP_GE, round);
        for (int i = 0; i < N; i++)
            if (!PE_CHECK(data[i] == (long)round * 7 + pe_left(),
                          "%s: word %d is %ld, which is not the value of the left PE", what, i,
                          data[i]))
                break;
        shmem_barrier_all();
    }
}

static void check_context(void)
{
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;

    block[0] = -1;
    PE_REQUIRE(shmem_team_create_ctx(team, 0, &ctx) == 0,
               "shmem_team_create_ctx on the space's team failed");
    shmem_barrier_all();
    shmem_ctx_long_p(ctx, block, 33 + pe_me, pe_right());
    shmem_ctx_quiet(ctx);
    PE_CHECK_EQ(shmem_ctx_long_g(ctx, block, pe_right()), 33 + pe_me);
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
    PE_CHECK_EQ(block[0], 33 + pe_left());
    shmem_barrier_all();
}

/* S9, S16: on the space's team and on the world, between spaces and in place. */
static void check_collectives(shmem_team_t on, long *dest, long *source, const char *what)
{
    int root = pe_n / 2;
    bool same = dest == source;

    for (int i = 0; i < N; i++)
        source[i] = pe_me * 3 + i;
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_long_sum_reduce(on, dest, source, N), 0);
    for (int i = 0; i < N; i++)
        if (!PE_CHECK(dest[i] == 3L * pe_n * (pe_n - 1) / 2 + (long)i * pe_n,
                      "%s: sum_reduce: element %d is %ld, which is not the sum over the PEs", what,
                      i, dest[i]))
            break;
    shmem_barrier_all();
    for (int i = 0; i < N; i++)
        source[i] = pe_me * 3 + i;
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_long_broadcast(on, dest, source, N, root), 0);
    PE_CHECK(dest[0] == root * 3 && dest[N - 1] == root * 3 + N - 1,
             "%s: broadcast delivered other data than the root's", what);
    shmem_barrier_all();
    if (same) return;
    source[0] = 90 + pe_me;
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_long_fcollect(on, dest, source, 1), 0);
    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK(dest[pe] == 90 + pe,
                 "%s: fcollect: the element of PE %d is %ld, expected 90 plus its number", what, pe,
                 dest[pe]);
    for (int pe = 0; pe < pe_n; pe++)
        source[pe] = pe_me * 100 + pe;
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_long_alltoall(on, dest, source, 1), 0);
    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK(dest[pe] == pe * 100 + pe_me,
                 "%s: alltoall: the element of PE %d is %ld, which is wrong", what, pe, dest[pe]);
    shmem_barrier_all();
}

int main(void)
{
    pe_test_begin();
    space = pe_space_create(2 * PE_MIB, &team);
    other = pe_space_create(PE_MIB, &other_team);
    block = shmem_space_calloc(space, N, sizeof(*block));
    second = shmem_space_calloc(other, N, sizeof(*second));
    heap = shmem_calloc(N, sizeof(*heap));
    PE_REQUIRE(block != NULL && second != NULL && heap != NULL,
               "an allocation in one of the spaces or the heap returned NULL");
    check_rma();
    check_small_ops();
    check_atomics();
    check_signal(block, (uint64_t *)second, "space, signal in another");
    check_signal(second, (uint64_t *)heap, "space, signal in the heap");
    check_signal(heap, (uint64_t *)block, "heap, signal in a space");
    check_signal(block, (uint64_t *)in_data, "space, signal in globals");
    check_context();
    check_collectives(team, block, block, "in place");
    check_collectives(team, block, second, "other to space");
    check_collectives(SHMEM_TEAM_WORLD, second, block, "space to other on the world");
    check_collectives(other_team, heap, block, "space to heap");
    check_collectives(team, second, in_data, "globals to other");
    shmem_space_free(space, block);
    shmem_space_free(other, second);
    pe_space_end(space, team);
    pe_space_end(other, other_team);
    return pe_test_end();
}
