/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every invariant of a heap's records, for tests. Design: docs/design/heap.md.
 */
#include "records.h"

#include <errno.h>

/* What a walk over all blocks in order of offset adds up to. */
struct walk {
    size_t end;
    size_t used;
    size_t n_live;
    size_t n_free;
};

static bool block_verify(const struct stp_heap *heap, const struct stp_heap_block *block)
{
    if (block->size == 0 || block->size % STP_HEAP_ALIGN != 0) return false;
    if (block->after && block->after->before != block) return false;
    if (stp_heap_is_free(block)) return !stp_heap_is_free(block->after);
    return block->asked <= block->size && stp_heap_round(block->asked) == block->size &&
           stp_heap_block_at(heap, block->offset) == block;
}

static bool blocks_verify(const struct stp_heap *heap, struct walk *walk)
{
    const struct stp_heap_block *block = heap->first, *last = NULL;

    if (block && block->before) return false;
    for (; block; block = block->after) {
        last = block;
        if (block->offset != walk->end || !block_verify(heap, block)) return false;
        walk->end += block->size;
        if (stp_heap_is_free(block)) {
            walk->n_free++;
        } else {
            walk->n_live++;
            walk->used += block->size;
        }
    }
    return walk->end == heap->size && heap->last == last;
}

static int verify_locked(const struct stp_heap *heap)
{
    struct walk walk = {0};
    size_t n_free;

    if (!blocks_verify(heap, &walk)) return -EFAULT;
    if (!stp_heap_index_verify(heap->index, walk.n_live)) return -EFAULT;
    if (!stp_heap_bins_verify(&heap->bins, &n_free) || n_free != walk.n_free) return -EFAULT;
    return walk.n_live == heap->n_blocks && walk.used == heap->used ? 0 : -EFAULT;
}

int stp_heap_verify(struct stp_heap *heap)
{
    int rc;

    pthread_mutex_lock(&heap->lock);
    rc = verify_locked(heap);
    pthread_mutex_unlock(&heap->lock);
    return rc;
}
