/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the memory file of a node, in which the PEs of the node show their waits. Any process can
 * hold a memory file with this name open. Therefore the file is copied, because its size may change
 * at any time, and all numbers in the copy are checked. Design: docs/design/hang.md.
 */
#include "find_pes.h"

#include "oshrun_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AREA_MAX ((size_t)16 << 20) /* maximum size of an area; 64 PEs need 192 KiB */
#define AREA_ATTEMPTS 100           /* maximum number of attempts to copy pages that change */

/* Returns whether n elements of item_bytes bytes, which begin at this offset, lie in the area. */
static bool fits(const struct stp_node_file_trailer *trailer, uint64_t at, uint64_t item_bytes,
                 int n)
{
    return at <= trailer->area_bytes && (trailer->area_bytes - at) / item_bytes >= (uint64_t)n;
}

static bool trailer_is_valid(const struct stp_node_file_trailer *trailer, off_t size)
{
    return trailer->magic == STP_TRAILER_MAGIC && trailer->area_bytes <= (uint64_t)size &&
           trailer->area_bytes <= AREA_MAX && trailer->n_local >= 1 &&
           trailer->n_local <= trailer->n_pes && trailer->node >= 0 &&
           trailer->node < trailer->n_nodes &&
           trailer->process_bytes >= sizeof(struct stp_process) &&
           (trailer->area_bytes | trailer->pages_at) % STP_CACHE_LINE == 0 &&
           fits(trailer, trailer->processes_at, trailer->process_bytes, trailer->n_local) &&
           fits(trailer, trailer->pages_at, sizeof(struct stp_wait_state_page), trailer->n_local) &&
           fits(trailer, trailer->hosts_at, STP_HOST_MAX, trailer->n_nodes);
}

/* Replaces numbers in a note that the functions of hang_rows.c cannot use. */
static void note_clean(struct stp_wait_state *note, int n_pes)
{
    if (note->team_start < 0 || note->team_start >= n_pes || note->team_n_pes < 0 ||
        note->team_stride <= -n_pes || note->team_stride >= n_pes)
        note->team_n_pes = 0;
    if (note->awaited_pe < 0 || note->awaited_pe >= n_pes) note->awaited_pe = -1;
}

/* Copies the area. Repeats the copy until no PE has changed its page between two copies. */
static bool area_copy(const struct stp_node_file_trailer *trailer, int fd, off_t size, char *area)
{
    size_t nbytes = (size_t)trailer->area_bytes;
    size_t pages_bytes = (size_t)trailer->n_local * sizeof(struct stp_wait_state_page);
    char *pages = area + trailer->pages_at, *old = malloc(pages_bytes);
    bool is_done = false;

    if (old == NULL) launch_fail("out of memory");
    for (int i = 0; i < AREA_ATTEMPTS && !is_done; i++) {
        memcpy(old, pages, pages_bytes);
        if (pread(fd, area, nbytes, size - (off_t)nbytes) != (ssize_t)nbytes) break;
        is_done = i > 0 && memcmp(old, pages, pages_bytes) == 0;
    }
    free(old);
    return is_done;
}

static bool node_read(struct node *node, int fd, off_t size)
{
    struct stp_node_file_trailer *trailer = &node->trailer;
    struct stp_wait_state_page *pages;
    char *area;

    if (size < (off_t)sizeof(*trailer) ||
        pread(fd, trailer, sizeof(*trailer), size - (off_t)sizeof(*trailer)) != sizeof(*trailer) ||
        !trailer_is_valid(trailer, size))
        return false;
    trailer->program[sizeof(trailer->program) - 1] = '\0';
    area = aligned_alloc(STP_CACHE_LINE, (size_t)trailer->area_bytes);
    if (area == NULL) launch_fail("out of memory");
    node->area = area;
    pages = (void *)(area + trailer->pages_at);
    if (!area_copy(trailer, fd, size, area)) return false;
    for (int i = 0; i < trailer->n_local * STP_WAIT_STATES; i++)
        note_clean(&pages[i / STP_WAIT_STATES].notes[i % STP_WAIT_STATES].note, trailer->n_pes);
    return true;
}

struct stp_process scan_find_pe(const struct node *node, int local)
{
    const struct stp_node_file_trailer *trailer = &node->trailer;
    struct stp_process pe;

    memcpy(&pe, node->area + trailer->processes_at + (size_t)local * trailer->process_bytes,
           sizeof(pe));
    if (pe.pe < 0 || pe.pe >= trailer->n_pes) pe.pid = 0;
    return pe;
}

bool scan_node_file(struct proc_scan *scan, struct process *process, int fd)
{
    struct node node;
    struct stat info;
    size_t i = 0;

    if (process->node >= 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return true;
    while (i < scan->n_nodes &&
           (scan->nodes[i].inode != info.st_ino || scan->nodes[i].device != info.st_dev))
        i++;
    process->node = (int)i;
    if (i < scan->n_nodes) return true;
    node = (struct node){.device = info.st_dev, .inode = info.st_ino};
    if (!node_read(&node, fd, info.st_size)) {
        free(node.area);
        process->node = -1;
        return false;
    }
    scan->nodes = scan_grow(scan->nodes, scan->n_nodes, sizeof(node));
    scan->nodes[scan->n_nodes++] = node;
    return true;
}
