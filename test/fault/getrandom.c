/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded: appends each number of 8 bytes that the process draws from getrandom() to the file
 * that STEPPE_GETRANDOM_TEST names, in hexadecimal, one number on a line. The secrets of a job are
 * made of such numbers; secrets.py looks for them. Draws of other sizes are not recorded.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

__attribute__((visibility("default"))) ssize_t getrandom(void *buffer, size_t nbytes,
                                                         unsigned flags)
{
    const char *path = getenv("STEPPE_GETRANDOM_TEST");
    ssize_t n = syscall(SYS_getrandom, buffer, nbytes, flags);
    unsigned long long word;
    int fd;

    if (path == NULL || n != (ssize_t)sizeof(word)) return n;
    memcpy(&word, buffer, sizeof(word));
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) {
        dprintf(fd, "%llx\n", word);
        close(fd);
    }
    return n;
}
