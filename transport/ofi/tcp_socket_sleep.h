/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping on the sockets of a TCP provider.
 * Design: docs/design/fabric.md.
 */
#ifndef STP_TCP_SOCKET_SLEEP_H
#define STP_TCP_SOCKET_SLEEP_H

#include "peer_liveness_and_fd_limits.h"

/* Where it sleeps on TCP (tcp_socket_sleep.c). */

/* Can the sockets of such a provider be slept on, in a job of n_pes? */
bool stp_ofi_socket_sleep_usable(const struct fi_info *info, int n_pes);

/* Before the thread starts. wake_fd ends sleeps when readable. */
void stp_ofi_socket_sleep_init(int wake_fd);

void stp_ofi_socket_sleep_fini(void); /* after it ended */

/* The addresses of all PEs, once they are known; from another thread. */
void stp_ofi_socket_sleep_set_peers(const unsigned char *addrs, size_t addr_len, int n_pes);

/*
 * Sleep until something comes for the provider or to the descriptors of also; bounded. limit_ms:
 * -1, or at most so long.
 */
void stp_ofi_socket_sleep(int limit_ms, const struct pollfd also[STP_OFI_FAILURE_FDS]);

/* Others have made progress since: there may be new connections. */
void stp_ofi_socket_sleep_mark_stale(void);

#endif /* STP_TCP_SOCKET_SLEEP_H */
