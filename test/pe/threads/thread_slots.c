/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that threads that split different parents at the same time get as many teams together as
 * one thread gets alone. Needs a small SHMEM_WINDOW_SIZE, in which a few hundred teams fit.
 */
#include "pe_threads.h"

enum { N_THREADS = 3, MOST = 4096, ROUNDS = 10 };

static shmem_team_t parents[N_THREADS];
static shmem_team_t teams[N_THREADS][MOST];
static int n_teams[N_THREADS];
static pthread_barrier_t together;

static int split_all(shmem_team_t parent, shmem_team_t *made)
{
    int n = 0;

    while (n < MOST && shmem_team_split_strided(parent, 0, 1, pe_n, NULL, 0, &made[n]) == 0)
        n++;
    return n;
}

static void destroy_all(shmem_team_t *made, int n)
{
    for (int i = 0; i < n; i++)
        shmem_team_destroy(made[i]);
}

static void *split_with_others(void *arg)
{
    long thread = (long)arg;

    pthread_barrier_wait(&together);
    n_teams[thread] = split_all(parents[thread], teams[thread]);
    return NULL;
}

static void race(int room)
{
    int sum = 0;

    pe_run_threads(N_THREADS, split_with_others);
    for (int i = 0; i < N_THREADS; i++) {
        destroy_all(teams[i], n_teams[i]);
        sum += n_teams[i];
    }
    PE_CHECK_EQ(sum, room);
    shmem_barrier_all();
}

int main(void)
{
    int room;

    if (!pe_threads_begin()) return pe_test_end();
    for (int i = 0; i < N_THREADS; i++)
        parents[i] = pe_split(SHMEM_TEAM_WORLD, 0, 1, pe_n);
    pthread_barrier_init(&together, NULL, N_THREADS);
    room = split_all(SHMEM_TEAM_WORLD, teams[0]);
    PE_REQUIRE(
        room > 0 && room < MOST,
        "one thread created %d teams: the window must have room for some, but fewer than 4096",
        room);
    destroy_all(teams[0], room);
    shmem_barrier_all();
    for (int round = 0; round < pe_rounds(ROUNDS); round++)
        race(room);
    return pe_test_end();
}
