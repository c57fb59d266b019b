/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The allocator of a symmetric heap. It hands out offsets and keeps its records outside the
 * memory it manages (which may be on a GPU). Equal call sequences give equal offsets. The first gap
 * that is large enough is taken, without rounding to powers of two: 7 MiB out of a fresh 8 MiB heap
 * succeed. Any thread may call all functions except stp_heap_destroy(): a lock of the heap's own,
 * which is taken after all other locks, guards the records. Design: docs/design/heap.md.
 */
#ifndef STP_HEAP_H
#define STP_HEAP_H

#include <stddef.h>

#define STP_HEAP_ALIGN 64 /* every offset is a multiple */

struct stp_heap;

struct stp_heap_stats {
    size_t size;         /* bytes managed */
    size_t used;         /* bytes allocated, rounding included */
    size_t largest_free; /* bytes: the largest request that would succeed */
    size_t n_blocks;     /* live allocations */
};

/* A heap over [0, size). size is rounded down to STP_HEAP_ALIGN. Returns 0 or -ENOMEM. */
int stp_heap_create(size_t size, struct stp_heap **heap);
void stp_heap_destroy(struct stp_heap *heap); /* NULL allowed */

/*
 * Allocate nbytes > 0 at a multiple of align (a power of two; below STP_HEAP_ALIGN counts as it).
 * Returns 0 and sets *offset, -ENOMEM when no free block is large enough, -EINVAL when nbytes is
 * 0 or align no power of two. It is offsets that are aligned: the owner aligns the base.
 */
int stp_heap_alloc(struct stp_heap *heap, size_t nbytes, size_t align, size_t *offset);

/*
 * Make [offset, offset + nbytes) a live block, as if it had been allocated: 0, -EEXIST when not all
 * of it is free, -EINVAL when it lies outside, is empty or begins at no multiple of STP_HEAP_ALIGN,
 * -ENOMEM.
 */
int stp_heap_reserve(struct stp_heap *heap, size_t offset, size_t nbytes);

/* Free the block that starts at offset. Returns 0, or -EINVAL when no live block starts there. */
int stp_heap_free(struct stp_heap *heap, size_t offset);

/*
 * Change the size of the block at offset in place. Returns 0 when done, -ENOMEM when it must move
 * (nothing changed), -EINVAL when no live block starts there or nbytes is 0.
 */
int stp_heap_resize(struct stp_heap *heap, size_t offset, size_t nbytes);

/*
 * Extends the heap to [0, size), size rounded down as above. Returns 0, or -EINVAL when it would
 * shrink.
 */
int stp_heap_grow(struct stp_heap *heap, size_t size);

/*
 * Puts a record aside, so that the next allocation cannot fail for want of memory of the process.
 * Returns 0 or -ENOMEM.
 */
int stp_heap_reserve_record(struct stp_heap *heap);

/*
 * The size that the heap has to have for nbytes at a multiple of align (as for stp_heap_alloc());
 * 0: there is a block for them. The same for the block at offset to have nbytes in place. SIZE_MAX:
 * no size will do.
 */
size_t stp_heap_size_needed(struct stp_heap *heap, size_t nbytes, size_t align);
size_t stp_heap_size_to_extend_block(struct stp_heap *heap, size_t offset, size_t nbytes);

/*
 * The live block that holds offset, one of the bytes asked for and not of their rounding: 0 with
 * *start and *nbytes (as asked for), or -ENOENT. In the block that this thread found last it takes
 * no lock until the heap changes.
 */
int stp_heap_find(struct stp_heap *heap, size_t offset, size_t *start, size_t *nbytes);

/* All of one moment. */
void stp_heap_stats(struct stp_heap *heap, struct stp_heap_stats *stats);

#endif /* STP_HEAP_H */
