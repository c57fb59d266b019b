/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Manages pools of requests. A thread takes a request from a pool to post an operation. The thread
 * that handles the completion returns the request to the pool. The size of a pool is limited. If no
 * request is free, a thread waits for completions. A program that issues a million operations
 * therefore needs no more memory than a program that issues a few thousand.
 * Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#define SLAB_REQS 32u
#define MESSAGES_MIN 16u
/*
 * Maximum number of messages in flight from all PEs to one PE. It may be exceeded, because each PE
 * may send at least MESSAGES_MIN messages.
 */
#define MESSAGES_JOB 65536u

/* An array of requests. A pool grows by one slab at a time, and frees its slabs at the end. */
struct stp_ofi_slab {
    struct stp_ofi_slab *next;
    struct fid_mr *mr; /* registration of the array reqs, or NULL if not needed */
    unsigned first_id;
    unsigned n;
    unsigned char reqs[] STP_ALIGNED_LINE;
};

static size_t req_stride(const struct stp_ofi_pool *pool)
{
    size_t size = sizeof(struct stp_ofi_req) + pool->data_size;

    return (size + STP_CACHE_LINE - 1) & ~(size_t)(STP_CACHE_LINE - 1);
}

static struct stp_ofi_req *req_at(const struct stp_ofi_pool *pool, struct stp_ofi_slab *slab,
                                  unsigned i)
{
    return (struct stp_ofi_req *)(slab->reqs + i * req_stride(pool));
}

/* ---- pools --------------------------------------------------------------- */

static void pool_init(struct stp_ofi_endpoint *endpoint, unsigned index, size_t data_size,
                      unsigned limit)
{
    struct stp_ofi_pool *pool = &endpoint->pools[index];

    *pool = (struct stp_ofi_pool){
        .endpoint = endpoint, .index = index, .data_size = data_size, .limit = limit};
    pthread_mutex_init(&pool->lock, NULL);
}

/*
 * Returns the maximum number of outstanding messages of this PE. In small jobs, the result is max.
 * In large jobs, the result is smaller, because all PEs may send messages to one PE at the same
 * time. That PE may have to store a reply to each message.
 */
static unsigned message_limit(unsigned max)
{
    unsigned per_pe = MESSAGES_JOB / (unsigned)stp_ofi.core->n_pes;

    if (per_pe < MESSAGES_MIN) return MESSAGES_MIN;
    return per_pe < max ? per_pe : max;
}

void stp_ofi_pools_init(struct stp_ofi_endpoint *endpoint)
{
    size_t size = stp_ofi.bounce_size > STP_OFI_INLINE ? stp_ofi.bounce_size : STP_OFI_INLINE;
    size_t limit = STP_OFI_BOUNCE_BYTES / size;

    if (limit > STP_OFI_BOUNCE_REQS) limit = STP_OFI_BOUNCE_REQS;
    if (limit < 8) limit = 8;
    pool_init(endpoint, STP_OFI_PLAIN, STP_OFI_INLINE, STP_OFI_PLAIN_REQS);
    pool_init(endpoint, STP_OFI_BOUNCE, size, (unsigned)limit);
    pool_init(endpoint, STP_OFI_JOINED, STP_OFI_PIECES * sizeof(struct stp_ofi_piece),
              STP_OFI_JOINED_REQS);
    pool_init(endpoint, STP_OFI_MESSAGED, STP_OFI_INLINE, message_limit(STP_OFI_MESSAGES));
    pool_init(endpoint, STP_OFI_PACKED_POOL, stp_ofi.packed_size,
              message_limit(STP_OFI_PACKED_REQS));
    /*
     * The pool of replies has no limit, because each sender limits the number of its unanswered
     * messages.
     */
    pool_init(endpoint, STP_OFI_ANSWERED, STP_OFI_INLINE, UINT_MAX);
}

void stp_ofi_pools_unregister(struct stp_ofi_endpoint *endpoint)
{
    for (unsigned i = 0; i < STP_OFI_N_POOLS; i++) {
        for (struct stp_ofi_slab *slab = endpoint->pools[i].slabs; slab != NULL;
             slab = slab->next) {
            if (slab->mr != NULL) fi_close(&slab->mr->fid);
            slab->mr = NULL;
        }
    }
}

void stp_ofi_pools_fini(struct stp_ofi_endpoint *endpoint)
{
    stp_ofi_pools_unregister(endpoint);
    for (unsigned i = 0; i < STP_OFI_N_POOLS; i++) {
        struct stp_ofi_pool *pool = &endpoint->pools[i];
        struct stp_ofi_slab *slab;

        while ((slab = pool->slabs) != NULL) {
            pool->slabs = slab->next;
            free(slab);
        }
        pool->free = NULL;
        pthread_mutex_destroy(&pool->lock);
    }
}

/*
 * Adds new requests to the free list, up to the pool's limit. Returns 0, or -ENOMEM if the limit is
 * reached or memory is short.
 */
static int pool_grow_locked(struct stp_ofi_pool *pool)
{
    size_t stride = req_stride(pool);
    unsigned n = pool->limit - pool->n_made;
    struct stp_ofi_slab *slab = NULL;

    if (n > SLAB_REQS) n = SLAB_REQS;
    if (n > 0) slab = aligned_alloc(STP_CACHE_LINE, sizeof(*slab) + n * stride);
    if (slab == NULL) return -ENOMEM;
    if (stp_ofi_reg_internal_if_needed(slab->reqs, n * stride, &slab->mr) != 0) {
        free(slab);
        return -ENOMEM;
    }
    slab->n = n;
    slab->first_id = pool->n_made;
    slab->next = pool->slabs;
    pool->slabs = slab;
    pool->n_made += n;
    while (n-- > 0) {
        struct stp_ofi_req *req = req_at(pool, slab, n);

        req->pool = pool;
        req->id = slab->first_id + n;
        req->data_desc = slab->mr != NULL ? fi_mr_desc(slab->mr) : NULL;
        req->pe = -1;
        req->use_count = 0;
        req->next = pool->free;
        pool->free = req;
    }
    return 0;
}

/* ---- requests ------------------------------------------------------------ */

static void count_locked(struct stp_ofi_pool *pool, unsigned change)
{
    __atomic_store_n(&pool->n_taken, pool->n_taken + change, __ATOMIC_RELAXED);
}

struct stp_ofi_req *stp_ofi_req_try(struct stp_ofi_pool *pool, enum stp_ofi_kind kind, int pe)
{
    struct stp_ofi_req *req = NULL;
    bool none_made;

    pthread_mutex_lock(&pool->lock);
    if (pool->free != NULL || pool_grow_locked(pool) == 0) {
        req = pool->free;
        pool->free = req->next;
        req->pe = pe;
        req->work.kind = kind;
        stp_ofi_count_on(req, NULL);
        req->copy_to = NULL;
        req->result = NULL;
        __atomic_store_n(&req->seq, 0, __ATOMIC_RELAXED);
        req->missed = 0;
        req->signal_req = NULL;
        req->desc = NULL;
        req->mr_ref = NULL;
        req->batch = NULL;
        req->n_pieces = 0;
        req->has_word = false;
        count_locked(pool, 1);
    }
    none_made = pool->n_made == 0;
    pthread_mutex_unlock(&pool->lock);
    if (none_made)
        stp_ofi.core->fatal("fabric", "out of memory: cannot start a communication operation");
    return req;
}

struct stp_ofi_req *stp_ofi_req_take_waiting(struct stp_ofi_pool *pool, enum stp_ofi_kind kind,
                                             int pe)
{
    struct stp_ofi_req *req;
    struct stp_ofi_wait wait = {.endpoint = pool->endpoint};

    while (STP_UNLIKELY((req = stp_ofi_req_try(pool, kind, pe)) == NULL))
        stp_ofi_wait_step(&wait);
    stp_ofi_wait_end(&wait);
    return req;
}

struct stp_ofi_req *stp_ofi_req_find(struct stp_ofi_pool *pool, unsigned id, int pe)
{
    struct stp_ofi_req *found = NULL;

    pthread_mutex_lock(&pool->lock);
    for (struct stp_ofi_slab *slab = pool->slabs; slab != NULL && found == NULL; slab = slab->next)
        if (id >= slab->first_id && id - slab->first_id < slab->n)
            found = req_at(pool, slab, id - slab->first_id);
    if (found != NULL && found->pe != pe) found = NULL;
    pthread_mutex_unlock(&pool->lock);
    return found;
}

void stp_ofi_req_give(struct stp_ofi_pool *pool, struct stp_ofi_req *first,
                      struct stp_ofi_req *last)
{
    unsigned n = 0;

    pthread_mutex_lock(&pool->lock);
    last->next = NULL;
    for (struct stp_ofi_req *req = first; req != NULL; req = req->next, n++) {
        req->pe = -1;
        req->use_count++;
    }
    last->next = pool->free;
    pool->free = first;
    count_locked(pool, -n);
    pthread_mutex_unlock(&pool->lock);
}

/* ---- by target ----------------------------------------------------------- */

static bool contains(const int *pes, int n, int pe)
{
    for (int i = 0; i < n; i++)
        if (pes[i] == pe) return true;
    return false;
}

int stp_ofi_pool_targets(struct stp_ofi_pool *pool, int *pes, int n, int max)
{
    pthread_mutex_lock(&pool->lock);
    for (struct stp_ofi_slab *slab = pool->slabs; slab != NULL; slab = slab->next) {
        for (unsigned i = 0; i < slab->n && n < max; i++) {
            int pe = req_at(pool, slab, i)->pe;

            if (pe >= 0 && !contains(pes, n, pe)) pes[n++] = pe;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return n;
}

void stp_ofi_req_each(struct stp_ofi_pool *pool, int pe,
                      void (*visit)(struct stp_ofi_req *req, void *arg), void *arg)
{
    pthread_mutex_lock(&pool->lock);
    for (struct stp_ofi_slab *slab = pool->slabs; slab != NULL; slab = slab->next)
        for (unsigned i = 0; i < slab->n; i++)
            if (req_at(pool, slab, i)->pe == pe) visit(req_at(pool, slab, i), arg);
    pthread_mutex_unlock(&pool->lock);
}

static void cursor_step(struct stp_ofi_cursor *cursor)
{
    if (++cursor->i < cursor->slab->n) return;
    cursor->slab = cursor->slab->next;
    cursor->i = 0;
}

unsigned stp_ofi_req_collect(struct stp_ofi_pool *pool, struct stp_ofi_cursor *cursor,
                             bool (*matches)(const struct stp_ofi_req *req, const void *arg),
                             const void *arg, struct stp_ofi_found *found, unsigned max)
{
    unsigned n = 0;

    pthread_mutex_lock(&pool->lock);
    /* Slabs are never removed, and new slabs are added at the head, so the cursor remains valid. */
    if (!cursor->begun) *cursor = (struct stp_ofi_cursor){.slab = pool->slabs, .begun = true};
    for (; cursor->slab != NULL && n < max; cursor_step(cursor)) {
        struct stp_ofi_req *req = req_at(pool, cursor->slab, cursor->i);

        if (req->pe >= 0 && matches(req, arg))
            found[n++] = (struct stp_ofi_found){req, req->use_count};
    }
    pthread_mutex_unlock(&pool->lock);
    return n;
}

static void req_abandon(struct stp_ofi_req *req, void *arg)
{
    unsigned *counter = stp_ofi_counts_on(req);

    (void)arg;
    if (counter == NULL || counter == &stp_ofi.abandoned) return;
    /*
     * Clear the pointers to memory of the thread that waits for req. This thread now stops waiting
     * and may free the memory.
     */
    req->copy_to = NULL;
    req->batch = NULL;
    if (req->work.kind == STP_OFI_MESSAGE) req->result = NULL;
    __atomic_fetch_add(&stp_ofi.abandoned, 1, __ATOMIC_RELAXED);
    /*
     * Pairs with the acquire load in stp_ofi_wait_zero(), as the subtraction in finish_locked()
     * does.
     */
    __atomic_fetch_sub(counter, 1, __ATOMIC_ACQ_REL);
    stp_ofi_count_on(req, &stp_ofi.abandoned);
}

struct stp_ofi_endpoint *stp_ofi_endpoint_at(unsigned i)
{
    return i == 0 ? &stp_ofi.main : stp_ofi.endpoints[i - 1];
}

unsigned stp_ofi_n_endpoints(void)
{
    /* Pairs with the release store in endpoint_take_locked(). */
    return 1 + __atomic_load_n(&stp_ofi.n_endpoints, __ATOMIC_ACQUIRE);
}

int stp_ofi_targets(int *pes, int max)
{
    unsigned n_all = stp_ofi_n_endpoints();
    int n = 0;

    for (unsigned i = 0; i < n_all; i++)
        for (unsigned k = 0; k < STP_OFI_N_POOLS; k++)
            n = stp_ofi_pool_targets(&stp_ofi_endpoint_at(i)->pools[k], pes, n, max);
    return n;
}

void stp_ofi_abandon_reqs_to(int pe)
{
    unsigned n_all = stp_ofi_n_endpoints();

    /* Lock all endpoints, because the data and its signal may be posted on different endpoints. */
    for (unsigned i = 0; i < n_all; i++)
        pthread_mutex_lock(&stp_ofi_endpoint_at(i)->drain);
    for (unsigned i = 0; i < n_all; i++)
        for (unsigned k = 0; k < STP_OFI_N_POOLS; k++)
            stp_ofi_req_each(&stp_ofi_endpoint_at(i)->pools[k], pe, req_abandon, NULL);
    for (unsigned i = n_all; i-- > 0;)
        pthread_mutex_unlock(&stp_ofi_endpoint_at(i)->drain);
}
