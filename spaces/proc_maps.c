/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the list of this process's mappings from /proc/self/maps. The code uses neither malloc()
 * nor stdio streams, because it runs before main() and in fork handlers. Design:
 * docs/design/memory.md.
 */
#include "spaces/data_segment_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Buffer size for the fields of a line that precede the file name. The name is not needed. */
#define MAPS_LINE 128

struct maps_reader {
    int fd;
    size_t pos, len;
    char buffer[2048];
};

static bool maps_read_char(struct maps_reader *reader, char *c)
{
    if (reader->pos == reader->len) {
        ssize_t n;

        do {
            n = read(reader->fd, reader->buffer, sizeof(reader->buffer));
        } while (n < 0 && errno == EINTR);
        if (n <= 0) return false;
        reader->pos = 0;
        reader->len = (size_t)n;
    }
    *c = reader->buffer[reader->pos++];
    return true;
}

static bool maps_read_line(struct maps_reader *reader, char line[MAPS_LINE])
{
    size_t len = 0;
    char c;

    while (maps_read_char(reader, &c)) {
        if (c == '\n') {
            line[len] = '\0';
            return true;
        }
        if (len < MAPS_LINE - 1) line[len++] = c;
    }
    return false;
}

static bool maps_parse(const char *line, struct stp_mapping *mapping)
{
    unsigned long start, end, ino;
    unsigned long long file_offset;
    unsigned major_number, minor_number;
    char perms[5];

    if (sscanf(line, "%lx-%lx %4s %llx %x:%x %lu", &start, &end, perms, &file_offset, &major_number,
               &minor_number, &ino) != 7)
        return false;
    *mapping = (struct stp_mapping){.start = start,
                                    .end = end,
                                    .prot = (perms[0] == 'r' ? PROT_READ : 0) |
                                            (perms[1] == 'w' ? PROT_WRITE : 0) |
                                            (perms[2] == 'x' ? PROT_EXEC : 0),
                                    .shared = perms[3] == 's',
                                    .file_offset = file_offset,
                                    .dev = makedev(major_number, minor_number),
                                    .ino = ino};
    return true;
}

bool stp_proc_maps_foreach(bool (*visit)(const struct stp_mapping *mapping, void *arg), void *arg)
{
    struct maps_reader reader = {.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    struct stp_mapping mapping;
    char line[MAPS_LINE];
    bool parsed = false, proceed = true;

    if (reader.fd < 0) return false;
    while (proceed && maps_read_line(&reader, line)) {
        if (!maps_parse(line, &mapping)) continue;
        proceed = visit(&mapping, arg);
        parsed = true;
    }
    close(reader.fd);
    return parsed;
}
