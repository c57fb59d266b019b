/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks every invariant of the records of a heap, for unit tests. Design: docs/design/memory.md.
 */
#ifndef HEAP_VERIFY_H
#define HEAP_VERIFY_H

#include "spaces/heap/records.h"

#include <errno.h>

/* Sums of a walk over the blocks in order of offset. */
struct walk {
    const struct stp_heap_block *last;
    size_t end; /* of the last block and its gap */
    size_t used;
    size_t n_blocks; /* the first record included */
};

static bool block_verify(const struct stp_heap_block *block, struct walk *walk)
{
    bool first = walk->n_blocks++ == 0;

    if (block->offset != walk->end || block->gap % STP_HEAP_ALIGN != 0) return false;
    if ((block->requested == 0) != first) return false;
    walk->last = block;
    walk->end = stp_heap_end(block) + block->gap;
    walk->used += stp_heap_round(block->requested);
    return true;
}

/* Checks that the parent of block has the right values of it. */
static bool child_verify(const struct stp_heap_block *parent, int side)
{
    const struct stp_heap_block *child = parent->child[side];
    size_t largest = child ? stp_heap_live_largest_gap(child) : 0;

    return parent->child_gap[side] == largest && (!child || child->parent == parent);
}

static bool subtree_verify(const struct stp_heap_block *block, unsigned levels, struct walk *walk)
{
    if (!block) return true;
    if (levels == 0 || !child_verify(block, 0) || !child_verify(block, 1)) return false;
    return subtree_verify(block->child[0], levels - 1, walk) && block_verify(block, walk) &&
           subtree_verify(block->child[1], levels - 1, walk);
}

static int verify_locked(const struct stp_heap *heap)
{
    /* A random tree is about three times as deep as a perfect one, never three times that. */
    unsigned perfect = 64 - (unsigned)__builtin_clzll(heap->n_blocks | 1);
    struct walk walk = {0};

    if (heap->root->parent || !subtree_verify(heap->root, 16 + 8 * perfect, &walk)) return -EFAULT;
    if (walk.last != heap->last || walk.last->gap != 0 || walk.end > heap->size) return -EFAULT;
    return walk.used == heap->used && walk.n_blocks == heap->n_blocks + 1 ? 0 : -EFAULT;
}

/* Returns 0 or -EFAULT. */
static int heap_verify(struct stp_heap *heap)
{
    int rc;

    pthread_mutex_lock(&heap->lock);
    rc = verify_locked(heap);
    pthread_mutex_unlock(&heap->lock);
    return rc;
}

#endif /* HEAP_VERIFY_H */
