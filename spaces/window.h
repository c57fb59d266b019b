/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The window, the view and the data segment. The window is the mapping in which this PE accesses
 * its own part of the node's file. The view is a mapping of the parts of all PEs of the node. This
 * PE computes the address of a peer's object in the view by arithmetic. The data segment has the
 * globals and statics of the executable. Design: docs/design/memory.md.
 */
#ifndef STP_WINDOW_H
#define STP_WINDOW_H

#include "base/base.h"

#include <signal.h>

/* ---- window and view ---------------------------------------------------- */

/*
 * All data that stp_ptr_inline() reads, in one cache line. Only window.c writes the data, during
 * initialization and finalization. The fields top, amo_top and end also change when a space is
 * created, grows or is destroyed, and when the last part of the view is opened. The layout of the
 * fields from base to ordered must not change, because inline functions in programs read them
 * (struct shmemx_view_v1 in include/shmemx_inline.h).
 */
struct stp_window {
    uintptr_t base; /* address of this PE's window */
    /*
     * stp_ptr_inline() accepts offsets below this limit. The limit is the field end if all parts of
     * the view are open, else 0.
     */
    size_t top;
    /*
     * stp_ptr_inline() accepts offsets of atomics below this limit. The limit is the field top, or
     * 0 if atomics use the fabric.
     */
    size_t amo_top;
    char *view;    /* address of the view */
    size_t stride; /* distance between two parts in the view: window size + STP_WINDOW_SKEW */
    int first_pe;  /* world number of the PE with local index 0 */
    /*
     * Number of PEs on this node. 0 if their world numbers are not contiguous, or if SHMEM_CHECK=1.
     */
    int n_local;
    int n_plain;      /* n_local, or 0 if buffers of the program can be device memory */
    int ordered;      /* whether a CPU fence orders all operations (no fabric, no devices) */
    int n_view;       /* number of PEs on this node, and of parts in the view */
    bool cpu_atomics; /* whether CPUs perform atomics; if not, the fabric performs them */
    bool devices;     /* whether buffers can be memory that the CPU must not access */
    size_t end;       /* first offset after the last space; used by the slow path */
} STP_ALIGNED_LINE;

extern struct stp_window stp_win;

/*
 * Returns stp_win.top. If another thread is changing the field, both the old and the new value are
 * valid.
 */
static inline size_t stp_window_top(void)
{
    return __atomic_load_n(&stp_win.top, __ATOMIC_RELAXED);
}

static inline size_t stp_window_amo_top(void)
{
    return __atomic_load_n(&stp_win.amo_top, __ATOMIC_RELAXED);
}

static inline size_t stp_window_end(void)
{
    return __atomic_load_n(&stp_win.end, __ATOMIC_RELAXED);
}

/*
 * Size of the gap between two parts in the view. Without the gap, the copies of an object on
 * different PEs would have equal low address bits. AMD CPUs copy between addresses with equal
 * low bits at half the speed, because they use these bits to predict where the data is cached.
 *
 * The gap is 37 x 2 MiB. A multiple of 2 MiB allows large pages. Because 37 is odd, the addresses
 * of an object in up to 128 parts and in the window differ in the bits below 256 MiB. Two arrays at
 * a distance of 74 MiB can have equal low bits in different parts, but this distance is rare.
 */
#define STP_WINDOW_SKEW ((size_t)37 << 21)

/* Returns the address of a local PE's part in the view. */
static inline char *stp_window_part(int local)
{
    return stp_win.view + (size_t)(unsigned)local * stp_win.stride;
}

/* The intended use of a peer's address. */
enum stp_use {
    STP_USE_ACCESS, /* load or store by this CPU */
    STP_USE_COPY,   /* copy to or from a buffer of the program, which can be device memory */
    STP_USE_ATOMIC, /* atomic operation by this CPU, if CPUs perform the job's atomics */
};

/*
 * Returns the address at which this PE can access the copy of a symmetric object on another PE, or
 * NULL if the caller must take the slow path. addr is the address of the object on this PE, pe is a
 * valid world number, and purpose is a compile-time constant.
 */
static inline __attribute__((always_inline)) void *stp_ptr_inline(const void *addr, int pe,
                                                                  enum stp_use purpose)
{
    size_t offset = (uintptr_t)addr - stp_win.base;
    size_t top = purpose == STP_USE_ATOMIC ? stp_window_amo_top() : stp_window_top();
    unsigned n = (unsigned)(purpose == STP_USE_COPY ? stp_win.n_plain : stp_win.n_local);
    unsigned local = (unsigned)(pe - stp_win.first_pe);

    if (STP_LIKELY(offset < top && local < n)) {
        char *peer_addr = stp_window_part((int)local) + offset;
        if (peer_addr == NULL) __builtin_unreachable(); /* saves callers a comparison with NULL */
        return peer_addr;
    }
    return NULL;
}

/* Size of the largest object in the window whose end is not checked. */
#define STP_UNCHECKED_BYTES 4096

/*
 * Returns whether nbytes bytes at addr, an address that stp_ptr_inline() has accepted, end before
 * the end of the last space. If not, the slow path reports a size that is far too large. Small
 * transfers are not checked, because the check would take a tenth of their time.
 */
static inline __attribute__((always_inline)) bool stp_window_fits(const void *addr, size_t nbytes)
{
    return STP_LIKELY(nbytes <= STP_UNCHECKED_BYTES) ||
           nbytes <= stp_window_top() - ((uintptr_t)addr - stp_win.base);
}

/* Layout of the node's file. The leader of the node chooses the layout for all PEs of the node. */
struct stp_window_layout {
    size_t nbytes;     /* size of a window and of a part; a power of two */
    uintptr_t base;    /* preferred address of the windows, or 0 for any address */
    int n_local;       /* number of parts, one for each PE of the node */
    size_t area_bytes; /* size of the node's area (the library's data) after the last part */
};

/*
 * Chooses the size and the address of the windows for n_local PEs with symmetric heaps of
 * heap_bytes bytes. First tries the size requested, rounded up to a power of two, or a default size
 * if requested is 0. Then tries smaller sizes until the address space has room. Returns 0, or
 * -ENOMEM after logging.
 */
int stp_window_choose(int n_local, size_t heap_bytes, size_t requested,
                      struct stp_window_layout *layout);

/*
 * Creates a memfd and returns its descriptor, or -errno without logging. The memfd is not
 * executable if the kernel supports such memfds.
 */
int stp_memory_file(const char *name);

/* Creates the node's file, a sparse memfd. Returns its descriptor, or -errno after logging. */
int stp_window_create_file(const struct stp_window_layout *layout);

/*
 * Maps the node's file, fd, as this PE's window and as the view. The window is a mapping of the
 * part with index local. Both mappings are inaccessible until stp_window_commit(). The caller can
 * close fd afterwards. Returns 0, or -errno after logging.
 */
int stp_window_reserve(const struct stp_window_layout *layout, int fd, int local);
void stp_window_close(void);

/*
 * Sets the PEs for which stp_ptr_inline() can return addresses. These are the n_local PEs with
 * contiguous world numbers from first_pe on. stp_window_close() undoes this setting.
 */
void stp_window_set_peers(int first_pe, int n_local);
/*
 * Sets whether CPUs may perform the atomics of this job. The default is true. CPUs must not perform
 * atomics if the fabric's atomics are not atomic with respect to CPU atomics.
 */
void stp_window_set_cpu_atomics(bool allowed);
/*
 * Sets whether the program can use device memory. Must be called after stp_window_reserve(), which
 * resets this setting.
 */
void stp_window_set_devices(bool enabled);

/* Sets whether the job uses a fabric. The default is true. */
void stp_window_set_fabric(bool enabled);

/*
 * Returns whether addr is in this PE's window or view. Sets *local to -1 if addr is in the window,
 * or to the local index of the part in the view. Sets *offset to the offset in the window or part.
 */
bool stp_window_locate(const void *addr, size_t *offset, int *local);

/* Returns the size of the view. The node's area begins at this offset in the node's file. */
size_t stp_window_view_bytes(const struct stp_window_layout *layout);

/*
 * Maps the node's area, which is at the end of the node's file. Returns NULL after logging if this
 * fails.
 */
void *stp_window_map_node_area(const struct stp_window_layout *layout, int fd);

/* Returns the lowest memory limit of this process's cgroups, or SIZE_MAX if there is no limit. */
size_t stp_cgroup_memory(void);
/* Returns the lowest CPU limit in whole cores, at least 1, or SIZE_MAX if there is no limit. */
size_t stp_cgroup_cores(void);

/* Returns the size of the window. */
size_t stp_window_reserved_bytes(void);
/*
 * Returns the number of bytes of the window that spaces can use. In the view, the rest of each part
 * is used for the data segment of the part's PE.
 */
size_t stp_window_bytes_for_spaces(void);

#define STP_WINDOW_ALIGN ((size_t)1 << 30) /* alignment of windows; largest alignment of spaces */
#define STP_RANGE_ALIGN ((size_t)2 << 20)  /* alignment of the range of each space */

/*
 * Finds nbytes free bytes of the window on this PE. Returns the lowest suitable offset that is not
 * below min_offset. The offset is a multiple of align, which must be a multiple of STP_RANGE_ALIGN.
 * An unused gap remains between these bytes and the ranges before and after them.
 * Returns SIZE_MAX if there is no such offset.
 */
size_t stp_window_find(size_t nbytes, size_t align, size_t min_offset);

/*
 * Takes the range [offset, offset + reserved) of the window for a space. Makes the first nbytes
 * bytes accessible and reserves the rest for growth. Returns 0, or -EEXIST without logging if
 * another thread has taken the range, or -ENOMEM without logging if malloc() fails. If the memory
 * cannot be made accessible, returns -errno after logging.
 */
int stp_window_commit(size_t offset, size_t nbytes, size_t reserved);

/*
 * Makes the first nbytes bytes of the range at offset accessible in the window, and in each open
 * part of the view that has this range. nbytes is at most the reserved size of the range. Does
 * nothing if they are accessible. Returns 0, or -errno without logging. After an error nothing has
 * changed.
 */
int stp_window_grow(size_t offset, size_t nbytes);
/*
 * Undoes stp_window_grow(). Reduces a range to kept_nbytes bytes, its size before the growth. The
 * added memory must be unused.
 */
void stp_window_undo_grow(size_t offset, size_t kept_nbytes);

/*
 * Records that the part of a local PE has the range at offset. The range becomes accessible in the
 * view when the part is opened, or at once if the part is open. Returns 0, or -errno after logging.
 */
int stp_window_add_peer_range(size_t offset, int local);

/*
 * Opens the part of a local PE, which can be this PE. All its ranges, including later ones, become
 * accessible in the view. Must be called before an address from stp_window_part() is used. The call
 * is fast if the part is open. After many calls, all parts are opened, because stp_ptr_inline()
 * returns addresses only if all parts are open. Returns 0, or -errno after logging. Any thread may
 * call this function.
 */
int stp_window_open_peer(int local);

/* Returns the local index of this PE. */
int stp_window_local(void);

/*
 * Releases the range at offset. The range becomes inaccessible, and the pages of this PE's part are
 * freed.
 */
void stp_window_release(size_t offset, size_t nbytes);

/*
 * After this call, stp_window_release() leaves ranges accessible. Called in finalization, because
 * the window will soon be unmapped.
 */
void stp_window_stop_reprotecting(void);

/* Returns the address of the given offset in this PE's window. */
static inline char *stp_window_at(size_t offset)
{
    return (char *)(stp_win.base + offset);
}

/* ---- data segment ------------------------------------------------------- */

/* Maximum number of parts of the data segment. Without linker scripts there are one or two. */
#define STP_SEGMENT_PARTS 64

/* A part of the data segment: contiguous writable pages of the executable. */
struct stp_data_segment_part {
    char *base;         /* first byte, aligned to a page */
    size_t nbytes;      /* size in whole pages */
    size_t file_offset; /* offset in the memfd, which has an unused page between two parts */
};

/*
 * The data segment, which has the globals and statics of the executable. Before main(), a
 * constructor of the library moves them to shared memory without changing their addresses. After
 * that, this structure does not change.
 */
struct stp_data_segment {
    /* Parts in ascending order of addresses. The first part has offset 0. */
    struct stp_data_segment_part parts[STP_SEGMENT_PARTS];
    /* Number of parts, or 0 if the executable has no writable memory. */
    unsigned n_parts;
    size_t nbytes; /* size of the memfd: all parts, and the unused pages between them */
    int fd;        /* memfd of the segment, or -1 if the segment is private */
    const char *private_reason; /* reason why the segment is private, or NULL if it is shared */
    uint64_t layout; /* hash of program headers and build ID; equal for equal executables */
    uint64_t shape;  /* hash of the parts' sizes and offsets from the load address */
};

extern struct stp_data_segment stp_data_segment;

/* Returns the part of the data segment that contains addr, or NULL. */
const struct stp_data_segment_part *stp_data_segment_part_slow(const void *addr) STP_COLD;

/* Returns whether addr is in the data segment. If so, sets *offset to its offset in the segment. */
static inline bool stp_data_segment_offset(const void *addr, size_t *offset)
{
    const struct stp_data_segment_part *part;

    *offset = (size_t)((const char *)addr - stp_data_segment.parts[0].base);
    if (STP_LIKELY(*offset < stp_data_segment.parts[0].nbytes)) return true;
    if (stp_data_segment.n_parts <= 1) return false;
    part = stp_data_segment_part_slow(addr);
    if (part != NULL) *offset = part->file_offset + (size_t)((const char *)addr - part->base);
    return part != NULL;
}

/*
 * Returns the address, in this process, of the given offset in a local peer's data segment. The
 * first call maps the segment, which is file descriptor fd of process pid. Returns NULL after
 * logging if this fails. Returns NULL without logging if local is 4096 or more. Any thread may call
 * this function.
 */
void *stp_data_segment_reach(int local, pid_t pid, int fd, size_t offset);
/* Forgets the mappings of peers' data segments. Called in finalize before the view is unmapped. */
void stp_data_segment_reset_peer_maps(void);

/*
 * Returns the address of one contiguous mapping of this PE's data segment, for the fabric. If the
 * segment has several parts, maps all of them once more, in the view. Returns NULL after logging if
 * this fails.
 */
char *stp_data_segment_alias_whole(void);

/* Writes the parts' address ranges to text, for example "0x1000..0x3000, 0x8000..0x9000". */
const char *stp_data_segment_format(char *text, size_t len);

/*
 * Describes the library or executable that contains addr, for a message about an address that is
 * not symmetric. For a variable of a library, the text also says how to make the variable
 * symmetric. Returns false if addr is in no library and not in the executable.
 */
bool stp_describe_loaded_object_addr(const void *addr, char *text, size_t len);

#endif /* STP_WINDOW_H */
