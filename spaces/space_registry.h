/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The spaces of this PE and the registry, which maps addresses to spaces. They build on the window
 * (window.h) and the kinds of memory (kinds.h). This layer is local; src/space makes the PEs agree.
 * Design: docs/design/memory.md.
 */
#ifndef STP_SPACE_REGISTRY_H
#define STP_SPACE_REGISTRY_H

#include "base/base.h"
#include "kinds.h"
#include "spaces/heap/heap.h"

/* The space numbers that are fixed. */
enum { STP_SPACE_INTERNAL, STP_SPACE_DATA, STP_SPACE_HEAP, STP_SPACE_FIRST_USER };

struct stp_space {
    uint32_t magic;              /* STP_SPACE_MAGIC while live */
    unsigned number;             /* number, equal on all members */
    uint64_t generation;         /* unique number, which no other space has or had */
    const struct stp_kind *kind; /* kind of memory; NULL for the data segment */
    bool host;                   /* whether CPUs can load and store the parts on their node */
    size_t nbytes;               /* bytes per PE; stp_space_nbytes() if the space can grow */
    size_t max_bytes;            /* size up to which the space can grow, or nbytes */
    unsigned n_extents;          /* number of pieces of memory: the first, and one per growth */
    bool may_grow;               /* whether the space was created with room to grow */
    bool told_grow;              /* whether a failure to grow was reported */
    char *base;                  /* address of this PE's part */
    size_t at;                   /* offset of base in the fabric region, 0 except in globals */
    struct stp_space *next_part; /* next part of the data segment, with an equal number */
    size_t offset;               /* offset in the window, or SIZE_MAX outside it */
    size_t base_align;           /* alignment of the base on every member */
    int device;                  /* ordinal of the device, or -1 */
    void *own;                   /* data of the kind's create() and attach() */
    struct stp_heap *heap;       /* allocator of the space, or NULL without one */
    uint64_t caps;               /* SHMEM_SPACE_CAP_ bits; set last at creation */
    int attr_flags;              /* SHMEMX_SPACE_ flags that the program passed */
    uint64_t key;                /* fabric registration key, for display */
    bool registered;             /* whether this PE's part is a fabric region */
    bool on_fabric;              /* whether all parts are fabric regions, for direct access */
    bool permanent;              /* whether the space lives as long as the program */
    bool found;                  /* whether the space existed before; finally, on all members */
    unsigned n_parts;            /* number of parts of a named space, of all jobs; else 0 */
    uint64_t roots;              /* hash of the named blocks at opening */
    bool placed;                 /* whether numa is the NUMA policy of the range */
    enum stp_numa numa;          /* NUMA policy of the range */
    int numa_node;               /* node to which the range is bound, or -1 */
    int n_beside;                /* members of this host with parts on numa_node, or 0 */
    size_t page_bytes;           /* real page size if the program chose a size, else 0 */
    struct stp_pinned *pinned;   /* state of host memory that is pinned for GPUs, or NULL */
    bool told_full;              /* whether a lack of room was reported */
    void *handle;                /* constant that denotes the space, or NULL */
    struct stp_team *team;       /* internal team for the collective calls */
    struct stp_team *user_team;  /* team that create returned; NULL after its destruction */
    /* Number of derived teams, bound contexts and handles. Guarded by stp_rt.lock. */
    int n_users;
    /*
     * Whether threads may use the space, which is complete and not internal. Guarded by
     * stp_rt.lock.
     */
    bool offered;
    struct stp_space *next_free;
    bool whole;                      /* whether an adopted buffer is one permanent block */
    bool adopted;                    /* whether the memory was adopted; the program can unmap it */
    struct stp_own_file *shm_attach; /* mappings of host memory outside the window, or NULL */
};

/* Returns whether only the owner's loads and stores, and the kernel, access the pages. */
static inline bool stp_space_is_private(const struct stp_space *space)
{
    return space->kind != NULL && space->kind->owner_only;
}

/* Returns the size. Concurrent growth is harmless, because new addresses become known later. */
static inline size_t stp_space_nbytes(const struct stp_space *space)
{
    return __atomic_load_n(&space->nbytes, __ATOMIC_RELAXED);
}

/*
 * stp_space_register_by_number() takes the number of a new space. It returns 0, or -EEXIST if
 * another thread has taken it. The other function releases the number of a space that is gone.
 */
int stp_space_register_by_number(struct stp_space *space);
void stp_space_unregister_number(struct stp_space *space);

/*
 * These functions enclose each attempt to create a space. At the end of an attempt the thread keeps
 * the number and the place in the window, or has released them.
 */
void stp_space_n_attempts_inc(void);
void stp_space_n_attempts_dec(void);

/*
 * Returns whether a search for room can succeed on retry, because room was released since the call
 * that set *seen, or because attempts are in progress.
 */
bool stp_space_room_freed_since(unsigned *seen);

/*
 * stp_space_lookup_insert() adds a registered space to the address lookup.
 * stp_space_lookup_remove() removes the space; a repeated removal does nothing.
 */
void stp_space_lookup_insert(struct stp_space *space);
void stp_space_lookup_remove(struct stp_space *space);

/* Makes the lookup find nbytes of the space, after all members have grown their parts. */
void stp_space_lookup_resize(struct stp_space *space, size_t nbytes);

/* Returns the lowest free user number >= from on this PE, or SIZE_MAX if there is none. */
size_t stp_space_number_find(size_t from);

/*
 * Returns the space that holds addr and sets *offset, or returns NULL. Any thread may call this
 * function. A repeated hit in one space costs two compares; other lookups are binary searches.
 */
struct stp_space *stp_space_lookup(const void *addr, size_t *offset);

/*
 * Returns the space that keeps addr as room for its growth and sets *offset, or returns NULL. For
 * messages only, because it examines all spaces.
 */
const struct stp_space *stp_space_lookup_growth_room(const void *addr, size_t *offset);

/* Returns whether a space has any of the bytes; text: "space 5 (cpu, 4096 bytes at 0x...)". */
bool stp_space_lookup_overlap(const void *base, size_t nbytes, char *text, size_t len);

/* Returns the space with this number, or NULL. The space can be incomplete or about to go. */
struct stp_space *stp_space_at(unsigned number);

/*
 * Calls look() with the space of this number, if the lookup has it, and returns whether it did. The
 * space stays in the lookup meanwhile, because the lock of the registry is held. Only a heap's lock
 * and stp_rt.lock may be taken in look().
 */
bool stp_space_with_locked(unsigned number, void (*look)(const struct stp_space *space, void *arg),
                           void *arg);

/*
 * Handles of spaces contain a generation, so that the handle of a destroyed space never denotes a
 * later space. stp_space_of_handle() accepts any value. It returns the live space, or NULL with
 * *destroyed set to whether the handle denotes a destroyed space.
 */
void *stp_space_encode_handle(const struct stp_space *space);
struct stp_space *stp_space_of_handle(const void *handle, bool *destroyed);

/*
 * Describes the last destroyed space that held addr: "space 5 (cpu, 1048576 bytes), which was
 * destroyed". Returns false if none is remembered. A signal handler may call this function.
 */
bool stp_space_lookup_destroyed(const void *addr, char *text, size_t len);

/* stp_space_struct_alloc() returns a zeroed structure with a new generation, or NULL. */
struct stp_space *stp_space_struct_alloc(void);
void stp_space_struct_free(struct stp_space *space);

/* ---- guards -------------------------------------------------------------- */

/*
 * Explains a fault (SIGSEGV, SIGBUS) in the window, the view or a routine of the library. context
 * is the argument of a signal handler. Returns false for other faults.
 */
bool stp_fault_explain(const siginfo_t *info, const void *context, char *text, size_t len);

#endif /* STP_SPACE_REGISTRY_H */
