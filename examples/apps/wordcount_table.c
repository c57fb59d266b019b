/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The distributed table of wordcount. A word lives on the PE that its hash names, in the first
 * slot free from the place that its hash names. Who wants to add a new word
 *
 *   claims the slot      compare-and-swap of the key from 0 to (hash, CLAIMED), on the owner;
 *   writes the word      put; a long word into a piece of the owner's arena, taken by fetch-add;
 *   publishes it         fence, then an atomic set of the key to (hash, PUBLISHED).
 *
 * Who meets the hash of its own word in a slot waits until that is published, compares the
 * letters, and counts there. Slots never become empty again, so all PEs find the same slot.
 */
#include "wordcount_table.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATE_MASK UINT64_C(3)
#define CLAIMED UINT64_C(1)
#define PUBLISHED UINT64_C(2)
#define DEAD UINT64_C(3) /* claimed, then no room for the letters: whoever waits must know */

static const shmem_space_cap_t needed_caps = SHMEM_SPACE_CAP_RMA | SHMEM_SPACE_CAP_ATOMICS |
                                             SHMEM_SPACE_CAP_COLLECTIVES |
                                             SHMEM_SPACE_CAP_WORLD_ACCESS;

/* ---- life ---------------------------------------------------------------- */

static int say(const char *what, size_t nbytes)
{
    if (shmem_my_pe() == 0)
        fprintf(stderr, "wordcount: the table needs a space of %zu bytes on each PE: %s\n", nbytes,
                what);
    return -1;
}

/* Bytes of one block in a space: blocks may be rounded up. */
static size_t block(size_t n, size_t size)
{
    return n * size + 4096;
}

static int allocate(struct table *table)
{
    shmem_space_t space = table->space;

    table->slots = shmem_space_calloc(space, table->n_slots, sizeof(*table->slots));
    table->arena = shmem_space_malloc(space, table->n_arena);
    table->arena_used = shmem_space_calloc(space, 1, sizeof(*table->arena_used));
    table->best = shmem_space_malloc(space, table->n_best * sizeof(*table->best));
    table->best_used = shmem_space_calloc(space, 1, sizeof(*table->best_used));
    return table->slots == NULL || (table->arena == NULL && table->n_arena > 0) ||
           table->arena_used == NULL || table->best == NULL || table->best_used == NULL;
}

int table_create(struct table *table, size_t n_slots, size_t n_arena, size_t n_top)
{
    const size_t limit = SIZE_MAX / 4 / sizeof(struct table_slot);
    shmem_space_config_t config = {.device_type = SHMEM_DEVICE_CPU};
    shmem_space_cap_t caps = 0;

    *table = (struct table){.n_slots = n_slots,
                            .n_arena = n_arena,
                            .n_top = n_top,
                            .n_best = n_top < n_slots ? n_top : n_slots,
                            .space = SHMEM_SPACE_INVALID,
                            .team = SHMEM_TEAM_INVALID};
    if (n_slots > limit || n_arena > limit) return say("more than there is", SIZE_MAX);
    config.size = block(n_slots, sizeof(struct table_slot)) + block(n_arena, 1) +
                  block(table->n_best, sizeof(struct table_slot)) + 2 * block(1, sizeof(uint64_t));
    if (shmem_space_create(&config, &table->space, &table->team) != 0)
        return say("it was not granted", config.size);
    shmem_space_get_caps(table->space, &caps);
    if ((caps & needed_caps) != needed_caps)
        say("it lacks puts, atomics, collectives or some PEs", config.size);
    else if (allocate(table) != 0)
        say("it has less room than asked for", config.size);
    else
        return 0;
    table_destroy(table);
    return -1;
}

void table_destroy(struct table *table)
{
    shmem_space_free(table->space, table->best_used);
    shmem_space_free(table->space, table->best);
    shmem_space_free(table->space, table->arena_used);
    shmem_space_free(table->space, table->arena);
    shmem_space_free(table->space, table->slots);
    shmem_team_destroy(table->team);
    shmem_space_destroy(table->space);
    *table = (struct table){.space = SHMEM_SPACE_INVALID, .team = SHMEM_TEAM_INVALID};
}

/* ---- adding -------------------------------------------------------------- */

int table_owner(uint64_t hash)
{
    return (int)((hash >> 32) % (uint64_t)shmem_n_pes());
}

static int say_full(const char *part, int owner, size_t n, const char *what)
{
    fprintf(stderr,
            "wordcount: PE %d: %s on PE %d is full (%zu %s a PE): "
            "give a larger --capacity\n",
            shmem_my_pe(), part, owner, n, what);
    return -1;
}

/* Put the word where the claimed slot can name it, then publish the slot. */
static int publish(struct table *table, struct table_slot *slot, uint64_t hash, const char *word,
                   size_t length, int owner)
{
    struct table_slot full = {.length = length};
    const size_t head = offsetof(struct table_slot, length);

    if (length <= TABLE_INLINE) {
        memcpy(full.text, word, length);
    } else {
        full.where = shmem_uint64_atomic_fetch_add(table->arena_used, length, owner);
        if (full.where > table->n_arena || length > table->n_arena - full.where) {
            shmem_uint64_atomic_set(&slot->key, hash | DEAD, owner);
            return say_full("the arena", owner, table->n_arena, "bytes");
        }
        shmem_putmem(table->arena + full.where, word, length, owner);
    }
    shmem_putmem((char *)slot + head, (char *)&full + head, sizeof(full) - head, owner);
    shmem_fence(); /* the key must not arrive before what it announces */
    shmem_uint64_atomic_set(&slot->key, hash | PUBLISHED, owner);
    return 0;
}

/* Whether a published slot of owner holds this word: their hashes are equal. */
static int holds(struct table *table, struct table_slot *slot, const char *word, size_t length,
                 int owner)
{
    const size_t head = offsetof(struct table_slot, length);
    struct table_slot full;
    char *text;
    int equal;

    shmem_getmem((char *)&full + head, (char *)slot + head, sizeof(full) - head, owner);
    if (full.length != length) return 0;
    if (length <= TABLE_INLINE) return memcmp(full.text, word, length) == 0;
    text = malloc(length);
    if (text == NULL) {
        fprintf(stderr, "wordcount: PE %d: no memory for a word of %zu letters\n", shmem_my_pe(),
                length);
        return -1;
    }
    shmem_getmem(text, table->arena + full.where, length, owner);
    equal = memcmp(text, word, length) == 0;
    free(text);
    return equal;
}

/*
 * Claim the slot for the word or find the word in it. Returns 1: the word is there; 0: another
 * word is; -1: no room or no memory.
 */
static int settle(struct table *table, struct table_slot *slot, uint64_t hash, const char *word,
                  size_t length, int owner)
{
    uint64_t key = shmem_uint64_atomic_compare_swap(&slot->key, 0, hash | CLAIMED, owner);

    if (key == 0) return publish(table, slot, hash, word, length, owner) == 0 ? 1 : -1;
    if ((key & ~STATE_MASK) != hash) return 0;
    while ((key & STATE_MASK) == CLAIMED) {
        sched_yield(); /* its writer may be waiting for this very core */
        key = shmem_uint64_atomic_fetch(&slot->key, owner);
    }
    if ((key & STATE_MASK) == DEAD) return -1; /* its writer has said so */
    return holds(table, slot, word, length, owner);
}

int table_add(struct table *table, uint64_t hash, const char *word, size_t length, uint64_t n)
{
    int owner = table_owner(hash);
    size_t first = (hash >> 2) % table->n_slots;
    int rc = 0;

    for (size_t i = 0; i < table->n_slots && rc == 0; i++) {
        struct table_slot *slot = &table->slots[(first + i) % table->n_slots];

        rc = settle(table, slot, hash & ~STATE_MASK, word, length, owner);
        if (rc == 1 && n == 1)
            shmem_uint64_atomic_inc(&slot->count, owner);
        else if (rc == 1)
            shmem_uint64_atomic_add(&slot->count, n, owner);
    }
    if (rc == 0) return say_full("the table", owner, table->n_slots, "slots");
    return rc == 1 ? 0 : -1;
}

void table_sync(struct table *table)
{
    shmem_quiet();
    shmem_team_sync(table->team);
}

/* ---- results ------------------------------------------------------------- */

/* After table_sync() and with nobody adding, own slots are plain memory. */
static int in_use(const struct table_slot *slot)
{
    return (slot->key & STATE_MASK) == PUBLISHED;
}

size_t table_local_words(const struct table *table)
{
    size_t n_words = 0;

    for (size_t i = 0; i < table->n_slots; i++)
        n_words += (size_t)in_use(&table->slots[i]);
    return n_words;
}

static int order(const void *left, const void *right)
{
    const struct table_entry *a = left, *b = right;
    size_t shorter = a->length < b->length ? a->length : b->length;
    int letters;

    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    letters = memcmp(a->text, b->text, shorter);
    if (letters != 0) return letters;
    return a->length < b->length ? -1 : a->length > b->length;
}

/* Copy this PE's best slots, in order, to table->best, where PE 0 will read them. */
static int rank_local(struct table *table)
{
    size_t n_words = table_local_words(table);
    struct table_entry *entries = malloc((n_words + 1) * sizeof(*entries));
    size_t n = 0;

    if (entries == NULL) return -1;
    for (size_t i = 0; i < table->n_slots; i++) {
        struct table_slot *slot = &table->slots[i];

        if (!in_use(slot)) continue;
        entries[n].count = slot->count;
        entries[n].length = slot->length;
        entries[n++].text = slot->length <= TABLE_INLINE ? slot->text : table->arena + slot->where;
    }
    qsort(entries, n, sizeof(*entries), order);
    if (n > table->n_best) n = table->n_best;
    for (size_t i = 0; i < n; i++) {
        struct table_slot *to = &table->best[i];

        *to = (struct table_slot){.count = entries[i].count, .length = entries[i].length};
        if (to->length <= TABLE_INLINE)
            memcpy(to->text, entries[i].text, to->length);
        else
            to->where = (uint64_t)(entries[i].text - table->arena);
    }
    *table->best_used = n;
    free(entries);
    return 0;
}

/* Append the best words of PE pe, read from there. */
static int fetch_top(struct table *table, int pe, struct table_entry *entries, size_t *n_entries)
{
    size_t n = shmem_uint64_g(table->best_used, pe);
    struct table_slot *slots = malloc((n + 1) * sizeof(*slots));

    if (slots == NULL) return -1;
    shmem_getmem(slots, table->best, n * sizeof(*slots), pe);
    for (size_t i = 0; i < n; i++) {
        char *text = malloc(slots[i].length);

        if (text == NULL) {
            free(slots);
            return -1;
        }
        if (slots[i].length <= TABLE_INLINE)
            memcpy(text, slots[i].text, slots[i].length);
        else
            shmem_getmem(text, table->arena + slots[i].where, slots[i].length, pe);
        entries[(*n_entries)++] = (struct table_entry){slots[i].count, slots[i].length, text};
    }
    free(slots);
    return 0;
}

static int merge(struct table *table, struct table_entry **entries, size_t *n_entries)
{
    size_t n_pes = (size_t)shmem_n_pes();
    int rc = 0;

    *entries = calloc(n_pes, table->n_best * sizeof(**entries));
    if (*entries == NULL) return -1;
    for (int pe = 0; pe < (int)n_pes && rc == 0; pe++)
        rc = fetch_top(table, pe, *entries, n_entries);
    qsort(*entries, *n_entries, sizeof(**entries), order);
    for (; *n_entries > table->n_top; --*n_entries)
        free((*entries)[*n_entries - 1].text);
    return rc;
}

int table_top(struct table *table, struct table_entry **entries, size_t *n_entries)
{
    int rc = rank_local(table);

    *entries = NULL;
    *n_entries = 0;
    table_sync(table);
    if (shmem_my_pe() == 0 && rc == 0) rc = merge(table, entries, n_entries);
    table_sync(table);
    if (rc != 0) fprintf(stderr, "wordcount: PE %d: no memory for the result\n", shmem_my_pe());
    return rc;
}

void table_free_entries(struct table_entry *entries, size_t n_entries)
{
    for (size_t i = 0; i < n_entries; i++)
        free(entries[i].text);
    free(entries);
}
