/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Provides error texts that name limits which users can raise. Also provides functions that block
 * SIGXFSZ, the signal that the kernel sends when a file becomes too large. The operation then only
 * fails with an error. The fabric module contains its own copy of this file.
 * Design: docs/design/base.md.
 */
#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

size_t stp_limit(int resource, size_t *hard)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

    getrlimit((__rlimit_resource_t)resource, &limit);
    if (hard != NULL) *hard = limit.rlim_max == RLIM_INFINITY ? SIZE_MAX : (size_t)limit.rlim_max;
    return limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX : (size_t)limit.rlim_cur;
}

int stp_count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    /*
     * If all descriptors are in use, opendir() fails with EMFILE. The number of open descriptors is
     * then equal to the limit.
     */
    if (dir == NULL) return errno == EMFILE ? (int)stp_limit(RLIMIT_NOFILE, NULL) : -1;
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n - 3; /* Subtract ".", ".." and the descriptor of dir itself. */
}

const char *stp_errno_text(int error)
{
    static __thread char text[128];
    size_t size = stp_limit(RLIMIT_FSIZE, NULL);

    if (error == ENFILE) return "this host has too few file descriptors: raise sysctl fs.file-max";
    if (error == EFBIG && size != SIZE_MAX)
        snprintf(text, sizeof(text),
                 "the file would be too large (ulimit -f is %zu KiB): raise "
                 "this limit",
                 size / 1024);
    else if (error == EMFILE)
        snprintf(text, sizeof(text),
                 "this process has too few file descriptors (ulimit -n is %zu): raise this limit",
                 stp_limit(RLIMIT_NOFILE, NULL));
    else
        return strerror(error);
    return text;
}

void stp_sigxfsz_block(struct stp_sigxfsz *saved)
{
    sigset_t set, pending;

    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    sigemptyset(&pending);
    pthread_sigmask(SIG_BLOCK, &set, &saved->before);
    sigpending(&pending);
    saved->pending = sigismember(&pending, SIGXFSZ) == 1;
}

void stp_sigxfsz_unblock(const struct stp_sigxfsz *saved)
{
    const struct timespec no_wait = {0};
    int error = errno;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    /*
     * Remove a SIGXFSZ that the library has caused. The signal is already pending, because the
     * kernel sends it to the thread whose operation fails.
     */
    if (!saved->pending) sigtimedwait(&set, NULL, &no_wait);
    pthread_sigmask(SIG_SETMASK, &saved->before, NULL);
    errno = error;
}

int stp_file_resize(int fd, size_t nbytes)
{
    struct stp_sigxfsz saved;
    int rc;

    stp_sigxfsz_block(&saved);
    rc = ftruncate(fd, (off_t)nbytes) == 0 ? 0 : -errno;
    stp_sigxfsz_unblock(&saved);
    return rc;
}
