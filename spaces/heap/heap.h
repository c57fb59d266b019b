/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The allocator of a symmetric heap. It returns offsets instead of addresses. It keeps its records
 * outside the managed memory, because that memory can be on a GPU. PEs that make the same sequence
 * of calls get the same offsets.
 *
 * An allocation takes the first gap that is large enough. Sizes are not rounded up to powers of
 * two. For example, a block of 7 MiB leaves 1 MiB free in a heap of 8 MiB.
 *
 * Any thread may call all functions except stp_heap_destroy(). A lock in the heap guards the
 * records. A thread that holds this lock takes no other lock of the library. Design:
 * docs/design/memory.md.
 */
#ifndef STP_HEAP_H
#define STP_HEAP_H

#include <stddef.h>

#define STP_HEAP_ALIGN 64 /* the offset of every block is a multiple of this number */

struct stp_heap;

struct stp_heap_stats {
    size_t size;         /* number of bytes that the heap manages */
    size_t used;         /* bytes in live blocks, rounded up to STP_HEAP_ALIGN for each block */
    size_t largest_free; /* size of the largest request that would succeed */
    size_t n_blocks;     /* number of live blocks */
};

/*
 * Creates a heap that manages size bytes, rounded down to a multiple of STP_HEAP_ALIGN. Returns 0
 * or -ENOMEM.
 */
int stp_heap_create(size_t size, struct stp_heap **heap);
void stp_heap_destroy(struct stp_heap *heap); /* accepts NULL */

/*
 * Allocates nbytes bytes and sets *offset to their offset, which is a multiple of align. align must
 * be a power of two; values below STP_HEAP_ALIGN are raised to STP_HEAP_ALIGN. The address is
 * aligned only if the owner of the heap has aligned the heap's base address. Returns 0, -ENOMEM if
 * no gap is large enough, or -EINVAL if nbytes is 0 or align is not a power of two.
 */
int stp_heap_alloc(struct stp_heap *heap, size_t nbytes, size_t align, size_t *offset);

/*
 * Makes the range [offset, offset + nbytes) a live block, as if stp_heap_alloc() had returned it.
 * Returns 0, -EEXIST if a byte of the range is in use, or -ENOMEM if there is no memory for a
 * record. Returns -EINVAL if the range is empty or outside the heap, or if offset is not a multiple
 * of STP_HEAP_ALIGN.
 */
int stp_heap_reserve(struct stp_heap *heap, size_t offset, size_t nbytes);

/* Frees the block that starts at offset. Returns 0, or -EINVAL if no live block starts there. */
int stp_heap_free(struct stp_heap *heap, size_t offset);

/*
 * Resizes the block that starts at offset, without moving the block. Returns 0, or -ENOMEM if there
 * is not enough room after the block. Returns -EINVAL if no live block starts at offset or nbytes
 * is 0. If an error is returned, nothing has changed.
 */
int stp_heap_resize(struct stp_heap *heap, size_t offset, size_t nbytes);

/*
 * Extends the heap to size bytes, rounded down to a multiple of STP_HEAP_ALIGN. Returns 0, or
 * -EINVAL if the heap would shrink.
 */
int stp_heap_grow(struct stp_heap *heap, size_t size);

/*
 * Allocates the record for the next block now, so that the next allocation in the heap cannot fail
 * because malloc() fails. Returns 0 or -ENOMEM.
 */
int stp_heap_reserve_record(struct stp_heap *heap);

/*
 * Returns the size to which the heap must grow, so that nbytes bytes can be allocated at a multiple
 * of align. Returns 0 if a gap is large enough already, or SIZE_MAX if no size is sufficient.
 */
size_t stp_heap_size_needed(struct stp_heap *heap, size_t nbytes, size_t align);

/*
 * Returns the size to which the heap must grow, so that the block at offset can be resized to
 * nbytes bytes without moving. Returns SIZE_MAX if the block is not the last one in the heap.
 */
size_t stp_heap_size_to_extend_block(struct stp_heap *heap, size_t offset, size_t nbytes);

/*
 * Finds the live block that contains offset. Sets *start to the block's first offset and *nbytes to
 * its requested size. Returns 0, or -ENOENT if offset is in no block or in the bytes that rounding
 * added to a block. Each thread caches the block that it found last. A lookup in the cached block
 * takes no lock as long as the heap does not change.
 */
int stp_heap_find(struct stp_heap *heap, size_t offset, size_t *start, size_t *nbytes);

/* Sets *stats to a consistent snapshot of the heap's statistics. */
void stp_heap_stats(struct stp_heap *heap, struct stp_heap_stats *stats);

#endif /* STP_HEAP_H */
