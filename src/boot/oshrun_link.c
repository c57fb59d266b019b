/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends the stage of this PE to oshrun on the same host, over a socket that stays open until the
 * process ends. The kernel then closes the socket. oshrun therefore also notices an end that runs
 * no exit handler. Design: docs/design/launch.md.
 */
#include "boot.h"

#include "core/job_state.h"
#include "pmi/pmi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int link_fd = -1;
static bool link_has_fds; /* whether the descriptors have been passed over the link */

static void link_close(void)
{
    if (link_fd >= 0) close(link_fd);
    link_fd = -1;
}

/* Connects to oshrun, if the oshrun that the environment names runs on this host. */
static void link_open(void)
{
    const char *value = getenv(STP_FRAMES_VARIABLE), *name = value ? strchr(value, ':') : NULL;
    struct sockaddr_un addr;
    socklen_t len = name != NULL ? stp_pe_socket_addr(&addr, name + 1) : 0;
    static bool atfork;

    if (len == 0) return;
    link_has_fds = false;
    if (!atfork) atfork = pthread_atfork(NULL, NULL, link_close) == 0;
    link_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connect(link_fd, (struct sockaddr *)&addr, len) != 0 || stp_pe_socket_peer(link_fd) <= 0)
        link_close();
}

/* Returns the number of this PE before the launcher has replied, or -1 if it is unknown. */
static int pe_from_launcher(void)
{
    const char *rank = getenv("PMI_RANK");

    if (rank == NULL) rank = getenv("PMIX_RANK");
    return rank != NULL ? (int)strtol(rank, NULL, 10) : -1;
}

void stp_boot_tell_oshrun(enum stp_pe_stage stage)
{
    int fds[STP_PASSED_FDS] = {stp_pmi_socket(), STDOUT_FILENO, STDERR_FILENO};
    struct stp_pe_packet packet;
    struct msghdr *header = stp_pe_packet_init(&packet);

    if (stage == STP_STAGE_ENTERED && link_fd < 0) link_open();
    if (link_fd < 0) return;
    packet.message =
        (struct stp_pe_message){.pe = stage == STP_STAGE_ENTERED ? pe_from_launcher() : stp_rt.pe,
                                .stage = stage,
                                .several_hosts = stp_rt.host_pes < stp_rt.n_pes};
    memcpy(CMSG_DATA(&packet.control.header), fds, sizeof(fds));
    /* Processes of an MPI library rely on the launcher, so it must notice the end of each one. */
    if (stage == STP_STAGE_BEGUN && !link_has_fds && fds[0] >= 0 &&
        dlsym(RTLD_DEFAULT, "MPI_Init") == NULL) {
        link_has_fds = true;
        if (sendmsg(link_fd, header, MSG_NOSIGNAL) > 0) return;
    }
    header->msg_controllen = 0;
    if (sendmsg(link_fd, header, MSG_NOSIGNAL) < 0) link_close();
}
