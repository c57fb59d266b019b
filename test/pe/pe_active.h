/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of active sets: a description of a set as this PE sees it, and checks that a
 * collective left every element of its pSync array at SHMEM_SYNC_VALUE (OpenSHMEM 1.6, section
 * 9.10).
 */
#ifndef STEPPE_TEST_PE_ACTIVE_H
#define STEPPE_TEST_PE_ACTIVE_H

#include "pe_data.h"

struct pe_set {
    int start, log, size;
    int rank; /* of this PE, -1: no member */
};

/* The arguments that name the set in a call. */
#define PE_SET(s) (s)->start, (s)->log, (s)->size

static inline struct pe_set pe_set(int start, int log, int size)
{
    struct pe_set s = {start, log, size, -1};
    int distance = pe_me - start;

    if (distance >= 0 && distance % (1 << log) == 0 && distance >> log < size)
        s.rank = distance >> log;
    return s;
}

/* World number of member k. */
static inline int pe_set_pe(const struct pe_set *s, int k)
{
    return s->start + (k << s->log);
}

/* The last member exists. */
static inline bool pe_set_fits(int start, int log, int size)
{
    return start + (size - 1) * (1 << log) < pe_n;
}

static inline void pe_psync_init(long *psync, size_t n)
{
    for (size_t i = 0; i < n; i++)
        psync[i] = SHMEM_SYNC_VALUE;
}

static inline void pe_psync_check_at(const char *file, int line, const long *psync, size_t n,
                                     const char *after)
{
    for (size_t i = 0; i < n; i++)
        if (!pe_check_at(file, line, psync[i] == SHMEM_SYNC_VALUE,
                         "pSync[%zu] is 0x%lx after %s, expected SHMEM_SYNC_VALUE", i, psync[i],
                         after))
            return;
}

/* All n elements are as they were. */
#define PE_CHECK_PSYNC(psync, n, after) pe_psync_check_at(__FILE__, __LINE__, psync, n, after)

#endif
