/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by space_errors.c and the lists of mistakes in space_errors_<concern>.c. A list ends with
 * a row without a name. space_errors.c makes one mistake of the lists.
 */
#ifndef STEPPE_TEST_SPACE_ERRORS_H
#define STEPPE_TEST_SPACE_ERRORS_H

#include "pe_kinds.h"

enum { SIZE = PE_MIB, N = 1000 };

enum mistake_how {
    TOLD_WITHOUT,    /* made by all PEs and survived, without a space; */
    TOLD,            /* with one */
    MADE_BY_MEMBERS, /* ends the job; */
    MADE_BY_ALL      /* where others are needed, too */
};

struct mistake {
    const char *name;
    void (*make)(void);
    enum mistake_how how;
};

struct concern {
    const struct mistake *mistakes;
    void (*begin)(void);   /* before any of them is made */
    int (*failures)(void); /* what pe_test.h counted there */
};

extern const struct concern concern_create, concern_life, concern_use;

/* What pe_test.h knows of the job is each source file's own. */
static inline void concern_begin(void)
{
    pe_me = shmem_my_pe();
    pe_n = shmem_n_pes();
}

extern int kind;
extern struct pe_space s;
extern long *block;      /* N longs of s */
extern int peer;         /* another member, or this PE */
extern const char *word; /* third argument */

static inline bool the_one(void)
{
    return s.rank == s.n - 1;
}

static inline void end_space(void)
{
    shmem_space_free(s.space, block);
    pe_kind_destroy(&s);
}

#endif
