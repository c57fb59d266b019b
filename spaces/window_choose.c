/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the size and the address of the windows before they are mapped. Design:
 * docs/design/memory.md.
 */
#include "spaces/window_private.h"

#include <errno.h>
#include <sys/mman.h>

/*
 * Default size of a window. It exceeds the memory of usual hosts, so that every space fits. It does
 * not depend on the memory of this host, because all hosts of a job have windows of equal size.
 */
#define WINDOW_DEFAULT ((size_t)4 << 40)
#define WINDOW_LESS ((size_t)64 << 30)  /* size to try if the default size fails */
#define WINDOW_MODEST ((size_t)4 << 30) /* size to try next, unless the heap needs more */
#define WINDOW_MIN ((size_t)64 << 20)   /* smallest size to try */
/* Maximum size of a view: a quarter of the user address space, plus the gaps of 4096 parts. */
#define VIEW_MAX (((size_t)1 << 45) + 4096 * STP_WINDOW_SKEW)

/*
 * Base addresses of windows, which are tried in this order. Large windows are placed between the
 * shadow memory of AddressSanitizer and the addresses of executables. Other windows are placed at
 * high addresses, away from libraries, stacks, the brk heap and the shadow memory of
 * ThreadSanitizer.
 */
static const uintptr_t large_bases[] = {0x200000000000u, 0x280000000000u, 0x300000000000u};
static const uintptr_t window_bases[] = {0x7e9000000000u, 0x7e1000000000u, 0x7d9000000000u};
_Static_assert(STP_COUNT(large_bases) == STP_COUNT(window_bases),
               "both tables must have the same length");

void *stp_window_reserve_at(uintptr_t base, size_t nbytes, int fd, off_t file_offset)
{
    int flags = MAP_NORESERVE | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
    void *addr;

    if (base != 0) flags |= MAP_FIXED_NOREPLACE;
    addr = mmap((void *)base, nbytes, PROT_NONE, flags, fd, file_offset);
    if (addr == MAP_FAILED) return NULL;
    if (base != 0 && (uintptr_t)addr != base) { /* Linux before 4.17 ignores MAP_FIXED_NOREPLACE */
        munmap(addr, nbytes);
        return NULL;
    }
    return addr;
}

void *stp_window_reserve_aligned(size_t bytes_past_align, size_t nbytes, int fd, off_t file_offset)
{
    size_t room = bytes_past_align + nbytes + STP_WINDOW_ALIGN;
    char *reserved = stp_window_reserve_at(0, room, -1, 0);
    uintptr_t base = ((uintptr_t)reserved + STP_WINDOW_ALIGN - 1) & ~(STP_WINDOW_ALIGN - 1);

    if (reserved == NULL) return NULL;
    munmap(reserved, room);
    return stp_window_reserve_at(base + bytes_past_align, nbytes, fd, file_offset);
}

void *stp_window_map_somewhere(uintptr_t hint, size_t nbytes, int fd, off_t file_offset)
{
    const uintptr_t *bases = nbytes > WINDOW_LESS ? large_bases : window_bases;
    void *addr = hint != 0 ? stp_window_reserve_at(hint, nbytes, fd, file_offset) : NULL;

    for (size_t i = 0; i < STP_COUNT(window_bases) && addr == NULL; i++)
        addr = stp_window_reserve_at(bases[i], nbytes, fd, file_offset);
    return addr != NULL ? addr : stp_window_reserve_aligned(0, nbytes, fd, file_offset);
}

size_t stp_window_stride(const struct stp_window_layout *layout)
{
    return layout->nbytes + STP_WINDOW_SKEW;
}

size_t stp_window_view_bytes(const struct stp_window_layout *layout)
{
    return stp_window_stride(layout) * (size_t)layout->n_local;
}

/*
 * Returns whether the address space has room for a window and a view. Sets layout->base to an
 * address at which the window fits. The test maps the window first, because otherwise the kernel
 * could place the view at the window's base addresses.
 */
static bool window_fits(struct stp_window_layout *layout)
{
    size_t view_bytes = stp_window_view_bytes(layout);
    void *own_window, *view;

    if (view_bytes > VIEW_MAX) return false;
    own_window = stp_window_map_somewhere(0, layout->nbytes, -1, 0);
    view = own_window != NULL ? stp_window_reserve_at(0, view_bytes, -1, 0) : NULL;
    layout->base = (uintptr_t)own_window;
    if (own_window != NULL) munmap(own_window, layout->nbytes);
    if (view != NULL) munmap(view, view_bytes);
    return view != NULL;
}

size_t stp_window_data_segment_bytes(void)
{
    return (stp_data_segment.nbytes + STP_RANGE_ALIGN - 1) & ~(STP_RANGE_ALIGN - 1);
}

/* Returns the smallest power of two that is not below nbytes, or 2^63 for larger values. */
static size_t window_power_up(size_t nbytes)
{
    size_t power = 1;

    while (power < nbytes && power <= SIZE_MAX / 4)
        power *= 2;
    return power;
}

/* Returns the next window size to try after a window of nbytes bytes could not be reserved. */
static size_t window_next_size(size_t nbytes, size_t requested, size_t moderate)
{
    size_t smaller = moderate > WINDOW_LESS ? moderate : WINDOW_LESS;

    if (requested != 0) return nbytes / 2;
    if (nbytes > smaller) return smaller;
    /* Try the moderate size next, because valgrind takes long to reserve large sizes. */
    return nbytes > moderate ? moderate : nbytes / 2;
}

int stp_window_choose(int n_local, size_t heap_bytes, size_t requested,
                      struct stp_window_layout *layout)
{
    size_t data_bytes =
        heap_bytes > SIZE_MAX / 4 ? heap_bytes : heap_bytes + stp_window_data_segment_bytes();
    size_t min_bytes = window_power_up(data_bytes > VIEW_MAX ? VIEW_MAX : data_bytes * 2);
    size_t moderate = 4 * min_bytes > WINDOW_MODEST ? 4 * min_bytes : WINDOW_MODEST;
    size_t nbytes = requested != 0 ? window_power_up(requested) : WINDOW_DEFAULT;

    if (requested == 0 && nbytes < 2 * min_bytes) nbytes = 2 * min_bytes;
    layout->n_local = n_local;
    if (nbytes > VIEW_MAX) nbytes = VIEW_MAX;
    while (nbytes > WINDOW_MIN && (nbytes + STP_WINDOW_SKEW) * (size_t)n_local > VIEW_MAX)
        nbytes /= 2;
    while (nbytes >= WINDOW_MIN && nbytes >= min_bytes) {
        layout->nbytes = nbytes;
        if (window_fits(layout)) return 0;
        nbytes = window_next_size(nbytes, requested, moderate);
    }
    stp_error("no address space for the symmetric memory of a node (number of PEs: %d; heap of "
              "each PE: %zu bytes; globals and statics of each PE: %zu bytes): lower "
              "SHMEM_SYMMETRIC_SIZE, or raise %s",
              n_local, heap_bytes, stp_data_segment.nbytes,
              requested != 0 && window_power_up(requested) < min_bytes
                  ? "SHMEM_WINDOW_SIZE"
                  : "the limit on virtual memory (ulimit -v)");
    return -ENOMEM;
}
