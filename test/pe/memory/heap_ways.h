/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls any of the routines that allocate symmetric memory, selected by an enum, through one
 * function.
 */
#ifndef STEPPE_TEST_HEAP_WAYS_H
#define STEPPE_TEST_HEAP_WAYS_H

#include <shmem.h>

enum way {
    BY_MALLOC,
    BY_ALIGN,
    BY_CALLOC,
    BY_HINTS,
    BY_REALLOC,
    BY_SHMALLOC,
    BY_SHMEMALIGN,
    BY_SHREALLOC,
    N_WAYS
};

static const char *const way_names[N_WAYS] = {"malloc",  "align",    "calloc",     "hints",
                                              "realloc", "shmalloc", "shmemalign", "shrealloc"};

/* block is what the two forms of realloc resize, or NULL. */
static inline void *allocate(enum way way, void *block, size_t nbytes)
{
    switch (way) {
    case BY_MALLOC:
        return shmem_malloc(nbytes);
    case BY_ALIGN:
        return shmem_align(64, nbytes);
    case BY_CALLOC:
        return shmem_calloc(nbytes, 1);
    case BY_HINTS:
        return shmem_malloc_with_hints(nbytes, SHMEM_MALLOC_SIGNAL_REMOTE);
    case BY_REALLOC:
        return shmem_realloc(block, nbytes);
    case BY_SHMALLOC:
        return shmalloc(nbytes);
    case BY_SHMEMALIGN:
        return shmemalign(64, nbytes);
    default:
        return shrealloc(block, nbytes);
    }
}

#endif
