/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The blocks of a named space can have names, by which later jobs find the blocks. All members call
 * the routine that stores a name. The member that calls it first stores the name, and the calls of
 * the other members do nothing. Design: docs/design/fam.md.
 */
#include "space_lifecycle.h"

#include "coll/coll.h"

#include "pshmem.h"

#include <errno.h>
#include <string.h>

/*
 * Sets *root to the i-th named block. Returns false if the space has fewer named blocks, or if its
 * kind of memory stores no names.
 */
static bool roots_at(const struct stp_space *space, unsigned i, struct stp_named_block *root)
{
    const struct stp_store_ops *store = space->kind->store;

    return store != NULL && store->named_block_at(space, i, root);
}

/* ---- opening and closing ---------------------------------------------------------------- */

/* Reserves the named blocks in the heap. A block that has two names is reserved only once. */
int stp_space_restore_named_blocks(struct stp_space *space)
{
    uint64_t hash = stp_hash(STP_HASH_EMPTY, &space->n_parts, sizeof(space->n_parts));
    struct stp_named_block root;

    for (unsigned i = 0; roots_at(space, i, &root); i++) {
        size_t start, nbytes;
        int rc = stp_heap_reserve(space->heap, root.block, root.block_bytes);
        if (rc == -EEXIST && !(stp_heap_find(space->heap, root.block, &start, &nbytes) == 0 &&
                               start == root.block && nbytes == root.block_bytes))
            stp_warn(
                "the named block \"%s\" of space %u overlaps another named block and is not "
                "protected from allocations: did the program free this block before it removed the "
                "name?",
                root.name, space->number);
        else if (rc != 0 && rc != -EEXIST)
            return rc;
        hash = stp_hash(hash, &root, sizeof(root));
    }
    space->roots = hash;
    return 0;
}

void stp_space_fatal_if_named(struct stp_space *space, size_t offset, const char *fn)
{
    struct stp_named_block root;

    if (space->n_parts == 0) return;
    for (unsigned i = 0; roots_at(space, i, &root); i++)
        if (root.block == offset)
            stp_fatal(fn,
                      "ptr %p is the block with the name \"%s\": remove the name first "
                      "(shmemx_space_root_set with a NULL address)",
                      (void *)(space->base + offset), root.name);
}

size_t stp_space_named_blocks(const struct stp_space *space)
{
    struct stp_named_block root, earlier;
    size_t n = 0, start, nbytes;

    for (unsigned i = 0; roots_at(space, i, &root); i++) {
        bool counted = false;
        for (unsigned j = 0; j < i && !counted; j++)
            counted = roots_at(space, j, &earlier) && earlier.block == root.block;
        if (!counted && stp_heap_find(space->heap, root.block, &start, &nbytes) == 0) n++;
    }
    return n;
}

/* ---- the public routines ------------------------------------------------------------------ */

/* Checks the arguments of this member and sets *root. Returns 0, or -errno after logging. */
static int roots_check(const struct stp_space *space, const char *name, const void *addr,
                       size_t nbytes, struct stp_named_block *root)
{
    size_t start, block_bytes, offset = (size_t)((uintptr_t)addr - (uintptr_t)space->base);
    size_t len = name != NULL ? strnlen(name, STP_BLOCK_NAME) : 0;

    memset(root, 0, sizeof(*root)); /* all bytes of the structure are compared and stored */
    if (len == 0 || len == STP_BLOCK_NAME) {
        stp_error("shmemx_space_root_set: name is NULL, empty or too long: pass 1 to %d bytes",
                  STP_BLOCK_NAME - 1);
        return -EINVAL;
    }
    memcpy(root->name, name, len);
    if (addr == NULL || nbytes == 0) return 0;
    if (offset >= space->nbytes || stp_heap_find(space->heap, offset, &start, &block_bytes) != 0 ||
        nbytes > block_bytes - (offset - start)) {
        stp_error("shmemx_space_root_set: \"%s\": the %zu bytes at %p are not in one live "
                  "allocation of space %u",
                  root->name, nbytes, addr, space->number);
        return -EINVAL;
    }
    root->offset = offset;
    root->nbytes = nbytes;
    root->block = start;
    root->block_bytes = block_bytes;
    return 0;
}

/*
 * Stores the name of a block, or removes the name if root->nbytes is 0. Returns 0, or -errno after
 * logging.
 */
static int roots_set(struct stp_space *space, const struct stp_named_block *root)
{
    if (space->n_parts > 0) return space->kind->store->named_block_set(space, root);
    stp_error("shmemx_space_root_set: space %u (%s) has no name and therefore cannot store names "
              "of blocks, such as \"%s\"",
              space->number, space->kind->name, root->name);
    return -EOPNOTSUPP;
}

int pshmemx_space_root_set(shmem_space_t handle, const char *name, const void *addr, size_t nbytes)
{
    struct stp_space *space;
    struct stp_named_block root;
    int64_t facts[3];

    if (stp_space_is_invalid(handle)) return stp_reject(__func__, "space", STP_INVALID_SPACE);
    space = stp_space_check(handle, __func__, "space");
    facts[0] = roots_check(space, name, addr, nbytes, &root) != 0;
    facts[1] = (int64_t)(stp_hash(STP_HASH_EMPTY, &root, sizeof(root)) & INT64_MAX);
    facts[2] = -facts[1];
    stp_coll_agree(space->team, facts, 3);
    if (facts[0] != 0) return 1;
    if (facts[1] != -facts[2]) {
        stp_error("shmemx_space_root_set: \"%s\": name, addr or nbytes differ between PEs: this "
                  "PE passed %zu bytes at offset %zu",
                  root.name, nbytes, (size_t)root.offset);
        return 1;
    }
    /* On success, the name is durable on all members. */
    return stp_coll_any(space->team, roots_set(space, &root) != 0);
}
STP_PROFILED(shmemx_space_root_set);

int pshmemx_space_root_get(shmem_space_t handle, const char *name, void **addr, size_t *nbytes)
{
    struct stp_space *space;
    struct stp_named_block root;

    if (name == NULL || addr == NULL || nbytes == NULL)
        return stp_reject(__func__,
                          name == NULL   ? "name"
                          : addr == NULL ? "addr"
                                         : "nbytes",
                          "a null pointer");
    *addr = NULL;
    *nbytes = 0;
    if (stp_space_is_invalid(handle)) return stp_reject(__func__, "space", STP_INVALID_SPACE);
    space = stp_space_check(handle, __func__, "space");
    for (unsigned i = 0; roots_at(space, i, &root); i++) {
        if (strcmp(root.name, name) != 0) continue;
        *addr = space->base + root.offset;
        *nbytes = root.nbytes;
        return 0;
    }
    return 1;
}
STP_PROFILED(shmemx_space_root_get);
