/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools of requests. A request is taken to post an operation and given back by its completion,
 * on whatever thread that is. Memory is bounded: past the limit takers wait for completions,
 * so a million outstanding operations cost no more than a few thousand.
 * Design: docs/design/fabric.md.
 */
#include "ofi.h"

#include <errno.h>
#include <stdlib.h>

#define SLAB_REQS 32u

struct stp_ofi_slab {
    struct stp_ofi_slab *next;
    unsigned n;
    unsigned char reqs[] STP_ALIGNED_LINE;
};

static size_t req_stride(const struct stp_ofi_pool *pool)
{
    size_t size = sizeof(struct stp_ofi_req) + pool->data_size;

    return (size + STP_CACHE_LINE - 1) & ~(size_t)(STP_CACHE_LINE - 1);
}

void stp_ofi_pool_init(struct stp_ofi_pool *pool, size_t data_size, unsigned limit)
{
    pthread_mutex_init(&pool->lock, NULL);
    pool->free = NULL;
    pool->slabs = NULL;
    pool->data_size = data_size;
    pool->n_made = 0;
    pool->limit = limit;
}

void stp_ofi_pool_fini(struct stp_ofi_pool *pool)
{
    struct stp_ofi_slab *slab = pool->slabs, *next;

    for (; slab != NULL; slab = next) {
        next = slab->next;
        free(slab);
    }
    pool->slabs = NULL;
    pool->free = NULL;
    pthread_mutex_destroy(&pool->lock);
}

/* Add a slab of requests to the free list, within the limit. Returns 0 or -ENOMEM. */
static int pool_grow_locked(struct stp_ofi_pool *pool)
{
    size_t stride = req_stride(pool);
    unsigned n = pool->limit - pool->n_made;
    struct stp_ofi_slab *slab = NULL;

    if (n > SLAB_REQS) n = SLAB_REQS;
    if (n > 0) slab = aligned_alloc(STP_CACHE_LINE, sizeof(*slab) + n * stride);
    if (slab == NULL) return -ENOMEM;
    slab->n = n;
    slab->next = pool->slabs;
    pool->slabs = slab;
    pool->n_made += n;
    while (n-- > 0) {
        struct stp_ofi_req *req = (struct stp_ofi_req *)(slab->reqs + n * stride);

        req->pool = pool;
        req->pe = -1;
        req->next = pool->free;
        pool->free = req;
    }
    return 0;
}

static struct stp_ofi_req *pool_take(struct stp_ofi_pool *pool, int pe)
{
    struct stp_ofi_req *req = NULL;

    pthread_mutex_lock(&pool->lock);
    if (pool->free != NULL || pool_grow_locked(pool) == 0) {
        req = pool->free;
        pool->free = req->next;
        req->pe = pe;
    }
    bool none_made = pool->n_made == 0;
    pthread_mutex_unlock(&pool->lock);
    if (none_made) stp_ofi.core->fatal("fabric", "no memory for requests");
    return req;
}

struct stp_ofi_req *stp_ofi_req_take(struct stp_ofi_pool *pool, enum stp_ofi_kind kind, int pe)
{
    struct stp_ofi_req *req;
    struct stp_ofi_wait wait = {0};

    while (STP_UNLIKELY((req = pool_take(pool, pe)) == NULL))
        stp_ofi_wait_step(&wait);
    req->kind = kind;
    req->then = NULL;
    req->desc = NULL;
    return req;
}

void stp_ofi_req_give(struct stp_ofi_pool *pool, struct stp_ofi_req *first,
                      struct stp_ofi_req *last)
{
    pthread_mutex_lock(&pool->lock);
    last->next = NULL;
    for (struct stp_ofi_req *req = first; req != NULL; req = req->next)
        req->pe = -1;
    last->next = pool->free;
    pool->free = first;
    pthread_mutex_unlock(&pool->lock);
}

static bool holds(const int *pes, int n, int pe)
{
    for (int i = 0; i < n; i++)
        if (pes[i] == pe) return true;
    return false;
}

int stp_ofi_pool_targets(struct stp_ofi_pool *pool, int *pes, int max)
{
    size_t stride = req_stride(pool);
    int n = 0;

    pthread_mutex_lock(&pool->lock);
    for (struct stp_ofi_slab *slab = pool->slabs; slab != NULL; slab = slab->next) {
        for (unsigned i = 0; i < slab->n && n < max; i++) {
            const struct stp_ofi_req *req = (void *)(slab->reqs + i * stride);

            if (req->pe >= 0 && !holds(pes, n, req->pe)) pes[n++] = req->pe;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return n;
}

void stp_ofi_pool_abandon(struct stp_ofi_pool *pool, int pe)
{
    size_t stride = req_stride(pool);

    pthread_mutex_lock(&pool->lock);
    for (struct stp_ofi_slab *slab = pool->slabs; slab != NULL; slab = slab->next) {
        for (unsigned i = 0; i < slab->n; i++) {
            struct stp_ofi_req *req = (void *)(slab->reqs + i * stride);

            if (req->pe != pe || req->pending == &stp_ofi.abandoned) continue;
            atomic_fetch_add_explicit(&stp_ofi.abandoned, 1, memory_order_relaxed);
            atomic_fetch_sub_explicit(req->pending, 1, memory_order_acq_rel);
            req->pending = &stp_ofi.abandoned;
        }
    }
    pthread_mutex_unlock(&pool->lock);
}
