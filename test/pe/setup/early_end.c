/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends the processes of a job in the way that the argument names. In the first ways the last PE
 * ends without shmem_finalize and without exit handlers, while the other PEs wait or compute. In
 * the ways "init_...", it ends in shmem_init, before the other PEs have called this routine. In
 * the other ways the PEs need each other no more, or execute another program, so that the job is a
 * success.
 * run_early_end.sh checks the status and the output.
 *
 * usage: early_end WAY
 */
#include "pe_test.h"
#include "pe_ways.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static long never; /* symmetric, no PE sets it */

static void end_early(void)
{
    if (pe_way_is("_exit_0")) _exit(0);
    if (pe_way_is("_exit_5")) _exit(5);
    if (pe_way_is("quick_exit_0")) quick_exit(0);
    if (pe_way_is("kill")) raise(SIGKILL);
    if (pe_way_is("renamed") && prctl(PR_SET_NAME, "renamed") == 0) raise(SIGKILL);
    if (pe_way_is("segv")) raise(SIGSEGV);
    if (pe_way_is("oom")) {
        for (size_t nbytes = (size_t)16 << 20;; nbytes += (size_t)16 << 20)
            memset(malloc(nbytes), 1, nbytes);
    }
}

/* Returns a descriptor of this PE that is its connection to oshrun, or -1. */
static int find_link(void)
{
    for (int fd = 0; fd < 256; fd++) {
        int type = 0;
        socklen_t len = sizeof(type);

        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET)
            return fd;
    }
    return -1;
}

/* If a child kept the connection open, oshrun would not notice the end of the PE. */
static void check_fork(void)
{
    int status = 0;
    pid_t child;

    PE_REQUIRE(find_link() >= 0, "this PE has no connection to oshrun");
    child = fork();
    if (child == 0) _exit(find_link() >= 0);
    PE_REQUIRE(waitpid(child, &status, 0) == child && status == 0,
               "a forked child keeps the connection to oshrun open");
}

/*
 * Waits until oshrun has closed its duplicate of this process's standard output, which it does when
 * it has found out that the process has executed another program. If a process of Hydra had waited
 * for the process before, an exec would look like an _exit(0).
 */
#define UNTIL_JUDGED                                                                               \
    "pid=${OSHRUN_FRAMES#/proc/}; output=$(readlink /proc/$$/fd/1); "                              \
    "while [ -n \"$pid\" ] && ls -l /proc/${pid%%/*}/fd | grep -qF \"$output\"; do :; done"

/* Other PEs still print when the last PE has ended. */
static void end_after_finalize(void)
{
    for (int i = 0; pe_me != pe_n - 1 && i < 2000; i++)
        sched_yield();
    printf("pe %d is done\n", pe_me);
    fflush(stdout);
    _exit(0);
}

/* Returns whether this PE has opened its witness file, which it does in shmem_init. */
static bool has_witness(void)
{
    for (int fd = 0; fd < 256; fd++) {
        char path[32], target[64] = "";

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (readlink(path, target, sizeof(target) - 1) > 0 && strstr(target, "steppe-pe") != NULL)
            return true;
    }
    return false;
}

/* Ends the process when the main thread is in shmem_init and has sent its number to oshrun. */
static void *end_in_init(void *unused)
{
    (void)unused;
    while (!has_witness())
        sched_yield();
    if (pe_way_is("init__exit_0")) _exit(0);
    usleep(200000); /* the main thread usually waits for the other PEs by now */
    exit(0);
}

static void exit_in_handler(int signo)
{
    (void)signo;
    exit(0);
}

/* The last PE ends in shmem_init, which the other PEs do not call. */
static void end_before_others_come(void)
{
    pthread_t thread;

    if (strtol(getenv("PMI_RANK"), NULL, 10) != strtol(getenv("PMI_SIZE"), NULL, 10) - 1)
        for (;;)
            pause();
    pthread_create(&thread, NULL, end_in_init, NULL);
}

int main(int argc, char **argv)
{
    pe_way = argc > 1 ? argv[1] : "";
    if (pe_way_is("init__exit_0") || pe_way_is("init_exit_0")) end_before_others_come();
    pe_test_begin();
    if (pe_way_is("exec_at_once")) execlp("bash", "bash", "-c", UNTIL_JUDGED, (char *)NULL);
    if (pe_way_is("cycles")) {
        shmem_finalize();
        pe_test_begin();
    }
    if (pe_way_is("fork")) {
        check_fork();
        return pe_test_end();
    }
    if (pe_way_is("finalize") || pe_way_is("cycles")) {
        shmem_finalize();
        end_after_finalize();
    }
    if (pe_way_is("exec")) {
        shmem_finalize();
        execlp("true", "true", (char *)NULL);
    }
    if (pe_way_is("second_finalize")) {
        shmem_finalize();
        shmem_finalize();
        shmem_finalize();
        return 0;
    }
    if (pe_way_is("final_exit_0") && pe_me == pe_n - 1) {
        signal(SIGALRM, exit_in_handler);
        ualarm(200000, 0);
        shmem_finalize(); /* the other PEs do not call it */
    }
    if (pe_way_is("wait")) {
        shmem_barrier_all();
        if (pe_me == 0) fprintf(stderr, "waits\n");
    } else if (pe_me == pe_n - 1) {
        end_early();
    }
    for (volatile unsigned long spin = 0; pe_me == 0; spin++)
        continue;
    shmem_long_wait_until(&never, SHMEM_CMP_EQ, 1);
    PE_REQUIRE(pe_way_known, "the argument %s is not the name of a way to end", pe_way);
    return PE_FAIL;
}
