/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table of address ranges, sorted by base, which readers search without a lock. Design:
 * docs/design/memory.md.
 */
#ifndef STP_ADDRESS_RANGE_TABLE_H
#define STP_ADDRESS_RANGE_TABLE_H

#include "spaces/space_registry.h"

/* Capacity of a table. The data segment is one space number with several ranges. */
#define STP_RANGES (STP_SPACE_NUMBERS + STP_SEGMENT_PARTS)

/* Ranges that do not overlap. Writers exclude each other; version is odd during a change. */
struct stp_ranges {
    uintptr_t bases[STP_RANGES];
    size_t sizes[STP_RANGES];
    uintptr_t what[STP_RANGES]; /* value that the user of the table gave for each range */
    unsigned n;
    unsigned version;
};

/* The range that a search found. It is valid while the version of the table is unchanged. */
struct stp_range {
    uintptr_t base;
    size_t nbytes;
    uintptr_t what;
    unsigned version;
};

/* These functions change the range at base. stp_ranges_add() returns false if the table is full. */
bool stp_ranges_add(struct stp_ranges *ranges, const void *base, size_t nbytes, uintptr_t what);
void stp_ranges_remove(struct stp_ranges *ranges, const void *base);
void stp_ranges_resize(struct stp_ranges *ranges, const void *base, size_t nbytes);

/* Finds the last range that begins at or below at; returns whether it holds at. Any thread. */
bool stp_ranges_find(const struct stp_ranges *ranges, const void *at, struct stp_range *found);

static inline bool stp_ranges_unchanged(const struct stp_ranges *ranges, unsigned version)
{
    /* Pairs with the release store in ranges_end_change(). */
    return __atomic_load_n(&ranges->version, __ATOMIC_ACQUIRE) == version;
}

#endif /* STP_ADDRESS_RANGE_TABLE_H */
