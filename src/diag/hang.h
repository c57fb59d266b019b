/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Describes and reports long waits. A thread that waits long writes a description of its wait to a
 * page that all PEs of the node can read. When a wait has lasted for SHMEM_HANG_REPORT seconds, one
 * PE prints the waits of all PEs of the node. Waiting code calls these functions through
 * stp_wait_hook. Design: docs/design/hang.md.
 */
#ifndef STP_HANG_H
#define STP_HANG_H

#include "base/wait_state_page.h"

/* Writes the wait of this thread to the page of its PE. Used as show() of struct stp_wait_hooks. */
void stp_hang_publish_wait(const struct stp_wait_subject *subject);

/* Shows a wait for the fabric in which nothing completes. Used as on_stall() of struct stp_core. */
void stp_hang_publish_fabric_wait_if_due(unsigned looks, int pe);

/*
 * Fills in *note for a wait in a collective: the collective, the team and the awaited PE. Finds
 * them by the address of the word for which the thread waits (hang_collective_of_address.c).
 */
void stp_hang_note_coll(const uint64_t *word, struct stp_wait_state *note);

/*
 * Prints the waits of this node's PEs, unless another node prints the same waits (hang_report.c).
 * waited_ns is the duration of the wait that causes the report.
 */
void stp_hang_report(uint64_t waited_ns);

#endif /* STP_HANG_H */
