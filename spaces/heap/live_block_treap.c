/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tree of the live blocks of a heap. The tree is a treap: a binary search tree, ordered by
 * offset, in which each node also has a pseudorandom priority. No child has a higher priority than
 * its parent, which keeps the tree shallow. The priority is a hash of the offset, so that heaps
 * with equal blocks have equal trees on all PEs. Each node stores the largest gap in each of its
 * two subtrees. One descent from the root thus finds the first gap that is large enough.
 */
#include "records.h"

/* Returns the priority of a block. The hash maps different offsets to different priorities. */
static uint64_t priority(const struct stp_heap_block *block)
{
    uint64_t h = block->offset;

    h ^= h >> 32;
    h *= UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 29;
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    h ^= h >> 32;
    return h;
}

/* Returns 0 if block is the left child of its parent, or 1 if it is the right child. */
static int side_of(const struct stp_heap_block *block)
{
    return block->parent->child[1] == block;
}

void stp_heap_live_set_gap(struct stp_heap_block *block, size_t gap)
{
    block->gap = gap;
    for (; block->parent; block = block->parent) {
        size_t largest = stp_heap_live_largest_gap(block);
        size_t *stored = &block->parent->child_gap[side_of(block)];

        if (*stored == largest) return;
        *stored = largest;
    }
}

/*
 * Makes child the child of parent on the given side. If parent is NULL, makes child the root of the
 * tree. child can be NULL.
 */
static void link_child(struct stp_heap_block **root, struct stp_heap_block *parent, int side,
                       struct stp_heap_block *child)
{
    if (child) child->parent = parent;
    if (!parent) {
        *root = child;
        return;
    }
    parent->child[side] = child;
    parent->child_gap[side] = child ? stp_heap_live_largest_gap(child) : 0;
}

/* Exchanges block and its parent by a rotation, which does not change the order by offset. */
static void rotate_up(struct stp_heap_block **root, struct stp_heap_block *block)
{
    struct stp_heap_block *parent = block->parent;
    struct stp_heap_block *grandparent = parent->parent;
    int side = side_of(block);
    int grandparent_side = grandparent ? side_of(parent) : 0;

    link_child(root, parent, side, block->child[!side]);
    link_child(root, block, !side, parent);
    link_child(root, grandparent, grandparent_side, block);
}

void stp_heap_live_insert(struct stp_heap_block **root, struct stp_heap_block *predecessor,
                          struct stp_heap_block *block)
{
    struct stp_heap_block *parent = predecessor;
    int side = 1;

    if (predecessor->child[1]) {
        parent = predecessor->child[1];
        while (parent->child[0])
            parent = parent->child[0];
        side = 0;
    }
    link_child(root, parent, side, block);
    while (block->parent && priority(block->parent) < priority(block))
        rotate_up(root, block);
}

void stp_heap_live_remove(struct stp_heap_block **root, struct stp_heap_block *block)
{
    struct stp_heap_block **child = block->child;

    while (child[0] && child[1])
        rotate_up(root, child[priority(child[0]) < priority(child[1])]);
    link_child(root, block->parent, block->parent ? side_of(block) : 0,
               child[0] ? child[0] : child[1]);
}

struct stp_heap_block *stp_heap_live_prev(struct stp_heap_block *block)
{
    if (block->child[0]) {
        block = block->child[0];
        while (block->child[1])
            block = block->child[1];
        return block;
    }
    while (block->parent && side_of(block) == 0)
        block = block->parent;
    return block->parent;
}

struct stp_heap_block *stp_heap_live_floor(struct stp_heap_block *root, size_t offset)
{
    struct stp_heap_block *floor = NULL;

    while (root) {
        if (root->offset <= offset) {
            floor = root;
            root = root->child[1];
        } else {
            root = root->child[0];
        }
    }
    return floor;
}

/* Returns the first block whose gap has at least nbytes bytes, or NULL if no gap is that large. */
static struct stp_heap_block *first_gap(struct stp_heap_block *root, size_t nbytes)
{
    while (root) {
        if (root->child_gap[0] >= nbytes)
            root = root->child[0];
        else if (root->gap >= nbytes)
            return root;
        else
            root = root->child[1];
    }
    return NULL;
}

static bool gap_has_room(const struct stp_heap *heap, const struct stp_heap_block *block,
                         size_t nbytes, size_t align)
{
    size_t skip = stp_heap_skip(block, align);
    size_t gap = stp_heap_gap(heap, block);

    return skip <= gap && gap - skip >= nbytes;
}

/*
 * Returns the first block in the subtree of root whose gap has room for nbytes bytes at a multiple
 * of align, or NULL. Skips subtrees in which all gaps are smaller than nbytes.
 */
static struct stp_heap_block *search_all(const struct stp_heap *heap, struct stp_heap_block *root,
                                         size_t nbytes, size_t align)
{
    struct stp_heap_block *found;

    if (!root || stp_heap_live_largest_gap(root) < nbytes) return NULL;
    found = search_all(heap, root->child[0], nbytes, align);
    if (found) return found;
    if (gap_has_room(heap, root, nbytes, align)) return root;
    return search_all(heap, root->child[1], nbytes, align);
}

struct stp_heap_block *stp_heap_live_first_fit(const struct stp_heap *heap, size_t nbytes,
                                               size_t align)
{
    struct stp_heap_block *found = first_gap(heap->root, nbytes);
    size_t padded;

    if (found && gap_has_room(heap, found, nbytes, align)) return found;
    if (found && !__builtin_add_overflow(nbytes, align - STP_HEAP_ALIGN, &padded)) {
        found = first_gap(heap->root, padded);
        if (found) return found;
    }
    if (gap_has_room(heap, heap->last, nbytes, align)) return heap->last;
    return search_all(heap, heap->root, nbytes, align);
}
