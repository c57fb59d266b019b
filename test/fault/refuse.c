/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded: a PE's liveness socket refuses connections, as behind a firewall that lets the
 * provider's port through alone. It is known by being closed on exec, which providers do not ask
 * for. FAULT_REFUSE_RANK: that of this PE alone.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static bool refuses(int fd)
{
    const char *rank = getenv("PMI_RANK"), *only = getenv("FAULT_REFUSE_RANK");

    if ((fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0) return false;
    return only == NULL || (rank != NULL && strcmp(rank, only) == 0);
}

__attribute__((visibility("default"))) int listen(int fd, int backlog)
{
    int (*real)(int, int) = (int (*)(int, int))(uintptr_t)dlsym(RTLD_NEXT, "listen");

    return refuses(fd) ? 0 : real(fd, backlog);
}
