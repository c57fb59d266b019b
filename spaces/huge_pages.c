/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host memory with a page size that the program chose. Page sizes and madvise() settings belong to
 * a file or to its mappings. Each PE's part is therefore a separate file, which is mapped outside
 * the window. The kernel can use pages of another size, so the real page size is read from
 * /proc/self/smaps. Design: docs/design/memory.md.
 */
#include "spaces/space_registry.h"

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

/* Data of one space with a chosen page size (space->kind_data). */
struct pages {
    int fd;
    size_t unit; /* the size of the file is a multiple of this number */
    size_t map_bytes;
    bool reserved;     /* whether the pages are reserved huge pages (hugetlb) */
    size_t page_bytes; /* page size that the program requested */
};

/*
 * Returns the value, in kB, of a field in /proc/self/smaps for the mapping that contains addr.
 * Returns 0 on failure.
 */
static size_t pages_smaps(const void *addr, const char *field)
{
    FILE *smaps = fopen("/proc/self/smaps", "re");
    size_t len = strlen(field);
    unsigned long first, last, found = 0;
    bool in_mapping = false, finished = false;
    char line[512];

    if (smaps == NULL) return 0;
    while (!finished && fgets(line, sizeof(line), smaps) != NULL) {
        if (sscanf(line, "%lx-%lx ", &first, &last) == 2) {
            finished = in_mapping;
            in_mapping = first <= (uintptr_t)addr && (uintptr_t)addr < last;
        } else if (in_mapping && strncmp(line, field, len) == 0) {
            found = strtoul(line + len, NULL, 10);
            finished = true;
        }
    }
    fclose(smaps);
    return found;
}

/*
 * Returns the page size of the part at base. For a file on hugetlbfs, the kernel always reports the
 * page size. For any other file, the function first touches a page, because the kernel reports only
 * huge pages that it has already allocated.
 */
static size_t pages_measure(const char *base)
{
    size_t kernel = pages_smaps(base, "KernelPageSize:");

    if (kernel * 1024 >= STP_PAGES_HUGE) return kernel * 1024;
    (void)*(const volatile char *)base;
    return pages_smaps(base, "ShmemPmdMapped:") > 0 ? STP_PAGES_HUGE
                                                    : (size_t)sysconf(_SC_PAGESIZE);
}

static size_t pages_round_up(const struct pages *pages, size_t nbytes)
{
    return (nbytes + pages->unit - 1) & ~(pages->unit - 1);
}

/*
 * Creates the file of this PE's part and maps it. Returns 0, or -errno without logging. After an
 * error nothing has changed.
 */
static int pages_map(struct stp_space *space, struct pages *pages, size_t unit, unsigned flags,
                     struct stp_part_export *share)
{
    int fd = memfd_create("steppe-pages", MFD_CLOEXEC | flags), rc;

    if (fd < 0) return -errno;
    pages->unit = unit;
    pages->map_bytes = pages_round_up(pages, space->nbytes);
    rc = stp_file_resize(fd, pages->map_bytes);
    if (rc == 0)
        rc = stp_own_file_map_own_part(space, fd, 0, pages_round_up(pages, space->max_bytes),
                                       pages->map_bytes, 0, share);
    if (rc == 0)
        pages->fd = fd;
    else
        close(fd);
    return rc;
}

static void pages_unmap(struct stp_space *space, const struct pages *pages)
{
    stp_own_file_destroy(space);
    close(pages->fd);
}

/*
 * Allocates the pages of the bytes [start, end) of the part. The pages are allocated now, because a
 * later access to a page causes SIGBUS if no reserved page is free. Before Linux 5.14, the pages
 * can come from any NUMA node. Returns 0, or -errno without logging.
 */
static int pages_allocate(const struct stp_space *space, const struct pages *pages, size_t start,
                          size_t end)
{
    if (madvise(space->base + start, end - start, MADV_POPULATE_WRITE) == 0) return 0;
    if (errno == EFAULT) return -ENOMEM; /* EFAULT means that no page is free */
    if (errno != EINVAL) return -errno;
    return fallocate(pages->fd, 0, (off_t)start, (off_t)(end - start)) == 0 ? 0 : -errno;
}

/*
 * Maps huge pages of unit bytes on the chosen NUMA nodes. The pages come from the pool that the
 * administrator has reserved. Returns 0, or -errno without logging.
 */
static int pages_map_reserved(struct stp_space *space, struct pages *pages,
                              const struct stp_space_params *params, size_t unit,
                              struct stp_part_export *share)
{
    unsigned size = unit == STP_PAGES_GIANT ? MFD_HUGE_1GB : MFD_HUGE_2MB;
    int rc = pages_map(space, pages, unit, MFD_HUGETLB | size, share);

    if (rc != 0) return rc;
    stp_numa_apply(space, params, pages->map_bytes);
    rc = pages_allocate(space, pages, 0, pages->map_bytes);
    pages->reserved = rc == 0;
    if (rc != 0) pages_unmap(space, pages);
    return rc;
}

/*
 * Maps ordinary shared memory. Advises the kernel to use huge pages, or not to use them, depending
 * on the requested page size. Returns 0, or -errno without logging.
 */
static int pages_map_advised(struct stp_space *space, struct pages *pages,
                             const struct stp_space_params *params, struct stp_part_export *share)
{
    bool huge = params->page_bytes >= STP_PAGES_HUGE;
    int rc = pages_map(space, pages, STP_PAGES_HUGE, 0, share);

    if (rc != 0) return rc;
    stp_numa_apply(space, params, pages->map_bytes);
    madvise(space->base, pages->map_bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return 0;
}

/*
 * Maps the best pages that are available. Tries reserved pages of the requested size first, then
 * reserved pages of 2 MiB, and finally ordinary memory. Sets *first_error to the error of the first
 * attempt, or to 0. Returns 0, or -errno without logging.
 */
static int pages_map_best(struct stp_space *space, struct pages *pages,
                          const struct stp_space_params *params, struct stp_part_export *share,
                          int *first_error)
{
    *first_error = 0;
    if (params->page_bytes >= STP_PAGES_HUGE) {
        *first_error = pages_map_reserved(space, pages, params, params->page_bytes, share);
        if (*first_error == 0) return 0;
    }
    if (params->page_bytes == STP_PAGES_GIANT &&
        pages_map_reserved(space, pages, params, STP_PAGES_HUGE, share) == 0)
        return 0;
    return pages_map_advised(space, pages, params, share);
}

static void pages_warn_size(size_t requested, size_t actual, int first_error)
{
    char requested_text[STP_SIZE_TEXT], actual_text[STP_SIZE_TEXT];

    if (actual == requested) return;
    stp_warn("attr->page_size is %s, but the space has pages of %s, because reserved huge pages "
             "are not available (%s; see /sys/kernel/mm/hugepages/hugepages-%zukB/nr_hugepages)%s",
             stp_size_exact(requested, requested_text), stp_size_exact(actual, actual_text),
             stp_errno_text(-first_error), requested / 1024,
             actual >= STP_PAGES_HUGE
                 ? ""
                 : ", and the kernel does not use huge pages for shared memory "
                   "(see /sys/kernel/mm/transparent_hugepage/shmem_enabled)");
}

int stp_huge_pages_create(struct stp_space *space, const struct stp_space_params *params,
                          struct stp_part_export *share)
{
    struct pages *pages = calloc(1, sizeof(*pages));
    int rc, first_error;

    if (pages == NULL) return -ENOMEM;
    pages->page_bytes = params->page_bytes;
    rc = pages_map_best(space, pages, params, share, &first_error);
    if (rc != 0) {
        stp_error("cannot map %zu bytes of memory for a space: %s", space->nbytes,
                  stp_errno_text(-rc));
        free(pages);
        /*
         * Do not return -EEXIST, because the caller would assume a conflict with another thread and
         * try again.
         */
        return rc == -EEXIST ? -EINVAL : rc;
    }
    space->kind_data = pages;
    space->device = -1;
    space->page_bytes = pages_measure(space->base);
    pages_warn_size(params->page_bytes, space->page_bytes, first_error);
    return 0;
}

/* ---- growth ---------------------------------------------------------------------------------- */

/*
 * Prepares the memory that this PE's part has gained by growth. The argument new_bytes is the new
 * size of the part. Sets the NUMA policy of the memory. Then allocates reserved pages, or advises
 * the kernel about huge pages. Returns 0, or -errno without logging.
 */
static int pages_prepare_growth(struct stp_space *space, const struct pages *pages,
                                size_t new_bytes)
{
    size_t old_bytes = pages->map_bytes;

    stp_numa_extend(space, space->base + old_bytes, new_bytes - old_bytes);
    if (pages->reserved) return pages_allocate(space, pages, old_bytes, new_bytes);
    madvise(space->base + old_bytes, new_bytes - old_bytes,
            pages->page_bytes >= STP_PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return 0;
}

static void pages_shrink_to(struct stp_space *space, struct pages *pages, size_t nbytes)
{
    pages->map_bytes = nbytes;
    stp_own_file_undo_grow(space, nbytes);
}

int stp_huge_pages_grow(struct stp_space *space, size_t new_nbytes)
{
    struct pages *pages = space->kind_data;
    size_t old_bytes = pages->map_bytes, new_bytes = pages_round_up(pages, new_nbytes);
    int rc;

    if (new_bytes == old_bytes) return 0;
    rc = stp_own_file_grow(space, new_bytes);
    if (rc != 0) return rc;
    rc = pages_prepare_growth(space, pages, new_bytes);
    if (rc == 0)
        pages->map_bytes = new_bytes;
    else
        pages_shrink_to(space, pages, old_bytes);
    return rc;
}

void stp_huge_pages_undo_grow(struct stp_space *space)
{
    struct pages *pages = space->kind_data;
    size_t old_bytes = pages_round_up(pages, space->nbytes);

    if (pages->map_bytes != old_bytes) pages_shrink_to(space, pages, old_bytes);
}

/*
 * Does not reset the NUMA policy and the madvise() settings, because they disappear with the file.
 */
void stp_huge_pages_destroy(struct stp_space *space)
{
    struct pages *pages = space->kind_data;

    pages_unmap(space, pages);
    free(pages);
    space->kind_data = NULL;
}
