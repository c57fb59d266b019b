/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The allocator of a symmetric heap. It returns offsets and keeps its records outside the managed
 * memory, which can be on a GPU. Equal call sequences give equal offsets. The allocator takes the
 * first gap that is large enough and does not round to powers of two, so that 7 MiB fit a fresh
 * heap of 8 MiB. Any thread may call all functions except stp_heap_destroy(). A lock of the heap
 * guards the records; it is taken after all other locks. Design: docs/design/heap.md.
 */
#ifndef STP_HEAP_H
#define STP_HEAP_H

#include <stddef.h>

#define STP_HEAP_ALIGN 64 /* all offsets are multiples of this */

struct stp_heap;

struct stp_heap_stats {
    size_t size;         /* bytes under management */
    size_t used;         /* bytes in live blocks, rounding included */
    size_t largest_free; /* size of the largest request that would succeed */
    size_t n_blocks;     /* number of live blocks */
};

/* Creates a heap over [0, size) with size rounded down to STP_HEAP_ALIGN. Returns 0 or -ENOMEM. */
int stp_heap_create(size_t size, struct stp_heap **heap);
void stp_heap_destroy(struct stp_heap *heap); /* accepts NULL */

/*
 * Allocates nbytes at a multiple of align, a power of two that is raised to STP_HEAP_ALIGN if it is
 * smaller. Returns 0 and sets *offset, -ENOMEM if no gap is large enough, or -EINVAL if nbytes is 0
 * or align is not a power of two. Only the offset is aligned; the owner aligns the base.
 */
int stp_heap_alloc(struct stp_heap *heap, size_t nbytes, size_t align, size_t *offset);

/*
 * Makes [offset, offset + nbytes) a live block as if it had been allocated. Returns 0, -EEXIST if a
 * part is not free, -ENOMEM, or -EINVAL if the range is empty, outside the heap or not aligned to
 * STP_HEAP_ALIGN.
 */
int stp_heap_reserve(struct stp_heap *heap, size_t offset, size_t nbytes);

/* Frees the block that starts at offset. Returns 0, or -EINVAL if no live block starts there. */
int stp_heap_free(struct stp_heap *heap, size_t offset);

/*
 * Resizes the block at offset in place. Returns 0, -ENOMEM without a change if the block must move,
 * or -EINVAL if no live block starts at offset or nbytes is 0.
 */
int stp_heap_resize(struct stp_heap *heap, size_t offset, size_t nbytes);

/*
 * Extends the heap to [0, size) with size rounded down to STP_HEAP_ALIGN. Returns 0, or -EINVAL if
 * the heap would shrink.
 */
int stp_heap_grow(struct stp_heap *heap, size_t size);

/*
 * Reserves a record, so that the next allocation cannot fail because the process has no memory.
 * Returns 0 or -ENOMEM.
 */
int stp_heap_reserve_record(struct stp_heap *heap);

/*
 * These functions return the heap size that is needed to allocate nbytes at a multiple of align (0
 * if a gap is large enough), or to resize the block at offset to nbytes in place. They return
 * SIZE_MAX if no size suffices.
 */
size_t stp_heap_size_needed(struct stp_heap *heap, size_t nbytes, size_t align);
size_t stp_heap_size_to_extend_block(struct stp_heap *heap, size_t offset, size_t nbytes);

/*
 * Finds the live block whose requested bytes, without rounding, include offset. Returns 0 and sets
 * *start and *nbytes (as requested), or returns -ENOENT. A repeated lookup in the block that this
 * thread found last takes no lock until the heap changes.
 */
int stp_heap_find(struct stp_heap *heap, size_t offset, size_t *start, size_t *nbytes);

/* Sets *stats to a consistent snapshot. */
void stp_heap_stats(struct stp_heap *heap, struct stp_heap_stats *stats);

#endif /* STP_HEAP_H */
