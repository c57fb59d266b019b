/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints messages, and ends the job after a fatal error. Each message is built on the stack and
 * written by one call of write(). Therefore lines do not mix if several threads print, or if
 * several PEs share a pipe. Design: docs/design/base.md.
 */
#include "base/base.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Size of the longest line. The size is less than PIPE_BUF, because only writes up to PIPE_BUF
 * bytes to a pipe are atomic. It is also small enough for the stack of a signal handler.
 */
#define LINE_MAX_BYTES 2048

/*
 * Seconds for which a thread with a fatal error waits for another thread that already ends the job.
 */
#define FATAL_GRACE_S 10

/*
 * Milliseconds to wait for space if standard error is full and non-blocking. After this time the
 * line is dropped.
 */
#define WRITE_GRACE_MS 1000

/*
 * Seconds that the message of a fatal error may take. After this time the job ends without the
 * message.
 */
#define FATAL_LINE_S 5

#define PE_UNKNOWN INT_MIN /* value of log_state.pe before the first call of stp_log_identify() */

int stp_log_level = STP_LOG_WARN;
_Thread_local const char *stp_log_routine;

static struct {
    int pe;
    int pid;        /* process ID of the PE; a forked child of the PE has another ID */
    int fatal_tid;  /* ID of the first thread with a fatal error, or 0 before any fatal error */
    int ending_tid; /* ID of the thread that ends the job, or 0 while no thread ends it */
    bool silent;    /* whether fatal errors of threads other than fatal_tid print no message */
    void (*end_job)(int);
    pthread_once_t host_once;
    char host[256];
} log_state = {.pe = PE_UNKNOWN, .host_once = PTHREAD_ONCE_INIT};

/* Line that is being built. The last byte of text is reserved for the newline. */
struct line {
    size_t len;
    bool truncated;
    char text[LINE_MAX_BYTES];
};

static void line_vadd(struct line *line, const char *fmt, va_list args)
{
    size_t room = sizeof(line->text) - 1 - line->len;
    int n = vsnprintf(line->text + line->len, room, fmt, args);

    if (n < 0) return;
    if ((size_t)n >= room) {
        line->truncated = true;
        line->len += room - 1;
    } else {
        line->len += (size_t)n;
    }
}

static void STP_PRINTF(2, 3) line_add(struct line *line, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    line_vadd(line, fmt, args);
    va_end(args);
}

static void line_begin(struct line *line)
{
    int pe = __atomic_load_n(&log_state.pe, __ATOMIC_RELAXED);

    line->len = 0;
    line->truncated = false;
    if (pe >= 0)
        line_add(line, "steppe: pe %d (%s): ", pe, stp_hostname());
    else if (pe == PE_UNKNOWN)
        line_add(line, "steppe: (%s): ", stp_hostname());
    else
        line_add(line, "steppe: ");
}

/*
 * Removes newlines at the end of the line and replaces other control characters. Such characters
 * can be in values that users set. They could break the line or change the state of a terminal.
 */
static void line_clean(struct line *line)
{
    while (line->len > 0 && line->text[line->len - 1] == '\n')
        line->len--;
    for (size_t i = 0; i < line->len; i++) {
        unsigned char c = (unsigned char)line->text[i];

        if (c == '\n' || c == '\t')
            line->text[i] = ' ';
        else if (c < 0x20 || c == 0x7f)
            line->text[i] = '?';
    }
}

/*
 * Replaces the end of a line that was too long by three dots. Does not keep a part of a UTF-8
 * character.
 */
static void line_mark_truncated(struct line *line)
{
    size_t len = line->len - 3;

    while (len > 0 && ((unsigned char)line->text[len] & 0xc0) == 0x80)
        len--;
    memcpy(line->text + len, "...", 3);
    line->len = len + 3;
}

static void line_write(struct line *line)
{
    const char *text = line->text;
    size_t remaining;

    line_clean(line);
    if (line->truncated) line_mark_truncated(line);
    line->text[line->len++] = '\n';
    remaining = line->len;
    while (remaining > 0) {
        ssize_t n = write(STDERR_FILENO, text, remaining);

        if (n >= 0) {
            text += n;
            remaining -= (size_t)n;
        } else if (errno == EAGAIN) {
            struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

            if (poll(&out, 1, WRITE_GRACE_MS) == 0) return;
        } else if (errno != EINTR) {
            return;
        }
    }
}

static void host_read(void)
{
    char *host = log_state.host;

    if (gethostname(host, sizeof(log_state.host) - 1) != 0 || host[0] == '\0')
        strcpy(host, "unknown host");
}

const char *stp_hostname(void)
{
    pthread_once(&log_state.host_once, host_read);
    return log_state.host;
}

void stp_log_identify(int pe, int level)
{
    /* Read the host name now, because a later message may be printed in a signal handler. */
    (void)stp_hostname();
    __atomic_store_n(&log_state.pe, pe < 0 ? -1 : pe, __ATOMIC_RELAXED);
    /* Pairs with the load in stp_fatal(). */
    __atomic_store_n(&log_state.pid, getpid(), __ATOMIC_SEQ_CST);
    stp_log_level = level;
}

/*
 * Inserts stp_log_routine into the line at offset start. Does nothing if the text at this offset
 * already begins with the name of the routine.
 */
static void line_insert_routine(struct line *line, size_t start)
{
    size_t len = stp_log_routine != NULL ? strlen(stp_log_routine) : 0;
    char *text = line->text + start;

    if (len == 0 || strncmp(text, stp_log_routine, len) == 0) return;
    if (line->len + len + 2 >= sizeof(line->text) - 1) return;
    memmove(text + len + 2, text, line->len - start);
    memcpy(text, stp_log_routine, len);
    memcpy(text + len, ": ", 2);
    line->len += len + 2;
}

void stp_log(int level, const char *fmt, ...)
{
    struct line line;
    va_list args;
    int saved_errno = errno;
    size_t start;

    if (level > stp_log_level) return;
    line_begin(&line);
    start = line.len;
    va_start(args, fmt);
    line_vadd(&line, fmt, args);
    va_end(args);
    if (level <= STP_LOG_ERROR) line_insert_routine(&line, start);
    line_write(&line);
    errno = saved_errno;
}

const char *stp_public_name(const char *routine)
{
    static const char *const profiling[] = {"psh", "pstart_", "p_", "pmy_", "pnum_"};

    for (size_t i = 0; i < STP_COUNT(profiling); i++) {
        if (strncmp(routine, profiling[i], strlen(profiling[i])) == 0) return routine + 1;
    }
    return routine;
}

/*
 * Records the calling thread as the first thread with a fatal error, unless a thread was recorded
 * before. Returns 0 if the function has recorded the calling thread, which must then end the job.
 * Otherwise returns the ID of the recorded thread. This is the ID of the calling thread if that
 * thread has a second fatal error.
 * The function also blocks SIGPIPE and SIGXFSZ and disables cancellation. Therefore neither a
 * failing write nor another thread can end the calling thread before it has reported its error.
 */
static int fatal_enter(int tid)
{
    int first = 0;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    sigaddset(&set, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    /* Pairs with the same exchange in other threads. Only the first thread ends the job. */
    __atomic_compare_exchange_n(&log_state.fatal_tid, &first, tid, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    return first;
}

/* Waits FATAL_GRACE_S seconds for another thread to end the job. Then ends this process. */
static _Noreturn void fatal_wait(void)
{
    struct timespec grace = {.tv_sec = FATAL_GRACE_S};

    while (nanosleep(&grace, &grace) != 0 && errno == EINTR)
        ;
    _exit(EXIT_FAILURE);
}

/*
 * Ends the job by calling log_state.end_job(). If no such function is set, ends the process by
 * calling fallback(). If a fatal error occurs inside end_job(), the same thread calls fatal_end()
 * again. This second call ends the process at once.
 */
static _Noreturn void fatal_end(void (*fallback)(int))
{
    int tid = (int)syscall(SYS_gettid), first = 0;
    void (*end_job)(int);

    /* Pairs with the same exchange in other threads. Only the first thread ends the job. */
    if (__atomic_compare_exchange_n(&log_state.ending_tid, &first, tid, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST)) {
        /* Pairs with the store in stp_fatal_hook(). */
        end_job = __atomic_load_n(&log_state.end_job, __ATOMIC_SEQ_CST);
        (end_job ? end_job : fallback)(EXIT_FAILURE);
    }
    if (first != 0 && first != tid) fatal_wait();
    _exit(EXIT_FAILURE);
}

/*
 * Ends the job after the deadline has passed. Does not run exit handlers, because an exit handler
 * could wait for a lock that is never released.
 */
static void fatal_on_timeout(void)
{
    fatal_end(_exit);
}

void stp_fatal(const char *routine, const char *fmt, ...)
{
    struct line line;
    va_list args;
    int tid = (int)syscall(SYS_gettid);
    /*
     * Only the PE flushes its streams. A forked child must not flush, because its buffers can
     * contain output of its parent. Pairs with the stores in stp_log_identify() and
     * stp_fatal_hook().
     */
    bool is_pe = getpid() == __atomic_load_n(&log_state.pid, __ATOMIC_SEQ_CST);
    int first = fatal_enter(tid);

    /* Pairs with the store in stp_fatal_silence_others(). */
    if (first != 0 && first != tid && __atomic_load_n(&log_state.silent, __ATOMIC_SEQ_CST))
        fatal_wait();
    line_begin(&line);
    if (routine) line_add(&line, "%s: ", stp_public_name(routine));
    va_start(args, fmt);
    line_vadd(&line, fmt, args);
    va_end(args);
    if (first == 0) stp_deadline(FATAL_LINE_S, fatal_on_timeout);
    line_write(&line);
    if (first == 0 && is_pe) stp_flush_stdio_before_exit(fatal_on_timeout);
    if (first == 0) stp_deadline_end();
    if (first != 0 && first != tid) fatal_wait();
    /* This thread also gets here if it has a second fatal error during the flush. */
    fatal_end(exit);
}

void stp_fatal_silence_others(void)
{
    /* Pairs with the load in stp_fatal(). */
    __atomic_store_n(&log_state.silent, true, __ATOMIC_SEQ_CST);
    (void)fatal_enter((int)syscall(SYS_gettid));
}

void stp_fatal_hook(void (*end_job)(int status))
{
    /* The stores pair with the loads in fatal_end() and stp_fatal(). */
    __atomic_store_n(&log_state.end_job, end_job, __ATOMIC_SEQ_CST);
    __atomic_store_n(&log_state.pid, getpid(), __ATOMIC_SEQ_CST);
}
