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

/* Variable that names the oshrun of a job. The launcher passes it to the PEs. */
#define LAUNCH_VARIABLE "OSHRUN_JOB"
void launch_job_name(pid_t oshrun, char *text, size_t len);

/* ---- who does what (status.c) ---------------------------------------------------------------- */

/*
 * Prints the table of the jobs on this host that the process with number `of` has started or
 * belongs to, or of all jobs if `of` is 0. Returns the number of these jobs. Called once per
 * process.
 */
int launch_print_jobs(pid_t of, FILE *out);

/* ---- frames of PEs that have died (addr2line.c) ---------------------------------------------- */

/* Creates the file for the frames. Called before the launcher is started. */
void launch_crash_frames_open(void);

/* Prints source lines for the frames after the launcher's end. Stops at a signal on signals. */
void launch_crash_frames_addr2line(int signals);

/* ---- signals (oshrun_launcher_parent.c) -------------------------------------------------- */

/* Returns the milliseconds until stp_now_ns() reaches end_ns, for poll(), or 0 afterwards. */
int launch_ms_until(uint64_t end_ns);

/* Restores the signal settings in a child that will execute another program. */
void launch_restore_signals(void);

/* Reads pending signals. Returns true if one asks oshrun to end. revents: result of poll(). */
bool launch_got_end_signal(short revents);

/* ---- the terminal (tty_stdin_relay.c) -------------------------------------------------------- */

/* Returns whether this process has the terminal, so that it may read and gets Ctrl-C. */
bool launch_in_front(void);

/* Gives the terminal to a process group of the session. Returns false on failure. */
bool launch_terminal_to(pid_t group);

/*
 * A launcher in a background process group may not read the terminal, so oshrun reads it and writes
 * to a pipe. If standard input is not the terminal, the launcher uses it directly, and these
 * functions do nothing. Call order: open_pipe, in_child or in_parent, prepare_poll, move_input.
 */
void launch_tty_relay_open_pipe(void);
void launch_tty_relay_in_child(void);
void launch_tty_relay_in_parent(void);

/* Fills in two entries for poll(). Returns the timeout for poll(). */
int launch_tty_relay_prepare_poll(struct pollfd fds[2]);
void launch_tty_relay_move_input(const struct pollfd fds[2]);

#endif /* STP_OSHRUN_INTERNAL_H */
