/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the stress tests: options, rounds that end together on all PEs, and an alarm that ends
 * the job with a line when a stage makes no progress. Each program prints its seed in its last
 * line.
 *
 *   --seconds N  repeats rounds for N seconds instead of a fixed number of rounds
 *   --seed N     sets the seed of the random generators
 *   --stall N    is the number of seconds after which a stage counts as hung
 */
#ifndef STEPPE_TEST_PE_STRESS_H
#define STEPPE_TEST_PE_STRESS_H

#include "pe_data.h"

#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static uint64_t stress_seed = 4711;
static long stress_seconds; /* 0: a fixed number of rounds */
static unsigned stress_stall = 80;
static uint64_t stress_ops;    /* operations of this PE, for the last line */
static uint64_t stress_round;  /* rounds begun, the same on all PEs */
static uint64_t stress_shared; /* random state that all PEs draw from alike */
static uint64_t stress_own;    /* random state of this PE alone */
static char stress_where[160] = "before the first stage";
static struct timespec stress_started;

static inline void stress_usage(const char *program)
{
    fprintf(stderr, "usage: %s [--seconds N] [--seed N] [--stall N]\n", program);
    exit(PE_FAIL);
}

static inline void stress_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        uint64_t value = i + 1 < argc ? strtoull(argv[i + 1], NULL, 0) : 0;

        if (i + 1 < argc && strcmp(argv[i], "--seconds") == 0)
            stress_seconds = (long)value;
        else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0)
            stress_seed = value;
        else if (i + 1 < argc && strcmp(argv[i], "--stall") == 0)
            stress_stall = (unsigned)value;
        else
            stress_usage(argv[0]);
    }
}

/* SIGALRM: say where this PE stands, then end the job; by signal if the library cannot. */
static inline void stress_hung(int sig)
{
    char line[400];
    int n = snprintf(line, sizeof(line),
                     "pe %d: FAIL: no progress for %u s in stage \"%s\" (seed %lu, round %lu)\n",
                     pe_me, stress_stall, stress_where, stress_seed, stress_round);

    (void)sig;
    if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0) _exit(PE_FAIL);
    signal(SIGALRM, SIG_DFL);
    alarm(3);
    shmem_global_exit(PE_FAIL);
}

/* Name what comes next; it has --stall seconds until the next stage begins. */
static inline void __attribute__((format(printf, 1, 2))) stress_stage(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(stress_where, sizeof(stress_where), fmt, args);
    va_end(args);
    alarm(stress_stall);
}

/* A new, well mixed random state; never 0. */
static inline uint64_t stress_state(uint64_t a, uint64_t b)
{
    uint64_t state = (a + 1) * 0x9e3779b97f4a7c15ull ^ (b + 1) * 0xbf58476d1ce4e5b9ull;

    state |= 1;
    pe_random(&state);
    return state;
}

static inline void stress_begin(int argc, char **argv)
{
    stress_options(argc, argv);
    signal(SIGALRM, stress_hung);
    stress_stage("shmem_init");
    pe_test_begin();
    clock_gettime(CLOCK_MONOTONIC, &stress_started);
}

static inline double stress_elapsed(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - stress_started.tv_sec) +
           1e-9 * (double)(now.tv_nsec - stress_started.tv_nsec);
}

/*
 * Is there another round? Collective; the same answer everywhere: no when the rounds or the
 * seconds are over or a check has failed on some PE. Seeds the two random states for the round.
 * No PE returns before all have entered.
 */
static inline bool stress_more(uint64_t rounds)
{
    static int ask, answer;

    ask = pe_failures > 0;
    if (pe_me == 0 && stress_seconds == 0) ask |= stress_round >= rounds;
    if (pe_me == 0 && stress_seconds > 0) ask |= stress_elapsed() >= (double)stress_seconds;
    stress_stage("between rounds");
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, &answer, &ask, 1);
    if (answer) return false;
    stress_round++;
    stress_shared = stress_state(stress_seed, stress_round);
    stress_own = stress_state(stress_shared, (uint64_t)pe_me);
    return true;
}

/* A number in [0, n), drawn by all PEs alike. */
static inline size_t stress_draw(size_t n)
{
    return pe_random_in(&stress_shared, 0, n - 1);
}

/* A number in [0, n) of this PE's own. */
static inline size_t stress_pick(size_t n)
{
    return pe_random_in(&stress_own, 0, n - 1);
}

/* Do all PEs load and store each other's memory? The same answer everywhere. */
static inline bool stress_all_shared(void)
{
    return shmem_team_n_pes(SHMEM_TEAM_SHARED) == pe_n;
}

/* Outside the library, between two looks at memory; lets others run on a crowded machine. */
static inline void stress_breathe(unsigned *looks)
{
    if ((++*looks & 255) == 0) sched_yield();
}

/* The end of main: a line of PE 0 with the seed, then the verdict. Collective. */
static inline int stress_end(const char *name)
{
    int status;

    stress_stage("at the end");
    status = pe_test_verdict();
    if (pe_me == 0)
        fprintf(stderr, "%s: %d PEs, seed %lu, %lu rounds, %lu operations of PE 0: %s\n", name,
                pe_n, stress_seed, stress_round, stress_ops, status == PE_PASS ? "ok" : "not ok");
    shmem_finalize();
    alarm(0);
    return status;
}

#endif
