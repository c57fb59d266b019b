/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looking after the other PEs: who has gone, who has come to the end, and telling them.
 * Design: docs/design/security.md.
 */
#ifndef STP_PEER_LIVENESS_AND_JOB_END_H
#define STP_PEER_LIVENESS_AND_JOB_END_H

#include "boot/boot.h"

struct stp_team;

/*
 * Open what other PEs of the node know a PE by, unless its descriptor is open. 0 or -errno; without
 * it they know the process alone.
 */
int stp_alive_memfd_create(struct stp_alive_fd *witness);

/* From now on waits notice the end of the launcher, and of PEs of this node. */
void stp_peer_checks_enable(void);

/* Of struct stp_wait_hooks: looks after launcher and peers, unless it did so a moment ago. */
void stp_peer_check(void);
/* Fatal if the PE is one of this node and has ended. For callers that cannot reach its memory. */
void stp_peer_require_local_alive(int pe);
/* PEs may leave now. Every PE has to be here before one goes. */
void stp_peer_checks_disable(void);

/* How all members of a team meet at the end: as stp_coll_job_end_find_least(). */
typedef int stp_watch_meet_fn(struct stp_team *team, uint64_t word, uint64_t *least);

/*
 * This PE comes to the end, and meets the others there. Fatal, at some PE, when they have not all
 * made the same collectives over the world: those that wait for one more would wait for ever.
 */
void stp_peer_meet_at_job_end(enum stp_pe_exit how, stp_watch_meet_fn *meet);

/* Tell all PEs that the job ends with status. From anywhere, signal handlers too. */
void stp_peer_tell_job_end(int status);
void stp_peer_relay_closing_or_job_end(
    const struct stp_notice *notice); /* as struct stp_core has it */

#endif /* STP_PEER_LIVENESS_AND_JOB_END_H */
