/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks active-set collectives over sets of every shape (OpenSHMEM 1.6, section 9.10; rules R169,
 * R170, R175, R184 and R192-R199 of docs/reference/conformance.md): their results, PEs that are not
 * members, reuse of pSync arrays, sets that overlap, and the operations that shmem_barrier
 * completes. At most 64 PEs.
 */
#include "pe_active.h"

enum { BIG = 5000, MUCH = 1 << 19, MAX_PES = 64 };

/* Symmetric: globals, as old programs have them. */
static long sync_a[SHMEM_SYNC_SIZE], sync_b[SHMEM_SYNC_SIZE], sync_c[SHMEM_BARRIER_SYNC_SIZE];
static long sync_pair[MAX_PES][SHMEM_REDUCE_SYNC_SIZE], sync_end[MAX_PES][SHMEM_BARRIER_SYNC_SIZE];
static long sync_own[MAX_PES][SHMEM_BCAST_SYNC_SIZE];
static long work[BIG / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long source[BIG], dest[BIG], seen[MAX_PES];

static void init_all(void)
{
    pe_psync_init(sync_a, SHMEM_SYNC_SIZE);
    pe_psync_init(sync_b, SHMEM_SYNC_SIZE);
    pe_psync_init(sync_c, SHMEM_BARRIER_SYNC_SIZE);
    pe_psync_init(sync_pair[0], MAX_PES * SHMEM_REDUCE_SYNC_SIZE);
    pe_psync_init(sync_end[0], MAX_PES * SHMEM_BARRIER_SYNC_SIZE);
    pe_psync_init(sync_own[0], MAX_PES * SHMEM_BCAST_SYNC_SIZE);
    shmem_barrier_all();
}

static long value_of(int pe, size_t i)
{
    return pe * 100000L + (long)i + 1;
}

static void fill(long *a, size_t n, int pe)
{
    for (size_t i = 0; i < n; i++)
        a[i] = value_of(pe, i);
}

/* Every member puts n words to the next one; after the barrier they are there. */
static void put_and_barrier(const struct pe_set *set, size_t n, long *psync)
{
    int next = pe_set_pe(set, (set->rank + 1) % set->size);
    int before = pe_set_pe(set, (set->rank + set->size - 1) % set->size);
    size_t wrong = 0;

    shmem_long_put_nbi(dest, source, n, next);
    shmem_long_p(&seen[0], pe_me, next);
    shmem_barrier(PE_SET(set), psync);
    for (size_t i = 0; i < n; i++)
        wrong += dest[i] != value_of(before, i);
    PE_CHECK(wrong == 0,
             "%zu of %zu words of the put by the previous member are missing after shmem_barrier",
             wrong, n);
    PE_CHECK_EQ(seen[0], before);
}

static void collect_all(const struct pe_set *set, long *psync)
{
    shmem_fcollect64(dest, source, 2, PE_SET(set), psync);
    for (int k = 0; k < set->size; k++)
        PE_CHECK(dest[2 * k] == value_of(pe_set_pe(set, k), 0) &&
                     dest[2 * k + 1] == value_of(pe_set_pe(set, k), 1),
                 "fcollect64 over set %d, %d, %d: block %d is not the data of that member",
                 PE_SET(set), k);
}

/* R192, R196: one pSync for all sets and kinds in turn, all PEs meeting between. */
static void check_shape(int start, int log, int size)
{
    struct pe_set set = pe_set(start, log, size);

    fill(source, BIG, pe_me);
    memset(dest, 0, sizeof(dest));
    shmem_barrier_all();
    if (set.rank >= 0) put_and_barrier(&set, 5, sync_a);
    PE_CHECK_PSYNC(sync_a, SHMEM_SYNC_SIZE, "shmem_barrier");
    shmem_barrier_all();
    if (set.rank >= 0) collect_all(&set, sync_a);
    PE_CHECK_PSYNC(sync_a, SHMEM_SYNC_SIZE, "shmem_fcollect64");
    PE_CHECK(set.rank >= 0 || dest[0] == 0, "dest of a PE that is not in the set was written");
    shmem_barrier_all();
}

static void check_shapes(void)
{
    for (int log = 0; log == 0 || 1 << log < pe_n; log++)
        for (int start = 0; start < pe_n; start++)
            for (int size = 1; pe_set_fits(start, log, size); size++)
                check_shape(start, log, size);
}

/*
 * R194: the same pSync at once again. Each member writes the round to all; whoever is through a
 * round sees it of everybody, or already the next one.
 */
static void rounds_of(const struct pe_set *set, bool barrier, int n_rounds, long *psync)
{
    for (int round = 1; round <= n_rounds; round++) {
        for (int k = 0; k < set->size; k++)
            shmem_long_p(&seen[set->rank], round, pe_set_pe(set, k));
        if (barrier) {
            shmem_barrier(PE_SET(set), psync);
        } else {
            shmem_quiet();
            shmem_sync(PE_SET(set), psync);
        }
        for (int k = 0; k < set->size; k++) {
            long there = __atomic_load_n(&seen[k], __ATOMIC_RELAXED);
            if (!PE_CHECK(
                    there == round || there == round + 1,
                    "after sync or barrier of round %d, member %d is in round %ld, expected the "
                    "same round or the next",
                    round, k, there))
                return;
        }
    }
}

static void check_back_to_back(void)
{
    struct pe_set sets[2] = {pe_set(0, 0, pe_n), pe_set(pe_n > 1, 0, pe_n > 1 ? pe_n - 1 : 1)};

    for (int i = 0; i < 4; i++) {
        memset(seen, 0, sizeof(seen));
        shmem_barrier_all();
        if (sets[i / 2].rank >= 0) rounds_of(&sets[i / 2], i % 2, pe_rounds(400), sync_c);
        PE_CHECK_PSYNC(sync_c, SHMEM_BARRIER_SYNC_SIZE, "many rounds");
        shmem_barrier_all();
    }
}

/* Two arrays in turn, a sync with a third: the usual way of old programs. */
static void check_alternating(void)
{
    struct pe_set set = pe_set(0, 0, pe_n);

    for (int round = 0; round < pe_rounds(80); round++) {
        size_t n = round % 3 == 2 ? 700 : 3;
        int root = round % pe_n;

        fill(source, n, pe_me + round);
        shmem_broadcast64(dest, source, n, root, PE_SET(&set), round % 2 ? sync_a : sync_b);
        shmem_long_max_to_all(dest + n, source, (int)n, PE_SET(&set), work,
                              round % 2 ? sync_b : sync_a);
        if (pe_me != root) PE_CHECK_EQ(dest[n - 1], value_of(root + round, n - 1));
        PE_CHECK_EQ(dest[2 * n - 1], value_of(pe_n - 1 + round, n - 1));
        shmem_sync(PE_SET(&set), sync_c);
    }
}

/* R175: for each root, of small and of large data, the root's dest keeps what it had. */
static void check_broadcast(int start, int log, int size, size_t n)
{
    struct pe_set set = pe_set(start, log, size);

    for (int root = 0; root < size; root++) {
        int from = pe_set_pe(&set, root);

        fill(source, n, pe_me);
        for (size_t i = 0; i < n + 1; i++)
            dest[i] = -7;
        shmem_barrier_all();
        if (set.rank < 0) continue;
        shmem_broadcast32(dest, source, n, root, PE_SET(&set), sync_a); /* half as many words */
        if (set.rank == root)
            PE_CHECK(dest[0] == -7 && dest[n / 2 - 1] == -7,
                     "broadcast32 wrote dest on the root, expected no change");
        else
            PE_CHECK(
                dest[0] == value_of(from, 0) && dest[n / 2 - 1] == value_of(from, n / 2 - 1),
                "broadcast32 of %zu elements from member %d: dest does not have the root's data", n,
                root);
        PE_CHECK_EQ(dest[n / 2], -7);
        shmem_sync(PE_SET(&set), sync_c);
        shmem_broadcast64(dest, source, n, root, PE_SET(&set), sync_a);
        PE_CHECK_EQ(dest[n - 1], set.rank == root ? -7 : value_of(from, n - 1));
        PE_CHECK_EQ(dest[n], -7);
        PE_CHECK_EQ(source[n - 1], value_of(pe_me, n - 1));
    }
    shmem_barrier_all();
}

/* R184, R185, R195: small, large, in place, and nothing with a negative-free int. */
static void check_reduce(int start, int log, int size, int n, bool in_place)
{
    struct pe_set set = pe_set(start, log, size);
    long *to = in_place ? source : dest;

    fill(source, (size_t)n, pe_me);
    memset(dest, 0, sizeof(dest));
    shmem_barrier_all();
    if (set.rank >= 0) {
        long sum = 0;
        for (int k = 0; k < size; k++)
            sum += value_of(pe_set_pe(&set, k), 0);
        shmem_long_sum_to_all(to, source, n, PE_SET(&set), n % 2 ? work : NULL, sync_a);
        PE_CHECK_EACH(
            int, i, n, to[i] == sum + (long)i * size,
            "sum_to_all of %d elements: element %d is %ld, which is not the sum over the members",
            n, i, to[i]);
        shmem_long_sum_to_all(NULL, NULL, 0, PE_SET(&set), NULL, sync_b);
    }
    PE_CHECK(in_place || dest[n] == 0, "sum_to_all wrote after the end of dest");
    shmem_barrier_all();
}

/* R198: pairs that overlap in a chain, in flight at once, each with arrays of its own. */
static void check_chain(void)
{
    for (int round = 0; round < pe_rounds(40); round++)
        for (int i = pe_me > 0 ? pe_me - 1 : 0; i <= pe_me && i + 1 < pe_n; i++) {
            struct pe_set pair = pe_set(i, 0, 2);

            source[0] = pe_me + round;
            shmem_long_sum_to_all(dest, source, 1, PE_SET(&pair), work, sync_pair[i]);
            PE_CHECK_EQ(dest[0], 2 * i + 1 + 2 * round);
            shmem_sync(PE_SET(&pair), sync_end[i]);
        }
    shmem_barrier_all();
}

/* R198: disjoint sets at the same time with the same array: it is another one on each PE. */
static void check_disjoint(void)
{
    struct pe_set half = pe_set(pe_me % 2, 1, (pe_n + 1 - pe_me % 2) / 2);

    for (int round = 0; round < pe_rounds(40); round++) {
        source[0] = pe_me;
        shmem_long_max_to_all(dest, source, 1, PE_SET(&half), work, sync_a);
        PE_CHECK_EQ(dest[0], pe_set_pe(&half, half.size - 1));
        shmem_barrier(PE_SET(&half), sync_c);
    }
    shmem_barrier_all();
}

/* Members whose books differ, since each has had so many sets alone, find a place all the same. */
static void check_unequal(void)
{
    struct pe_set all = pe_set(0, 0, pe_n), backwards = pe_set(pe_n - 1, 0, 1);

    for (int i = 0; i < (pe_n - pe_me) * 3 % 11; i++)
        shmem_sync(pe_me, 0, 1, sync_own[i]);
    PE_CHECK_EQ(backwards.rank, pe_me == pe_n - 1 ? 0 : -1);
    for (int i = 0; i < 8; i++)
        shmem_sync(PE_SET(&all), sync_own[MAX_PES - 1 - i]);
    for (int i = 0; i < MAX_PES; i++)
        PE_CHECK_PSYNC(sync_own[i], SHMEM_BCAST_SYNC_SIZE, "sync of different sets");
    shmem_barrier_all();
}

/* Sets and a team of the same PEs take turns; the team comes and goes between. */
static void check_mixed(void)
{
    struct pe_set set = pe_set(0, 0, pe_n);

    for (int round = 0; round < pe_rounds(24); round++) {
        shmem_team_t team = pe_split(SHMEM_TEAM_WORLD, 0, 1, pe_n);

        source[0] = pe_me + round;
        shmem_long_sum_reduce(team, dest, source, 1);
        shmem_long_sum_to_all(dest + 1, source, 1, PE_SET(&set), work, sync_a);
        shmem_long_max_reduce(SHMEM_TEAM_WORLD, dest + 2, source, 1);
        PE_CHECK_EQ(dest[0], dest[1]);
        PE_CHECK_EQ(dest[2], pe_n - 1 + round);
        shmem_sync(PE_SET(&set), sync_pair[round % MAX_PES]);
        shmem_team_destroy(team);
    }
    shmem_barrier_all();
}

/*
 * R169: what takes a while, both ways, is done behind the barrier. Of four PEs these two exchange
 * no words of the barrier itself, which might keep the order.
 */
static void check_completes(void)
{
    struct pe_set all = pe_set(0, 0, pe_n);
    long *theirs = pe_malloc(MUCH * sizeof(*theirs)), *mine = pe_malloc(MUCH * sizeof(*mine));
    long *got = pe_private(MUCH * sizeof(*got));

    for (int round = 0; round < 4; round++) {
        size_t wrong_put = 0, wrong_got = 0;

        fill(mine, MUCH, pe_me + round);
        shmem_barrier(PE_SET(&all), sync_c);
        shmem_long_put_nbi(theirs, mine, MUCH, pe_left());
        shmem_long_get_nbi(got, mine, MUCH, pe_right());
        shmem_barrier(PE_SET(&all), sync_c);
        for (size_t i = 0; i < MUCH; i++) {
            wrong_put += theirs[i] != value_of(pe_right() + round, i);
            wrong_got += got[i] != value_of(pe_right() + round, i);
        }
        PE_CHECK(wrong_put == 0, "shmem_barrier did not complete put_nbi: %zu words are missing",
                 wrong_put);
        PE_CHECK(wrong_got == 0, "shmem_barrier did not complete get_nbi: %zu words are missing",
                 wrong_got);
    }
    free(got);
    shmem_barrier(PE_SET(&all), sync_c);
    shmem_free(mine);
    shmem_free(theirs);
}

/* R196: the length that serves all is not below any other. */
_Static_assert(SHMEM_SYNC_SIZE >= SHMEM_BCAST_SYNC_SIZE &&
                   SHMEM_SYNC_SIZE >= SHMEM_BARRIER_SYNC_SIZE &&
                   SHMEM_SYNC_SIZE >= SHMEM_REDUCE_SYNC_SIZE &&
                   SHMEM_SYNC_SIZE >= SHMEM_COLLECT_SYNC_SIZE &&
                   SHMEM_SYNC_SIZE >= SHMEM_ALLTOALL_SYNC_SIZE &&
                   SHMEM_SYNC_SIZE >= SHMEM_ALLTOALLS_SYNC_SIZE,
               "SHMEM_SYNC_SIZE serves every collective");

int main(void)
{
    pe_test_begin();
    PE_REQUIRE(pe_n <= MAX_PES, "this test runs with at most %d PEs", MAX_PES);
    init_all();
    check_shapes();
    check_back_to_back();
    check_alternating();
    for (int size = 1; size <= pe_n; size += 2) {
        check_broadcast(pe_n - size, 0, size, 40);
        check_broadcast(pe_n - size, 0, size, 2 * (BIG / 2 - 1));
    }
    for (int log = 0; log < 3; log++) {
        int size = ((pe_n - 1) >> log) + 1;
        check_reduce(0, log, size, 7, false);
        check_reduce(0, log, size, BIG - 1, false);
        check_reduce(0, log, size, 7, true);
        check_reduce(0, log, size, BIG - 1, true);
    }
    check_chain();
    check_disjoint();
    check_unequal();
    check_mixed();
    check_completes();
    return pe_test_end();
}
