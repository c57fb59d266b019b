/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the data by which oshrun inspects a running job from outside. oshrun reads the last part
 * of each node's memory file. It recognizes PEs by the files that they hold open. It also reads the
 * file to which dying PEs write their stack frames. Design: docs/design/hang.md.
 */
#ifndef STP_OSHRUN_INSPECT_H
#define STP_OSHRUN_INSPECT_H

#include "base/base.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * Trailer in the last bytes of the memory file that the PEs of a node share. oshrun does not know
 * the layout of the file. It reads the trailer first, in order to find the other data. All this
 * data is in the area, which is the last part of the file and includes the trailer. All offsets
 * count from the start of the area. If the layout of the trailer or of the data changes, the magic
 * number must change, too.
 */
struct stp_node_file_trailer {
    uint64_t magic;
    uint64_t job;        /* random number that is equal on all nodes of the job */
    uint64_t area_bytes; /* size of the area */
    /* Offset and element size of an array with one element for each PE of the node. */
    uint64_t processes_at, process_bytes; /* each element begins with a struct stp_process */
    uint64_t pages_at;                    /* offset of the array of struct stp_wait_state_page */
    /* Offset of an array with the host name of each node, or 0 if the job has only one node. */
    uint64_t hosts_at;
    int n_pes, n_local; /* number of PEs of the job and of this node */
    int n_nodes, node;  /* number of nodes, and index of this node */
    char program[48];
};

#define STP_HOST_MAX 64 /* bytes of each host name in the file; an unknown host has an empty name */

#define STP_TRAILER_MAGIC UINT64_C(0x7374702d6d726b33)
#define STP_NODE_FILE "steppe-node"
#define STP_ALIVE_FD_NAME "steppe-pe" /* name of a memory file that every PE holds open */

struct stp_process {
    int pe;
    pid_t pid; /* process ID, or 0 if the PE has not stored its ID yet */
};

/*
 * Environment variable that oshrun sets to "PATH:NAME". PATH is the path of a memory file in /proc.
 * NAME is the name that oshrun has given to this file, by which a PE can recognize the file. A
 * dying PE writes its stack frames to the file, with one line of the form "PE ADDRESS FILE" for
 * each frame.
 */
#define STP_FRAMES_VARIABLE "OSHRUN_FRAMES"
#define STP_HOST_LINE "oshrun: host " /* start of a line about a host that failed, in this file */

/* ---- messages of PEs to oshrun, whose Unix socket has the abstract name NAME, too ------------ */

enum stp_pe_stage {
    STP_STAGE_ENTERED, /* in shmem_init; the launcher has not replied yet */
    STP_STAGE_BEGUN,   /* in or after shmem_init */
    STP_STAGE_WAITS,   /* waits for other PEs in shmem_init; oshrun prints the missing PEs */
    STP_STAGE_DONE,    /* in or after shmem_finalize; no other PE needs this PE any more */
    STP_STAGE_ABORT,   /* the job ends, and this PE or another PE has printed the reason */
};

#define STP_PASSED_FDS 3 /* connection to the launcher, standard output, standard error */

struct stp_pe_packet {
    struct stp_pe_message {
        int pe;
        enum stp_pe_stage stage;
        bool several_hosts; /* whether the job has PEs on other hosts */
    } message;
    struct iovec data;
    struct msghdr header;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(STP_PASSED_FDS * sizeof(int))];
    } control; /* descriptors that the first message with STP_STAGE_BEGUN passes to oshrun */
};

/* Prepares a packet for sendmsg() or recvmsg(). */
static inline struct msghdr *stp_pe_packet_init(struct stp_pe_packet *packet)
{
    *packet = (struct stp_pe_packet){.data = {&packet->message, sizeof(packet->message)}};
    packet->control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(STP_PASSED_FDS * sizeof(int)),
                                              .cmsg_level = SOL_SOCKET,
                                              .cmsg_type = SCM_RIGHTS};
    packet->header = (struct msghdr){.msg_iov = &packet->data,
                                     .msg_iovlen = 1,
                                     .msg_control = &packet->control,
                                     .msg_controllen = sizeof(packet->control)};
    return &packet->header;
}

/* Returns the length of the address of oshrun's socket, or 0 if the name is too long. */
static inline socklen_t stp_pe_socket_addr(struct sockaddr_un *addr, const char *name)
{
    size_t len = strlen(name);

    *addr = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (len >= sizeof(addr->sun_path)) return 0;
    memcpy(addr->sun_path + 1, name, len);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

/* Returns the process at the other end, or 0 if that process belongs to another user. */
static inline pid_t stp_pe_socket_peer(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0) return 0;
    return peer.uid == geteuid() ? peer.pid : 0;
}

#endif /* STP_OSHRUN_INSPECT_H */
