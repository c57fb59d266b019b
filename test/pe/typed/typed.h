/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of typed routines: names of the routines of one type, and symmetric memory
 * in rows with guards. Each *.tmpl.h file is included once for each type by a list in src/api/gen.
 * The generator of shmem.h writes these lists, so no type can be forgotten.
 */
#ifndef STEPPE_TEST_TYPED_H
#define STEPPE_TEST_TYPED_H

#include "pe_data.h"
#include "pe_test.h"

#include <float.h>
#include <limits.h>
#include <stdint.h>

#define TYPED_JOIN_(a, b, c) a##b##c
#define TYPED_JOIN(a, b, c) TYPED_JOIN_(a, b, c)
#define TYPED_TEXT_(a) #a
#define TYPED_TEXT(a) TYPED_TEXT_(a)

/* A routine of the type, its context form, and a helper of ours that the type has. */
#define FN(op) TYPED_JOIN(shmem_, NAME, _##op)
#define CTX_FN(op) TYPED_JOIN(shmem_ctx_, NAME, _##op)
#define T(what) TYPED_JOIN(typed_, NAME, _##what)

enum { TYPED_ROWS = 32, TYPED_LEN = 16, TYPED_PER_PE = 16 };

/* Of values around data, which nothing may change. */
enum { TYPED_GUARD = 1000000 };

/* What signal words hold before, so that SET and ADD differ. */
enum { TYPED_SIGNAL = 100 };

/*
 * Two symmetric arenas of TYPED_ROWS rows of the widest element, or of so many elements for each
 * PE when that is more, and signal words; and private memory as large as an arena.
 */
static void *typed_dest, *typed_source;
static uint64_t *typed_signals;
static void *typed_want, *typed_want2, *typed_theirs;

static inline void typed_begin(void)
{
    size_t nelems = (size_t)TYPED_ROWS * TYPED_LEN, nbytes;

    pe_test_begin();
    if (nelems < TYPED_PER_PE * (size_t)pe_n) nelems = TYPED_PER_PE * (size_t)pe_n;
    nbytes = nelems * 2 * sizeof(double);
    typed_want = pe_private(nbytes);
    typed_want2 = pe_private(nbytes);
    typed_theirs = pe_private(nbytes);
    typed_dest = pe_malloc(nbytes);
    typed_source = pe_malloc(nbytes);
    typed_signals = pe_calloc(TYPED_ROWS, sizeof(*typed_signals));
}

static inline int typed_end(void)
{
    shmem_free(typed_signals);
    shmem_free(typed_source);
    shmem_free(typed_dest);
    free(typed_theirs);
    free(typed_want2);
    free(typed_want);
    return pe_test_end();
}

static inline uint64_t typed_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* What row of PE pe holds. */
static inline unsigned typed_seed(int pe, int row)
{
    return (unsigned)(pe * 100 + row + 1);
}

#endif
