/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The window of this PE, the view, in which this PE finds the parts of local PEs by arithmetic, and
 * the data segment of the executable. Design: docs/design/memory.md.
 */
#ifndef STP_WINDOW_H
#define STP_WINDOW_H

#include "base/base.h"

#include <signal.h>

/* ---- window and view ---------------------------------------------------- */

/*
 * All data that stp_ptr_inline() reads, in one cache line. Only window.c writes it: in init and
 * finalize, and (top, amo_top, end) when spaces come and go or the last part opens. The fields up
 * to ordered must not change, because programs inline them (struct shmemx_view_v1 in
 * include/shmemx_inline.h).
 */
struct stp_window {
    uintptr_t base;   /* address of this PE's window */
    size_t top;       /* limit of offsets: end if all parts of the view are open, else 0 */
    size_t amo_top;   /* limit for CPU atomics: top, or 0 if atomics use the fabric */
    char *view;       /* address of the mapped parts of all local PEs */
    size_t stride;    /* distance between parts in the view: window size + STP_WINDOW_SKEW */
    int first_pe;     /* world number of local PE 0 if local PEs are contiguous */
    int n_local;      /* number of PEs for loads and stores; 0 if not contiguous */
    int n_plain;      /* n_local, or 0 if user buffers can be device memory */
    int ordered;      /* whether a CPU fence orders all traffic (no fabric, no devices) */
    int n_view;       /* number of PEs on this node, contiguous or not */
    bool cpu_atomics; /* whether CPUs perform atomics; if not, the fabric does (amo_top 0) */
    bool devices;     /* whether buffers can be memory that the CPU must not access */
    size_t end;       /* first offset after all spaces; for the slow path */
} STP_ALIGNED_LINE;

extern struct stp_window stp_win;

/* Returns top. If spaces come or go meanwhile, the old value is as good as the new one. */
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
 * Gap between parts, so that the copies of an object on two PEs differ in the low address bits.
 * First-level caches that predict the way from these bits (AMD) are half as fast otherwise. The gap
 * is a multiple of 2 MiB for large pages. The multiple is odd, so that 128 parts and the window
 * differ in the bits below 256 MiB. Arrays rarely have this distance.
 */
#define STP_WINDOW_SKEW ((size_t)37 << 21)

/* Returns the address at which this PE maps the part of a local PE. */
static inline char *stp_window_part(int local)
{
    return stp_win.view + (size_t)(unsigned)local * stp_win.stride;
}

/* The intended use of a peer's address. */
enum stp_use {
    STP_USE_ACCESS, /* load or store by this CPU */
    STP_USE_COPY,   /* copy with a buffer of the program, which can be device memory */
    STP_USE_ATOMIC, /* atomic by this CPU, for which a job may need the fabric */
};

/*
 * Returns the address at which this PE maps PE pe's copy of a host symmetric object, or NULL if the
 * slow path must decide. use is a constant; pe is a valid world number.
 */
static inline __attribute__((always_inline)) void *stp_ptr_inline(const void *addr, int pe,
                                                                  enum stp_use use)
{
    size_t offset = (uintptr_t)addr - stp_win.base;
    size_t top = use == STP_USE_ATOMIC ? stp_window_amo_top() : stp_window_top();
    unsigned n = (unsigned)(use == STP_USE_COPY ? stp_win.n_plain : stp_win.n_local);
    unsigned local = (unsigned)(pe - stp_win.first_pe);

    if (STP_LIKELY(offset < top && local < n)) {
        char *there = stp_window_part((int)local) + offset;
        if (there == NULL) __builtin_unreachable(); /* saves callers the comparison */
        return there;
    }
    return NULL;
}

/* Layout of the node's file, which the leader chooses for all PEs of the node. */
struct stp_window_layout {
    size_t nbytes;     /* size of a window and of a part; a power of two */
    uintptr_t base;    /* preferred address of windows, or 0 for any */
    int n_local;       /* number of parts */
    size_t area_bytes; /* size of the node's own area after the last part */
};

/*
 * Chooses size and base for n_local PEs with heaps of heap_bytes: the largest window, up to wanted
 * if it is not 0, that can be reserved. Returns 0, or -ENOMEM after logging.
 */
int stp_window_choose(int n_local, size_t heap_bytes, size_t wanted,
                      struct stp_window_layout *layout);

/*
 * Creates a memfd, not executable where the kernel supports that. Returns its descriptor or -errno.
 */
int stp_memory_file(const char *name);

/* Creates the node's sparse file. Returns a descriptor, or -errno after logging. */
int stp_window_create_file(const struct stp_window_layout *layout);

/*
 * Reserves this PE's window (part local of the file) and the view of all parts, without access
 * until stp_window_commit(). The caller keeps fd. Returns 0, or -errno after logging.
 */
int stp_window_reserve(const struct stp_window_layout *layout, int fd, int local);
void stp_window_close(void);

/*
 * These functions set the assumptions of stp_ptr_inline() until the window is closed: n_local PEs
 * have world numbers from first_pe on, CPU atomics are correct (the default), and memory that the
 * CPU must not access can occur. The last function may be called without a window.
 */
void stp_window_set_peers(int first_pe, int n_local);
void stp_window_set_cpu_atomics(bool right);
void stp_window_set_devices(bool met);

/* Sets whether there is a fabric. The default is that there is one. */
void stp_window_set_fabric(bool used);

/*
 * Returns whether addr is in this PE's window or view. Sets *offset, and *local to the local index
 * of the part, or -1 for the window.
 */
bool stp_window_locate(const void *addr, size_t *offset, int *local);

/* Returns the size of a view, which is the offset of the node's area in the file. */
size_t stp_window_view_bytes(const struct stp_window_layout *layout);

/* Maps the node's area of the file. Returns NULL after logging a failure. */
void *stp_window_map_node_area(const struct stp_window_layout *layout, int fd);

/* Returns the least memory limit of this process's control groups, or SIZE_MAX without a limit. */
size_t stp_cgroup_memory(void);
/* Returns the least CPU limit in whole cores, at least 1, or SIZE_MAX without a limit. */
size_t stp_cgroup_cores(void);

/* stp_window_bytes_for_spaces() excludes the room for peers' data segments in a window. */
size_t stp_window_reserved_bytes(void);
size_t stp_window_bytes_for_spaces(void);

#define STP_WINDOW_ALIGN ((size_t)1 << 30) /* alignment of windows; maximum base_align of spaces */
#define STP_RANGE_ALIGN ((size_t)2 << 20)  /* alignment of every range */

/*
 * Returns the lowest offset >= from at which nbytes with guards are free on this PE, or SIZE_MAX.
 * align is a multiple of STP_RANGE_ALIGN.
 */
size_t stp_window_find(size_t nbytes, size_t align, size_t from);

/*
 * Takes [offset, offset + reserved) and makes nbytes of this PE's own part accessible in the
 * window. The rest is kept for growth. Returns 0, -EEXIST without logging if another thread has
 * taken the range, or -errno after logging.
 */
int stp_window_commit(size_t offset, size_t nbytes, size_t reserved);

/*
 * stp_window_grow() extends a range within its reservation to nbytes, in the window and in the
 * parts of members. Returns 0, or -errno without logging and without effect. stp_window_undo_grow()
 * restores the old size, kept_nbytes, if nobody has used the new memory.
 */
int stp_window_grow(size_t offset, size_t nbytes);
void stp_window_undo_grow(size_t offset, size_t kept_nbytes);

/*
 * Adds the part of a local PE to the range at offset. The range is accessible in the view when the
 * part is open. Returns 0, or -errno after logging.
 */
int stp_window_add_peer_range(size_t offset, int local);

/*
 * Opens the part of a local PE, which can be this PE: its present and future ranges become
 * accessible in the view. Required before stp_window_part() is used; fast if the part is open.
 * After many calls all parts are opened, so that stp_ptr_inline() hits. Returns 0, or -errno after
 * logging. Any thread may call this function.
 */
int stp_window_open_peer(int local);

/* Returns this PE's local index. */
int stp_window_local(void);

/* Releases a range: protects it, frees its pages and forgets it. */
void stp_window_release(size_t offset, size_t nbytes);

/* Makes later releases skip the protection, because the window is about to be closed. */
void stp_window_stop_reprotecting(void);

/* Returns this PE's address of a window offset. */
static inline char *stp_window_at(size_t offset)
{
    return (char *)(stp_win.base + offset);
}

/* ---- data segment ------------------------------------------------------- */

/* Maximum number of parts. An executable has one or two; linker scripts can make more. */
#define STP_SEGMENT_PARTS 64

/* Writable pages of the executable without a gap. */
struct stp_data_segment_part {
    char *base;    /* first byte, aligned to a page */
    size_t nbytes; /* size in whole pages */
    size_t at;     /* offset in the segment, in which unused pages separate parts */
};

/*
 * The globals and statics of the executable, which a constructor of the library moves to shared
 * memory in place before main(). The structure does not change after that.
 */
struct stp_data_segment {
    /* parts in ascending order; the first part has offset 0 */
    struct stp_data_segment_part parts[STP_SEGMENT_PARTS];
    /* number of parts; 0 without writable memory */
    unsigned n_parts;
    size_t nbytes;       /* bytes from the first part's start to the last part's end */
    int fd;              /* memfd of the segment, or -1 if it is private */
    const char *why_not; /* reason why it is private, or NULL if it is shared */
    uint64_t layout;     /* hash of the executable's layout; equal for equal executables */
    uint64_t shape;      /* hash of the parts relative to the load address */
};

extern struct stp_data_segment stp_data_segment;

/* Returns the part that holds addr, or NULL. */
const struct stp_data_segment_part *stp_data_segment_part_slow(const void *addr) STP_COLD;

/* Sets *offset to the offset of addr in the segment. Returns whether addr is in the segment. */
static inline bool stp_data_segment_offset(const void *addr, size_t *offset)
{
    const struct stp_data_segment_part *part;

    *offset = (size_t)((const char *)addr - stp_data_segment.parts[0].base);
    if (STP_LIKELY(*offset < stp_data_segment.parts[0].nbytes)) return true;
    if (stp_data_segment.n_parts <= 1) return false;
    part = stp_data_segment_part_slow(addr);
    if (part != NULL) *offset = part->at + (size_t)((const char *)addr - part->base);
    return part != NULL;
}

/*
 * Returns the address of offset in the segment of a local peer, mapped on first use through
 * /proc/pid/fd. Returns NULL after logging if that fails. Any thread may call this function.
 */
void *stp_data_segment_reach(int local, pid_t pid, int fd, size_t offset);
void stp_data_segment_reset_peer_maps(void); /* called in finalize before the view is unmapped */

/*
 * Returns the whole segment of this PE as one range, for the fabric. A segment with several parts
 * is mapped again, until the view is unmapped. Returns NULL after logging a failure.
 */
char *stp_data_segment_alias_whole(void);

/* Formats the ranges of the parts: "0x1000..0x3000, 0x8000..0x9000". */
const char *stp_data_segment_format(char *text, size_t len);

/*
 * Describes the library or executable that holds an address that is not symmetric, and the remedy.
 * Returns false if there is none.
 */
bool stp_describe_loaded_object_addr(const void *addr, char *text, size_t len);

#endif /* STP_WINDOW_H */
