/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The allocator of a symmetric heap. This file has the functions that allocate, free and resize
 * blocks, that grow the heap, and that return information about the heap. The tree that finds
 * blocks and gaps is in live_block_treap.c. The allocator never accesses the memory that it
 * manages. Design: docs/design/memory.md.
 */
#include "records.h"

#include <errno.h>
#include <stdlib.h>

/* ---- the heap ----------------------------------------------------------- */

/*
 * Gives the heap a new state number. Each thread then discards the block that it cached in
 * stp_heap_find().
 */
static void set_new_state_locked(struct stp_heap *heap)
{
    static uint64_t last;

    /*
     * The store pairs with the acquire load in stp_heap_find(). The addition is atomic because
     * threads that change other heaps add to the same counter. Each state number is thus used only
     * once in the process.
     */
    __atomic_store_n(&heap->state, __atomic_fetch_add(&last, 1, __ATOMIC_SEQ_CST) + 1,
                     __ATOMIC_RELEASE);
}

int stp_heap_create(size_t size, struct stp_heap **heap)
{
    struct stp_heap *new_heap = calloc(1, sizeof(*new_heap));

    if (!new_heap) return -ENOMEM;
    pthread_mutex_init(&new_heap->lock, NULL);
    new_heap->size = size & ~(size_t)(STP_HEAP_ALIGN - 1);
    new_heap->root = new_heap->last = &new_heap->first;
    set_new_state_locked(new_heap);
    *heap = new_heap;
    return 0;
}

/* Removes a block from the tree. Adds its bytes and its gap to the gap of the preceding block. */
static void remove_locked(struct stp_heap *heap, struct stp_heap_block *block)
{
    struct stp_heap_block *prev = stp_heap_live_prev(block);
    size_t end = stp_heap_end(block) + stp_heap_gap(heap, block);
    bool last = block == heap->last;

    stp_heap_live_set_gap(prev, last ? 0 : end - stp_heap_end(prev));
    stp_heap_live_set_gap(block, 0);
    stp_heap_live_remove(&heap->root, block);
    if (last) heap->last = prev;
}

void stp_heap_destroy(struct stp_heap *heap)
{
    struct stp_heap_block *block;

    if (!heap) return;
    while ((block = heap->last) != &heap->first) {
        remove_locked(heap, block);
        free(block);
    }
    free(heap->spare_record);
    pthread_mutex_destroy(&heap->lock);
    free(heap);
}

/* ---- allocation --------------------------------------------------------- */

/* Allocates the spare record if the heap has none. Returns 0 or -ENOMEM. */
static int reserve_record_locked(struct stp_heap *heap)
{
    if (!heap->spare_record) heap->spare_record = malloc(sizeof(*heap->spare_record));
    return heap->spare_record ? 0 : -ENOMEM;
}

int stp_heap_reserve_record(struct stp_heap *heap)
{
    int rc;

    pthread_mutex_lock(&heap->lock);
    rc = reserve_record_locked(heap);
    pthread_mutex_unlock(&heap->lock);
    return rc;
}

static void set_gap(struct stp_heap *heap, struct stp_heap_block *block, size_t gap)
{
    if (block != heap->last) stp_heap_live_set_gap(block, gap);
}

/* Makes the spare record a live block at offset. The argument prev is the preceding block. */
static void block_take_locked(struct stp_heap *heap, struct stp_heap_block *prev, size_t offset,
                              size_t requested)
{
    struct stp_heap_block *block = heap->spare_record;
    size_t end = stp_heap_end(prev) + stp_heap_gap(heap, prev);

    heap->spare_record = NULL;
    *block = (struct stp_heap_block){.offset = offset, .requested = requested};
    stp_heap_live_insert(&heap->root, prev, block);
    if (prev == heap->last) heap->last = block;
    /*
     * Set the gap of the new block before the gap of the preceding block. The preceding block still
     * has its old gap, which is larger. The largest gap of a subtree with both blocks therefore
     * stays the same, so the update of the tree stops there and does not continue to the root.
     */
    set_gap(heap, block, end - stp_heap_end(block));
    set_gap(heap, prev, offset - stp_heap_end(prev));
    heap->used += stp_heap_round(requested);
    heap->n_blocks++;
    set_new_state_locked(heap);
}

static int alloc_locked(struct stp_heap *heap, size_t nbytes, size_t align, size_t *offset)
{
    struct stp_heap_block *prev;

    if (nbytes > heap->size || reserve_record_locked(heap) != 0) return -ENOMEM;
    prev = stp_heap_live_first_fit(heap, stp_heap_round(nbytes), align);
    if (!prev) return -ENOMEM;
    *offset = stp_heap_end(prev) + stp_heap_skip(prev, align);
    block_take_locked(heap, prev, *offset, nbytes);
    return 0;
}

int stp_heap_alloc(struct stp_heap *heap, size_t nbytes, size_t align, size_t *offset)
{
    int rc;

    if (align < STP_HEAP_ALIGN) align = STP_HEAP_ALIGN;
    if (nbytes == 0 || (align & (align - 1)) != 0) return -EINVAL;
    pthread_mutex_lock(&heap->lock);
    rc = alloc_locked(heap, nbytes, align, offset);
    pthread_mutex_unlock(&heap->lock);
    return rc;
}

static int reserve_locked(struct stp_heap *heap, size_t offset, size_t nbytes)
{
    struct stp_heap_block *prev;

    if (nbytes == 0 || offset % STP_HEAP_ALIGN != 0) return -EINVAL;
    if (offset >= heap->size || nbytes > heap->size - offset) return -EINVAL;
    if (reserve_record_locked(heap) != 0) return -ENOMEM;
    prev = stp_heap_live_floor(heap->root, offset);
    if (offset < stp_heap_end(prev)) return -EEXIST;
    if (stp_heap_end(prev) + stp_heap_gap(heap, prev) - offset < stp_heap_round(nbytes))
        return -EEXIST;
    block_take_locked(heap, prev, offset, nbytes);
    return 0;
}

int stp_heap_reserve(struct stp_heap *heap, size_t offset, size_t nbytes)
{
    int rc;

    pthread_mutex_lock(&heap->lock);
    rc = reserve_locked(heap, offset, nbytes);
    pthread_mutex_unlock(&heap->lock);
    return rc;
}

/* Returns the live block that starts at offset, or NULL. */
static struct stp_heap_block *block_at(const struct stp_heap *heap, size_t offset)
{
    struct stp_heap_block *block = stp_heap_live_floor(heap->root, offset);

    return block->offset == offset && block != &heap->first ? block : NULL;
}

static int free_locked(struct stp_heap *heap, size_t offset)
{
    struct stp_heap_block *block = block_at(heap, offset);

    if (!block) return -EINVAL;
    heap->used -= stp_heap_round(block->requested);
    heap->n_blocks--;
    remove_locked(heap, block);
    if (heap->spare_record)
        free(block);
    else
        heap->spare_record = block;
    set_new_state_locked(heap);
    return 0;
}

int stp_heap_free(struct stp_heap *heap, size_t offset)
{
    int rc;

    pthread_mutex_lock(&heap->lock);
    rc = free_locked(heap, offset);
    pthread_mutex_unlock(&heap->lock);
    return rc;
}

static int resize_locked(struct stp_heap *heap, size_t offset, size_t nbytes)
{
    struct stp_heap_block *block = block_at(heap, offset);
    size_t room, size;

    if (!block || nbytes == 0) return -EINVAL;
    if (nbytes > heap->size) return -ENOMEM;
    size = stp_heap_round(nbytes);
    room = stp_heap_round(block->requested) + stp_heap_gap(heap, block);
    if (size > room) return -ENOMEM;
    /* If the block shrinks, the unsigned difference wraps around, as intended. */
    heap->used += size - stp_heap_round(block->requested);
    block->requested = nbytes;
    set_gap(heap, block, room - size);
    set_new_state_locked(heap);
    return 0;
}

int stp_heap_resize(struct stp_heap *heap, size_t offset, size_t nbytes)
{
    int rc;

    pthread_mutex_lock(&heap->lock);
    rc = resize_locked(heap, offset, nbytes);
    pthread_mutex_unlock(&heap->lock);
    return rc;
}

/* ---- growth ------------------------------------------------------------- */

int stp_heap_grow(struct stp_heap *heap, size_t size)
{
    int rc = -EINVAL;

    size &= ~(size_t)(STP_HEAP_ALIGN - 1);
    pthread_mutex_lock(&heap->lock);
    if (size >= heap->size) {
        heap->size = size;
        set_new_state_locked(heap);
        rc = 0;
    }
    pthread_mutex_unlock(&heap->lock);
    return rc;
}

/* Returns the end of a block of nbytes bytes at start, or SIZE_MAX if the sum overflows. */
static size_t end_of(size_t start, size_t nbytes)
{
    if (nbytes > SIZE_MAX - STP_HEAP_ALIGN || start > SIZE_MAX - STP_HEAP_ALIGN - nbytes)
        return SIZE_MAX;
    return start + stp_heap_round(nbytes);
}

static size_t size_needed_locked(const struct stp_heap *heap, size_t nbytes, size_t align)
{
    size_t start = stp_heap_end(heap->last);
    size_t size = end_of(0, nbytes);

    if (size == SIZE_MAX || start > SIZE_MAX - align) return SIZE_MAX;
    if (stp_heap_live_first_fit(heap, size, align)) return 0;
    return end_of((start + align - 1) & ~(align - 1), nbytes);
}

size_t stp_heap_size_needed(struct stp_heap *heap, size_t nbytes, size_t align)
{
    size_t size;

    if (align < STP_HEAP_ALIGN) align = STP_HEAP_ALIGN;
    pthread_mutex_lock(&heap->lock);
    size = size_needed_locked(heap, nbytes, align);
    pthread_mutex_unlock(&heap->lock);
    return size;
}

size_t stp_heap_size_to_extend_block(struct stp_heap *heap, size_t offset, size_t nbytes)
{
    const struct stp_heap_block *block;
    size_t size = SIZE_MAX;

    pthread_mutex_lock(&heap->lock);
    block = block_at(heap, offset);
    if (block && block == heap->last) size = end_of(offset, nbytes);
    pthread_mutex_unlock(&heap->lock);
    return size;
}

/* ---- queries ------------------------------------------------------------ */

/*
 * The block that this thread found last. The block is valid as long as heap->state equals the field
 * state.
 */
struct cached_block {
    uint64_t state;
    size_t start;
    size_t requested;
};

static int find_locked(const struct stp_heap *heap, size_t offset, struct cached_block *found)
{
    const struct stp_heap_block *block = stp_heap_live_floor(heap->root, offset);

    if (offset - block->offset >= block->requested) return -ENOENT;
    found->state = __atomic_load_n(&heap->state, __ATOMIC_RELAXED);
    found->start = block->offset;
    found->requested = block->requested;
    return 0;
}

int stp_heap_find(struct stp_heap *heap, size_t offset, size_t *start, size_t *nbytes)
{
    static __thread struct cached_block last __attribute__((tls_model("initial-exec")));
    int rc = 0;

    /* Pairs with the release store in set_new_state_locked(). */
    if (__atomic_load_n(&heap->state, __ATOMIC_ACQUIRE) != last.state ||
        offset - last.start >= last.requested) {
        pthread_mutex_lock(&heap->lock);
        rc = find_locked(heap, offset, &last);
        pthread_mutex_unlock(&heap->lock);
    }
    if (rc != 0) return rc;
    *start = last.start;
    *nbytes = last.requested;
    return 0;
}

static size_t largest_locked(const struct stp_heap *heap)
{
    size_t last_gap = stp_heap_gap(heap, heap->last);
    size_t others_largest = stp_heap_live_largest_gap(heap->root);

    return last_gap > others_largest ? last_gap : others_largest;
}

void stp_heap_stats(struct stp_heap *heap, struct stp_heap_stats *stats)
{
    pthread_mutex_lock(&heap->lock);
    stats->size = heap->size;
    stats->used = heap->used;
    stats->largest_free = largest_locked(heap);
    stats->n_blocks = heap->n_blocks;
    pthread_mutex_unlock(&heap->lock);
}
