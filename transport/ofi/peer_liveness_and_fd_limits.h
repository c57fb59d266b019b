/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects PEs that have ended and shortages of descriptors, which providers do not always report.
 * A PE that watches another PE connects to the liveness socket of that PE. Notices of the job's end
 * arrive at a datagram socket with the same address. Design: docs/design/security.md.
 */
#ifndef STP_PEER_LIVENESS_AND_FD_LIMITS_H
#define STP_PEER_LIVENESS_AND_FD_LIMITS_H

#include "ofi_internal.h"

#include <netinet/in.h>

/* A PE's liveness socket and its notices (liveness_socket_and_notices.c). */

enum { STP_OFI_LINE_NONE, STP_OFI_LINE_LOCAL, STP_OFI_LINE_IP4 = 4, STP_OFI_LINE_IP6 = 6 };

/* Address of a PE's liveness socket, which the PE publishes after its provider's address. */
struct stp_ofi_liveness_addr {
    uint8_t family;
    uint8_t unused;
    uint16_t port;  /* TCP and UDP port in network byte order; 0 for LOCAL */
    uint8_t at[16]; /* IPv4 address (4 bytes), IPv6 address, or abstract name for LOCAL */
};

#define STP_OFI_LIVENESS 20 /* size of struct stp_ofi_liveness_addr in bytes */

/* Directory of the shm provider's files. PEs of one host publish and compare its device number. */
#define STP_OFI_SHM_DIRECTORY "/dev/shm"
uint64_t stp_ofi_shm_here(void);
uint64_t stp_ofi_dev_shm_id_of_pe(int pe);

/*
 * Checks that all PEs see the same /dev/shm, after their addresses were exchanged. Returns 0, or
 * -errno after logging. Also warns if /dev/shm has too little free space.
 */
int stp_ofi_shm_check_same_dev_shm(void);

/* Logs a missing or full /dev/shm, a possible reason why no provider could be opened. */
void stp_ofi_shm_explain_failure(const struct stp_core *core);

/*
 * Opens the liveness socket of this PE on the interface of provider_addr and writes the socket's
 * address (STP_OFI_LIVENESS bytes) to mine_out. Later calls use the socket that is already open.
 */
void stp_ofi_liveness_listen(const void *provider_addr, void *mine_out);

/* Declares that the last bytes of each entry of stp_ofi.world are valid liveness addresses. */
void stp_ofi_liveness_set_addrs_known(void);
void stp_ofi_liveness_close_own_sockets(void);

/* Returns the address of PE pe's liveness socket, with family NONE if it is missing or unknown. */
struct stp_ofi_liveness_addr stp_ofi_liveness_addr_of(int pe);
socklen_t stp_ofi_liveness_sockaddr(const struct stp_ofi_liveness_addr *line,
                                    struct sockaddr_storage *out);

/* Writes the host address of PE pe, without the port, to text for messages. Returns text. */
const char *stp_ofi_liveness_where(int pe, char *text, size_t len);

/* Returns whether the provider's addresses are IP addresses. */
bool stp_ofi_speaks_ip(void);

/* Returns the descriptor that becomes readable when a notice arrives, or -1 if there is none. */
int stp_ofi_notice_fd(void);

/* Reads the notices that have arrived and passes them to core->on_notice(). */
void stp_ofi_notice_read_socket(void);

void stp_ofi_notice_send_pow2_peers(const struct stp_notice *notice); /* See tell in transport.h. */

/* Dead peers (peer_failure.c). */

/*
 * Connects to the liveness socket of the next PE, when the addresses of all PEs are known. Waits
 * for the connection for at most one second.
 */
void stp_ofi_failure_connect(void);
void stp_ofi_failure_close(void);

#define STP_OFI_FAILURE_FDS 2
#define STP_OFI_FAILURE_SLEEP_MS 1000

/*
 * Fills fds with the descriptors that a thread polls besides the queue while it sleeps. Unused
 * entries have fd -1. The thread sleeps for at most STP_OFI_FAILURE_SLEEP_MS and then calls
 * stp_ofi_failure_poll().
 */
void stp_ofi_failure_fds(struct pollfd fds[STP_OFI_FAILURE_FDS]);

/*
 * Ends the job if connections to this PE have waited longer than SHMEM_PEER_TIMEOUT because this PE
 * has no free descriptor. Warns before that. The call is cheap and usually does nothing.
 */
void stp_ofi_fd_exhaustion_check(void);

/* Ends the job if an atomic of the endpoint was lost with a connection. Stalled waits call it. */
void stp_ofi_amo_loss_check(struct stp_ofi_endpoint *endpoint);
void stp_ofi_amo_loss_reset(void); /* Called when the endpoint is closed. */

/* Returns whether this process has no free descriptor. */
bool stp_ofi_fds_exhausted(void);

/* Returns the port in network byte order, or 0 if addr is not an IP address. */
in_port_t stp_ofi_port_of(const struct sockaddr *addr);

/* Finds the provider's listening socket by the provider's address and sets it to close on exec. */
void stp_ofi_listener_find(const struct sockaddr *name);

/* Returns the descriptor of that listening socket, or -1. */
int stp_ofi_provider_listener_fd(void);

/* Closes the listening socket in a forked child, once, because the child may reuse the number. */
void stp_ofi_listener_close_in_child(void);

/* Forgets the listening socket when the endpoint is closed. */
void stp_ofi_fd_exhaustion_reset(void);

/* Returns the number of free descriptors, or SIZE_MAX if it is unlimited or unknown. */
size_t stp_ofi_fds_left(void);

/* Returns the number of descriptors that this PE needs if each PE connects one more endpoint. */
size_t stp_ofi_endpoint_connection_fds(void);

#define STP_OFI_ENDPOINT_FDS 8u /* descriptors of an unconnected endpoint (net 7, ofi_rxm 8) */

/* Ends the job if a watched PE has ended. The call is cheap and usually does nothing. */
void stp_ofi_failure_poll(void);

/*
 * Ends the job if a target of this PE's operations has ended. Called after a failure for which the
 * provider does not name the operation. Takes one second if no target has ended.
 */
void stp_ofi_failure_blame(void);

#endif /* STP_PEER_LIVENESS_AND_FD_LIMITS_H */
