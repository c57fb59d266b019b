/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks active-set collectives whose pSync arrays are allocated, freed, resized and used again, on
 * the heap and in spaces, with many arrays alive at once, across finalize and init, and in two
 * threads (OpenSHMEM 1.6, section 9.10; rules R193, R194 and R198 of
 * docs/reference/conformance.md). Every check uses sum_to_all, sync or barrier.
 *
 * usage: active_life [n]
 *   n: allocate and free n arrays in turn, more than fit at once, and leave out the two last checks
 */
#include "pe_active.h"
#include "pe_threads.h"

enum { STRIDE = SHMEM_BARRIER_SYNC_SIZE, MANY = 1000, N_THREADS = 2, ROUNDS = 3 };

static long sync_global[SHMEM_SYNC_SIZE], sync_meet[N_THREADS][2][SHMEM_SYNC_SIZE];
static long sync_life[2 * ROUNDS][SHMEM_SYNC_SIZE];
static long source[N_THREADS], dest[N_THREADS];

static long *new_arrays(size_t n)
{
    long *arrays = pe_malloc(n * STRIDE * sizeof(*arrays));

    pe_psync_init(arrays, n * STRIDE);
    shmem_barrier_all();
    return arrays;
}

/* All PEs but the first `less` ones. */
static struct pe_set all_but(int less)
{
    return pe_set(less % pe_n, 0, pe_n - less % pe_n);
}

/* Everybody's number, new each time, arrives everywhere, and the array is as it was. */
static void use(const struct pe_set *set, long *psync, int thread, long number)
{
    long want = 0;

    if (set->rank < 0) return;
    for (int k = 0; k < set->size; k++)
        want += pe_set_pe(set, k) + number;
    source[thread] = pe_me + number;
    shmem_long_sum_to_all(&dest[thread], &source[thread], 1, PE_SET(set), NULL, psync);
    PE_CHECK_EQ(dest[thread], want);
    PE_CHECK_PSYNC(psync, STRIDE, "sum_to_all");
}

/* The same address again, for another set, and as an array of other bytes before. */
static void check_freed(void)
{
    long *last = NULL;
    int again = 0;

    for (int round = 0; round < pe_rounds(40); round++) {
        struct pe_set set = all_but(round);
        long *arrays = new_arrays(4);

        again += arrays == last;
        last = arrays;
        for (int i = 0; i < 4; i++)
            use(&set, arrays + i * STRIDE, 0, round * 10 + i);
        if (round % 3 == 1) {
            shmem_barrier_all();
            arrays = shmem_realloc(arrays, (round % 2 ? 2 : 5000) * STRIDE * sizeof(*arrays));
            PE_REQUIRE(arrays != NULL, "shmem_realloc of the pSync arrays returned NULL");
            use(&set, arrays, 0, round);
            use(&set, arrays + STRIDE, 0, -round);
        }
        shmem_barrier_all();
        memset(arrays, 0x5a, 4 * STRIDE / 2); /* it is only memory now */
        shmem_free(arrays);
    }
    PE_CHECK(again > 0,
             "no freed address was allocated again, so reuse of a pSync address was not tested");
}

/* In memory of a space that is destroyed, and made again by PEs in another number. */
static void check_space(void)
{
    for (int round = 0; round < 6; round++) {
        shmem_space_config_t config = {SHMEM_DEVICE_CPU, 1 << 20, SHMEM_SPACE_FLAG_DEFAULT};
        struct pe_set set = all_but(round);
        shmem_space_t space;
        shmem_team_t team;
        long *array;

        PE_REQUIRE(shmem_space_create(&config, &space, &team) == 0,
                   "shmem_space_create of 1 MiB failed");
        array = shmem_space_malloc(space, STRIDE * sizeof(*array));
        PE_REQUIRE(array != NULL, "shmem_space_malloc of one pSync array returned NULL");
        pe_psync_init(array, STRIDE);
        shmem_barrier_all();
        use(&set, array, 0, round);
        shmem_team_destroy(team);
        PE_CHECK_EQ(shmem_space_destroy(space), 0);
    }
}

/* All of them alive at once; in the second round none is new. */
static void check_many(void)
{
    struct pe_set set = all_but(0);
    int n = pe_rounds(MANY);
    long *arrays = new_arrays((size_t)n);

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < n; i++)
            shmem_sync(PE_SET(&set), arrays + i * STRIDE);
    for (int i = 0; i < n; i += 100)
        use(&set, arrays + i * STRIDE, 0, i);
    PE_CHECK_PSYNC(arrays, (size_t)n * STRIDE, "sync");
    shmem_free(arrays);
}

/*
 * n arrays, fifty alive at a time and none where another has been: what each took is given back
 * when it is freed.
 */
static void check_coming_and_going(int n)
{
    struct pe_set set = all_but(0);

    PE_REQUIRE(n <= 50 * STRIDE, "the argument is too large: at most %d arrays", 50 * STRIDE);
    for (int done = 0; done < n; done += 50) {
        long *arrays = new_arrays(51);
        for (int i = 0; i < 50; i++)
            shmem_sync(PE_SET(&set), arrays + i * STRIDE + done / 50);
        shmem_free(arrays);
    }
}

/* ---- threads ---------------------------------------------------------------------------- */

static long *arrays_of_thread[N_THREADS];

/*
 * New arrays all the time, so that first calls compete: of the same set in both threads, and of
 * sets that overlap and begin at different PEs; and old arrays.
 */
static void *work(void *arg)
{
    int thread = (int)(long)arg;

    for (int i = 0; i < pe_rounds(200); i++) {
        struct pe_set set = all_but(thread * (i % 2));

        use(&set, arrays_of_thread[thread] + i * STRIDE, thread, i);
        if (set.rank >= 0) shmem_barrier(PE_SET(&set), sync_meet[thread][i % 2]);
    }
    return NULL;
}

static void check_threads(void)
{
    for (int i = 0; i < N_THREADS; i++)
        arrays_of_thread[i] = new_arrays(200);
    pe_run_threads(N_THREADS, work);
    shmem_barrier_all();
    for (int i = 0; i < N_THREADS; i++)
        shmem_free(arrays_of_thread[i]);
}

/* ---- finalize and init -------------------------------------------------------------------- */

static int start(void)
{
    int provided;

    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    pe_test_attach();
    return provided;
}

/* The library is gone between; globals stay. The sets of last time, and new ones, take turns. */
static void check_life(int round)
{
    if (round == 0) {
        pe_psync_init(sync_global, SHMEM_SYNC_SIZE);
        pe_psync_init(sync_meet[0][0], N_THREADS * 2 * SHMEM_SYNC_SIZE);
        pe_psync_init(sync_life[0], 2 * ROUNDS * SHMEM_SYNC_SIZE);
    }
    shmem_barrier_all();
    for (int i = 0; i < 40; i++) {
        struct pe_set set = all_but(i % 2);
        use(&set, sync_life[(i + round) % ROUNDS], 0, i * ROUNDS + round);
        use(&set, sync_life[ROUNDS + round], 0, -i);
        if (set.rank >= 0) shmem_sync(PE_SET(&set), sync_global);
        shmem_barrier_all();
    }
}

int main(int argc, char **argv)
{
    int n_arrays = argc > 1 ? atoi(argv[1]) : 0, provided = 0;

    for (int round = 0; round < ROUNDS; round++) {
        provided = start();
        check_life(round);
        if (round < ROUNDS - 1) shmem_finalize();
    }
    check_freed();
    check_space();
    check_coming_and_going(n_arrays);
    if (n_arrays > 0) return pe_test_end();
    check_many();
    if (provided >= SHMEM_THREAD_MULTIPLE)
        check_threads();
    else
        pe_test_skip("no SHMEM_THREAD_MULTIPLE");
    return pe_test_end();
}
