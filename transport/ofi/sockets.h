/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping on the sockets of a TCP provider.
 * Design: docs/design/fabric.md.
 */
#ifndef STP_OFI_SOCKETS_H
#define STP_OFI_SOCKETS_H

#include "health.h"

/* Where it sleeps on TCP (sockets.c). */

/* Can the sockets of such a provider be slept on, in a job of n_pes? */
bool stp_ofi_sockets_usable(const struct fi_info *info, int n_pes);

/* Before the thread starts. wake_fd ends sleeps when readable. */
void stp_ofi_sockets_start(int wake_fd);

void stp_ofi_sockets_stop(void); /* after it ended */

/* The addresses of all PEs, once they are known; from another thread. */
void stp_ofi_sockets_learn(const unsigned char *addrs, size_t addr_len, int n_pes);

/*
 * Sleep until something comes for the provider or to the descriptors of also; bounded. limit_ms:
 * -1, or at most so long.
 */
void stp_ofi_sockets_sleep(int limit_ms, const struct pollfd also[STP_OFI_HEALTH_FDS]);

/* Others have made progress since: there may be new connections. */
void stp_ofi_sockets_disturb(void);

#endif /* STP_OFI_SOCKETS_H */
