/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks threads that create, use and destroy spaces at the same time, each with its own team: no
 * creation may fail, and a thread that uses memory of another thread's space is detected by
 * changed bytes. Also runs more concurrent reductions of device memory than the library has
 * buffers for.
 */
#include "pe_spaces.h"

#include <pthread.h>
#include <shmemx.h>

enum { THREADS = 3, ROUNDS = 25 };

static shmem_team_t teams[THREADS];
static shmem_device_type_t kinds[THREADS];

static void use(shmem_space_t space, int id, int round)
{
    size_t nbytes = (size_t)(1 + id) * 256 * 1024;
    unsigned char *mine = shmem_space_malloc(space, nbytes);
    shmem_space_cap_t caps = 0;

    PE_REQUIRE(mine != NULL, "shmem_space_malloc in a space of thread %d returned NULL", id);
    PE_CHECK_EQ(shmem_space_get_caps(space, &caps), 0);
    if (caps & SHMEM_SPACE_CAP_DIRECT_ACCESS) {
        pe_fill(mine, nbytes, (unsigned)(round * THREADS + id));
        for (int i = 0; i < 10; i++)
            sched_yield();
        PE_CHECK_BYTES(mine, nbytes, (unsigned)(round * THREADS + id), "own memory of a thread");
    }
    shmem_space_free(space, mine);
}

static void *run(void *arg)
{
    int id = (int)(intptr_t)arg;
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_config_t config = {kinds[id], (size_t)(1 + id) << 20, SHMEM_SPACE_FLAG_DEFAULT};

    attr.parent = teams[id];
    for (int round = 0; round < ROUNDS; round++) {
        shmem_space_t space;
        shmem_team_t team;
        int rc = shmemx_space_create_attr(&config, &attr, &space, &team);

        PE_REQUIRE(rc == 0, "thread %d, round %d: shmemx_space_create_attr failed", id, round);
        use(space, id, round);
        shmem_team_destroy(team);
        PE_CHECK_EQ(shmem_space_destroy(space), 0);
    }
    return NULL;
}

/* A kind of memory that every PE has, else host memory. */
static shmem_device_type_t common(shmem_device_type_t kind)
{
    shmem_space_config_t config = {kind, PE_MIB, SHMEM_SPACE_FLAG_DEFAULT};
    shmem_space_cap_t caps = 0;
    shmem_space_t space;
    shmem_team_t team;
    static int have[1], all[1];

    have[0] = 0;
    if (shmem_space_create(&config, &space, &team) == 0 && space != SHMEM_SPACE_INVALID) {
        shmem_space_get_caps(space, &caps);
        have[0] = !!(caps & SHMEM_SPACE_CAP_WORLD_ACCESS);
        pe_space_end(space, team);
    }
    shmem_int_min_reduce(SHMEM_TEAM_WORLD, all, have, 1);
    return all[0] ? kind : SHMEM_DEVICE_CPU;
}

/* ---- more reductions of device memory at once than there are buffers to move it --------------*/

enum { REDUCERS = 18, ELEMENTS = 20000 };

static struct {
    shmem_team_t team;
    long *dest, *source;
} reducers[REDUCERS];

static void *reduce(void *arg)
{
    int id = (int)(intptr_t)arg;
    long *values = malloc(ELEMENTS * sizeof(*values));
    size_t wrong = 0;

    for (long round = 0; round < 3; round++) {
        for (long i = 0; i < ELEMENTS; i++)
            values[i] = pe_me + round + i;
        shmem_long_put(reducers[id].source, values, ELEMENTS, pe_me);
        shmem_quiet();
        PE_CHECK_EQ(shmem_long_sum_reduce(reducers[id].team, reducers[id].dest, reducers[id].source,
                                          ELEMENTS),
                    0);
        shmem_long_get(values, reducers[id].dest, ELEMENTS, pe_me);
        for (long i = 0; i < ELEMENTS; i++)
            wrong += values[i] != (long)pe_n * (pe_n - 1) / 2 + pe_n * (round + i);
        shmem_team_sync(reducers[id].team);
    }
    PE_CHECK(wrong == 0, "thread %d: %zu sums of device memory are wrong", id, wrong);
    free(values);
    return NULL;
}

static void check_reductions(shmem_device_type_t kind)
{
    shmem_space_config_t config = {kind, (size_t)16 << 20, SHMEM_SPACE_FLAG_DEFAULT};
    pthread_t threads[REDUCERS];
    shmem_space_t space;
    shmem_team_t team;

    PE_REQUIRE(shmem_space_create(&config, &space, &team) == 0,
               "creating the space for reductions failed");
    for (int i = 0; i < REDUCERS; i++) {
        PE_CHECK_EQ(shmemx_team_duplicate(team, &reducers[i].team), 0);
        reducers[i].dest = shmem_space_malloc(space, ELEMENTS * sizeof(long));
        reducers[i].source = shmem_space_malloc(space, ELEMENTS * sizeof(long));
        PE_REQUIRE(reducers[i].source != NULL,
                   "shmem_space_malloc in the space for reductions returned NULL");
    }
    for (int i = 0; i < REDUCERS; i++)
        pthread_create(&threads[i], NULL, reduce, (void *)(intptr_t)i);
    for (int i = 0; i < REDUCERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < REDUCERS; i++) {
        shmem_space_free(space, reducers[i].dest);
        shmem_space_free(space, reducers[i].source);
        shmem_team_destroy(reducers[i].team);
    }
    pe_space_end(space, team);
}

int main(void)
{
    pthread_t threads[THREADS];
    int provided;

    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    pe_test_attach();
    kinds[0] = SHMEM_DEVICE_CPU;
    kinds[1] = common(SHMEM_DEVICE_GPU);
    kinds[2] = common(SHMEM_DEVICE_FAM);
    for (int i = 0; i < THREADS; i++)
        PE_CHECK_EQ(shmemx_team_duplicate(SHMEM_TEAM_WORLD, &teams[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        shmem_team_destroy(teams[i]);
    check_reductions(kinds[1]);
    return pe_test_end();
}
