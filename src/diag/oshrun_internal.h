/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of oshrun's second half share. Design: docs/design/launch.md.
 */
#ifndef STP_OSHRUN_INTERNAL_H
#define STP_OSHRUN_INTERNAL_H

#include "base/base.h"

#include <poll.h>
#include <stdio.h>
#include <sys/types.h>

/* One line of oshrun's, and its end with status 2. */
_Noreturn void launch_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Set for the launcher, which passes it on: which oshrun has started it. */
#define LAUNCH_VARIABLE "OSHRUN_JOB"
void launch_job_name(pid_t oshrun, char *text, size_t len);

/* ---- who does what (status.c) ---------------------------------------------------------------- */

/*
 * The table of the jobs on this host that process of has started, or is a PE of; 0: of all. Once in
 * a process. Returns how many jobs that were.
 */
int launch_print_jobs(pid_t of, FILE *out);

/* ---- frames of PEs that have died (addr2line.c) ---------------------------------------------- */

/* Before the launcher is started: have a file for them. */
void launch_crash_frames_open(void);

/* After its end: print lines of the source for what is there. A signal there ends that. */
void launch_crash_frames_addr2line(int signals);

/* ---- signals (oshrun_launcher_parent.c) -------------------------------------------------- */

/* Milliseconds until stp_now_ns() has come to that time, for poll(); 0 when it has. */
int launch_ms_until(uint64_t end_ns);

/* In a child, before it becomes another program. */
void launch_restore_signals(void);

/* Has a signal come to that descriptor that means the end? revents: of poll(). */
bool launch_got_end_signal(short revents);

/* ---- the terminal (tty_stdin_relay.c) -------------------------------------------------------- */

/* Does this process have the terminal: may it read, and does Ctrl-C come here? */
bool launch_in_front(void);

/* Give the terminal to a process group of the session. */
bool launch_terminal_to(pid_t group);

/*
 * A launcher behind, in a process group of its own, may not read from the terminal; oshrun reads
 * for it and writes to a pipe. Any other standard input is the launcher's as it is, and nothing of
 * this does anything. In this order: start, in the child or in the parent, then poll and move.
 */
void launch_tty_relay_open_pipe(void);
void launch_tty_relay_in_child(void);
void launch_tty_relay_in_parent(void);

/* Fill two entries. Returns the timeout for poll(). */
int launch_tty_relay_prepare_poll(struct pollfd fds[2]);
void launch_tty_relay_move_input(const struct pollfd fds[2]);

#endif /* STP_OSHRUN_INTERNAL_H */
