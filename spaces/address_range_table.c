/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sorted table of address ranges. Readers take no lock. A version counter shows whether a writer
 * has changed the table during a search. In this case, the reader repeats the search. Design:
 * docs/design/memory.md.
 */
#include "spaces/address_range_table.h"

static void ranges_begin_change(struct stp_ranges *ranges)
{
    __atomic_store_n(&ranges->version, ranges->version + 1, __ATOMIC_RELAXED);
    /* Pairs with the acquire fence in stp_ranges_find(). */
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static void ranges_end_change(struct stp_ranges *ranges)
{
    /* Pairs with the acquire loads in stp_ranges_find() and stp_ranges_unchanged(). */
    __atomic_store_n(&ranges->version, ranges->version + 1, __ATOMIC_RELEASE);
}

/*
 * Stores entry i. A concurrent reader can read a mixture of old and new values. The reader then
 * finds that the version has changed, and repeats its search.
 */
static void ranges_set(struct stp_ranges *ranges, unsigned i, uintptr_t base, size_t nbytes,
                       uintptr_t value)
{
    __atomic_store_n(&ranges->bases[i], base, __ATOMIC_RELAXED);
    __atomic_store_n(&ranges->sizes[i], nbytes, __ATOMIC_RELAXED);
    __atomic_store_n(&ranges->value[i], value, __ATOMIC_RELAXED);
}

static void ranges_move(struct stp_ranges *ranges, unsigned dest, unsigned source)
{
    ranges_set(ranges, dest, ranges->bases[source], ranges->sizes[source], ranges->value[source]);
}

/* Returns the index of the range that begins at base, or ranges->n if no range begins there. */
static unsigned ranges_index(const struct stp_ranges *ranges, const void *base)
{
    unsigned i = 0;

    while (i < ranges->n && ranges->bases[i] != (uintptr_t)base)
        i++;
    return i;
}

bool stp_ranges_add(struct stp_ranges *ranges, const void *base, size_t nbytes, uintptr_t value)
{
    unsigned i = ranges->n;

    if (i == STP_RANGES) return false;
    ranges_begin_change(ranges);
    for (; i > 0 && ranges->bases[i - 1] > (uintptr_t)base; i--)
        ranges_move(ranges, i, i - 1);
    ranges_set(ranges, i, (uintptr_t)base, nbytes, value);
    __atomic_store_n(&ranges->n, ranges->n + 1, __ATOMIC_RELAXED);
    ranges_end_change(ranges);
    return true;
}

void stp_ranges_remove(struct stp_ranges *ranges, const void *base)
{
    unsigned i = ranges_index(ranges, base);

    if (i == ranges->n) return;
    ranges_begin_change(ranges);
    for (; i + 1 < ranges->n; i++)
        ranges_move(ranges, i, i + 1);
    __atomic_store_n(&ranges->n, ranges->n - 1, __ATOMIC_RELAXED);
    ranges_end_change(ranges);
}

void stp_ranges_resize(struct stp_ranges *ranges, const void *base, size_t nbytes)
{
    unsigned i = ranges_index(ranges, base);

    if (i == ranges->n) return;
    ranges_begin_change(ranges);
    ranges_set(ranges, i, (uintptr_t)base, nbytes, ranges->value[i]);
    ranges_end_change(ranges);
}

/*
 * Returns the last range that begins at or below addr. The loop compiles to conditional moves
 * instead of branches, because a CPU often mispredicts the branches of a binary search.
 */
static struct stp_range ranges_search(const struct stp_ranges *ranges, uintptr_t addr)
{
    unsigned n = __atomic_load_n(&ranges->n, __ATOMIC_RELAXED);
    const uintptr_t *base = ranges->bases;
    struct stp_range found = {0};

    if (n == 0) return found;
    while (n > 1) {
        unsigned half = n / 2;
        base = __atomic_load_n(&base[half], __ATOMIC_RELAXED) <= addr ? base + half : base;
        n -= half;
    }
    found.base = __atomic_load_n(base, __ATOMIC_RELAXED);
    found.nbytes = __atomic_load_n(&ranges->sizes[base - ranges->bases], __ATOMIC_RELAXED);
    found.value = __atomic_load_n(&ranges->value[base - ranges->bases], __ATOMIC_RELAXED);
    return found;
}

bool stp_ranges_find(const struct stp_ranges *ranges, const void *addr, struct stp_range *found)
{
    for (;;) {
        /* Pairs with the release store in ranges_end_change(). */
        unsigned version = __atomic_load_n(&ranges->version, __ATOMIC_ACQUIRE);

        /* The version is odd while a writer changes the table. Try again until it is even. */
        if (version & 1) continue;
        *found = ranges_search(ranges, (uintptr_t)addr);
        found->version = version;
        /*
         * The fence orders the second read of the version after the reads of the range. Pairs with
         * the fence in ranges_begin_change().
         */
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&ranges->version, __ATOMIC_RELAXED) == version)
            return (uintptr_t)addr - found->base < found->nbytes;
    }
}
