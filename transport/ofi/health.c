/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding dead peers. Providers report operations that break with a connection, but not all:
 * some try to connect again for ever, or lose the answer to an atomic without a word. So a wait
 * that stands still asks the kernel of each target whether anybody still listens there.
 * Design: docs/design/fabric.md.
 */
#include "ofi.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define STALL_NS 1000000000ull /* a wait is suspicious when nothing completes for so long, */
#define FINISH_NS 20000000ull  /* and when the job is ending: then peers are expected to go */
#define ANSWER_MS 1000         /* for the peer's kernel to answer */
#define SUSPECTS 16            /* peers asked in one round */
#define SILENT_ROUNDS 60       /* without an answer: host down or cut off */

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Does anybody listen at addr? Returns 0 yes, -ETIMEDOUT no answer, else -errno: nobody. */
static int knock(const struct sockaddr *addr, size_t len)
{
    int fd = socket(addr->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
    socklen_t size = sizeof(int);
    int rc = 0;

    if (fd < 0) return 0; /* our trouble, not the peer's */
    if (connect(fd, addr, (socklen_t)len) != 0 && errno != EINPROGRESS) rc = errno;
    if (rc == 0 && poll(&poll_fd, 1, ANSWER_MS) == 0) rc = ETIMEDOUT;
    if (rc == 0) getsockopt(fd, SOL_SOCKET, SO_ERROR, &rc, &size);
    close(fd);
    return -rc;
}

/* Addresses of the shm provider begin with the process number. */
static int look_for_process(const char *addr)
{
    const char *at = strstr(addr, "://");
    int pid;

    if (sscanf(at != NULL ? at + 3 : addr, "%d:", &pid) != 1 || pid <= 0) return 0;
    return kill(pid, 0) != 0 && errno == ESRCH ? -ESRCH : 0;
}

static bool by_tcp(const char *provider)
{
    return strncmp(provider, "tcp", 3) == 0 || strcmp(provider, "net") == 0;
}

static int ask(int pe)
{
    union {
        struct sockaddr_storage sock;
        char text[STP_FABRIC_ADDR_MAX + 1];
    } addr = {.text = ""};
    size_t len = STP_FABRIC_ADDR_MAX;

    if (fi_av_lookup(stp_ofi.av, stp_ofi_addr(&stp_ofi.main, pe), &addr, &len) != 0) return 0;
    switch (stp_ofi.info->addr_format) {
    case FI_SOCKADDR_IN:
    case FI_SOCKADDR_IN6:
        return by_tcp(stp_ofi.info->fabric_attr->prov_name)
                   ? knock((struct sockaddr *)&addr.sock, len)
                   : 0;
    case FI_ADDR_STR:
        return look_for_process(addr.text);
    default:
        return 0;
    }
}

static void check_peers(void)
{
    static atomic_int silent_rounds;
    int pes[SUSPECTS];
    int n = stp_ofi_targets(pes, SUSPECTS);
    bool silent = false;

    for (int i = 0; i < n; i++) {
        int rc = ask(pes[i]);

        silent = silent || rc == -ETIMEDOUT;
        if (rc == 0 || (rc == -ETIMEDOUT && atomic_load(&silent_rounds) < SILENT_ROUNDS)) continue;
        if (!atomic_load_explicit(&stp_ofi.finishing, memory_order_relaxed))
            stp_ofi.core->fatal("fabric", "pe %d is gone: nobody at its address (%s)", pes[i],
                                strerror(-rc));
        stp_ofi_abandon(pes[i]);
    }
    if (silent)
        atomic_fetch_add(&silent_rounds, 1);
    else
        atomic_store(&silent_rounds, 0);
}

void stp_ofi_wait_stalled(struct stp_ofi_wait *wait)
{
    unsigned completed = atomic_load_explicit(&wait->lane->completed, memory_order_relaxed);
    bool finishing = atomic_load_explicit(&stp_ofi.finishing, memory_order_relaxed);
    uint64_t now = now_ns();

    if (wait->since_ns == 0 || completed != wait->completed) {
        wait->completed = completed;
        wait->since_ns = now;
    } else if (now - wait->since_ns > (finishing ? FINISH_NS : STALL_NS)) {
        check_peers();
        wait->since_ns = now_ns();
    }
}
