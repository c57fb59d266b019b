/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the interface between the library and the fabric module (lib/steppe/ofi.so), which a job
 * that needs a fabric loads with dlopen. The module exports one function, stp_ofi_open(). All other
 * calls pass through the tables struct stp_core and struct stp_fabric, on slow paths only.
 * Design: docs/design/fabric.md.
 *
 * Memory is named by region number and offset. A region is one symmetric space, which every PE of
 * the job registers under the same number. pe is always a world number. The caller has checked pe
 * and that [offset, offset + nbytes) is in the region.
 *
 * Operations return nothing, because a communication error is fatal for the job. The module reports
 * it through core->fatal with PE, operation, target and the provider's text. The module retries
 * after EAGAIN, with progress. Any thread that may use the context may call; the module locks.
 */
#ifndef STP_TRANSPORT_H
#define STP_TRANSPORT_H

#include "base/base.h"

#include <string.h>

#define STP_FABRIC_ABI 19u
#define STP_FABRIC_ADDR_MAX 256
#define STP_FABRIC_REGIONS 4096                   /* limit of region numbers (exclusive) */
#define STP_FABRIC_WORD_GROWS ((uint64_t)1 << 19) /* limit of a put_notify step (exclusive) */

#define STP_FABRIC_EXTENTS 16 /* maximum number of extents of a region */
#define STP_FABRIC_BUFFERS 64 /* maximum number of registered private device allocations */

#define STP_NETWORKS_MAX 16 /* maximum number of addresses considered per host */

/* Address of this host in a job of several hosts, with the verdict whether the others reach it. */
struct stp_network {
    char name[16]; /* name of the interface */
    int version;   /* IP version, 4 or 6 */
    int prefix;    /* length of the network prefix in bits */
    unsigned char addr[16];
    unsigned rank;    /* position in the order of preference of all hosts; 0 is the best */
    char refused[96]; /* reason why peers do not reach the address, or "" */
};

/* Returns whether the first n bits of two addresses are equal. */
static inline bool stp_same_bits(const unsigned char *a, const unsigned char *b, unsigned n)
{
    unsigned bytes = n / 8, rest = n % 8;

    return memcmp(a, b, bytes) == 0 && (rest == 0 || (a[bytes] ^ b[bytes]) >> (8 - rest) == 0);
}

/* Verdict on a provider, for programs. The texts and advice are in ofi/provider_report.c. */
enum stp_provider_verdict {
    STP_PROVIDER_UNJUDGED, /* no reason against the provider so far */
    STP_PROVIDER_USED,
    STP_PROVIDER_NOT_CHOSEN, /* provider that works but comes after another one */
    STP_PROVIDER_UNTRIED,    /* untested provider that comes after another one */
    STP_PROVIDER_TRIAL,      /* failure in a test of the PE with itself */
    STP_PROVIDER_NOT_OPENED,
    STP_PROVIDER_NOT_PROVIDER,  /* mismatch with SHMEM_OFI_PROVIDER */
    STP_PROVIDER_NOT_FABRIC,    /* mismatch with SHMEM_OFI_FABRIC */
    STP_PROVIDER_NOT_DOMAIN,    /* mismatch with SHMEM_OFI_DOMAIN */
    STP_PROVIDER_NOT_INTERFACE, /* mismatch with SHMEM_OFI_INTERFACE */
    STP_PROVIDER_NO_RMA,        /* lack of remote memory access */
    STP_PROVIDER_NO_ATOMICS,    /* lack of atomics and of messages */
    STP_PROVIDER_REGISTRATION,  /* need for an unsupported kind of registration */
    STP_PROVIDER_MODE,          /* need for an unsupported application mode */
    STP_PROVIDER_UNSAFE,        /* provider that works badly, refused unless the user names it */
    STP_PROVIDER_ONE_HOST,      /* provider for one host in a job of several hosts */
    STP_PROVIDER_TOO_MANY,      /* too many PEs for the provider */
    STP_PROVIDER_NUMBERS,       /* process numbers as names although PID namespaces differ */
    STP_PROVIDER_ONE_LINK,      /* address that is valid on one link only */
    STP_PROVIDER_NETWORK,       /* address that the other hosts do not reach */
    STP_PROVIDER_ABSENT,        /* provider of libfabric that has nothing to offer here */
    STP_PROVIDER_NO_DATAGRAMS,  /* lack of reliable datagram endpoints */
};

/* Report on one provider on one interface, valid during the call of report(). */
struct stp_provider_status {
    const char *provider;
    const char *domain;
    const char *reason;  /* reason why the provider is used or refused */
    const char *advice;  /* advice on how to make the provider usable, or NULL */
    const char *trouble; /* known defect in this libfabric and our workaround, or NULL */
    enum stp_provider_verdict code;
    int error;        /* errno of the failure, or 0 */
    bool leaves_host; /* true if other hosts can use the provider's address */
    bool pins;        /* true if registered memory must stay in physical memory */
    int fds_open;     /* number of descriptors of an endpoint, or -1 if not tested */
    int fds_peer;     /* number of descriptors per connected PE, or -1 if not tested */
};

/* Versions of libfabric, as major << 16 | minor. */
struct stp_fabric_version {
    uint32_t built;   /* version of the headers that the module was compiled with */
    uint32_t running; /* version of the library that the module has loaded */
};

/* Way in which a PE ended its part of the job. */
enum stp_pe_exit {
    STP_PE_EXIT_NONE,
    STP_PE_EXIT_EXIT,     /* exit from the program without shmem_finalize */
    STP_PE_EXIT_FINALIZE, /* call of shmem_finalize */
};

/*
 * Notice of a PE to all other PEs. Notices do not use fabric operations, so that they arrive
 * whatever the state of these operations is.
 */
struct stp_notice {
    enum { STP_NOTICE_ENDED = 1, STP_NOTICE_CLOSING } kind;
    int pe;               /* PE that ended the job or is closing */
    int status;           /* exit status of the job (ENDED) */
    enum stp_pe_exit how; /* way in which the PE is closing (CLOSING) */
    uint64_t syncs; /* final sync_epoch of the world on the PE (core/team_and_space_handles.h) */
    uint64_t cells; /* final sequence of the world on the PE */
    uint64_t round; /* number of times that the PE has sent this news */
};

/* Data and functions of the library that the module may use. */
struct stp_core {
    uint32_t abi;
    int pe;               /* world number of this PE */
    int n_pes;            /* number of PEs of the job */
    int n_local;          /* number of PEs on this host, with or without shared memory */
    int n_cores;          /* number of cores for these PEs; set before connect(), 0 in a test */
    bool foreign_pids;    /* true if PE 0 or this node's leader is in another PID namespace */
    uint64_t job_key;     /* random base of registration keys, equal on all PEs */
    uint64_t job_token;   /* random token of messages, equal on all PEs, unrelated to keys */
    bool thread_multiple; /* true if several application threads may call at once */
    bool devices;         /* true if this PE has device memory, which the provider should reach */
    const struct stp_env *env;
    const struct stp_network *networks; /* addresses of this host, NULL in a job on one host */
    int n_networks;
    void (*log)(int level, const char *fmt, ...) STP_PRINTF(2, 3);
    void (*fatal)(const char *routine, const char *fmt, ...) STP_PRINTF(2, 3)
        __attribute__((noreturn));
    /*
     * NULL, or a function that any thread (progress or application) calls after it may have served
     * peers, because requests of peers to the library's proxy thread must not wait for the
     * application. The function must not block, take locks or call the module. Set before open.
     */
    void (*on_progress)(void);
    /*
     * Handles a notice from another PE, on behalf of the progress thread or a wait. Does not return
     * if the job has ended.
     */
    void (*on_notice)(const struct stp_notice *notice);
    /*
     * NULL, or a function that a stalled wait of a program thread calls with the number of its
     * calls so far and a PE that has not replied, or -1. When the wait ends, it passes 0 and -1.
     * The wait may hold locks, so the function must not call the module.
     */
    void (*on_stall)(unsigned looks, int pe);
    /*
     * NULL, or a function that returns a DMA-BUF descriptor of device memory (FI_MR_DMABUF), or -1.
     * The memory begins at *offset of the descriptor, which the caller closes.
     */
    int (*dmabuf)(void *base, size_t nbytes, size_t *offset);
    /* See stp_thread_start() and stp_process_exit_if_program_over() in base/base.h. */
    int (*thread_start)(pthread_t *thread, const char *name, void *(*main)(void *));
    void (*thread_exit_check)(void);
    /* NULL, or a function that receives each provider of libfabric with the verdict on it. */
    void (*report)(void *arg, const struct stp_provider_status *offer);
    void *report_arg;
    struct stp_fabric_version *version; /* output, or NULL */
};

/* Descriptor by which peers reach one PE's part of a region. */
struct stp_fabric_region {
    uint64_t addr; /* address that is added to every offset; 0 with offset addressing */
    uint64_t key;
};

enum stp_fabric_amo {
    STP_AMO_SET,
    STP_AMO_ADD,
    STP_AMO_AND,
    STP_AMO_OR,
    STP_AMO_XOR,
    STP_AMO_FETCH,
    STP_AMO_SWAP,
    STP_AMO_CSWAP,
};

/* Memory kind of a region. */
enum stp_fabric_memory { STP_MEMORY_HOST, STP_MEMORY_CUDA };

/* Path by which this PE reaches a symmetric object on a PE. */
enum stp_access_path {
    STP_PATH_HOST,   /* loads and stores to host memory mapped in this process */
    STP_PATH_DEVICE, /* device copies from and to an address that is valid in this process */
    STP_PATH_FABRIC, /* fabric operations by region and offset */
    STP_PATH_STAGED, /* copies by the proxy thread of the owner PE */
    STP_PATH_CMA,    /* copies by the kernel from and to private pages of a process of the node */
};

struct stp_space;

/*
 * Location of a symmetric object on a PE, found once per operation. It is valid during the call of
 * the program only, so queued operations keep a struct stp_ofi_place instead. The module reads the
 * first four members.
 */
struct stp_target {
    const char *fn; /* name of the program's routine, for messages */
    int pe;
    unsigned number; /* number of the space and its region; not set on path HOST */
    size_t offset;   /* offset in the PE's part of the region; not set on path HOST */
    enum stp_access_path path;
    char *there;             /* address in this process, on paths HOST and DEVICE */
    struct stp_space *space; /* space of the object, on all paths except HOST */
};

struct stp_fabric_ctx; /* the module's part of a context, with counters of pending operations */

struct stp_fabric {
    uint32_t abi;
    const char *provider;                    /* libfabric's name, such as "tcp;ofi_rxm" */
    const char *domain;                      /* name of the interface */
    const char *why_no_devices;              /* reason why device memory is not reached, or NULL */
    size_t addr_len;                         /* bytes of addr, equal on all PEs of a job */
    unsigned char addr[STP_FABRIC_ADDR_MAX]; /* address of this PE */
    bool cpu_atomics;    /* true if the provider's atomics mix with CPU atomics of the node */
    bool close_at_abort; /* true if close() must also run at abort, because it removes files */
    uint32_t dialect;    /* format of atomics and keys, which must be equal on all PEs */
    bool needs_syscalls; /* true if operations and polls are system calls */
    bool peer_table;     /* true if region_peers() needs a table, because descriptors differ */

    /*
     * Stores the addresses of all PEs, n_pes entries of addr_len bytes, which stay valid as long as
     * the module is open. Called once. Returns 0 or -errno.
     */
    int (*connect)(const void *addrs);

    /*
     * Registers this PE's part [base, base + nbytes) of region number and sets *mine. device is
     * ignored for host memory. Returns 0 or -errno; -EOPNOTSUPP, not logged, if the provider does
     * not reach such memory. A PE without a part does not call it.
     */
    int (*region_add)(unsigned number, void *base, size_t nbytes, enum stp_fabric_memory memory,
                      int device, struct stp_fabric_region *mine);
    /*
     * Copies every PE's descriptor of the region (n_pes entries) if peer_table is set. Otherwise
     * peers is NULL, and all PEs share one key and offset addressing. Returns 0 or -errno.
     */
    int (*region_peers)(unsigned number, const struct stp_fabric_region *peers);
    /*
     * Completes this PE's operations on the region, on all contexts. The region may be removed
     * after this call and a sync of the PEs with a part. An operation still queued then is fatal.
     */
    void (*region_drain)(unsigned number);
    void (*region_remove)(unsigned number);
    /*
     * region_grow() registers an extent of more bytes after the end of this PE's part of a region
     * and sets *mine, its descriptor. region_grown() adds the extent to the region, when all PEs
     * with a part have registered theirs and before a PE uses it. peers has the descriptors of the
     * extent as for region_peers(), or is NULL if the region is not used through the fabric because
     * the memory of some PEs is not registered. region_shrink() drops the extent instead. Return 0
     * or -errno, not logged. A region grows at most STP_FABRIC_EXTENTS - 1 times. Operations on the
     * region may continue meanwhile.
     */
    int (*region_grow)(unsigned number, size_t more, struct stp_fabric_region *mine);
    int (*region_grown)(unsigned number, const struct stp_fabric_region *peers);
    void (*region_shrink)(unsigned number);

    /*
     * buffer_add() registers an allocation of private CUDA device memory for local use, with a
     * number below STP_FABRIC_BUFFERS. It returns 0 or -errno, not logged. set_current_local_mr()
     * selects the allocation (or -1 for none) whose buffers this thread may pass to put and get
     * until its next call. Operations hold the registration, and while they do, buffer_remove()
     * returns false without any change.
     */
    int (*buffer_add)(unsigned number, void *base, size_t nbytes, int device);
    void (*set_current_local_mr)(int number);
    bool (*buffer_remove)(unsigned number);

    /* Creates a context. With alone, one thread at a time uses it, so it may get an endpoint. */
    int (*ctx_create)(bool alone, struct stp_fabric_ctx **ctx);
    void (*ctx_destroy)(struct stp_fabric_ctx *ctx); /* Called after quiet. */

    /*
     * Transfer nbytes > 0 bytes. The source of a put may be reused on return, or with nbi after
     * quiet. The data of a get has arrived on return, or with nbi after quiet. The local buffer is
     * host memory, or is in a region of this PE or in the thread's current private allocation. Only
     * the provider copies memory other than host memory, and only put and get work on regions of
     * such memory, because store and amo need host memory and a signal in host memory may overtake
     * data for a device. The caller therefore puts, quiets and signals in separate steps.
     */
    void (*put)(struct stp_fabric_ctx *ctx, const struct stp_target *dest, const void *source,
                size_t nbytes, bool nbi);
    void (*get)(struct stp_fabric_ctx *ctx, const struct stp_target *source, void *dest,
                size_t nbytes, bool nbi);

    /* Writes 1, 2, 4 or 8 naturally aligned bytes without tearing. value is copied. */
    void (*store)(struct stp_fabric_ctx *ctx, const struct stp_target *dest, const void *value,
                  size_t nbytes);

    /*
     * Performs an atomic on one element. operand and compare are copied. result is NULL for an
     * operation that fetches nothing, which quiet completes; else it is set on return, or with nbi
     * by quiet.
     */
    void (*amo)(struct stp_fabric_ctx *ctx, const struct stp_target *dest, enum stp_fabric_amo op,
                enum stp_dtype dtype, const void *operand, const void *compare, void *result,
                bool nbi);

    /*
     * Puts the data and then updates the signal word on that PE (op STP_AMO_SET or STP_AMO_ADD), so
     * that a thread that sees the signal sees the data. If nbytes is 0, dest is not read.
     */
    void (*put_signal)(struct stp_fabric_ctx *ctx, const struct stp_target *dest,
                       const void *source, size_t nbytes, const struct stp_target *word,
                       uint64_t signal, enum stp_fabric_amo op, bool nbi);

    /*
     * Puts nbytes > 0 bytes and then updates a word that only grows, in a region that is never
     * removed. value is the increment, or the new value (STP_AMO_SET), less than
     * STP_FABRIC_WORD_GROWS above the old one. quiet completes the data only, whose source may be
     * reused then; the PE that owns the word waits for it. So data and word may be one message,
     * where a signal would wait for its data.
     */
    void (*put_notify)(struct stp_fabric_ctx *ctx, const struct stp_target *dest,
                       const void *source, size_t nbytes, const struct stp_target *word,
                       uint64_t value, enum stp_fabric_amo op);

    void (*fence)(struct stp_fabric_ctx *ctx); /* Orders operations per PE, as the standard says. */
    void (*quiet)(struct stp_fabric_ctx *ctx); /* Completes operations; data is visible to all. */
    /* As quiet, but for operations to these PEs only. pes may have any order and repetitions. */
    void (*quiet_pes)(struct stp_fabric_ctx *ctx, const int *pes, size_t n_pes);

    /*
     * Lets the module collect small operations of the context from now on, or, with batch false,
     * stops that. total_ops is the expected number of operations, or SIZE_MAX if unknown. All rules
     * above still hold, and collected operations reach their target even if no thread calls again.
     */
    void (*session)(struct stp_fabric_ctx *ctx, bool batch, size_t total_ops);

    /*
     * Lets targets of the context delay acknowledgements until another message goes to this PE. No
     * thread waits for completions of the context before quiet, and quiet requests missing
     * acknowledgements.
     */
    void (*allow_delayed_ack)(struct stp_fabric_ctx *ctx);

    /* Serves peers and completions, and never blocks. Every wait of the library calls it. */
    void (*progress)(void);

    /*
     * Declares that the job is ending. Every PE has completed its work, and only the words of a
     * last sync are in flight. From here on a failed operation counts as completed, because its
     * target may have left after it received the data.
     */
    void (*finish)(void);

    /*
     * Sends a notice to the PEs at distances of powers of two from this PE; receivers pass it on.
     * Notices are datagrams, sent with best effort and without waiting. May be called between
     * connect and close, from any thread or signal handler, whatever locks are held.
     */
    void (*tell)(const struct stp_notice *notice);

    void (*close)(void);
};

/*
 * Opens the best provider. core must live as long as the module. Returns 0 and fills *fabric, or
 * returns -errno after logging which providers were seen and why each was refused. With fabric NULL
 * only the report is made, and nothing stays open.
 */
typedef int (*stp_ofi_open_fn)(const struct stp_core *core, struct stp_fabric *fabric);
int stp_ofi_open(const struct stp_core *core, struct stp_fabric *fabric);

#endif /* STP_TRANSPORT_H */
