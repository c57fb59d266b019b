/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records behind heap.h, shared by the files of the heap and by nobody else: a record per
 * block in malloc'ed memory, bins of free blocks by size (bins.c), live blocks by
 * offset (index.c). Design: docs/design/heap.md.
 */
#ifndef STP_HEAP_RECORDS_H
#define STP_HEAP_RECORDS_H

#include "heap.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A power of two cut into 2^SPLIT_BITS bins: a bin's blocks differ in size by 3 % at most. */
#define STP_HEAP_SPLIT_BITS 5
#define STP_HEAP_SPLIT (1u << STP_HEAP_SPLIT_BITS)

/* Row 0: one bin for each size below SPLIT granules; then a row for each power of two. */
#define STP_HEAP_ROWS (64 - 6 - STP_HEAP_SPLIT_BITS + 1)

/* A range of the heap, free or live. All blocks together cover [0, size) without gaps. */
struct stp_heap_block {
    size_t offset;
    size_t size;                   /* bytes, a multiple of STP_HEAP_ALIGN */
    size_t asked;                  /* bytes the owner asked for; 0: the block is free */
    struct stp_heap_block *before; /* neighbours by offset */
    struct stp_heap_block *after;
    union {
        struct { /* a free block, in its bin */
            struct stp_heap_block *prev;
            struct stp_heap_block *next;
        } bin;
        struct { /* a live block, in the index: smaller offsets left, larger right */
            struct stp_heap_block *left;
            struct stp_heap_block *right;
        } tree;
        struct stp_heap_block *spare; /* no block at all: next unused record */
    };
};

struct stp_heap_bins {
    uint64_t rows;                /* bit r: row r has a block */
    uint32_t bins[STP_HEAP_ROWS]; /* bit b: the bin has a block */
    struct stp_heap_block *head[STP_HEAP_ROWS][STP_HEAP_SPLIT];
};

struct stp_heap {
    size_t size;
    pthread_mutex_t lock; /* guards all that follows; nothing is taken while it is held */
    uint64_t state;       /* a new number after each change, of any heap; read without */
    size_t used;
    size_t n_blocks;
    struct stp_heap_block *first;  /* block at offset 0, NULL in a heap of no bytes */
    struct stp_heap_block *last;   /* block that ends at size, likewise */
    struct stp_heap_block *index;  /* root of the live blocks */
    struct stp_heap_block *spare;  /* unused records */
    struct stp_heap_chunk *chunks; /* where records live */
    struct stp_heap_bins bins;
};

/* ---- bins.c -------------------------------------------------------- */

void stp_heap_bins_add(struct stp_heap_bins *bins, struct stp_heap_block *block);
void stp_heap_bins_remove(struct stp_heap_bins *bins, struct stp_heap_block *block);

/*
 * A free block that has nbytes from a multiple of align on, or NULL when none has. nbytes: a
 * nonzero multiple of STP_HEAP_ALIGN; align: a power of two, at least STP_HEAP_ALIGN.
 */
struct stp_heap_block *stp_heap_bins_search(const struct stp_heap_bins *bins, size_t nbytes,
                                            size_t align);

/* Size of the largest free block, 0 when there is none. */
size_t stp_heap_bins_largest(const struct stp_heap_bins *bins);

/* True when bitmaps, lists and sizes agree; sets *n_free to the number of blocks in the bins. */
bool stp_heap_bins_verify(const struct stp_heap_bins *bins, size_t *n_free);

/* ---- index.c ------------------------------------------------------- */

void stp_heap_index_add(struct stp_heap_block **root, struct stp_heap_block *block);
void stp_heap_index_remove(struct stp_heap_block **root, struct stp_heap_block *block);

/* The live block with the largest offset at or below this one, or NULL. */
struct stp_heap_block *stp_heap_index_floor(struct stp_heap_block *root, size_t offset);

/* True when the index holds n_live blocks, in order and not much deeper than it need be. */
bool stp_heap_index_verify(const struct stp_heap_block *root, size_t n_live);

/* ---- heap.c -------------------------------------------------------- */

#define STP_HEAP_RECORDS_A_CALL 2 /* that one call can need */

/* See to it that n records are at hand, less than a chunk has: 0 or -ENOMEM. Then take one. */
int stp_heap_records_reserve(struct stp_heap *heap, unsigned n);
struct stp_heap_block *stp_heap_record_get(struct stp_heap *heap);

/* What threads remember of the records is worth nothing from now on. */
void stp_heap_changed_locked(struct stp_heap *heap);

/* ---- for all ------------------------------------------------------------ */

/* No overflow when nbytes is at most a heap's size. */
static inline size_t stp_heap_round(size_t nbytes)
{
    return (nbytes + STP_HEAP_ALIGN - 1) & ~(size_t)(STP_HEAP_ALIGN - 1);
}

static inline bool stp_heap_is_free(const struct stp_heap_block *block)
{
    return block && block->asked == 0;
}

/* The live block that starts at offset, or NULL. */
static inline struct stp_heap_block *stp_heap_block_at(const struct stp_heap *heap, size_t offset)
{
    struct stp_heap_block *block = stp_heap_index_floor(heap->index, offset);

    return block && block->offset == offset ? block : NULL;
}

/* Bytes from the start of the block to the first multiple of align. */
static inline size_t stp_heap_gap(const struct stp_heap_block *block, size_t align)
{
    return -block->offset & (align - 1);
}

#endif /* STP_HEAP_RECORDS_H */
