/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Other processes of the node, named by their numbers, which mean another one in another container:
 * proof that a process is the one that was meant, what it keeps in its memory, and its descriptors.
 * All of it is for the kernel to allow, as it allows process_vm_readv(). Design:
 * docs/design/memory.md.
 */
#include "spaces/spaces.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

void stp_neighbour_me(struct stp_neighbour *mine, uint64_t secret[2])
{
    if (getrandom(secret, 2 * sizeof(*secret), GRND_NONBLOCK) != (ssize_t)(2 * sizeof(*secret)))
        secret[0] = stp_now_ns();
    mine->pid = getpid();
    mine->proof = (uintptr_t)secret;
    memcpy(mine->secret, secret, sizeof(mine->secret));
}

int stp_neighbour_read(const struct stp_neighbour *it, void *to, uint64_t from, size_t nbytes)
{
    struct iovec here = {to, nbytes};
    struct iovec there = {(void *)(uintptr_t)from, nbytes};
    ssize_t n = process_vm_readv(it->pid, &here, 1, &there, 1, 0);

    if (n < 0) return -errno;
    return n == (ssize_t)nbytes ? 0 : -EFAULT;
}

int stp_neighbour_prove(const struct stp_neighbour *it)
{
    uint64_t found[2];
    int rc = stp_neighbour_read(it, found, it->proof, sizeof(found));

    if (rc != 0) return rc;
    return memcmp(found, it->secret, sizeof(found)) == 0 ? 0 : -ESRCH;
}

int stp_neighbour_take(const struct stp_neighbour *it, int fd)
{
    int of = (int)syscall(SYS_pidfd_open, it->pid, 0), taken;

    if (of < 0) return -errno;
    taken = (int)syscall(SYS_pidfd_getfd, of, fd, 0);
    if (taken < 0) taken = -errno;
    close(of);
    return taken;
}
