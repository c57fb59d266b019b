/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets the progress thread sleep until a socket of a TCP provider has an event.
 * Design: docs/design/fabric.md.
 */
#ifndef STP_TCP_SOCKET_SLEEP_H
#define STP_TCP_SOCKET_SLEEP_H

#include "peer_liveness_and_fd_limits.h"

/* Functions by which the progress thread sleeps (tcp_socket_sleep.c). */

/* Returns whether the progress thread can sleep on the provider's sockets in a job of n_pes PEs. */
bool stp_ofi_socket_sleep_usable(const struct fi_info *info, int n_pes);

/*
 * Initializes the data of tcp_socket_sleep.c. Called before the progress thread starts. Every sleep
 * also ends when the descriptor wake_fd becomes readable.
 */
void stp_ofi_socket_sleep_init(int wake_fd);

/*
 * Closes the directory /proc/self/fd, which stp_ofi_socket_sleep_init() has opened. Called after
 * the progress thread has ended.
 */
void stp_ofi_socket_sleep_fini(void);

/* Stores the addresses of all PEs. May be called while the progress thread runs. */
void stp_ofi_socket_sleep_set_peers(const unsigned char *addrs, size_t addr_len, int n_pes);

/*
 * Sleeps until a socket of the provider, or a descriptor in extra_fds, is ready. A sleep lasts at
 * most 128 ms, and at most limit_ms milliseconds if limit_ms is not -1.
 */
void stp_ofi_socket_sleep(int limit_ms, const struct pollfd extra_fds[STP_OFI_FAILURE_FDS]);

/*
 * Records that the provider may have opened new sockets. Called after other threads have made
 * progress.
 */
void stp_ofi_socket_sleep_mark_stale(void);

#endif /* STP_TCP_SOCKET_SLEEP_H */
