/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Main program of oshrun's supervisor, which is the parent of the launcher while a job runs. The
 * supervisor handles the launcher's signals, stops, terminal and exit status as a shell does. To
 * its caller, oshrun therefore behaves as if it were the launcher. Usually the launcher has a
 * process group of its own, so that Ctrl-C reaches this program first.
 * Design: docs/design/launch.md.
 *
 * usage: job LAUNCHER [ARGUMENTS]
 *        job --status [PID]
 *        job --host NAME PROXY [ARGUMENTS]    on another host, with the name in OSHRUN_FRAMES
 */
#include "oshrun_internal.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define PRINT_NS UINT64_C(900000000) /* time limit for printing the table of waits */
#define STATUS_HOST_FAILED 255       /* exit status of hydra, and of oshrun, after a failed host */

static struct {
    sigset_t old_mask; /* signal mask with which the launcher starts */
    struct sigaction old_sigchld;
    int signals; /* descriptor of the signalfd */
    pid_t launcher;
    bool own_group;     /* whether the launcher has a process group of its own */
    bool terminal_lent; /* whether the launcher's group is the foreground group now */
    bool launcher_ended;
    bool signalled; /* whether the job got a signal that is expected to end PEs */
    int status;
    bool interrupted;       /* whether oshrun has received SIGINT, for example by Ctrl-C */
    bool interrupt_pending; /* whether SIGINT must still be sent to the launcher */
    pid_t printer;          /* child process that prints the table now, or 0 */
    uint64_t print_until_ns;
} run = {.signals = -1};

/* ---- signals ------------------------------------------------------------------------ */

/*
 * Blocks all signals except those of faults. This process then reads the blocked signals from a
 * descriptor and passes them on to the launcher.
 */
static void take_signals(void)
{
    static const int fault_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    struct sigaction default_action = {.sa_handler = SIG_DFL};
    sigset_t set;

    /*
     * Set the default action of SIGCHLD. If SIGCHLD were ignored, this process would not learn that
     * the launcher has ended.
     */
    sigaction(SIGCHLD, &default_action, &run.old_sigchld);
    sigfillset(&set);
    for (size_t i = 0; i < STP_COUNT(fault_signals); i++)
        sigdelset(&set, fault_signals[i]);
    sigprocmask(SIG_BLOCK, &set, &run.old_mask);
    run.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (run.signals < 0) launch_fail("cannot receive signals: signalfd: %s", strerror(errno));
}

void launch_restore_signals(void)
{
    sigaction(SIGCHLD, &run.old_sigchld, NULL);
    sigprocmask(SIG_SETMASK, &run.old_mask, NULL);
}

bool launch_got_end_signal(short revents)
{
    struct signalfd_siginfo info;
    bool found = false;

    while ((revents & POLLIN) && read(run.signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        found = found || info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM ||
                info.ssi_signo == SIGHUP || info.ssi_signo == SIGQUIT;
    return found;
}

static void pass_on(int signo, bool to_group)
{
    if (run.launcher_ended) return;
    kill(run.own_group && to_group ? -run.launcher : run.launcher, signo);
}

void launch_end_job(void)
{
    pass_on(SIGTERM, false);
}

/* Stops this process with signo, the signal that stopped the launcher. Returns after SIGCONT. */
static void stop_as(int signo)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, signo);
    raise(signo);
    if (signo != SIGSTOP) {
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        sigprocmask(SIG_BLOCK, &set, NULL);
    }
}

/* ---- Ctrl-C -------------------------------------------------------------------------- */

int launch_ms_until(uint64_t end_ns)
{
    uint64_t now = stp_now_ns();

    return now < end_ns ? (int)((end_ns - now) / 1000000) : 0;
}

/*
 * Starts a child process that prints the table of waits. If the child takes too long, this process
 * kills it.
 */
void launch_start_printer(void)
{
    pid_t self = getpid();

    if (run.printer > 0 || run.launcher_ended) return;
    run.printer = fork();
    run.print_until_ns = stp_now_ns() + PRINT_NS;
    if (run.printer != 0) return;
    setvbuf(stderr, NULL, _IOFBF, 65536);
    launch_print_jobs(self, false, stderr);
    _exit(EXIT_SUCCESS);
}

/* Kills the printer if it still runs. Then sends a pending SIGINT to the launcher's group. */
static void end_printer(void)
{
    if (run.printer > 0) kill(run.printer, SIGKILL);
    run.printer = 0;
    if (run.interrupt_pending && run.own_group) pass_on(SIGINT, true);
    run.interrupt_pending = false;
}

/*
 * Handles Ctrl-C. For the first Ctrl-C, prints the table of waits and passes the signal on to the
 * launcher afterwards. Passes each later Ctrl-C on at once.
 */
static void take_interrupt(void)
{
    bool first = !run.interrupted;

    run.interrupted = run.interrupt_pending = true;
    if (first) launch_start_printer();
    if (!first || run.printer <= 0) end_printer();
}

static int printer_timeout(int timeout)
{
    int remaining_ms = launch_ms_until(run.print_until_ns);

    if (run.printer <= 0) return timeout;
    return timeout >= 0 && timeout < remaining_ms ? timeout : remaining_ms;
}

/* ---- the terminal --------------------------------------------------------------------- */

static void lend_terminal(bool lend)
{
    if (launch_terminal_to(lend ? run.launcher : getpgrp())) run.terminal_lent = lend;
}

/*
 * Handles a stop of the launcher's process group by the signal signo. The group may have been
 * stopped because it used the terminal. In this case, if oshrun is in the foreground, gives the
 * terminal to the group. In all other cases, stops oshrun with the same signal and returns after
 * SIGCONT. At the end, continues the launcher's group.
 */
static void launcher_stopped(int signo)
{
    bool wants_terminal = run.own_group && (signo == SIGTTIN || signo == SIGTTOU);

    if (wants_terminal && !run.terminal_lent && launch_in_front()) {
        lend_terminal(true);
    } else {
        if (run.terminal_lent) lend_terminal(false);
        stop_as(signo);
        if (wants_terminal && launch_in_front()) lend_terminal(true);
    }
    pass_on(SIGCONT, true);
}

/* ---- the launcher ----------------------------------------------------------------------- */

/*
 * Returns true if the launcher must stay in oshrun's process group. This is necessary for srun
 * --pty. It is also necessary if the terminal stops background groups that write to it.
 */
static bool needs_terminal(char *const *argv)
{
    struct termios settings;

    if (tcgetattr(STDIN_FILENO, &settings) != 0) return false;
    if (settings.c_lflag & TOSTOP) return true;
    for (; *argv != NULL; argv++)
        if (strcmp(*argv, "--pty") == 0) return true;
    return false;
}

/*
 * Executes the launcher in the child process. If oshrun is killed, the kernel sends SIGTERM to the
 * launcher, which then ends the job.
 */
_Noreturn static void become_launcher(char **argv, pid_t parent)
{
    if (run.own_group) setpgid(0, 0);
    launch_tty_relay_in_child();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(EXIT_FAILURE);
    launch_restore_signals();
    execvp(argv[0], argv);
    fprintf(stderr, "oshrun: cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

/* Starts the launcher, or Hydra's proxy on another host. `host_name` is the NAME of --host. */
static void start_launcher(char **argv, const char *host_name)
{
    pid_t parent = getpid();
    struct rlimit files;
    char name[64];

    launch_job_name(parent, name, sizeof(name));
    if (host_name == NULL) {
        setenv(LAUNCH_VARIABLE, name, 1);
        launch_crash_frames_open();
    } else {
        launch_ends_open(host_name, true);
    }
    run.own_group = !needs_terminal(argv);
    if (run.own_group) launch_tty_relay_open_pipe();
    run.launcher = fork();
    if (run.launcher < 0) launch_fail("cannot start %s: %s", argv[0], strerror(errno));
    if (run.launcher == 0) become_launcher(argv, parent);
    /* Raise the limit of descriptors, because pe_ends.c needs five for each PE. */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    /* The child calls setpgid() too, because either process may run first. */
    if (run.own_group) setpgid(run.launcher, run.launcher);
    launch_tty_relay_in_parent();
}

static void handle_children(void)
{
    int status;

    while (!run.launcher_ended &&
           waitpid(run.launcher, &status, WNOHANG | WUNTRACED) == run.launcher) {
        if (WIFSTOPPED(status)) {
            launcher_stopped(WSTOPSIG(status));
            continue;
        }
        run.launcher_ended = true;
        run.status = status;
    }
    if (run.printer > 0 && waitpid(run.printer, NULL, WNOHANG) == run.printer) {
        run.printer = 0;
        end_printer();
    }
}

static void take_signal(const struct signalfd_siginfo *info)
{
    int signo = (int)info->ssi_signo;
    /*
     * True if the terminal sent the signal. The terminal sends a signal to all processes of the
     * foreground group. If the launcher is in the same group as oshrun, the launcher has also
     * received the signal, which is then not passed on.
     */
    bool from_terminal = info->ssi_code == SI_KERNEL;
    static const char other[] = {SIGCHLD, SIGTTIN, SIGTTOU, SIGCONT, SIGTSTP, SIGWINCH};

    if (memchr(other, signo, sizeof(other)) == NULL) run.signalled = true;
    switch (signo) {
    case SIGCHLD:
        handle_children();
        return;
    case SIGTTIN:
    case SIGTTOU:
        return; /* not passed on, because they concern only this process */
    case SIGCONT:
        pass_on(signo, true);
        return;
    case SIGINT:
        if (from_terminal || run.own_group) {
            take_interrupt();
            return;
        }
        __attribute__((fallthrough));
    default:
        if (run.own_group || !from_terminal) pass_on(signo, from_terminal);
    }
}

static void supervise_launcher(void)
{
    while (!run.launcher_ended) {
        struct pollfd fds[4] = {{.fd = run.signals, .events = POLLIN},
                                {.fd = launch_ends_take(), .events = POLLIN}};
        struct signalfd_siginfo info;
        int timeout = launch_tty_relay_prepare_poll(&fds[2]);

        if (poll(fds, 4, printer_timeout(timeout)) > 0) launch_tty_relay_move_input(&fds[2]);
        while (!run.launcher_ended &&
               read(run.signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
            take_signal(&info);
        if (run.printer > 0 && stp_now_ns() >= run.print_until_ns) end_printer();
    }
}

/*
 * Ends this process with the launcher's exit status. If a signal has ended the launcher, ends this
 * process by the same signal, but without a core file.
 */
_Noreturn static void end_as_launcher(void)
{
    struct rlimit no_core = {0, 0};
    sigset_t set;
    int signo;

    if (run.terminal_lent) lend_terminal(false);
    if (launch_print_failed_hosts(run.status == W_EXITCODE(STATUS_HOST_FAILED, 0)))
        _exit(STATUS_HOST_FAILED);
    launch_crash_frames_addr2line(run.signals);
    if (!run.signalled) run.status = launch_ends_report(run.status);
    signo = WTERMSIG(run.status);
    if (WIFEXITED(run.status)) _exit(WEXITSTATUS(run.status));
    setrlimit(RLIMIT_CORE, &no_core);
    signal(signo, SIG_DFL);
    raise(signo);
    sigemptyset(&set);
    sigaddset(&set, signo);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    _exit(128 + signo);
}

/* Returns whether this user may read the list of open files of a process. */
static bool may_read_fds(pid_t pid)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    return access(path, R_OK | X_OK) == 0 || errno != EACCES;
}

/*
 * Prints the table of waits for one job or for several jobs. `pid_text` is the ID of a process of
 * the job, NULL for all jobs of this user, or "all" for the jobs of all users. Returns the
 * exit status of this program.
 */
static int print_status(const char *pid_text)
{
    bool all_users = pid_text != NULL && strcmp(pid_text, "all") == 0;
    long pid = pid_text != NULL ? strtol(pid_text, NULL, 10) : 0;

    if (pid_text != NULL && !all_users &&
        (pid <= 0 || pid > INT_MAX || strspn(pid_text, "0123456789") != strlen(pid_text)))
        launch_fail(
            "--status %s: PID must be the number of a process, such as 4711, or the word all",
            pid_text);
    if (pid != 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        launch_fail("--status %s: this process does not exist on this host", pid_text);
    if (launch_print_jobs((pid_t)pid, all_users, stdout) > 0) return EXIT_SUCCESS;
    if (pid != 0 && !may_read_fds((pid_t)pid))
        launch_fail(
            "--status %s: this process belongs to another user; only that user and root can get "
            "its status",
            pid_text);
    fprintf(stderr,
            "oshrun: no PE of %s runs on this host; for another host, run ssh HOST oshrun "
            "--status\n",
            pid != 0    ? "that job"
            : all_users ? "any job"
                        : "a job of yours");
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    if (argc < 2) launch_fail("this program is a part of oshrun: run oshrun instead");
    if (strcmp(argv[1], "--status") == 0) return print_status(argv[2]);
    take_signals();
    if (strcmp(argv[1], "--host") == 0 && argc > 3)
        start_launcher(argv + 3, argv[2]);
    else
        start_launcher(argv + 1, NULL);
    supervise_launcher();
    end_as_launcher();
}
