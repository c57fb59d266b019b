/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets the progress thread sleep on the sockets of a TCP provider.
 * Design: docs/design/fabric.md.
 */
#ifndef STP_TCP_SOCKET_SLEEP_H
#define STP_TCP_SOCKET_SLEEP_H

#include "peer_liveness_and_fd_limits.h"

/* Sleep of the progress thread (tcp_socket_sleep.c). */

/* Returns whether the progress thread can sleep on the provider's sockets in a job of n_pes PEs. */
bool stp_ofi_socket_sleep_usable(const struct fi_info *info, int n_pes);

/* Prepares sleeps before the progress thread starts. A sleep ends when wake_fd is readable. */
void stp_ofi_socket_sleep_init(int wake_fd);

void stp_ofi_socket_sleep_fini(void); /* Called after the progress thread has ended. */

/* Stores the addresses of all PEs. The progress thread may already run. */
void stp_ofi_socket_sleep_set_peers(const unsigned char *addrs, size_t addr_len, int n_pes);

/*
 * Sleeps until a socket of the provider or a descriptor in also is ready, but for at most 128 ms.
 * A limit_ms other than -1 is a further upper bound.
 */
void stp_ofi_socket_sleep(int limit_ms, const struct pollfd also[STP_OFI_FAILURE_FDS]);

/* Records that new connections may exist because other threads have made progress. */
void stp_ofi_socket_sleep_mark_stale(void);

#endif /* STP_TCP_SOCKET_SLEEP_H */
