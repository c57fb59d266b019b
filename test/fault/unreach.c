/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded: connections that the library itself makes to other PEs fail with ENETUNREACH;
 * connections of the provider succeed. The library sets close-on-exec on its sockets and providers
 * do not, which is how this code recognizes them.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>

__attribute__((visibility("default"))) int connect(int fd, const struct sockaddr *addr,
                                                   socklen_t len)
{
    int (*real)(int, const struct sockaddr *, socklen_t) =
        (int (*)(int, const struct sockaddr *, socklen_t))(uintptr_t)dlsym(RTLD_NEXT, "connect");

    if (addr->sa_family == AF_UNIX || !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
        return real(fd, addr, len);
    errno = ENETUNREACH;
    return -1;
}
