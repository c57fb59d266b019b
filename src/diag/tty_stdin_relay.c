/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles the terminal of a job. Finds and sets the process group in the foreground, and copies
 * terminal input to the launcher. Design: docs/design/launch.md.
 */
#include "oshrun_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FOREGROUND_CHECK_MS                                                                        \
    500 /* interval of checks whether this process is in the foreground again */

static struct {
    int write_fd; /* descriptor of the pipe from which the launcher reads, or -1 */
    int read_fd;
    size_t start, end; /* range of the bytes in text that must still be written to the pipe */
    char text[4096];
} relay = {.write_fd = -1, .read_fd = -1};

void launch_fail(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fputs("oshrun: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

/* The name contains the host name, because process IDs are unique only within a host. */
void launch_job_name(pid_t oshrun, char *text, size_t len)
{
    char host[40] = "";

    (void)gethostname(host, sizeof(host) - 1);
    snprintf(text, len, "%s.%d", host, (int)oshrun);
}

bool launch_in_front(void)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
    bool in_foreground;

    if (fd < 0) return false;
    in_foreground = tcgetpgrp(fd) == getpgrp();
    close(fd);
    return in_foreground;
}

/*
 * The kernel stops a background process that calls tcsetpgrp(), unless the process blocks SIGTTOU.
 * oshrun blocks this signal.
 */
bool launch_terminal_to(pid_t group)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
    bool success;

    if (fd < 0) return false;
    success = tcsetpgrp(fd, group) == 0;
    close(fd);
    return success;
}

void launch_tty_relay_open_pipe(void)
{
    int fds[2];

    /*
     * A pipe is needed only if standard input is the controlling terminal of the session. Otherwise
     * the launcher may read standard input directly.
     */
    if (tcgetpgrp(STDIN_FILENO) < 0 || pipe2(fds, O_CLOEXEC) != 0) return;
    relay.read_fd = fds[0];
    relay.write_fd = fds[1];
}

void launch_tty_relay_in_child(void)
{
    if (relay.read_fd >= 0) dup2(relay.read_fd, STDIN_FILENO);
}

void launch_tty_relay_in_parent(void)
{
    if (relay.read_fd < 0) return;
    close(relay.read_fd);
    fcntl(relay.write_fd, F_SETFL, O_NONBLOCK);
}

static void relay_close(void)
{
    close(relay.write_fd);
    relay.write_fd = -1;
}

int launch_tty_relay_prepare_poll(struct pollfd fds[2])
{
    bool pending = relay.start < relay.end,
         in_foreground = relay.write_fd >= 0 && !pending && tcgetpgrp(STDIN_FILENO) == getpgrp();

    /*
     * poll() ignores an entry whose descriptor is -1. The entry of the pipe reports an error if the
     * launcher has closed its end.
     */
    fds[0] = (struct pollfd){.fd = in_foreground ? STDIN_FILENO : -1, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = relay.write_fd, .events = (short)(pending ? POLLOUT : 0)};
    return relay.write_fd >= 0 && !pending && !in_foreground ? FOREGROUND_CHECK_MS : -1;
}

/*
 * Reads terminal input. Closes the pipe after Ctrl-D or if the terminal is lost. A background
 * process also gets the error EIO. Therefore EIO means a lost terminal only if oshrun is in the
 * foreground.
 */
static void relay_read(void)
{
    ssize_t n = read(STDIN_FILENO, relay.text, sizeof(relay.text));

    if (n > 0) {
        relay.start = 0;
        relay.end = (size_t)n;
    } else if (n == 0 || (errno == EIO && tcgetpgrp(STDIN_FILENO) == getpgrp())) {
        relay_close();
    }
}

static void relay_write(void)
{
    ssize_t n = write(relay.write_fd, relay.text + relay.start, relay.end - relay.start);

    if (n > 0)
        relay.start += (size_t)n;
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        relay_close();
}

void launch_tty_relay_move_input(const struct pollfd fds[2])
{
    if (relay.write_fd < 0) return;
    if (fds[1].revents & (POLLERR | POLLNVAL)) {
        relay_close();
        return;
    }
    if (fds[0].revents & (POLLIN | POLLHUP | POLLERR)) relay_read();
    if (relay.start < relay.end) relay_write();
}
