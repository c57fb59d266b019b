/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who of the other PEs is alive: each has a liveness socket, where one that watches it is connected
 * and notices of the job's end arrive; what the provider does not report is looked for. Design:
 * docs/design/security.md.
 */
#ifndef STP_PEER_LIVENESS_AND_FD_LIMITS_H
#define STP_PEER_LIVENESS_AND_FD_LIMITS_H

#include "ofi_internal.h"

#include <netinet/in.h>

/* A PE's liveness socket and its notices (liveness_socket_and_notices.c). */

enum { STP_OFI_LINE_NONE, STP_OFI_LINE_LOCAL, STP_OFI_LINE_IP4 = 4, STP_OFI_LINE_IP6 = 6 };

/* What a PE publishes behind its provider's address. */
struct stp_ofi_liveness_addr {
    uint8_t family;
    uint8_t unused;
    uint16_t port;  /* of a stream and of datagrams, as the network has it; LOCAL: 0 */
    uint8_t at[16]; /* IP4: the first four; LOCAL: a name */
};

#define STP_OFI_LIVENESS 20 /* its bytes */

/* PEs of one host publish there which directory of shm they see. */
#define STP_OFI_SHM_DIRECTORY "/dev/shm"
uint64_t stp_ofi_shm_here(void);
uint64_t stp_ofi_dev_shm_id_of_pe(int pe);

/* All addresses are known: can this PE reach the others by shm? 0, or logged; so is little room. */
int stp_ofi_shm_check_same_dev_shm(void);

/* Nothing could be opened: log why shm may be missing, if that is so. */
void stp_ofi_shm_explain_failure(const struct stp_core *core);

/*
 * Open the liveness socket of this PE, on the interface of the provider's address name, and fill
 * the STP_OFI_LIVENESS bytes at mine with how it is reached. Later calls repeat the first's answer.
 */
void stp_ofi_liveness_listen(const void *provider_addr, void *mine_out);

/* All liveness sockets are known: the last bytes of each PE's entry in stp_ofi.world. */
void stp_ofi_liveness_set_addrs_known(void);
void stp_ofi_liveness_close_own_sockets(void);

/* How PE pe's liveness socket is reached; family NONE: it has none, or is not known yet. */
struct stp_ofi_liveness_addr stp_ofi_liveness_addr_of(int pe);
socklen_t stp_ofi_liveness_sockaddr(const struct stp_ofi_liveness_addr *line,
                                    struct sockaddr_storage *out);

/* Where PE pe is, without port, for messages. Returns text. */
const char *stp_ofi_liveness_where(int pe, char *text, size_t len);

/* Are the provider's addresses those of the internet protocol? */
bool stp_ofi_speaks_ip(void);

/* Readable when a notice has come, -1: none can come. Take what has come. */
int stp_ofi_notice_fd(void);
void stp_ofi_notice_read_socket(void);

void stp_ofi_notice_send_pow2_peers(const struct stp_notice *notice); /* as in transport.h */

/* Dead peers (peer_failure.c). */

/*
 * All liveness sockets are known. Returns when the successor's has answered, or does not at once.
 */
void stp_ofi_failure_connect(void);
void stp_ofi_failure_close(void);

#define STP_OFI_FAILURE_FDS 2
#define STP_OFI_FAILURE_SLEEP_MS 1000

/*
 * For a thread that goes to sleep, for at most STP_OFI_FAILURE_SLEEP_MS: what to look at besides
 * the queue, fd -1 where nothing. Then call stp_ofi_failure_poll().
 */
void stp_ofi_failure_fds(struct pollfd fds[STP_OFI_FAILURE_FDS]);

/*
 * End the job when connections to this PE wait longer than SHMEM_PEER_TIMEOUT because it has no
 * descriptor left for them; a warning before. Cheap; does nothing most times.
 */
void stp_ofi_fd_exhaustion_check(void);

/*
 * For waits that stand still: end the job when an atomic of the endpoint was lost with a
 * connection.
 */
void stp_ofi_amo_loss_check(struct stp_ofi_endpoint *endpoint);
void stp_ofi_amo_loss_reset(void); /* the endpoint is closed */

/* Is there no descriptor left? */
bool stp_ofi_fds_exhausted(void);

/* The port as the network has it; 0: no internet address. */
in_port_t stp_ofi_port_of(const struct sockaddr *addr);

/*
 * Finds the provider's listening socket by the provider's address, and has it closed on exec. Its
 * descriptor, or -1.
 */
void stp_ofi_listener_find(const struct sockaddr *name);
int stp_ofi_provider_listener_fd(void);

/* In a forked child, once: later the number may be that of a descriptor of the child's own. */
void stp_ofi_listener_close_in_child(void);

/* The endpoint is closed: what is known of its socket is void. */
void stp_ofi_fd_exhaustion_reset(void);

/* Descriptors not in use; SIZE_MAX: there is no limit. */
size_t stp_ofi_fds_left(void);

/* Those that the connections of one more endpoint in each PE take here. */
size_t stp_ofi_endpoint_connection_fds(void);

#define STP_OFI_ENDPOINT_FDS 8u /* that an endpoint takes unconnected: net 7, ofi_rxm 8 */

/* End the job when a PE that this one looks after has gone. Cheap; does nothing most times. */
void stp_ofi_failure_poll(void);

/*
 * An operation failed, and the provider does not say which: end the job if a target of this PE's
 * operations turns out to have gone. Takes a second if none has.
 */
void stp_ofi_failure_blame(void);

#endif /* STP_PEER_LIVENESS_AND_FD_LIMITS_H */
