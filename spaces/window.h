/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The window of this PE, the view through which the parts of node-local peers are reached by
 * arithmetic, and the data segment of the executable. Design: docs/design/memory.md.
 */
#ifndef STP_WINDOW_H
#define STP_WINDOW_H

#include "base/base.h"

#include <signal.h>

/* ---- window and view ---------------------------------------------------- */

/*
 * Everything stp_ptr_inline() reads, in one cache line. window.c alone writes it: in init and
 * finalize, and (top, amo_top, end) when spaces come and go and when the last part opens. Up to
 * ordered it is what programs see that inline (include/shmemx_inline.h, struct shmemx_view_v1):
 * there it may not change any more.
 */
struct stp_window {
    uintptr_t base;   /* of this PE's window */
    size_t top;       /* end when all parts of the view are open, else 0 */
    size_t amo_top;   /* as top for CPU atomics; 0 when atomics must go through the fabric */
    char *view;       /* where the parts of all node-local PEs are mapped, by local number */
    size_t stride;    /* from part to part in the view: the window size and STP_WINDOW_SKEW */
    int first_pe;     /* world number of local 0 when local PEs are contiguous */
    int n_local;      /* PEs reachable by load and store; 0 when they are not contiguous */
    int n_plain;      /* n_local, or 0 while buffers of the program may be device memory */
    int ordered;      /* no traffic but loads and stores: a fence of the CPU is all of a fence */
    int n_view;       /* PEs on this node, contiguous or not */
    bool cpu_atomics; /* atomics of CPUs are right; else all go through the fabric, amo_top is 0 */
    bool devices;     /* memory that the CPU may not touch can be met: check before touching */
    size_t end;       /* offsets from here on belong to no space; for the slow half */
} STP_ALIGNED_LINE;

extern struct stp_window stp_win;

/* Other threads may make or destroy spaces: the old top does as well as the new one. */
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
 * What lies between the parts, so that the same object of two PEs is not at addresses whose low
 * bits are equal: first-level caches that guess the way from those bits lose half their speed then
 * (AMD). A multiple of 2 MiB, as large pages ask for; an odd one, so that 128 parts, and the window
 * itself, all differ in the bits below 256 MiB; and one that arrays hardly lie apart by.
 */
#define STP_WINDOW_SKEW ((size_t)37 << 21)

/* Where this PE maps the part of the PE with local index local. */
static inline char *stp_window_part(int local)
{
    return stp_win.view + (size_t)(unsigned)local * stp_win.stride;
}

/* What the address of a peer's object is asked for. */
enum stp_use {
    STP_USE_ACCESS, /* loads and stores by this CPU */
    STP_USE_COPY,   /* copies to or from a buffer of the program, which may be device memory */
    STP_USE_ATOMIC, /* atomics by this CPU, which a job may have to send through the fabric */
};

/*
 * Where this PE maps PE pe's copy of the host symmetric object at addr, found by window arithmetic;
 * NULL when the slow half must decide. use: a constant. pe: world number, in range.
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
        if (there == NULL) __builtin_unreachable(); /* callers need not compare it */
        return there;
    }
    return NULL;
}

/* How the leader of a node lays out the node's file; equal on all PEs of the node. */
struct stp_window_layout {
    size_t nbytes;     /* of a window, and of a PE's part: a power of two */
    uintptr_t base;    /* where windows should be mapped; 0: wherever it fits */
    int n_local;       /* parts */
    size_t area_bytes; /* the node's own area behind the last part */
};

/*
 * Choose size and base for n_local PEs with heaps of heap_bytes: the largest window up to what
 * wanted asks for (0: automatic) whose reservation succeeds here. 0 or -ENOMEM, logged.
 */
int stp_window_choose(int n_local, size_t heap_bytes, size_t wanted,
                      struct stp_window_layout *layout);

/*
 * Makes a file of shared memory that has no name elsewhere and that nobody executes. Returns its
 * descriptor or -errno.
 */
int stp_memory_file(const char *name);

/* Create the node's sparse file. Returns a descriptor or -errno, logged. */
int stp_window_create_file(const struct stp_window_layout *layout);

/*
 * Reserve this PE's window (part local of the file) and the view of all parts. Everything is
 * PROT_NONE until stp_window_commit(). fd stays the caller's. 0 or -errno, logged.
 */
int stp_window_reserve(const struct stp_window_layout *layout, int fd, int local);
void stp_window_close(void);

/*
 * What stp_ptr_inline() may take for granted, until the window is closed: n_local PEs of this node
 * have world numbers from first_pe on; whether CPU atomics are right (at first they are); whether
 * memory that the CPU may not touch can be met (this one may be called without a window).
 */
void stp_window_set_peers(int first_pe, int n_local);
void stp_window_set_cpu_atomics(bool right);
void stp_window_set_devices(bool met);

/* Is there a fabric? Until it is said that there is none, the window takes it that there is. */
void stp_window_set_fabric(bool used);

/*
 * Is addr in this PE's window or in its view of the parts? Sets offset, and local to the local
 * index of the part, -1 for the window.
 */
bool stp_window_locate(const void *addr, size_t *offset, int *local);

/* Bytes of the node's file before its area: the length of a view. */
size_t stp_window_view_bytes(const struct stp_window_layout *layout);

/* Map the node's area of the file. NULL on failure, logged. */
void *stp_window_map_node_area(const struct stp_window_layout *layout, int fd);

/* The least memory limit of the control groups around this process; SIZE_MAX: there is none. */
size_t stp_cgroup_memory(void);
/* The same of cores, in whole ones and one at least. */
size_t stp_cgroup_cores(void);

/* Bytes of a window; those of them that spaces may use, the rest being for peers' data segments. */
size_t stp_window_reserved_bytes(void);
size_t stp_window_bytes_for_spaces(void);

#define STP_WINDOW_ALIGN ((size_t)1 << 30) /* of its base: what aligned offsets can promise */
#define STP_RANGE_ALIGN ((size_t)2 << 20)  /* of every range */

/*
 * The lowest offset >= from where nbytes and their guards are free on this PE, SIZE_MAX when
 * there is none. align: a multiple of STP_RANGE_ALIGN.
 */
size_t stp_window_find(size_t nbytes, size_t align, size_t from);

/*
 * Take [offset, offset + reserved), and make nbytes of this PE's own part usable in the window; the
 * rest is untouchable, and kept for growth. 0 or -errno, logged; -EEXIST, not logged, when another
 * thread was quicker to take it.
 */
int stp_window_commit(size_t offset, size_t nbytes, size_t reserved);

/*
 * The range at offset has nbytes from now on, more than it had, within what was reserved: usable in
 * the window, and in the parts of members where they are open or will be. 0 or -errno, not logged;
 * nothing changed then. Shrink undoes it: nbytes are what it had, and nobody has used the rest.
 */
int stp_window_grow(size_t offset, size_t nbytes);
void stp_window_undo_grow(size_t offset, size_t kept_nbytes);

/*
 * The PE with local index local has a part of the range at offset too: usable in the view as soon
 * as its part is open. 0 or -errno, logged.
 */
int stp_window_add_peer_range(size_t offset, int local);

/*
 * Open the part of a local PE, this one's too: all that was shown of it may be touched in the view
 * from now on, as what will be shown. To be called before stp_window_part() is used; quick when it
 * is open. Who does it often gets all parts, and stp_ptr_inline() hits. 0 or -errno, logged. Any
 * thread.
 */
int stp_window_open_peer(int local);

/* This PE's local index. */
int stp_window_local(void);

/* Undo all of the above: guards again, the node's file behind them, pages given back. */
void stp_window_release(size_t offset, size_t nbytes);

/* The window goes soon: what is released until then only gives its pages back. */
void stp_window_stop_reprotecting(void);

/* This PE's address of a window offset. */
static inline char *stp_window_at(size_t offset)
{
    return (char *)(stp_win.base + offset);
}

/* ---- data segment ------------------------------------------------------- */

#define STP_SEGMENT_PARTS 64 /* an executable has one or two; linker scripts can make more */

/* Writable pages of the executable without a hole. */
struct stp_data_segment_part {
    char *base;    /* first byte, page aligned */
    size_t nbytes; /* whole pages */
    size_t at;     /* offset in the segment, which has a page that nothing is in between parts */
};

/*
 * The globals and statics of the executable, moved to shared memory in place before main.
 * Valid from the library's constructor on; never written afterwards.
 */
struct stp_data_segment {
    struct stp_data_segment_part parts[STP_SEGMENT_PARTS]; /* ascending; the first one is at 0 */
    unsigned n_parts;                                      /* 0: no writable memory found */
    size_t nbytes;       /* from the first part to the end of the last */
    int fd;              /* memfd behind it, -1 when it is not shared */
    const char *why_not; /* why it is not shared, NULL when it is */
    uint64_t layout;     /* hash of the executable's layout: equal executables, equal value */
    uint64_t shape;      /* hash of the parts, relative to where the executable was loaded */
};

extern struct stp_data_segment stp_data_segment;

/* The part that addr lies in, NULL when it is in none. */
const struct stp_data_segment_part *stp_data_segment_part_slow(const void *addr) STP_COLD;

/* Offset of addr in the segment: true when it lies inside. */
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
 * Where offset of the segment of local peer is mapped here; mapped on first use through
 * /proc/pid/fd. NULL, logged once, when the peer's segment cannot be mapped. Any thread.
 */
void *stp_data_segment_reach(int local, pid_t pid, int fd, size_t offset);
void stp_data_segment_reset_peer_maps(void); /* at finalize, before the view goes away */

/*
 * The whole segment of this PE as one piece of memory, for the fabric; mapped once more when it has
 * several parts, until the view goes away. NULL on failure, logged.
 */
char *stp_data_segment_alias_whole(void);

/* The ranges of the parts as text: "0x1000..0x3000, 0x8000..0x9000". */
const char *stp_data_segment_format(char *text, size_t len);

/*
 * What is loaded at an address that is not symmetric: which library or the executable, and what
 * would be right, as text. False when it belongs to neither.
 */
bool stp_describe_loaded_object_addr(const void *addr, char *text, size_t len);

#endif /* STP_WINDOW_H */
