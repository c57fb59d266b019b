/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares checks for PEs that have ended or have reached the end of the job, and notices to PEs.
 * Design: docs/design/security.md.
 */
#ifndef STP_PEER_LIVENESS_AND_JOB_END_H
#define STP_PEER_LIVENESS_AND_JOB_END_H

#include "boot/boot.h"

struct stp_team;

/*
 * Opens the witness file of this PE if it is not open. The file stays open as long as the program
 * runs, so that other PEs of the node can check whether this PE still runs it. Returns 0 or -errno.
 * Without a witness file the other PEs check only whether the process exists.
 */
int stp_alive_memfd_create(struct stp_alive_fd *witness);

/* Enables the checks, by which waits notice that the launcher or a PE of this node has ended. */
void stp_peer_checks_enable(void);

/*
 * Checks the launcher and PEs of the node unless a check was made a moment ago. Waits call this
 * function as the look() hook of struct stp_wait_hooks.
 */
void stp_peer_check(void);
/* Fatal if PE pe is on this node and has ended. Called when the memory of pe cannot be reached. */
void stp_peer_require_local_alive(int pe);
/* Disables the checks. Called when all PEs have reached the end of the job and may leave. */
void stp_peer_checks_disable(void);

/* Type of stp_coll_job_end_find_least(), in which the members of a team meet at job end. */
typedef int stp_watch_meet_fn(struct stp_team *team, uint64_t word, uint64_t *least);

/*
 * Waits in meet() for the other PEs at the end of the job. Fatal on at least one PE if the PEs have
 * not started the same number of world collectives, because a PE that is inside one more collective
 * would wait forever.
 */
void stp_peer_meet_at_job_end(enum stp_pe_exit how, stp_watch_meet_fn *meet);

/* Notifies all PEs that the job ends with status. Signal handlers may call this function, too. */
void stp_peer_tell_job_end(int status);
/* Handles a notice from another PE and passes it on. Serves as on_notice() of struct stp_core. */
void stp_peer_relay_closing_or_job_end(const struct stp_notice *notice);

#endif /* STP_PEER_LIVENESS_AND_JOB_END_H */
