/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a file which would exceed `ulimit -f` is an error that names the limit, for every way
 * in which the program treats SIGXFSZ. The program's handler, its signal mask and its own pending
 * signals stay unchanged. CTest runs the program as unit.limit.
 */
#include "base/base.h"
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define LIMIT 8192

static volatile sig_atomic_t n_signals;

static void count(int signo)
{
    (void)signo;
    n_signals = n_signals + 1;
}

static void limit_files(void)
{
    struct rlimit limit = {LIMIT, LIMIT};

    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static bool is_blocked(void)
{
    sigset_t now;

    pthread_sigmask(SIG_SETMASK, NULL, &now);
    return sigismember(&now, SIGXFSZ) == 1;
}

static bool is_pending(void)
{
    sigset_t now;

    sigpending(&now);
    return sigismember(&now, SIGXFSZ) == 1;
}

static void set_blocked(int how)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    pthread_sigmask(how, &set, NULL);
}

static void (*const handlers[])(int) = {SIG_DFL, SIG_IGN, count};

TEST_LOOP(is_an_error, 0, (int)STP_COUNT(handlers))
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    struct sigaction now;

    limit_files();
    signal(SIGXFSZ, handlers[_i]);
    ck_assert_int_eq(stp_file_resize(fd, LIMIT), 0);
    ck_assert_int_eq(stp_file_resize(fd, LIMIT + 1), -EFBIG);
    ck_assert_ptr_nonnull(strstr(stp_errno_text(EFBIG), "ulimit -f is 8 KiB"));
    ck_assert_int_eq(n_signals, 0);
    ck_assert(!is_blocked() && !is_pending());
    sigaction(SIGXFSZ, NULL, &now);
    ck_assert(now.sa_handler == handlers[_i]);
}

TEST(mask_stays)
{
    int fd = memfd_create("test", MFD_CLOEXEC);

    limit_files();
    set_blocked(SIG_BLOCK);
    ck_assert_int_eq(stp_file_resize(fd, LIMIT + 1), -EFBIG);
    ck_assert(is_blocked() && !is_pending());
}

/* The program's own overstepping is still told to it. */
TEST(own_signal_stays)
{
    int fd = memfd_create("test", MFD_CLOEXEC);

    limit_files();
    signal(SIGXFSZ, count);
    set_blocked(SIG_BLOCK);
    ck_assert_int_ne(ftruncate(fd, LIMIT + 1), 0);
    ck_assert(is_pending());
    ck_assert_int_eq(stp_file_resize(fd, LIMIT + 1), -EFBIG);
    ck_assert(is_pending());
    set_blocked(SIG_UNBLOCK);
    ck_assert_int_eq(n_signals, 1);
}
