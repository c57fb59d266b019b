/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors in words that say what to do: the limits that users can raise are named; and a limit that
 * the kernel enforces by a signal becomes an error. Also part of the fabric module, which has a
 * copy of its own.
 * Design: docs/design/base.md.
 */
#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* NULL: that is not why. */
static const char *explain_size(char *text, size_t len)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return NULL;
    snprintf(text, len, "larger than a file may be (ulimit -f is %llu KiB): raise it",
             (unsigned long long)limit.rlim_cur / 1024);
    return text;
}

const char *stp_strerror(int error)
{
    static __thread char text[128];
    struct rlimit limit;

    if (error == ENFILE) return "descriptors ran out on this host (sysctl fs.file-max): raise it";
    if (error == EFBIG && explain_size(text, sizeof(text)) != NULL) return text;
    if (error != EMFILE) return strerror(error);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return "descriptors ran out (ulimit -n): raise it";
    snprintf(text, sizeof(text), "descriptors ran out (ulimit -n is %llu): raise it",
             (unsigned long long)limit.rlim_cur);
    return text;
}

void stp_growth_begin(struct stp_growth *growth)
{
    sigset_t mine, pending;

    sigemptyset(&mine);
    sigaddset(&mine, SIGXFSZ);
    sigemptyset(&pending);
    pthread_sigmask(SIG_BLOCK, &mine, &growth->before);
    sigpending(&pending);
    growth->pending = sigismember(&pending, SIGXFSZ) == 1;
}

void stp_growth_end(const struct stp_growth *growth)
{
    const struct timespec at_once = {0};
    int error = errno;
    sigset_t mine;

    sigemptyset(&mine);
    sigaddset(&mine, SIGXFSZ);
    /* The kernel sends it to the thread, so it is here by now. */
    if (!growth->pending) sigtimedwait(&mine, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &growth->before, NULL);
    errno = error;
}

int stp_file_resize(int fd, size_t nbytes)
{
    struct stp_growth growth;
    int rc;

    stp_growth_begin(&growth);
    rc = ftruncate(fd, (off_t)nbytes) == 0 ? 0 : -errno;
    stp_growth_end(&growth);
    return rc;
}
