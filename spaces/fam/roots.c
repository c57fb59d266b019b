/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file keeps the table of named blocks in the head of a space. The head has room for two
 * versions of the table. A change writes a new version over the older version. The current version
 * therefore stays intact if the process is killed during the change, or if only some of the bytes
 * reach the medium. Design: docs/design/fam.md.
 */
#include "fam.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t roots_checksum(const struct fam_roots *roots)
{
    return stp_hash(STP_HASH_EMPTY, &roots->serial, sizeof(*roots) - sizeof(roots->checksum));
}

static bool roots_are_sound(const struct fam_roots *roots, uint64_t nbytes)
{
    if (roots->serial == 0 || roots->checksum != roots_checksum(roots)) return false;
    if (roots->n > FAM_ROOTS) return false;
    for (uint32_t i = 0; i < roots->n; i++) {
        const struct stp_named_block *root = &roots->roots[i];
        if (memchr(root->name, '\0', sizeof(root->name)) == NULL) return false;
        if (root->block > nbytes || root->block_bytes > nbytes - root->block) return false;
        if (root->offset < root->block || root->nbytes > root->block_bytes) return false;
        if (root->offset - root->block > root->block_bytes - root->nbytes) return false;
    }
    return true;
}

/*
 * Returns the valid table of a head, or NULL if no table was ever written completely. Another job
 * may write to the other table at the same time.
 */
static const struct fam_roots *roots_in(const struct fam_roots *head, uint64_t nbytes)
{
    const struct fam_roots *current = NULL;

    for (unsigned i = 0; i < 2; i++)
        if (roots_are_sound(&head[i], nbytes) &&
            (current == NULL || head[i].serial > current->serial))
            current = &head[i];
    return current;
}

static const struct fam_roots *roots_current(const struct fam_part *part)
{
    return roots_in(part->head, part->pool.super->entries[part->index].nbytes);
}

bool stp_fam_root_at(const struct fam_part *part, unsigned i, struct stp_named_block *root)
{
    const struct fam_roots *roots = part->head != NULL ? roots_current(part) : NULL;
    uint64_t serial;

    while (roots != NULL) {
        serial = roots->serial;
        if (i >= roots->n) return false;
        *root = roots->roots[i];
        if (roots_are_sound(roots, UINT64_MAX) && roots->serial == serial) return true;
        roots = roots_current(part); /* another job has overwritten the table, so read again */
    }
    return false;
}

static uint32_t roots_find(const struct fam_roots *roots, const char *name)
{
    uint32_t i = 0;

    while (i < roots->n && strcmp(roots->roots[i].name, name) != 0)
        i++;
    return i;
}

/*
 * Returns whether the table needs no change, because it already has the named block *root. If
 * root->nbytes is 0, returns whether the table does not have the name.
 */
static bool roots_have(const struct fam_roots *roots, const struct stp_named_block *root)
{
    uint32_t i = roots != NULL ? roots_find(roots, root->name) : 0;

    if (roots == NULL || i == roots->n) return root->nbytes == 0;
    return memcmp(&roots->roots[i], root, sizeof(*root)) == 0;
}

/*
 * Writes a new version of the table *current that includes the named block *root. If root->nbytes
 * is 0, the new version lacks this name. The new version overwrites the other table in the head, so
 * that *current stays intact. current is NULL if no table is valid.
 */
static int roots_write(struct fam_part *part, const struct fam_roots *current,
                       const struct stp_named_block *root)
{
    struct fam_roots *next = &part->head[current == part->head ? 1 : 0];
    uint64_t serial = current != NULL ? current->serial + 1 : 1;
    uint32_t i;
    int rc;

    if (current != NULL)
        memcpy(next, current, sizeof(*next));
    else
        memset(next, 0, sizeof(*next));
    next->serial = serial; /* the table is not valid until its checksum is set below */
    i = roots_find(next, root->name);
    if (root->nbytes == 0)
        next->roots[i] = next->roots[--next->n];
    else
        next->roots[i] = *root;
    if (i == next->n && root->nbytes != 0) next->n++;
    next->checksum = roots_checksum(next);
    rc = stp_fam_flush(next, sizeof(*next), part->pool.device);
    if (rc != 0)
        stp_error("fam: cannot make the names of blocks in %s durable: %s", part->path,
                  strerror(-rc));
    return rc;
}

static int roots_set_locked(struct fam_part *part, const struct stp_named_block *root)
{
    const struct fam_roots *current = roots_current(part);

    if (roots_have(current, root)) return 0;
    if (current != NULL && current->n == FAM_ROOTS &&
        roots_find(current, root->name) == FAM_ROOTS) {
        stp_error("fam: the space in %s already has %d named blocks, which is the maximum",
                  part->path, FAM_ROOTS);
        return -ENOSPC;
    }
    return roots_write(part, current, root);
}

static int roots_inherit_locked(struct fam_part *part)
{
    const struct fam_entry *previous = &part->pool.super->entries[part->previous];
    const struct fam_roots *head, *current;
    int rc = 0;

    if (roots_current(part) != NULL) return 0; /* another PE has already copied the table */
    head = mmap(NULL, 2 * sizeof(*head), PROT_READ, MAP_SHARED, part->fd, (off_t)previous->offset);
    if (head == MAP_FAILED) return -errno;
    current = roots_in(head, previous->nbytes);
    if (current != NULL) {
        part->head[0] = *current;
        rc = stp_fam_flush(part->head, 2 * sizeof(*head), part->pool.device);
    }
    munmap((void *)head, 2 * sizeof(*head));
    return rc;
}

int stp_fam_block_names_inherit(struct fam_part *part)
{
    int rc = stp_fam_pool_lock(&part->pool);

    if (rc != 0) return rc;
    rc = roots_inherit_locked(part);
    stp_fam_pool_unlock(&part->pool);
    if (rc != 0)
        stp_error("fam: cannot copy the names of blocks to the new parts in %s: %s", part->path,
                  strerror(-rc));
    return rc;
}

int stp_fam_root_set(struct fam_part *part, const struct stp_named_block *root)
{
    int rc = stp_fam_pool_lock(&part->pool);

    if (rc != 0) return rc;
    rc = roots_set_locked(part, root);
    stp_fam_pool_unlock(&part->pool);
    return rc;
}
