/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Describes waits that last. Each thread shows its wait to the node, and one PE prints the waits of
 * all PEs when a wait has lasted for SHMEM_HANG_REPORT seconds. Waiting code calls these functions
 * through stp_wait_hook. Design: docs/design/hang.md.
 */
#ifndef STP_HANG_H
#define STP_HANG_H

#include "base/wait_state_page.h"

/* Shows the wait of this thread. This function is the show() hook of struct stp_wait_hooks. */
void stp_hang_publish_wait(const struct stp_wait_subject *subject);

/* Shows a fabric wait in which nothing completes. See on_stall() in struct stp_core. */
void stp_hang_publish_fabric_wait_if_due(unsigned looks, int pe);

/*
 * Sets the collective, the team and the awaited PE in note, from the word for which the thread
 * waits (hang_collective_of_address.c).
 */
void stp_hang_note_coll(const uint64_t *word, struct stp_wait_state *note);

/* Prints the waits of this node's PEs, unless another node reports these (hang_report.c). */
void stp_hang_report(uint64_t waited_ns);

#endif /* STP_HANG_H */
