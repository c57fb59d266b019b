/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares requests and endpoints. A request carries an operation from its post to its completion.
 * Requests are posted on an endpoint. Design: docs/design/fabric.md.
 */
#ifndef STP_REQUEST_AND_ENDPOINT_H
#define STP_REQUEST_AND_ENDPOINT_H

#include "base/base.h"
#include "transport/transport.h"

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#define STP_OFI_INLINE 64               /* data bytes of a request: operands, or a small put */
#define STP_OFI_PLAIN_REQS 4096u        /* most outstanding operations without a bounce buffer */
#define STP_OFI_BOUNCE_REQS 1024u       /* most outstanding operations with a bounce buffer */
#define STP_OFI_BOUNCE_BYTES (8u << 20) /* most bytes of all bounce buffers together */
#define STP_OFI_MESSAGES 1024u          /* most messages that wait for a reply */
#define STP_OFI_PACKED_REQS 256u        /* most packed messages that wait for an acknowledgement */
#define STP_OFI_JOINED_REQS 256u        /* most outstanding writes of several puts */
#define STP_OFI_PIECES 4u               /* most puts that one write combines */

/* ---- requests ----------------------------------------------------------- */

enum stp_ofi_kind {
    STP_OFI_WRITE,
    STP_OFI_READ,
    STP_OFI_UPDATE, /* atomic of the provider that returns no result */
    STP_OFI_FETCH,
    STP_OFI_COMPARE,
    STP_OFI_MESSAGE, /* atomic that the target's library executes */
    STP_OFI_PACKED,  /* packed message, which has several operations */
    STP_OFI_ANSWER,
    STP_OFI_INBOX, /* receive buffer, which is not a request */
};

/* The context of a libfabric operation. The completion returns a pointer to this context. */
struct stp_ofi_work {
    struct fi_context2 fi; /* first member, because libfabric gets its address */
    enum stp_ofi_kind kind;
};

struct stp_ofi_endpoint;
struct stp_ofi_local_mr_ref;
struct stp_ofi_batch;

/*
 * The target of an operation that may be queued. The post looks up the region again. The field
 * generation has the region's generation at the time when the operation was issued. In the place of
 * a packed message, fn is the routine of the last item, and generation is the module's generation
 * at the time when the message was begun. The regions and offsets of a packed message are in its
 * items. In a write of several pieces, each piece has a place of its own.
 */
struct stp_ofi_place {
    const char *fn; /* name of the routine that the program called */
    unsigned number;
    unsigned generation;
    size_t offset;
};

/*
 * One libfabric operation, with all data that is needed to post it again or to report an error. The
 * completion subtracts one from *pending. If *pending is then 0, the completion also posts the
 * request `then`. The request goes back to its pool afterwards.
 */
struct stp_ofi_req {
    struct stp_ofi_work work; /* first member */
    int pe;                   /* target PE, or -1 while the request is free */
    unsigned uses;            /* number of times that this request was returned to its pool */
    unsigned *pending;
    struct stp_ofi_req *then; /* signal to post after all fragments of this put, or NULL */
    /*
     * For a signal, number of outstanding fragments of its put. For a message, number of
     * outstanding events, which are the completion of the send and the reply (am.c).
     */
    unsigned parts;
    uint64_t turn;     /* sequence number (see lost_op_by_order.h), or 0 if none */
    unsigned missed;   /* number of later probes that were answered before this request */
    unsigned n_pieces; /* number of pieces in data, or 0 if the request has one piece */
    bool has_word;     /* whether a write carries remote CQ data */
    uint64_t word;     /* remote CQ data, if has_word is true (see write_cqdata.c) */
    /* Only atomics use the next four fields: op, type, compare and result. */
    enum fi_op op;
    enum fi_datatype type;
    const void *compare;
    void *result;
    struct stp_ofi_req *next; /* next request in the free list or in the retry list */
    struct stp_ofi_pool *pool;
    struct stp_ofi_place place; /* target of the operation; not set in replies */
    const void *local;          /* local source, destination or operand */
    size_t nbytes;              /* number of bytes at local */
    void *desc;                 /* descriptor of the memory at local, or NULL if not needed */
    void *own_desc;             /* descriptor of the request's data; constant */
    unsigned id;                /* number of this request in its pool; constant */
    void *copy_to;              /* user memory that gets a copy of the received data, or NULL */
    struct stp_ofi_local_mr_ref *lease; /* registration of the memory at local, or NULL */
    struct stp_ofi_batch *batch;        /* batch that the completion notifies, or NULL */
    unsigned char data[] __attribute__((aligned(16))); /* own data, pool->data_size bytes */
};

/* One of the puts that a write combines. */
struct stp_ofi_piece {
    const void *local;
    size_t nbytes;
    struct stp_ofi_place place;
};

/*
 * A pool of requests of one size. The pool grows up to its limit. A thread that needs a request
 * when all are in use waits for completions.
 */
struct stp_ofi_pool {
    pthread_mutex_t lock; /* guards all members below */
    struct stp_ofi_req *free;
    struct stp_ofi_slab *slabs;
    struct stp_ofi_endpoint *endpoint; /* endpoint of the pool, constant */
    unsigned index;                    /* index in endpoint->pools, constant */
    size_t data_size;                  /* bytes of data in each request, constant */
    unsigned limit;                    /* most requests of this pool, constant */
    unsigned n_made;
    unsigned n_taken; /* number of requests in use, also read without the lock */
};

/* Pools of an endpoint. The last three are for messages, which only the main endpoint has. */
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
/* Closes the registrations of the requests in all pools. No request may be outstanding. */
void stp_ofi_pools_unregister(struct stp_ofi_endpoint *endpoint);
void stp_ofi_pools_fini(struct stp_ofi_endpoint *endpoint);

/*
 * Returns a free request, prepared for an operation of this kind on PE pe. While all requests of
 * the pool are in use, makes progress until one becomes free.
 */
struct stp_ofi_req *stp_ofi_req_take_waiting(struct stp_ofi_pool *pool, enum stp_ofi_kind kind,
                                             int pe);

/* As stp_ofi_req_take_waiting(), but returns NULL if no request is free. */
struct stp_ofi_req *stp_ofi_req_try(struct stp_ofi_pool *pool, enum stp_ofi_kind kind, int pe);

/* Calls look() for each request in use whose target is PE pe. Holds pool->lock during the calls. */
void stp_ofi_req_each(struct stp_ofi_pool *pool, int pe,
                      void (*look)(struct stp_ofi_req *req, void *arg), void *arg);

/* A position among the requests of a pool. The first position is {.slab = NULL}. */
struct stp_ofi_cursor {
    struct stp_ofi_slab *slab;
    unsigned i;
    bool begun;
};

/*
 * A request that was found in use. When it is returned to its pool, the value of req->uses changes.
 */
struct stp_ofi_seen {
    struct stp_ofi_req *req;
    unsigned uses;
};

/*
 * Collects requests that are in use and that wanted() accepts. Begins at the cursor, moves the
 * cursor on, and stores at most max requests in seen. Returns the number of stored requests, or 0
 * at the end of the pool. May miss requests that other threads take meanwhile. Calls wanted() with
 * pool->lock held.
 */
unsigned stp_ofi_req_collect(struct stp_ofi_pool *pool, struct stp_ofi_cursor *cursor,
                             bool (*wanted)(const struct stp_ofi_req *req, const void *arg),
                             const void *arg, struct stp_ofi_seen *seen, unsigned max);

/* Returns the request with this id, or NULL if it is not in use for an operation on PE pe. */
struct stp_ofi_req *stp_ofi_req_find(struct stp_ofi_pool *pool, unsigned id, int pe);

/*
 * Adds the target PEs of the requests in use to the array pes, which has n PEs and room for max.
 * Adds no PE twice. Returns the new number of PEs in pes.
 */
int stp_ofi_pool_targets(struct stp_ofi_pool *pool, int *pes, int n, int max);

/*
 * Fills pes with the target PEs of the requests in use on all endpoints. Stores at most max
 * different PEs, and returns their number.
 */
int stp_ofi_targets(int *pes, int max);

/* Gives requests back to their pool. The field next links them in a list from first to last. */
void stp_ofi_req_give(struct stp_ofi_pool *pool, struct stp_ofi_req *first,
                      struct stp_ofi_req *last);

/*
 * Sets the counter from which the completion of req subtracts one. The caller has added one to the
 * counter. From now on, other threads may read req. If the PE of req has left the job, they may
 * also abandon req, which changes its counter and its batch. The release store makes earlier writes
 * to req visible to these threads.
 */
static inline void stp_ofi_count_on(struct stp_ofi_req *req, unsigned *pending)
{
    /* Pairs with the acquire load in stp_ofi_counts_on(). */
    __atomic_store_n(&req->pending, pending, __ATOMIC_RELEASE);
}

/* Returns the counter of req. The load pairs with the release store in stp_ofi_count_on(). */
static inline unsigned *stp_ofi_counts_on(const struct stp_ofi_req *req)
{
    return __atomic_load_n(&req->pending, __ATOMIC_ACQUIRE);
}

/* ---- endpoints --------------------------------------------------------------- */

/*
 * An endpoint with its own completion queue, requests and lock, so that threads on different
 * endpoints do not share them. Peers only know the address of the main endpoint. If the provider
 * makes endpoints cheap, the other endpoints serve contexts that one thread at a time uses.
 */
struct stp_ofi_endpoint {
    /* Every operation reads these members. Only open and connect change ep, cq and addrs. */
    struct fid_ep *ep;
    struct fid_cq *cq;
    /* Addresses by PE, stored inverted. A page of zeros thus means that no address is known yet. */
    fi_addr_t *addrs;
    struct stp_ofi_pool pools[STP_OFI_N_POOLS];

    pthread_mutex_t drain STP_ALIGNED_LINE; /* lock for reads of cq, also guards retry */
    struct stp_ofi_req *retry;              /* requests for which the provider had no room */
    unsigned activity;                      /* counter of posts and polls by the program */
    unsigned drains;                        /* counter of reads of cq, which are called drains */
    bool draining; /* whether a thread reads the queue now, perhaps for ms */

    struct fid_fabric *fabric STP_ALIGNED_LINE; /* own fabric, or NULL to use stp_ofi.fabric */
    struct fid_domain *domain;
    struct fid_av *av;
    unsigned n_ctxs; /* number of contexts, guarded by stp_ofi.endpoints_lock */
};

/*
 * Returns the number of endpoints. Endpoint 0 is the main endpoint. Endpoints stay open until the
 * module is closed.
 */
unsigned stp_ofi_n_endpoints(void);
struct stp_ofi_endpoint *stp_ofi_endpoint_at(unsigned i);

fi_addr_t stp_ofi_addr_slow(struct stp_ofi_endpoint *endpoint, int pe);

/* Returns the entry of PE pe in the endpoint's address table, after making it at first use. */
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

/*
 * Returns an endpoint for a new context, never NULL. If one_thread is true, only one thread at a
 * time will use the context, so it may get an endpoint that it does not share.
 */
struct stp_ofi_endpoint *stp_ofi_endpoint_own_or_shared(bool one_thread);
void stp_ofi_endpoint_give(struct stp_ofi_endpoint *endpoint);

void stp_ofi_extra_endpoints_close(void); /* Closes all endpoints except the main endpoint. */

#endif /* STP_REQUEST_AND_ENDPOINT_H */
