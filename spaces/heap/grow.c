/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A heap that gets room at its end, and how much of it a request would need.
 * Design: docs/design/heap.md.
 */
#include "records.h"

#include <errno.h>

int stp_heap_ready(struct stp_heap *heap)
{
    int rc;

    pthread_mutex_lock(&heap->lock);
    /* of the growth, and of the allocation that asked for it */
    rc = stp_heap_records_reserve(heap, 1 + STP_HEAP_RECORDS_A_CALL);
    pthread_mutex_unlock(&heap->lock);
    return rc;
}

/* A free block behind all others; its record was reserved. */
static void append_locked(struct stp_heap *heap, size_t size)
{
    struct stp_heap_block *block = stp_heap_record_get(heap);

    *block = (struct stp_heap_block){.offset = heap->size, .size = size, .before = heap->last};
    if (heap->last)
        heap->last->after = block;
    else
        heap->first = block;
    heap->last = block;
}

static int grow_locked(struct stp_heap *heap, size_t size)
{
    if (size < heap->size) return -EINVAL;
    if (size == heap->size) return 0;
    if (stp_heap_is_free(heap->last)) {
        stp_heap_bins_remove(&heap->bins, heap->last);
        heap->last->size += size - heap->size;
    } else {
        if (stp_heap_records_reserve(heap, 1) != 0) return -ENOMEM;
        append_locked(heap, size - heap->size);
    }
    stp_heap_bins_add(&heap->bins, heap->last);
    heap->size = size;
    stp_heap_changed_locked(heap);
    return 0;
}

int stp_heap_grow(struct stp_heap *heap, size_t size)
{
    int rc;

    pthread_mutex_lock(&heap->lock);
    rc = grow_locked(heap, size & ~(size_t)(STP_HEAP_ALIGN - 1));
    pthread_mutex_unlock(&heap->lock);
    return rc;
}

/* Where nbytes from start on end, SIZE_MAX where no address is left for them. */
static size_t end_of(size_t start, size_t nbytes)
{
    if (nbytes > SIZE_MAX - STP_HEAP_ALIGN || start > SIZE_MAX - STP_HEAP_ALIGN - nbytes)
        return SIZE_MAX;
    return start + stp_heap_round(nbytes);
}

static size_t lack_locked(const struct stp_heap *heap, size_t nbytes, size_t align)
{
    size_t start = stp_heap_is_free(heap->last) ? heap->last->offset : heap->size;
    size_t size = end_of(0, nbytes);

    if (size == SIZE_MAX || start > SIZE_MAX - align) return SIZE_MAX;
    if (size <= heap->size && stp_heap_bins_search(&heap->bins, size, align)) return 0;
    return end_of((start + align - 1) & ~(align - 1), nbytes);
}

size_t stp_heap_lack(struct stp_heap *heap, size_t nbytes, size_t align)
{
    size_t size;

    if (align < STP_HEAP_ALIGN) align = STP_HEAP_ALIGN;
    pthread_mutex_lock(&heap->lock);
    size = lack_locked(heap, nbytes, align);
    pthread_mutex_unlock(&heap->lock);
    return size;
}

size_t stp_heap_lack_at(struct stp_heap *heap, size_t offset, size_t nbytes)
{
    const struct stp_heap_block *block;
    size_t size = SIZE_MAX;

    pthread_mutex_lock(&heap->lock);
    block = stp_heap_block_at(heap, offset);
    if (block &&
        (block == heap->last || (block->after == heap->last && stp_heap_is_free(heap->last))))
        size = end_of(offset, nbytes);
    pthread_mutex_unlock(&heap->lock);
    return size;
}
