/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded: a PE's lifeline refuses connections, as behind a firewall that lets the provider's
 * port through alone. It is known by being closed on exec, which providers do not ask for.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>

__attribute__((visibility("default"))) int listen(int fd, int backlog)
{
    int (*real)(int, int) = (int (*)(int, int))(uintptr_t)dlsym(RTLD_NEXT, "listen");

    return fcntl(fd, F_GETFD) & FD_CLOEXEC ? 0 : real(fd, backlog);
}
