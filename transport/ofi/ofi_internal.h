/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of the fabric module: endpoints (an endpoint with a completion queue), requests that
 * carry an operation from its post to its completion, messages for what a provider lacks, and the
 * thread that serves peers while the application computes. Nothing outside this directory includes
 * it, or libfabric. Design: docs/design/fabric.md.
 */
#ifndef STP_OFI_INTERNAL_H
#define STP_OFI_INTERNAL_H

#include "base/base.h"
#include "request_and_endpoint.h"
#include "transport/transport.h"

#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/socket.h>
#include <time.h>

#define STP_OFI_VERSION FI_VERSION(1, 17) /* of libfabric's interface, not of the library */
#define STP_OFI_ENDPOINTS 64u

/* ---- contexts ----------------------------------------------------------- */

/*
 * Operations that quiet must wait for are counted in the phase they were issued in. quiet turns
 * the phase and waits for the old one, which nobody enters any more: it ends though other
 * threads keep issuing.
 */
struct stp_fabric_ctx {
    struct stp_ofi_endpoint *endpoint;
    unsigned phase;
    unsigned pending[2];
    bool messages; /* sent since the last quiet: what follows may pass them at the target */
    bool batching; /* a session: small operations are collected, see batch.c */
    bool allow_delayed_ack;      /* its packed messages may be answered late, see am_ack_delay.c */
    pthread_mutex_t quiet;       /* one quiet at a time turns the phase */
    struct stp_ofi_batch *batch; /* NULL before something is collected */
} STP_ALIGNED_LINE;

/* The counter that operations issued now belong to. */
static inline unsigned *stp_ofi_ctx_pending(struct stp_fabric_ctx *ctx)
{
    return &ctx->pending[__atomic_load_n(&ctx->phase, __ATOMIC_RELAXED) & 1];
}

/* quiet of the context waits for the request. */
static inline void stp_ofi_count_on_ctx(struct stp_ofi_req *req, struct stp_fabric_ctx *ctx)
{
    unsigned *pending = stp_ofi_ctx_pending(ctx);

    __atomic_fetch_add(pending, 1, __ATOMIC_RELAXED);
    stp_ofi_count_on(req, pending);
}

/* As in transport.h (ofi_quiet_and_fence.c). */
int stp_ofi_ctx_create(bool alone, struct stp_fabric_ctx **ctx);
void stp_ofi_ctx_free(struct stp_fabric_ctx *ctx);
void stp_ofi_fence(struct stp_fabric_ctx *ctx);
void stp_ofi_quiet(struct stp_fabric_ctx *ctx);
void stp_ofi_quiet_pes(struct stp_fabric_ctx *ctx, const int *pes, size_t n_pes);

/* ---- the module --------------------------------------------------------- */

/*
 * What a region of host memory has grown by (region_mr.c): extent 0 is the region as it was added,
 * i + 1 the piece i here. What is below n does not change any more.
 */
struct stp_ofi_extents {
    unsigned n;                                /* that all PEs have */
    size_t begin[STP_FABRIC_EXTENTS];          /* of piece i, in the region; its end is the next */
    struct fid_mr *mr[STP_FABRIC_EXTENTS - 1]; /* that of n: registered, nobody may use it yet */
    struct stp_fabric_region *peers[STP_FABRIC_EXTENTS - 1]; /* as those of the region */
};

struct stp_ofi_region {
    struct fid_mr *mr;                  /* NULL: this PE has no part */
    char *base;                         /* of this PE's part */
    size_t nbytes;                      /* of this PE's part; it may grow */
    unsigned generation;                /* of the module when it came, or when it went */
    bool device;                        /* this PE's part is memory that the CPU may not touch */
    bool listed;                        /* found by address: see local_mr.c */
    struct stp_fabric_region *peers;    /* by PE, when descriptors differ; else NULL */
    struct stp_ofi_extents *more;       /* NULL: it has not grown */
    struct stp_ofi_local_mr_ref *lease; /* of a private buffer: operations share it; else NULL */
};

struct stp_ofi {
    struct stp_ofi_endpoint main; /* contexts share it; peers are served on it */

    uint64_t key_base; /* key of region 0 where this side chooses keys */
    unsigned n_listed; /* regions that local buffers must be looked up in */
    size_t max_msg;    /* bytes of one operation */
    size_t bounce_size;
    size_t inject_size; /* bytes of a message that need no completion */
    size_t packed_size; /* bytes of a message with a batch in it, 0: there are none */
    int self;           /* this PE when its own memory is reached by the CPU, else -1 */
    bool cpu_atomics;
    bool by_message;      /* atomics, for lack of the provider's */
    bool coalesces_small; /* small operations while others to the same PE are unanswered */
    bool needs_syscalls;  /* TCP: each operation, and each look for one, is system calls */
    bool has_cqdata;      /* a write may take a word along, see write_cqdata.c */
    unsigned max_pieces;  /* puts that one write may take along */
    bool may_lose_amo;    /* atomics that a broken connection took along */
    bool update_by_fetch; /* updates must be posted as fetches whose result nobody wants */
    bool peer_table;
    bool ordered;               /* the provider keeps writes and atomics to one peer in order */
    bool hmem;                  /* it was opened for device memory */
    const char *why_no_devices; /* or not, where this PE has some; else NULL */
    bool mr_local;              /* local buffers must be registered too */
    int spin;                   /* polls before a wait yields */
    bool finishing;             /* failures are peers that have gone */

    unsigned abandoned STP_ALIGNED_LINE; /* requests to gone PEs count on it while finishing */
    unsigned unwaited;                   /* what answers count on: nobody waits */
    int failure;                         /* of the last operation that failed while finishing */

    const struct stp_core *core STP_ALIGNED_LINE;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    const unsigned char *world; /* addresses by PE, addr_len bytes each; the library's */
    size_t addr_len;
    pthread_mutex_t av_lock; /* inserting in any address table */
    int wait_fd;             /* of the main endpoint's queue, -1 when it has none */
    bool by_sockets;         /* the progress thread sleeps on the provider's sockets instead */

    pthread_mutex_t endpoints_lock; /* guards making, taking and giving endpoints */
    unsigned n_endpoints;           /* besides the main one; they stay until close */
    struct stp_ofi_endpoint *endpoints[STP_OFI_ENDPOINTS];

    unsigned generation; /* moves when a region comes or goes */
    struct stp_ofi_region regions[STP_FABRIC_REGIONS];
};

extern struct stp_ofi stp_ofi;

/* Are there messages from peers to receive: atomics, packed messages? */
static inline bool stp_ofi_has_inbox(void)
{
    return stp_ofi.by_message || stp_ofi.packed_size > 0;
}

/*
 * Do writes, atomics and messages of the context stay in order without waiting? Where atomics are
 * no messages nothing orders batches behind them.
 */
static inline bool stp_ofi_in_order(const struct stp_fabric_ctx *ctx)
{
    return stp_ofi.ordered &&
           (stp_ofi.by_message ? ctx->endpoint == &stp_ofi.main
                               : !stp_ofi.coalesces_small &&
                                     __atomic_load_n(&ctx->batch, __ATOMIC_RELAXED) == NULL);
}

/* What is known of providers by their names (provider_table.c). */

enum {
    STP_OFI_KERNEL = 1,        /* each operation, and each poll, is system calls of this process */
    STP_OFI_LATE = 2,          /* a PE need not know the address of a peer that contacts it */
    STP_OFI_OWN_DOMAIN = 4,    /* locks a domain as a whole; endpoints are cheap (0.1 ms, 50 KB) */
    STP_OFI_CPU = 8,           /* its atomics are atomic instructions of the target's CPU */
    STP_OFI_MAY_LOSE_AMO = 16, /* a connection that breaks loses atomics without an error */
    STP_OFI_SHM = 32,          /* shared memory of one host, named by process numbers */
};

struct stp_ofi_provider {
    const char *name;
    unsigned flags;
    int sleepers;          /* PEs at most with which the progress thread sleeps on its sockets */
    const char *refused;   /* why it is used only when it is named, or NULL */
    uint32_t dmabuf_since; /* first version that registers memory by descriptor, 0: none */
    struct {
        uint32_t from, before; /* before 0: still so in the newest version that was read */
        const char *text;      /* NULL: nothing is known */
    } trouble;
};

/* The row of the provider, for one that is unknown the row of its layer or of any other. */
const struct stp_ofi_provider *stp_ofi_provider_of(const struct fi_info *info);
bool stp_ofi_is(const struct fi_info *info, unsigned flag);

/* Its place in the order of preference: 0 is the best. */
int stp_ofi_rank_of(const struct fi_info *info);

/* "tcp" names "tcp" and "tcp;ofi_rxm" alike; "tcp;ofi_rxm" only itself. */
bool stp_ofi_names(const char *wanted, const char *provider);

/* Provider choice (provider_select.c). */

struct stp_ofi_choice {
    struct fi_info *info;
    const char *refused;            /* why not, or NULL */
    bool unnamed;                   /* refused for not being what SHMEM_OFI_... name */
    int cost;                       /* lower is tried first */
    char text[96];                  /* room for refused */
    enum stp_provider_verdict code; /* the same as refused, for programs */
    int error;                      /* what a trial failed with */
    int fds_open;                   /* descriptors that it took in a trial for a report, else -1 */
    int fds_peer;
};

/*
 * Everything libfabric offers to a job like this, best first, refused ones last. The infos live
 * as long as *all, which the caller frees with fi_freeinfo(), the array with free().
 * Returns how many, or -errno after logging.
 */
int stp_ofi_provider_select(const struct stp_core *core, struct fi_info **all,
                            struct stp_ofi_choice **choices);

/* What must be promised so that puts, and atomics or messages, to one peer stay in order. */
uint64_t stp_ofi_order_needed(const struct fi_info *info);

/*
 * The same provider and interface with a promise to keep reads, writes and atomics to one peer
 * in order, or NULL when it does not give one. The caller frees it.
 */
struct fi_info *stp_ofi_info_with_order(const struct fi_info *info);

/*
 * The same with access to device memory, and to peers no different: not every PE of a job may
 * have devices. NULL when it is not granted so. The caller frees it.
 */
struct fi_info *stp_ofi_info_for_device_memory(const struct fi_info *info);

/*
 * The same provider and interface for messages instead of the provider's atomics, or NULL when it
 * has none. The caller frees it.
 */
struct fi_info *stp_ofi_info_for_messages(const struct fi_info *info);

/* The same with its atomics and messages besides, for batches; or NULL. The caller frees it. */
struct fi_info *stp_ofi_info_for_amo_and_messages(const struct fi_info *info);

/* Interfaces (netif_select.c). */

/* Is this what SHMEM_OFI_INTERFACE names, or does it name nothing? */
bool stp_ofi_netif_named(const struct fi_info *info, const struct stp_env *env);

/* Why the other hosts of the job do not reach its address, NULL when they do. */
const char *stp_ofi_netif_unreachable(const struct fi_info *info, const struct stp_core *core);

/* Place of its interface in the order that all hosts of the job share, 0 is best; at most 16. */
int stp_ofi_netif_place_in_job_order(const struct fi_info *info, const struct stp_core *core);

/* -EINVAL, logged with what there is, when SHMEM_OFI_INTERFACE names none of the infos. */
int stp_ofi_netif_check_env_matches(const struct fi_info *infos, const struct stp_core *core);

/* Endpoints (domain_endpoint.c). */

/*
 * Open domain, queue and endpoint for info. Returns 0, or -errno with *why set to what failed;
 * nothing stays open then.
 */
int stp_ofi_domain_endpoint_open(const struct stp_core *core, const struct fi_info *info,
                                 const char **why);
void stp_ofi_close_endpoint_domain_fabric(void);
int stp_ofi_make_published_address(unsigned char *addr, size_t *addr_len);
int stp_ofi_connect(const void *addrs);

/*
 * Where device memory is used: the endpoint makes no calls of CUDA from now on. 0, or -errno when
 * it needs them (forbid_provider_cuda_calls.c). Before it is enabled.
 */
int stp_ofi_forbid_cuda(struct fid_ep *ep);

/* Open queue and endpoint of an endpoint on a domain and its address table. *why as above. */
int stp_ofi_endpoint_open(struct stp_ofi_endpoint *endpoint, struct fid_domain *domain,
                          struct fid_av *av, bool wait_fd, const char **why);
void stp_ofi_endpoint_close(struct stp_ofi_endpoint *endpoint);

/* Addresses (address.c). */

int stp_ofi_av_open(struct fid_domain *domain, struct fid_av **av);

/* The endpoint's part of connect: an address table that knows nobody yet. And its end. */
int stp_ofi_endpoint_connect(struct stp_ofi_endpoint *endpoint);
void stp_ofi_endpoint_free_addrs(struct stp_ofi_endpoint *endpoint);

/*
 * Does the open provider do what it promises, to this PE itself? 0, or -errno with *why set. It is
 * of no more use then but to be closed.
 */
int stp_ofi_provider_self_test(const char **why);

/* Regions (region.c). */

int stp_ofi_region_add(unsigned number, void *base, size_t nbytes, enum stp_fabric_memory memory,
                       int device, struct stp_fabric_region *mine);
int stp_ofi_region_peers(unsigned number, const struct stp_fabric_region *peers);
void stp_ofi_region_drain(unsigned number);
void stp_ofi_region_remove(unsigned number);
void stp_ofi_region_remove_all(void);

/* Registrations, and regions that grow (region_mr.c). */

/* Host memory with this key; a provider that makes keys ignores it. 0 or -errno, not logged. */
int stp_ofi_mr_open(void *base, size_t nbytes, uint64_t key, struct fid_mr **mr);

/* The same of memory of a device, its ordinal. */
int stp_ofi_mr_open_device(void *base, size_t nbytes, uint64_t key, int device, struct fid_mr **mr);
/* What some providers want before it is used. 0, or -errno: it is closed then. */
int stp_ofi_mr_enable(struct fid_mr *mr);

/* What peers must say to reach it; and a copy of what they say, in the place of an earlier one. */
struct stp_fabric_region stp_ofi_mr_describe(struct fid_mr *mr, void *base);
int stp_ofi_peer_regions_replace(struct stp_fabric_region **to,
                                 const struct stp_fabric_region *peers);

int stp_ofi_region_grow(unsigned number, size_t more, struct stp_fabric_region *mine);
int stp_ofi_region_grown(unsigned number, const struct stp_fabric_region *peers);
void stp_ofi_region_undo_grow(unsigned number);
void stp_ofi_extents_close(struct stp_ofi_region *region); /* all that it has grown by */

/* Pairs with the release of stp_ofi_region_grown(). */
static inline const struct stp_ofi_extents *stp_ofi_extents(const struct stp_ofi_region *region)
{
    return __atomic_load_n(&region->more, __ATOMIC_ACQUIRE);
}

/*
 * Bytes from offset to the end of its extent, SIZE_MAX in the last; and the registration of nbytes
 * there, NULL where they are of two.
 */
size_t stp_ofi_extent_left(const struct stp_ofi_extents *more, size_t offset);
struct fid_mr *stp_ofi_extent_mr(const struct stp_ofi_region *region, size_t offset, size_t nbytes);

/* Into how many writes or reads of at most size bytes nbytes from offset on must be cut. */
unsigned stp_ofi_extent_pieces(const struct stp_ofi_extents *more, size_t offset, size_t nbytes,
                               size_t size);

static inline bool stp_ofi_has_grown(unsigned number)
{
    return STP_UNLIKELY(stp_ofi_extents(&stp_ofi.regions[number]) != NULL);
}

/* Do nbytes at the target lie in several extents? A write or a read is of one alone. */
static inline bool stp_ofi_crosses(const struct stp_target *target, size_t nbytes)
{
    const struct stp_ofi_extents *more = stp_ofi_extents(&stp_ofi.regions[target->number]);

    return STP_UNLIKELY(more != NULL) && stp_ofi_extent_left(more, target->offset) < nbytes;
}

static inline size_t stp_ofi_region_bytes(const struct stp_ofi_region *region)
{
    /* Pairs with the release store in stp_ofi_region_grown(). */
    return __atomic_load_n(&region->nbytes, __ATOMIC_ACQUIRE);
}

/* Where offset of this PE's own part is. */
static inline void *stp_ofi_local_ptr(unsigned number, size_t offset)
{
    return stp_ofi.regions[number].base + offset;
}

/* The same for nbytes that a peer names; NULL: there is no such memory here, or not for the CPU. */
static inline void *stp_ofi_local_part(unsigned number, size_t offset, size_t nbytes)
{
    const struct stp_ofi_region *region = &stp_ofi.regions[number];
    size_t has = stp_ofi_region_bytes(region);

    /* Pairs with the release stores in stp_ofi_region_add() and stp_ofi_region_remove(). */
    if (__atomic_load_n(&region->mr, __ATOMIC_ACQUIRE) == NULL || region->device || offset > has ||
        has - offset < nbytes)
        return NULL;
    return region->base + offset;
}

/* ---- queued operations ------------------------------------------------------ */

static inline struct stp_ofi_place stp_ofi_place_of(const struct stp_target *target)
{
    const struct stp_ofi_region *region = &stp_ofi.regions[target->number];

    return (struct stp_ofi_place){
        .fn = target->fn,
        .number = target->number,
        /* It moves only while nobody may issue operations on the region: see region_drain. */
        .generation = __atomic_load_n(&region->generation, __ATOMIC_RELAXED),
        .offset = target->offset};
}

/* Address and key of a place on PE pe, as the provider wants them. */
struct stp_fabric_region stp_ofi_resolve_extent(const struct stp_ofi_place *place, int pe);

static inline struct stp_fabric_region stp_ofi_resolve(const struct stp_ofi_place *place, int pe)
{
    const struct stp_ofi_region *region = &stp_ofi.regions[place->number];
    const struct stp_fabric_region *peers = region->peers;

    if (STP_UNLIKELY(stp_ofi_extents(region) != NULL)) return stp_ofi_resolve_extent(place, pe);
    return (struct stp_fabric_region){.addr = place->offset + (peers != NULL ? peers[pe].addr : 0),
                                      .key = peers != NULL ? peers[pe].key
                                                           : stp_ofi.key_base + place->number};
}

/* For a request that has been queued: ends the job when a region that it names has gone since. */
void stp_ofi_die_if_region_gone(const struct stp_ofi_req *req);

/* Buffers of this PE (local_mr.c). */

void stp_ofi_local_mr_index_add(unsigned number);
void stp_ofi_local_mr_index_remove(unsigned number);
const struct stp_ofi_region *stp_ofi_local_mr_find(const void *local);

/* As transport.h says, and close what is left of them at the end. */
int stp_ofi_buffer_add(unsigned number, void *base, size_t nbytes, int device);
void stp_ofi_set_current_local_mr(int number);
bool stp_ofi_buffer_remove(unsigned number);
void stp_ofi_user_buffers_close(void);

/*
 * The listed region of this PE that a buffer begins in, or the private buffer that this thread
 * uses, or NULL. Listed are those of device memory, and all when local buffers must be registered.
 */
static inline const struct stp_ofi_region *stp_ofi_local_mr_region(const void *local)
{
    if (STP_LIKELY(__atomic_load_n(&stp_ofi.n_listed, __ATOMIC_RELAXED) == 0)) return NULL;
    return stp_ofi_local_mr_find(local);
}

/* Is a buffer of this PE memory that only the provider may touch? */
static inline bool stp_ofi_on_device(const void *local)
{
    const struct stp_ofi_region *region = stp_ofi_local_mr_region(local);

    return STP_UNLIKELY(region != NULL) && region->device;
}

/* Does the CPU copy between this PE's own part of the region and the buffer? */
static inline bool stp_ofi_by_cpu(unsigned number, const void *local)
{
    return !stp_ofi.regions[number].device && !stp_ofi_on_device(local);
}

/* How the provider gets at a local buffer: in which fragments, and by what right. */
struct stp_ofi_fragments {
    size_t size; /* of each but the last */
    unsigned n;
    bool copied; /* through the request's own bytes */
    void *desc;
    struct stp_ofi_local_mr_ref *lease; /* one reference a fragment */
};

/*
 * kind: WRITE, local is read, or READ, local is written, of nbytes > 0 at the target, where extents
 * of the region cut fragments too.
 */
struct stp_ofi_fragments stp_ofi_cut_slow(enum stp_ofi_kind kind, const struct stp_target *target,
                                          const void *local, size_t nbytes);

static inline struct stp_ofi_fragments stp_ofi_cut(enum stp_ofi_kind kind,
                                                   const struct stp_target *target,
                                                   const void *local, size_t nbytes)
{
    if (STP_LIKELY(__atomic_load_n(&stp_ofi.n_listed, __ATOMIC_RELAXED) == 0 &&
                   nbytes <= stp_ofi.max_msg && !stp_ofi.mr_local &&
                   stp_ofi_extents(&stp_ofi.regions[target->number]) == NULL))
        return (struct stp_ofi_fragments){.size = nbytes, .n = 1};
    return stp_ofi_cut_slow(kind, target, local, nbytes);
}

/* One operation less uses the registration. */
void stp_ofi_local_mr_unref(struct stp_ofi_local_mr_ref *lease);

/* Register memory of the module's own as FI_MR_LOCAL wants it; *mr NULL when it does not. */
int stp_ofi_reg_internal_if_needed(void *base, size_t nbytes, struct fid_mr **mr);

/* Posting and completing (post_and_cq_poll.c). */

/* Hand the request to the provider, waiting with progress while it is busy. */
void stp_ofi_post_until_accepted(struct stp_ofi_req *req);

/* Once: 0, -FI_EAGAIN, or what the provider says. */
ssize_t stp_ofi_post_once(struct stp_ofi_req *req);

/*
 * Post what nobody waits for, now or from a later drain of the endpoint. Caller holds
 * endpoint->drain.
 */
void stp_ofi_post_or_defer_locked(struct stp_ofi_endpoint *endpoint, struct stp_ofi_req *req);

/* One of the parts of a message is done. Caller holds the main endpoint's drain. */
void stp_ofi_message_part_done_locked(struct stp_ofi_req *req);

/* Read completions, serve peers; returns how many, 0 also when another thread is at it. */
int stp_ofi_poll_cq_once(struct stp_ofi_endpoint *endpoint);

/* Drain every endpoint with something to do. */
int stp_ofi_poll_all_queues(void);

/* Wait, with progress, until *pending is 0; what completed is visible then. */
void stp_ofi_wait_zero(struct stp_ofi_endpoint *endpoint, unsigned *pending);

/* The job is ending: operations that fail are done, and so are those to PEs that have gone. */
void stp_ofi_set_job_ending(void);

/* Is there anything on the main endpoint that the provider had no room for? */
bool stp_ofi_has_retry(void);

/* Let requests to PE pe count on stp_ofi.abandoned from now on. */
void stp_ofi_abandon_reqs_to(int pe);
void stp_ofi_progress(void);

/* State of one wait for the fabric. Start with {.endpoint = endpoint}. */
struct stp_ofi_wait {
    struct stp_ofi_endpoint *endpoint;
    unsigned polls;
    int spun;          /* polls since something completed or the core was given up */
    uint64_t since_ns; /* when it began, or peers were last looked at; 0: not looked yet */
    unsigned looks; /* that the library was told of; if any, stp_ofi_wait_end() comes at the end */
};

/* One step of a wait: progress, spin or yield; when it stands still, look for dead peers. */
void stp_ofi_wait_step(struct stp_ofi_wait *wait);

/*
 * For waits, now and then: end the job when a target of what is under way has gone
 * (peer_failure.c).
 */
void stp_ofi_wait_stalled(struct stp_ofi_wait *wait);

static inline void stp_ofi_wait_end(const struct stp_ofi_wait *wait)
{
    if (STP_UNLIKELY(wait->looks > 0)) stp_ofi.core->on_stall(0, -1);
}

/* fi_strerror(), but limits that users can raise are named: see stp_errno_text(). */
const char *stp_ofi_strerror(int error);

/* Operations (ofi_rma.c, ofi_atomic.c, ofi_signal.c, ofi_quiet_and_fence.c): as in transport.h. */

void stp_ofi_session(struct stp_fabric_ctx *ctx, bool batch, size_t total_ops);
void stp_ofi_allows_delayed_ack(struct stp_fabric_ctx *ctx);
void stp_ofi_put(struct stp_fabric_ctx *ctx, const struct stp_target *dest, const void *source,
                 size_t nbytes, bool nbi);
/* A put to another PE, or of device memory, that leaves by itself before this returns. */
void stp_ofi_put_alone(struct stp_fabric_ctx *ctx, const struct stp_target *dest,
                       const void *source, size_t nbytes, bool nbi);
void stp_ofi_get(struct stp_fabric_ctx *ctx, const struct stp_target *source, void *dest,
                 size_t nbytes, bool nbi);
void stp_ofi_store_atomic(struct stp_fabric_ctx *ctx, const struct stp_target *dest,
                          const void *value, size_t nbytes);
void stp_ofi_amo(struct stp_fabric_ctx *ctx, const struct stp_target *dest, enum stp_fabric_amo op,
                 enum stp_dtype dtype, const void *operand, const void *compare, void *result,
                 bool nbi);
void stp_ofi_put_signal(struct stp_fabric_ctx *ctx, const struct stp_target *dest,
                        const void *source, size_t nbytes, const struct stp_target *word,
                        uint64_t signal, enum stp_fabric_amo op, bool nbi);
void stp_ofi_put_notify(struct stp_fabric_ctx *ctx, const struct stp_target *dest,
                        const void *source, size_t nbytes, const struct stp_target *word,
                        uint64_t value, enum stp_fabric_amo op);

/*
 * Words that writes take along (write_cqdata.c): the remote CQ data of such a write, false: it has
 * no room for that; and what the target does with it. Caller holds the main endpoint's drain.
 */
bool stp_ofi_cqdata_pack(const struct stp_target *word, uint64_t value, enum stp_fabric_amo op,
                         uint64_t *data);
void stp_ofi_cqdata_apply_to_word_locked(uint64_t data);

/* A request for one fragment of a local buffer, ready to post but for what it counts on. */
struct stp_ofi_req *stp_ofi_req_prepare_one_fragment(struct stp_ofi_endpoint *endpoint,
                                                     enum stp_ofi_kind kind,
                                                     const struct stp_target *target,
                                                     const struct stp_ofi_fragments *fragments,
                                                     const void *local, size_t nbytes);

/*
 * Put or get nbytes in fragments counted on *pending, which the caller has raised by their number.
 * then: the request of the signal that is posted when all of them are complete, or NULL.
 */
void stp_ofi_post_fragments(struct stp_ofi_endpoint *endpoint, enum stp_ofi_kind kind,
                            const struct stp_ofi_fragments *fragments,
                            const struct stp_target *target, const void *local, size_t nbytes,
                            unsigned *pending, struct stp_ofi_req *then);

/* An atomic, a request ready to post but for what it counts on; arguments as for amo. */
struct stp_ofi_req *stp_ofi_atomic_prepare(struct stp_fabric_ctx *ctx,
                                           const struct stp_target *dest, enum stp_fabric_amo op,
                                           enum stp_dtype dtype, const void *operand,
                                           const void *compare, void *result);

/* Why a domain's atomics do not suffice, or NULL (ofi_atomic.c). */
const char *stp_ofi_atomics_missing(struct fid_domain *domain);

/*
 * This PE's own memory (self_amo_by_cpu.c): by CPU, at addresses of this process; arguments as
 * above.
 */

void stp_ofi_loopback_amo(void *at, size_t size, enum stp_fabric_amo op, const void *operand,
                          const void *compare, void *result);

/* The progress thread (progress_thread.c). */

int stp_ofi_progress_start(void);
void stp_ofi_progress_stop(void);

/* Something is under way on an endpoint besides the main one. Cheap while the thread is awake. */
void stp_ofi_progress_wake(void);

#endif /* STP_OFI_INTERNAL_H */
