/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends one PE or all PEs of a job before shmem_finalize, while operations are in progress.
 * scripts/endurance_jobs.py draws the arguments and checks how the job ends; this program checks
 * nothing.
 *
 * usage: endings WAY OTHERS [PE [ROUNDS [CYCLES [THREAD]]]]
 *   WAY     what PE number PE does at the end, or what all PEs do if PE is -1
 *   OTHERS  what the other PEs do meanwhile
 *   ROUNDS  number of rounds of operations before the end, which no PE waits for
 *   CYCLES  number of complete cycles of init and finalize before these rounds
 *   THREAD  1 if a second thread ends the PE
 */
#include "pe_threads.h"

#include <signal.h>
#include <unistd.h>

enum { BLOCK = 30000, LAST_CALLS = 50 };

static unsigned char *inbox; /* symmetric */
static unsigned char outbox[BLOCK];
static long *words; /* symmetric: counter, signal, never set, source and result of reductions */

/* Operations of many sizes to all PEs. Nothing waits for their completion. */
static void communicate(int round)
{
    static const size_t sizes[] = {8, 200, 5000, BLOCK};
    int pe = (pe_me + round) % pe_n;
    size_t n = sizes[round % 4];

    shmem_putmem_nbi(inbox, outbox, n, pe);
    shmem_long_atomic_inc(&words[0], pe);
    shmem_putmem_signal_nbi(inbox, outbox, n, (uint64_t *)&words[1], 1, SHMEM_SIGNAL_ADD, pe);
    (void)shmem_long_g(&words[0], pe);
}

static void create_and_destroy(void)
{
    shmem_team_t team = pe_split(SHMEM_TEAM_WORLD, 0, 1, pe_n);

    shmem_long_sum_reduce(team, &words[4], &words[3], 1);
    shmem_team_destroy(team);
}

/* ---- what ends a PE ------------------------------------------------------------------------ */

static void end_by_store(void)
{
    static volatile int *volatile nowhere = (volatile int *)16;

    *nowhere = 1;
}

/* Returns only if the way is to return from main. */
static void end(const char *way)
{
    if (strcmp(way, "_exit-0") == 0) _exit(0);
    if (strcmp(way, "_exit-3") == 0) _exit(3);
    if (strcmp(way, "quick_exit-0") == 0) quick_exit(0);
    if (strcmp(way, "exit-0") == 0) exit(0);
    if (strcmp(way, "exit-3") == 0) exit(3);
    if (strcmp(way, "abort") == 0) abort();
    if (strcmp(way, "kill") == 0) raise(SIGKILL);
    if (strcmp(way, "segv") == 0) end_by_store();
    if (strcmp(way, "global_exit") == 0) shmem_global_exit(4);
}

static void *end_in_thread(void *way)
{
    end(way);
    return NULL;
}

/* ---- what the other PEs do ------------------------------------------------------------------ */

static void go_on(const char *others)
{
    static volatile unsigned long spin;

    if (strcmp(others, "barrier") == 0) shmem_barrier_all();
    if (strcmp(others, "wait") == 0) shmem_long_wait_until(&words[2], SHMEM_CMP_NE, 0);
    if (strcmp(others, "reduce") == 0)
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &words[4], &words[3], 1);
    if (strcmp(others, "finalize") == 0) return;
    for (int i = 0; strcmp(others, "calls") == 0; i = (i + 1) % 1000)
        communicate(i);
    while (strcmp(others, "create") == 0)
        create_and_destroy();
    while (strcmp(others, "compute") == 0)
        spin++;
}

static void start(int cycles)
{
    int provided;

    for (int i = 0; i < cycles; i++) {
        shmem_init();
        shmem_barrier_all();
        shmem_finalize();
    }
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    pe_me = shmem_my_pe();
    pe_n = shmem_n_pes();
    inbox = pe_malloc(BLOCK);
    words = pe_calloc(5, sizeof(*words));
    shmem_barrier_all();
}

static int number(int argc, char **argv, int i)
{
    return argc > i ? atoi(argv[i]) : 0;
}

int main(int argc, char **argv)
{
    const char *way = argc > 2 ? argv[1] : "", *others = argc > 2 ? argv[2] : "";
    int pe = number(argc, argv, 3);

    start(number(argc, argv, 5));
    for (int i = 0; i < number(argc, argv, 4); i++) {
        communicate(i);
        if (i % 3 == 2) create_and_destroy();
    }
    if (pe == -1 || pe == pe_me) {
        if (number(argc, argv, 6) == 1)
            pthread_join(pe_thread(end_in_thread, (void *)(uintptr_t)way), NULL);
        end(way);
        return strcmp(way, "return-5") == 0 ? 5 : 0;
    }
    go_on(others);
    for (int i = 0; i < LAST_CALLS; i++)
        communicate(i);
    shmem_finalize();
    return 0;
}
