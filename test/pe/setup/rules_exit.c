/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends a job in the way that the first argument names, in addition to exit.c (OpenSHMEM 1.6,
 * section 9.1; rules R13 and R14 of docs/reference/conformance.md): shmem_global_exit with several
 * statuses, from several threads and with streams that cannot be flushed, while the other PEs are
 * in various calls; the end of a program that called start_pes; misuses of teams and addresses.
 * run_rules_exit.sh checks the status and the output.
 *
 * usage: rules_exit WAY [SHIFT]
 *   SHIFT changes which call each of the other PEs is in
 */
#include "pe_threads.h"
#include "pe_ways.h"

#include <sched.h>
#include <unistd.h>

enum { N_BLOCKS = 12 };

static long never; /* symmetric, nobody sets it */
static long words[8];
static uint64_t signal_word;
static long landed;

static void compute(void)
{
    for (volatile unsigned long spin = 0;; spin++)
        continue;
}

/* Where a PE can be when another one ends the job. Those that return compute. */
static void block_in(int kind)
{
    static const int status[1] = {0};
    shmem_team_t team = SHMEM_TEAM_INVALID;
    size_t index;

    switch (kind) {
    case 0:
        shmem_long_wait_until(&never, SHMEM_CMP_EQ, 1);
        break;
    case 1:
        shmem_barrier_all();
        break;
    case 2:
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &words[0], &words[1], 1);
        break;
    case 3:
        pause();
        break;
    case 4:
        shmem_malloc(100);
        break;
    case 5:
        shmem_finalize();
        break;
    case 6:
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_NE, 0);
        break;
    case 7:
        shmem_long_wait_until_some(&never, 1, &index, status, SHMEM_CMP_EQ, 1);
        break;
    case 8:
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &team);
        break;
    case 9:
        shmem_long_broadcast(SHMEM_TEAM_WORLD, &words[2], &words[3], 1, pe_n - 1);
        break;
    case 10:
        while (!shmem_long_test(&never, SHMEM_CMP_EQ, 1))
            continue;
        break;
    default:
        break;
    }
    compute();
}

/* ---- threads of the PE that leaves --------------------------------------------------------- */

static void *leave(void *arg)
{
    shmem_global_exit((int)(long)arg);
}

static void *read_for_ever(void *arg)
{
    (void)fgetc(arg);
    return NULL;
}

static void *hold_stdout(void *arg)
{
    flockfile(stdout);
    *(volatile int *)arg = 1;
    pause();
    return NULL;
}

/* A stream that a thread reads from, while nothing comes: its lock is taken for ever. */
static void read_from_nothing(void)
{
    int ends[2];
    FILE *file;

    PE_REQUIRE(pipe(ends) == 0, "pipe() failed");
    file = fdopen(ends[0], "r");
    PE_REQUIRE(file != NULL, "fdopen of a pipe failed");
    (void)pe_thread(read_for_ever, file);
    do {
        sched_yield();
    } while (ftrylockfile(file) == 0 && (funlockfile(file), true));
}

/* ---- ways to leave -------------------------------------------------------------------------- */

static void leave_locked(void)
{
    volatile int held = 0;

    (void)pe_thread(hold_stdout, (void *)&held);
    while (!held)
        sched_yield();
    shmem_global_exit(24);
}

static void leave_by_atexit(void)
{
    shmem_global_exit(25);
}

static void leave_with_files(void)
{
    FILE *file = fopen(getenv("RULES_FILE"), "w");

    PE_REQUIRE(file != NULL, "fopen of $RULES_FILE failed");
    setvbuf(file, NULL, _IOFBF, 1 << 16);
    fprintf(file, "kept until the end\n");
    fprintf(stderr, "an error line\n");
    printf("an unfinished line");
    shmem_global_exit(26);
}

/* ---- misuse: the library says what is wrong -------------------------------------------------- */

static void use_pointer_of_other(void)
{
    long *there = shmem_ptr(words, (pe_me + 1) % pe_n);

    if (there == NULL || there == words) there = (long *)16; /* not symmetric either */
    shmem_long_p(there, 1, pe_me);
}

static void use_team_number(void)
{
    shmem_team_t alone = pe_split(SHMEM_TEAM_WORLD, pe_n - 1, 1, 1);
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;

    if (alone == SHMEM_TEAM_INVALID) return;
    shmem_team_create_ctx(alone, 0, &ctx);
    shmem_ctx_long_p(ctx, words, 1, 1); /* number 1 of a team of one */
}

static void use_dead_team(bool split)
{
    shmem_team_t team = pe_split(SHMEM_TEAM_WORLD, 0, 1, pe_n), child;

    shmem_team_destroy(team);
    if (split)
        shmem_team_split_strided(team, 0, 1, 1, NULL, 0, &child);
    else
        shmem_team_my_pe(team);
}

static void leave_by_way(void)
{
    if (pe_way_is("status_0") || pe_way_is("others")) shmem_global_exit(0);
    if (pe_way_is("status_big")) shmem_global_exit(0x107); /* a shell sees the low byte */
    if (pe_way_is("in_thread")) {
        (void)pe_thread(leave, (void *)21L);
        shmem_barrier_all(); /* where this PE's other thread is */
    }
    if (pe_way_is("in_two_threads") || pe_way_is("all_at_once")) {
        (void)pe_thread(leave, (void *)31L);
        (void)pe_thread(leave, (void *)32L);
    }
    if (pe_way_is("reading")) {
        printf("said before the read");
        read_from_nothing();
        shmem_global_exit(22);
    }
    if (pe_way_is("exit_reading")) {
        read_from_nothing();
        exit(23);
    }
    if (pe_way_is("stdout_held")) leave_locked();
    if (pe_way_is("at_exit")) {
        atexit(leave_by_atexit);
        exit(0);
    }
    if (pe_way_is("with_files")) leave_with_files();
    if (pe_way_is("pointer_of_other")) use_pointer_of_other();
    if (pe_way_is("team_number")) use_team_number();
    if (pe_way_is("dead_team")) use_dead_team(false);
    if (pe_way_is("split_dead_team")) use_dead_team(true);
}

/* ---- start_pes --------------------------------------------------------------------------- */

/* Behind the library's own end: what the left neighbour put last has come. */
static void check_landed(void)
{
    if (landed == 500 + pe_left()) return;
    fprintf(
        stderr,
        "pe %d: after the implicit finalize the word is %ld, expected %d: the last put of the left "
        "PE is missing\n",
        pe_me, landed, 500 + pe_left());
    _exit(PE_FAIL);
}

static void tell_0(void)
{
    shmem_long_atomic_inc(&words[7], 0);
}

/* No finalize, no barrier: the end of the program is collective and completes what is under way. */
static int end_implicitly(bool with_init)
{
    atexit(check_landed); /* before start_pes: runs after the library's end */
    start_pes(0);
    if (with_init) shmem_init(); /* a second reference that nobody gives back */
    start_pes(pe_n);
    pe_me = _my_pe();
    pe_n = _num_pes();
    atexit(tell_0);   /* runs before the library's end */
    if (pe_me == 0) { /* the last one by far */
        shmem_long_wait_until(&words[7], SHMEM_CMP_EQ, pe_n - 1);
        for (int i = 0; i < 5000; i++)
            sched_yield();
    }
    shmem_long_p(&landed, 500 + pe_me, pe_right());
    return 0;
}

int main(int argc, char **argv)
{
    int shift = argc > 2 ? atoi(argv[2]) : 0;
    bool all;

    pe_way = argc > 1 ? argv[1] : "";
    if (pe_way_is("start_pes")) return end_implicitly(false);
    if (pe_way_is("start_pes_and_init")) return end_implicitly(true);
    pe_test_begin();
    if (pe_way_is("at_start")) shmem_global_exit(27); /* others may still be in init */
    all = pe_way_is("all_at_once") || pe_way_is("team_number") || pe_way_is("dead_team") ||
          pe_way_is("split_dead_team");
    if (!all && pe_me != pe_n - 1) block_in((pe_me + shift) % N_BLOCKS);
    leave_by_way();
    PE_REQUIRE(pe_way_known, "the argument %s is not the name of a way to leave", pe_way);
    compute();
}
