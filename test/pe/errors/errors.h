/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Misuses by chapter: each errors_<chapter>.c has a list of them, which errors.c runs one of. A
 * list ends with a row without a name.
 */
#ifndef STEPPE_TEST_ERRORS_H
#define STEPPE_TEST_ERRORS_H

#include "pe_data.h"

struct misuse {
    const char *name;
    void (*run)(void);
    bool collective; /* all PEs make it */
};

struct chapter {
    const struct misuse *misuses;
    void (*begin)(void); /* before any of them is run */
};

extern const struct chapter chapter_active, chapter_heap, chapter_lock, chapter_rma, chapter_teams,
    chapter_wait;

/* What pe_test.h knows of the job is each source file's own. */
static inline void chapter_begin(void)
{
    pe_me = shmem_my_pe();
    pe_n = shmem_n_pes();
}

/* Of the executable, so symmetric as well. */
extern long global_word;
extern long sync_words[SHMEM_SYNC_SIZE]; /* SHMEM_SYNC_VALUE is 0 */
extern long *block;                      /* heap, 8 words */
extern int peer;

#endif
