/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract between the library and a fabric module (lib/steppe/ofi.so), which is loaded
 * with dlopen by jobs that need a fabric. The module exports one function, stp_ofi_open();
 * everything else passes through these two tables. Called on the slow path only.
 * Design: docs/design/fabric.md.
 *
 * Memory is named by (region number, offset): a region is one symmetric space, registered by
 * every PE of the job under the same number. pe is always a world number. The caller has
 * checked pe and that [offset, offset + nbytes) lies in the region.
 *
 * Operations return nothing: a communication error is fatal for the job and reported through
 * core->fatal with PE, operation, target and the provider's words. EAGAIN is retried inside,
 * with progress. All may be called from any thread that may use the context; the module locks.
 */
#ifndef STP_TRANSPORT_H
#define STP_TRANSPORT_H

#include "base/base.h"

#include <string.h>

#define STP_FABRIC_ABI 19u
#define STP_FABRIC_ADDR_MAX 256
#define STP_FABRIC_REGIONS 4096                   /* region numbers are below it */
#define STP_FABRIC_WORD_GROWS ((uint64_t)1 << 19) /* put_notify: a word grows by less at a time */

#define STP_FABRIC_EXTENTS 16 /* pieces that a region can grow to have */
#define STP_FABRIC_BUFFERS 64 /* allocations of private device memory that are registered */

#define STP_NETWORKS_MAX 16 /* addresses of one host that are looked at */

/* One address of this host, in a job of several: can the other hosts reach it? */
struct stp_network {
    char name[16]; /* of the interface */
    int version;   /* of the internet protocol: 4 or 6 */
    int prefix;    /* bits of the network */
    unsigned char addr[16];
    unsigned rank;    /* 0 is the best; the same order on all hosts */
    char refused[96]; /* why peers do not reach it; empty: they do */
};

/* Are the first n bits of two addresses the same? */
static inline bool stp_same_bits(const unsigned char *a, const unsigned char *b, unsigned n)
{
    unsigned bytes = n / 8, rest = n % 8;

    return memcmp(a, b, bytes) == 0 && (rest == 0 || (a[bytes] ^ b[bytes]) >> (8 - rest) == 0);
}

/* What became of a provider, for programs; texts and advice are in ofi/provider_report.c. */
enum stp_provider_verdict {
    STP_PROVIDER_UNJUDGED, /* nothing is wrong with it so far */
    STP_PROVIDER_USED,
    STP_PROVIDER_NOT_CHOSEN, /* works, another comes first */
    STP_PROVIDER_UNTRIED,    /* may work, another comes first */
    STP_PROVIDER_TRIAL,      /* failed a trial with itself */
    STP_PROVIDER_NOT_OPENED,
    STP_PROVIDER_NOT_PROVIDER, /* not what SHMEM_OFI_PROVIDER names; the next three likewise */
    STP_PROVIDER_NOT_FABRIC,
    STP_PROVIDER_NOT_DOMAIN,
    STP_PROVIDER_NOT_INTERFACE,
    STP_PROVIDER_NO_RMA, /* it lacks what the library needs; so does the next */
    STP_PROVIDER_NO_ATOMICS,
    STP_PROVIDER_REGISTRATION, /* it wants what we cannot give; so does the next */
    STP_PROVIDER_MODE,
    STP_PROVIDER_UNSAFE,       /* works badly: refused unless named */
    STP_PROVIDER_ONE_HOST,     /* and the job has several */
    STP_PROVIDER_TOO_MANY,     /* PEs for it */
    STP_PROVIDER_NUMBERS,      /* of processes mean others to other PEs */
    STP_PROVIDER_ONE_LINK,     /* its address is valid on one link */
    STP_PROVIDER_NETWORK,      /* its address does not reach the other hosts */
    STP_PROVIDER_ABSENT,       /* libfabric has the provider, which finds nothing to offer here */
    STP_PROVIDER_NO_DATAGRAMS, /* it has no reliable datagram endpoints */
};

/* One provider on one interface, in a report; valid during the call. */
struct stp_provider_status {
    const char *provider;
    const char *domain;
    const char *reason;  /* why it is used or not */
    const char *advice;  /* what would make it usable; NULL: nothing needs to be done, or can */
    const char *trouble; /* known of it in this version of libfabric, and what we do; or NULL */
    enum stp_provider_verdict code;
    int error;        /* errno of what failed, 0: nothing did */
    bool leaves_host; /* its address means something to other hosts */
    bool pins;        /* registered memory must be, and stay, in memory */
    int fds_open;     /* descriptors that an endpoint took, -1: not tried */
    int fds_peer;     /* and a connection to one more PE */
};

/* Versions of libfabric: major << 16 | minor. */
struct stp_fabric_version {
    uint32_t built;   /* of the headers that the module was compiled with */
    uint32_t running; /* of the library that it has loaded */
};

/* How a PE came to the end of its part of the job. */
enum stp_pe_exit {
    STP_PE_EXIT_NONE,
    STP_PE_EXIT_EXIT,     /* it left the program without shmem_finalize */
    STP_PE_EXIT_FINALIZE, /* it has called shmem_finalize */
};

/*
 * What a PE tells all others beside the fabric's operations, so that it arrives whatever state
 * these are in.
 */
struct stp_notice {
    enum { STP_NOTICE_ENDED = 1, STP_NOTICE_CLOSING } kind;
    int pe;     /* whom it is about */
    int status; /* ENDED: what the job ends with */
    enum stp_pe_exit
        how;        /* CLOSING: the PE will take part in no collective over the world behind */
    uint64_t syncs; /* these: counts of a team (core/team_and_space_handles.h) */
    uint64_t cells;
    uint64_t round; /* a later one is the same news again */
};

/* What the module may use of the library. */
struct stp_core {
    uint32_t abi;
    int pe;               /* this PE, world number */
    int n_pes;            /* PEs of the job */
    int n_local;          /* PEs on this host, whether or not they use load and store */
    int n_cores;          /* that they may use together; set before connect(), 0 in a trial */
    bool foreign_pids;    /* PE 0 is in another PID namespace than this PE */
    uint64_t job_key;     /* random, equal on all PEs: base of registration keys */
    uint64_t job_token;   /* the same, of messages between libraries: no key tells it */
    bool thread_multiple; /* application threads may call at once */
    bool devices;         /* this PE sees device memory: ask for a provider that reaches it */
    const struct stp_env *env;
    const struct stp_network *networks; /* NULL when all PEs of the job are on this host */
    int n_networks;
    void (*log)(int level, const char *fmt, ...) STP_PRINTF(2, 3);
    void (*fatal)(const char *routine, const char *fmt, ...) STP_PRINTF(2, 3)
        __attribute__((noreturn));
    /*
     * NULL, or called by whatever thread, the progress thread or the application's, may just have
     * served peers: what they wrote for the library's own proxy thread must not wait for the
     * application. Must not block, take locks or call back. Set before open.
     */
    void (*on_progress)(void);
    /*
     * A notice of another PE has come; called by the progress thread and by waits. Does not return
     * when the job has ended.
     */
    void (*on_notice)(const struct stp_notice *notice);
    /*
     * NULL, or called by a wait of a thread of the program in which nothing completes: how often it
     * has been by now, and a PE that has not answered, or -1. When it ends, 0 and -1. It comes
     * with what the wait holds locked, so it must not call back.
     */
    void (*on_stall)(unsigned looks, int pe);
    /*
     * NULL, or a descriptor of the device memory that a region is to be made of, to register from
     * *offset on (FI_MR_DMABUF); the caller closes it. -1: there is none.
     */
    int (*dmabuf)(void *base, size_t nbytes, size_t *offset);
    /* As stp_thread_start() and stp_process_exit_if_program_over() in base/base.h. */
    int (*thread_start)(pthread_t *thread, const char *name, void *(*main)(void *));
    void (*thread_exit_check)(void);
    /* NULL, or told of each provider that libfabric offers and why it is used or refused. */
    void (*report)(void *arg, const struct stp_provider_status *offer);
    void *report_arg;
    struct stp_fabric_version *version; /* NULL, or filled */
};

/* Where one PE's part of a region is, as its peers must name it. */
struct stp_fabric_region {
    uint64_t addr; /* added to every offset; 0 with offset addressing */
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

/* What memory a region is. */
enum stp_fabric_memory { STP_MEMORY_HOST, STP_MEMORY_CUDA };

/* How the bytes of a symmetric object on a PE are reached from here. */
enum stp_access_path {
    STP_PATH_HOST,   /* host memory mapped here */
    STP_PATH_DEVICE, /* device memory that copies of its kind can name here */
    STP_PATH_FABRIC, /* by region and offset */
    STP_PATH_STAGED, /* by the proxy thread of the PE that owns it */
    STP_PATH_CMA,    /* private pages of a process of the node: the kernel copies */
};

struct stp_space;

/*
 * A symmetric object on a PE, located once for an operation, which hands it down. Valid during the
 * call of the program alone: what is queued keeps a struct stp_ofi_place. The fabric reads the
 * first four members.
 */
struct stp_target {
    const char *fn; /* the routine of the program, for messages */
    int pe;
    unsigned number; /* of the space, and of its region; on path HOST not set, nor offset */
    size_t offset;   /* in that PE's part of the region */
    enum stp_access_path path;
    char *there;             /* on paths HOST and DEVICE: its address here */
    struct stp_space *space; /* on the other paths, and on DEVICE */
};

struct stp_fabric_ctx; /* the module's half of a context: counters of issued and completed work */

struct stp_fabric {
    uint32_t abi;
    const char *provider;                    /* as libfabric names it: "tcp;ofi_rxm" */
    const char *domain;                      /* interface */
    const char *why_no_devices;              /* memory of devices is not reached; NULL: it is */
    size_t addr_len;                         /* bytes of addr, the same on all PEs of a job */
    unsigned char addr[STP_FABRIC_ADDR_MAX]; /* this PE's address */
    bool cpu_atomics;    /* provider atomics are CPU atomics: they mix with those of the node */
    bool close_at_abort; /* leaves files behind otherwise: close() also when the job is aborted */
    uint32_t dialect;    /* how atomics and keys travel: PEs that differ in it do not understand */
    bool needs_syscalls; /* operations, and looks for what has come, are system calls */
    bool peer_table;     /* descriptors differ between PEs: region_peers() needs the table */

    /*
     * Learn all addresses: n_pes entries of addr_len bytes, by PE, which live as long as the module
     * is open. Returns 0 or -errno. Once.
     */
    int (*connect)(const void *addrs);

    /*
     * Register this PE's part [base, base + nbytes) of region number, of the given memory on the
     * given device (host: ignored). Sets *mine. 0 or -errno; -EOPNOTSUPP, not logged, when the
     * provider does not reach such memory. A PE without a part does not call it.
     */
    int (*region_add)(unsigned number, void *base, size_t nbytes, enum stp_fabric_memory memory,
                      int device, struct stp_fabric_region *mine);
    /*
     * Learn every PE's descriptor of the region (n_pes entries, copied) when peer_table is set;
     * NULL otherwise: every peer uses the key and offset addressing of this PE. 0 or -errno.
     */
    int (*region_peers)(unsigned number, const struct stp_fabric_region *peers);
    /*
     * Complete what this PE has under way to the region, on all contexts. Behind it, and a sync of
     * the PEs with a part, it may be removed: what is still queued then ends the job.
     */
    void (*region_drain)(unsigned number);
    void (*region_remove)(unsigned number);
    /*
     * Register more bytes behind the end of this PE's part of a region, of the same memory. Sets
     * *mine, the descriptor of this piece. As yet they are no part of the region; they become one
     * by region_grown(), when all PEs with a part have registered as many, and before any of them
     * names these bytes; peers as for region_peers(), of this piece, or NULL where no PE does, for
     * the memory of some is not registered. region_shrink() forgets them instead. 0 or -errno, not
     * logged. At most STP_FABRIC_EXTENTS - 1 times a region; operations on the region go on
     * meanwhile.
     */
    int (*region_grow)(unsigned number, size_t more, struct stp_fabric_region *mine);
    int (*region_grown)(unsigned number, const struct stp_fabric_region *peers);
    void (*region_shrink)(unsigned number);

    /*
     * Register an allocation of private memory on a CUDA device, for this side alone, as number of
     * STP_FABRIC_BUFFERS. 0 or -errno, not logged. use: until the next call of this thread, buffers
     * in it may be passed to put and get, whose operations hold the registration; -1: in none.
     * remove: false, and nothing changed, while operations hold it.
     */
    int (*buffer_add)(unsigned number, void *base, size_t nbytes, int device);
    void (*set_current_local_mr)(int number);
    bool (*buffer_remove)(unsigned number);

    /* alone: one thread at a time will use it, which may give it an endpoint of its own. */
    int (*ctx_create)(bool alone, struct stp_fabric_ctx **ctx);
    void (*ctx_destroy)(struct stp_fabric_ctx *ctx); /* after quiet */

    /*
     * Put: source may be reused on return; nbi: not before quiet. Get: the data is there on return;
     * nbi: after quiet. nbytes > 0, any size.
     * source and dest on this side are host memory, or lie in one of this PE's regions or in the
     * buffer that the thread uses, and those of memory other than the host's are copied by the
     * provider only. On such regions these two
     * are all that works: store and amo are for host memory, and a signal in host memory may
     * overtake data for a device, so the caller puts, quiets and signals in steps.
     */
    void (*put)(struct stp_fabric_ctx *ctx, const struct stp_target *dest, const void *source,
                size_t nbytes, bool nbi);
    void (*get)(struct stp_fabric_ctx *ctx, const struct stp_target *source, void *dest,
                size_t nbytes, bool nbi);

    /* Write 1, 2, 4 or 8 naturally aligned bytes without tearing. value is copied. */
    void (*store)(struct stp_fabric_ctx *ctx, const struct stp_target *dest, const void *value,
                  size_t nbytes);

    /*
     * Atomic on one element. operand, compare: copied. result: NULL for the operations that fetch
     * nothing (then completion by quiet); with nbi it is filled by quiet, else on return.
     */
    void (*amo)(struct stp_fabric_ctx *ctx, const struct stp_target *dest, enum stp_fabric_amo op,
                enum stp_dtype dtype, const void *operand, const void *compare, void *result,
                bool nbi);

    /*
     * Put, then update the signal word of the same PE (op STP_AMO_SET or STP_AMO_ADD) so that
     * whoever sees the signal sees the data. nbytes may be 0; dest is not read then.
     */
    void (*put_signal)(struct stp_fabric_ctx *ctx, const struct stp_target *dest,
                       const void *source, size_t nbytes, const struct stp_target *word,
                       uint64_t signal, enum stp_fabric_amo op, bool nbi);

    /*
     * Put, nbytes > 0, then update a word that only grows, in a region that is never removed:
     * value is what it becomes (STP_AMO_SET), less than STP_FABRIC_WORD_GROWS above what it is, or
     * what is added. quiet means the data alone, whose source may be reused then: the word is
     * waited for by the PE that owns it. So data and word may be one message, where a signal would
     * wait for its data.
     */
    void (*put_notify)(struct stp_fabric_ctx *ctx, const struct stp_target *dest,
                       const void *source, size_t nbytes, const struct stp_target *word,
                       uint64_t value, enum stp_fabric_amo op);

    void (*fence)(struct stp_fabric_ctx *ctx); /* order per target, as the standard says */
    void (*quiet)(struct stp_fabric_ctx *ctx); /* complete and visible to all PEs; results here */
    /* The same of what goes to these PEs, in any order and more than once; other work goes on. */
    void (*quiet_pes)(struct stp_fabric_ctx *ctx, const int *pes, size_t n_pes);

    /*
     * From now on small operations of the context may be collected, or, with batch false, not any
     * more; total_ops are expected, SIZE_MAX: nobody knows. A hint: all that is said above holds,
     * and what was collected reaches its target also while nobody calls.
     */
    void (*session)(struct stp_fabric_ctx *ctx, bool batch, size_t total_ops);

    /*
     * Nobody waits for what the context sends to be complete before its quiet, which asks for what
     * is missing: its targets may keep their answers until something else goes to this PE.
     */
    void (*allow_delayed_ack)(struct stp_fabric_ctx *ctx);

    /* Serve peers and completions; never blocks. Called by every wait of the library. */
    void (*progress)(void);

    /*
     * The job is ending: every PE has completed its work, and only the words of a last sync are
     * under way. From here on an operation that fails counts as completed, since its target may
     * have gone after it got the data.
     */
    void (*finish)(void);

    /*
     * Send a notice to the PEs at distances of powers of two from this one; who is told passes it
     * on. Datagrams: best effort, nothing is waited for. Between connect and close, from any
     * thread, from signal handlers, whatever locks are held.
     */
    void (*tell)(const struct stp_notice *notice);

    void (*close)(void);
};

/*
 * Open the provider. core lives as long as the module. Returns 0 and fills *fabric, or -errno
 * after logging which providers were seen and why each was refused. With fabric NULL nothing
 * is kept open: for the report alone.
 */
typedef int (*stp_ofi_open_fn)(const struct stp_core *core, struct stp_fabric *fabric);
int stp_ofi_open(const struct stp_core *core, struct stp_fabric *fabric);

#endif /* STP_TRANSPORT_H */
