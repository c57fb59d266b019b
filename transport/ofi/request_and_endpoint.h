/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares requests and endpoints. A request represents an operation from its post to its
 * completion. Each request is posted on an endpoint. Design: docs/design/fabric.md.
 */
#ifndef STP_REQUEST_AND_ENDPOINT_H
#define STP_REQUEST_AND_ENDPOINT_H

#include "base/base.h"
#include "transport/transport.h"

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

/*
 * Size of the field data in a request without a bounce buffer, in bytes. The field holds operands
 * or a small put.
 */
#define STP_OFI_INLINE 64
#define STP_OFI_PLAIN_REQS 4096u        /* maximum number of requests without a bounce buffer */
#define STP_OFI_BOUNCE_REQS 1024u       /* maximum number of requests with a bounce buffer */
#define STP_OFI_BOUNCE_BYTES (8u << 20) /* maximum size of all bounce buffers together, in bytes */
#define STP_OFI_MESSAGES 1024u          /* maximum number of messages that wait for a reply */
#define STP_OFI_PACKED_REQS 256u        /* maximum number of unacknowledged packed messages */
#define STP_OFI_JOINED_REQS 256u        /* maximum number of outstanding writes of several puts */
#define STP_OFI_PIECES 4u               /* maximum number of puts that one write combines */

/* ---- requests ----------------------------------------------------------- */

enum stp_ofi_kind {
    STP_OFI_WRITE,
    STP_OFI_READ,
    STP_OFI_UPDATE, /* atomic that the provider executes and that returns no result */
    STP_OFI_FETCH,
    STP_OFI_COMPARE,
    STP_OFI_MESSAGE, /* atomic that a message requests */
    STP_OFI_PACKED,  /* packed message, which contains several operations */
    STP_OFI_ANSWER,  /* reply, acknowledgement or control message */
    STP_OFI_INBOX,   /* receive buffer, which is not a request */
};

/* The context that is passed with a libfabric operation. The completion reports its address. */
struct stp_ofi_work {
    /* First member, because libfabric gets its address and uses it as a struct fi_context2. */
    struct fi_context2 fi;
    enum stp_ofi_kind kind;
};

struct stp_ofi_endpoint;
struct stp_ofi_local_mr_ref;
struct stp_ofi_batch;

/*
 * The target of an operation that may be queued. The post looks up the region again by its number.
 * The field generation is the generation of the region when the operation was issued.
 *
 * A packed message has several items, and each item contains its own region and offset. In this
 * case, fn is the routine that issued the last item. The field generation is the value of
 * stp_ofi.generation when the message was begun. If a write combines several puts, each piece has a
 * place of its own.
 */
struct stp_ofi_place {
    const char *fn; /* name of the routine that the program called */
    unsigned number;
    unsigned generation;
    size_t offset;
};

/*
 * A libfabric operation, with all data that is needed to post it again or to report an error. The
 * completion subtracts one from the counter *pending and returns the request to its pool. If the
 * counter becomes 0, the request in the field signal_req is posted.
 */
struct stp_ofi_req {
    struct stp_ofi_work work; /* first member */
    int pe;                   /* target PE, or -1 while the request is free */
    unsigned use_count;       /* number of times that this request was returned to its pool */
    unsigned *pending;
    /* Signal that is posted when all fragments of this put are complete, or NULL. */
    struct stp_ofi_req *signal_req;
    /*
     * For a signal, this is the number of outstanding fragments of its put. For a message, this is
     * the number of outstanding events. The events are the completion of the send and the arrival
     * of the reply (am.c).
     */
    unsigned parts;
    uint64_t seq;    /* sequence number (see lost_op_by_order.h), or 0 if none */
    unsigned missed; /* number of later probes that were answered before this request */
    /* Number of pieces in data if this write combines several puts, otherwise 0. */
    unsigned n_pieces;
    bool has_word; /* whether this write carries remote CQ data */
    uint64_t word; /* remote CQ data, if has_word is true (see write_cqdata.c) */
    /* Only atomics use the next four fields: op, type, compare and result. */
    enum fi_op op;
    enum fi_datatype type;
    const void *compare;
    void *result;
    struct stp_ofi_req *next; /* next request in the list to which this request belongs */
    struct stp_ofi_pool *pool;
    struct stp_ofi_place place; /* target of the operation, not set in replies */
    const void *local;          /* local buffer: source, destination or operand */
    size_t nbytes;              /* number of bytes at local */
    void *desc;                 /* descriptor of the memory at local, or NULL if not needed */
    void *data_desc;            /* descriptor of the field data, constant */
    unsigned id;                /* number of this request in its pool, constant */
    void *copy_to;              /* user memory that gets a copy of the received data, or NULL */
    struct stp_ofi_local_mr_ref *mr_ref; /* registration of the memory at local, or NULL */
    struct stp_ofi_batch *batch;         /* batch that is notified by the completion, or NULL */
    unsigned char data[] __attribute__((aligned(16))); /* buffer of pool->data_size bytes */
};

/* One of the puts that a write combines. */
struct stp_ofi_piece {
    const void *local;
    size_t nbytes;
    struct stp_ofi_place place;
};

/*
 * A pool of requests that all have the same size. The pool grows up to its limit. If all requests
 * are in use, a thread that needs a request waits for completions.
 */
struct stp_ofi_pool {
    pthread_mutex_t lock; /* guards the members that are not constant */
    struct stp_ofi_req *free;
    struct stp_ofi_slab *slabs;
    struct stp_ofi_endpoint *endpoint; /* endpoint to which the pool belongs, constant */
    unsigned index;                    /* index of the pool in endpoint->pools, constant */
    size_t data_size;                  /* size of data in each request in bytes, constant */
    unsigned limit;                    /* maximum number of requests in the pool, constant */
    unsigned n_made;
    unsigned n_taken; /* number of requests in use, also read without the lock */
};

/*
 * Indices of an endpoint's pools. The last three pools are for messages. Only the main endpoint
 * uses them.
 */
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
 * Takes a free request and prepares it for an operation of this kind on PE pe. If all requests of
 * the pool are in use, waits with progress until one becomes free.
 */
struct stp_ofi_req *stp_ofi_req_take_waiting(struct stp_ofi_pool *pool, enum stp_ofi_kind kind,
                                             int pe);

/* Does the same as stp_ofi_req_take_waiting(), but returns NULL if no request is free. */
struct stp_ofi_req *stp_ofi_req_try(struct stp_ofi_pool *pool, enum stp_ofi_kind kind, int pe);

/*
 * Calls visit() for each request that is in use and has the target PE pe. Holds pool->lock during
 * the calls.
 */
void stp_ofi_req_each(struct stp_ofi_pool *pool, int pe,
                      void (*visit)(struct stp_ofi_req *req, void *arg), void *arg);

/* A position in a search through the requests of a pool. A search begins with {.slab = NULL}. */
struct stp_ofi_cursor {
    struct stp_ofi_slab *slab;
    unsigned i;
    bool begun;
};

/*
 * A request that was in use when a search found it. When the request returns to its pool,
 * req->use_count changes and then differs from the field use_count.
 */
struct stp_ofi_found {
    struct stp_ofi_req *req;
    unsigned use_count;
};

/*
 * Searches for requests that are in use and for which matches() returns true. The search begins at
 * the cursor. It ends when max requests are found, or at the end of the pool. Moves the cursor to
 * the next position, and stores the requests in the array found. Returns the number of found
 * requests. May miss requests that other threads take from the pool meanwhile. Calls matches() with
 * pool->lock held.
 */
unsigned stp_ofi_req_collect(struct stp_ofi_pool *pool, struct stp_ofi_cursor *cursor,
                             bool (*matches)(const struct stp_ofi_req *req, const void *arg),
                             const void *arg, struct stp_ofi_found *found, unsigned max);

/*
 * Returns the request with this id. Returns NULL if the request is not in use for an operation on
 * PE pe.
 */
struct stp_ofi_req *stp_ofi_req_find(struct stp_ofi_pool *pool, unsigned id, int pe);

/*
 * Adds the target PEs of the pool's requests in use to the array pes. The array has n entries and
 * room for max entries. A PE that is already in the array is not added again. Returns the new
 * number of entries.
 */
int stp_ofi_pool_targets(struct stp_ofi_pool *pool, int *pes, int n, int max);

/*
 * Writes the target PEs of the requests in use on all endpoints to the array pes. The array has
 * room for max entries, and each PE is written only once. Returns the number of written PEs.
 */
int stp_ofi_targets(int *pes, int max);

/*
 * Returns a list of requests to their pool. The list begins with first and ends with last. The
 * field next links the requests.
 */
void stp_ofi_req_give(struct stp_ofi_pool *pool, struct stp_ofi_req *first,
                      struct stp_ofi_req *last);

/*
 * Sets the counter from which the completion of req will subtract one. The caller adds one to the
 * counter. After this call, other threads may read req. If the target PE has left the job, another
 * thread may also abandon req, which changes the counter and the batch of req. The release store
 * makes earlier writes to req visible to these threads.
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
 * An endpoint. Each endpoint has its own completion queue, requests and lock, so that threads on
 * different endpoints do not wait for each other. Peers know only the address of the main endpoint.
 * If the provider's endpoints are cheap, the module opens further endpoints. A further endpoint
 * serves a context that only one thread at a time uses.
 */
struct stp_ofi_endpoint {
    /*
     * Every operation reads the first four members. The members ep, cq and addrs change only when
     * the endpoint is opened, connected or closed.
     */
    struct fid_ep *ep;
    struct fid_cq *cq;
    /*
     * Addresses of all PEs. The bits of each entry are inverted, so that an entry of 0 means that
     * the address is not inserted yet.
     */
    fi_addr_t *addrs;
    struct stp_ofi_pool pools[STP_OFI_N_POOLS];

    /*
     * Drain lock. A thread holds this lock while it reads cq. The lock also guards the field retry.
     */
    pthread_mutex_t drain STP_ALIGNED_LINE;
    struct stp_ofi_req *retry; /* requests that the provider has not accepted yet */
    unsigned activity;         /* number of posts and polls by the program */
    unsigned drains;           /* drain count, the number of reads of cq */
    /* Whether a thread is reading cq now. This can take some milliseconds. */
    bool draining;

    /*
     * An endpoint without a domain of its own uses the domain, the address vector and the addresses
     * of the main endpoint.
     */
    struct fid_fabric *fabric STP_ALIGNED_LINE;
    struct fid_domain *domain;
    struct fid_av *av;
    /* Number of contexts that use this endpoint, guarded by stp_ofi.endpoints_lock. */
    unsigned n_ctxs;
};

/*
 * Returns the number of endpoints. Endpoint 0 is the main endpoint. Endpoints stay open until the
 * module is closed.
 */
unsigned stp_ofi_n_endpoints(void);
struct stp_ofi_endpoint *stp_ofi_endpoint_at(unsigned i);

fi_addr_t stp_ofi_addr_slow(struct stp_ofi_endpoint *endpoint, int pe);

/*
 * Returns the address of PE pe for operations on this endpoint. The first call for a PE inserts the
 * address.
 */
static inline fi_addr_t stp_ofi_addr(struct stp_ofi_endpoint *endpoint, int pe)
{
    /* Pairs with the release store in addr_find(). */
    fi_addr_t fi_addr = ~__atomic_load_n(&endpoint->addrs[pe], __ATOMIC_ACQUIRE);

    return STP_LIKELY(fi_addr != FI_ADDR_NOTAVAIL) ? fi_addr : stp_ofi_addr_slow(endpoint, pe);
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
 * Returns an endpoint for a new context, never NULL. The argument one_thread is true if only one
 * thread at a time will use the context. The context then gets an endpoint of its own if possible.
 */
struct stp_ofi_endpoint *stp_ofi_endpoint_own_or_shared(bool one_thread);
void stp_ofi_endpoint_give(struct stp_ofi_endpoint *endpoint);

void stp_ofi_extra_endpoints_close(void); /* Closes all endpoints except the main endpoint. */

#endif /* STP_REQUEST_AND_ENDPOINT_H */
