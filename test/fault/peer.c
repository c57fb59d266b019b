/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job in which something happens to the last PE or to the launcher while the other PEs do one
 * kind of work. The test that starts the program (CMakeLists.txt) checks how the job ends.
 *
 * usage: fault_peer EVENT WORK [SECONDS]
 *   EVENT  kill, exit, segv: the last PE ends. turn: it executes another program (sleep 30).
 *          stop: it is stopped for SECONDS (3) and continues. sleep: it computes for SECONDS.
 *          proxy, launcher: its parent or grandparent is killed. none: nothing happens.
 *          leave, threads: it ends without shmem_finalize, by exit(0) or pthread_exit();
 *          finalize: with shmem_finalize. These three need a WORK in which all PEs take part.
 *          unwatched: it is killed while the PE before it, which watches it, is stopped.
 *          The prefix early-: right after the first barrier, without warm-up and 0.3 s of work.
 *   WORK   what the other PEs do: see works[]. With SECONDS, work that does not need the last PE
 *          ends after this time with a barrier.
 * PE 0 prints "running", and the last PE prints "now" before the event. After stop, sleep and none
 * each PE prints "fine" at its end. Exit status 2 for wrong arguments.
 */
#include <shmem.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "now.h"

#define WORDS 4096

static long words[WORDS];
static long target[WORDS];
static long flag;
static int me, n_pes, last, seconds = 3;

static void compute(double time)
{
    double end = now() + time;

    while (now() < end)
        continue;
}

/* ---- what the others do --------------------------------------------------- */

static void work_put(void)
{
    shmem_long_put(target, words, WORDS, last);
}

static void work_nbi(void)
{
    for (int i = 0; i < 64; i++)
        shmem_long_put_nbi(target + i, words + i, 1, last);
    shmem_quiet();
}

/* Some on their way or collected, some answered, when it happens. */
static void work_store(void)
{
    for (int i = 0; i < 8; i++)
        shmem_long_p(target + i, i, last);
    usleep(50);
    shmem_long_p(target, 1, last);
    usleep(500);
    shmem_quiet();
}

static void work_get(void)
{
    shmem_long_get(words, target, WORDS, last);
}

static void work_amo(void)
{
    shmem_long_atomic_fetch_add(target, 1, last);
}

static void work_signal(void)
{
    static uint64_t word;

    shmem_putmem_signal(target, words, sizeof(words), &word, 1, SHMEM_SIGNAL_ADD, last);
    shmem_quiet();
}

static void work_barrier(void)
{
    shmem_barrier_all();
}

static void work_reduce(void)
{
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, target, words, 64);
}

static void work_wait(void)
{
    shmem_long_wait_until(&flag, SHMEM_CMP_NE, 0);
}

static void work_test(void)
{
    while (!shmem_long_test(&flag, SHMEM_CMP_NE, 0))
        continue;
}

static void work_compute(void)
{
    usleep(1000);
}

static const struct {
    const char *name;
    void (*work)(void);
    bool together; /* the last PE takes part, or the others wait for ever */
} works[] = {
    {"put", work_put, false},         {"nbi", work_nbi, false},
    {"store", work_store, false},     {"get", work_get, false},
    {"amo", work_amo, false},         {"signal", work_signal, false},
    {"barrier", work_barrier, true},  {"reduce", work_reduce, true},
    {"wait", work_wait, true},        {"test", work_test, true},
    {"compute", work_compute, false},
};

/* ---- what happens ---------------------------------------------------------- */

/* Parent of a process, from the fourth word of its stat; names may hold blanks. */
static pid_t parent_of(pid_t pid)
{
    char path[64], text[512], *at;
    FILE *file;
    size_t n;
    int parent = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (file == NULL) return 0;
    n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = '\0';
    at = strrchr(text, ')');
    return at != NULL && sscanf(at, ") %*c %d", &parent) == 1 ? parent : 0;
}

static void kill_or_complain(pid_t pid)
{
    if (pid <= 1 || kill(pid, SIGKILL) != 0) {
        printf("the test cannot kill process %d, the parent or grandparent of the last PE\n",
               (int)pid);
        exit(2);
    }
}

static void stop_for_a_while(void)
{
    pid_t self = getpid();

    if (fork() == 0) {
        kill(self, SIGSTOP);
        sleep((unsigned)seconds);
        kill(self, SIGCONT);
        _exit(0);
    }
    compute(0.5); /* the signal has come by the end of it */
}

static bool happens(const char *event)
{
    if (strcmp(event, "kill") == 0 || strcmp(event, "unwatched") == 0)
        kill(getpid(), SIGKILL);
    else if (strcmp(event, "exit") == 0)
        _exit(3);
    else if (strcmp(event, "segv") == 0)
        raise(SIGSEGV);
    else if (strcmp(event, "turn") == 0)
        execlp("sleep", "sleep", "30", (char *)NULL);
    else if (strcmp(event, "leave") == 0)
        exit(0);
    else if (strcmp(event, "threads") == 0)
        pthread_exit(NULL);
    else if (strcmp(event, "finalize") == 0)
        shmem_finalize(), exit(0);
    else if (strcmp(event, "stop") == 0)
        stop_for_a_while();
    else if (strcmp(event, "sleep") == 0)
        compute(seconds);
    else if (strcmp(event, "proxy") == 0)
        kill_or_complain(getppid());
    else if (strcmp(event, "launcher") == 0)
        kill_or_complain(parent_of(getppid()));
    else if (strcmp(event, "none") != 0)
        return false;
    return true;
}

static void begin(const char *event, bool early, void (*warm_up)(void))
{
    if (!early) warm_up(); /* connections stand */
    shmem_barrier_all();
    if (me == 0) printf("running\n");
    if (me == last - 1 && strcmp(event, "unwatched") == 0) kill(getpid(), SIGSTOP);
    if (me != last) return;
    if (!early) compute(0.3);
    printf("now\n");
    fflush(stdout);
    if (!happens(event)) exit(2);
}

int main(int argc, char **argv)
{
    const char *event = argc > 1 ? argv[1] : "";
    bool early = strncmp(event, "early-", 6) == 0;
    bool survives;
    size_t at = 0;
    double end;

    if (early) event += 6;
    survives =
        strcmp(event, "stop") == 0 || strcmp(event, "sleep") == 0 || strcmp(event, "none") == 0;
    while (at < sizeof(works) / sizeof(works[0]) && (argc < 3 || strcmp(works[at].name, argv[2])))
        at++;
    if (argc > 3) seconds = atoi(argv[3]);
    if (at == sizeof(works) / sizeof(works[0])) return 2;
    alarm(100); /* whoever is still here then has hung, and is not left behind */
    shmem_init();
    me = shmem_my_pe();
    n_pes = shmem_n_pes();
    last = n_pes - 1;
    end = now() + seconds;
    setvbuf(stdout, NULL, _IOLBF, 0);
    begin(event, early, works[at].together ? shmem_barrier_all : works[at].work);
    if (me == last) {
        while (!survives && works[at].together)
            pause();
        if (strcmp(works[at].name, "wait") == 0 || strcmp(works[at].name, "test") == 0)
            for (int pe = 0; pe < n_pes; pe++)
                shmem_long_p(&flag, 1, pe);
    }
    if (works[at].together && (me != last || survives)) works[at].work();
    /* The others work until the end, or for ever, before they wait for the last one. */
    while (!works[at].together && ((!survives && argc < 4) || now() < end) && me != last)
        works[at].work();
    while (!works[at].together && !survives && me == last)
        pause();
    shmem_barrier_all();
    printf("fine\n");
    shmem_finalize();
    return 0;
}
