/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that make, use and destroy spaces at the same time, each with a team of its own: they
 * want the same numbers and the same places, and all get some. What one gives back is another's
 * the next moment, so bytes that change under a thread's hands show.
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

    PE_REQUIRE(mine != NULL, "no memory in a space of thread %d", id);
    PE_CHECK_EQ(shmem_space_get_caps(space, &caps), 0);
    if (caps & SHMEM_SPACE_CAP_DIRECT_ACCESS) {
        pe_fill(mine, nbytes, (unsigned)(round * THREADS + id));
        for (int i = 0; i < 10; i++) sched_yield();
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

        PE_REQUIRE(rc == 0, "thread %d, round %d: no space", id, round);
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
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) shmem_team_destroy(teams[i]);
    return pe_test_end();
}
