/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded: the liveness socket of a PE refuses connections, as behind a firewall that passes only
 * the provider's port. The library sets close-on-exec on this socket and providers do not, which is
 * how this code recognizes the socket. With FAULT_REFUSE_RANK only the PE with this PMI_RANK
 * refuses.
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
