/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that PEs may start child processes while other PEs write to their memory: by system(),
 * popen(), posix_spawn(), and fork() with or without exec. A forked child reads globals and the
 * heap, and it may stay alive over barriers. All data of the peers must arrive. Half of the rounds
 * have a second thread that communicates. The child makes no call of the library. Needs
 * SHMEM_THREAD_MULTIPLE. The options are those of pe_stress.h.
 */
#include "pe_stress.h"
#include "pe_threads.h"

#include <spawn.h>
#include <sys/wait.h>

enum { ROUNDS = 24, INBOX = 40000, CONST = 10000, OPS = 100, STATUS = 7 };
enum way { BY_SYSTEM, BY_POPEN, BY_SPAWN, BY_FORK, BY_EXEC, BY_LATE, N_WAYS };

extern char **environ;

static const char *const way_name[N_WAYS] = {"system", "popen",         "posix_spawn",
                                             "fork",   "fork and exec", "a late child"};
static unsigned char *inbox, *constant;   /* symmetric */
static unsigned char global_bytes[CONST]; /* symmetric */
static uint64_t *sums; /* symmetric: additions by the main and the other thread */
static unsigned char outbox[INBOX];

static int status_of(pid_t pid)
{
    int status = -1;

    PE_CHECK(pid > 0 && waitpid(pid, &status, 0) == pid, "starting or awaiting a child failed");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static _Noreturn void child(int go)
{
    char byte;

    for (size_t i = 0; i < CONST; i++)
        if (constant[i] != pe_byte(1, i) || global_bytes[i] != pe_byte(2, i)) _exit(1);
    if (go >= 0 && read(go, &byte, 1) != 1) _exit(2);
    _exit(STATUS);
}

static pid_t fork_child(int go)
{
    pid_t pid = fork();

    if (pid == 0) child(go);
    return pid;
}

static int by_popen(void)
{
    FILE *pipe = popen("echo 4711; exit 7", "r");
    int number = 0, status;

    PE_REQUIRE(pipe != NULL, "popen failed");
    PE_CHECK(fscanf(pipe, "%d", &number) == 1 && number == 4711, "popen read %d, expected 4711",
             number);
    status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int by_spawn(void)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)"exit 7", NULL};
    pid_t pid = -1;

    PE_CHECK_EQ(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ), 0);
    return status_of(pid);
}

static int by_exec(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
        _exit(127);
    }
    return status_of(pid);
}

/* Returns the status of a child that was started and has ended. */
static int run_child(enum way way)
{
    int status;

    switch (way) {
    case BY_SYSTEM:
        status = system("exit 7");
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    case BY_POPEN:
        return by_popen();
    case BY_SPAWN:
        return by_spawn();
    case BY_EXEC:
        return by_exec();
    default:
        return status_of(fork_child(-1));
    }
}

/* Adds to the sum with this number on every PE, and reads memory that no PE changes. */
static void *communicate(void *number)
{
    for (int i = 0; i < pe_rounds(OPS); i++) {
        shmem_uint64_atomic_inc(&sums[(long)number], (pe_me + i) % pe_n);
        PE_CHECK_EQ(shmem_uchar_g(&constant[i], (pe_me + i) % pe_n), pe_byte(1, (size_t)i));
    }
    return NULL;
}

/* Writes to the neighbour, starts children during the transfer, and checks what has arrived. */
static void play_round(bool threads)
{
    enum way way = (enum way)stress_pick(N_WAYS);
    unsigned stamp = (unsigned)stress_round * 5;
    int go[2] = {-1, -1};
    pthread_t thread;
    pid_t late = -1;

    stress_stage("%s, %d threads", way_name[way], threads ? 2 : 1);
    if (way == BY_LATE) {
        PE_REQUIRE(pipe(go) == 0, "pipe failed");
        late = fork_child(go[0]);
    }
    if (threads) thread = pe_thread(communicate, (void *)1L);
    pe_fill(outbox, INBOX, stamp + (unsigned)pe_me);
    shmem_putmem_nbi(inbox, outbox, INBOX, pe_right());
    if (way != BY_LATE) PE_CHECK_EQ(run_child(way), STATUS);
    communicate((void *)0L);
    if (threads) pthread_join(thread, NULL);
    shmem_barrier_all();
    PE_CHECK_BYTES(inbox, INBOX, stamp + (unsigned)pe_left(), way_name[way]);
    if (way == BY_LATE) {
        PE_CHECK_EQ(write(go[1], "", 1), 1);
        PE_CHECK_EQ(status_of(late), STATUS);
        close(go[0]);
        close(go[1]);
    }
    stress_ops += 2 * (uint64_t)pe_rounds(OPS);
}

/* Every PE adds once to one PE in each step of communicate(), so all sums together are known. */
static void check_sums(uint64_t main_thread, uint64_t other_thread)
{
    static uint64_t totals[2];

    PE_CHECK_EQ(shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, totals, sums, 2), 0);
    PE_CHECK_EQ(totals[0], main_thread * (uint64_t)(pe_n * pe_rounds(OPS)));
    PE_CHECK_EQ(totals[1], other_thread * (uint64_t)(pe_n * pe_rounds(OPS)));
}

int main(int argc, char **argv)
{
    uint64_t with_threads = 0;

    stress_options(argc, argv);
    signal(SIGALRM, stress_hung);
    stress_stage("shmem_init");
    if (!pe_threads_begin()) return pe_test_end();
    clock_gettime(CLOCK_MONOTONIC, &stress_started);
    inbox = pe_malloc(INBOX);
    constant = pe_malloc(CONST);
    sums = pe_calloc(2, sizeof(*sums));
    pe_fill(constant, CONST, 1);
    pe_fill(global_bytes, CONST, 2);
    shmem_barrier_all();
    while (stress_more(ROUNDS)) {
        bool threads = stress_draw(2) == 0;

        with_threads += threads;
        play_round(threads);
        shmem_barrier_all();
        check_sums(stress_round, with_threads);
    }
    return stress_end("stress_fork");
}
