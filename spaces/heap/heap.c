/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The allocator of a symmetric heap: cuts blocks, joins neighbours, keeps the totals. Where
 * free and live blocks are looked up is the business of bins.c and index.c.
 * Nothing here touches the managed memory. Design: docs/design/heap.md.
 */
#include "records.h"

#include <errno.h>
#include <stdlib.h>

#define CHUNK_RECORDS 64

/* Records are malloc'ed by the chunk and live until the heap is destroyed. */
struct stp_heap_chunk {
    struct stp_heap_chunk *next;
    struct stp_heap_block blocks[CHUNK_RECORDS];
};

/* ---- records ------------------------------------------------------------ */

static void record_put(struct stp_heap *heap, struct stp_heap_block *block)
{
    block->spare = heap->spare;
    heap->spare = block;
}

int stp_heap_records_reserve(struct stp_heap *heap, unsigned n)
{
    const struct stp_heap_block *spare = heap->spare;
    struct stp_heap_chunk *chunk;

    while (n > 0 && spare) {
        spare = spare->spare;
        n--;
    }
    if (n == 0) return 0;
    chunk = malloc(sizeof(*chunk));
    if (!chunk) return -ENOMEM;
    chunk->next = heap->chunks;
    heap->chunks = chunk;
    for (size_t i = CHUNK_RECORDS; i-- > 0;)
        record_put(heap, &chunk->blocks[i]);
    return 0;
}

struct stp_heap_block *stp_heap_record_get(struct stp_heap *heap)
{
    struct stp_heap_block *block = heap->spare;

    heap->spare = block->spare;
    return block;
}

/* ---- blocks ------------------------------------------------------------- */

/*
 * Cut a block that is in no bin after its first nbytes. What follows becomes a free block of
 * its own, in no bin yet, and is returned. Requires a reserved record.
 */
static struct stp_heap_block *block_cut(struct stp_heap *heap, struct stp_heap_block *block,
                                        size_t nbytes)
{
    struct stp_heap_block *rest = stp_heap_record_get(heap);

    rest->offset = block->offset + nbytes;
    rest->size = block->size - nbytes;
    rest->asked = 0;
    rest->before = block;
    rest->after = block->after;
    if (block->after)
        block->after->before = rest;
    else
        heap->last = rest;
    block->after = rest;
    block->size = nbytes;
    return rest;
}

/* Join the block with the one behind it, which is in no bin; its record becomes spare. */
static void block_join(struct stp_heap *heap, struct stp_heap_block *block)
{
    struct stp_heap_block *gone = block->after;

    block->size += gone->size;
    block->after = gone->after;
    if (gone->after)
        gone->after->before = block;
    else
        heap->last = block;
    record_put(heap, gone);
}

/* Join a free block that is in no bin with its free neighbours and put the whole in its bin. */
static void block_release(struct stp_heap *heap, struct stp_heap_block *block)
{
    if (stp_heap_is_free(block->after)) {
        stp_heap_bins_remove(&heap->bins, block->after);
        block_join(heap, block);
    }
    if (stp_heap_is_free(block->before)) {
        block = block->before;
        stp_heap_bins_remove(&heap->bins, block);
        block_join(heap, block);
    }
    stp_heap_bins_add(&heap->bins, block);
}

/* ---- the heap ----------------------------------------------------------- */

static void heap_lock(struct stp_heap *heap)
{
    pthread_mutex_lock(&heap->lock);
}

static void heap_unlock(struct stp_heap *heap)
{
    pthread_mutex_unlock(&heap->lock);
}

void stp_heap_changed_locked(struct stp_heap *heap)
{
    static uint64_t last;

    /* release: pairs with the acquire load of stp_heap_find() */
    __atomic_store_n(&heap->state, __atomic_fetch_add(&last, 1, __ATOMIC_SEQ_CST) + 1,
                     __ATOMIC_RELEASE);
}

int stp_heap_create(size_t size, struct stp_heap **heap)
{
    struct stp_heap *made = calloc(1, sizeof(*made));

    if (!made) return -ENOMEM;
    pthread_mutex_init(&made->lock, NULL);
    made->size = size & ~(size_t)(STP_HEAP_ALIGN - 1);
    if (made->size > 0) {
        if (stp_heap_records_reserve(made, STP_HEAP_RECORDS_A_CALL) != 0) {
            stp_heap_destroy(made);
            return -ENOMEM;
        }
        made->first = made->last = stp_heap_record_get(made);
        *made->first = (struct stp_heap_block){.size = made->size};
        stp_heap_bins_add(&made->bins, made->first);
    }
    stp_heap_changed_locked(made);
    *heap = made;
    return 0;
}

void stp_heap_destroy(struct stp_heap *heap)
{
    if (!heap) return;
    while (heap->chunks) {
        struct stp_heap_chunk *chunk = heap->chunks;

        heap->chunks = chunk->next;
        free(chunk);
    }
    pthread_mutex_destroy(&heap->lock);
    free(heap);
}

/* Make size bytes of a free block, from gap on, a live one. Takes two reserved records. */
static void take_locked(struct stp_heap *heap, struct stp_heap_block *block, size_t gap,
                        size_t size, size_t asked)
{
    stp_heap_bins_remove(&heap->bins, block);
    if (gap > 0) {
        struct stp_heap_block *front = block;

        block = block_cut(heap, front, gap);
        stp_heap_bins_add(&heap->bins, front);
    }
    if (block->size > size) stp_heap_bins_add(&heap->bins, block_cut(heap, block, size));
    block->asked = asked;
    stp_heap_index_add(&heap->index, block);
    heap->used += size;
    heap->n_blocks++;
    stp_heap_changed_locked(heap);
}

static int alloc_locked(struct stp_heap *heap, size_t nbytes, size_t align, size_t *offset)
{
    struct stp_heap_block *block;
    size_t size;
    size_t gap;

    if (nbytes > heap->size || stp_heap_records_reserve(heap, STP_HEAP_RECORDS_A_CALL) != 0)
        return -ENOMEM;
    size = stp_heap_round(nbytes); /* no overflow: the heap's size is a multiple as well */
    block = stp_heap_bins_search(&heap->bins, size, align);
    if (!block) return -ENOMEM;

    gap = stp_heap_gap(block, align);
    *offset = block->offset + gap;
    take_locked(heap, block, gap, size, nbytes);
    return 0;
}

static int reserve_locked(struct stp_heap *heap, size_t offset, size_t nbytes)
{
    struct stp_heap_block *block = heap->first;
    size_t size;

    if (nbytes == 0 || offset % STP_HEAP_ALIGN != 0) return -EINVAL;
    if (offset >= heap->size || nbytes > heap->size - offset) return -EINVAL;
    if (stp_heap_records_reserve(heap, STP_HEAP_RECORDS_A_CALL) != 0) return -ENOMEM;
    size = stp_heap_round(nbytes);
    while (block->offset + block->size <= offset)
        block = block->after;
    if (!stp_heap_is_free(block) || block->offset + block->size - offset < size) return -EEXIST;
    take_locked(heap, block, offset - block->offset, size, nbytes);
    return 0;
}

int stp_heap_reserve(struct stp_heap *heap, size_t offset, size_t nbytes)
{
    int rc;

    heap_lock(heap);
    rc = reserve_locked(heap, offset, nbytes);
    heap_unlock(heap);
    return rc;
}

int stp_heap_alloc(struct stp_heap *heap, size_t nbytes, size_t align, size_t *offset)
{
    int rc;

    if (align < STP_HEAP_ALIGN) align = STP_HEAP_ALIGN;
    if (nbytes == 0 || (align & (align - 1)) != 0) return -EINVAL;
    heap_lock(heap);
    rc = alloc_locked(heap, nbytes, align, offset);
    heap_unlock(heap);
    return rc;
}

static int free_locked(struct stp_heap *heap, size_t offset)
{
    struct stp_heap_block *block = stp_heap_block_at(heap, offset);

    if (!block) return -EINVAL;
    stp_heap_index_remove(&heap->index, block);
    heap->used -= block->size;
    heap->n_blocks--;
    block->asked = 0;
    block_release(heap, block);
    stp_heap_changed_locked(heap);
    return 0;
}

int stp_heap_free(struct stp_heap *heap, size_t offset)
{
    int rc;

    heap_lock(heap);
    rc = free_locked(heap, offset);
    heap_unlock(heap);
    return rc;
}

static int resize_locked(struct stp_heap *heap, size_t offset, size_t nbytes)
{
    struct stp_heap_block *block = stp_heap_block_at(heap, offset);
    size_t had;
    size_t size;

    if (!block || nbytes == 0) return -EINVAL;
    if (nbytes > heap->size || stp_heap_records_reserve(heap, STP_HEAP_RECORDS_A_CALL) != 0)
        return -ENOMEM;
    size = stp_heap_round(nbytes);
    had = block->size;
    if (size > had) {
        if (!stp_heap_is_free(block->after) || block->after->size < size - had) return -ENOMEM;
        stp_heap_bins_remove(&heap->bins, block->after);
        block_join(heap, block);
    }
    if (size < block->size) block_release(heap, block_cut(heap, block, size));
    block->asked = nbytes;
    heap->used += size - had; /* wraps as it should when the block shrinks */
    stp_heap_changed_locked(heap);
    return 0;
}

int stp_heap_resize(struct stp_heap *heap, size_t offset, size_t nbytes)
{
    int rc;

    heap_lock(heap);
    rc = resize_locked(heap, offset, nbytes);
    heap_unlock(heap);
    return rc;
}

/* ---- questions ---------------------------------------------------------- */

/* What a thread found last: good while the records are in the state that it names. */
struct last_find {
    uint64_t state;
    size_t start;
    size_t asked;
};

static int find_locked(const struct stp_heap *heap, size_t offset, struct last_find *found)
{
    const struct stp_heap_block *block = stp_heap_index_floor(heap->index, offset);

    if (!block || offset - block->offset >= block->asked) return -ENOENT;
    found->state = __atomic_load_n(&heap->state, __ATOMIC_RELAXED);
    found->start = block->offset;
    found->asked = block->asked;
    return 0;
}

int stp_heap_find(struct stp_heap *heap, size_t offset, size_t *start, size_t *nbytes)
{
    static __thread struct last_find last __attribute__((tls_model("initial-exec")));
    int rc = 0;

    if (__atomic_load_n(&heap->state, __ATOMIC_ACQUIRE) != last.state ||
        offset - last.start >= last.asked) {
        heap_lock(heap);
        rc = find_locked(heap, offset, &last);
        heap_unlock(heap);
    }
    if (rc != 0) return rc;
    *start = last.start;
    *nbytes = last.asked;
    return 0;
}

void stp_heap_stats(struct stp_heap *heap, struct stp_heap_stats *stats)
{
    heap_lock(heap);
    stats->size = heap->size;
    stats->used = heap->used;
    stats->largest_free = stp_heap_bins_largest(&heap->bins);
    stats->n_blocks = heap->n_blocks;
    heap_unlock(heap);
}
