/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hash table of words, spread over all PEs, in a memory space of its own. Any PE adds any word
 * at any time: no locks, no messages, only atomics, puts and gets.
 */
#ifndef WORDCOUNT_TABLE_H
#define WORDCOUNT_TABLE_H

#include <shmem.h>

#include <stddef.h>
#include <stdint.h>

/* Words up to this length sit in their slot; longer ones in the arena of the slot's owner. */
#define TABLE_INLINE 32

struct table_slot {
    uint64_t key; /* 0: empty; else the word's hash with the state in the low two bits */
    uint64_t count;
    uint64_t length; /* this and what follows: valid once the state says published */
    uint64_t where;  /* in the arena, for a long word */
    char text[TABLE_INLINE];
};

struct table {
    shmem_space_t space;
    shmem_team_t team;        /* of the space: all PEs */
    size_t n_slots;           /* on each PE */
    size_t n_arena;           /* bytes on each PE, may be 0 */
    size_t n_top;             /* how many words table_top() gives */
    size_t n_best;            /* how many of them one PE can have */
    struct table_slot *slots; /* from here on: symmetric, in the space */
    char *arena;
    uint64_t *arena_used;
    struct table_slot *best; /* n_best: the best of this PE, side by side for PE 0 to read */
    uint64_t *best_used;
};

struct table_entry {
    uint64_t count;
    size_t length;
    char *text; /* length bytes, no final 0; to be freed */
};

/*
 * Make an empty table. Collective over the world, equal arguments everywhere. Returns 0, or -1 on
 * all PEs after a message from PE 0. n_slots and n_top must not be 0.
 */
int table_create(struct table *table, size_t n_slots, size_t n_arena, size_t n_top);
void table_destroy(struct table *table); /* collective */

/* Which PE keeps the word with this hash. */
int table_owner(uint64_t hash);

/*
 * Add n to the count of a word; not collective. Visible to all after table_sync().
 * Returns 0, or -1 after a message when the word is new and its owner has no room for it.
 */
int table_add(struct table *table, uint64_t hash, const char *word, size_t length, uint64_t n);

/* Collective: what any PE added before is complete on all. */
void table_sync(struct table *table);

/* Distinct words kept by this PE, after table_sync(). */
size_t table_local_words(const struct table *table);

/*
 * The n_top most frequent words of the table, most frequent first, equal counts in the order of
 * strcmp. Collective; PE 0 alone gets them: *entries (to be freed) and *n_entries; others NULL
 * and 0. Returns 0 or, on this PE alone, -1 when there is no memory.
 */
int table_top(struct table *table, struct table_entry **entries, size_t *n_entries);
void table_free_entries(struct table_entry *entries, size_t n_entries);

#endif /* WORDCOUNT_TABLE_H */
