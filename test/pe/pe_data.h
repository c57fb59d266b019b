/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Byte patterns that identify the origin of data, checks of such patterns, and a random generator.
 * A seed selects a pattern, and two patterns differ in nearly every byte. Also has pe_rounds(),
 * which reduces the number of repetitions when not all PEs share memory, and the ring neighbours.
 */
#ifndef STEPPE_TEST_PE_DATA_H
#define STEPPE_TEST_PE_DATA_H

#include "pe_test.h"

#include <stdatomic.h>
#include <stdint.h>

static inline unsigned char pe_byte(unsigned seed, size_t i)
{
    return (unsigned char)(seed * 59u + i * 7u + (i >> 8) * 13u + (i >> 16) * 29u + 1u);
}

static inline void pe_fill(void *buf, size_t nbytes, unsigned seed)
{
    unsigned char *bytes = buf;

    for (size_t i = 0; i < nbytes; i++)
        bytes[i] = pe_byte(seed, i);
}

static inline bool pe_bytes_at(const char *file, int line, const void *buf, size_t nbytes,
                               unsigned seed, const char *what)
{
    const unsigned char *bytes = buf;

    for (size_t i = 0; i < nbytes; i++)
        if (bytes[i] != pe_byte(seed, i))
            return pe_check_at(file, line, false, "%s: byte %zu of %zu is 0x%02x, expected 0x%02x",
                               what, i, nbytes, bytes[i], pe_byte(seed, i));
    return true;
}

static inline bool pe_same_at(const char *file, int line, const void *buf, size_t nbytes, int value,
                              const char *what)
{
    const unsigned char *bytes = buf;

    for (size_t i = 0; i < nbytes; i++)
        if (bytes[i] != (unsigned char)value)
            return pe_check_at(file, line, false, "%s: byte %zu of %zu is 0x%02x, expected 0x%02x",
                               what, i, nbytes, bytes[i], value);
    return true;
}

/* buf holds the pattern of this seed. */
#define PE_CHECK_BYTES(buf, nbytes, seed, what)                                                    \
    pe_bytes_at(__FILE__, __LINE__, buf, nbytes, seed, what)

/* All bytes of buf have this value. */
#define PE_CHECK_SAME(buf, nbytes, value, what)                                                    \
    pe_same_at(__FILE__, __LINE__, buf, nbytes, value, what)

/* A random number; the state is any nonzero value and belongs to the caller. */
static inline uint64_t pe_random(uint64_t *state)
{
    uint64_t x = *state;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return x * 0x2545f4914f6cdd1dull;
}

/* A random number in [low, high]. */
static inline size_t pe_random_in(uint64_t *state, size_t low, size_t high)
{
    return low + (size_t)((pe_random(state) >> 11) % (high - low + 1));
}

/*
 * How often to repeat what is worth `full` times where all PEs load and store: fewer times where
 * operations are messages, thousands of times dearer. The same number on all PEs.
 */
static inline int pe_rounds(int full)
{
    static atomic_int known; /* PEs that share this PE's memory, 0: not asked yet */
    int shared = atomic_load(&known);

    if (shared == 0) atomic_store(&known, shared = shmem_team_n_pes(SHMEM_TEAM_SHARED));
    return shared == pe_n ? full : (full + 7) / 8;
}

/* The neighbours in the ring of all PEs; this PE itself in a job of one. */
static inline int pe_right(void)
{
    return (pe_me + 1) % pe_n;
}

static inline int pe_left(void)
{
    return (pe_me + pe_n - 1) % pe_n;
}

#endif
