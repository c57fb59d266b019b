/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of the fabric module: one libfabric endpoint shared by all contexts, requests that
 * carry an operation from its post to its completion, and the thread that serves peers while
 * the application computes. Nothing outside this directory includes it, or libfabric.
 * Design: docs/design/fabric.md.
 */
#ifndef STP_OFI_H
#define STP_OFI_H

#include "base/base.h"
#include "transport/transport.h"

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#define STP_OFI_VERSION FI_VERSION(1, 17) /* of libfabric's interface, not of the library */
#define STP_OFI_ORDER (FI_ORDER_RAW | FI_ORDER_WAR | FI_ORDER_WAW)
#define STP_OFI_INLINE 64         /* bytes a request holds itself: operands, puts of a cache line */
#define STP_OFI_PLAIN_REQS 4096u  /* operations under way at most, */
#define STP_OFI_BOUNCE_REQS 1024u /* and of those with a copy of their data */
#define STP_OFI_BOUNCE_BYTES (8u << 20) /* and all such copies together */

/* ---- requests ----------------------------------------------------------- */

enum stp_ofi_kind { STP_OFI_WRITE, STP_OFI_READ, STP_OFI_UPDATE, STP_OFI_FETCH, STP_OFI_COMPARE };

struct stp_ofi_pool;

/*
 * One libfabric operation, complete enough to be posted again or reported. Posted once; its
 * completion subtracts one from *pending, posts `then` when that made zero, and gives it back.
 */
struct stp_ofi_req {
    struct fi_context2 fi; /* first: the completion's context is the request */
    atomic_uint *pending;
    struct stp_ofi_req *then; /* the signal behind the segments of a put, or NULL */
    atomic_uint segments;     /* in a signal: segments of its put still under way */
    struct stp_ofi_req *next; /* free list, or the list of signals to post again */
    struct stp_ofi_pool *pool;
    enum stp_ofi_kind kind;
    int pe;        /* -1 while the request is free */
    enum fi_op op; /* atomics only, as the next three */
    enum fi_datatype type;
    const void *compare;
    void *result;
    uint64_t addr; /* at the target, as the provider wants it */
    uint64_t key;
    const void *local;                                 /* source, destination or operand */
    size_t nbytes;                                     /* WRITE and READ only, as the next */
    void *desc;                                        /* of local in device memory, else NULL */
    unsigned char data[] __attribute__((aligned(16))); /* data_size bytes of the pool */
};

/* Requests of one size. They grow up to a limit, then takers wait for completions. */
struct stp_ofi_pool {
    pthread_mutex_t lock; /* guards all below */
    struct stp_ofi_req *free;
    struct stp_ofi_slab *slabs;
    size_t data_size;
    unsigned n_made;
    unsigned limit;
};

void stp_ofi_pool_init(struct stp_ofi_pool *pool, size_t data_size, unsigned limit);
void stp_ofi_pool_fini(struct stp_ofi_pool *pool);

/* A request to PE pe for kind, the rest unset. Waits with progress when all are in use. */
struct stp_ofi_req *stp_ofi_req_take(struct stp_ofi_pool *pool, enum stp_ofi_kind kind, int pe);

/* Up to max different PEs that requests of the pool are under way to. Returns how many. */
int stp_ofi_pool_targets(struct stp_ofi_pool *pool, int *pes, int max);

/* Let requests to PE pe count on stp_ofi.abandoned from now on. Caller holds stp_ofi.drain. */
void stp_ofi_pool_abandon(struct stp_ofi_pool *pool, int pe);

/* Give back a list of requests linked by next, all of one pool. */
void stp_ofi_req_give(struct stp_ofi_pool *pool, struct stp_ofi_req *first,
                      struct stp_ofi_req *last);

/* ---- contexts ----------------------------------------------------------- */

/*
 * Operations that quiet must wait for are counted in the phase they were issued in. quiet turns
 * the phase and waits for the old one, which nobody enters any more: it ends though other
 * threads keep issuing.
 */
struct stp_fabric_ctx {
    atomic_uint phase;
    atomic_uint pending[2];
    pthread_mutex_t quiet; /* one quiet at a time turns the phase */
} STP_ALIGNED_LINE;

/* The counter that operations issued now belong to. */
static inline atomic_uint *stp_ofi_ctx_pending(struct stp_fabric_ctx *ctx)
{
    return &ctx->pending[atomic_load_explicit(&ctx->phase, memory_order_relaxed) & 1];
}

int stp_ofi_ctx_create(struct stp_fabric_ctx **ctx);
void stp_ofi_ctx_destroy(struct stp_fabric_ctx *ctx);

/* ---- the module --------------------------------------------------------- */

struct stp_ofi_region {
    struct fid_mr *mr;               /* NULL: this PE has no part */
    char *base;                      /* of this PE's part */
    size_t nbytes;                   /* of this PE's part */
    bool device;                     /* this PE's part is memory that the CPU may not touch */
    struct stp_fabric_region *peers; /* by PE, when descriptors differ; else NULL */
};

struct stp_ofi {
    struct fid_ep *ep; /* what every operation reads comes first; written by open and connect */
    struct fid_cq *cq;
    fi_addr_t *addrs;      /* by PE; NULL when the PE is the address */
    uint64_t key_base;     /* key of region 0 where this side chooses keys */
    atomic_uint n_devices; /* regions of device memory here: buffers must be looked up */
    size_t max_msg;        /* bytes of one operation */
    size_t bounce_size;
    int self; /* this PE when its own memory is reached by the CPU, else -1 */
    bool cpu_atomics;
    bool update_by_fetch; /* updates must be posted as fetches whose result nobody wants */
    bool peer_table;
    bool ordered;          /* the provider keeps writes and atomics to one peer in order */
    bool hmem;             /* it was opened for device memory */
    int spin;              /* polls before a wait yields */
    atomic_bool finishing; /* failures are peers that have gone */

    struct stp_ofi_pool plain;  /* requests with STP_OFI_INLINE bytes */
    struct stp_ofi_pool bounce; /* requests with bounce_size bytes */

    pthread_mutex_t drain STP_ALIGNED_LINE; /* who reads the completion queue; guards retry */
    struct stp_ofi_req *retry;              /* signals that the provider could not take yet */
    atomic_uint activity;                   /* moves while application threads post and poll */
    atomic_uint abandoned;                  /* what requests to gone PEs count on while finishing */
    atomic_uint completed;                  /* operations, ever: to see a wait stand still */

    const struct stp_core *core STP_ALIGNED_LINE;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    int wait_fd; /* of the completion queue, -1 when it has none */
    struct stp_ofi_region regions[STP_FABRIC_REGIONS];
};

extern struct stp_ofi stp_ofi;

/* Provider choice (choose.c). */

struct stp_ofi_choice {
    struct fi_info *info;
    const char *refused; /* why not, or NULL */
    bool unnamed;        /* refused for not being what SHMEM_OFI_... name */
    int cost;            /* lower is tried first */
    char text[96];       /* room for refused */
};

/*
 * Everything libfabric offers to a job like this, best first, refused ones last. The infos live
 * as long as *all, which the caller frees with fi_freeinfo(), the array with free().
 * Returns how many, or -errno after logging.
 */
int stp_ofi_choose(const struct stp_core *core, struct fi_info **all,
                   struct stp_ofi_choice **choices);

/*
 * The same provider and interface with a promise to keep reads, writes and atomics to one peer
 * in order, or NULL when it does not give one. The caller frees it.
 */
struct fi_info *stp_ofi_ordered(const struct fi_info *info);

/*
 * The same with access to device memory, and to peers no different: not every PE of a job may
 * have devices. NULL when it is not granted so. The caller frees it.
 */
struct fi_info *stp_ofi_with_devices(const struct fi_info *info);

/* Endpoint (endpoint.c). */

/*
 * Open domain, queue and endpoint for info. Returns 0, or -errno with *why set to what failed;
 * nothing stays open then.
 */
int stp_ofi_endpoint_open(const struct stp_core *core, const struct fi_info *info,
                          const char **why);
void stp_ofi_endpoint_close(void);
int stp_ofi_endpoint_name(unsigned char *addr, size_t *addr_len);
int stp_ofi_connect(const void *addrs);

static inline fi_addr_t stp_ofi_addr(int pe)
{
    return STP_LIKELY(stp_ofi.addrs == NULL) ? (fi_addr_t)pe : stp_ofi.addrs[pe];
}

/* Regions (region.c). */

int stp_ofi_region_add(unsigned number, void *base, size_t nbytes, enum stp_fabric_memory memory,
                       int device, struct stp_fabric_region *mine);
int stp_ofi_region_peers(unsigned number, const struct stp_fabric_region *peers);
void stp_ofi_region_remove(unsigned number);
void stp_ofi_region_remove_all(void);

/* Where offset of this PE's own part is. */
static inline void *stp_ofi_own(unsigned number, size_t offset)
{
    return stp_ofi.regions[number].base + offset;
}

/* Aim the request at offset in PE req->pe's part of a region. */
static inline void stp_ofi_aim(struct stp_ofi_req *req, unsigned number, size_t offset)
{
    const struct stp_fabric_region *peers = stp_ofi.regions[number].peers;

    req->addr = offset + (peers != NULL ? peers[req->pe].addr : 0);
    req->key = peers != NULL ? peers[req->pe].key : stp_ofi.key_base + number;
}

/* Device memory of this PE (device.c). */

void stp_ofi_device_add(unsigned number);
void stp_ofi_device_remove(unsigned number);
const struct stp_ofi_region *stp_ofi_device_find(const void *local);

/* The region of device memory that a buffer of this PE lies in; NULL: host memory. */
static inline const struct stp_ofi_region *stp_ofi_device_of(const void *local)
{
    if (STP_LIKELY(atomic_load_explicit(&stp_ofi.n_devices, memory_order_relaxed) == 0))
        return NULL;
    return stp_ofi_device_find(local);
}

/* Does the CPU copy between region number of this PE and the buffer? */
static inline bool stp_ofi_by_cpu(int pe, unsigned number, const void *local)
{
    return pe == stp_ofi.self && !stp_ofi.regions[number].device &&
           stp_ofi_device_of(local) == NULL;
}

/* Posting and completing (complete.c). */

/* Hand the request to the provider, waiting with progress while it is busy. */
void stp_ofi_post(struct stp_ofi_req *req);

/* Read completions, serve peers; returns how many, 0 also when another thread is at it. */
int stp_ofi_drain(void);

/* Wait, with progress, until *pending is 0; what completed is visible then. */
void stp_ofi_wait_zero(atomic_uint *pending);

void stp_ofi_quiet(struct stp_fabric_ctx *ctx);

/* The job is ending: operations that fail are done, and so are those to PEs that have gone. */
void stp_ofi_finish(void);

/* Are there signals that the provider had no room for? */
bool stp_ofi_has_retry(void);
void stp_ofi_abandon(int pe);
void stp_ofi_fence(struct stp_fabric_ctx *ctx);
void stp_ofi_progress(void);

/* State of one wait for the fabric. Start with {0}. */
struct stp_ofi_wait {
    int polls;
    unsigned completed; /* stp_ofi.completed when it last moved, */
    uint64_t since_ns;  /* and the time; 0: not looked yet */
};

/* One step of a wait: progress, spin or yield; when it stands still, look for dead peers. */
void stp_ofi_wait_step(struct stp_ofi_wait *wait);

/* Called now and then by waits: end the job when a target of what is under way is dead. */
void stp_ofi_wait_stalled(struct stp_ofi_wait *wait);

/* End the job: a post or a completion of req failed with error (positive), as text says. */
_Noreturn void stp_ofi_die(const struct stp_ofi_req *req, int error, const char *text) STP_COLD;

/* Operations (rma.c, atomic.c, signal.c): as in transport.h. */

void stp_ofi_put(struct stp_fabric_ctx *ctx, int pe, unsigned number, size_t offset,
                 const void *source, size_t nbytes);
void stp_ofi_put_nbi(struct stp_fabric_ctx *ctx, int pe, unsigned number, size_t offset,
                     const void *source, size_t nbytes);
void stp_ofi_get(struct stp_fabric_ctx *ctx, int pe, unsigned number, size_t offset, void *dest,
                 size_t nbytes);
void stp_ofi_get_nbi(struct stp_fabric_ctx *ctx, int pe, unsigned number, size_t offset, void *dest,
                     size_t nbytes);
void stp_ofi_store(struct stp_fabric_ctx *ctx, int pe, unsigned number, size_t offset,
                   const void *value, size_t nbytes);
void stp_ofi_amo(struct stp_fabric_ctx *ctx, int pe, unsigned number, size_t offset,
                 enum stp_fabric_amo op, enum stp_dtype dtype, const void *operand,
                 const void *compare, void *result, bool nbi);
void stp_ofi_put_signal(struct stp_fabric_ctx *ctx, int pe, unsigned number, size_t offset,
                        const void *source, size_t nbytes, unsigned sig_number, size_t sig_offset,
                        uint64_t signal, enum stp_fabric_amo op, bool nbi);

/* Put nbytes in segments counted on *pending, which the caller has raised by their number. */
void stp_ofi_put_segments(int pe, unsigned number, size_t offset, const void *source, size_t nbytes,
                          atomic_uint *pending, struct stp_ofi_req *then);

/*
 * A put of at most bounce_size bytes of host memory from a copy: source is free on return.
 * Raises nothing.
 */
void stp_ofi_put_copied(int pe, unsigned number, size_t offset, const void *source, size_t nbytes,
                        atomic_uint *pending, struct stp_ofi_req *then);

static inline unsigned stp_ofi_n_segments(size_t nbytes)
{
    return STP_LIKELY(nbytes <= stp_ofi.max_msg)
               ? 1
               : (unsigned)((nbytes + stp_ofi.max_msg - 1) / stp_ofi.max_msg);
}

/* An atomic, a request ready to post but for its pending; arguments as for amo (atomic.c). */
struct stp_ofi_req *stp_ofi_atomic(int pe, unsigned number, size_t offset, enum stp_fabric_amo op,
                                   enum stp_dtype dtype, const void *operand, const void *compare,
                                   void *result);

/* Why a domain's atomics do not suffice, or NULL (atomic.c). */
const char *stp_ofi_atomics_missing(struct fid_domain *domain);

/* This PE's own memory (self.c): by CPU, at addresses of this process; arguments as above. */

void stp_ofi_self_amo(void *at, size_t size, enum stp_fabric_amo op, const void *operand,
                      const void *compare, void *result);

/* The progress thread (progress.c). */

int stp_ofi_agent_start(void);
void stp_ofi_agent_stop(void);

#endif /* STP_OFI_H */
