/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symmetric memory of this PE: the window in which every host space has its range, the
 * view through which the parts of node-local peers are reached by arithmetic, the data
 * segment of the executable, the registry (address -> space) and the kinds of memory.
 * Local mechanism only: agreement between PEs is the business of src/space.c.
 * Design: docs/design/memory.md.
 */
#ifndef STP_SPACES_H
#define STP_SPACES_H

#include "base/base.h"
#include "heap.h"

#include <signal.h>

/* ---- window and view ---------------------------------------------------- */

/*
 * Everything stp_reach() reads, in one cache line. Written in init and finalize, and (top,
 * amo_top) when spaces come and go.
 */
struct stp_window {
    uintptr_t base;  /* of this PE's window */
    size_t top;      /* offsets from here on belong to no space */
    size_t amo_top;  /* as top for CPU atomics; 0 when atomics must go through the fabric */
    char *view;      /* where the parts of all node-local PEs are mapped, by local number */
    unsigned shift;  /* log2 of the window size */
    int first_pe;    /* world number of local 0 when local PEs are contiguous */
    int n_local;     /* PEs reachable by load and store; 0 when they are not contiguous */
    int n_placed;    /* PEs on this node, contiguous or not */
    bool cpu_atomics; /* atomics of CPUs are right; else all go through the fabric, amo_top is 0 */
} STP_ALIGNED_LINE;

extern struct stp_window stp_win;

/*
 * Where the host symmetric object at addr lives for PE pe, when this PE can load and store it
 * by window arithmetic; NULL when the slow path must decide. pe: world number, in range.
 */
static inline void *stp_reach(const void *addr, int pe)
{
    size_t offset = (uintptr_t)addr - stp_win.base;
    unsigned local = (unsigned)(pe - stp_win.first_pe);

    if (STP_LIKELY(offset < stp_win.top && local < (unsigned)stp_win.n_local))
        return stp_win.view + ((size_t)local << stp_win.shift) + offset;
    return NULL;
}

/* The same for CPU atomics, which a job may have to send through the fabric. */
static inline void *stp_reach_amo(const void *addr, int pe)
{
    size_t offset = (uintptr_t)addr - stp_win.base;
    unsigned local = (unsigned)(pe - stp_win.first_pe);

    if (STP_LIKELY(offset < stp_win.amo_top && local < (unsigned)stp_win.n_local))
        return stp_win.view + ((size_t)local << stp_win.shift) + offset;
    return NULL;
}

/* How the leader of a node lays out the node's file; equal on all PEs of the node. */
struct stp_window_layout {
    unsigned shift;    /* log2 of a PE's part */
    uintptr_t base;    /* where windows should be mapped; 0: wherever it fits */
    int n_local;       /* parts */
    size_t area_bytes; /* the node's own area behind the last part */
};

/*
 * Choose shift and base for n_local PEs with heaps of heap_bytes: the largest window up to what
 * wanted asks for (0: automatic) whose reservation succeeds here. 0 or -ENOMEM, logged.
 */
int stp_window_choose(int n_local, size_t heap_bytes, size_t wanted,
                      struct stp_window_layout *layout);

/* Create the node's sparse file. Returns a descriptor or -errno, logged. */
int stp_window_create_file(const struct stp_window_layout *layout);

/*
 * Reserve this PE's window (part local of the file) and the view of all parts. Everything is
 * PROT_NONE until stp_window_commit(). fd stays the caller's. 0 or -errno, logged.
 */
int stp_window_open(const struct stp_window_layout *layout, int fd, int local);
void stp_window_close(void);

/* Map the node's area of the file. NULL on failure, logged. */
void *stp_window_map_area(const struct stp_window_layout *layout, int fd);

/* Bytes of a window that spaces may use; the rest is for the data segments of peers. */
size_t stp_window_capacity(void);

#define STP_WINDOW_ALIGN ((size_t)1 << 30) /* of its base: what aligned offsets can promise */
#define STP_RANGE_ALIGN ((size_t)2 << 20)  /* of every range */

/*
 * The lowest offset >= from where nbytes and their guards are free on this PE, SIZE_MAX when
 * there is none. align: a multiple of STP_RANGE_ALIGN.
 */
size_t stp_window_find(size_t nbytes, size_t align, size_t from);

/*
 * Make [offset, offset + nbytes) usable: own part, and the parts of the local peers for which
 * member(local, arg) holds. 0 or -errno, logged.
 */
int stp_window_commit(size_t offset, size_t nbytes, bool (*member)(int local, void *arg),
                      void *arg);

/* Undo: guards again, pages given back. */
void stp_window_release(size_t offset, size_t nbytes);

/* This PE's address of a window offset. */
static inline char *stp_window_at(size_t offset)
{
    return (char *)(stp_win.base + offset);
}

/* ---- data segment ------------------------------------------------------- */

/*
 * The globals and statics of the executable, moved to shared memory in place before main.
 * Valid from the library's constructor on; never written afterwards.
 */
struct stp_segment {
    char *base;          /* first byte of the segment, page aligned */
    size_t nbytes;       /* whole pages; 0: no segment found */
    int fd;              /* memfd behind it, -1 when it is not shared */
    const char *why_not; /* why it is not shared, NULL when it is */
    uint64_t layout;     /* hash of the executable's layout: equal executables, equal value */
};

extern struct stp_segment stp_segment;

/* Offset of addr in the segment: true when it lies inside. */
static inline bool stp_segment_offset(const void *addr, size_t *offset)
{
    *offset = (size_t)((const char *)addr - stp_segment.base);
    return *offset < stp_segment.nbytes;
}

/*
 * Where offset of the segment of local peer is mapped here; mapped on first use through
 * /proc/pid/fd. NULL, logged once, when the peer's segment cannot be mapped. Any thread.
 */
void *stp_segment_reach(int local, pid_t pid, int fd, size_t offset);
void stp_segment_forget_peers(void); /* at finalize, before the view goes away */

/* ---- kinds and spaces --------------------------------------------------- */

enum stp_kind_id { STP_KIND_CPU, STP_N_KINDS };

struct stp_space;

/* One row per kind of memory; named no-ops, never NULL. */
struct stp_kind {
    const char *name; /* "cpu" */
    int device_type;  /* SHMEM_DEVICE_... */
    /* Does this PE have access? 0, or -errno with the reason as text. */
    int (*probe)(char *why, size_t len);
    /* Can this PE provide nbytes? 0 or -errno, logged. */
    int (*admit)(size_t nbytes);
    /* Memory for the space at its window offset; sets base. 0 or -errno, logged. */
    int (*create)(struct stp_space *space, bool (*member)(int local, void *arg), void *arg);
    void (*destroy)(struct stp_space *space);
    void (*zero)(struct stp_space *space, size_t offset, size_t nbytes);
    bool direct; /* a member's loads and stores work on its part */
};

extern const struct stp_kind *const stp_kinds[STP_N_KINDS];

/* The kind of a SHMEM_DEVICE_ constant, NULL when this build has none. */
const struct stp_kind *stp_kind_find(int device_type);

#define STP_SPACE_MAGIC 0x53505445u
#define STP_MAX_SPACES STP_SPACE_NUMBERS
#define STP_SPACE_NUMBERS 4096 /* numbers name fabric regions: a contract with the module */

/* Fixed numbers. */
enum { STP_SPACE_INTERNAL, STP_SPACE_DATA, STP_SPACE_HEAP, STP_SPACE_FIRST_USER };

struct stp_space {
    uint32_t magic;  /* STP_SPACE_MAGIC while live */
    unsigned number; /* job-wide among those who share the space */
    const struct stp_kind *kind;
    size_t nbytes;         /* of memory, a PE */
    char *base;            /* this PE's part */
    size_t offset;         /* in the window */
    struct stp_heap *heap; /* NULL: nothing is allocated from it */
    uint64_t caps;         /* SHMEM_SPACE_CAP_... as measured at create */
    uint64_t key;          /* fabric registration key, for tables */
    void *team;            /* private team (struct stp_team), serves the collective calls */
    void *user_team;       /* the one create returned, NULL once destroyed */
    int n_users;           /* live teams that descend from it and contexts bound to it */
    struct stp_space *next_free;
};

/* Enter a space into the registry under its number; take it out. Serialised by the caller. */
void stp_space_enter(struct stp_space *space);
void stp_space_leave(struct stp_space *space);

/* Lowest number >= from (and >= STP_SPACE_FIRST_USER) that is free here; SIZE_MAX: none. */
size_t stp_space_find_number(size_t from);

/* The space that holds addr, with its offset there; NULL when it is in none. Any thread. */
struct stp_space *stp_space_find(const void *addr, size_t *offset);

/* By number; NULL when there is none. */
struct stp_space *stp_space_at(unsigned number);

/* True when space is a live space of the registry; safe on any pointer value. */
bool stp_space_is_live(const struct stp_space *space);

/* Allocate and give back the structure. */
struct stp_space *stp_space_new(void);
void stp_space_delete(struct stp_space *space);

/* ---- guards -------------------------------------------------------------- */

/*
 * Explain faults inside the window or the view (SIGSEGV, SIGBUS) and pass all others on to the
 * handler that was there before.
 */
void stp_guard_install(void);
void stp_guard_remove(void);

#endif /* STP_SPACES_H */
