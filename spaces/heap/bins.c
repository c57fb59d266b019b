/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Free blocks by size, in two levels: a row for each power of two, split evenly into bins.
 * Two bitmaps find the first bin whose every block is large enough; only when there is none
 * are blocks looked at one by one, so nothing that fits is ever refused.
 */
#include "records.h"

struct bin {
    unsigned row;
    unsigned bin;
};

/* The bin of blocks of nbytes. */
static struct bin bin_of(size_t nbytes)
{
    size_t granules = nbytes / STP_HEAP_ALIGN;
    unsigned log2;

    if (granules < STP_HEAP_SPLIT) return (struct bin){0, (unsigned)granules};
    log2 = 63 - (unsigned)__builtin_clzll(granules);
    return (struct bin){
        .row = log2 - STP_HEAP_SPLIT_BITS + 1,
        .bin = (unsigned)(granules >> (log2 - STP_HEAP_SPLIT_BITS)) & (STP_HEAP_SPLIT - 1),
    };
}

/* The first bin in which every block has nbytes; its row may be STP_HEAP_ROWS: no such bin. */
static struct bin bin_above(size_t nbytes)
{
    size_t granules = nbytes / STP_HEAP_ALIGN;
    struct bin at = bin_of(nbytes);
    size_t rest = 0;

    if (at.row > 0) rest = granules & (((size_t)1 << (at.row - 1)) - 1);
    if (rest != 0 && ++at.bin == STP_HEAP_SPLIT) {
        at.bin = 0;
        at.row++;
    }
    return at;
}

void stp_heap_bins_add(struct stp_heap_bins *bins, struct stp_heap_block *block)
{
    struct bin at = bin_of(block->size);
    struct stp_heap_block **head = &bins->head[at.row][at.bin];

    block->bin.prev = NULL;
    block->bin.next = *head;
    if (*head) (*head)->bin.prev = block;
    *head = block;
    bins->rows |= UINT64_C(1) << at.row;
    bins->bins[at.row] |= UINT32_C(1) << at.bin;
}

void stp_heap_bins_remove(struct stp_heap_bins *bins, struct stp_heap_block *block)
{
    struct bin at = bin_of(block->size);

    if (block->bin.next) block->bin.next->bin.prev = block->bin.prev;
    if (block->bin.prev) {
        block->bin.prev->bin.next = block->bin.next;
        return;
    }
    bins->head[at.row][at.bin] = block->bin.next;
    if (block->bin.next) return;
    bins->bins[at.row] &= ~(UINT32_C(1) << at.bin);
    if (bins->bins[at.row] == 0) bins->rows &= ~(UINT64_C(1) << at.row);
}

/* Move at on to the first bin from there on that has a block; false when there is none. */
static bool next_nonempty(const struct stp_heap_bins *bins, struct bin *at)
{
    uint64_t rows;
    uint32_t in_row;

    if (at->row >= STP_HEAP_ROWS) return false;
    in_row = bins->bins[at->row] & (~UINT32_C(0) << at->bin);
    if (in_row == 0) {
        rows = bins->rows & (~UINT64_C(0) << at->row << 1);
        if (rows == 0) return false;
        at->row = (unsigned)__builtin_ctzll(rows);
        in_row = bins->bins[at->row];
    }
    at->bin = (unsigned)__builtin_ctz(in_row);
    return true;
}

static bool holds(const struct stp_heap_block *block, size_t nbytes, size_t align)
{
    size_t gap = stp_heap_gap(block, align);

    return gap <= block->size && block->size - gap >= nbytes;
}

/* Look at every free block that could do, smallest bins first. */
static struct stp_heap_block *search_all(const struct stp_heap_bins *bins, size_t nbytes,
                                         size_t align)
{
    struct bin at = bin_of(nbytes);
    struct stp_heap_block *block;

    while (next_nonempty(bins, &at)) {
        for (block = bins->head[at.row][at.bin]; block; block = block->bin.next) {
            if (holds(block, nbytes, align)) return block;
        }
        if (++at.bin == STP_HEAP_SPLIT) {
            at.bin = 0;
            at.row++;
        }
    }
    return NULL;
}

struct stp_heap_block *stp_heap_bins_search(const struct stp_heap_bins *bins, size_t nbytes,
                                            size_t align)
{
    struct bin at = bin_above(nbytes);
    size_t with_gap;

    if (next_nonempty(bins, &at)) {
        struct stp_heap_block *block = bins->head[at.row][at.bin];

        if (holds(block, nbytes, align)) return block;
    }
    /* With room for the worst gap any start will do. */
    if (align > STP_HEAP_ALIGN &&
        !__builtin_add_overflow(nbytes, align - STP_HEAP_ALIGN, &with_gap)) {
        at = bin_above(with_gap);
        if (next_nonempty(bins, &at)) return bins->head[at.row][at.bin];
    }
    return search_all(bins, nbytes, align);
}

size_t stp_heap_bins_largest(const struct stp_heap_bins *bins)
{
    const struct stp_heap_block *block;
    size_t largest = 0;
    unsigned row;

    if (bins->rows == 0) return 0;
    row = 63 - (unsigned)__builtin_clzll(bins->rows);
    block = bins->head[row][31 - (unsigned)__builtin_clz(bins->bins[row])];
    for (; block; block = block->bin.next) {
        if (block->size > largest) largest = block->size;
    }
    return largest;
}

/* One bin: its bit, the links, and that its blocks belong there. Adds their number to *n_free. */
static bool bin_verify(const struct stp_heap_bins *bins, struct bin at, size_t *n_free)
{
    const struct stp_heap_block *block = bins->head[at.row][at.bin];
    const struct stp_heap_block *prev = NULL;
    bool bit = bins->bins[at.row] >> at.bin & 1;

    if (bit != (block != NULL)) return false;
    for (; block; prev = block, block = block->bin.next) {
        struct bin right = bin_of(block->size);

        if (block->bin.prev != prev || block->asked != 0) return false;
        if (right.row != at.row || right.bin != at.bin) return false;
        ++*n_free;
    }
    return true;
}

bool stp_heap_bins_verify(const struct stp_heap_bins *bins, size_t *n_free)
{
    *n_free = 0;
    for (unsigned row = 0; row < STP_HEAP_ROWS; row++) {
        bool bit = bins->rows >> row & 1;

        if (bit != (bins->bins[row] != 0)) return false;
        for (unsigned bin = 0; bin < STP_HEAP_SPLIT; bin++) {
            if (!bin_verify(bins, (struct bin){row, bin}, n_free)) return false;
        }
    }
    return true;
}
