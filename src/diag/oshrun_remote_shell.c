/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Main program that hydra runs instead of the remote shell, once for each other host. Hydra waits
 * forever if a remote shell fails. This program therefore ends the launcher, and leaves a line with
 * the host and the cause for oshrun. Design: docs/design/launch.md.
 *
 * usage: oshrun-remote-shell [OPTIONS] HOST PROXY [ARGUMENTS]
 */
#include "base/oshrun_inspect.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WARN_S 60                 /* time after which a host that has not started is reported */
#define STARTED "oshrun-starts\n" /* line that a host prints after the checks of oshrun */
#define HYDRA_ENDS 7              /* status of a proxy in a job that hydra itself ends */

/*
 * Shell command of the child process: runs the remote shell $0 with the arguments $@, and with the
 * checks before the proxy. Adds a time limit for the connection unless the user has set one.
 */
static const char command[] =
    "for word do shift; case $word in *pmi_proxy*) set -- \"$@\" \"$OSHRUN_CHECKS\" "
    "\"${OSHRUN_FRAMES#*:}\" ;; esac; "
    "set -- \"$@\" \"$word\"; done; case ${0##*/} in ssh) \"$0\" -G \"$@\" 2>/dev/null | "
    "grep -qi '^connecttimeout none' && set -- -o ConnectTimeout=30 \"$@\" ;; esac; "
    "exec \"$0\" \"$@\"";

/* Starts the remote shell with the words of argv. Returns a stream of its standard error. */
static FILE *start_shell(char *shell, char **argv, int argc, pid_t *child)
{
    char **words = calloc((size_t)argc + 4, sizeof(*words));
    int fds[2];

    if (words == NULL || pipe2(fds, O_CLOEXEC) != 0) exit(EXIT_FAILURE);
    memcpy(words, (char *[]){"sh", "-c", (char *)command, shell}, 4 * sizeof(*words));
    memcpy(words + 4, argv + 1, (size_t)argc * sizeof(*words));
    *child = fork();
    if (*child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        dup2(fds[1], STDERR_FILENO);
        execv("/bin/sh", words);
        _exit(127);
    }
    free(words);
    close(fds[1]);
    return fdopen(fds[0], "r");
}

/*
 * Passes on the lines of the remote shell, and stores the last one, without its end, in line. Until
 * the host starts, this process ends with the launcher. Returns whether the host has started.
 */
static bool pass_on_lines(FILE *stream, const char *host, char line[static 512])
{
    struct pollfd fd = {.fd = fileno(stream), .events = POLLIN};
    int wait_ms = WARN_S * 1000;
    char text[512];

    signal(SIGPIPE, SIG_IGN);
    setvbuf(stream, NULL, _IONBF, 0); /* no buffer, because poll() does not see buffered input */
    for (;;) {
        if (wait_ms > 0 && poll(&fd, 1, wait_ms) == 0) {
            fprintf(stderr, "oshrun: host %s has not started within %d s; the job waits for it\n",
                    host, WARN_S);
            wait_ms = 0;
        }
        if (fgets(text, sizeof(text), stream) == NULL) return wait_ms < 0;
        if (strcmp(text, STARTED) == 0) {
            wait_ms = -1;
            prctl(PR_SET_PDEATHSIG, 0);
            continue;
        }
        fputs(text, stderr);
        text[strcspn(text, "\r\n")] = '\0';
        if (text[0] != '\0') strcpy(line, text);
    }
}

/*
 * Opens the memory file of oshrun. This process locks the file until its end, because oshrun waits
 * for the lines of remote shells that end together with the launcher.
 */
static int open_lines(void)
{
    const char *value = getenv(STP_FRAMES_VARIABLE);
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "%.*s", value ? (int)strcspn(value, ":") : 0, value);
    fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd >= 0) flock(fd, LOCK_SH);
    return fd;
}

int main(int argc, char **argv)
{
    char *shell = getenv("OSHRUN_REMOTE_SHELL"), *host = NULL;
    pid_t launcher = getppid(), child;
    char cause[512] = "";
    int status = W_EXITCODE(127, 0), lines;
    bool started;

    /* Close hydra's listening socket, in whose queue a proxy would wait for a dead launcher. */
    for (int fd = STDERR_FILENO + 1; fd < 1024; fd++)
        close(fd);
    lines = open_lines();
    for (int i = 2; i < argc && host == NULL; i++)
        if (strstr(argv[i], "pmi_proxy") != NULL) host = argv[i - 1];
    if (shell == NULL || host == NULL) return 2; /* oshrun or hydra has not started this program */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    started = pass_on_lines(start_shell(shell, argv, argc, &child), host, cause);
    waitpid(child, &status, 0);
    status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (status == 0 || (started && status == HYDRA_ENDS)) return 0;
    dprintf(lines, STP_HOST_LINE "%s: %s ended with status %d%s%s\n", host, shell, status,
            cause[0] != '\0' ? ": " : "", cause);
    if (getppid() == launcher) kill(launcher, SIGKILL);
    return status;
}
