/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the benches of OpenSHMEM share. Objects of 8 bytes are long: the type that every
 * implementation has all routines for.
 */
#ifndef PEER_SHMEM_PEER_H
#define PEER_SHMEM_PEER_H

#include "peer.h"

/* The deprecated collectives over active sets, where there are no others. */
#ifndef PEER_ACTIVE_SETS
#if SHMEM_MAJOR_VERSION > 1 || (SHMEM_MAJOR_VERSION == 1 && SHMEM_MINOR_VERSION >= 5)
#define PEER_ACTIVE_SETS 0
#else
#define PEER_ACTIVE_SETS 1
#endif
#endif

#define PEER_LOCKS 64  /* so many that some lock has its state on any given PE */
#define PEER_ROUNDS 32 /* of a dissemination barrier: log2 of any number of PEs */

_Static_assert(sizeof(long) == 8, "flags and atomics are of 8 bytes");

struct peer_word {
    _Alignas(PEER_LINE) long value;
};

/* In the symmetric heap of every PE. */
struct peer_words {
    struct peer_word counter, turn, raw_turn, raw_lock;
    struct peer_word round[PEER_ROUNDS];
    _Alignas(PEER_LINE) long locks[PEER_LOCKS];
};

struct peer_shmem {
    struct peer_words *words;
    struct peer_words *words_there; /* of the other PE, NULL: not within reach */
    struct peer_words **words_of;   /* of every PE */
    char *dest_there;               /* likewise */
    long raw_token;                 /* counts raw barriers */
    long *psync;                    /* n_psync of them */
    size_t n_psync;
    double *pwrk[2];
};

extern struct peer_shmem peer_shmem;

extern const struct peer_bench peer_rma[], peer_amo[], peer_sync[], peer_coll[];

#endif /* PEER_SHMEM_PEER_H */
