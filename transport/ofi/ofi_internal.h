/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the internals of the fabric module. Endpoints have completion queues. Requests represent
 * operations from their post to their completion. Messages replace features that a provider lacks.
 * The progress thread serves peers while the application computes. Only files of this directory
 * include this header and the headers of libfabric. Design: docs/design/fabric.md.
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

#define STP_OFI_VERSION FI_VERSION(1, 17) /* version of libfabric's API that the module requests */
#define STP_OFI_ENDPOINTS 64u

/* ---- contexts ----------------------------------------------------------- */

/*
 * A context has two counters of operations for which quiet must wait. The phase selects the counter
 * for new operations. quiet advances the phase and then waits until the counter of the old phase is
 * 0. New operations use the other counter, so quiet ends even if other threads keep issuing
 * operations.
 */
struct stp_fabric_ctx {
    struct stp_ofi_endpoint *endpoint;
    unsigned phase;
    unsigned pending[2];
    /*
     * Whether a message may be outstanding. The provider may execute later operations before such a
     * message.
     */
    bool messages;
    bool batching;               /* whether a session collects small operations (batch.c) */
    bool allow_delayed_ack;      /* whether targets may delay acknowledgements */
    pthread_mutex_t quiet;       /* lock that lets only one thread at a time execute quiet */
    struct stp_ofi_batch *batch; /* batch, or NULL until an operation is collected */
} STP_ALIGNED_LINE;

/* Returns the counter of the current phase, which counts operations that are issued now. */
static inline unsigned *stp_ofi_ctx_pending(struct stp_fabric_ctx *ctx)
{
    return &ctx->pending[__atomic_load_n(&ctx->phase, __ATOMIC_RELAXED) & 1];
}

/*
 * Adds the request to the outstanding operations of the context, so that quiet of this context
 * waits for the request.
 */
static inline void stp_ofi_count_on_ctx(struct stp_ofi_req *req, struct stp_fabric_ctx *ctx)
{
    unsigned *pending = stp_ofi_ctx_pending(ctx);

    __atomic_fetch_add(pending, 1, __ATOMIC_RELAXED);
    stp_ofi_count_on(req, pending);
}

/*
 * Functions of contexts (ofi_quiet_and_fence.c). The comments in struct stp_fabric (transport.h)
 * describe them.
 */
int stp_ofi_ctx_create(bool one_thread, struct stp_fabric_ctx **ctx);
void stp_ofi_ctx_free(struct stp_fabric_ctx *ctx);
void stp_ofi_fence(struct stp_fabric_ctx *ctx);
void stp_ofi_quiet(struct stp_fabric_ctx *ctx);
void stp_ofi_quiet_pes(struct stp_fabric_ctx *ctx, const int *pes, size_t n_pes);

/* ---- the module --------------------------------------------------------- */

/*
 * Extents that were added to a region of host memory when the region grew (region_mr.c). Extent 0
 * is the memory of the region before it first grew. This extent is not in the arrays. Entry i of
 * each array belongs to extent i + 1. Entries with an index below n never change.
 */
struct stp_ofi_extents {
    unsigned n; /* number of added extents that all PEs have registered */
    /* Offsets of the extents. Extent i + 1 begins at begin[i] and ends at begin[i + 1]. */
    size_t begin[STP_FABRIC_EXTENTS];
    /*
     * Registrations of the extents. While the region grows, mr[n] is registered but not used yet.
     */
    struct fid_mr *mr[STP_FABRIC_EXTENTS - 1];
    struct stp_fabric_region *peers[STP_FABRIC_EXTENTS - 1]; /* descriptors by PE */
};

struct stp_ofi_region {
    /* Registration, or NULL if this PE has no part of the region. */
    struct fid_mr *mr;
    char *base;    /* start of this PE's part */
    size_t nbytes; /* size of this PE's part, which may grow */
    /* Value of stp_ofi.generation when the region was last added or removed. */
    unsigned generation;
    bool device;                     /* whether this PE's part is device memory */
    bool listed;                     /* whether local_mr.c finds the region by its address */
    struct stp_fabric_region *peers; /* descriptors of all PEs, or NULL if they are all equal */
    struct stp_ofi_extents *extents; /* extents by which the region has grown, or NULL */
    struct stp_ofi_local_mr_ref
        *mr_ref; /* registration of a private buffer, or NULL for a region */
};

struct stp_ofi {
    /*
     * Main endpoint, which contexts without an endpoint of their own share. Messages from peers
     * arrive on this endpoint.
     */
    struct stp_ofi_endpoint main;

    uint64_t key_base; /* registration key of region 0, if the module chooses keys */
    unsigned n_listed; /* number of regions and buffers that local_mr.c searches */
    size_t max_msg;    /* maximum size of one operation of the provider in bytes */
    size_t bounce_size;
    size_t inject_size; /* maximum size of a message for fi_inject() in bytes */
    size_t packed_size; /* size of a packed message in bytes, or 0 if not used */
    /*
     * Number of this PE if the CPU executes operations of this PE on its own memory. Otherwise -1.
     */
    int self;
    bool cpu_atomics;
    bool by_message; /* whether atomics are sent as messages, because the provider lacks atomics */
    /*
     * Whether small operations are collected while an earlier operation to the same PE is
     * outstanding.
     */
    bool coalesces_small;
    bool needs_syscalls;  /* whether each post and each poll makes system calls, as on TCP */
    bool has_cqdata;      /* whether a write may carry remote CQ data (write_cqdata.c) */
    unsigned max_pieces;  /* maximum number of puts that one write combines */
    bool may_lose_amo;    /* whether a broken connection may lose atomics without an error */
    bool update_by_fetch; /* whether an atomic without a result is posted as a fetch */
    bool peer_table;
    bool ordered; /* whether the provider keeps writes and atomics to one peer in order */
    bool hmem;    /* whether the provider was opened with access to device memory */
    const char *no_devices_reason; /* reason why device memory of this PE is not used, or NULL */
    bool mr_local;                 /* whether the provider needs registrations of local buffers */
    int spin;                      /* number of polls after which a wait yields the core */
    /* Whether the job is ending. An operation that fails then counts as completed. */
    bool finishing;

    /* Number of requests for which no thread waits any more, because their PE has left the job. */
    unsigned abandoned STP_ALIGNED_LINE;
    /* Number of outstanding replies and control messages. No thread waits for them. */
    unsigned unwaited;
    int failure; /* last error of an operation that failed while the job ends */

    const struct stp_core *core STP_ALIGNED_LINE;
    struct fi_info *info;
    /* Addresses of all PEs, addr_len bytes each. The library owns this memory. */
    const unsigned char *world;
    size_t addr_len;
    pthread_mutex_t av_lock; /* guards insertions into all address tables */
    int wait_fd;             /* wait descriptor of the main completion queue, or -1 */
    bool by_sockets;         /* whether the progress thread sleeps on the provider's sockets */
    /*
     * Whether the progress thread polls and naps although a wait descriptor exists, because some
     * operations of peers do not wake a thread that sleeps on the descriptor.
     */
    bool naps;

    /* Guards the list of endpoints and the field n_ctxs of each endpoint. */
    pthread_mutex_t endpoints_lock;
    /* Number of endpoints in addition to main. Endpoints stay open until the module is closed. */
    unsigned n_endpoints;
    struct stp_ofi_endpoint *endpoints[STP_OFI_ENDPOINTS];

    unsigned generation; /* number of additions and removals of regions so far */
    struct stp_ofi_region regions[STP_FABRIC_REGIONS];
};

extern struct stp_ofi stp_ofi;

#define STP_OFI_N_INBOXES 128 /* number of receive buffers for atomics and packed messages */

/* Returns whether peers may send atomics or packed messages to this PE. */
static inline bool stp_ofi_has_inbox(void)
{
    return stp_ofi.by_message || stp_ofi.packed_size > 0;
}

/*
 * Returns whether writes, atomics and messages of the context to one PE stay in order without a
 * wait. If the provider executes atomics, a context with a batch does not keep this order. The
 * messages of the batch are then not ordered with earlier atomics.
 */
static inline bool stp_ofi_in_order(const struct stp_fabric_ctx *ctx)
{
    return stp_ofi.ordered &&
           (stp_ofi.by_message ? ctx->endpoint == &stp_ofi.main
                               : !stp_ofi.coalesces_small &&
                                     __atomic_load_n(&ctx->batch, __ATOMIC_RELAXED) == NULL);
}

/* Properties of providers. The table in provider_table.c finds them by the name of the provider. */

enum {
    STP_OFI_KERNEL = 1, /* provider that makes system calls for each post and each poll */
    STP_OFI_LATE = 2,   /* provider that accepts connections from PEs with unknown addresses */
    /*
     * Provider that locks a whole domain during each call. Its endpoints are cheap (0.1 ms and 50
     * KB), so each of them gets its own domain.
     */
    STP_OFI_OWN_DOMAIN = 4,
    STP_OFI_CPU = 8,           /* provider that executes atomics on the target's CPU */
    STP_OFI_MAY_LOSE_AMO = 16, /* provider that may lose atomics if a connection breaks */
    STP_OFI_SHM = 32,          /* the shm provider, which identifies processes by their number */
};

struct stp_ofi_provider {
    const char *name;
    unsigned flags;
    /*
     * Data progress that the module requests. With FI_PROGRESS_MANUAL, operations of peers were
     * observed to wake the progress thread. With the other values, the self-test checks this.
     * FI_PROGRESS_UNSPEC also requests manual progress.
     */
    enum fi_progress progress;
    /* Maximum number of PEs of a job in which progress threads sleep on the provider's sockets. */
    int sleepers;
    /* Reason why the provider is only used if SHMEM_OFI_PROVIDER names it, or NULL. */
    const char *refusal;
    /* First version of libfabric in which the provider registers DMA-BUF descriptors, or 0. */
    uint32_t dmabuf_since;
    struct {
        /*
         * The field since is the first version of libfabric with the defect. The field fixed_in is
         * the first version without the defect, or 0 if no such version is known.
         */
        uint32_t since, fixed_in;
        const char *text; /* description of the defect, or NULL */
    } trouble;
};

/*
 * Returns the row of the provider in the table. If a provider has no row of its own, returns the
 * row of its layer, such as ";ofi_rxm". If the layer has no row either, returns the row with the
 * name "".
 */
const struct stp_ofi_provider *stp_ofi_provider_of(const struct fi_info *info);
bool stp_ofi_is(const struct fi_info *info, unsigned flag);

/* Returns the place of the provider in the order of preference. Place 0 is the best. */
int stp_ofi_rank_of(const struct fi_info *info);

/*
 * Compares two names of providers and returns whether they match. The argument requested is the
 * name that the user has set. The argument provider is the full name of a provider. For example,
 * "tcp" matches "tcp;ofi_rxm", but "tcp;ofi_rxm" does not match "tcp".
 */
bool stp_ofi_names(const char *requested, const char *provider);

/* Provider choice (provider_select.c). */

struct stp_ofi_choice {
    struct fi_info *info;
    const char *reason; /* reason for the verdict, or NULL while info has no verdict */
    /* Whether info is refused because the user has named another provider or interface. */
    bool excluded;
    bool host_only;                 /* whether the provider connects only processes of one host */
    int cost;                       /* cost of info, where a lower cost is better */
    char text[96];                  /* buffer for texts; `reason` may point to it */
    enum stp_provider_verdict code; /* verdict on info as a code for programs */
    int error;                      /* errno of a failed test, or 0 */
    /*
     * The field fds_open is the number of descriptors that an open endpoint uses. The field
     * fds_peer is the estimated number of further descriptors for each connected peer. Both numbers
     * are counted for a report only, and are otherwise -1.
     */
    int fds_open;
    int fds_peer;
};

/*
 * Returns the name of the provider about which libfabric is asked first, or NULL if it is asked
 * about all providers. A question about all providers takes longer. For example, the verbs provider
 * then reads /proc/kallsyms. The name is that in SHMEM_OFI_PROVIDER. If this variable is not set,
 * and this host has no RDMA device, the name is tcp.
 */
const char *stp_ofi_provider_to_ask_first(const struct stp_core *core);

/*
 * Lists the infos that libfabric offers to this job. If provider is NULL, the list contains the
 * infos of all providers. Otherwise it contains only those of the named provider. The list begins
 * with the best info. Refused infos are at its end. The infos live as long as *all_infos, which the
 * caller frees with fi_freeinfo(). The caller frees the array *choices with free(). Returns the
 * number of infos, or -errno. The error is logged unless it is -ENOMEM or a provider was named.
 */
int stp_ofi_provider_select(const struct stp_core *core, const char *provider,
                            struct fi_info **all_infos, struct stp_ofi_choice **choices);

/*
 * Returns the bits FI_ORDER_* that a provider must grant in order to keep operations to one peer in
 * order. If info has atomics, the bits are for puts and atomics. Otherwise they are for puts and
 * messages.
 */
uint64_t stp_ofi_order_needed(const struct fi_info *info);

/*
 * Returns a variant of info for the same interface. The variant guarantees the order of reads,
 * writes and atomics to one peer. Returns NULL if the provider does not guarantee this order. The
 * caller frees the variant.
 */
struct fi_info *stp_ofi_info_with_order(const struct fi_info *info);

/*
 * Returns a variant of info for the same interface. The variant has access to device memory. It can
 * communicate with peers that use info itself, because some PEs of a job may have no devices.
 * Returns NULL if the provider cannot access device memory. The caller frees the variant.
 */
struct fi_info *stp_ofi_info_for_device_memory(const struct fi_info *info);

/*
 * Returns a variant of info for the same interface. The variant has messages instead of the
 * provider's atomics. Returns NULL if the provider has no messages. The caller frees the variant.
 */
struct fi_info *stp_ofi_info_for_messages(const struct fi_info *info);

/*
 * Returns a variant of info as stp_ofi_info_for_messages() does, with the provider's atomics too.
 * The messages are needed for batches.
 */
struct fi_info *stp_ofi_info_for_amo_and_messages(const struct fi_info *info);

/*
 * Sets the data progress that the table requests for the provider of info. If the provider does not
 * grant FI_PROGRESS_AUTO, sets FI_PROGRESS_MANUAL.
 */
void stp_ofi_request_progress(struct fi_info *info);

/* Network interfaces (netif_select.c). */

/*
 * Returns whether the user allows the interface of info. This is true if SHMEM_OFI_INTERFACE names
 * the interface or is not set.
 */
bool stp_ofi_netif_named(const struct fi_info *info, const struct stp_env *env);

/*
 * Returns the reason why other hosts of the job cannot reach the address of info. Returns NULL if
 * they can reach it.
 */
const char *stp_ofi_netif_unreachable(const struct fi_info *info, const struct stp_core *core);

/*
 * Returns the place of info's interface in the order of preference that all hosts share. Places are
 * 0 (best) to 16.
 */
int stp_ofi_netif_place_in_job_order(const struct fi_info *info, const struct stp_core *core);

/*
 * Returns 0 if SHMEM_OFI_INTERFACE is not set or names an available interface. Otherwise logs the
 * names of the available interfaces and returns -EINVAL. If the module only makes a report, always
 * returns 0.
 */
int stp_ofi_netif_check_env_matches(const struct fi_info *infos, const struct stp_core *core);

/* Endpoints (domain_endpoint.c). */

/*
 * Opens the fabric, the domain, the completion queue and the endpoint for info. Returns 0 on
 * success. On failure, closes all of them and returns -errno. In this case, *reason describes the
 * failed step.
 */
int stp_ofi_domain_endpoint_open(const struct stp_core *core, const struct fi_info *info,
                                 const char **reason);
void stp_ofi_close_endpoint_domain_fabric(void);
int stp_ofi_make_published_address(unsigned char *addr, size_t *addr_len);
int stp_ofi_connect(const void *addrs);

/*
 * Forbids the provider to make CUDA calls in operations on this endpoint. Does nothing if device
 * memory is not used. Called before the endpoint is enabled. Returns 0, or -errno if the provider
 * needs such calls. Defined in forbid_provider_cuda_calls.c.
 */
int stp_ofi_forbid_cuda(struct fid_ep *ep);

/*
 * Opens a fabric, a domain and an address vector for the endpoint. Returns 0 on success. On failure
 * returns -errno, and *reason describes the failed step.
 */
int stp_ofi_domain_open(struct stp_ofi_endpoint *endpoint, const char **reason);
void stp_ofi_domain_close(struct stp_ofi_endpoint *endpoint);

/* Opens a completion queue and an endpoint on the domain of the endpoint, with the same results. */
int stp_ofi_endpoint_open(struct stp_ofi_endpoint *endpoint, bool wait_fd, const char **reason);
void stp_ofi_endpoint_close(struct stp_ofi_endpoint *endpoint);

/* Addresses (address.c). */

int stp_ofi_av_open(struct stp_ofi_endpoint *endpoint);

/*
 * Creates the endpoint's table of addresses. Inserts all addresses, unless they are inserted at
 * first use (address.c).
 */
int stp_ofi_endpoint_connect(struct stp_ofi_endpoint *endpoint);
void stp_ofi_endpoint_free_addrs(struct stp_ofi_endpoint *endpoint);

/*
 * Tests the open provider with operations of this PE on itself. Returns 0 if the provider works as
 * promised. Otherwise returns -errno, and *reason describes the failure. Closes the provider in
 * both cases. Also sets stp_ofi.naps.
 */
int stp_ofi_provider_self_test(const char **reason);

/* Regions (region.c). */

int stp_ofi_region_add(unsigned number, void *base, size_t nbytes, enum stp_fabric_memory memory,
                       int device, struct stp_fabric_region *my_region);
int stp_ofi_region_peers(unsigned number, const struct stp_fabric_region *peers);
void stp_ofi_region_drain(unsigned number);
void stp_ofi_region_remove(unsigned number);
void stp_ofi_region_remove_all(void);

/* Functions for registrations, and for regions that grow (region_mr.c). */

/*
 * Registers host memory. The argument key is used only if the module chooses the keys. Returns 0,
 * or -errno without logging.
 */
int stp_ofi_mr_open(void *base, size_t nbytes, uint64_t key, struct fid_mr **mr);

/* Does the same as stp_ofi_mr_open(), but for memory of the CUDA device with this number. */
int stp_ofi_mr_open_device(void *base, size_t nbytes, uint64_t key, int device, struct fid_mr **mr);
/*
 * Enables mr if the provider requires this. Returns 0 on success. On failure closes mr and returns
 * -errno.
 */
int stp_ofi_mr_enable(struct fid_mr *mr);

/* Returns the descriptor by which peers access the registered memory. */
struct stp_fabric_region stp_ofi_mr_describe(struct fid_mr *mr, void *base);
/* Replaces *table by a copy of the table peers. Returns 0 or -ENOMEM. */
int stp_ofi_peer_regions_replace(struct stp_fabric_region **table,
                                 const struct stp_fabric_region *peers);

int stp_ofi_region_grow(unsigned number, size_t nbytes, struct stp_fabric_region *my_region);
int stp_ofi_region_grown(unsigned number, const struct stp_fabric_region *peers);
void stp_ofi_region_undo_grow(unsigned number);
void stp_ofi_extents_close(struct stp_ofi_region *region); /* Closes all extents except extent 0. */

/*
 * Returns the region's extents, or NULL. Pairs with the release stores in extents_of() and
 * stp_ofi_extents_close().
 */
static inline const struct stp_ofi_extents *stp_ofi_extents(const struct stp_ofi_region *region)
{
    return __atomic_load_n(&region->extents, __ATOMIC_ACQUIRE);
}

/*
 * Returns the number of bytes from offset to the end of the extent that contains offset. If this is
 * the last extent, returns SIZE_MAX.
 */
size_t stp_ofi_extent_remaining(const struct stp_ofi_extents *extents, size_t offset);
/*
 * Returns the registration of the nbytes bytes at offset. Returns NULL if no single extent contains
 * all of them.
 */
struct fid_mr *stp_ofi_extent_mr(const struct stp_ofi_region *region, size_t offset, size_t nbytes);

/*
 * Returns the number of libfabric operations that a transfer of `nbytes` bytes at `offset` needs.
 * One operation transfers at most `size` bytes, all of them in one extent.
 */
unsigned stp_ofi_extent_pieces(const struct stp_ofi_extents *extents, size_t offset, size_t nbytes,
                               size_t size);

static inline bool stp_ofi_has_grown(unsigned number)
{
    return STP_UNLIKELY(stp_ofi_extents(&stp_ofi.regions[number]) != NULL);
}

/*
 * Returns whether nbytes bytes at the target span several extents. The transfer then needs several
 * operations.
 */
static inline bool stp_ofi_crosses(const struct stp_target *target, size_t nbytes)
{
    const struct stp_ofi_extents *extents = stp_ofi_extents(&stp_ofi.regions[target->number]);

    return STP_UNLIKELY(extents != NULL) &&
           stp_ofi_extent_remaining(extents, target->offset) < nbytes;
}

static inline size_t stp_ofi_region_bytes(const struct stp_ofi_region *region)
{
    /* Pairs with the release store in stp_ofi_region_grown(). */
    return __atomic_load_n(&region->nbytes, __ATOMIC_ACQUIRE);
}

/* Returns the address at this offset in this PE's own part of the region. */
static inline void *stp_ofi_local_ptr(unsigned number, size_t offset)
{
    return stp_ofi.regions[number].base + offset;
}

/*
 * Does the same as stp_ofi_local_ptr(), but also checks the range. Returns NULL if the nbytes bytes
 * at offset are not in this PE's part of the region. Also returns NULL if the part is device
 * memory.
 */
static inline void *stp_ofi_local_part(unsigned number, size_t offset, size_t nbytes)
{
    const struct stp_ofi_region *region = &stp_ofi.regions[number];
    size_t part_size = stp_ofi_region_bytes(region);

    /* Pairs with the release stores in stp_ofi_region_add() and stp_ofi_region_remove(). */
    if (__atomic_load_n(&region->mr, __ATOMIC_ACQUIRE) == NULL || region->device ||
        offset > part_size || part_size - offset < nbytes)
        return NULL;
    return region->base + offset;
}

/* ---- queued operations ------------------------------------------------------ */

static inline struct stp_ofi_place stp_ofi_place_of(const struct stp_target *target)
{
    const struct stp_ofi_region *region = &stp_ofi.regions[target->number];

    /*
     * A relaxed load suffices, because the generation changes only while no thread may issue
     * operations on the region.
     */
    return (struct stp_ofi_place){.fn = target->fn,
                                  .number = target->number,
                                  .generation =
                                      __atomic_load_n(&region->generation, __ATOMIC_RELAXED),
                                  .offset = target->offset};
}

/*
 * Returns the address and the key of a place on PE pe, in the form that the provider expects. Works
 * for regions that have grown, too.
 */
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

/*
 * Ends the job if a queued request names a region that was removed after the operation was issued.
 */
void stp_ofi_die_if_region_gone(const struct stp_ofi_req *req);

/* Local buffers (local_mr.c). */

void stp_ofi_local_mr_index_add(unsigned number);
void stp_ofi_local_mr_index_remove(unsigned number);
const struct stp_ofi_region *stp_ofi_local_mr_find(const void *local);

/*
 * Functions for private buffers, which transport.h describes. stp_ofi_user_buffers_close() closes
 * all buffers that remain.
 */
int stp_ofi_buffer_add(unsigned number, void *base, size_t nbytes, int device);
void stp_ofi_set_current_local_mr(int number);
bool stp_ofi_buffer_remove(unsigned number);
void stp_ofi_user_buffers_close(void);

/*
 * Returns the region or the private buffer in which the local buffer begins, or NULL. Considers
 * only listed regions and the private buffer that this thread has selected. Regions of device
 * memory are listed. If local buffers need registration, all regions are listed.
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

/*
 * The division of a transfer into fragments, and the registration of the local buffer for the
 * provider.
 */
struct stp_ofi_fragments {
    size_t size; /* maximum size of a fragment in bytes */
    unsigned n;
    bool copied; /* whether the data is copied through buffers in the requests */
    void *desc;
    struct stp_ofi_local_mr_ref *mr_ref; /* registration that each fragment references, or NULL */
};

/*
 * Divides a transfer of nbytes > 0 bytes into fragments. Each fragment is in one extent of the
 * target's region. The argument local is the address of the local buffer. The argument kind is
 * STP_OFI_WRITE if the provider reads this buffer, and STP_OFI_READ if the provider writes it.
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

/*
 * Drops one reference to the registration. The registration is closed when its last reference is
 * dropped.
 */
void stp_ofi_local_mr_unref(struct stp_ofi_local_mr_ref *mr_ref);

/*
 * Registers memory of this module if the provider sets FI_MR_LOCAL. Otherwise sets *mr to NULL.
 * Returns 0, or -errno after logging the error.
 */
int stp_ofi_reg_internal_if_needed(void *base, size_t nbytes, struct fid_mr **mr);

/* Functions that post and complete requests (post_and_cq_poll.c). */

/* Posts the request. Waits with progress while the provider is busy. */
void stp_ofi_post_until_accepted(struct stp_ofi_req *req);

/* Tries to post the request once. Returns 0, -FI_EAGAIN, or another error of the provider. */
ssize_t stp_ofi_post_once(struct stp_ofi_req *req);

/*
 * Posts a request for which no thread waits. If the provider is busy, the request is deferred. A
 * later read of the endpoint's completion queue then posts it. The caller holds endpoint->drain.
 */
void stp_ofi_post_or_defer_locked(struct stp_ofi_endpoint *endpoint, struct stp_ofi_req *req);

/*
 * Counts one event of a message, which is the completion of its send or the arrival of its reply.
 * The last event completes the request. The caller holds the main endpoint's drain lock.
 */
void stp_ofi_message_part_done_locked(struct stp_ofi_req *req);

/*
 * Reads completions once and serves peers. Returns the number of completions. Returns 0 if another
 * thread is reading the completion queue.
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
 * Abandons all requests to PE pe, which has left the job. The counter of each request becomes
 * stp_ofi.abandoned, so that threads stop waiting for the requests.
 */
void stp_ofi_abandon_reqs_to(int pe);
void stp_ofi_progress(void);

/* The state of one wait for the fabric. Its initial value is {.endpoint = endpoint}. */
struct stp_ofi_wait {
    struct stp_ofi_endpoint *endpoint;
    unsigned polls;
    int n_spins; /* number of polls since the last completion or yield */
    /*
     * Time of the last check of peers by this wait. If no check was made yet, this is the time when
     * the wait first stalled. The time is 0 if the wait has never stalled.
     */
    uint64_t since_ns;
    /*
     * Number of calls of on_stall() by this wait. If it is not 0, stp_ofi_wait_end() reports the
     * end of the wait.
     */
    unsigned n_stalls;
};

/*
 * Makes one step of a wait. A step polls for completions. If there are none, the step spins or
 * yields the core. From time to time, it also calls stp_ofi_wait_stalled().
 */
void stp_ofi_wait_step(struct stp_ofi_wait *wait);

/*
 * Called from time to time by a wait without progress. Reports the stall to the library. After a
 * while, also checks whether target PEs have ended and whether messages were lost. If either is
 * true, the job ends. Defined in peer_failure.c.
 */
void stp_ofi_wait_stalled(struct stp_ofi_wait *wait);

static inline void stp_ofi_wait_end(const struct stp_ofi_wait *wait)
{
    if (STP_UNLIKELY(wait->n_stalls > 0)) stp_ofi.core->on_stall(0, -1);
}

/*
 * Returns the text for an error of libfabric, as fi_strerror() does. If the error is a limit that
 * the user can raise, returns the text of stp_errno_text(), which names the limit.
 */
const char *stp_ofi_strerror(int error);

/*
 * Operations, which transport.h describes. They are defined in ofi_rma.c, ofi_atomic.c,
 * ofi_signal.c and ofi_quiet_and_fence.c.
 */

void stp_ofi_session(struct stp_fabric_ctx *ctx, bool batch, size_t total_ops);
void stp_ofi_allows_delayed_ack(struct stp_fabric_ctx *ctx);
void stp_ofi_put(struct stp_fabric_ctx *ctx, const struct stp_target *dest, const void *source,
                 size_t nbytes, bool nbi);
/*
 * Does the same as stp_ofi_put(), but always posts the put and never collects it. The target is
 * another PE, or the put reads or writes device memory.
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

/*
 * Encodes the update of a word as remote CQ data and stores it in *data. Returns false if the
 * update does not fit. Defined in write_cqdata.c.
 */
bool stp_ofi_cqdata_pack(const struct stp_target *word, uint64_t value, enum stp_fabric_amo op,
                         uint64_t *data);
/*
 * Decodes remote CQ data and updates the word in this PE's memory. The caller holds the main
 * endpoint's drain lock.
 */
void stp_ofi_cqdata_apply_to_word_locked(uint64_t data);

/*
 * Returns a request for one fragment of a local buffer. The caller must then set the counter of the
 * request by stp_ofi_count_on() or stp_ofi_count_on_ctx().
 */
struct stp_ofi_req *stp_ofi_req_prepare_one_fragment(struct stp_ofi_endpoint *endpoint,
                                                     enum stp_ofi_kind kind,
                                                     const struct stp_target *target,
                                                     const struct stp_ofi_fragments *fragments,
                                                     const void *local, size_t nbytes);

/*
 * Posts the fragments of a put or get of nbytes bytes. Each completion subtracts one from *pending,
 * to which the caller has added the number of fragments. The argument signal_req is NULL, or the
 * request of a signal that is posted when all fragments are complete.
 */
void stp_ofi_post_fragments(struct stp_ofi_endpoint *endpoint, enum stp_ofi_kind kind,
                            const struct stp_ofi_fragments *fragments,
                            const struct stp_target *target, const void *local, size_t nbytes,
                            unsigned *pending, struct stp_ofi_req *signal_req);

/*
 * Returns a request for an atomic. The caller must then set the counter of the request by
 * stp_ofi_count_on() or stp_ofi_count_on_ctx(). The arguments have the same meaning as those of
 * amo() in struct stp_fabric.
 */
struct stp_ofi_req *stp_ofi_atomic_prepare(struct stp_fabric_ctx *ctx,
                                           const struct stp_target *dest, enum stp_fabric_amo op,
                                           enum stp_dtype dtype, const void *operand,
                                           const void *compare, void *result);

/*
 * Returns the reason why the atomics of a domain do not suffice, or NULL if they suffice. Defined
 * in ofi_atomic.c.
 */
const char *stp_ofi_atomics_missing(struct fid_domain *domain);

/*
 * Executes an atomic on this PE's own memory with the CPU. The argument element is an address in
 * this process. Defined in self_amo_by_cpu.c.
 */
void stp_ofi_loopback_amo(void *element, size_t size, enum stp_fabric_amo op, const void *operand,
                          const void *compare, void *result);

/* The progress thread (progress_thread.c). */

int stp_ofi_progress_start(void);
void stp_ofi_progress_stop(void);

/*
 * Wakes the progress thread. Called for work that causes no event at the descriptors on which the
 * thread sleeps. The call is cheap if the thread is awake.
 */
void stp_ofi_progress_wake(void);

#endif /* STP_OFI_INTERNAL_H */
