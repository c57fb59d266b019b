/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Live blocks by offset, for free and for addresses inside a block: a treap, that is a search
 * tree that stays shallow because each block's place in the height is as good as random. It
 * is a function of the offset here, so equal heaps have equal trees on all PEs.
 */
#include "records.h"

/* Height of an offset: nothing but a hash, one to one, so that no two blocks are equal. */
static uint64_t height(size_t offset)
{
    uint64_t h = offset;

    h ^= h >> 32;
    h *= UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 29;
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    h ^= h >> 32;
    return h;
}

void stp_heap_index_add(struct stp_heap_block **root, struct stp_heap_block *block)
{
    struct stp_heap_block **left = &block->tree.left;
    struct stp_heap_block **right = &block->tree.right;
    struct stp_heap_block *at;

    while (*root && height((*root)->offset) > height(block->offset)) {
        root = block->offset < (*root)->offset ? &(*root)->tree.left : &(*root)->tree.right;
    }
    at = *root;
    *root = block;
    /* Deal what was below out to the new block's two sides. */
    while (at) {
        if (at->offset < block->offset) {
            *left = at;
            left = &at->tree.right;
            at = at->tree.right;
        } else {
            *right = at;
            right = &at->tree.left;
            at = at->tree.left;
        }
    }
    *left = NULL;
    *right = NULL;
}

void stp_heap_index_remove(struct stp_heap_block **root, struct stp_heap_block *block)
{
    struct stp_heap_block *left = block->tree.left;
    struct stp_heap_block *right = block->tree.right;

    while (*root != block)
        root = block->offset < (*root)->offset ? &(*root)->tree.left : &(*root)->tree.right;
    /* Join its two sides in its place, the higher one on top each time. */
    while (left && right) {
        if (height(left->offset) > height(right->offset)) {
            *root = left;
            root = &left->tree.right;
            left = left->tree.right;
        } else {
            *root = right;
            root = &right->tree.left;
            right = right->tree.left;
        }
    }
    *root = left ? left : right;
}

struct stp_heap_block *stp_heap_index_floor(struct stp_heap_block *root, size_t offset)
{
    struct stp_heap_block *best = NULL;

    while (root) {
        if (root->offset <= offset) {
            best = root;
            root = root->tree.right;
        } else {
            root = root->tree.left;
        }
    }
    return best;
}

/* What holds for a whole subtree: offsets in [low, end), no more than levels deep. */
struct bounds {
    size_t low;
    size_t end;
    unsigned levels;
};

/* Adds the subtree's blocks to *n_live. */
static bool subtree_verify(const struct stp_heap_block *root, struct bounds bounds, size_t *n_live)
{
    struct bounds left = bounds;
    struct bounds right = bounds;

    if (!root) return true;
    if (root->offset < bounds.low || root->offset >= bounds.end) return false;
    if (bounds.levels == 0 || root->asked == 0) return false;
    ++*n_live;
    left.levels = right.levels = bounds.levels - 1;
    left.end = root->offset;
    right.low = root->offset + 1;
    return subtree_verify(root->tree.left, left, n_live) &&
           subtree_verify(root->tree.right, right, n_live);
}

bool stp_heap_index_verify(const struct stp_heap_block *root, size_t n_live)
{
    /* A random tree is some three times as deep as a perfect one; luck does not triple that. */
    unsigned perfect = 64 - (unsigned)__builtin_clzll(n_live | 1);
    struct bounds bounds = {.low = 0, .end = SIZE_MAX, .levels = 16 + 8 * perfect};
    size_t found = 0;

    return subtree_verify(root, bounds, &found) && found == n_live;
}
