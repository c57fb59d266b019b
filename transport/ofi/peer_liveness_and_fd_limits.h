/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects PEs that have ended, and PEs that have no free file descriptor. Providers do not always
 * report these failures. A PE watches another PE through a connection to the liveness socket of
 * that PE. Notices of the end of the job arrive at a datagram socket, which has the same address as
 * the liveness socket. Design: docs/design/security.md.
 */
#ifndef STP_PEER_LIVENESS_AND_FD_LIMITS_H
#define STP_PEER_LIVENESS_AND_FD_LIMITS_H

#include "ofi_internal.h"

#include <netinet/in.h>

/* Liveness socket of this PE, and notices to other PEs (liveness_socket_and_notices.c). */

enum {
    STP_OFI_LIVENESS_NONE,
    STP_OFI_LIVENESS_LOCAL,
    STP_OFI_LIVENESS_IP4 = 4,
    STP_OFI_LIVENESS_IP6 = 6
};

/* Address of a PE's liveness socket. Each PE publishes it together with its provider's address. */
struct stp_ofi_liveness_addr {
    uint8_t family;
    uint8_t unused;
    uint16_t port;       /* TCP and UDP port in network byte order, or 0 for LOCAL */
    uint8_t address[16]; /* IPv4 address (4 bytes), IPv6 address, or abstract socket name (LOCAL) */
};

#define STP_OFI_LIVENESS 20 /* size of struct stp_ofi_liveness_addr in bytes */

/*
 * Directory of the shm provider's files. PEs compare its device number in order to find out whether
 * they share the directory.
 */
#define STP_OFI_SHM_DIRECTORY "/dev/shm"
uint64_t stp_ofi_dev_shm_id(void);
uint64_t stp_ofi_dev_shm_id_of_pe(int pe);

/*
 * Checks that all PEs see the same /dev/shm, and whether this PE has mapped the files of all PEs.
 * Called after all addresses have been inserted. Returns 0, or -errno after logging the error. Also
 * warns if /dev/shm has too little free space.
 */
int stp_ofi_shm_check_files(void);

/*
 * Creates and removes a file like the one that provider shm creates for each endpoint. Returns 0 or
 * -errno. libfabric 2.6 crashes in fi_enable() if it cannot create its file.
 */
int stp_ofi_shm_try_file(void);

/* The function remove_files() of the module for provider shm. */
void stp_ofi_shm_remove_files(bool ending);

/*
 * Called when the shm provider could not be opened. Logs an error if /dev/shm is missing or almost
 * full, because this may be the reason.
 */
void stp_ofi_shm_explain_failure(const struct stp_core *core);

/*
 * Opens the liveness socket of this PE. The socket uses the IP address of the provider if the
 * provider has an IP address. Writes the address of the socket (STP_OFI_LIVENESS bytes) to
 * my_addr_out. If the socket is already open, only writes the address.
 */
void stp_ofi_liveness_listen(const void *provider_addr, void *my_addr_out);

/* Declares that the entries of stp_ofi.world, and the liveness addresses in them, are valid. */
void stp_ofi_liveness_set_addrs_known(void);
void stp_ofi_liveness_close_own_sockets(void);

/*
 * Returns the address of the liveness socket of PE pe. Its family is STP_OFI_LIVENESS_NONE if the
 * socket does not exist or the address is not known yet.
 */
struct stp_ofi_liveness_addr stp_ofi_liveness_addr_of(int pe);
socklen_t stp_ofi_liveness_sockaddr(const struct stp_ofi_liveness_addr *live_addr,
                                    struct sockaddr_storage *out);

/* Writes the name of PE pe's host, usually an IP address, to the buffer text. Returns text. */
const char *stp_ofi_liveness_host(int pe, char *text, size_t len);

/* Returns whether the provider's addresses are IP addresses. */
bool stp_ofi_speaks_ip(void);

/* Returns the descriptor of the datagram socket for notices, or -1 if this socket is not open. */
int stp_ofi_notice_fd(void);

/* Reads the notices that have arrived and passes them to core->on_notice(). */
void stp_ofi_notice_read_socket(void);

/*
 * Sends a notice to other PEs, as described for send_notice() in struct stp_fabric (transport.h).
 */
void stp_ofi_notice_send_pow2_peers(const struct stp_notice *notice);

/* Detection of dead PEs (peer_failure.c). */

/*
 * Connects to the liveness socket of the PE with the next number. Called when the addresses of all
 * PEs are known. Waits at most one second for the connection.
 */
void stp_ofi_failure_connect(void);
void stp_ofi_failure_close(void);

#define STP_OFI_FAILURE_FDS 2
#define STP_OFI_FAILURE_SLEEP_MS 1000

/*
 * Fills the array fds with the descriptors that a thread must poll, in addition to the completion
 * queue, while it sleeps. Unused entries get the descriptor -1. The thread may sleep for at most
 * STP_OFI_FAILURE_SLEEP_MS milliseconds and must then call stp_ofi_failure_poll().
 */
void stp_ofi_failure_fds(struct pollfd fds[STP_OFI_FAILURE_FDS]);

/*
 * Checks whether other PEs wait for a connection because this PE has no free file descriptor. Logs
 * a warning when they have waited for two seconds. Ends the job when they have waited for
 * SHMEM_PEER_TIMEOUT seconds. The call is cheap and usually does nothing.
 */
void stp_ofi_fd_exhaustion_check(void);

/*
 * Ends the job if a broken connection has lost an atomic of this endpoint. Called while a wait
 * makes no progress.
 */
void stp_ofi_amo_loss_check(struct stp_ofi_endpoint *endpoint);
/* Resets the search for lost atomics. Called when the endpoint is closed. */
void stp_ofi_amo_loss_reset(void);

/* Returns whether this process has no free file descriptor. */
bool stp_ofi_fds_exhausted(void);

/* Returns the port of addr in network byte order, or 0 if addr is no IP address. */
in_port_t stp_ofi_port_of(const struct sockaddr *addr);

/*
 * Finds the provider's listening socket by the port in the address *name, and sets the
 * close-on-exec flag of this socket.
 */
void stp_ofi_listener_find(const struct sockaddr *name);

/* Returns the descriptor of the provider's listening socket, or -1 if it was not found. */
int stp_ofi_provider_listener_fd(void);

/*
 * Closes the provider's listening socket in a forked child. A second call does nothing, because the
 * child may have reused the descriptor's number.
 */
void stp_ofi_listener_close_in_child(void);

/* Forgets the descriptor of the listening socket. Called when the endpoint is closed. */
void stp_ofi_fd_exhaustion_reset(void);

/* Returns the number of free descriptors, or SIZE_MAX if the number is unlimited or unknown. */
size_t stp_ofi_fds_free(void);

/*
 * Returns the number of descriptors that this PE needs for additional connections if each PE opens
 * one more endpoint.
 */
size_t stp_ofi_endpoint_connection_fds(void);

/*
 * Number of descriptors that an endpoint uses before its first connection (7 with net, 8 with
 * ofi_rxm).
 */
#define STP_OFI_ENDPOINT_FDS 8u

/* Ends the job if a watched PE has ended. The call is cheap and usually does nothing. */
void stp_ofi_failure_poll(void);

/*
 * Ends the job if the target PE of an outstanding operation has ended. Called after the provider
 * has reported an error without naming the failed operation. If no target PE has ended, the
 * function returns after one second.
 */
void stp_ofi_failure_blame(void);

#endif /* STP_PEER_LIVENESS_AND_FD_LIMITS_H */
