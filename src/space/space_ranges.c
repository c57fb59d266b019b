/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spaces of several ranges of the program's memory: a structure for each range, with a number, a
 * region and ways to its peers of its own, all behind the handle of the first. So an address is
 * found, and leads to its peers, as in any space. Design: docs/design/spaces.md.
 */
#include "space.h"

struct stp_space *stp_space_range_in(struct stp_space *space, const void *addr, size_t *offset)
{
    for (; space != NULL; space = space->next_range) {
        *offset = (size_t)((uintptr_t)addr - (uintptr_t)space->base);
        if (*offset < stp_space_nbytes(space)) return space;
    }
    return NULL;
}

size_t stp_space_all_offset(const struct stp_space *range, size_t offset)
{
    const struct stp_space *before = range->range_of;

    for (; before != NULL && before != range; before = before->next_range)
        offset += before->nbytes;
    return offset;
}

size_t stp_space_all_bytes(const struct stp_space *space)
{
    size_t nbytes = 0;

    for (; space != NULL; space = space->next_range)
        nbytes += stp_space_nbytes(space);
    return nbytes;
}

void stp_space_all_stats(const struct stp_space *space, struct stp_heap_stats *stats)
{
    struct stp_heap_stats more;

    stp_heap_stats(space->heap, stats);
    while ((space = space->next_range) != NULL) {
        stp_heap_stats(space->heap, &more);
        stats->size += more.size;
        stats->used += more.used;
        stats->n_blocks += more.n_blocks;
        if (more.largest_free > stats->largest_free) stats->largest_free = more.largest_free;
    }
}
