/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that two threads of a PE can split different parents at the same time and use the new
 * teams in reductions (OpenSHMEM 1.6, sections 9.2 and 9.4; rules R31 and R86 of
 * docs/reference/conformance.md).
 */
#include "pe_threads.h"

#define N_THREADS 2
#define ROUNDS 200

static shmem_team_t parents[N_THREADS];
static long *source, *dest; /* eight a thread */
static pthread_barrier_t together;

static void *split_and_use(void *arg)
{
    long thread = (long)arg;
    long *mine = source + thread * 8, *result = dest + thread * 8;

    for (int round = 0; round < ROUNDS; round++) {
        shmem_team_t team;

        pthread_barrier_wait(&together);
        team = pe_split(parents[thread], 0, 1, pe_n);
        for (int k = 0; k < 4; k++) {
            *mine = (thread + 1) * 1000 + pe_me + k;
            shmem_long_max_reduce(team, result, mine, 1);
            PE_CHECK_EQ(*result, (thread + 1) * 1000 + pe_n - 1 + k);
        }
        shmem_team_destroy(team);
    }
    return NULL;
}

int main(void)
{
    if (!pe_threads_begin()) return pe_test_end();
    source = pe_calloc(N_THREADS * 8, sizeof(*source));
    dest = pe_calloc(N_THREADS * 8, sizeof(*dest));
    for (int i = 0; i < N_THREADS; i++)
        parents[i] = pe_split(SHMEM_TEAM_WORLD, 0, 1, pe_n);
    pthread_barrier_init(&together, NULL, N_THREADS);
    pe_run_threads(N_THREADS, split_and_use);
    return pe_test_end();
}
