/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares requests, which carry an operation from its post to its completion, and the endpoints on
 * which the requests are posted. Design: docs/design/fabric.md.
 */
#ifndef STP_REQUEST_AND_ENDPOINT_H
#define STP_REQUEST_AND_ENDPOINT_H

#include "base/base.h"
#include "transport/transport.h"

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#define STP_OFI_INLINE 64         /* bytes in a request, for operands and puts of a cache line */
#define STP_OFI_PLAIN_REQS 4096u  /* most outstanding operations without a bounce buffer */
#define STP_OFI_BOUNCE_REQS 1024u /* most outstanding operations with a bounce buffer */
#define STP_OFI_BOUNCE_BYTES (8u << 20) /* most bytes in all bounce buffers */
#define STP_OFI_MESSAGES 1024u          /* most messages without a reply */
#define STP_OFI_PACKED_REQS 256u        /* most packed messages without an acknowledgement */
#define STP_OFI_JOINED_REQS 256u        /* most outstanding writes of several pieces */
#define STP_OFI_PIECES 4u               /* most pieces of a write */

/* ---- requests ----------------------------------------------------------- */

enum stp_ofi_kind {
    STP_OFI_WRITE,
    STP_OFI_READ,
    STP_OFI_UPDATE, /* provider's atomic without a result */
    STP_OFI_FETCH,
    STP_OFI_COMPARE,
    STP_OFI_MESSAGE, /* atomic that the target's library executes */
    STP_OFI_PACKED,  /* packed message of several operations */
    STP_OFI_ANSWER,
    STP_OFI_INBOX, /* receive buffer, which is not a request */
};

/* The context of a libfabric operation, which the completion returns. */
struct stp_ofi_work {
    struct fi_context2 fi; /* first member, because libfabric receives its address */
    enum stp_ofi_kind kind;
};

struct stp_ofi_endpoint;
struct stp_ofi_local_mr_ref;
struct stp_ofi_batch;

/*
 * The target of a queued operation, whose region is looked up again at the post. generation is the
 * region's generation when the operation was issued. A request with several operations (a packed
 * message, or a write of several pieces) has the module's generation when the request was begun,
 * and the routine of its last operation; the numbers and offsets are then in the request's data.
 */
struct stp_ofi_place {
    const char *fn; /* name of the routine that the program called */
    unsigned number;
    unsigned generation;
    size_t offset;
};

/*
 * One libfabric operation, with all data that a repeated post or an error message needs. The
 * completion subtracts one from *pending, posts `then` if the counter becomes zero, and returns the
 * request to its pool.
 */
struct stp_ofi_req {
    struct stp_ofi_work work; /* first member */
    int pe;                   /* target PE, or -1 while the request is free */
    unsigned uses;            /* number of times that the request was returned to its pool */
    unsigned *pending;
    struct stp_ofi_req *then; /* signal to post after all fragments of its put, or NULL */
    /*
     * Number of outstanding fragments of a signal's put, or of outstanding events of a message
     * (completion of the send, and reply), see am.c.
     */
    unsigned parts;
    uint64_t turn;     /* turn (see lost_op_by_order.h), or 0 if the request has none */
    unsigned missed;   /* number of later probes that were answered before this request */
    unsigned n_pieces; /* number of pieces of a write in data, or 0 for one piece in local */
    bool has_word;     /* whether a write carries remote CQ data */
    uint64_t word;     /* remote CQ data of a write, see write_cqdata.c */
    /* Only atomics use op, type, compare and result. */
    enum fi_op op;
    enum fi_datatype type;
    const void *compare;
    void *result;
    struct stp_ofi_req *next; /* next request in the free list or in the retry list */
    struct stp_ofi_pool *pool;
    struct stp_ofi_place place;         /* target of the operation, unused in answers */
    const void *local;                  /* local source, destination or operand */
    size_t nbytes;                      /* number of bytes at local */
    void *desc;                         /* descriptor of local, or NULL if host memory needs none */
    void *own_desc;                     /* descriptor of data, constant */
    unsigned id;                        /* number in the pool, constant */
    void *copy_to;                      /* user memory to copy the received data to, or NULL */
    struct stp_ofi_local_mr_ref *lease; /* registration of local, or NULL */
    struct stp_ofi_batch *batch;        /* batch to notify when done, or NULL */
    unsigned char data[] __attribute__((aligned(16))); /* own bytes, pool->data_size of them */
};

/* A piece of a write that has several pieces. */
struct stp_ofi_piece {
    const void *local;
    size_t nbytes;
    struct stp_ofi_place place;
};

/* Requests of one size. The pool grows up to its limit, and then threads wait for completions. */
struct stp_ofi_pool {
    pthread_mutex_t lock; /* guards all members below */
    struct stp_ofi_req *free;
    struct stp_ofi_slab *slabs;
    struct stp_ofi_endpoint *endpoint; /* endpoint of the pool, constant */
    unsigned index;                    /* index in endpoint->pools, constant */
    size_t data_size;                  /* bytes of data in each request, constant */
    unsigned limit;                    /* most requests, constant */
    unsigned n_made;
    unsigned n_taken; /* number of requests in use, also read without the lock */
};

/* Pools of an endpoint. Only the main endpoint uses the last three pools, for messages. */
enum {
    STP_OFI_PLAIN,
    STP_OFI_BOUNCE,
    STP_OFI_JOINED,
    STP_OFI_MESSAGED,
    STP_OFI_PACKED_POOL,
    STP_OFI_ANSWERED,
    STP_OFI_N_POOLS
};

void stp_ofi_pools_init(struct stp_ofi_endpoint *endpoint);
/* Closes the registrations of the pools. No request may be outstanding. */
void stp_ofi_pools_unregister(struct stp_ofi_endpoint *endpoint);
void stp_ofi_pools_fini(struct stp_ofi_endpoint *endpoint);

/* Returns a new request of this kind to PE pe. Waits with progress while all are in use. */
struct stp_ofi_req *stp_ofi_req_take_waiting(struct stp_ofi_pool *pool, enum stp_ofi_kind kind,
                                             int pe);

/* As stp_ofi_req_take_waiting(), but returns NULL instead of waiting. */
struct stp_ofi_req *stp_ofi_req_try(struct stp_ofi_pool *pool, enum stp_ofi_kind kind, int pe);

/* Calls look for each request in use to PE pe, with pool->lock held. */
void stp_ofi_req_each(struct stp_ofi_pool *pool, int pe,
                      void (*look)(struct stp_ofi_req *req, void *arg), void *arg);

/* A position among the requests of a pool, which starts as {.slab = NULL}. */
struct stp_ofi_cursor {
    struct stp_ofi_slab *slab;
    unsigned i;
    bool begun;
};

/* A request that was in use. The member uses distinguishes this use from later uses. */
struct stp_ofi_seen {
    struct stp_ofi_req *req;
    unsigned uses;
};

/*
 * Stores in seen up to max requests in use that wanted() accepts, from the cursor on. Returns their
 * number, or 0 at the end. May miss requests taken meanwhile. wanted() runs under pool->lock.
 */
unsigned stp_ofi_req_collect(struct stp_ofi_pool *pool, struct stp_ofi_cursor *cursor,
                             bool (*wanted)(const struct stp_ofi_req *req, const void *arg),
                             const void *arg, struct stp_ofi_seen *seen, unsigned max);

/* Returns the request with this id, or NULL if this request is not in use for PE pe. */
struct stp_ofi_req *stp_ofi_req_find(struct stp_ofi_pool *pool, unsigned id, int pe);

/* Adds the target PEs of the pool to the n in pes, up to max different PEs. Returns the new n. */
int stp_ofi_pool_targets(struct stp_ofi_pool *pool, int *pes, int n, int max);

/* Stores up to max different target PEs of requests on all endpoints. Returns their number. */
int stp_ofi_targets(int *pes, int max);

/* Returns a list of requests, linked by next and all of this pool, to the pool. */
void stp_ofi_req_give(struct stp_ofi_pool *pool, struct stp_ofi_req *first,
                      struct stp_ofi_req *last);

/*
 * Makes the completion of the request subtract from *pending, to which the caller has added one.
 * From now on other threads read the request, and abandon it if its PE has gone: they then change
 * the counter and the batch. The release store makes earlier writes visible to these threads.
 */
static inline void stp_ofi_count_on(struct stp_ofi_req *req, unsigned *pending)
{
    /* Pairs with the acquire load in stp_ofi_counts_on(). */
    __atomic_store_n(&req->pending, pending, __ATOMIC_RELEASE);
}

/* Returns the counter of a request. The load pairs with the release store in stp_ofi_count_on(). */
static inline unsigned *stp_ofi_counts_on(const struct stp_ofi_req *req)
{
    return __atomic_load_n(&req->pending, __ATOMIC_ACQUIRE);
}

/* ---- endpoints --------------------------------------------------------------- */

/*
 * An endpoint with the objects that threads on different endpoints do not share: completion queue,
 * requests and lock. Peers only know the address of the main endpoint. Where the provider makes
 * endpoints cheap, other endpoints serve contexts that one thread at a time uses.
 */
struct stp_ofi_endpoint {
    /* Every operation reads the first members. Only open and connect write ep, cq and addrs. */
    struct fid_ep *ep;
    struct fid_cq *cq;
    fi_addr_t *addrs; /* addresses by PE, inverted so that a zero page means that none is known */
    struct stp_ofi_pool pools[STP_OFI_N_POOLS];

    pthread_mutex_t drain STP_ALIGNED_LINE; /* lock to read the completion queue; guards retry */
    struct stp_ofi_req *retry;              /* requests that the provider had no room for */
    unsigned activity; /* counter that posts and polls of the program advance */
    unsigned drains;   /* counter that each read of the queue advances */
    bool draining;     /* whether a thread reads the queue, perhaps for ms */

    struct fid_fabric *fabric STP_ALIGNED_LINE; /* own fabric, or NULL to use the main endpoint's */
    struct fid_domain *domain;
    struct fid_av *av;
    unsigned n_ctxs; /* contexts of this endpoint, guarded by stp_ofi.endpoints_lock */
};

/* Returns the number of endpoints, which stay until close. Endpoint 0 is the main endpoint. */
unsigned stp_ofi_n_endpoints(void);
struct stp_ofi_endpoint *stp_ofi_endpoint_at(unsigned i);

fi_addr_t stp_ofi_addr_slow(struct stp_ofi_endpoint *endpoint, int pe);

/* Returns the PE's entry in the endpoint's address table, and makes the entry at first use. */
static inline fi_addr_t stp_ofi_addr(struct stp_ofi_endpoint *endpoint, int pe)
{
    /* Pairs with the release stores in insert_locked() and addr_find(). */
    fi_addr_t where = ~__atomic_load_n(&endpoint->addrs[pe], __ATOMIC_ACQUIRE);

    return STP_LIKELY(where != FI_ADDR_NOTAVAIL) ? where : stp_ofi_addr_slow(endpoint, pe);
}

/* Returns whether requests of the endpoint are in use or wait to be posted. */
static inline bool stp_ofi_endpoint_busy(const struct stp_ofi_endpoint *endpoint)
{
    unsigned n = __atomic_load_n(&endpoint->retry, __ATOMIC_RELAXED) != NULL;

    for (int i = 0; i < STP_OFI_N_POOLS; i++)
        n += __atomic_load_n(&endpoint->pools[i].n_taken, __ATOMIC_RELAXED);
    return n > 0;
}

/* Returns an endpoint, never NULL, for a new context, which one thread at a time uses or any. */
struct stp_ofi_endpoint *stp_ofi_endpoint_own_or_shared(bool one_thread);
void stp_ofi_endpoint_give(struct stp_ofi_endpoint *endpoint);

void stp_ofi_extra_endpoints_close(void); /* Closes all endpoints except the main endpoint. */

#endif /* STP_REQUEST_AND_ENDPOINT_H */
