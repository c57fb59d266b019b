/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the spaces of this PE and the registry, which finds the space that contains an address.
 * Spaces use the window (window.h) and the kinds of memory (kinds.h). Functions in this directory
 * do not communicate with other PEs. The functions in src/space communicate, so that all members of
 * a space agree. Design: docs/design/memory.md.
 */
#ifndef STP_SPACE_REGISTRY_H
#define STP_SPACE_REGISTRY_H

#include "base/base.h"
#include "kinds.h"
#include "spaces/heap/heap.h"

/* Fixed space numbers. All other spaces have numbers from STP_SPACE_FIRST_USER on. */
enum { STP_SPACE_INTERNAL, STP_SPACE_DATA, STP_SPACE_HEAP, STP_SPACE_FIRST_USER };

struct stp_space {
    uint32_t magic;               /* STP_SPACE_MAGIC if lookups by address can find the space */
    unsigned number;              /* number of the space, equal on all members */
    uint64_t generation;          /* number that no other space of this process ever has */
    const struct stp_kind *kind;  /* kind of memory; NULL for the data segment */
    bool host;                    /* whether CPUs can load and store the parts of their node */
    size_t nbytes;                /* size of a part; use stp_space_nbytes() if it can grow */
    size_t max_bytes;             /* size up to which a part can grow, or nbytes */
    unsigned n_extents;           /* number of pieces of a part; each growth adds one */
    bool may_grow;                /* whether max_bytes was above nbytes at creation */
    bool growth_failure_reported; /* whether a failure to grow was reported */
    char *base;                   /* address of this PE's part */
    size_t region_offset;        /* offset of base in the fabric region; 0 except in data segment */
    struct stp_space *next_part; /* next part of the data segment, or NULL */
    size_t offset;               /* offset of the space in the window, or SIZE_MAX outside */
    size_t base_align;           /* alignment that base has on every member */
    int device;                  /* number of the device, or -1 */
    void *kind_data;             /* data that belongs to the kind */
    struct stp_heap *heap;       /* allocator for blocks in the space, or NULL */
    uint64_t caps;               /* SHMEM_SPACE_CAP_ bits; 0 until the creation is complete */
    int attr_flags;              /* SHMEMX_SPACE_ flags that the program passed */
    uint64_t key;                /* fabric key of this PE's part, for display */
    bool registered;             /* whether this PE's part is registered with the fabric */
    bool on_fabric;              /* whether all members' parts are registered with the fabric */
    bool permanent;              /* whether the program cannot destroy the space */
    /*
     * Whether the parts existed before the creation of the space. Until the creation is complete,
     * the field describes only this PE's part. After that, it describes the parts of all members.
     */
    bool found;
    /*
     * Number of parts of a named space, which can exceed the number of members. 0 if the space has
     * no name.
     */
    unsigned n_parts;
    uint64_t roots;              /* hash of n_parts and the named blocks at creation */
    bool numa_is_set;            /* whether the NUMA policy in numa was set for the memory */
    enum stp_numa numa;          /* NUMA policy of the memory */
    int numa_node;               /* NUMA node to which the memory is bound, or -1 */
    int n_numa_sharers;          /* number of members on this host that use numa_node, or 0 */
    size_t page_bytes;           /* real page size if the program chose a size, else 0 */
    struct stp_pinned *pinned;   /* data of memory that is pinned for GPUs, or NULL */
    bool alloc_failure_reported; /* whether a failed allocation was reported */
    bool alignment_reported;     /* whether an alignment that was rounded up was reported */
    void *handle;                /* SHMEM_SPACE_ constant that denotes the space, or NULL */
    struct stp_team *team;       /* internal team of the members, for collective operations */
    /* Team that the program got at creation, or NULL after the program has destroyed it. */
    struct stp_team *user_team;
    /* Number of teams, contexts and device handles that use the space. Guarded by stp_rt.lock. */
    int n_users;
    /*
     * Whether other threads may use the space. This is true if the space is complete, is not
     * internal to the library, and is not being destroyed. Guarded by stp_rt.lock.
     */
    bool usable;
    struct stp_space *next_free;
    bool single_block; /* whether the adopted buffer is a single block, which cannot be freed */
    bool adopted;      /* whether the memory is a buffer of the program; the program can unmap it */
    struct stp_own_file *shm_attach; /* mappings of host memory outside the window, or NULL */
};

/* Returns whether each part can be accessed only by its owner's process and by the kernel. */
static inline bool stp_space_is_private(const struct stp_space *space)
{
    return space->kind != NULL && space->kind->owner_only;
}

/*
 * Returns the size of a part. If another thread is growing the space, the old size is correct, too,
 * because the program does not have addresses in the new memory yet.
 */
static inline size_t stp_space_nbytes(const struct stp_space *space)
{
    return __atomic_load_n(&space->nbytes, __ATOMIC_RELAXED);
}

/* Takes the number of a new space. Returns 0, or -EEXIST if another thread has taken the number. */
int stp_space_register_by_number(struct stp_space *space);
/* Releases the number of a space that has been destroyed. */
void stp_space_unregister_number(struct stp_space *space);

/*
 * These functions count the attempts to create a space that are in progress.
 * stp_space_n_attempts_inc() is called when an attempt begins, and stp_space_n_attempts_dec() when
 * it ends. When a failed attempt ends, it has already released its number and its range of the
 * window.
 */
void stp_space_n_attempts_inc(void);
void stp_space_n_attempts_dec(void);

/*
 * Returns whether another search for a free number and a free range can succeed. This is the case
 * if a space has released its number since the last call, or if a creation is in progress.
 * *last_count is the number of releases that the last call has counted. The caller ignores the
 * result of the first call, which only sets *last_count.
 */
bool stp_space_room_freed_since(unsigned *last_count);

/* Makes lookups by address find the space. Its number must be registered already. */
void stp_space_lookup_insert(struct stp_space *space);
/* Makes lookups by address no longer find the space. A second call does nothing. */
void stp_space_lookup_remove(struct stp_space *space);

/* Sets the size of the space to nbytes bytes. Called after all members have grown their parts. */
void stp_space_lookup_resize(struct stp_space *space, size_t nbytes);

/* Returns the lowest space number >= min that is free on this PE, or SIZE_MAX if none is free. */
size_t stp_space_number_find(size_t min);

/*
 * Returns the space that contains addr and sets *offset to the offset in its part. Returns NULL if
 * no space contains addr. Any thread may call this function. A lookup takes two comparisons if the
 * thread's previous lookup found the same space. Otherwise, it takes a binary search.
 */
struct stp_space *stp_space_lookup(const void *addr, size_t *offset);

/*
 * Returns the space that reserves the address addr for its growth, and sets *offset to the offset
 * in this PE's part. Returns NULL if there is no such space. Used only for messages, because it
 * examines all spaces.
 */
const struct stp_space *stp_space_lookup_growth_room(const void *addr, size_t *offset);

/*
 * Returns whether a space overlaps the range of nbytes bytes at base. If so, writes a description
 * of the space to text, for example "space 5 (cpu, 4096 bytes at 0x...)".
 */
bool stp_space_lookup_overlap(const void *base, size_t nbytes, char *text, size_t len);

/*
 * Returns the space with this number, or NULL. Other threads can still be creating the space or can
 * already be destroying it.
 */
struct stp_space *stp_space_at(unsigned number);

/*
 * Calls visit() for the space with this number, if lookups by address can find the space. Returns
 * whether visit() was called. The lock of the registry is held during the call, so that no thread
 * removes the space. visit() may take only the lock of a heap and stp_rt.lock.
 */
bool stp_space_with_locked(unsigned number, void (*visit)(const struct stp_space *space, void *arg),
                           void *arg);

/*
 * Returns the handle of a space. The handle contains the space's generation, so that the handle of
 * a destroyed space never denotes a later space.
 */
void *stp_space_encode_handle(const struct stp_space *space);
/*
 * Returns the live space that handle denotes, or NULL. Sets *destroyed to whether handle denotes a
 * destroyed space. handle can have any value.
 */
struct stp_space *stp_space_of_handle(const void *handle, bool *destroyed);

/*
 * Finds the last destroyed space that contained addr. Writes a description to text, for example
 * "space 5 (cpu, 1048576 bytes), which was destroyed". Returns false if the registry remembers no
 * such space. A signal handler may call this function.
 */
bool stp_space_lookup_destroyed(const void *addr, char *text, size_t len);

/* Returns a zeroed structure with a new generation, or NULL if there is no memory. */
struct stp_space *stp_space_struct_alloc(void);
void stp_space_struct_free(struct stp_space *space);

/* ---- explanation of faults ----------------------------------------------- */

/*
 * Writes to text the explanation of a fault (SIGSEGV or SIGBUS) in symmetric memory or in a routine
 * of the library. info is the argument of the signal handler. routine is the name of the public
 * routine in which the fault happened, or NULL. Returns false if the fault is neither in symmetric
 * memory nor in a routine.
 */
bool stp_fault_explain(const siginfo_t *info, const char *routine, char *text, size_t len);

#endif /* STP_SPACE_REGISTRY_H */
