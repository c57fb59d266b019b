/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file manages the table of the spaces in a pool, which has an entry for each space. It finds
 * spaces by name and frees spaces without users. It places a new space in the first free range that
 * is large enough. The caller of each function holds the pool's lock. Design: docs/design/fam.md.
 */
#include "fam.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Range of offsets in the pool that a space occupies, and the index of its entry. */
struct span {
    uint64_t start, end;
    int index;
};

static int span_compare(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    return (x->start > y->start) - (x->start < y->start);
}

/*
 * Returns the ranges of all valid entries, sorted by offset, or NULL after logging an error. Sets
 * *n to the number of ranges. The caller frees the array.
 */
static struct span *table_spans(const struct fam_pool *pool, size_t *n)
{
    const struct fam_super *super = pool->super;
    struct span *spans = malloc(((size_t)super->n_entries + 1) * sizeof(*spans));

    *n = 0;
    if (spans == NULL) {
        stp_error("fam: out of memory: cannot read the table of spaces in %s", pool->path);
        return NULL;
    }
    for (uint32_t i = 0; i < super->n_entries; i++) {
        const struct fam_entry *entry = &super->entries[i];
        if (!entry->valid) continue;
        spans[(*n)++] =
            (struct span){entry->offset, stp_fam_part_at(entry, entry->n_parts), (int)i};
    }
    qsort(spans, *n, sizeof(*spans), span_compare);
    return spans;
}

/* ---- checks for damage ------------------------------------------------------------- */

static bool table_is_sound(const struct fam_entry *entry, uint64_t pool_bytes)
{
    uint64_t available = pool_bytes - entry->offset;

    if (entry->offset % FAM_ALIGN != 0 || entry->part_bytes % FAM_ALIGN != 0) return false;
    if (entry->offset < FAM_ALIGN || entry->offset >= pool_bytes) return false;
    if (entry->n_parts == 0 || entry->part_bytes == 0) return false;
    if (entry->head_bytes != (entry->name[0] != '\0' ? FAM_ALIGN : 0)) return false;
    if (entry->head_bytes > available) return false;
    if (entry->part_bytes > (available - entry->head_bytes) / entry->n_parts) return false;
    if (entry->nbytes > entry->part_bytes) return false;
    return memchr(entry->name, '\0', sizeof(entry->name)) != NULL;
}

static int table_damaged(const struct fam_pool *pool, int index, const char *description)
{
    stp_error("fam: the pool in %s is damaged: space %d %s; overwrite its first 2 MiB with zeros "
              "to discard all its spaces",
              pool->path, index, description);
    return -EUCLEAN;
}

int stp_fam_table_check_locked(const struct fam_pool *pool)
{
    const struct fam_super *super = pool->super;
    struct span *spans;
    size_t n;
    int rc = 0;

    for (uint32_t i = 0; i < super->n_entries; i++)
        if (super->entries[i].valid && !table_is_sound(&super->entries[i], super->nbytes))
            return table_damaged(pool, (int)i, "is not within the pool");
    spans = table_spans(pool, &n);
    if (spans == NULL) return -ENOMEM;
    for (size_t i = 1; i < n && rc == 0; i++)
        if (spans[i].start < spans[i - 1].end)
            rc = table_damaged(pool, spans[i].index, "overlaps another space");
    free(spans);
    return rc;
}

/* ---- search and placement ------------------------------------------------------------ */

/*
 * Returns the index of the entry with this name and the highest generation, or -1 if there is no
 * such entry. If next is FAM_NEXT, considers only entries with this flag. If next is 0, considers
 * only entries without this flag.
 */
static int table_find(const struct fam_pool *pool, const char *name, uint32_t next)
{
    const struct fam_entry *entries = pool->super->entries;
    int found = -1;

    for (uint32_t i = 0; i < pool->super->n_entries; i++) {
        if (!entries[i].valid || (entries[i].flags & FAM_NEXT) != next) continue;
        if (name[0] == '\0' || strcmp(entries[i].name, name) != 0) continue;
        if (found < 0 || entries[i].generation > entries[found].generation) found = (int)i;
    }
    return found;
}

int stp_fam_find_locked(const struct fam_pool *pool, const char *name)
{
    return table_find(pool, name, 0);
}

bool stp_fam_begins_generation_locked(const struct fam_pool *pool, const struct fam_shape *shape)
{
    int found = shape->reshape ? table_find(pool, shape->name, 0) : -1;
    const struct fam_entry *entry = found >= 0 ? &pool->super->entries[found] : NULL;

    return entry != NULL && entry->n_parts < shape->n_parts && entry->nbytes == shape->nbytes;
}

bool stp_fam_needs_generation_locked(const struct fam_pool *pool, const struct fam_shape *shape)
{
    return stp_fam_begins_generation_locked(pool, shape) &&
           table_find(pool, shape->name, FAM_NEXT) < 0;
}

int stp_fam_previous_locked(const struct fam_pool *pool, int index)
{
    const struct fam_entry *entry = &pool->super->entries[index];

    return entry->flags & FAM_NEXT ? table_find(pool, entry->name, 0) : -1;
}

int stp_fam_describe_locked(const struct fam_pool *pool, const char *name, struct stp_named *named)
{
    int index = stp_fam_find_locked(pool, name);
    const struct fam_entry *entry;

    if (index < 0) return -ENOENT;
    entry = &pool->super->entries[index];
    *named = (struct stp_named){.nbytes = entry->nbytes,
                                .n_parts = entry->n_parts,
                                .keep = entry->flags == (FAM_KEEP | FAM_SETTLED),
                                .in_use = stp_fam_used_locked(pool, index)};
    return 0;
}

bool stp_fam_is_empty_locked(const struct fam_pool *pool)
{
    const struct fam_super *super = pool->super;

    for (uint32_t i = 0; i < super->n_entries; i++)
        if (super->entries[i].valid) return false;
    return true;
}

size_t stp_fam_find_place_locked(const struct fam_pool *pool, size_t nbytes, size_t *largest)
{
    size_t n, offset = FAM_ALIGN, found = 0;
    struct span *spans = table_spans(pool, &n);

    *largest = 0;
    if (spans == NULL) return 0;
    for (size_t i = 0; i <= n && found == 0; i++) {
        size_t end = i < n ? spans[i].start : pool->nbytes;
        if (end - offset > *largest) *largest = end - offset;
        if (end - offset >= nbytes) found = offset;
        if (i < n) offset = spans[i].end;
    }
    free(spans);
    return found;
}

static size_t table_part_bytes(const struct fam_shape *shape)
{
    return (shape->nbytes + FAM_ALIGN - 1) & ~(FAM_ALIGN - 1);
}

static size_t table_head_bytes(const struct fam_shape *shape)
{
    return shape->name != NULL ? FAM_ALIGN : 0;
}

size_t stp_fam_space_bytes(const struct fam_shape *shape)
{
    const size_t max_bytes = FAM_UNITS * FAM_ALIGN;
    size_t part = table_part_bytes(shape);

    if (shape->nbytes > max_bytes || part > (max_bytes - 2 * FAM_ALIGN) / shape->n_parts) return 0;
    return table_head_bytes(shape) + part * shape->n_parts;
}

static int table_free_index(const struct fam_super *super)
{
    uint32_t i = 0;

    while (i < super->n_entries && super->entries[i].valid)
        i++;
    return i < FAM_ENTRIES ? (int)i : -1;
}

/*
 * Clears the ready bits of a new space's head and parts, because their memory is not cleared yet.
 */
static void table_forget_ready(struct fam_super *super, const struct fam_entry *entry)
{
    for (uint32_t i = 0; i <= entry->n_parts; i++) {
        size_t unit = (i > 0 ? stp_fam_part_at(entry, i - 1) : entry->offset) / FAM_ALIGN;
        __atomic_fetch_and(&super->ready[unit / 8], (uint8_t) ~(1u << unit % 8), __ATOMIC_RELAXED);
    }
}

/*
 * Fills in an entry. Stores the field valid last, so that a killed process never leaves a valid but
 * incomplete entry. The argument previous is the entry of the previous generation, or NULL.
 */
static void table_fill(struct fam_pool *pool, int index, const struct fam_shape *shape,
                       size_t offset, const struct fam_entry *previous)
{
    struct fam_super *super = pool->super;
    struct fam_entry *entry = &super->entries[index];

    memset(entry, 0, sizeof(*entry));
    if (shape->name != NULL) strncpy(entry->name, shape->name, sizeof(entry->name) - 1);
    entry->flags = (shape->keep ? FAM_KEEP : 0) | (previous != NULL ? FAM_NEXT : 0);
    entry->generation = previous != NULL ? previous->generation + 1 : 0;
    entry->offset = offset;
    entry->head_bytes = table_head_bytes(shape);
    entry->part_bytes = table_part_bytes(shape);
    entry->nbytes = shape->nbytes;
    entry->n_parts = entry->n_job_pes = shape->n_parts;
    entry->token = shape->token;
    if ((uint32_t)index >= super->n_entries) super->n_entries = (uint32_t)index + 1;
    table_forget_ready(super, entry);
    if (shape->keep) stp_fam_superblock_persist(pool);
    /* After a crash, no process may find an entry that is valid but incomplete. */
    __atomic_store_n(&entry->valid, 1, __ATOMIC_RELEASE);
    if (shape->keep) stp_fam_superblock_persist(pool);
}

static int table_make(struct fam_pool *pool, const struct fam_shape *shape,
                      const struct fam_entry *previous, int *index)
{
    size_t needed = stp_fam_space_bytes(shape), largest;
    size_t offset = stp_fam_find_place_locked(pool, needed, &largest);
    char needed_text[STP_SIZE_TEXT], largest_text[STP_SIZE_TEXT];
    int free_index = table_free_index(pool->super);

    if (free_index < 0) {
        stp_error("fam: %s already has %d spaces, which is the maximum", pool->path, FAM_ENTRIES);
        return -ENOSPC;
    }
    if (offset == 0) {
        stp_error("fam: the largest free range of %s is %s, but the space needs %s", pool->path,
                  stp_size_exact(largest, largest_text), stp_size_exact(needed, needed_text));
        return -ENOSPC;
    }
    table_fill(pool, free_index, shape, offset, previous);
    *index = free_index;
    return 0;
}

static int table_check_shape(const struct fam_pool *pool, const struct fam_entry *entry,
                             const struct fam_shape *shape)
{
    char existing_text[STP_SIZE_TEXT], requested_text[STP_SIZE_TEXT];

    if (entry->n_parts >= shape->n_parts && entry->nbytes == shape->nbytes) return 0;
    stp_error("fam: the space '%s' in %s has %u parts of %s, but this job requests %u parts of "
              "%s%s",
              entry->name, pool->fam_path, entry->n_parts,
              stp_size_exact(entry->nbytes, existing_text), shape->n_parts,
              stp_size_exact(shape->nbytes, requested_text),
              entry->nbytes == shape->nbytes
                  ? ": set SHMEMX_SPACE_RESHAPE in attr->flags to create more parts"
                  : "");
    return -EINVAL;
}

/*
 * Checks that no job with another number of PEs uses the space now. Returns 0, or -EBUSY after
 * logging an error.
 */
static int table_check_users(const struct fam_pool *pool, int index, const struct fam_shape *shape)
{
    struct fam_entry *entry = &pool->super->entries[index];

    if (entry->n_job_pes != shape->n_parts && stp_fam_used_locked(pool, index)) {
        stp_error("fam: the space '%s' in %s is in use by a job of size %u, but the size of this "
                  "job is %u: jobs of different sizes must use it one after the other",
                  entry->name, pool->fam_path, entry->n_job_pes, shape->n_parts);
        return -EBUSY;
    }
    entry->n_job_pes = shape->n_parts;
    return 0;
}

/*
 * Finds or makes the next generation of a space. On entry, *index is the index of the current
 * generation. Sets *index to the index of the next generation. Sets *created to true if this call
 * has made the next generation.
 */
static int table_reshape(struct fam_pool *pool, const struct fam_shape *shape, int *index,
                         bool *created)
{
    int previous = *index, next = table_find(pool, shape->name, FAM_NEXT);
    const struct fam_entry *entries = pool->super->entries;
    int rc = table_check_users(pool, previous, shape);

    if (rc != 0) return rc;
    if (next >= 0 && entries[next].token != shape->token) {
        stp_error("fam: another job is changing the number of parts of the space '%s' in %s to "
                  "%u: wait until that job has finished",
                  shape->name, pool->fam_path, entries[next].n_parts);
        return -EBUSY;
    }
    *created = next < 0;
    if (next < 0) rc = table_make(pool, shape, &entries[previous], &next);
    if (rc == 0) *index = next;
    return rc;
}

void stp_fam_publish_locked(struct fam_pool *pool, int index)
{
    struct fam_entry *entry = &pool->super->entries[index];
    int previous = stp_fam_previous_locked(pool, index);
    uint32_t flags = entry->flags & ~(uint32_t)FAM_NEXT;

    if (flags == entry->flags) return;
    if (previous >= 0) flags |= pool->super->entries[previous].flags & FAM_KEEP;
    stp_fam_superblock_persist(pool);
    /* After a crash, a process that opens the pool finds either the old flags or the new flags. */
    __atomic_store_n(&entry->flags, flags, __ATOMIC_RELEASE);
    stp_fam_superblock_persist(pool);
}

/*
 * Checks whether shape->open allows opening or creating the space. The argument entry is NULL if
 * the space does not exist. An entry with the token of this creation call counts as new, because
 * another PE has made it in the same call.
 */
static int table_check_open(const struct fam_pool *pool, const struct fam_shape *shape,
                            const struct fam_entry *entry)
{
    if (shape->open == STP_OPEN_FOUND && entry == NULL) {
        stp_error("fam: there is no space '%s' in %s: to create it, set attr->open to "
                  "SHMEMX_SPACE_EITHER or SHMEMX_SPACE_CREATE",
                  shape->name, pool->fam_path);
        return -ENOENT;
    }
    if (shape->open == STP_OPEN_CREATE && entry != NULL && entry->token != shape->token) {
        stp_error("fam: the space '%s' already exists in %s: to open it, set attr->open to "
                  "SHMEMX_SPACE_EITHER or SHMEMX_SPACE_OPEN",
                  shape->name, pool->fam_path);
        return -EINVAL; /* not -EEXIST, because the caller would try again */
    }
    return 0;
}

int stp_fam_claim_locked(struct fam_pool *pool, const struct fam_shape *shape, int *index,
                         bool *created)
{
    int found = stp_fam_find_locked(pool, shape->name != NULL ? shape->name : "");
    bool is_new = found < 0;
    int rc = table_check_open(pool, shape, is_new ? NULL : &pool->super->entries[found]);

    if (rc != 0) return rc;
    if (is_new) {
        rc = table_make(pool, shape, NULL, &found);
    } else if (stp_fam_begins_generation_locked(pool, shape)) {
        rc = table_reshape(pool, shape, &found, &is_new);
    } else {
        rc = table_check_shape(pool, &pool->super->entries[found], shape);
        if (rc == 0) rc = table_check_users(pool, found, shape);
    }
    if (rc != 0) return rc;
    rc = stp_fam_use_locked(pool, found);
    if (rc != 0) {
        if (is_new) stp_fam_free_locked(pool, found);
        return rc;
    }
    *index = found;
    *created = is_new;
    return 0;
}

/* ---- removal of entries ---------------------------------------------------------------- */

void stp_fam_free_locked(struct fam_pool *pool, int index)
{
    struct fam_entry *entry = &pool->super->entries[index];

    /*
     * Clear the field valid first. After a crash, no process may find a valid entry whose memory
     * was freed.
     */
    __atomic_store_n(&entry->valid, 0, __ATOMIC_RELEASE);
    stp_fam_punch(pool, entry->offset,
                  stp_fam_part_at(entry, entry->n_parts) - entry->offset); /* best effort */
}

/*
 * Returns whether the entry's name denotes a later generation. The argument highest is the highest
 * generation number in the pool. An entry with this number needs no search, because no later
 * generation exists.
 */
static bool table_is_superseded(const struct fam_pool *pool, const struct fam_entry *entry,
                                uint32_t highest)
{
    int found = entry->generation < highest ? table_find(pool, entry->name, 0) : -1;

    return found >= 0 && pool->super->entries[found].generation > entry->generation;
}

static uint32_t table_highest_generation(const struct fam_super *super)
{
    uint32_t highest = 0;

    for (uint32_t i = 0; i < super->n_entries; i++)
        if (super->entries[i].valid && super->entries[i].generation > highest)
            highest = super->entries[i].generation;
    return highest;
}

void stp_fam_reclaim_locked(struct fam_pool *pool)
{
    struct fam_super *super = pool->super;
    uint32_t highest = table_highest_generation(super);

    for (uint32_t i = 0; i < super->n_entries; i++) {
        const struct fam_entry *entry = &super->entries[i];
        if (!entry->valid) continue;
        if (entry->flags == (FAM_KEEP | FAM_SETTLED) && !table_is_superseded(pool, entry, highest))
            continue;
        if (stp_fam_used_locked(pool, (int)i)) continue;
        stp_debug("fam: space %u ('%s') in %s is freed, because no process uses it and it need "
                  "not be kept",
                  i, entry->name, pool->path);
        stp_fam_free_locked(pool, (int)i);
    }
}
