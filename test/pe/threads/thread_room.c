/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that threads that create spaces with different teams at the same time use all room of the
 * window: when every thread has been refused, one thread alone must be refused too. A space
 * outside the window counts as refused. Needs a small SHMEM_WINDOW_SIZE.
 */
#include "pe_spaces.h"
#include "pe_threads.h"

#include <shmemx.h>

enum { N_THREADS = 3, MOST = 64, ROUNDS = 30, WINDOW_MIB = 256 };

static char *heap; /* near the start of the window */

static shmem_team_t parents[N_THREADS];
static shmem_space_t spaces[N_THREADS + 1][MOST];
static shmem_team_t teams[N_THREADS + 1][MOST];
static int n_spaces[N_THREADS + 1];
static pthread_barrier_t together;

/* Of the space just made; what lies outside goes at once. */
static bool is_in_window(shmem_space_t space, shmem_team_t team)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;

    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    if ((uintptr_t)info.base - (uintptr_t)heap < (size_t)WINDOW_MIB * PE_MIB) return true;
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
    return false;
}

static int make_all(shmem_team_t parent, int owner)
{
    shmem_space_config_t config = {SHMEM_DEVICE_CPU, 8 * PE_MIB, SHMEM_SPACE_FLAG_DEFAULT};
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    int n = 0;

    attr.parent = parent;
    while (n < MOST &&
           shmemx_space_create_attr(&config, &attr, &spaces[owner][n], &teams[owner][n]) == 0 &&
           is_in_window(spaces[owner][n], teams[owner][n]))
        n++;
    return n;
}

static void destroy_all(int owner)
{
    for (int i = 0; i < n_spaces[owner]; i++) {
        shmem_team_destroy(teams[owner][i]);
        PE_CHECK_EQ(shmem_space_destroy(spaces[owner][i]), 0);
    }
}

static void *make_with_others(void *arg)
{
    int thread = (int)(long)arg;

    pthread_barrier_wait(&together);
    n_spaces[thread] = make_all(parents[thread], thread);
    return NULL;
}

static void race(int round)
{
    int sum = 0;

    pe_run_threads(N_THREADS, make_with_others);
    for (int i = 0; i < N_THREADS; i++)
        sum += n_spaces[i];
    shmem_barrier_all();
    n_spaces[N_THREADS] = make_all(SHMEM_TEAM_WORLD, N_THREADS);
    PE_CHECK(
        n_spaces[N_THREADS] == 0,
        "round %d: the threads created %d spaces, but one thread then created %d more: a thread "
        "was refused too early",
        round, sum, n_spaces[N_THREADS]);
    for (int i = 0; i <= N_THREADS; i++)
        destroy_all(i);
    shmem_barrier_all();
}

int main(void)
{
    if (!pe_threads_begin()) return pe_test_end();
    heap = pe_malloc(1);
    for (int i = 0; i < N_THREADS; i++)
        PE_REQUIRE(shmemx_team_duplicate(SHMEM_TEAM_WORLD, &parents[i]) == 0,
                   "shmemx_team_duplicate of the world failed");
    pthread_barrier_init(&together, NULL, N_THREADS);
    n_spaces[0] = make_all(SHMEM_TEAM_WORLD, 0);
    PE_REQUIRE(
        n_spaces[0] > 0 && n_spaces[0] < MOST,
        "one thread created %d spaces: the window must have room for some, but fewer than 64",
        n_spaces[0]);
    destroy_all(0);
    shmem_barrier_all();
    for (int round = 0; round < pe_rounds(ROUNDS); round++)
        race(round);
    shmem_free(heap);
    return pe_test_end();
}
