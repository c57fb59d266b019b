/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is under way: requests, which carry an operation from its post to its completion, and the
 * endpoints they travel on. Design: docs/design/fabric.md.
 */
#ifndef STP_REQUEST_AND_ENDPOINT_H
#define STP_REQUEST_AND_ENDPOINT_H

#include "base/base.h"
#include "transport/transport.h"

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#define STP_OFI_INLINE 64         /* bytes a request holds itself: operands, puts of a cache line */
#define STP_OFI_PLAIN_REQS 4096u  /* operations under way on an endpoint at most, */
#define STP_OFI_BOUNCE_REQS 1024u /* and of those with a copy of their data */
#define STP_OFI_BOUNCE_BYTES (8u << 20) /* and all such copies together */
#define STP_OFI_MESSAGES 1024u          /* messages not yet answered at most, */
#define STP_OFI_PACKED_REQS 256u        /* and packed messages, */
#define STP_OFI_JOINED_REQS 256u        /* and writes of several pieces */
#define STP_OFI_PIECES 4u               /* of a write at most */

/* ---- requests ----------------------------------------------------------- */

enum stp_ofi_kind {
    STP_OFI_WRITE,
    STP_OFI_READ,
    STP_OFI_UPDATE, /* atomics by the provider, */
    STP_OFI_FETCH,
    STP_OFI_COMPARE,
    STP_OFI_MESSAGE, /* or asked of the target's library, */
    STP_OFI_PACKED,  /* with others */
    STP_OFI_ANSWER,
    STP_OFI_INBOX, /* no request: a buffer for messages that arrive */
};

/* What a completion's context is. */
struct stp_ofi_work {
    struct fi_context2 fi; /* first: its address is libfabric's context */
    enum stp_ofi_kind kind;
};

struct stp_ofi_endpoint;
struct stp_ofi_local_mr_ref;
struct stp_ofi_batch;

/*
 * Where an operation goes, as it is kept while it is queued: the region is looked up again when it
 * is posted. generation is that of the region when the operation was issued. A request with several
 * operations, a packed message or a write of several pieces, has that of the module when it was
 * begun, and the routine of the last operation; number and offset are in its data.
 */
struct stp_ofi_place {
    const char *fn; /* the routine of the program */
    unsigned number;
    unsigned generation;
    size_t offset;
};

/*
 * One libfabric operation, complete enough to be posted again or reported. Posted once; its
 * completion subtracts one from *pending, posts `then` when that made zero, and gives it back.
 */
struct stp_ofi_req {
    struct stp_ofi_work work; /* first */
    int pe;                   /* -1 while the request is free */
    unsigned uses;            /* times it was given back */
    unsigned *pending;
    struct stp_ofi_req *then; /* the signal behind the fragments of a put, or NULL */
    /*
     * In a signal: fragments of its put still under way. In a message: what is due of it, see am.c.
     */
    unsigned parts;
    uint64_t turn;     /* among those that may be lost, see lost_op_by_order.h; 0: not posted */
    unsigned missed;   /* questions behind it that were answered first */
    unsigned n_pieces; /* of a write: several lie in data, 0: it is one */
    bool has_word;     /* a write that takes a word along, as remote CQ data: */
    uint64_t word;     /* see write_cqdata.c */
    enum fi_op op;     /* atomics only, as the next three */
    enum fi_datatype type;
    const void *compare;
    void *result;
    struct stp_ofi_req *next; /* free list, or the list of those to post again */
    struct stp_ofi_pool *pool;
    struct stp_ofi_place place; /* at the target; answers have none */
    const void *local;          /* source, destination or operand */
    size_t nbytes;              /* of local */
    void *desc;                 /* of local, NULL: host memory that needs none */
    void *own_desc;             /* of data; set once, as the next */
    unsigned id;                /* in the pool */
    void *copy_to;              /* NULL, or where what arrived in local goes on completion */
    struct stp_ofi_local_mr_ref *lease;                /* what keeps local registered, or NULL */
    struct stp_ofi_batch *batch;                       /* that hears when it is done, or NULL */
    unsigned char data[] __attribute__((aligned(16))); /* data_size bytes of the pool */
};

/* One of several pieces of a write. */
struct stp_ofi_piece {
    const void *local;
    size_t nbytes;
    struct stp_ofi_place place;
};

/* Requests of one size. They grow up to a limit, then takers wait for completions. */
struct stp_ofi_pool {
    pthread_mutex_t lock; /* guards all below */
    struct stp_ofi_req *free;
    struct stp_ofi_slab *slabs;
    struct stp_ofi_endpoint *endpoint; /* constant, as the next three */
    unsigned index;                    /* in the endpoint */
    size_t data_size;
    unsigned limit;
    unsigned n_made;
    unsigned n_taken; /* also read without the lock, to see whether anything is under way */
};

/* Pools of an endpoint. Messages, packed messages and answers are on the main endpoint alone. */
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
void stp_ofi_pools_unregister(struct stp_ofi_endpoint *endpoint); /* once nothing is under way */
void stp_ofi_pools_fini(struct stp_ofi_endpoint *endpoint);

/* A request to PE pe for kind, the rest unset. Waits with progress when all are in use. */
struct stp_ofi_req *stp_ofi_req_take_waiting(struct stp_ofi_pool *pool, enum stp_ofi_kind kind,
                                             int pe);

/* The same, NULL instead of waiting. */
struct stp_ofi_req *stp_ofi_req_try(struct stp_ofi_pool *pool, enum stp_ofi_kind kind, int pe);

/* Call look for each request to PE pe that is under way; pool->lock is held. */
void stp_ofi_req_each(struct stp_ofi_pool *pool, int pe,
                      void (*look)(struct stp_ofi_req *req, void *arg), void *arg);

/* A place among the requests of a pool. Start with {.slab = NULL}. */
struct stp_ofi_cursor {
    struct stp_ofi_slab *slab;
    unsigned i;
    bool begun;
};

/* A request that was under way; uses tells it from later ones in the same place. */
struct stp_ofi_seen {
    struct stp_ofi_req *req;
    unsigned uses;
};

/*
 * Up to max requests under way that are wanted, from the cursor on; returns how many, 0 at the end.
 * Those that are taken meanwhile may be missed. wanted is called with pool->lock held.
 */
unsigned stp_ofi_req_collect(struct stp_ofi_pool *pool, struct stp_ofi_cursor *cursor,
                             bool (*wanted)(const struct stp_ofi_req *req, const void *arg),
                             const void *arg, struct stp_ofi_seen *seen, unsigned max);

/* The request to PE pe with such an id, or NULL: there is none under way. */
struct stp_ofi_req *stp_ofi_req_find(struct stp_ofi_pool *pool, unsigned id, int pe);

/* Up to max different PEs that requests of the pool, which may grow, are under way to. */
int stp_ofi_pool_targets(struct stp_ofi_pool *pool, int *pes, int n, int max);

/* Up to max different PEs that requests of any endpoint are under way to. Returns how many. */
int stp_ofi_targets(int *pes, int max);

/* Give back a list of requests linked by next, all of one pool. */
void stp_ofi_req_give(struct stp_ofi_pool *pool, struct stp_ofi_req *first,
                      struct stp_ofi_req *last);

/*
 * The completion of the request will subtract from *pending, which it has been added to. Other
 * threads look at it meanwhile, and take it off the count, and its batch away, when its PE has
 * gone: what was written before is theirs to see.
 */
static inline void stp_ofi_count_on(struct stp_ofi_req *req, unsigned *pending)
{
    /* Pairs with the acquire load in stp_ofi_counts_on(). */
    __atomic_store_n(&req->pending, pending, __ATOMIC_RELEASE);
}

/* Pairs with the release of stp_ofi_count_on(). */
static inline unsigned *stp_ofi_counts_on(const struct stp_ofi_req *req)
{
    return __atomic_load_n(&req->pending, __ATOMIC_ACQUIRE);
}

/* ---- endpoints --------------------------------------------------------------- */

/*
 * An endpoint with its completion queue, requests and lock: what threads on different endpoints
 * do not share. Peers know the main endpoint's address only; the others are for contexts that one
 * thread at a time uses, where the provider makes endpoints cheap.
 */
struct stp_ofi_endpoint {
    struct fid_ep *ep; /* what every operation reads comes first; written by open and connect */
    struct fid_cq *cq;
    fi_addr_t *addrs; /* by PE, inverted: 0 is nowhere yet; untouched pages cost nothing */
    struct stp_ofi_pool pools[STP_OFI_N_POOLS];

    pthread_mutex_t drain STP_ALIGNED_LINE; /* who reads the completion queue; guards retry */
    struct stp_ofi_req *retry;              /* what the provider could not take yet */
    unsigned activity;                      /* moves while application threads post and poll */
    unsigned drains;                        /* moves when somebody reads the queue, */
    bool draining;                          /* who is at it now: may take milliseconds */

    struct fid_fabric *fabric STP_ALIGNED_LINE; /* NULL: of the main endpoint, as the next two */
    struct fid_domain *domain;
    struct fid_av *av;
    unsigned n_ctxs; /* contexts on it, guarded by stp_ofi.endpoints_lock */
};

/* The endpoints that there are by now, 0 being the main one; they stay until close. */
unsigned stp_ofi_n_endpoints(void);
struct stp_ofi_endpoint *stp_ofi_endpoint_at(unsigned i);

fi_addr_t stp_ofi_addr_slow(struct stp_ofi_endpoint *endpoint, int pe);

/* Where the PE is in the endpoint's address table, which learns of it when first asked. */
static inline fi_addr_t stp_ofi_addr(struct stp_ofi_endpoint *endpoint, int pe)
{
    /* Pairs with the release stores in insert_locked() and addr_find(). */
    fi_addr_t where = ~__atomic_load_n(&endpoint->addrs[pe], __ATOMIC_ACQUIRE);

    return STP_LIKELY(where != FI_ADDR_NOTAVAIL) ? where : stp_ofi_addr_slow(endpoint, pe);
}

/* Is anything under way on the endpoint, or waiting to be posted by it? */
static inline bool stp_ofi_endpoint_busy(const struct stp_ofi_endpoint *endpoint)
{
    unsigned n = __atomic_load_n(&endpoint->retry, __ATOMIC_RELAXED) != NULL;

    for (int i = 0; i < STP_OFI_N_POOLS; i++)
        n += __atomic_load_n(&endpoint->pools[i].n_taken, __ATOMIC_RELAXED);
    return n > 0;
}

/* An endpoint for one more context, which one thread at a time uses or any. Never NULL. */
struct stp_ofi_endpoint *stp_ofi_endpoint_own_or_shared(bool one_thread);
void stp_ofi_endpoint_give(struct stp_ofi_endpoint *endpoint);

void stp_ofi_extra_endpoints_close(void); /* all but the main one */

#endif /* STP_REQUEST_AND_ENDPOINT_H */
