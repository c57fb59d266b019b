/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares functions that check whether PEs have ended or have reached the end of the job. Also
 * declares functions that send and handle notices about the end of the job. Design:
 * docs/design/security.md.
 */
#ifndef STP_PEER_LIVENESS_AND_JOB_END_H
#define STP_PEER_LIVENESS_AND_JOB_END_H

#include "boot/boot.h"

struct stp_team;

/*
 * Opens the witness file of this PE, if it is not open. The file stays open as long as this PE runs
 * its program. Other PEs of the node check the file to find out whether this PE still runs. If this
 * PE has no witness file, they check only whether its process exists. Returns 0, or -errno without
 * logging.
 */
int stp_alive_memfd_create(struct stp_alive_fd *witness);

/* Enables the checks. Waits now end the job if the launcher or a PE of this node has ended. */
void stp_peer_checks_enable(void);

/*
 * Checks the launcher and some PEs of the node, unless the last check was made a moment ago. Waits
 * call this function as the check_peers() hook of struct stp_wait_hooks.
 */
void stp_peer_check(void);
/*
 * Ends the job if PE pe is on this node and has ended. Called if the memory of PE pe is
 * unreachable.
 */
void stp_peer_require_local_alive(int pe);
/* Disables the checks. Called when all PEs have reached the end of the job and may leave. */
void stp_peer_checks_disable(void);

/*
 * Type of stp_coll_job_end_find_least(), which lets all PEs of a team meet at the end of the job.
 */
typedef int stp_watch_meet_fn(struct stp_team *team, uint64_t word, uint64_t *least);

/*
 * Calls meet() to wait for the other PEs at the end of the job. At least one PE ends the job with a
 * message if the PEs have not started the same number of world collectives. Without this check, a
 * PE inside the additional collective would wait forever.
 */
void stp_peer_meet_at_job_end(enum stp_pe_exit exit_kind, stp_watch_meet_fn *meet);

/*
 * Notifies all PEs that the job ends with this exit status. Signal handlers may call this function.
 */
void stp_peer_tell_job_end(int status);
/*
 * Handles a notice from another PE, and passes the notice on to other PEs. The fabric module calls
 * this function as on_notice() of struct stp_core.
 */
void stp_peer_relay_closing_or_job_end(const struct stp_notice *notice);

#endif /* STP_PEER_LIVENESS_AND_JOB_END_H */
