/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits that last, in words: each thread shows to its node what it waits for, and one PE says who
 * waits for what once a wait has lasted for SHMEM_HANG_REPORT seconds. Waiting code reaches this
 * through stp_wait_hook. Design: docs/design/hang.md.
 */
#ifndef STP_HANG_H
#define STP_HANG_H

#include "base/wait_state_page.h"

/* Of struct stp_wait_hooks. */
void stp_hang_publish_wait(const struct stp_wait_subject *subject);

/* A wait of the fabric in which nothing completes: as struct stp_core has it. */
void stp_hang_publish_fabric_wait_if_due(unsigned looks, int pe);

/*
 * The collective, the team and the PE ahead, from the word that is waited for
 * (hang_collective_of_address.c).
 */
void stp_hang_note_coll(const uint64_t *word, struct stp_wait_state *note);

/* Prints the waits of this node's PEs, unless another node reports for it (hang_report.c). */
void stp_hang_report(uint64_t waited_ns);

#endif /* STP_HANG_H */
