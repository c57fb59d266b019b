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
 * Opens the witness file by which other PEs of the node recognize this PE, unless it is open.
 * Returns 0 or -errno. Without a witness, the other PEs check only the process.
 */
int stp_alive_memfd_create(struct stp_alive_fd *witness);

/* Makes waits notice from now on if the launcher or a PE of this node ends. */
void stp_peer_checks_enable(void);

/* Checks launcher and peers unless a check was made recently. A hook in struct stp_wait_hooks. */
void stp_peer_check(void);
/* Fatal if the PE is on this node and has ended. For callers that cannot reach its memory. */
void stp_peer_require_local_alive(int pe);
/* Ends the checks, because PEs may leave now. Called when every PE has reached this point. */
void stp_peer_checks_disable(void);

/* Function by which all members of a team meet at the end: stp_coll_job_end_find_least(). */
typedef int stp_watch_meet_fn(struct stp_team *team, uint64_t word, uint64_t *least);

/*
 * Meets the other PEs at the end of the job. Fatal, at some PE, if not all PEs have made the same
 * world collectives, because a PE that is inside one more collective would wait forever.
 */
void stp_peer_meet_at_job_end(enum stp_pe_exit how, stp_watch_meet_fn *meet);

/* Notifies all PEs that the job ends with status. Signal handlers may call this function, too. */
void stp_peer_tell_job_end(int status);
void stp_peer_relay_closing_or_job_end(
    const struct stp_notice *notice); /* on_notice() of struct stp_core */

#endif /* STP_PEER_LIVENESS_AND_JOB_END_H */
