/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes PEs wait longer than the report limit for other PEs, which come in the end. run_hang.py
 * checks the reports of the library; this program checks nothing except the results of its own
 * calls.
 *
 * usage: pe_hang CASE...
 */
#include <limits.h>
#include <pthread.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int hang_flag;
static long hang_lock;

static int me, n;
static useconds_t long_us = 1400000; /* longer than the limit, which is a second in the tests */

/* All but the last PE wait in a barrier. In the one before they have waited for the last one. */
static void in_barrier(void)
{
    if (me == n - 1) usleep(20000);
    shmem_barrier_all();
    if (me == 1) usleep(30000);
    if (me == n - 1) usleep(long_us);
    shmem_barrier_all();
}

/* PE 0 waits for a global that the last PE sets, the others behind it in a sum of all. */
static void in_wait(void)
{
    static long source = 1, sum;

    if (me == n - 1) {
        shmem_int_wait_until(&hang_flag, SHMEM_CMP_EQ, 5); /* a wait that is no longer shown */
        usleep(long_us);
        shmem_int_p(&hang_flag, 7, 0);
    } else if (me == 0) {
        usleep(20000);
        shmem_int_p(&hang_flag, 5, n - 1);
        shmem_int_wait_until(&hang_flag, SHMEM_CMP_GE, 7);
    }
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &source, 1);
    if (sum != n) abort();
}

/* The last PE holds a lock that all others queue for. */
static void in_lock(void)
{
    if (me == n - 1) shmem_set_lock(&hang_lock);
    shmem_barrier_all();
    if (me == n - 1) usleep(long_us);
    if (me == 0) usleep(50000); /* behind others, which do not hold it */
    if (me != n - 1) shmem_set_lock(&hang_lock);
    shmem_clear_lock(&hang_lock);
    shmem_barrier_all();
}

/* Of every other PE the last one does not come to a sync of theirs; heap memory is waited for. */
static void in_team(void)
{
    uint64_t *words = shmem_calloc(4, sizeof(*words));
    shmem_team_t team;

    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &team);
    if (me == n - 1) usleep(long_us);
    if (me == n - 1) shmem_signal_set(&words[2], 1, 1);
    if (me == 1) shmem_signal_wait_until(&words[2], SHMEM_CMP_NE, 0);
    if (team != SHMEM_TEAM_INVALID) shmem_team_sync(team);
    shmem_barrier_all();
    shmem_free(words);
}

/* PE 0 runs a command, and the others wait. */
static void in_command(void)
{
    shmem_barrier_all();
    if (me == 0 && system(getenv("HANG_COMMAND")) == -1) abort();
    shmem_barrier_all();
}

/* Waits that are shorter, many of them: nothing is told. */
static void in_time(void)
{
    for (int i = 0; i < 3; i++) {
        if (me == n - 1) usleep(300000);
        shmem_barrier_all();
    }
}

/* A child stops all threads of this process after so long, until it has waited for so long. */
static pid_t stop_after(useconds_t us, useconds_t stopped_us)
{
    pid_t child = fork();

    if (child != 0) return child;
    usleep(us);
    kill(getppid(), SIGSTOP);
    usleep(stopped_us);
    kill(getppid(), SIGCONT);
    _exit(0);
}

static void stop(void)
{
    waitpid(stop_after(0, long_us), NULL, 0);
}

/* All are stopped while they wait for the last PE, which computes: that time does not count. */
static void in_frozen(void)
{
    pid_t child;

    if (me == 0) usleep(20000); /* so that all others wait */
    shmem_barrier_all();
    child = me == n - 1 ? 0 : stop_after(100000, 2 * long_us);
    if (me == n - 1) usleep(3 * long_us);
    shmem_barrier_all();
    if (child != 0) waitpid(child, NULL, 0);
}

/* The last PE is stopped while PE 0 waits for what it has put there. */
static void in_quiet(void)
{
    shmem_barrier_all();
    if (me == n - 1) stop();
    if (me == 0) {
        usleep(100000);
        shmem_int_put_nbi(&hang_flag, &(int){1}, 1, n - 1);
        shmem_quiet();
    }
    shmem_sync_all();
}

/* The last PE is stopped while the others wait. */
static void in_stop(void)
{
    if (me == n - 1) stop();
    shmem_sync_all();
}

/* PE 0 is, which cannot report that others wait for it. */
static void in_stop_first(void)
{
    if (me == 0) stop();
    shmem_sync_all();
}

static void *small_main(void *arg)
{
    in_barrier();
    return arg;
}

/* The same by a thread with the smallest stack that there is: telling takes some. */
static void in_thread(void)
{
    pthread_attr_t attr;
    pthread_t thread;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
    if (pthread_create(&thread, &attr, small_main, NULL) != 0) abort();
    pthread_join(thread, NULL);
}

/* The others are in shmem_finalize. */
static void in_finalize(void)
{
    if (me == n - 1) usleep(long_us);
}

/* The last PE is late. */
static void before_init(void)
{
    const char *rank = getenv("PMI_RANK"), *size = getenv("PMI_SIZE");

    if (rank == NULL || size == NULL || atoi(rank) != atoi(size) - 1) return;
    usleep(long_us);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"barrier", in_barrier},  {"wait", in_wait},     {"lock", in_lock},
                 {"team", in_team},        {"time", in_time},     {"quiet", in_quiet},
                 {"stop", in_stop},        {"thread", in_thread}, {"finalize", in_finalize},
                 {"first", in_stop_first}, {"frozen", in_frozen}, {"command", in_command}};

    if (getenv("HANG_LONG_US") != NULL) long_us = (useconds_t)atol(getenv("HANG_LONG_US"));
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "init") == 0) before_init();
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    for (int i = 1; i < argc; i++)
        for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++)
            if (strcmp(argv[i], cases[k].name) == 0) cases[k].run();
    shmem_finalize();
    return 0;
}
