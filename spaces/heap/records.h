/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the records of a heap. Only the files of this folder include this header. Each live
 * block has one record. The records are outside the managed memory, in a tree that is ordered by
 * offset (live_block_treap.c). Design: docs/design/memory.md.
 */
#ifndef STP_HEAP_RECORDS_H
#define STP_HEAP_RECORDS_H

#include "heap.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A live block and its gap. The gap is the free memory between the block and the next live block.
 * The first record of a heap describes no block. Its gap is the free range before the first live
 * block.
 */
struct stp_heap_block {
    size_t offset;
    size_t requested; /* requested size in bytes; 0 in the first record only */
    size_t gap;       /* size of the gap; 0 in the last record, whose gap stp_heap_gap() computes */
    struct stp_heap_block *parent;
    struct stp_heap_block *child[2]; /* left child (smaller offsets) and right child */
    size_t child_gap[2];             /* largest gap in the subtree of each child, or 0 */
};

struct stp_heap {
    size_t size;
    /* Guards the fields below. A thread that holds this lock takes no other lock of the library. */
    pthread_mutex_t lock;
    /*
     * State number. Each change gives the heap a new number, which no heap in this process has had
     * before. Threads also read the field without the lock.
     */
    uint64_t state;
    size_t used;
    size_t n_blocks;
    struct stp_heap_block first; /* record without a block; its gap starts at offset 0 */
    struct stp_heap_block *last; /* record with the largest offset; &first if there is no block */
    struct stp_heap_block *root;
    struct stp_heap_block *spare_record; /* unused record for the next allocation, or NULL */
};

/* ---- live_block_treap.c -------------------------------------------------------- */

/* Sets the gap of a block in the tree, and updates the largest gaps in the nodes above it. */
void stp_heap_live_set_gap(struct stp_heap_block *block, size_t gap);

/*
 * Inserts block into the tree. predecessor is the block with the next smaller offset. The gap of
 * block must be 0.
 */
void stp_heap_live_insert(struct stp_heap_block **root, struct stp_heap_block *predecessor,
                          struct stp_heap_block *block);

/* Removes block from the tree. The gap of block must be 0. */
void stp_heap_live_remove(struct stp_heap_block **root, struct stp_heap_block *block);

/* Returns the block with the next smaller offset, or NULL. */
struct stp_heap_block *stp_heap_live_prev(struct stp_heap_block *block);

/* Returns the last block that starts at or below offset, or the first record. */
struct stp_heap_block *stp_heap_live_floor(struct stp_heap_block *root, size_t offset);

/*
 * Returns a block whose gap has room for nbytes bytes at a multiple of align, or NULL. If align is
 * STP_HEAP_ALIGN, this is the first such block in the heap. If align is larger, the result can be a
 * later block, because the function tries up to three gaps before it examines all gaps. The first
 * one is the first gap of at least nbytes bytes. The second one is the first gap that has room for
 * the aligned block at any start. The third one is the gap of the last block.
 */
struct stp_heap_block *stp_heap_live_first_fit(const struct stp_heap *heap, size_t nbytes,
                                               size_t align);

/* ---- inline -------------------------------------------------------- */

/* Returns nbytes rounded up to a multiple of STP_HEAP_ALIGN. nbytes must fit in a heap. */
static inline size_t stp_heap_round(size_t nbytes)
{
    return (nbytes + STP_HEAP_ALIGN - 1) & ~(size_t)(STP_HEAP_ALIGN - 1);
}

/* Returns the offset at which the block ends and its gap starts. */
static inline size_t stp_heap_end(const struct stp_heap_block *block)
{
    return block->offset + stp_heap_round(block->requested);
}

/*
 * Returns the number of free bytes after the block. The gap of the last block is not stored in the
 * tree. In a heap without holes, most allocations use that gap and then need not update the tree.
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

/* Returns the size of the largest gap in the subtree whose root is block. */
static inline size_t stp_heap_live_largest_gap(const struct stp_heap_block *block)
{
    size_t largest = block->gap;

    for (int side = 0; side < 2; side++)
        if (block->child_gap[side] > largest) largest = block->child_gap[side];
    return largest;
}

#endif /* STP_HEAP_RECORDS_H */
