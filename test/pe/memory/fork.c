/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that fork keeps its meaning for globals although they are symmetric: the child has the
 * values of the moment of the fork, later puts of peers do not reach the child, and stores of the
 * child do not reach the parent. The child makes no call of the library (see fork_calls.c).
 * Descriptors that the child opens survive a fork of the child. This is a promise of Steppe beyond
 * rule R37 of docs/reference/conformance.md.
 */
#include "pe_data.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 3000, OLD = 1000, NEW = 2000, CHILDS = 3000, FILES = 8 };

long words[WORDS]; /* several pages of bss */
static long initialised_word = OLD;

static void set_all(long value)
{
    for (int i = 0; i < WORDS; i++)
        words[i] = value + i;
    initialised_word = value;
}

static bool all_are(long value)
{
    for (int i = 0; i < WORDS; i++)
        if (words[i] != value + i) return false;
    return initialised_word == value;
}

/* Files that the child opens are open in a child of its own. */
static bool forks_with_files(void)
{
    int fds[FILES], status = -1;
    pid_t pid;

    for (int i = 0; i < FILES; i++)
        fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pid = fork();
    if (pid == 0) {
        for (int i = 0; i < FILES; i++)
            if (fcntl(fds[i], F_GETFD) < 0) _exit(1);
        _exit(0);
    }
    for (int i = 0; i < FILES; i++)
        close(fds[i]);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Exit status of the child: 0, or the number of the step that went wrong. */
static int child(int go, int done)
{
    char byte;

    if (!all_are(OLD)) return 1; /* a copy of the fork's moment */
    if (read(go, &byte, 1) != 1) return 2;
    if (!all_are(OLD)) return 3; /* the peer's puts came after it */
    set_all(CHILDS);
    if (!all_are(CHILDS)) return 4;
    if (write(done, "x", 1) != 1 || read(go, &byte, 1) != 1) return 5;
    if (!all_are(CHILDS)) return 6; /* nor do later puts touch the child's copy */
    return forks_with_files() ? 0 : 7;
}

static void put_all(long value)
{
    static long source[WORDS];

    for (int i = 0; i < WORDS; i++)
        source[i] = value + i;
    shmem_long_put(words, source, WORDS, pe_right());
    shmem_long_p(&initialised_word, value, pe_right());
}

static void check_fork(void)
{
    int go[2], done[2], status = -1;
    char byte;
    pid_t pid;

    set_all(OLD);
    PE_REQUIRE(pipe(go) == 0 && pipe(done) == 0, "pipe() failed");
    pid = fork();
    PE_REQUIRE(pid >= 0, "fork() failed");
    if (pid == 0) _exit(child(go[0], done[1]));
    close(done[1]);      /* a dead child reads as end of file */
    shmem_barrier_all(); /* everybody has forked */
    put_all(NEW);
    shmem_barrier_all();
    PE_CHECK(all_are(NEW), "after fork, the puts of the left PE are not in the parent's globals");
    PE_REQUIRE(write(go[1], "x", 1) == 1, "writing to the child's pipe failed");
    if (read(done[0], &byte, 1) == 1) { /* else the child's status says why */
        PE_CHECK(all_are(NEW), "stores of the child changed the parent's globals");
        shmem_barrier_all();
        put_all(NEW + 1);
        shmem_barrier_all();
        PE_REQUIRE(write(go[1], "x", 1) == 1, "writing to the child's pipe failed");
    } else {
        shmem_barrier_all();
        shmem_barrier_all();
    }
    PE_CHECK_EQ(waitpid(pid, &status, 0), pid);
    PE_CHECK(WIFEXITED(status), "signal %d ended the child, expected exit status 0",
             WTERMSIG(status));
    PE_CHECK(!WIFEXITED(status) || WEXITSTATUS(status) == 0,
             "the child failed at step %d of child(), expected exit status 0", WEXITSTATUS(status));
    close(go[0]);
    close(go[1]);
    close(done[0]);
    shmem_barrier_all();
}

/* A program started from a PE runs and its output comes back. */
static void check_popen(void)
{
    char line[32] = "";
    FILE *pipe = popen("echo still here", "r");

    PE_REQUIRE(pipe != NULL, "popen() failed");
    PE_CHECK(fgets(line, sizeof(line), pipe) != NULL && strcmp(line, "still here\n") == 0,
             "popen(\"echo still here\") delivered \"%s\"", line);
    PE_CHECK_EQ(pclose(pipe), 0);
}

/* Checks system() and posix_spawn(), which start a program without running fork handlers. */
static void check_system_and_spawn(void)
{
    char *const argv[] = {"sh", "-c", "exit 4", NULL}, *const environment[] = {NULL};
    int status = system("exit 3");
    pid_t pid;

    PE_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3,
             "system(\"exit 3\") returned 0x%x, expected exit status 3", (unsigned)status);
    PE_REQUIRE(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environment) == 0,
               "posix_spawn of /bin/sh failed");
    PE_CHECK_EQ(waitpid(pid, &status, 0), pid);
    PE_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 4,
             "the spawned program ended with 0x%x, expected exit status 4", (unsigned)status);
}

int main(void)
{
    pe_test_begin();
    for (int i = 0; i < 3; i++)
        check_fork();
    check_popen();
    check_system_and_spawn();
    put_all(NEW + 2); /* the fork handlers of the children changed nothing in this process */
    shmem_barrier_all();
    PE_CHECK(all_are(NEW + 2), "after system and posix_spawn, the puts of the left PE are missing");
    return pe_test_end();
}
