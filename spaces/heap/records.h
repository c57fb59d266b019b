/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records of a heap, private to the files of this folder. There is one record per live block,
 * outside the managed memory, in a tree ordered by offset (live_block_treap.c). Design:
 * docs/design/heap.md.
 */
#ifndef STP_HEAP_RECORDS_H
#define STP_HEAP_RECORDS_H

#include "heap.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A live block and the free bytes between its end and the next live block. The first record of a
 * heap is not a block: it has no bytes, and its gap is the free range before the first live block.
 */
struct stp_heap_block {
    size_t offset;
    size_t asked; /* number of bytes requested; 0 in the first record only */
    size_t gap;   /* free bytes after the block; 0 in the last block (stp_heap_gap()) */
    struct stp_heap_block *parent;
    struct stp_heap_block *child[2]; /* subtrees with smaller and with larger offsets */
    size_t child_gap[2];             /* largest gap in each subtree; 0 if the subtree is empty */
};

struct stp_heap {
    size_t size;
    pthread_mutex_t lock; /* guards the fields below; taken after all other locks */
    /* Number of the last change, unique among all heaps; also read without the lock. */
    uint64_t state;
    size_t used;
    size_t n_blocks;
    struct stp_heap_block first; /* record of the gap at offset 0 */
    struct stp_heap_block *last; /* block with the largest offset, or the first record */
    struct stp_heap_block *root;
    struct stp_heap_block *spare; /* unused record for the next allocation, or NULL */
};

/* ---- live_block_treap.c -------------------------------------------------------- */

/* Sets the gap of a block that is in the tree. */
void stp_heap_live_set_gap(struct stp_heap_block *block, size_t gap);

/* Inserts block directly after predecessor. The gap of block must be 0. */
void stp_heap_live_insert(struct stp_heap_block **root, struct stp_heap_block *predecessor,
                          struct stp_heap_block *block);

/* Removes block, whose gap must be 0. */
void stp_heap_live_remove(struct stp_heap_block **root, struct stp_heap_block *block);

/* Returns the block with the next smaller offset, or NULL. */
struct stp_heap_block *stp_heap_live_before(struct stp_heap_block *block);

/* Returns the block with the largest offset that is not above offset. */
struct stp_heap_block *stp_heap_live_floor(struct stp_heap_block *root, size_t offset);

/*
 * Returns the first block whose gap has room for nbytes at a multiple of align, or NULL. If align
 * is above STP_HEAP_ALIGN, it can return a later gap that has room at any start address.
 */
struct stp_heap_block *stp_heap_live_first_fit(const struct stp_heap *heap, size_t nbytes,
                                               size_t align);

/* ---- inline -------------------------------------------------------- */

/* Rounds up to STP_HEAP_ALIGN. Does not overflow if nbytes is at most the size of a heap. */
static inline size_t stp_heap_round(size_t nbytes)
{
    return (nbytes + STP_HEAP_ALIGN - 1) & ~(size_t)(STP_HEAP_ALIGN - 1);
}

/* Returns the end of the block, at which its gap starts. */
static inline size_t stp_heap_end(const struct stp_heap_block *block)
{
    return block->offset + stp_heap_round(block->asked);
}

/*
 * Returns the number of free bytes after the block. The tree does not store the gap of the last
 * block, because most allocations in a heap without holes come from it and then need no update.
 */
static inline size_t stp_heap_gap(const struct stp_heap *heap, const struct stp_heap_block *block)
{
    return block == heap->last ? heap->size - stp_heap_end(block) : block->gap;
}

/* Returns the number of bytes from the start of the block's gap to the first multiple of align. */
static inline size_t stp_heap_skip(const struct stp_heap_block *block, size_t align)
{
    return -stp_heap_end(block) & (align - 1);
}

/* Returns the largest gap in the subtree whose root is block. */
static inline size_t stp_heap_live_largest_gap(const struct stp_heap_block *block)
{
    size_t largest = block->gap;

    for (int side = 0; side < 2; side++)
        if (block->child_gap[side] > largest) largest = block->child_gap[side];
    return largest;
}

#endif /* STP_HEAP_RECORDS_H */
