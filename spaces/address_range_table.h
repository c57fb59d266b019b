/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table of address ranges, sorted by base address. Readers search the table without a lock.
 * Design: docs/design/memory.md.
 */
#ifndef STP_ADDRESS_RANGE_TABLE_H
#define STP_ADDRESS_RANGE_TABLE_H

#include "spaces/space_registry.h"

/*
 * Maximum number of ranges in a table. Each space has one range, but the data segment can have
 * several.
 */
#define STP_RANGES (STP_SPACE_NUMBERS + STP_SEGMENT_PARTS)

/*
 * A table of ranges that do not overlap. Callers make sure that only one thread at a time changes
 * the table. The field version is odd during a change.
 */
struct stp_ranges {
    uintptr_t bases[STP_RANGES];
    size_t sizes[STP_RANGES];
    uintptr_t value[STP_RANGES]; /* value that stp_ranges_add() has stored with each range */
    unsigned n;
    unsigned version;
};

/* A range that stp_ranges_find() found, and the version that the table had during the search. */
struct stp_range {
    uintptr_t base;
    size_t nbytes;
    uintptr_t value;
    unsigned version;
};

/*
 * Adds a range to the table, and stores value with the range. Returns false if the table is full.
 */
bool stp_ranges_add(struct stp_ranges *ranges, const void *base, size_t nbytes, uintptr_t value);
/* Removes the range that begins at base, if there is one. */
void stp_ranges_remove(struct stp_ranges *ranges, const void *base);
/* Changes the size of the range that begins at base, if there is one. */
void stp_ranges_resize(struct stp_ranges *ranges, const void *base, size_t nbytes);

/*
 * Finds the range that contains the address addr, and copies the range to *found. Returns false if
 * no range contains the address.
 */
bool stp_ranges_find(const struct stp_ranges *ranges, const void *addr, struct stp_range *found);

static inline bool stp_ranges_unchanged(const struct stp_ranges *ranges, unsigned version)
{
    /* Pairs with the release store in ranges_end_change(). */
    return __atomic_load_n(&ranges->version, __ATOMIC_ACQUIRE) == version;
}

#endif /* STP_ADDRESS_RANGE_TABLE_H */
