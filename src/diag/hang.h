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

/*
 * Writes a description of this thread's wait to the wait state page of its PE. Also prints a hang
 * report if one is due. This function is the hook show() of struct stp_wait_hooks.
 */
void stp_hang_publish_wait(const struct stp_wait_subject *subject);

/*
 * Shows a wait for the fabric that makes no progress. pe is a PE that has not replied, or -1.
 * n_calls is the number of calls in this wait so far. The last call passes 0, and the wait is then
 * no longer shown. This function is the callback on_stall() of struct stp_core.
 */
void stp_hang_publish_fabric_wait_if_due(unsigned n_calls, int pe);

/*
 * Describes a wait in a collective: stores in *note the name of the collective, the team, and the
 * PE that must act. Finds them by the address of the word for which the thread waits
 * (hang_collective_of_address.c).
 */
void stp_hang_note_coll(const uint64_t *word, struct stp_wait_state *note);

/*
 * Prints the waits of this node's PEs. Prints nothing if another node prints the same waits
 * (hang_report.c). waited_ns is the duration of the wait that causes the report.
 */
void stp_hang_report(uint64_t waited_ns);

#endif /* STP_HANG_H */
