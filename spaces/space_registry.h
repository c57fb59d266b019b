/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symmetric memory of this PE: spaces and the registry (address -> space), on the window and its
 * view (window.h) and the kinds of memory (kinds.h). Local mechanism only: agreement between PEs is
 * the business of src/space. Design: docs/design/memory.md.
 */
#ifndef STP_SPACE_REGISTRY_H
#define STP_SPACE_REGISTRY_H

#include "base/base.h"
#include "kinds.h"
#include "spaces/heap/heap.h"

/* Fixed numbers. */
enum { STP_SPACE_INTERNAL, STP_SPACE_DATA, STP_SPACE_HEAP, STP_SPACE_FIRST_USER };

struct stp_space {
    uint32_t magic;              /* STP_SPACE_MAGIC while live */
    unsigned number;             /* job-wide among those who share the space */
    uint64_t generation;         /* no other structure had it, nor this one before */
    const struct stp_kind *kind; /* NULL: the data segment */
    bool host;                   /* CPUs load and store it: the data segment, kinds in the window */
    size_t nbytes;               /* of memory, a PE; where it grows, see stp_space_nbytes() */
    size_t max_bytes;            /* nbytes, or what it may grow to */
    unsigned n_extents; /* pieces of its memory: the first, and those that it has grown by */
    bool may_grow;      /* it was made to */
    bool told_grow;     /* it was said why this PE's part did not */
    char *base;         /* this PE's part */
    size_t at;          /* where that begins in the fabric region; 0 but in the data segment */
    struct stp_space *next_part; /* of the data segment: one structure each, the same number */
    size_t offset;               /* in the window; SIZE_MAX outside it */
    size_t base_align;           /* what every member's base is aligned to */
    int device;                  /* of the kind, -1 when it knows none */
    void *own;                   /* the kind's: what create and attach remember */
    struct stp_heap *heap;       /* NULL: nothing is allocated from it */
    uint64_t caps;               /* SHMEM_SPACE_CAP_...; set last at create */
    int attr_flags;              /* SHMEMX_SPACE_..., as the program passed them */
    uint64_t key;                /* fabric registration key, for tables */
    bool registered;             /* this PE's part is a fabric region */
    bool on_fabric;              /* and so are all members': peers reach them directly */
    bool permanent;              /* lives as long as the program */
    bool found;                  /* its name stood for a space before, here; later: everywhere */
    unsigned n_parts;            /* of a space with a name, those of earlier jobs too; else 0 */
    uint64_t roots;              /* hash of the named blocks that it was opened with */
    bool placed;                 /* its range has a NUMA policy of its own: */
    enum stp_numa numa;          /* this one, */
    int numa_node;               /* bound to this node, or -1 */
    int n_beside;                /* members of this host whose parts are, with it; 0: not counted */
    size_t page_bytes;           /* of pages that were asked for, as they are; 0: not asked */
    struct stp_pinned *pinned;   /* host memory that GPUs reach: what of it; else NULL */
    bool told_full;              /* it was said that something did not fit */
    void *handle;                /* what users compare when it is a constant, else NULL */
    struct stp_team *team;       /* private: serves the collective calls */
    struct stp_team *user_team;  /* the one create returned, NULL once destroyed */
    int n_users;  /* live teams that descend from it, contexts bound to it, handles; stp_rt.lock */
    bool offered; /* not on its way in or out, nor the library's own: stp_rt.lock */
    struct stp_space *next_free;
    bool whole;                      /* of the program's: one block, that is not freed */
    bool adopted;                    /* of the program's, which may have unmapped it */
    struct stp_own_file *shm_attach; /* mappings of host memory outside the window, else NULL */
};

/* Private pages: the owner's loads and stores work, and nobody else's. */
static inline bool stp_space_is_private(const struct stp_space *space)
{
    return space->kind != NULL && space->kind->owner_only;
}

/* Another thread may be growing it: who has an object in what is new got its address after. */
static inline size_t stp_space_nbytes(const struct stp_space *space)
{
    return __atomic_load_n(&space->nbytes, __ATOMIC_RELAXED);
}

/*
 * Take the number of a space that is being made: 0, or -EEXIST when another thread was quicker.
 * Give it back, when nothing of the space is left.
 */
int stp_space_register_by_number(struct stp_space *space);
void stp_space_unregister_number(struct stp_space *space);

/*
 * Around an attempt of a thread to make a space, at the end of which it keeps its number and its
 * place in the window or has given them back.
 */
void stp_space_n_attempts_inc(void);
void stp_space_n_attempts_dec(void);

/*
 * Whether room that was not there may be there now, or may come: some was given back since the call
 * that set *seen, or attempts are under way.
 */
bool stp_space_room_freed_since(unsigned *seen);

/* Between the two: its addresses are found from now on, and no longer. Leaving again is nothing. */
void stp_space_lookup_insert(struct stp_space *space);
void stp_space_lookup_remove(struct stp_space *space);

/* All members have grown their parts: nbytes of it are found from now on. */
void stp_space_lookup_resize(struct stp_space *space, size_t nbytes);

/* Lowest number >= from (and >= STP_SPACE_FIRST_USER) that is free here; SIZE_MAX: none. */
size_t stp_space_number_find(size_t from);

/*
 * The space that holds addr, with its offset there; NULL when it is in none. Any thread. The last
 * one found on this thread costs two compares, another one a search of the sorted ranges.
 */
struct stp_space *stp_space_lookup(const void *addr, size_t *offset);

/*
 * The space that keeps addr for its growth and has not got there, with its offset; NULL: none does.
 * For messages: it looks at one after the other, as they are now.
 */
const struct stp_space *stp_space_lookup_growth_room(const void *addr, size_t *offset);

/* Is any of these bytes in a space? Which one, as text: "space 5 (cpu, 4096 bytes at 0x...)". */
bool stp_space_lookup_overlap(const void *base, size_t nbytes, char *text, size_t len);

/* By number; NULL when there is none. It may be on its way in or out. */
struct stp_space *stp_space_at(unsigned number);

/*
 * Look at a space that another thread may be about to destroy: true when one of this number is
 * entered, and look was called with it. It is not left meanwhile: the registry's lock is held, and
 * only the lock of a heap and stp_rt.lock may be taken under it.
 */
bool stp_space_with_locked(unsigned number, void (*look)(const struct stp_space *space, void *arg),
                           void *arg);

/*
 * Handles of spaces: number and generation, so that one of a destroyed space never means the next
 * one made. The live space behind any value; NULL when there is none, and then *destroyed says
 * whether there was.
 */
void *stp_space_encode_handle(const struct stp_space *space);
struct stp_space *stp_space_of_handle(const void *handle, bool *destroyed);

/*
 * The last space that was destroyed here and had addr, of those that are remembered, as text:
 * "space 5 (cpu, 1048576 bytes), which was destroyed". False: none. Also from a signal handler.
 */
bool stp_space_lookup_destroyed(const void *addr, char *text, size_t len);

/* Allocate and give back the structure. */
struct stp_space *stp_space_struct_alloc(void);
void stp_space_struct_free(struct stp_space *space);

/* ---- guards -------------------------------------------------------------- */

/*
 * Text about a fault (SIGSEGV, SIGBUS) inside the window or the view, or in a routine of the
 * library; false when it was in neither. context: what a signal handler gets.
 */
bool stp_fault_explain(const siginfo_t *info, const void *context, char *text, size_t len);

#endif /* STP_SPACE_REGISTRY_H */
