/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the functions that the files of oshrun's supervisor share.
 * Design: docs/design/launch.md.
 */
#ifndef STP_OSHRUN_INTERNAL_H
#define STP_OSHRUN_INTERNAL_H

#include "base/base.h"

#include <poll.h>
#include <stdio.h>
#include <sys/types.h>

/* Prints one line with the prefix "oshrun: " and exits with status 2. */
_Noreturn void launch_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Environment variable that contains the name of a job. oshrun sets it, and the launcher passes it
 * on to the PEs.
 */
#define LAUNCH_VARIABLE "OSHRUN_JOB"
/*
 * Writes the name of the job that the process with the ID `oshrun` runs. The name is the value of
 * LAUNCH_VARIABLE.
 */
void launch_job_name(pid_t oshrun, char *text, size_t len);

/* ---- the table of jobs (status.c) ------------------------------------------------------------ */

/*
 * Prints a table of jobs on this host to the stream out. If `pid` is the ID of a process, prints
 * the jobs that this process has started or belongs to. If `pid` is 0, prints all jobs of this user
 * or, if all_users is true, of all users. Otherwise processes of other users are not examined,
 * because such a process can pretend to be a PE. Returns the number of printed jobs. A process may
 * call this function only once.
 */
int launch_print_jobs(pid_t pid, bool all_users, FILE *out);

/* ---- frames of PEs that have died (addr2line.c) ---------------------------------------------- */

/*
 * Creates the memory file to which dying PEs write their frames. Called before the launcher starts.
 */
void launch_crash_frames_open(void);

/*
 * Prints source lines for the frames that PEs have written. Called after the launcher has ended.
 * `signals` is the descriptor from which oshrun reads signals. Stops early if a signal asks oshrun
 * to end.
 */
void launch_crash_frames_addr2line(int signals);

/*
 * Prints the lines about hosts on which the launcher could not start PEs. Returns false if there is
 * no such line. If `wait` is true, waits up to a second for remote shells that have not ended yet.
 */
bool launch_print_failed_hosts(bool wait);

/* ---- ends of PEs without exit handlers (pe_ends.c) ------------------------------------------- */

/*
 * Opens the socket with this abstract name, to which the PEs of this host connect. If at_once is
 * true, reports a PE at its end, and not by launch_ends_report().
 */
void launch_ends_open(const char *name, bool at_once);
/* Handles events of PEs. Returns a descriptor that is readable when there are further events. */
int launch_ends_take(void);
/* Reports the PE that ended first. Returns the wait status of the job, for that of the launcher. */
int launch_ends_report(int status);

/* ---- the launcher (oshrun_launcher_parent.c) --------------------------------------------- */

/* Starts a child process that prints the table of waits, unless such a child already runs. */
void launch_start_printer(void);

/* Makes the launcher end the job. */
void launch_end_job(void);

/*
 * Returns the number of milliseconds until the time end_ns, as a timeout for poll(). Returns 0
 * after this time.
 */
int launch_ms_until(uint64_t end_ns);

/*
 * Restores the signal settings with which oshrun was started. A child process calls this function
 * before execvp().
 */
void launch_restore_signals(void);

/*
 * Reads the pending signals of oshrun if revents contains POLLIN. revents is the result of poll()
 * for the signal descriptor. Returns true if one of the signals asks oshrun to end.
 */
bool launch_got_end_signal(short revents);

/* ---- the terminal (tty_stdin_relay.c) -------------------------------------------------------- */

/*
 * Returns whether this process is in the foreground process group of the terminal. Such a process
 * may read the terminal and receives Ctrl-C.
 */
bool launch_in_front(void);

/* Makes a process group the foreground group of the terminal. Returns false on failure. */
bool launch_terminal_to(pid_t group);

/*
 * The following functions pass terminal input to a launcher in a background process group, which
 * may not read the terminal. oshrun reads the terminal and writes the input to a pipe, from which
 * the launcher reads. If standard input is not the terminal, the launcher reads it directly, and
 * these functions do nothing. Call order: open_pipe, in_child or in_parent, prepare_poll,
 * move_input.
 */
void launch_tty_relay_open_pipe(void);
void launch_tty_relay_in_child(void);
void launch_tty_relay_in_parent(void);

/* Fills in two entries for poll(): standard input and the pipe. Returns the timeout for poll(). */
int launch_tty_relay_prepare_poll(struct pollfd fds[2]);
void launch_tty_relay_move_input(const struct pollfd fds[2]);

#endif /* STP_OSHRUN_INTERNAL_H */
