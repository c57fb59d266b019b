/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The window and the view. Both are mappings of the node's file, a sparse memfd, and are created
 * once. A space makes its range of these mappings accessible with mprotect(). When the space is
 * destroyed, the range becomes inaccessible and a hole is punched in the file. Design:
 * docs/design/memory.md.
 */
#include "base/oshrun_inspect.h"
#include "spaces/window_private.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define RANGE_GUARD ((size_t)64 << 10)

/*
 * At first, stp_window_open_peer() opens only the part of the view that its caller needs. After
 * OPEN_ALL_FACTOR * n_local calls for parts that are already open, it opens all parts.
 */
#define OPEN_ALL_FACTOR 16

struct window_range {
    size_t offset, nbytes;
    size_t reserved;   /* size up to which the range can grow, or nbytes */
    uint64_t *members; /* bit set of the local PEs whose parts have this range */
};

static struct {
    size_t nbytes;   /* size of the window */
    size_t capacity; /* number of bytes of the window that spaces can use */
    int local;       /* local index of this PE */
    bool no_fabric;  /* whether the job uses no fabric */
    int fd;          /* descriptor of the node's file, for punching holes */
    /* All parts of the view are opened when n_open_calls reaches this number. Never if 0. */
    unsigned open_all_calls;
    unsigned n_open_calls; /* approximate number of stp_window_open_peer() calls for open parts */
    bool finalizing;       /* whether released ranges stay accessible (true in finalization) */
    pthread_mutex_t lock;  /* guards the fields below */
    bool *open;            /* whether each part of the view is open; also read without the lock */
    int n_open;
    struct window_range *ranges; /* ranges in use, in ascending order of offsets */
    size_t n_ranges, max_ranges;
} window = {.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

struct stp_window stp_win;

int stp_memory_file(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);

    if (fd < 0 && errno == EINVAL) fd = memfd_create(name, MFD_CLOEXEC); /* Linux before 6.3 */
    return fd >= 0 ? fd : -errno;
}

int stp_window_create_file(const struct stp_window_layout *layout)
{
    size_t nbytes = stp_window_view_bytes(layout) + layout->area_bytes;
    int fd = stp_memory_file(STP_NODE_FILE), rc;

    if (fd < 0) {
        stp_error("cannot create a file for symmetric memory: memfd_create: %s",
                  stp_errno_text(-fd));
        return fd;
    }
    rc = stp_file_resize(fd, nbytes);
    if (rc != 0) {
        stp_error("cannot create a sparse file of %zu bytes for symmetric memory: %s; lower "
                  "SHMEM_WINDOW_SIZE to make the file smaller",
                  nbytes, stp_errno_text(-rc));
        close(fd);
        return rc;
    }
    return fd;
}

void *stp_window_map_node_area(const struct stp_window_layout *layout, int fd)
{
    off_t file_offset = (off_t)stp_window_view_bytes(layout);
    void *area =
        mmap(NULL, layout->area_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, file_offset);

    if (area != MAP_FAILED) return area;
    stp_error("cannot map the %zu bytes of control data that the PEs of this node share: %s",
              layout->area_bytes, strerror(errno));
    return NULL;
}

int stp_window_reserve(const struct stp_window_layout *layout, int fd, int local)
{
    size_t nbytes = layout->nbytes, view_bytes = stp_window_view_bytes(layout);
    size_t segment_bytes = stp_window_data_segment_bytes();
    off_t file_offset = (off_t)((size_t)local * stp_window_stride(layout));
    void *own_window, *view;

    if (segment_bytes > nbytes / 2) {
        stp_error("globals and statics take %zu bytes, which is more than half of the address "
                  "space of %zu bytes for symmetric memory: raise SHMEM_WINDOW_SIZE",
                  stp_data_segment.nbytes, nbytes);
        return -ENOMEM;
    }
    window.open = calloc((size_t)layout->n_local, sizeof(*window.open));
    if (window.open == NULL) goto err_errno;
    window.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (window.fd < 0) goto err_open;
    own_window = stp_window_map_somewhere(layout->base, nbytes, fd, file_offset);
    if (own_window == NULL) goto err_fd;
    /*
     * If the address space has room, align the view for large pages and DAX devices. Shift its
     * start by STP_WINDOW_SKEW from the aligned address. The addresses of an object in the view and
     * in the window then differ in the low bits.
     */
    view = stp_window_reserve_aligned(STP_WINDOW_SKEW, view_bytes, fd, 0);
    if (view == NULL) view = stp_window_reserve_at(0, view_bytes, fd, 0);
    if (view == NULL) goto err_window;
    madvise(view, view_bytes, MADV_DONTDUMP);
    madvise(own_window, nbytes, MADV_DONTDUMP); /* each space sets MADV_DODUMP for its range */

    window.nbytes = nbytes;
    window.capacity = nbytes - segment_bytes;
    window.local = local;
    stp_win = (struct stp_window){.base = (uintptr_t)own_window,
                                  .view = view,
                                  .stride = stp_window_stride(layout),
                                  .n_view = layout->n_local,
                                  .cpu_atomics = true};
    return 0;

err_window:
    munmap(own_window, nbytes);
err_fd:
    close(window.fd);
    window.fd = -1;
err_open:
    free(window.open);
    window.open = NULL;
err_errno:
    stp_error("cannot reserve %zu bytes of address space for the symmetric memory of each PE of "
              "this node (number of PEs: %d): %s",
              nbytes, layout->n_local, stp_errno_text(errno));
    return -ENOMEM;
}

void stp_window_close(void)
{
    if (window.fd < 0) return;
    munmap((void *)stp_win.base, window.nbytes);
    munmap(stp_win.view, stp_win.stride * (size_t)stp_win.n_view);
    close(window.fd);
    while (window.n_ranges > 0)
        free(window.ranges[--window.n_ranges].members);
    free(window.ranges);
    free(window.open);
    window.ranges = NULL;
    window.open = NULL;
    window.max_ranges = 0;
    window.nbytes = window.capacity = 0;
    window.n_open = 0;
    window.open_all_calls = window.n_open_calls = 0;
    window.finalizing = false;
    window.no_fabric = false;
    window.fd = -1;
    stp_win = (struct stp_window){0};
}

static void window_update_plain(void)
{
    stp_win.n_plain = stp_win.devices ? 0 : stp_win.n_local;
    stp_win.ordered = window.no_fabric && !stp_win.devices;
}

void stp_window_set_peers(int first_pe, int n_local)
{
    stp_win.first_pe = first_pe;
    stp_win.n_local = n_local;
    window.open_all_calls = OPEN_ALL_FACTOR * (unsigned)n_local;
    window_update_plain();
}

void stp_window_set_fabric(bool enabled)
{
    window.no_fabric = !enabled;
    window_update_plain();
}

void stp_window_set_devices(bool enabled)
{
    stp_win.devices = enabled;
    window_update_plain();
}

size_t stp_window_reserved_bytes(void)
{
    return window.nbytes;
}

size_t stp_window_bytes_for_spaces(void)
{
    return window.capacity;
}

bool stp_window_locate(const void *addr, size_t *offset, int *local)
{
    size_t diff = (uintptr_t)addr - stp_win.base;

    if (diff < window.nbytes) {
        *offset = diff;
        *local = -1;
        return true;
    }
    diff = (uintptr_t)addr - (uintptr_t)stp_win.view;
    if (stp_win.view == NULL || diff >= stp_win.stride * (size_t)stp_win.n_view) return false;
    *local = (int)(diff / stp_win.stride);
    *offset = diff % stp_win.stride;
    return true;
}

static size_t window_round(size_t nbytes, size_t align)
{
    return (nbytes + align - 1) & ~(align - 1);
}

size_t stp_window_find(size_t nbytes, size_t align, size_t min_offset)
{
    size_t offset =
        window_round(min_offset > STP_RANGE_ALIGN ? min_offset : STP_RANGE_ALIGN, align);

    if (nbytes > window.capacity) return SIZE_MAX;
    pthread_mutex_lock(&window.lock);
    for (size_t i = 0; i < window.n_ranges; i++) {
        const struct window_range *range = &window.ranges[i];
        if (offset + nbytes + RANGE_GUARD <= range->offset) break;
        if (offset < range->offset + range->reserved + RANGE_GUARD)
            offset = window_round(range->offset + range->reserved + RANGE_GUARD, align);
    }
    pthread_mutex_unlock(&window.lock);
    return offset <= window.capacity - nbytes ? offset : SIZE_MAX;
}

static void window_add_member(struct window_range *range, int local)
{
    range->members[local / 64] |= (uint64_t)1 << local % 64;
}

static bool window_is_member(const struct window_range *range, int local)
{
    return range->members[local / 64] >> local % 64 & 1;
}

static bool window_taken_locked(size_t offset, size_t nbytes)
{
    for (size_t i = 0; i < window.n_ranges; i++) {
        const struct window_range *range = &window.ranges[i];
        if (offset < range->offset + range->reserved && range->offset < offset + nbytes)
            return true;
    }
    return false;
}

static int window_add_range_locked(size_t offset, size_t nbytes, size_t reserved)
{
    size_t i = window.n_ranges;
    uint64_t *members;

    if (window_taken_locked(offset, reserved)) return -EEXIST;
    members = calloc((size_t)stp_win.n_view / 64 + 1, sizeof(*members));
    if (members == NULL) return -ENOMEM;
    if (window.n_ranges == window.max_ranges) {
        size_t max = window.max_ranges ? 2 * window.max_ranges : 16;
        struct window_range *ranges = realloc(window.ranges, max * sizeof(*ranges));
        if (ranges == NULL) {
            free(members);
            return -ENOMEM;
        }
        window.ranges = ranges;
        window.max_ranges = max;
    }
    for (; i > 0 && window.ranges[i - 1].offset > offset; i--)
        window.ranges[i] = window.ranges[i - 1];
    window.ranges[i] = (struct window_range){offset, nbytes, reserved, members};
    window_add_member(&window.ranges[i], window.local);
    window.n_ranges++;
    return 0;
}

/* Returns the range that begins at offset, or NULL. */
static struct window_range *window_range_locked(size_t offset)
{
    for (size_t i = 0; i < window.n_ranges; i++)
        if (window.ranges[i].offset == offset) return &window.ranges[i];
    return NULL;
}

static void window_remove_range_locked(struct window_range *range)
{
    size_t n_after = (size_t)(&window.ranges[window.n_ranges] - (range + 1));

    free(range->members);
    memmove(range, range + 1, n_after * sizeof(*range));
    window.n_ranges--;
}

/*
 * Computes stp_win.end, stp_win.top and stp_win.amo_top again. Meanwhile, stp_ptr_inline() in
 * another thread can read the old or the new limit. Both are correct, because that thread does not
 * have an address in a new range yet.
 */
static void window_update_top_locked(void)
{
    size_t end = 0, top;

    if (window.n_ranges > 0) {
        const struct window_range *last = &window.ranges[window.n_ranges - 1];
        end = last->offset + last->nbytes;
    }
    top = window.n_open == stp_win.n_view ? end : 0;
    __atomic_store_n(&stp_win.end, end, __ATOMIC_RELAXED);
    /*
     * The release order puts these stores after the mprotect() calls for the memory below the new
     * top. No acquire load needs to pair with them, because no thread has an address in a new range
     * yet.
     */
    __atomic_store_n(&stp_win.top, top, __ATOMIC_RELEASE);
    __atomic_store_n(&stp_win.amo_top, stp_win.cpu_atomics ? top : 0, __ATOMIC_RELEASE);
}

void stp_window_set_cpu_atomics(bool allowed)
{
    pthread_mutex_lock(&window.lock);
    stp_win.cpu_atomics = allowed;
    window_update_top_locked();
    pthread_mutex_unlock(&window.lock);
}

/* Frees the pages of the range [offset, offset + nbytes) in this PE's part. */
static void window_punch_locked(size_t offset, size_t nbytes)
{
    off_t file_offset = (off_t)((size_t)window.local * stp_win.stride + offset);

    if (nbytes == 0) return;
    if (fallocate(window.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, file_offset,
                  (off_t)nbytes) != 0)
        stp_warn("cannot free the pages of a destroyed space: fallocate: %s", strerror(errno));
}

int stp_window_local(void)
{
    return window.local;
}

/* ---- parts of the view ------------------------------------------------------------------- */

/*
 * Sets the protection of the bytes [start, end) of a range, in the window and in the open parts of
 * the view. Returns 0 or -errno. Continues after an error if prot is PROT_NONE.
 */
static int window_protect_locked(const struct window_range *range, size_t start, size_t end,
                                 int prot)
{
    size_t offset = range->offset + start, nbytes = end - start;
    int rc = mprotect(stp_window_at(offset), nbytes, prot) == 0 ? 0 : -errno;

    for (int i = 0; i < stp_win.n_view && (rc == 0 || prot == PROT_NONE); i++)
        if (window.open[i] && window_is_member(range, i) &&
            mprotect(stp_window_part(i) + offset, nbytes, prot) != 0)
            rc = -errno;
    madvise(stp_window_at(offset), nbytes, prot == PROT_NONE ? MADV_DONTDUMP : MADV_DODUMP);
    return rc;
}

static int window_make_accessible(char *base, size_t nbytes, const char *description)
{
    int rc;

    if (mprotect(base, nbytes, PROT_READ | PROT_WRITE) == 0) return 0;
    rc = -errno;
    stp_error("cannot make %zu bytes of %s accessible: %s (the sysctl vm.max_map_count limits "
              "the number of mappings)",
              nbytes, description, strerror(-rc));
    return rc;
}

static int window_show_part(const struct window_range *range, int local)
{
    return window_make_accessible(stp_window_part(local) + range->offset, range->nbytes,
                                  "the symmetric memory of a PE of this node");
}

int stp_window_add_peer_range(size_t offset, int local)
{
    struct window_range *range;
    int rc = 0;

    pthread_mutex_lock(&window.lock);
    range = window_range_locked(offset);
    assert(range != NULL);
    window_add_member(range, local);
    if (window.open[local]) rc = window_show_part(range, local);
    pthread_mutex_unlock(&window.lock);
    return rc;
}

/* Opens the part of a local PE, which makes all ranges of the part accessible in the view. */
static int window_open_part_locked(int local)
{
    int rc = 0;

    if (window.open[local]) return 0;
    for (size_t i = 0; i < window.n_ranges && rc == 0; i++) {
        const struct window_range *range = &window.ranges[i];
        if (window_is_member(range, local)) rc = window_show_part(range, local);
    }
    if (rc != 0) return rc;
    /* Pairs with the acquire load in stp_window_open_peer(). */
    __atomic_store_n(&window.open[local], true, __ATOMIC_RELEASE);
    window.n_open++;
    window_update_top_locked();
    return 0;
}

/*
 * Opens all parts of the view, so that stp_ptr_inline() returns addresses in them. This takes time
 * and is useful only for programs that often access other PEs' memory. It is not useful for
 * programs that only start, or that communicate with few PEs.
 */
static STP_COLD int window_open_all(void)
{
    int rc = 0;

    pthread_mutex_lock(&window.lock);
    for (int i = 0; i < stp_win.n_view && rc == 0; i++)
        rc = window_open_part_locked(i);
    pthread_mutex_unlock(&window.lock);
    return rc;
}

int stp_window_open_peer(int local)
{
    unsigned n_calls = __atomic_load_n(&window.n_open_calls, __ATOMIC_RELAXED);
    int rc;

    /* Pairs with the release store in window_open_part_locked(). */
    if (STP_LIKELY(__atomic_load_n(&window.open[local], __ATOMIC_ACQUIRE))) {
        if (n_calls >= window.open_all_calls) return 0;
        __atomic_store_n(&window.n_open_calls, n_calls + 1, __ATOMIC_RELAXED);
        return n_calls + 1 < window.open_all_calls ? 0 : window_open_all();
    }
    pthread_mutex_lock(&window.lock);
    rc = window_open_part_locked(local);
    pthread_mutex_unlock(&window.lock);
    return rc;
}

/* ---- ranges ------------------------------------------------------------------------------ */

/*
 * Makes a new range of the window accessible. If this PE has also mapped its own part in the view
 * of the node's parts, makes the range accessible there, too.
 */
static int window_open_own_locked(const struct window_range *range)
{
    int rc = window_make_accessible(stp_window_at(range->offset), range->nbytes,
                                    "this PE's symmetric memory");

    if (rc == 0) madvise(stp_window_at(range->offset), range->nbytes, MADV_DODUMP);
    return rc == 0 && window.open[window.local] ? window_show_part(range, window.local) : rc;
}

int stp_window_commit(size_t offset, size_t nbytes, size_t reserved)
{
    struct window_range *range;
    int rc;

    pthread_mutex_lock(&window.lock);
    rc = window_add_range_locked(offset, nbytes, reserved);
    if (rc == 0) {
        range = window_range_locked(offset);
        rc = window_open_own_locked(range);
        if (rc != 0) {
            (void)window_protect_locked(range, 0, nbytes, PROT_NONE);
            window_remove_range_locked(range);
        }
        window_update_top_locked();
    }
    pthread_mutex_unlock(&window.lock);
    return rc;
}

/* ---- growth ------------------------------------------------------------------------------ */

int stp_window_grow(size_t offset, size_t nbytes)
{
    struct window_range *range;
    int rc = 0;

    pthread_mutex_lock(&window.lock);
    range = window_range_locked(offset);
    assert(range != NULL && nbytes <= range->reserved);
    if (nbytes > range->nbytes) {
        rc = window_protect_locked(range, range->nbytes, nbytes, PROT_READ | PROT_WRITE);
        if (rc == 0)
            range->nbytes = nbytes;
        else
            (void)window_protect_locked(range, range->nbytes, nbytes, PROT_NONE);
    }
    window_update_top_locked();
    pthread_mutex_unlock(&window.lock);
    return rc;
}

void stp_window_undo_grow(size_t offset, size_t kept_nbytes)
{
    struct window_range *range;
    size_t old_nbytes;

    pthread_mutex_lock(&window.lock);
    range = window_range_locked(offset);
    assert(range != NULL && kept_nbytes <= range->nbytes);
    old_nbytes = range->nbytes;
    range->nbytes = kept_nbytes;
    window_update_top_locked();
    (void)window_protect_locked(range, kept_nbytes, old_nbytes, PROT_NONE);
    window_punch_locked(offset + kept_nbytes, old_nbytes - kept_nbytes);
    pthread_mutex_unlock(&window.lock);
}

void stp_window_release(size_t offset, size_t nbytes)
{
    struct window_range *range;

    pthread_mutex_lock(&window.lock);
    range = window_range_locked(offset);
    assert(range != NULL && range->nbytes <= nbytes); /* the internal space may be partly open */
    if (!window.finalizing) (void)window_protect_locked(range, 0, nbytes, PROT_NONE);
    /*
     * Punch the hole before the range becomes free, because another space can use a free range at
     * once.
     */
    window_punch_locked(offset, nbytes);
    window_remove_range_locked(range);
    window_update_top_locked();
    pthread_mutex_unlock(&window.lock);
}

void stp_window_stop_reprotecting(void)
{
    pthread_mutex_lock(&window.lock);
    window.finalizing = true;
    pthread_mutex_unlock(&window.lock);
}
