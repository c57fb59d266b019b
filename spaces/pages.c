/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host memory in pages of a size that the program chose: each PE's part is a file of its own,
 * mapped over the space's range of the window, since advice and huge pages belong to files and
 * mappings. What the pages are is asked of the kernel. Design: docs/design/memory.md.
 */
#include "spaces/spaces.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* space->own */
struct pages {
    int fd;
    size_t map_bytes;
    bool reserved;                /* pages that an administrator reserved */
    size_t page_bytes;            /* that were asked for */
    struct stp_file_share *peers; /* by local index, where growth maps more; pid 0: no member */
};

/* In kB, a field of the mapping that addr lies in; 0: it has none. */
static size_t pages_smaps(const void *addr, const char *field)
{
    FILE *smaps = fopen("/proc/self/smaps", "re");
    size_t len = strlen(field);
    unsigned long first, last, found = 0;
    bool here = false, past = false;
    char line[512];

    if (smaps == NULL) return 0;
    while (!past && fgets(line, sizeof(line), smaps) != NULL) {
        if (sscanf(line, "%lx-%lx ", &first, &last) == 2) {
            past = here;
            here = first <= (uintptr_t)addr && (uintptr_t)addr < last;
        } else if (here && strncmp(line, field, len) == 0) {
            found = strtoul(line + len, NULL, 10);
            past = true;
        }
    }
    fclose(smaps);
    return found;
}

/*
 * What the pages of the range are. Those of a file of huge pages are so from the start; of another
 * file it shows when one was touched.
 */
static size_t pages_look(const char *base)
{
    size_t kernel = pages_smaps(base, "KernelPageSize:");

    if (kernel * 1024 >= STP_PAGES_HUGE) return kernel * 1024;
    (void)*(const volatile char *)base;
    return pages_smaps(base, "ShmemPmdMapped:") > 0 ? STP_PAGES_HUGE
                                                    : (size_t)sysconf(_SC_PAGESIZE);
}

/* Over the range of the window. 0 or -errno, not logged; nothing is kept then. */
static int pages_map(struct stp_space *space, struct pages *pages, unsigned flags)
{
    int fd = memfd_create("steppe-pages", MFD_CLOEXEC | flags), rc;

    if (fd < 0) return -errno;
    rc = stp_file_resize(fd, pages->map_bytes);
    if (rc == 0)
        rc = stp_window_overlay(space->offset, pages->map_bytes, stp_window_local(), fd, 0, 0);
    if (rc == 0)
        pages->fd = fd;
    else
        close(fd);
    return rc;
}

static void pages_place(struct stp_space *space, size_t nbytes,
                        const struct stp_space_params *params)
{
    space->placed = stp_numa_apply(params, space->base, nbytes, &space->numa_node);
    space->numa = space->placed ? params->numa : STP_NUMA_DEFAULT;
}

/*
 * Pages that an administrator reserved. All are taken now, from the nodes that were asked for: one
 * that is missing later would be a SIGBUS. Kernels before 5.14 cannot, and have promised them.
 */
static int pages_reserved(struct stp_space *space, struct pages *pages,
                          const struct stp_space_params *params)
{
    int rc = pages_map(space, pages, MFD_HUGETLB | MFD_HUGE_2MB);

    if (rc != 0) return rc;
    pages_place(space, pages->map_bytes, params);
    if (madvise(space->base, pages->map_bytes, MADV_POPULATE_WRITE) == 0 || errno == EINVAL)
        return 0;
    rc = -errno;
    close(pages->fd);
    return rc;
}

/* The usual memory, with advice. */
static int pages_advised(struct stp_space *space, struct pages *pages,
                         const struct stp_space_params *params)
{
    bool huge = params->page_bytes == STP_PAGES_HUGE;
    int rc = pages_map(space, pages, 0);

    if (rc != 0) return rc;
    pages_place(space, pages->map_bytes, params);
    madvise(space->base, pages->map_bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return 0;
}

static void pages_tell(size_t wanted, size_t got, int refused)
{
    char wanted_text[STP_SIZE_TEXT], got_text[STP_SIZE_TEXT];

    if (got == wanted) return;
    stp_warn("attr->page_size is %s, the pages are of %s: none that are reserved could be had (%s; "
             "vm.nr_hugepages), and the system gives shared memory no larger ones "
             "(/sys/kernel/mm/transparent_hugepage/shmem_enabled)",
             stp_size_exact(wanted, wanted_text), stp_size_exact(got, got_text),
             stp_strerror(-refused));
}

/* Whole pages, whatever they are. */
static size_t pages_whole(size_t nbytes)
{
    return (nbytes + STP_PAGES_HUGE - 1) & ~(STP_PAGES_HUGE - 1);
}

int stp_pages_create(struct stp_space *space, const struct stp_space_params *params,
                     struct stp_share *share)
{
    struct pages *pages = calloc(1, sizeof(*pages));
    int rc = -ENOMEM, refused = 0;

    if (space->offset == SIZE_MAX) {
        stp_error(
            "a space of %zu bytes whose attr->page_size is set does not fit the window: raise "
            "SHMEM_WINDOW_SIZE",
            space->nbytes);
        rc = -ENOSPC;
        goto err_pages;
    }
    if (pages == NULL) goto err_pages;
    pages->page_bytes = params->page_bytes;
    pages->peers = calloc((size_t)stp_win.n_view, sizeof(*pages->peers));
    if (pages->peers == NULL) goto err_pages;
    /* a range of the window and its guard end before the next multiple of STP_RANGE_ALIGN */
    pages->map_bytes = pages_whole(space->nbytes);
    rc = stp_window_commit_growing(space->offset, pages->map_bytes, pages_whole(space->max_bytes));
    if (rc != 0) goto err_pages;
    space->base = stp_window_at(space->offset);
    if (params->page_bytes == STP_PAGES_HUGE) refused = pages_reserved(space, pages, params);
    pages->reserved = params->page_bytes == STP_PAGES_HUGE && refused == 0;
    if (!pages->reserved) rc = pages_advised(space, pages, params);
    if (rc == 0) {
        rc = stp_file_share_fill(pages->fd, 0, share);
        if (rc != 0) close(pages->fd);
    }
    if (rc != 0) {
        stp_error("cannot map %zu bytes of memory: %s", pages->map_bytes, stp_strerror(-rc));
        if (rc == -EEXIST) rc = -EINVAL; /* that is the window's word for a lost race */
        goto err_window;
    }
    space->own = pages;
    space->device = -1;
    space->page_bytes = pages_look(space->base);
    pages_tell(params->page_bytes, space->page_bytes, refused);
    return 0;

err_window:
    stp_window_release(space->offset, pages->map_bytes);
err_pages:
    if (pages != NULL) free(pages->peers);
    free(pages);
    return rc;
}

int stp_pages_attach(struct stp_space *space, int local, const struct stp_share *share)
{
    struct pages *pages = space->own;
    struct stp_file_share theirs;
    int fd, rc;

    if (local == stp_window_local()) return 0;
    memcpy(&theirs, share->bytes, sizeof(theirs));
    fd = share->valid ? stp_file_share_open(&theirs, NULL) : -EINVAL;
    rc = fd < 0 ? fd : stp_window_overlay(space->offset, pages->map_bytes, local, fd, 0, 0);
    if (fd >= 0) close(fd);
    if (rc == 0) pages->peers[local] = theirs;
    if (rc != 0)
        stp_error("cannot map the part of PE %d, descriptor %d of process %d: %s", (int)share->pe,
                  (int)theirs.fd, (int)theirs.pid, stp_strerror(-rc));
    return rc;
}

/* ---- growth ---------------------------------------------------------------------------------- */

/* The piece of this PE's own file, placed, and taken or advised as the rest is. */
static int pages_grow_own(struct stp_space *space, const struct pages *pages, size_t to)
{
    size_t from = pages->map_bytes;
    char *piece = space->base + from;
    int rc = stp_file_resize(pages->fd, to);

    if (rc == 0)
        rc = stp_window_overlay(space->offset + from, to - from, stp_window_local(), pages->fd,
                                (off_t)from, 0);
    if (rc != 0) return rc;
    stp_numa_extend(space, piece, to - from);
    if (!pages->reserved)
        madvise(piece, to - from,
                pages->page_bytes == STP_PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    else if (madvise(piece, to - from, MADV_POPULATE_WRITE) != 0 && errno != EINVAL)
        return -errno;
    return 0;
}

/* The piece of a peer's file, which that peer takes pages for. */
static int pages_grow_peer(const struct stp_space *space, const struct pages *pages, int local,
                           size_t to)
{
    int fd = stp_file_share_open(&pages->peers[local], NULL), rc = fd;

    if (fd < 0) return rc;
    rc = stp_window_overlay(space->offset + pages->map_bytes, to - pages->map_bytes, local, fd,
                            (off_t)pages->map_bytes, MAP_NORESERVE);
    close(fd);
    return rc;
}

static void pages_shrink_to(struct stp_space *space, struct pages *pages, size_t nbytes)
{
    stp_window_shrink(space->offset, nbytes);
    (void)stp_file_resize(pages->fd, nbytes);
    pages->map_bytes = nbytes;
}

int stp_pages_grow(struct stp_space *space, size_t nbytes)
{
    struct pages *pages = space->own;
    size_t had = pages->map_bytes, to = pages_whole(nbytes);
    int rc = 0;

    if (to == had) return 0;
    rc = stp_window_grow(space->offset, to);
    if (rc != 0) return rc;
    rc = pages_grow_own(space, pages, to);
    for (int i = 0; i < stp_win.n_view && rc == 0; i++)
        if (pages->peers[i].pid != 0) rc = pages_grow_peer(space, pages, i, to);
    if (rc == 0)
        pages->map_bytes = to;
    else
        pages_shrink_to(space, pages, had);
    return rc;
}

void stp_pages_shrink(struct stp_space *space)
{
    struct pages *pages = space->own;
    size_t had = pages_whole(space->nbytes);

    if (pages->map_bytes != had) pages_shrink_to(space, pages, had);
}

/* Policy and advice go with the mapping. */
void stp_pages_destroy(struct stp_space *space)
{
    struct pages *pages = space->own;

    stp_window_release(space->offset, pages->map_bytes);
    close(pages->fd);
    free(pages->peers);
    free(pages);
    space->own = NULL;
}
