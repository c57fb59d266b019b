/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the internals of the fabric module: endpoints with their completion queues, requests
 * that carry an operation from its post to its completion, messages that replace features that a
 * provider lacks, and the thread that serves peers while the application computes. Only files of
 * this directory include this header and the headers of libfabric. Design: docs/design/fabric.md.
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

#define STP_OFI_VERSION FI_VERSION(1, 17) /* version of libfabric's interface, not of its library */
#define STP_OFI_ENDPOINTS 64u

/* ---- contexts ----------------------------------------------------------- */

/*
 * Operations that quiet must wait for are counted in one of two counters, which the current phase
 * selects. quiet advances the phase and then waits until the counter of the old phase is 0. New
 * operations use the other counter, so quiet ends even if other threads keep issuing operations.
 */
struct stp_fabric_ctx {
    struct stp_ofi_endpoint *endpoint;
    unsigned phase;
    unsigned pending[2];
    /* Whether messages were sent that later operations of the provider may overtake. */
    bool messages;
    bool batching;               /* whether a session collects small operations (batch.c) */
    bool allow_delayed_ack;      /* whether targets may delay acknowledgements */
    pthread_mutex_t quiet;       /* lock of quiet, which one thread at a time executes */
    struct stp_ofi_batch *batch; /* batch, or NULL until an operation is collected */
} STP_ALIGNED_LINE;

/* Returns the counter of the current phase, which counts operations that are issued now. */
static inline unsigned *stp_ofi_ctx_pending(struct stp_fabric_ctx *ctx)
{
    return &ctx->pending[__atomic_load_n(&ctx->phase, __ATOMIC_RELAXED) & 1];
}

/* Counts the request on the context, so that quiet of this context waits for the request. */
static inline void stp_ofi_count_on_ctx(struct stp_ofi_req *req, struct stp_fabric_ctx *ctx)
{
    unsigned *pending = stp_ofi_ctx_pending(ctx);

    __atomic_fetch_add(pending, 1, __ATOMIC_RELAXED);
    stp_ofi_count_on(req, pending);
}

/* struct stp_fabric in transport.h describes these functions (ofi_quiet_and_fence.c). */
int stp_ofi_ctx_create(bool alone, struct stp_fabric_ctx **ctx);
void stp_ofi_ctx_free(struct stp_fabric_ctx *ctx);
void stp_ofi_fence(struct stp_fabric_ctx *ctx);
void stp_ofi_quiet(struct stp_fabric_ctx *ctx);
void stp_ofi_quiet_pes(struct stp_fabric_ctx *ctx, const int *pes, size_t n_pes);

/* ---- the module --------------------------------------------------------- */

/*
 * The extents by which a region of host memory has grown (region_mr.c). Extent 0 is the region as
 * it was added. Entry i of each array belongs to extent i + 1. Entries below n do not change any
 * more.
 */
struct stp_ofi_extents {
    unsigned n; /* number of entries, which all PEs have registered */
    /* Offsets of the extents. Extent i + 1 begins at begin[i] and ends at begin[i + 1]. */
    size_t begin[STP_FABRIC_EXTENTS];
    struct fid_mr *mr[STP_FABRIC_EXTENTS - 1]; /* registrations; mr[n] is not used yet */
    struct stp_fabric_region *peers[STP_FABRIC_EXTENTS - 1]; /* descriptors by PE */
};

struct stp_ofi_region {
    struct fid_mr *mr;               /* registration, or NULL if this PE has no part */
    char *base;                      /* start of this PE's part */
    size_t nbytes;                   /* size of this PE's part, which may grow */
    unsigned generation;             /* value of stp_ofi.generation when last added or removed */
    bool device;                     /* whether this PE's part is device memory */
    bool listed;                     /* whether local_mr.c finds the region by its address */
    struct stp_fabric_region *peers; /* descriptors by PE, or NULL if all PEs have the same one */
    struct stp_ofi_extents *more;    /* extents by which the region has grown, or NULL */
    struct stp_ofi_local_mr_ref *lease; /* registration of a private buffer, else NULL */
};

struct stp_ofi {
    struct stp_ofi_endpoint main; /* endpoint that contexts share and on which peers are served */

    uint64_t key_base; /* registration key of region 0, if this PE chooses keys */
    unsigned n_listed; /* number of regions and buffers that local_mr.c searches */
    size_t max_msg;    /* most bytes of one operation of the provider */
    size_t bounce_size;
    size_t inject_size; /* most bytes of a message that fi_inject() can send */
    size_t packed_size; /* bytes of a packed message, or 0 without packed messages */
    int self;           /* number of this PE if the CPU accesses its own part of memory, else -1 */
    bool cpu_atomics;
    bool by_message; /* whether atomics are sent as messages, because the provider lacks atomics */
    /* Whether small operations are collected while an earlier one to the same PE is outstanding. */
    bool coalesces_small;
    bool needs_syscalls;  /* whether each post and each poll makes system calls, as on TCP */
    bool has_cqdata;      /* whether a write may carry remote CQ data (write_cqdata.c) */
    unsigned max_pieces;  /* most puts that one write combines */
    bool may_lose_amo;    /* whether a broken connection may lose atomics without an error */
    bool update_by_fetch; /* whether updates are posted as fetches whose result is not used */
    bool peer_table;
    bool ordered; /* whether the provider keeps writes and atomics to one peer in order */
    bool hmem;    /* whether the provider was opened with access to device memory */
    const char *why_no_devices; /* reason why device memory of this PE is not used, or NULL */
    bool mr_local;              /* whether local buffers must be registered too */
    int spin;                   /* number of polls before a wait yields the core */
    /* Whether the job ends. An operation that fails then counts as completed. */
    bool finishing;

    /* Number of requests for which no thread waits any more, because their PE has left the job. */
    unsigned abandoned STP_ALIGNED_LINE;
    unsigned unwaited; /* number of outstanding messages for which no thread waits */
    int failure;       /* last error of an operation that failed while the job ends */

    const struct stp_core *core STP_ALIGNED_LINE;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    const unsigned char *world; /* addresses by PE, addr_len bytes each; memory of the library */
    size_t addr_len;
    pthread_mutex_t av_lock; /* guards insertions into all address tables */
    int wait_fd;             /* descriptor of the main queue, or -1 without one */
    bool by_sockets;         /* whether the progress thread sleeps on the provider's sockets */

    pthread_mutex_t endpoints_lock; /* guards the list of endpoints and their n_ctxs */
    unsigned n_endpoints;           /* number of endpoints besides main; they stay until close */
    struct stp_ofi_endpoint *endpoints[STP_OFI_ENDPOINTS];

    unsigned generation; /* counter of additions and removals of regions */
    struct stp_ofi_region regions[STP_FABRIC_REGIONS];
};

extern struct stp_ofi stp_ofi;

/* Returns whether peers may send messages to this PE (atomics or packed messages). */
static inline bool stp_ofi_has_inbox(void)
{
    return stp_ofi.by_message || stp_ofi.packed_size > 0;
}

/*
 * Returns whether writes, atomics and messages of the context stay in order without a wait. If
 * atomics are not messages, nothing keeps a batch in order with earlier atomics.
 */
static inline bool stp_ofi_in_order(const struct stp_fabric_ctx *ctx)
{
    return stp_ofi.ordered &&
           (stp_ofi.by_message ? ctx->endpoint == &stp_ofi.main
                               : !stp_ofi.coalesces_small &&
                                     __atomic_load_n(&ctx->batch, __ATOMIC_RELAXED) == NULL);
}

/* Properties of each provider, found by its name (provider_table.c). */

enum {
    STP_OFI_KERNEL = 1, /* provider that makes system calls for each post and each poll */
    STP_OFI_LATE = 2,   /* provider on which peers can contact a PE that does not know them */
    /* Provider that locks a whole domain, and whose endpoints are cheap (0.1 ms, 50 KB). */
    STP_OFI_OWN_DOMAIN = 4,
    STP_OFI_CPU = 8,           /* provider that executes atomics on the target's CPU */
    STP_OFI_MAY_LOSE_AMO = 16, /* provider that loses atomics if a connection breaks */
    STP_OFI_SHM = 32,          /* the shm provider, which names processes by number */
};

struct stp_ofi_provider {
    const char *name;
    unsigned flags;
    int sleepers; /* most PEs of a job whose progress threads sleep on sockets */
    /* Reason why the provider is only used if SHMEM_OFI_PROVIDER names it, or NULL. */
    const char *refused;
    /* First version of libfabric in which the provider registers DMA-BUF descriptors, or 0. */
    uint32_t dmabuf_since;
    struct {
        /*
         * First libfabric version that is affected, and first fixed version (0 if none is known).
         */
        uint32_t from, before;
        const char *text; /* text on the trouble, or NULL */
    } trouble;
};

/*
 * Returns the row of the provider in the table. A provider without a row of its own has the row of
 * its layer, or otherwise the row with the name "".
 */
const struct stp_ofi_provider *stp_ofi_provider_of(const struct fi_info *info);
bool stp_ofi_is(const struct fi_info *info, unsigned flag);

/* Returns the provider's place in the order of preference. Place 0 is the best. */
int stp_ofi_rank_of(const struct fi_info *info);

/*
 * Returns whether the name wanted matches provider. The name "tcp" matches "tcp;ofi_rxm", but
 * "tcp;ofi_rxm" does not match "tcp".
 */
bool stp_ofi_names(const char *wanted, const char *provider);

/* Provider choice (provider_select.c). */

struct stp_ofi_choice {
    struct fi_info *info;
    const char *refused;            /* reason why info is refused, or NULL */
    bool unnamed;                   /* whether info is refused because the user names another */
    int cost;                       /* cost of info; the cheapest info is tried first */
    char text[96];                  /* text to which refused may point */
    enum stp_provider_verdict code; /* verdict on info, for programs */
    int error;                      /* errno of a failed trial */
    int fds_open;                   /* descriptors of an endpoint in a report, else -1 */
    int fds_peer;
};

/*
 * Lists the infos that libfabric offers to this job, best first and refused ones last. The infos
 * live as long as *all, which the caller frees with fi_freeinfo(). The caller frees the array
 * *choices with free(). Returns the number of infos, or -errno, which is logged unless it is
 * -ENOMEM.
 */
int stp_ofi_provider_select(const struct stp_core *core, struct fi_info **all,
                            struct stp_ofi_choice **choices);

/* Returns the message order that keeps puts to one peer in order with atomics or messages. */
uint64_t stp_ofi_order_needed(const struct fi_info *info);

/*
 * Returns a variant of info, for the same interface, that guarantees the order of reads, writes and
 * atomics to one peer. Returns NULL if the provider does not guarantee it. The caller frees the
 * variant.
 */
struct fi_info *stp_ofi_info_with_order(const struct fi_info *info);

/*
 * Returns a variant of info, for the same interface, with access to device memory. Returns NULL if
 * the provider cannot access device memory. Not every PE of a job may have devices. The variant
 * therefore works with peers that use info itself. The caller frees the variant.
 */
struct fi_info *stp_ofi_info_for_device_memory(const struct fi_info *info);

/*
 * Returns a variant of info, for the same interface, with messages instead of the provider's
 * atomics. Returns NULL if the provider has no messages. The caller frees the variant.
 */
struct fi_info *stp_ofi_info_for_messages(const struct fi_info *info);

/*
 * As stp_ofi_info_for_messages(), but the variant also has atomics. Its messages are for batches.
 */
struct fi_info *stp_ofi_info_for_amo_and_messages(const struct fi_info *info);

/* Network interfaces (netif_select.c). */

/* Returns whether SHMEM_OFI_INTERFACE is not set, or names the interface of info. */
bool stp_ofi_netif_named(const struct fi_info *info, const struct stp_env *env);

/* Returns why other hosts of the job cannot reach the address of info, or NULL if they can. */
const char *stp_ofi_netif_unreachable(const struct fi_info *info, const struct stp_core *core);

/* Returns the place (0 to 16, 0 is best) of info's interface in the order that all hosts share. */
int stp_ofi_netif_place_in_job_order(const struct fi_info *info, const struct stp_core *core);

/* Returns -EINVAL if SHMEM_OFI_INTERFACE names no interface, after logging the available names. */
int stp_ofi_netif_check_env_matches(const struct fi_info *infos, const struct stp_core *core);

/* Endpoints (domain_endpoint.c). */

/*
 * Opens the fabric, domain, completion queue and endpoint for info. Returns 0. On failure returns
 * -errno, sets *why to the step that failed, and leaves nothing open.
 */
int stp_ofi_domain_endpoint_open(const struct stp_core *core, const struct fi_info *info,
                                 const char **why);
void stp_ofi_close_endpoint_domain_fabric(void);
int stp_ofi_make_published_address(unsigned char *addr, size_t *addr_len);
int stp_ofi_connect(const void *addrs);

/*
 * Forbids CUDA calls of the provider in an endpoint, if device memory is used. The endpoint is not
 * enabled yet. Returns 0, or -errno if the provider needs such calls
 * (forbid_provider_cuda_calls.c).
 */
int stp_ofi_forbid_cuda(struct fid_ep *ep);

/* Opens the completion queue and the endpoint on a domain. Returns 0, or -errno with *why set. */
int stp_ofi_endpoint_open(struct stp_ofi_endpoint *endpoint, struct fid_domain *domain,
                          struct fid_av *av, bool wait_fd, const char **why);
void stp_ofi_endpoint_close(struct stp_ofi_endpoint *endpoint);

/* Addresses (address.c). */

int stp_ofi_av_open(struct fid_domain *domain, struct fid_av **av);

/* Makes the endpoint's address table. Inserts all addresses unless they are added at first use. */
int stp_ofi_endpoint_connect(struct stp_ofi_endpoint *endpoint);
void stp_ofi_endpoint_free_addrs(struct stp_ofi_endpoint *endpoint);

/*
 * Tests the open provider with operations of this PE on itself. Returns 0, or -errno with *why set
 * if the provider does not work as promised. Closes the provider in both cases.
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

/* Registers host memory, with key if this PE chooses keys. Returns 0 or -errno, not logged. */
int stp_ofi_mr_open(void *base, size_t nbytes, uint64_t key, struct fid_mr **mr);

/* As stp_ofi_mr_open(), but for memory of the CUDA device with this number. */
int stp_ofi_mr_open_device(void *base, size_t nbytes, uint64_t key, int device, struct fid_mr **mr);
/* Enables mr if the provider requires that. On failure closes mr and returns -errno. */
int stp_ofi_mr_enable(struct fid_mr *mr);

/* Returns the descriptor by which peers access the registered memory. */
struct stp_fabric_region stp_ofi_mr_describe(struct fid_mr *mr, void *base);
/* Replaces the table *to by a copy of the table peers. Returns 0 or -ENOMEM. */
int stp_ofi_peer_regions_replace(struct stp_fabric_region **to,
                                 const struct stp_fabric_region *peers);

int stp_ofi_region_grow(unsigned number, size_t more, struct stp_fabric_region *mine);
int stp_ofi_region_grown(unsigned number, const struct stp_fabric_region *peers);
void stp_ofi_region_undo_grow(unsigned number);
void stp_ofi_extents_close(struct stp_ofi_region *region); /* Closes all extents except extent 0. */

/*
 * Returns the region's extents, or NULL. Pairs with the release stores in more_of() and
 * stp_ofi_extents_close().
 */
static inline const struct stp_ofi_extents *stp_ofi_extents(const struct stp_ofi_region *region)
{
    return __atomic_load_n(&region->more, __ATOMIC_ACQUIRE);
}

/*
 * Returns the number of bytes from offset to the end of the extent that contains offset. In the
 * last extent, returns SIZE_MAX.
 */
size_t stp_ofi_extent_left(const struct stp_ofi_extents *more, size_t offset);
/* Returns the registration of the nbytes at offset, or NULL if no single extent contains them. */
struct fid_mr *stp_ofi_extent_mr(const struct stp_ofi_region *region, size_t offset, size_t nbytes);

/*
 * Returns the number of writes or reads that a transfer of nbytes at offset needs. An operation has
 * at most size bytes and stays in one extent.
 */
unsigned stp_ofi_extent_pieces(const struct stp_ofi_extents *more, size_t offset, size_t nbytes,
                               size_t size);

static inline bool stp_ofi_has_grown(unsigned number)
{
    return STP_UNLIKELY(stp_ofi_extents(&stp_ofi.regions[number]) != NULL);
}

/* Returns whether nbytes at the target span several extents, so they need several operations. */
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

/* Returns the address at this offset in this PE's own part of a region. */
static inline void *stp_ofi_local_ptr(unsigned number, size_t offset)
{
    return stp_ofi.regions[number].base + offset;
}

/*
 * As stp_ofi_local_ptr(), but returns NULL if this PE's part has no nbytes at this offset, or if it
 * is device memory.
 */
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
        /* The generation only changes while no thread may issue operations on the region. */
        .generation = __atomic_load_n(&region->generation, __ATOMIC_RELAXED),
        .offset = target->offset};
}

/* Returns the address and key of a place on PE pe, in the form that the provider expects. */
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

/* Local buffers (local_mr.c). */

void stp_ofi_local_mr_index_add(unsigned number);
void stp_ofi_local_mr_index_remove(unsigned number);
const struct stp_ofi_region *stp_ofi_local_mr_find(const void *local);

/* Private buffers, see transport.h. stp_ofi_user_buffers_close() closes all that remain. */
int stp_ofi_buffer_add(unsigned number, void *base, size_t nbytes, int device);
void stp_ofi_set_current_local_mr(int number);
bool stp_ofi_buffer_remove(unsigned number);
void stp_ofi_user_buffers_close(void);

/*
 * Returns the listed region in which the local buffer begins. Otherwise returns this thread's
 * private buffer if local is in it, or NULL. Regions of device memory are listed. All regions are
 * listed if local buffers need registration.
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

/* Returns whether the CPU can copy between this PE's part of the region and the local buffer. */
static inline bool stp_ofi_by_cpu(unsigned number, const void *local)
{
    return !stp_ofi.regions[number].device && !stp_ofi_on_device(local);
}

/* The fragments of a transfer, and the registration of the local buffer for the provider. */
struct stp_ofi_fragments {
    size_t size; /* bytes of each fragment, except the last one */
    unsigned n;
    bool copied; /* whether data is copied through the requests */
    void *desc;
    struct stp_ofi_local_mr_ref *lease; /* registration that each fragment references, or NULL */
};

/*
 * Divides a transfer of nbytes > 0 into fragments. If the target's region has several extents, each
 * fragment is in one extent. kind is STP_OFI_WRITE if the operation reads the buffer local, and
 * STP_OFI_READ if it writes this buffer.
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

/* Drops the reference of one operation. The last reference closes the registration. */
void stp_ofi_local_mr_unref(struct stp_ofi_local_mr_ref *lease);

/* Registers memory of this module if FI_MR_LOCAL requires that. Otherwise sets *mr to NULL. */
int stp_ofi_reg_internal_if_needed(void *base, size_t nbytes, struct fid_mr **mr);

/* Posting and completing (post_and_cq_poll.c). */

/* Posts the request. Waits with progress while the provider is busy. */
void stp_ofi_post_until_accepted(struct stp_ofi_req *req);

/* Tries to post the request once. Returns 0, -FI_EAGAIN, or another error of the provider. */
ssize_t stp_ofi_post_once(struct stp_ofi_req *req);

/*
 * Posts a request for which no thread waits. If the provider is busy, a later read of the
 * endpoint's queue posts the request. The caller holds endpoint->drain.
 */
void stp_ofi_post_or_defer_locked(struct stp_ofi_endpoint *endpoint, struct stp_ofi_req *req);

/*
 * Counts one event of a message: the end of its send, or its reply. The last event completes the
 * request. The caller holds the main endpoint's drain lock.
 */
void stp_ofi_message_part_done_locked(struct stp_ofi_req *req);

/*
 * Reads completions and serves peers. Returns the number of completions, or 0 if another thread is
 * doing this.
 */
int stp_ofi_poll_cq_once(struct stp_ofi_endpoint *endpoint);

/* Polls the main endpoint and all busy endpoints. Returns the number of completions. */
int stp_ofi_poll_all_queues(void);

/* Waits with progress until *pending is 0. Results of the completed operations are then visible. */
void stp_ofi_wait_zero(struct stp_ofi_endpoint *endpoint, unsigned *pending);

/*
 * Marks the job as ending. From now on, failed operations and operations to PEs that have left
 * count as completed.
 */
void stp_ofi_set_job_ending(void);

/* Returns whether the main endpoint has requests for which the provider had no room. */
bool stp_ofi_has_retry(void);

/*
 * Makes all requests to PE pe count on stp_ofi.abandoned. Threads that wait for these requests then
 * stop waiting.
 */
void stp_ofi_abandon_reqs_to(int pe);
void stp_ofi_progress(void);

/* The state of one wait for the fabric. Its initial value is {.endpoint = endpoint}. */
struct stp_ofi_wait {
    struct stp_ofi_endpoint *endpoint;
    unsigned polls;
    int spun; /* number of polls since the last completion or yield */
    /* Time when the wait first stalled or last checked its peers, or 0. */
    uint64_t since_ns;
    /*
     * Number of calls of on_stall(). If it is not 0, stp_ofi_wait_end() reports the end of the
     * wait.
     */
    unsigned looks;
};

/* Makes one step of a wait: makes progress, spins or yields, and checks peers if it stalls. */
void stp_ofi_wait_step(struct stp_ofi_wait *wait);

/*
 * Ends the job if the target of an outstanding operation has gone (peer_failure.c). A wait without
 * progress calls this function from time to time.
 */
void stp_ofi_wait_stalled(struct stp_ofi_wait *wait);

static inline void stp_ofi_wait_end(const struct stp_ofi_wait *wait)
{
    if (STP_UNLIKELY(wait->looks > 0)) stp_ofi.core->on_stall(0, -1);
}

/* As fi_strerror(), but names a limit that the user can raise, as stp_errno_text() does. */
const char *stp_ofi_strerror(int error);

/* Operations as in transport.h (ofi_rma.c, ofi_atomic.c, ofi_signal.c, ofi_quiet_and_fence.c). */

void stp_ofi_session(struct stp_fabric_ctx *ctx, bool batch, size_t total_ops);
void stp_ofi_allows_delayed_ack(struct stp_fabric_ctx *ctx);
void stp_ofi_put(struct stp_fabric_ctx *ctx, const struct stp_target *dest, const void *source,
                 size_t nbytes, bool nbi);
/*
 * Posts a put before it returns, and never collects it. The target is another PE, or the put reads
 * or writes device memory.
 */
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

/* Packs the update of a word into *data, or returns false if it does not fit (write_cqdata.c). */
bool stp_ofi_cqdata_pack(const struct stp_target *word, uint64_t value, enum stp_fabric_amo op,
                         uint64_t *data);
/* Applies the update at the target. The caller holds the main endpoint's drain lock. */
void stp_ofi_cqdata_apply_to_word_locked(uint64_t data);

/* Returns a request for one fragment of a local buffer. The request has no counter yet. */
struct stp_ofi_req *stp_ofi_req_prepare_one_fragment(struct stp_ofi_endpoint *endpoint,
                                                     enum stp_ofi_kind kind,
                                                     const struct stp_target *target,
                                                     const struct stp_ofi_fragments *fragments,
                                                     const void *local, size_t nbytes);

/*
 * Puts or gets nbytes in fragments that count on *pending. The caller has added the number of
 * fragments to *pending. then is NULL, or the signal that is posted when all fragments are
 * complete.
 */
void stp_ofi_post_fragments(struct stp_ofi_endpoint *endpoint, enum stp_ofi_kind kind,
                            const struct stp_ofi_fragments *fragments,
                            const struct stp_target *target, const void *local, size_t nbytes,
                            unsigned *pending, struct stp_ofi_req *then);

/* Returns a request for an atomic, which has no counter yet. The arguments are those of amo(). */
struct stp_ofi_req *stp_ofi_atomic_prepare(struct stp_fabric_ctx *ctx,
                                           const struct stp_target *dest, enum stp_fabric_amo op,
                                           enum stp_dtype dtype, const void *operand,
                                           const void *compare, void *result);

/* Returns why the atomics of a domain do not suffice, or NULL if they do (ofi_atomic.c). */
const char *stp_ofi_atomics_missing(struct fid_domain *domain);

/*
 * Executes an atomic on this PE's own memory with the CPU (self_amo_by_cpu.c). at is an address of
 * this process.
 */

void stp_ofi_loopback_amo(void *at, size_t size, enum stp_fabric_amo op, const void *operand,
                          const void *compare, void *result);

/* The progress thread (progress_thread.c). */

int stp_ofi_progress_start(void);
void stp_ofi_progress_stop(void);

/* Wakes the progress thread for work that no descriptor reports. Cheap if the thread is awake. */
void stp_ofi_progress_wake(void);

#endif /* STP_OFI_INTERNAL_H */
