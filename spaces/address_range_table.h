/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranges of addresses, sorted by base, that readers search without a lock. Design:
 * docs/design/memory.md.
 */
#ifndef STP_ADDRESS_RANGE_TABLE_H
#define STP_ADDRESS_RANGE_TABLE_H

#include "spaces/space_registry.h"

#define STP_RANGES (STP_SPACE_NUMBERS + STP_SEGMENT_PARTS) /* one number has several */

/* None overlaps another one. Writers exclude each other; the arrays change while version is odd. */
struct stp_ranges {
    uintptr_t bases[STP_RANGES];
    size_t sizes[STP_RANGES];
    uintptr_t what[STP_RANGES]; /* what the range belongs to, as its user knows it */
    unsigned n;
    unsigned version;
};

/* A range as a reader found it, which is right as long as the version is the same. */
struct stp_range {
    uintptr_t base;
    size_t nbytes;
    uintptr_t what;
    unsigned version;
};

/* Adds a range; false: there is no room for it. Removes or resizes the range at base, if any. */
bool stp_ranges_add(struct stp_ranges *ranges, const void *base, size_t nbytes, uintptr_t what);
void stp_ranges_remove(struct stp_ranges *ranges, const void *base);
void stp_ranges_resize(struct stp_ranges *ranges, const void *base, size_t nbytes);

/* Finds the last range that begins at or below at. Returns whether at lies in it. Any thread. */
bool stp_ranges_find(const struct stp_ranges *ranges, const void *at, struct stp_range *found);

static inline bool stp_ranges_unchanged(const struct stp_ranges *ranges, unsigned version)
{
    /* Pairs with the release store in ranges_end_change(). */
    return __atomic_load_n(&ranges->version, __ATOMIC_ACQUIRE) == version;
}

#endif /* STP_ADDRESS_RANGE_TABLE_H */
