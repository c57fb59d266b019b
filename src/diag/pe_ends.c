/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds PEs of this host that end without finalize, abort and exit handlers. Each PE connects to a
 * socket of oshrun, sends its stages and passes descriptors (src/boot/oshrun_link.c). While oshrun
 * holds these descriptors, Hydra does not notice the end of the PE, and so does not kill the other
 * PEs before oshrun knows how the PE has ended. Design: docs/design/launch.md.
 */
#include "find_pes.h"
#include "oshrun_internal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_MAX 4096
#define PEERPIDFD 77 /* SO_PEERPIDFD of Linux 6.5 */
#define EXITING 4ul  /* PF_EXITING of the kernel, in the field "flags" of /proc/PID/stat */

struct pe {
    struct stp_pe_message last; /* last message of the PE */
    pid_t pid;
    int pidfd;               /* descriptor of the process, or -1 */
    int link;                /* socket over which the PE sends its stages */
    int fds[STP_PASSED_FDS]; /* duplicates of the PE's descriptors; all are 0 if none was passed */
    char comm[20];           /* name of the process at the time of the last message */
    int status;              /* wait status after the end, or -1 if unknown */
};

static struct {
    int listener, epoll;
    bool at_once; /* whether the culprit is reported at its end instead of at the end of the job */
    bool over;    /* whether a PE has ended the job, so that further ends are consequences */
    const struct pe *culprit; /* PE whose bad end was the first, or NULL */
    long oom_kills;           /* count_oom_kills() at the start of the job */
} ends = {.listener = -1, .epoll = -1};

/* Returns how many processes the kernel has killed for lack of memory in oshrun's control group. */
static long count_oom_kills(void)
{
    static const char *const keys[] = {"0::", ":memory:"};
    static const char *const files[] = {"root/sys/fs/cgroup%s/memory.events",
                                        "root/sys/fs/cgroup/memory%s/memory.oom_control"};
    long count = 0;

    for (int i = 0; i < 2 && count == 0; i++) {
        char text[TEXT_MAX], name[TEXT_MAX];
        char *key;

        scan_text(getpid(), "cgroup", text, sizeof(text));
        key = strstr(text, keys[i]);
        if (key == NULL) continue;
        key[strcspn(key, "\n")] = '\0';
        snprintf(name, sizeof(name), files[i], key + strlen(keys[i]));
        scan_text(getpid(), name, text, sizeof(text));
        key = strstr(text, "\noom_kill ");
        if (key != NULL) count = strtol(key + strlen("\noom_kill "), NULL, 10);
    }
    return count;
}

static void watch(int fd, struct pe *pe)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = pe};

    epoll_ctl(ends.epoll, EPOLL_CTL_ADD, fd, &event);
}

void launch_ends_open(const char *name, bool at_once)
{
    struct sockaddr_un addr;
    socklen_t len = stp_pe_socket_addr(&addr, name);

    ends.at_once = at_once;
    ends.oom_kills = count_oom_kills();
    ends.epoll = epoll_create1(EPOLL_CLOEXEC);
    ends.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bind(ends.listener, (struct sockaddr *)&addr, len) == 0 &&
        listen(ends.listener, SOMAXCONN) == 0)
        watch(ends.listener, NULL);
}

static void accept_pe(void)
{
    int fd = accept4(ends.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    pid_t pid = fd >= 0 ? stp_pe_socket_peer(fd) : 0;
    struct pe *pe = pid > 0 ? calloc(1, sizeof(*pe)) : NULL;

    if (fd < 0) close(ends.listener); /* no descriptors are left, so other PEs are not watched */
    if (pe == NULL) {
        if (fd >= 0) close(fd);
        return;
    }
    *pe = (struct pe){.last.pe = -1, .pid = pid, .pidfd = -1, .link = fd};
    getsockopt(fd, SOL_SOCKET, PEERPIDFD, &pe->pidfd, &(socklen_t){sizeof(pe->pidfd)});
    watch(fd, pe);
}

/*
 * Returns the wait status of a process for which its parent has already waited, or -1 if the kernel
 * does not keep it (before Linux 6.15). Words 0 and 7 of the kernel's struct pidfd_info contain the
 * mask PIDFD_INFO_EXIT and the status.
 */
static int reaped_status(int pidfd)
{
    uint64_t info[8] = {1 << 3};
    int rc = ioctl(pidfd, _IOWR(0xff, 11, info), info);

    return rc == 0 && (info[0] & 1 << 3) ? (int)(info[7] >> 32) : -1;
}

/*
 * Returns whether the program of a PE has ended or is ending, and sets pe->status. Returns false if
 * the process has closed the socket but lives. Also returns false if the process has a new name and
 * no signal ended it, because it has then executed another program.
 */
static bool has_ended(struct pe *pe)
{
    char text[TEXT_MAX];
    unsigned long flags = EXITING;
    const char *fields;
    bool is_renamed;

    scan_text(pe->pid, "comm", text, sizeof(pe->comm));
    is_renamed = text[0] != '\0' && pe->comm[0] != '\0' && strcmp(text, pe->comm) != 0;
    scan_text(pe->pid, "stat", text, sizeof(text));
    fields = strrchr(text, ')');
    if (fields != NULL) sscanf(fields + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags);
    pe->status =
        fields != NULL ? (int)strtol(strrchr(fields, ' '), NULL, 10) : reaped_status(pe->pidfd);
    return (flags & EXITING) != 0 && (!is_renamed || WIFSIGNALED(pe->status));
}

/*
 * Returns whether a PE can have been killed by the launcher, after the bad end of another PE. With
 * -disable-auto-cleanup, Hydra sends SIGUSR1.
 */
static bool is_victim(const struct pe *pe)
{
    return WIFSIGNALED(pe->status) &&
           (WTERMSIG(pe->status) == SIGKILL || WTERMSIG(pe->status) == SIGTERM ||
            WTERMSIG(pe->status) == SIGUSR1);
}

static void print_culprit(const struct pe *pe)
{
    char host[STP_HOST_MAX] = "", number[16] = "?", how[64] = "ended";

    if (WIFSIGNALED(pe->status))
        snprintf(how, sizeof(how), "was killed by signal %d (%s)", WTERMSIG(pe->status),
                 strsignal(WTERMSIG(pe->status)));
    else if (WIFEXITED(pe->status))
        snprintf(how, sizeof(how), "ended by _exit(%d) or quick_exit(%d)", WEXITSTATUS(pe->status),
                 WEXITSTATUS(pe->status));
    gethostname(host, sizeof(host) - 1);
    /* The number is unknown if the process ended before it sent a message. */
    if (pe->last.pe >= 0) snprintf(number, sizeof(number), "%d", pe->last.pe);
    fprintf(stderr, "oshrun: pe %s (%s): its process %d %s %s shmem_finalize%s%s\n", number, host,
            (int)pe->pid, how, pe->last.stage == STP_STAGE_DONE ? "after" : "before",
            is_victim(pe) && pe->last.several_hosts ? ", perhaps after a failure on another host"
                                                    : "",
            count_oom_kills() == ends.oom_kills
                ? ""
                : "; the kernel has killed a process at the memory limit of the control group: use "
                  "fewer PEs or smaller heaps, or raise the limit");
}

/*
 * Handles the end of the connection to a PE. If the end is good, keeps the connection to the
 * launcher, because Hydra would otherwise kill PEs that have not yet ended. Events can be out of
 * order if this process had to wait for a core, so that a PE that was not killed is the culprit.
 */
static void end_link(struct pe *pe)
{
    bool done = pe->last.stage == STP_STAGE_DONE;
    bool good = !has_ended(pe) || (done && pe->status <= 0);

    close(pe->link);
    close(pe->pidfd);
    if (!good && !ends.over && (!done || WIFSIGNALED(pe->status)) &&
        (ends.culprit == NULL || (is_victim(ends.culprit) && !is_victim(pe)))) {
        ends.culprit = pe;
        if (ends.at_once) print_culprit(pe);
        /* Hydra does not end the job, because it does not know yet that the process is a PE. */
        if (pe->last.stage == STP_STAGE_ENTERED) launch_end_job();
    }
    for (int i = good ? 1 : 0; i < STP_PASSED_FDS && pe->fds[i] > 0; i++)
        close(pe->fds[i]);
}

static void read_message(struct pe *pe)
{
    struct stp_pe_packet packet;
    ssize_t nbytes = recvmsg(pe->link, stp_pe_packet_init(&packet), MSG_CMSG_CLOEXEC);

    if (nbytes != sizeof(packet.message)) {
        end_link(pe);
        return;
    }
    pe->last = packet.message;
    scan_text(pe->pid, "comm", pe->comm, sizeof(pe->comm));
    if (pe->last.stage == STP_STAGE_ABORT) ends.over = true;
    if (pe->last.stage == STP_STAGE_WAITS) launch_start_printer();
    /* The kernel passes only some of the descriptors if oshrun reaches its limit. */
    if (packet.header.msg_controllen > 0 &&
        packet.control.header.cmsg_len <= CMSG_LEN(sizeof(pe->fds)))
        memcpy(pe->fds, CMSG_DATA(&packet.control.header),
               packet.control.header.cmsg_len - CMSG_LEN(0));
}

int launch_ends_take(void)
{
    struct epoll_event event;

    /* The kernel returns events in the order in which they became ready. */
    while (epoll_wait(ends.epoll, &event, 1, 0) == 1) {
        if (event.data.ptr == NULL)
            accept_pe();
        else
            read_message(event.data.ptr);
    }
    return ends.epoll;
}

int launch_ends_report(int status)
{
    const struct pe *pe;

    launch_ends_take();
    pe = ends.culprit;
    if (pe == NULL || ends.at_once) return status;
    /* Another PE has called shmem_global_exit(0), so the launcher has killed this PE. */
    if (WIFSIGNALED(pe->status) && status == 0) return 0;
    print_culprit(pe);
    if (WIFEXITED(pe->status)) status = pe->status;
    return status != 0 ? status : W_EXITCODE(EXIT_FAILURE, 0);
}
