/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests messages and the end of the job. Each message is one line in one write and names its PE and
 * host, whatever its text contains. stp_fatal() ends the job once, through the hook, with status 1,
 * also when something goes wrong on the way. CTest runs the program as unit.log.
 */
#include "base/base.h"
#include "capture.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

/* Expect exactly this line, with %s standing for the host. */
static void line_is(const char *fmt)
{
    char want[2048];

    snprintf(want, sizeof(want), fmt, stp_hostname());
    ck_assert_str_eq(said.text, want);
}

TEST(who_speaks)
{
    CAPTURE(stp_error("first words"));
    line_is("steppe: (%s): first words\n");

    stp_log_identify(3, STP_LOG_WARN);
    CAPTURE(stp_warn("number %d", 7));
    line_is("steppe: pe 3 (%s): number 7\n");

    stp_log_identify(-1, STP_LOG_WARN);
    CAPTURE(stp_error("a tool"));
    ck_assert_str_eq(said.text, "steppe: a tool\n");
}

TEST(host_name)
{
    char host[256] = "";

    ck_assert_int_eq(gethostname(host, sizeof(host) - 1), 0);
    ck_assert_str_eq(stp_hostname(), host);
    ck_assert_ptr_eq(stp_hostname(), stp_hostname());
}

TEST(levels)
{
    stp_log_identify(0, STP_LOG_INFO);
    capture_begin(&said);
    stp_debug("dropped");
    stp_log(STP_LOG_DEBUG, "dropped");
    stp_info("kept");
    capture_end(&said);
    line_is("steppe: pe 0 (%s): kept\n");
}

/* Also where the line cannot be written. */
TEST(errno_is_kept)
{
    int unwritable = open("/dev/null", O_RDONLY);
    int saved = dup(STDERR_FILENO);
    int after;

    dup2(unwritable, STDERR_FILENO);
    errno = ERANGE;
    stp_error("text");
    after = errno;
    dup2(saved, STDERR_FILENO);
    ck_assert_int_eq(after, ERANGE);
    close(saved);
    close(unwritable);
}

TEST(lines_stay_lines)
{
    stp_log_identify(-1, STP_LOG_WARN);
    CAPTURE(stp_error("one\ntwo\ttabs\x1b[31mred\x7f\n\n"));
    ck_assert_str_eq(said.text, "steppe: one two tabs?[31mred?\n");
}

TEST(long_lines_are_cut)
{
    char text[8000];
    size_t len;

    stp_log_identify(-1, STP_LOG_WARN);
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    CAPTURE(stp_error("%s", text));
    len = strlen(said.text);
    ck_assert_uint_gt(len, 1000);
    ck_assert_uint_lt(len, 4096);
    ck_assert_str_eq(said.text + len - 5, "x...\n");

    /* Wherever the cut falls, no half character is left: two-byte ones at both parities. */
    for (size_t i = 0; i + 2 < sizeof(text); i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    for (int shift = 0; shift < 2; shift++) {
        CAPTURE(stp_error("%s%s", shift ? "x" : "", text));
        len = strlen(said.text);
        ck_assert_str_eq(said.text + len - 6, "\xc3\xa9...\n");
    }
}

/* A pipe in packet mode keeps writes apart. */
TEST(one_write_a_line)
{
    char packet[4096];
    int saved = dup(STDERR_FILENO);
    int ends[2];

    stp_log_identify(12, STP_LOG_WARN);
    ck_assert_int_eq(pipe2(ends, O_DIRECT | O_NONBLOCK), 0);
    dup2(ends[1], STDERR_FILENO);
    stp_error("first %d", 1);
    stp_error("second");
    dup2(saved, STDERR_FILENO);
    for (int i = 0; i < 2; i++) {
        ssize_t n = read(ends[0], packet, sizeof(packet) - 1);

        ck_assert_int_gt(n, 0);
        packet[n] = '\0';
        ck_assert_ptr_nonnull(strstr(packet, i == 0 ? ": first 1\n" : ": second\n"));
        ck_assert_int_eq(strncmp(packet, "steppe: pe 12 (", 15), 0);
    }
    ck_assert_int_lt(read(ends[0], packet, sizeof(packet)), 0);
    close(ends[0]);
    close(ends[1]);
    close(saved);
}

/* Nobody reads and the pipe is full and does not block: the line is lost, the program goes on. */
TEST(full_pipe_does_not_hang)
{
    static const char filler[4096];
    int saved = dup(STDERR_FILENO);
    int ends[2];

    ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
    while (write(ends[1], filler, sizeof(filler)) > 0)
        ;
    dup2(ends[1], STDERR_FILENO);
    stp_error("lost");
    dup2(saved, STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    close(saved);
}

/* ---- the end of the job -------------------------------------------------------- */

/* Run a function that must not return in a child; returns its exit status, -1 for a signal. */
static int status_of(void (*function)(void))
{
    int status;
    pid_t child;

    capture_begin(&said);
    child = fork();
    if (child == 0) {
        __fpurge(stdout); /* what this program has printed so far is not the test's */
        function();
        _exit(99);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    capture_end(&said);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void at_exit(void)
{
    (void)!write(STDERR_FILENO, "bye\n", 4);
}

static void fatal_without_hook(void)
{
    atexit(at_exit);
    stp_log_identify(5, STP_LOG_ERROR);
    stp_fatal("shmem_put", "pe %d is out of range", 9);
}

TEST(fatal_exits)
{
    ck_assert_int_eq(status_of(fatal_without_hook), 1);
    line_is("steppe: pe 5 (%s): shmem_put: pe 9 is out of range\nbye\n");
}

static void hook(int status)
{
    stp_error("hook %d", status);
    _exit(40 + status);
}

static void fatal_with_hook(void)
{
    stp_log_identify(-1, STP_LOG_ERROR);
    stp_fatal_hook(hook);
    stp_fatal(NULL, "no routine");
}

TEST(fatal_calls_the_hook)
{
    ck_assert_int_eq(status_of(fatal_with_hook), 41);
    ck_assert_str_eq(said.text, "steppe: no routine\nsteppe: hook 1\n");
}

static void hook_that_fails(int status)
{
    stp_fatal("hook", "fails as well, %d", status);
}

static void fatal_in_hook(void)
{
    stp_log_identify(-1, STP_LOG_ERROR);
    stp_fatal_hook(hook_that_fails);
    stp_fatal("shmem_get", "first");
}

TEST(fatal_within_fatal)
{
    ck_assert_int_eq(status_of(fatal_in_hook), 1);
    ck_assert_str_eq(said.text, "steppe: shmem_get: first\nsteppe: hook: fails as well, 1\n");
}

static void hook_that_returns(int status)
{
    (void)status;
}

static void fatal_with_weak_hook(void)
{
    stp_fatal_hook(hook_that_returns);
    stp_fatal(NULL, "text");
}

TEST(fatal_never_returns)
{
    ck_assert_int_eq(status_of(fatal_with_weak_hook), 1);
}

static void slow_hook(int status)
{
    struct timespec a_while = {.tv_nsec = 100000000};

    /* Time enough for the other threads to arrive; the outcome does not depend on it. */
    nanosleep(&a_while, NULL);
    stp_error("hook");
    _exit(40 + status);
}

static void *fatal_thread(void *arg)
{
    (void)arg;
    stp_fatal("thread", "text");
}

static void fatal_in_threads(void)
{
    pthread_t threads[4];

    stp_log_identify(-1, STP_LOG_ERROR);
    stp_fatal_hook(slow_hook);
    for (size_t i = 0; i < STP_COUNT(threads); i++)
        pthread_create(&threads[i], NULL, fatal_thread, NULL);
    for (size_t i = 0; i < STP_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
}

TEST(fatal_once_for_all_threads)
{
    const char *first;

    ck_assert_int_eq(status_of(fatal_in_threads), 41);
    first = strstr(said.text, "steppe: hook\n");
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_null(strstr(first + 1, "steppe: hook\n"));
}

/* ---- what had been printed -------------------------------------------------------- */

static void hook_of_end(int status)
{
    _exit(40 + status);
}

static void begin_pe(void)
{
    stp_log_identify(-1, STP_LOG_ERROR);
    stp_fatal_hook(hook_of_end);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    setvbuf(stdout, NULL, _IOFBF, 4096);
}

static void fatal_after_words(void)
{
    begin_pe();
    printf("words, ");
    stp_fatal(NULL, "line");
}

TEST(fatal_flushes_after_the_line)
{
    ck_assert_int_eq(status_of(fatal_after_words), 41);
    ck_assert_str_eq(said.text, "steppe: line\nwords, ");
}

/* A child has its parent's words in the buffer; nobody but the parent prints them. */
static void fatal_in_child(void)
{
    pid_t child;

    begin_pe();
    printf("words\n");
    child = fork();
    if (child == 0) stp_fatal(NULL, "line");
    waitpid(child, NULL, 0);
    fflush(stdout);
    _exit(3);
}

TEST(fatal_in_child_prints_nothing_twice)
{
    ck_assert_int_eq(status_of(fatal_in_child), 3);
    ck_assert_str_eq(said.text, "steppe: line\nwords\n");
}

static void *hold_stdout(void *ready)
{
    flockfile(stdout);
    pthread_barrier_wait(ready);
    while (pause() != 0)
        continue;
    return NULL;
}

static void fatal_with_stdout_held(void)
{
    static pthread_barrier_t ready;
    pthread_t thread;

    begin_pe();
    printf("words\n");
    pthread_barrier_init(&ready, NULL, 2);
    pthread_create(&thread, NULL, hold_stdout, &ready);
    pthread_barrier_wait(&ready);
    stp_fatal(NULL, "line");
}

TEST(fatal_does_not_wait_for_a_lock)
{
    ck_assert_int_eq(status_of(fatal_with_stdout_held), 41);
    ck_assert_str_eq(said.text, "steppe: line\n");
}

/* More than a pipe takes, and a reader that never comes. */
static void fatal_with_full_pipe(void)
{
    static char room[1 << 20], text[sizeof(room) - 1];
    int ends[2];

    begin_pe();
    if (pipe(ends) != 0) _exit(98);
    dup2(ends[1], STDOUT_FILENO);
    memset(text, 'x', sizeof(text));
    setvbuf(stdout, room, _IOFBF, sizeof(room));
    fwrite(text, 1, sizeof(text), stdout);
    stp_fatal(NULL, "line");
}

TEST(fatal_does_not_wait_for_a_reader)
{
    ck_assert_int_eq(status_of(fatal_with_full_pipe), 41);
    ck_assert_str_eq(said.text, "steppe: line\n");
}

static ssize_t write_fatally(void *cookie, const char *data, size_t nbytes)
{
    (void)cookie;
    (void)data;
    (void)nbytes;
    stp_fatal(NULL, "within");
}

/* A stream of the program calls the library, which fails once more: the first error goes on. */
static void fatal_in_flush(void)
{
    FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_fatally});

    begin_pe();
    fputs("words", stream);
    stp_fatal(NULL, "line");
}

TEST(fatal_within_a_flush)
{
    ck_assert_int_eq(status_of(fatal_in_flush), 41);
    ck_assert_str_eq(said.text, "steppe: line\nsteppe: within\n");
}

static bool early;

static void late(void)
{
    _exit(early ? 8 : 7);
}

/* Alarms of the program come before the end of the time, and signals are blocked. */
static void hang_beyond_deadline(void)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    early = true;
    stp_deadline(1, late);
    raise(SIGALRM);
    early = false;
    for (;;)
        pause();
}

TEST(deadline_ends_the_process)
{
    ck_assert_int_eq(status_of(hang_beyond_deadline), 7);
}

static void meet_deadline(void)
{
    stp_deadline(0, late);
    stp_deadline_end();
    raise(SIGALRM);
    _exit(3);
}

TEST(deadline_that_is_met)
{
    ck_assert_int_eq(status_of(meet_deadline), 3);
}

static void flush_late(void)
{
    static pthread_barrier_t ready;
    pthread_t thread;

    pthread_barrier_init(&ready, NULL, 2);
    pthread_create(&thread, NULL, hold_stdout, &ready);
    pthread_barrier_wait(&ready);
    stp_flush_stdio_before_exit(late);
    _exit(1);
}

TEST(flush_ends_in_time)
{
    ck_assert_int_eq(status_of(flush_late), 7);
}

static const char *routine;

static void fatal_named(void)
{
    stp_log_identify(-1, STP_LOG_ERROR);
    stp_fatal(routine, "x");
}

TEST(fatal_says_the_public_name)
{
    static const char *const names[][2] = {
        {"pshmem_int_put", "shmem_int_put"},
        {"pshmemx_info", "shmemx_info"},
        {"pshmalloc", "shmalloc"},
        {"pstart_pes", "start_pes"},
        {"p_my_pe", "_my_pe"},
        {"p_num_pes", "_num_pes"},
        {"pmy_pe", "my_pe"},
        {"shmem_put", "shmem_put"},
        {"start_pes", "start_pes"},
        {"put", "put"},
        {"pmi", "pmi"},
        {"p", "p"},
    };
    char want[64];

    for (size_t i = 0; i < STP_COUNT(names); i++) {
        routine = names[i][0];
        ck_assert_int_eq(status_of(fatal_named), 1);
        snprintf(want, sizeof(want), "steppe: %s: x\n", names[i][1]);
        ck_assert_str_eq(said.text, want);
    }
}
