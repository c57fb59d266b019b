/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the internals of the fabric module: endpoints with their completion queues, requests
 * that carry an operation from its post to its completion, messages that replace features a
 * provider lacks, and the thread that serves peers while the application computes. Only files of
 * this directory include this header and libfabric's. Design: docs/design/fabric.md.
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

#define STP_OFI_VERSION FI_VERSION(1, 17) /* version of libfabric's interface, not of the library */
#define STP_OFI_ENDPOINTS 64u

/* ---- contexts ----------------------------------------------------------- */

/*
 * Operations that quiet must wait for are counted in the phase in which they are issued. quiet
 * advances the phase and waits for the counter of the old phase, which no new operation uses.
 * Therefore quiet ends even if other threads keep issuing operations.
 */
struct stp_fabric_ctx {
    struct stp_ofi_endpoint *endpoint;
    unsigned phase;
    unsigned pending[2];
    bool messages;               /* whether messages were sent that later operations may overtake */
    bool batching;               /* whether a session collects small operations, see batch.c */
    bool allow_delayed_ack;      /* whether acknowledgements may be delayed, see am_ack_delay.c */
    pthread_mutex_t quiet;       /* lock that one quiet at a time holds to advance the phase */
    struct stp_ofi_batch *batch; /* batch, or NULL before the first operation is collected */
} STP_ALIGNED_LINE;

/* Returns the counter for operations that are issued now. */
static inline unsigned *stp_ofi_ctx_pending(struct stp_fabric_ctx *ctx)
{
    return &ctx->pending[__atomic_load_n(&ctx->phase, __ATOMIC_RELAXED) & 1];
}

/* Makes quiet of the context wait for the request. */
static inline void stp_ofi_count_on_ctx(struct stp_ofi_req *req, struct stp_fabric_ctx *ctx)
{
    unsigned *pending = stp_ofi_ctx_pending(ctx);

    __atomic_fetch_add(pending, 1, __ATOMIC_RELAXED);
    stp_ofi_count_on(req, pending);
}

/* These functions are members of struct stp_fabric in transport.h (ofi_quiet_and_fence.c). */
int stp_ofi_ctx_create(bool alone, struct stp_fabric_ctx **ctx);
void stp_ofi_ctx_free(struct stp_fabric_ctx *ctx);
void stp_ofi_fence(struct stp_fabric_ctx *ctx);
void stp_ofi_quiet(struct stp_fabric_ctx *ctx);
void stp_ofi_quiet_pes(struct stp_fabric_ctx *ctx, const int *pes, size_t n_pes);

/* ---- the module --------------------------------------------------------- */

/*
 * The pieces by which a region of host memory has grown (region_mr.c). Extent 0 is the region as it
 * was added, and extent i + 1 is piece i. Pieces below n do not change any more.
 */
struct stp_ofi_extents {
    unsigned n;                                /* number of pieces that all PEs have registered */
    size_t begin[STP_FABRIC_EXTENTS];          /* offsets of pieces; piece i ends at begin[i + 1] */
    struct fid_mr *mr[STP_FABRIC_EXTENTS - 1]; /* registrations of pieces; mr[n] is not used yet */
    struct stp_fabric_region *peers[STP_FABRIC_EXTENTS - 1]; /* peers' descriptors of each piece */
};

struct stp_ofi_region {
    struct fid_mr *mr;                  /* registration, or NULL if this PE has no part */
    char *base;                         /* start of this PE's part */
    size_t nbytes;                      /* size of this PE's part, which may grow */
    unsigned generation;                /* module's generation at the last addition or removal */
    bool device;                        /* whether this PE's part is device memory */
    bool listed;                        /* whether local_mr.c finds the region by address */
    struct stp_fabric_region *peers;    /* descriptors by PE if they differ, else NULL */
    struct stp_ofi_extents *more;       /* pieces by which the region has grown, or NULL */
    struct stp_ofi_local_mr_ref *lease; /* shared registration of a private buffer, else NULL */
};

struct stp_ofi {
    struct stp_ofi_endpoint main; /* endpoint that contexts share and that serves peers */

    uint64_t key_base; /* key of region 0 if this side chooses keys */
    unsigned n_listed; /* regions and buffers in which local buffers are looked up */
    size_t max_msg;    /* most bytes of one operation */
    size_t bounce_size;
    size_t inject_size; /* most bytes of a message that needs no completion */
    size_t packed_size; /* bytes of a packed message, or 0 if there are none */
    int self;           /* this PE if its own memory is accessed by the CPU, else -1 */
    bool cpu_atomics;
    bool by_message;      /* whether atomics are messages, because the provider lacks atomics */
    bool coalesces_small; /* whether small operations wait for earlier ones to the same PE */
    bool needs_syscalls;  /* whether each post and each poll makes system calls, as on TCP */
    bool has_cqdata;      /* whether a write may carry CQ data, see write_cqdata.c */
    unsigned max_pieces;  /* most puts that one write may combine */
    bool may_lose_amo;    /* whether a broken connection may lose atomics without an error */
    bool update_by_fetch; /* whether updates must be posted as fetches with an unused result */
    bool peer_table;
    bool ordered;               /* whether writes and atomics to one peer stay in order */
    bool hmem;                  /* whether the provider was opened for device memory */
    const char *why_no_devices; /* reason why devices of this PE are not used, or NULL */
    bool mr_local;              /* whether local buffers must be registered too */
    int spin;                   /* number of polls before a wait yields */
    bool finishing;             /* whether the job ends, so that a failure is a PE that has left */

    unsigned abandoned STP_ALIGNED_LINE; /* counter of requests to PEs that left while finishing */
    unsigned unwaited;                   /* counter of messages for which no thread waits */
    int failure;                         /* error of the last failed operation while finishing */

    const struct stp_core *core STP_ALIGNED_LINE;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    const unsigned char *world; /* addresses by PE, addr_len bytes each, owned by the library */
    size_t addr_len;
    pthread_mutex_t av_lock; /* guards insertions into any address table */
    int wait_fd;             /* descriptor of the main endpoint's queue, or -1 without one */
    bool by_sockets;         /* whether the progress thread sleeps on the provider's sockets */

    pthread_mutex_t endpoints_lock; /* guards the list of endpoints and their n_ctxs */
    unsigned n_endpoints;           /* number of endpoints besides main, which stay until close */
    struct stp_ofi_endpoint *endpoints[STP_OFI_ENDPOINTS];

    unsigned generation; /* counter that advances when a region is added or removed */
    struct stp_ofi_region regions[STP_FABRIC_REGIONS];
};

extern struct stp_ofi stp_ofi;

/* Returns whether peers may send messages to this PE (atomics or packed messages). */
static inline bool stp_ofi_has_inbox(void)
{
    return stp_ofi.by_message || stp_ofi.packed_size > 0;
}

/*
 * Returns whether writes, atomics and messages of the context stay in order without waiting. If
 * atomics are not messages, nothing orders batches after atomics.
 */
static inline bool stp_ofi_in_order(const struct stp_fabric_ctx *ctx)
{
    return stp_ofi.ordered &&
           (stp_ofi.by_message ? ctx->endpoint == &stp_ofi.main
                               : !stp_ofi.coalesces_small &&
                                     __atomic_load_n(&ctx->batch, __ATOMIC_RELAXED) == NULL);
}

/* Properties of providers by name (provider_table.c). */

enum {
    STP_OFI_KERNEL = 1,        /* provider that makes system calls for each post and each poll */
    STP_OFI_LATE = 2,          /* provider on which a PE need not know a peer that contacts it */
    STP_OFI_OWN_DOMAIN = 4,    /* provider with a lock per domain, cheap endpoints: 0.1 ms, 50 KB */
    STP_OFI_CPU = 8,           /* provider that executes atomics on the target's CPU */
    STP_OFI_MAY_LOSE_AMO = 16, /* provider whose broken connections lose atomics without error */
    STP_OFI_SHM = 32,          /* shared memory of one host, addressed by process numbers */
};

struct stp_ofi_provider {
    const char *name;
    unsigned flags;
    int sleepers;          /* most PEs of a job whose progress threads sleep on sockets */
    const char *refused;   /* reason why only SHMEM_OFI_PROVIDER selects the provider, or NULL */
    uint32_t dmabuf_since; /* first version that registers memory by DMA-BUF descriptor, or 0 */
    struct {
        uint32_t from, before; /* first affected and first fixed version (0 if none is known) */
        const char *text;      /* description of the trouble, or NULL */
    } trouble;
};

/* Returns the provider's row. An unknown provider has the row of its layer, or the one named "". */
const struct stp_ofi_provider *stp_ofi_provider_of(const struct fi_info *info);
bool stp_ofi_is(const struct fi_info *info, unsigned flag);

/* Returns the provider's place in the order of preference, in which 0 is the best. */
int stp_ofi_rank_of(const struct fi_info *info);

/* Returns whether wanted names provider. "tcp" names "tcp;ofi_rxm" too, but not the reverse. */
bool stp_ofi_names(const char *wanted, const char *provider);

/* Provider choice (provider_select.c). */

struct stp_ofi_choice {
    struct fi_info *info;
    const char *refused;            /* reason why the info is refused, or NULL */
    bool unnamed;                   /* whether the reason is that SHMEM_OFI_... names another */
    int cost;                       /* cost, by which the cheapest info is tried first */
    char text[96];                  /* memory for refused */
    enum stp_provider_verdict code; /* code of the reason, for programs */
    int error;                      /* errno of a failed trial */
    int fds_open;                   /* descriptors that a trial for a report took, else -1 */
    int fds_peer;
};

/*
 * Lists the infos that libfabric offers to this job, best first and refused ones last. The infos
 * live as long as *all, which the caller frees with fi_freeinfo(). The caller frees the array with
 * free(). Returns the number of infos, or -errno, which is logged except for -ENOMEM.
 */
int stp_ofi_provider_select(const struct stp_core *core, struct fi_info **all,
                            struct stp_ofi_choice **choices);

/* Returns the message order that keeps puts, and atomics or messages, to one peer in order. */
uint64_t stp_ofi_order_needed(const struct fi_info *info);

/*
 * Returns an info of the same interface that guarantees the order of reads, writes and atomics to
 * one peer, or NULL if the provider does not guarantee this order. The caller frees the info.
 */
struct fi_info *stp_ofi_info_with_order(const struct fi_info *info);

/*
 * Returns an info of the same interface with access to device memory, or NULL if the provider
 * cannot give it. The returned info, which the caller frees, works with peers that use info itself,
 * because not every PE of a job may have devices.
 */
struct fi_info *stp_ofi_info_for_device_memory(const struct fi_info *info);

/*
 * Returns an info of the same interface with messages instead of the provider's atomics, or NULL if
 * the provider has no messages. The caller frees the info.
 */
struct fi_info *stp_ofi_info_for_messages(const struct fi_info *info);

/* As stp_ofi_info_for_messages(), but the info also has atomics. The messages are for batches. */
struct fi_info *stp_ofi_info_for_amo_and_messages(const struct fi_info *info);

/* Interfaces (netif_select.c). */

/* Returns whether SHMEM_OFI_INTERFACE is not set or names the interface of info. */
bool stp_ofi_netif_named(const struct fi_info *info, const struct stp_env *env);

/* Returns why other hosts of the job cannot reach the address of info, or NULL if they can. */
const char *stp_ofi_netif_unreachable(const struct fi_info *info, const struct stp_core *core);

/* Returns the interface's place, 0 (best) to 16, in the order that all hosts of the job share. */
int stp_ofi_netif_place_in_job_order(const struct fi_info *info, const struct stp_core *core);

/* Returns -EINVAL, after logging the available names, if SHMEM_OFI_INTERFACE names no info. */
int stp_ofi_netif_check_env_matches(const struct fi_info *infos, const struct stp_core *core);

/* Endpoints (domain_endpoint.c). */

/*
 * Opens domain, completion queue and endpoint for info. Returns 0, or -errno with *why set to the
 * step that failed; nothing stays open then.
 */
int stp_ofi_domain_endpoint_open(const struct stp_core *core, const struct fi_info *info,
                                 const char **why);
void stp_ofi_close_endpoint_domain_fabric(void);
int stp_ofi_make_published_address(unsigned char *addr, size_t *addr_len);
int stp_ofi_connect(const void *addrs);

/*
 * Forbids CUDA calls in an endpoint that is not enabled yet, if device memory is used. Returns 0,
 * or -errno if the provider needs CUDA calls (forbid_provider_cuda_calls.c).
 */
int stp_ofi_forbid_cuda(struct fid_ep *ep);

/* Opens the queue and the endpoint on a domain. Returns 0, or -errno with *why set. */
int stp_ofi_endpoint_open(struct stp_ofi_endpoint *endpoint, struct fid_domain *domain,
                          struct fid_av *av, bool wait_fd, const char **why);
void stp_ofi_endpoint_close(struct stp_ofi_endpoint *endpoint);

/* Addresses (address.c). */

int stp_ofi_av_open(struct fid_domain *domain, struct fid_av **av);

/* Makes the endpoint's address table, and fills the table unless entries are made at first use. */
int stp_ofi_endpoint_connect(struct stp_ofi_endpoint *endpoint);
void stp_ofi_endpoint_free_addrs(struct stp_ofi_endpoint *endpoint);

/*
 * Tests whether the open provider works as promised for operations of this PE on itself. Returns 0,
 * or -errno with *why set. The provider is closed in both cases.
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

/* Registers host memory. Providers that make keys ignore key. Returns 0 or -errno, not logged. */
int stp_ofi_mr_open(void *base, size_t nbytes, uint64_t key, struct fid_mr **mr);

/* As stp_ofi_mr_open(), for memory of the CUDA device with the ordinal device. */
int stp_ofi_mr_open_device(void *base, size_t nbytes, uint64_t key, int device, struct fid_mr **mr);
/* Enables a registration if the provider requires that. On failure closes mr, returns -errno. */
int stp_ofi_mr_enable(struct fid_mr *mr);

/* Returns the descriptor by which peers access mr. */
struct stp_fabric_region stp_ofi_mr_describe(struct fid_mr *mr, void *base);
/* Replaces the table *to by a copy of peers. Returns 0 or -ENOMEM. */
int stp_ofi_peer_regions_replace(struct stp_fabric_region **to,
                                 const struct stp_fabric_region *peers);

int stp_ofi_region_grow(unsigned number, size_t more, struct stp_fabric_region *mine);
int stp_ofi_region_grown(unsigned number, const struct stp_fabric_region *peers);
void stp_ofi_region_undo_grow(unsigned number);
void stp_ofi_extents_close(struct stp_ofi_region *region); /* Closes all pieces of the region. */

/* Pairs with the release stores in more_of() and stp_ofi_extents_close(). */
static inline const struct stp_ofi_extents *stp_ofi_extents(const struct stp_ofi_region *region)
{
    return __atomic_load_n(&region->more, __ATOMIC_ACQUIRE);
}

/*
 * stp_ofi_extent_left() returns the bytes from offset to the end of its extent, or SIZE_MAX in the
 * last extent. stp_ofi_extent_mr() returns NULL if no single extent holds the nbytes at offset.
 */
size_t stp_ofi_extent_left(const struct stp_ofi_extents *more, size_t offset);
struct fid_mr *stp_ofi_extent_mr(const struct stp_ofi_region *region, size_t offset, size_t nbytes);

/* Returns the number of writes or reads of at most size bytes that nbytes from offset on need. */
unsigned stp_ofi_extent_pieces(const struct stp_ofi_extents *more, size_t offset, size_t nbytes,
                               size_t size);

static inline bool stp_ofi_has_grown(unsigned number)
{
    return STP_UNLIKELY(stp_ofi_extents(&stp_ofi.regions[number]) != NULL);
}

/* Returns whether nbytes at the target span several extents, which needs several operations. */
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

/* Returns the address of an offset in this PE's own part of a region. */
static inline void *stp_ofi_local_ptr(unsigned number, size_t offset)
{
    return stp_ofi.regions[number].base + offset;
}

/* As stp_ofi_local_ptr(), but returns NULL if nbytes there do not exist or are device memory. */
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
        /* The generation changes only while no operation on the region may be issued. */
        .generation = __atomic_load_n(&region->generation, __ATOMIC_RELAXED),
        .offset = target->offset};
}

/* Returns the address and the key of a place on PE pe in the form that the provider expects. */
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

/* Ends the job if a region that a queued request names was removed after the request was made. */
void stp_ofi_die_if_region_gone(const struct stp_ofi_req *req);

/* Buffers of this PE (local_mr.c). */

void stp_ofi_local_mr_index_add(unsigned number);
void stp_ofi_local_mr_index_remove(unsigned number);
const struct stp_ofi_region *stp_ofi_local_mr_find(const void *local);

/* Private buffers, see transport.h. stp_ofi_user_buffers_close() closes all remaining ones. */
int stp_ofi_buffer_add(unsigned number, void *base, size_t nbytes, int device);
void stp_ofi_set_current_local_mr(int number);
bool stp_ofi_buffer_remove(unsigned number);
void stp_ofi_user_buffers_close(void);

/*
 * Returns the listed region in which the local buffer begins, or this thread's private buffer, or
 * NULL. Regions of device memory are listed, and all regions if local buffers need registration.
 */
static inline const struct stp_ofi_region *stp_ofi_local_mr_region(const void *local)
{
    if (STP_LIKELY(__atomic_load_n(&stp_ofi.n_listed, __ATOMIC_RELAXED) == 0)) return NULL;
    return stp_ofi_local_mr_find(local);
}

/* Returns whether a local buffer is device memory, which only the provider may access. */
static inline bool stp_ofi_on_device(const void *local)
{
    const struct stp_ofi_region *region = stp_ofi_local_mr_region(local);

    return STP_UNLIKELY(region != NULL) && region->device;
}

/* Returns whether the CPU can copy between this PE's own part of the region and the buffer. */
static inline bool stp_ofi_by_cpu(unsigned number, const void *local)
{
    return !stp_ofi.regions[number].device && !stp_ofi_on_device(local);
}

/* The fragments of a transfer, and the registration by which the provider accesses the buffer. */
struct stp_ofi_fragments {
    size_t size; /* bytes of each fragment except the last */
    unsigned n;
    bool copied; /* whether data passes through the requests' own bytes */
    void *desc;
    struct stp_ofi_local_mr_ref *lease; /* registration with one reference per fragment, or NULL */
};

/*
 * Divides a transfer of nbytes > 0 into fragments, which extents of the target's region divide
 * further. kind is WRITE if local is read, and READ if local is written.
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

/* Drops the reference of one operation, and closes the registration with the last reference. */
void stp_ofi_local_mr_unref(struct stp_ofi_local_mr_ref *lease);

/* Registers memory of this module if FI_MR_LOCAL requires that, else sets *mr to NULL. */
int stp_ofi_reg_internal_if_needed(void *base, size_t nbytes, struct fid_mr **mr);

/* Posting and completing (post_and_cq_poll.c). */

/* Posts the request, and waits with progress while the provider is busy. */
void stp_ofi_post_until_accepted(struct stp_ofi_req *req);

/* Tries to post the request once. Returns 0, -FI_EAGAIN, or another error of the provider. */
ssize_t stp_ofi_post_once(struct stp_ofi_req *req);

/*
 * Posts a request for which no thread waits, now or in a later drain of the endpoint. The caller
 * holds endpoint->drain.
 */
void stp_ofi_post_or_defer_locked(struct stp_ofi_endpoint *endpoint, struct stp_ofi_req *req);

/* Completes one part of a message. The caller holds the main endpoint's drain. */
void stp_ofi_message_part_done_locked(struct stp_ofi_req *req);

/* Reads completions, serves peers. Returns the number of completions, 0 if another thread polls. */
int stp_ofi_poll_cq_once(struct stp_ofi_endpoint *endpoint);

/* Polls the main endpoint and all busy endpoints. Returns the number of completions. */
int stp_ofi_poll_all_queues(void);

/* Waits with progress until *pending is 0. The results of completed operations are then visible. */
void stp_ofi_wait_zero(struct stp_ofi_endpoint *endpoint, unsigned *pending);

/* Makes failed operations, and operations to PEs that have left, count as completed from now on. */
void stp_ofi_set_job_ending(void);

/* Returns whether the main endpoint has requests for which the provider had no room. */
bool stp_ofi_has_retry(void);

/* Makes all requests to PE pe count on stp_ofi.abandoned, so that no thread waits for them. */
void stp_ofi_abandon_reqs_to(int pe);
void stp_ofi_progress(void);

/* The state of one wait for the fabric, which starts as {.endpoint = endpoint}. */
struct stp_ofi_wait {
    struct stp_ofi_endpoint *endpoint;
    unsigned polls;
    int spun;          /* number of polls since a completion or a yield */
    uint64_t since_ns; /* time of the first stall or of the last check of peers, or 0 */
    unsigned looks;    /* number of calls of on_stall(), which stp_ofi_wait_end() ends */
};

/* Makes one step of a wait: makes progress, spins or yields, and checks peers if it stalls. */
void stp_ofi_wait_step(struct stp_ofi_wait *wait);

/*
 * Ends the job if the target of an outstanding operation has gone (peer_failure.c). Waits call this
 * from time to time.
 */
void stp_ofi_wait_stalled(struct stp_ofi_wait *wait);

static inline void stp_ofi_wait_end(const struct stp_ofi_wait *wait)
{
    if (STP_UNLIKELY(wait->looks > 0)) stp_ofi.core->on_stall(0, -1);
}

/* As fi_strerror(), but names a limit that users can raise; see stp_errno_text(). */
const char *stp_ofi_strerror(int error);

/* Operations (ofi_rma.c, ofi_atomic.c, ofi_signal.c, ofi_quiet_and_fence.c): as in transport.h. */

void stp_ofi_session(struct stp_fabric_ctx *ctx, bool batch, size_t total_ops);
void stp_ofi_allows_delayed_ack(struct stp_fabric_ctx *ctx);
void stp_ofi_put(struct stp_fabric_ctx *ctx, const struct stp_target *dest, const void *source,
                 size_t nbytes, bool nbi);
/* Posts a put to another PE or of device memory before it returns, without collecting the put. */
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
 * stp_ofi_cqdata_pack() stores the update of a word in remote CQ data, or returns false if it does
 * not fit. The target, holding the main endpoint's drain, applies the update (write_cqdata.c).
 */
bool stp_ofi_cqdata_pack(const struct stp_target *word, uint64_t value, enum stp_fabric_amo op,
                         uint64_t *data);
void stp_ofi_cqdata_apply_to_word_locked(uint64_t data);

/* Returns a request for one fragment of a local buffer, complete except for its counter. */
struct stp_ofi_req *stp_ofi_req_prepare_one_fragment(struct stp_ofi_endpoint *endpoint,
                                                     enum stp_ofi_kind kind,
                                                     const struct stp_target *target,
                                                     const struct stp_ofi_fragments *fragments,
                                                     const void *local, size_t nbytes);

/*
 * Puts or gets nbytes in fragments that count on *pending, to which the caller has added their
 * number. then is the signal that is posted when all fragments are complete, or NULL.
 */
void stp_ofi_post_fragments(struct stp_ofi_endpoint *endpoint, enum stp_ofi_kind kind,
                            const struct stp_ofi_fragments *fragments,
                            const struct stp_target *target, const void *local, size_t nbytes,
                            unsigned *pending, struct stp_ofi_req *then);

/* Returns a request for an atomic, complete except for its counter. Arguments are those of amo. */
struct stp_ofi_req *stp_ofi_atomic_prepare(struct stp_fabric_ctx *ctx,
                                           const struct stp_target *dest, enum stp_fabric_amo op,
                                           enum stp_dtype dtype, const void *operand,
                                           const void *compare, void *result);

/* Returns why the atomics of a domain do not suffice, or NULL if they do (ofi_atomic.c). */
const char *stp_ofi_atomics_missing(struct fid_domain *domain);

/*
 * Atomics on this PE's own memory (self_amo_by_cpu.c), which the CPU executes at an address of this
 * process.
 */

void stp_ofi_loopback_amo(void *at, size_t size, enum stp_fabric_amo op, const void *operand,
                          const void *compare, void *result);

/* The progress thread (progress_thread.c). */

int stp_ofi_progress_start(void);
void stp_ofi_progress_stop(void);

/* Wakes the progress thread for work that its descriptors do not report. Cheap if it is awake. */
void stp_ofi_progress_wake(void);

#endif /* STP_OFI_INTERNAL_H */
