/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies data between this process and private memory of another process on the node. Private
 * memory is memory of the program that shmemx_buffer_register() has made into a space. The
 * operating system's kernel performs the copies (process_vm_readv() and process_vm_writev()). The
 * copies are complete on return. Design: docs/design/memory.md.
 */
#include "rma.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#define PROCESS_ROWS 64 /* maximum number of rows that one system call copies */
/* Maximum number of bytes that one system call copies. The kernel's limit is 2^31. */
#define PROCESS_BYTES ((size_t)1 << 30)

/* State of one transfer. The fields row and column are the position of the next byte to copy. */
struct process_copy {
    char *local;
    uintptr_t remote;
    size_t local_pitch, remote_pitch, width, n;
    size_t row, column;
};

/*
 * Prepares the next system call. Sets local_iov[] to the pieces of local memory and remote_iov[] to
 * the pieces of remote memory that the call copies. Returns the number of pieces.
 */
static unsigned long process_pieces(const struct process_copy *copy,
                                    struct iovec local_iov[PROCESS_ROWS],
                                    struct iovec remote_iov[PROCESS_ROWS])
{
    size_t remaining = PROCESS_BYTES, column = copy->column;
    unsigned long n = 0;

    for (size_t row = copy->row; row < copy->n && n < PROCESS_ROWS && remaining > 0; row++) {
        size_t nbytes = copy->width - column < remaining ? copy->width - column : remaining;

        local_iov[n] = (struct iovec){copy->local + row * copy->local_pitch + column, nbytes};
        remote_iov[n] =
            (struct iovec){(void *)(copy->remote + row * copy->remote_pitch + column), nbytes};
        remaining -= nbytes;
        column = 0;
        n++;
    }
    return n;
}

static void process_advance(struct process_copy *copy, size_t nbytes)
{
    size_t offset = copy->column + nbytes;

    copy->row += offset / copy->width;
    copy->column = offset % copy->width;
}

static _Noreturn void process_fatal(const struct stp_target *target, int error)
{
    if (error == EFAULT)
        stp_fatal(target->fn,
                  "the buffer of PE %d in space %u, or the buffer of this PE, is no longer "
                  "mapped: unmap a registered buffer only after shmem_space_destroy",
                  target->pe, target->number);
    stp_fatal(target->fn, "cannot copy to or from the buffer of PE %d in space %u: %s", target->pe,
              target->number, strerror(error));
}

void stp_cma_copy(const struct stp_target *target, const void *buffer,
                  const struct stp_strided_copy *rows, bool put)
{
    struct process_copy copy = {.local = (char *)(uintptr_t)buffer,
                                .local_pitch = put ? rows->source_pitch : rows->dest_pitch,
                                .remote_pitch = put ? rows->dest_pitch : rows->source_pitch,
                                .width = rows->width,
                                .n = rows->n};
    struct iovec local_iov[PROCESS_ROWS], remote_iov[PROCESS_ROWS];
    pid_t pid;

    (void)stp_private_peer(target->space, stp_local_of(target->pe), &pid, &copy.remote);
    copy.remote += target->offset;
    while (copy.row < copy.n) {
        unsigned long n = process_pieces(&copy, local_iov, remote_iov);
        ssize_t done = put ? process_vm_writev(pid, local_iov, n, remote_iov, n, 0)
                           : process_vm_readv(pid, local_iov, n, remote_iov, n, 0);

        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) process_fatal(target, done < 0 ? errno : EFAULT);
        process_advance(&copy, (size_t)done);
    }
}
