/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the interface between the library and the fabric module (lib/steppe/ofi.so). The library
 * loads the module with dlopen() if the job needs a fabric. The module exports one function,
 * stp_ofi_open(). All other calls use function pointers in struct stp_core and struct stp_fabric,
 * and they are on slow paths only. Design: docs/design/transport.md.
 *
 * A memory location is given as a region number and an offset. A region is one symmetric space, for
 * which all PEs use the same number. An argument named pe is always a PE number in the world. The
 * caller has checked that this PE exists and that [offset, offset + nbytes) is in the region.
 *
 * Operations return nothing, because a communication error is fatal for the job. The module reports
 * the error through core->fatal() and names the PE, the operation and the target. The report also
 * contains the provider's text. If the provider returns EAGAIN, the module makes progress and tries
 * again. The module takes the locks that it needs. The caller therefore needs no lock, and any
 * thread that may use the context may call the operations.
 */
#ifndef STP_TRANSPORT_H
#define STP_TRANSPORT_H

#include "base/base.h"

#include <string.h>

#define STP_FABRIC_ABI 21u
#define STP_FABRIC_ADDR_MAX 256
#define STP_FABRIC_REGIONS 4096 /* exclusive upper limit of region numbers */
/* Exclusive upper limit of the amount by which put_notify() may increase a word. */
#define STP_FABRIC_WORD_GROWS ((uint64_t)1 << 19)

#define STP_FABRIC_EXTENTS 16 /* maximum number of separately registered extents of a region */
#define STP_FABRIC_BUFFERS 64 /* maximum number of registered private device allocations */

#define STP_NETWORKS_MAX 16 /* maximum number of network addresses that are considered per host */

/* Network address of this host in a job of several hosts, and whether other hosts can reach it. */
struct stp_network {
    char name[16]; /* name of the interface */
    int version;   /* IP version, 4 or 6 */
    int prefix;    /* length of the network prefix in bits */
    unsigned char addr[16];
    /* Position in the order of preference that all hosts share. The best position is 0. */
    unsigned rank;
    char refusal[96]; /* reason why other hosts cannot reach the address, or "" */
};

/* Returns whether the first n bits of two addresses are equal. */
static inline bool stp_same_bits(const unsigned char *a, const unsigned char *b, unsigned n)
{
    unsigned bytes = n / 8, rest = n % 8;

    return memcmp(a, b, bytes) == 0 && (rest == 0 || (a[bytes] ^ b[bytes]) >> (8 - rest) == 0);
}

/* Verdict on a provider, as a code for programs. ofi/provider_report.c has the texts and advice. */
enum stp_provider_verdict {
    STP_PROVIDER_UNJUDGED, /* provider without a verdict so far */
    STP_PROVIDER_USED,
    STP_PROVIDER_NOT_CHOSEN, /* provider that works, but another one is preferred */
    STP_PROVIDER_UNTRIED,    /* provider that was not tested, because another one is preferred */
    STP_PROVIDER_TRIAL,      /* provider that failed its self-test, see ofi/provider_self_test.c */
    STP_PROVIDER_NOT_OPENED,
    STP_PROVIDER_NOT_PROVIDER,  /* provider that SHMEM_OFI_PROVIDER does not name */
    STP_PROVIDER_NOT_FABRIC,    /* provider whose fabric SHMEM_OFI_FABRIC does not name */
    STP_PROVIDER_NOT_DOMAIN,    /* provider whose domain SHMEM_OFI_DOMAIN does not name */
    STP_PROVIDER_NOT_INTERFACE, /* provider on an interface not named in SHMEM_OFI_INTERFACE */
    STP_PROVIDER_NO_RMA,        /* provider without remote memory access */
    STP_PROVIDER_NO_ATOMICS,    /* provider that has neither atomics nor messages */
    STP_PROVIDER_REGISTRATION,  /* provider that needs an unsupported kind of registration */
    STP_PROVIDER_MODE,          /* provider that needs an unsupported application mode */
    STP_PROVIDER_UNSAFE,        /* provider that works badly, used only if the user names it */
    STP_PROVIDER_ONE_HOST,      /* provider for one host only, in a job of several hosts */
    STP_PROVIDER_TOO_MANY,      /* provider that supports fewer PEs than the job has */
    STP_PROVIDER_NUMBERS,       /* provider that needs all PEs of the host in one PID namespace */
    STP_PROVIDER_ONE_LINK,      /* provider whose address is valid on one network link only */
    STP_PROVIDER_NETWORK,       /* provider whose address the other hosts cannot reach */
    STP_PROVIDER_ABSENT,        /* provider of libfabric that finds no usable device here */
    STP_PROVIDER_NO_DATAGRAMS,  /* provider without reliable datagram endpoints */
};

/* Report on one provider and network interface. It is valid only during the call of report(). */
struct stp_provider_status {
    const char *provider;
    const char *domain;
    const char *reason; /* reason why the provider is used or refused */
    const char *advice; /* advice on how to make the provider usable, or NULL */
    /*
     * Text about a known defect of the provider in this version of libfabric and about our
     * workaround, or NULL.
     */
    const char *trouble;
    enum stp_provider_verdict code;
    int error;        /* errno of the failure, or 0 */
    bool leaves_host; /* true if other hosts can reach the provider's address */
    bool pins;        /* true if the provider pins registered memory in physical memory */
    int fds_open;     /* number of descriptors that an endpoint uses, or -1 if not tested */
    int fds_peer;     /* number of further descriptors per connected PE, or -1 if not tested */
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
 * Short message from one PE to all other PEs. Notices do not use fabric operations, so they arrive
 * even if fabric operations fail or hang.
 */
struct stp_notice {
    enum { STP_NOTICE_ENDED = 1, STP_NOTICE_CLOSING } kind;
    /*
     * PE that ended the job (kind ENDED), or PE that waits for the end of the job (kind CLOSING).
     */
    int pe;
    int status;                 /* exit status of the job, for kind ENDED */
    enum stp_pe_exit exit_kind; /* way in which the PE ended its part, for kind CLOSING */
    /* Value of the world team's sync_epoch on the PE (core/team_and_space_handles.h). */
    uint64_t syncs;
    /* Value of the world team's sequence on the PE (core/team_and_space_handles.h). */
    uint64_t cells;
    uint64_t round; /* number of times that the PE has sent this notice */
};

/* Data and functions of the library that the module may use. */
struct stp_core {
    uint32_t abi;
    int pe;      /* world number of this PE */
    int n_pes;   /* number of PEs of the job */
    int n_local; /* number of PEs on this host, with or without shared memory */
    /*
     * Number of CPU cores for the PEs of this host, set before connect(). It is 0 in a self-test.
     */
    int n_cores;
    bool foreign_pids; /* true if PE 0 or this node's leader is in another PID namespace */
    uint64_t job_key;  /* random base of registration keys, equal on all PEs */
    /*
     * Random token by which PEs recognize messages of this job. It is equal on all PEs and
     * unrelated to job_key.
     */
    uint64_t job_token;
    bool thread_multiple; /* true if several application threads may call the module at once */
    bool devices;         /* true if this PE has device memory that the provider should access */
    /*
     * True if the program had loaded libfabric before the library loaded the module. The program
     * may then use libfabric itself, so the module must not change libfabric's defaults.
     */
    bool program_has_libfabric;
    const struct stp_env *env;
    /* Network addresses of this host, or NULL if the job runs on one host. */
    const struct stp_network *networks;
    int n_networks;
    void (*log)(int level, const char *fmt, ...) STP_PRINTF(2, 3);
    void (*fatal)(const char *routine, const char *fmt, ...) STP_PRINTF(2, 3)
        __attribute__((noreturn));
    /*
     * NULL, or a function that the module calls when it may have served peers. The progress thread
     * and application threads call it. The function checks whether peers have sent requests to the
     * library's proxy thread. These requests must not wait until the application calls the library.
     * The function must not block, take locks or call the module. The library sets the pointer
     * before it opens the module.
     */
    void (*on_progress)(void);
    /*
     * Handles a notice from another PE. The progress thread or a waiting thread calls it. Does not
     * return if the notice ends the job.
     */
    void (*on_notice)(const struct stp_notice *notice);
    /*
     * NULL, or a function that an application thread calls repeatedly while its wait makes no
     * progress. The argument n_calls is the number of calls in this wait so far. The argument pe is
     * a PE that has not replied, or -1. When the wait ends, a last call passes 0 and -1. The
     * waiting thread may hold locks, so the function must not call the module.
     */
    void (*on_stall)(unsigned n_calls, int pe);
    /*
     * NULL, or a function that returns a DMA-BUF descriptor for device memory (see FI_MR_DMABUF),
     * or -1. The function sets *offset to the offset of the memory in the DMA-BUF. The caller
     * closes the descriptor.
     */
    int (*dmabuf)(void *base, size_t nbytes, size_t *offset);
    /* Pointers to stp_thread_start() and stp_process_exit_if_program_over(), see base/base.h. */
    int (*thread_start)(pthread_t *thread, const char *name, void *(*main)(void *));
    void (*thread_exit_check)(void);
    /* NULL, or a function that is called with the verdict on each provider of libfabric. */
    void (*report)(void *arg, const struct stp_provider_status *offer);
    void *report_arg;
    /* Structure in which the module stores libfabric's versions, or NULL. */
    struct stp_fabric_version *version;
};

/* Descriptor that other PEs need to access one PE's part of a region. */
struct stp_fabric_region {
    /* Address that is added to every offset, or 0 if the provider addresses memory by offset. */
    uint64_t addr;
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

/* Kind of memory that a region has. */
enum stp_fabric_memory { STP_MEMORY_HOST, STP_MEMORY_CUDA };

/* Way in which this PE accesses a symmetric object on some PE. */
enum stp_access_path {
    STP_PATH_HOST,   /* loads and stores to host memory that is mapped in this process */
    STP_PATH_DEVICE, /* device copies from and to an address that is valid in this process */
    STP_PATH_FABRIC, /* fabric operations with a region number and an offset */
    STP_PATH_STAGED, /* copies by the proxy thread of the PE that owns the object */
    STP_PATH_CMA,    /* CMA system calls that access private memory of another process */
};

struct stp_space;

/*
 * Location of a symmetric object on a PE, looked up once per operation. It is valid only until the
 * program's call returns. Operations that stay queued store a struct stp_ofi_place instead. The
 * module reads only the first four members.
 */
struct stp_target {
    const char *fn; /* name of the routine that the program called, for messages */
    int pe;
    unsigned number; /* number of the space and of its region; not set on path HOST */
    size_t offset;   /* offset in the PE's part of the region; not set on path HOST */
    enum stp_access_path path;
    char *addr;              /* address in this process, set on paths HOST and DEVICE only */
    struct stp_space *space; /* space of the object, on all paths except HOST */
};

struct stp_fabric_ctx; /* the module's part of a context, with counters of pending operations */

struct stp_fabric {
    uint32_t abi;
    const char *provider;                    /* provider's name, such as "tcp;ofi_rxm" */
    const char *domain;                      /* name of the network interface */
    const char *network;                     /* libfabric's fabric, such as "10.1.0.0/16" */
    const char *no_devices_reason;           /* reason why device memory is unreachable, or NULL */
    size_t addr_len;                         /* size of addr in bytes, equal on all PEs of a job */
    unsigned char addr[STP_FABRIC_ADDR_MAX]; /* address of this PE */
    bool cpu_atomics; /* true if CPU atomics and the provider's atomics may access the same word */
    uint32_t dialect; /* code for the formats of atomics and keys, equal on all PEs */
    bool needs_syscalls; /* true if each operation and each poll makes system calls */
    bool peer_table;     /* true if region_peers() needs the descriptors of all PEs */
    bool one_libfabric;  /* true if all PEs must have the same version of libfabric */
    uint32_t libfabric;  /* version of libfabric, as in struct stp_fabric_version */

    /*
     * Passes the addresses of all PEs to the module. The array addrs has n_pes entries of addr_len
     * bytes each. The caller keeps the array in memory until the module is closed. Called once.
     * Returns 0, or -errno.
     */
    int (*connect)(const void *addrs);
    /*
     * Removes the provider's files of this PE. NULL if the provider creates no files. Called when
     * connect() has returned on all PEs, and then keeps files that a peer may still have to open.
     * Called again with ending set to true when the job ends abnormally, and then takes no lock,
     * because the call may be made in a signal handler.
     */
    void (*remove_files)(bool ending);

    /*
     * Registers [base, base + nbytes), this PE's part of a region, under the given region number.
     * Stores this PE's descriptor in *my_region. The argument device is ignored for host memory.
     * Returns 0, or -errno. Returns -EOPNOTSUPP without logging an error if the provider cannot
     * access this kind of memory. A PE without a part of the region does not call this function.
     */
    int (*region_add)(unsigned number, void *base, size_t nbytes, enum stp_fabric_memory memory,
                      int device, struct stp_fabric_region *my_region);
    /*
     * Passes the descriptors of all PEs for the region to the module, which copies them. The array
     * peers has n_pes entries. If peer_table is not set, peers is NULL, because all PEs then use
     * the same key, and offsets serve as addresses. Returns 0, or -errno.
     */
    int (*region_peers)(unsigned number, const struct stp_fabric_region *peers);
    /*
     * Completes this PE's operations on the region, on all contexts. Before the region is removed,
     * each PE with a part of the region must make this call, and these PEs must then synchronize.
     * If an operation is still queued when its region is removed, the job ends with an error.
     */
    void (*region_drain)(unsigned number);
    void (*region_remove)(unsigned number);
    /*
     * Registers an extent, which is additional memory after the end of this PE's part of the
     * region. The extent has nbytes bytes. Stores its descriptor in *my_region. Operations on the
     * region may continue meanwhile. A region grows at most STP_FABRIC_EXTENTS - 1 times. Returns
     * 0, or -errno without logging.
     */
    int (*region_grow)(unsigned number, size_t nbytes, struct stp_fabric_region *my_region);
    /*
     * Adds the registered extent to the region. Called after all PEs with a part of the region have
     * registered their extents, and before any PE uses the extent. The array peers has the
     * descriptors that all PEs have for the extent. It is NULL if peer_table is not set. It is also
     * NULL if some PEs could not register their memory, because the region is then not used through
     * the fabric. Returns 0, or -errno without logging.
     */
    int (*region_grown)(unsigned number, const struct stp_fabric_region *peers);
    /* Drops the registered extent instead of adding it to the region. */
    void (*region_shrink)(unsigned number);

    /*
     * Registers an allocation of private CUDA device memory. Local buffers may then be in this
     * allocation. The number is less than STP_FABRIC_BUFFERS. Returns 0, or -errno without logging.
     */
    int (*buffer_add)(unsigned number, void *base, size_t nbytes, int device);
    /*
     * Selects a registered allocation for the calling thread. The local buffers of the thread's
     * puts and gets may then be in this allocation. The selection lasts until the thread calls this
     * function again. The number -1 selects no allocation.
     */
    void (*set_current_local_mr)(int number);
    /* Removes a registered allocation. Returns false without any change if an operation uses it. */
    bool (*buffer_remove)(unsigned number);

    /*
     * Creates a context. If one_thread is true, only one thread at a time will use the context.
     * Such a context may get an endpoint of its own.
     */
    int (*ctx_create)(bool one_thread, struct stp_fabric_ctx **ctx);
    /* Destroys a context. The caller has called quiet before. */
    void (*ctx_destroy)(struct stp_fabric_ctx *ctx);

    /*
     * Copies nbytes > 0 bytes from source to dest. The program may change the source after put has
     * returned. If nbi is true, the program may change the source only after quiet. The local
     * buffer of put and get is in host memory, in a region of this PE, or in the private allocation
     * that the thread has selected.
     *
     * Put and get also work on regions of device memory, because the provider can copy device
     * memory. The operations store and amo work on host memory only. A signal in host memory may
     * overtake data for a device. The caller must therefore put the data, call quiet, and then send
     * the signal.
     */
    void (*put)(struct stp_fabric_ctx *ctx, const struct stp_target *dest, const void *source,
                size_t nbytes, bool nbi);
    /*
     * Copies nbytes > 0 bytes from source to dest. The data has arrived when get returns. If nbi is
     * true, the data has arrived only after quiet.
     */
    void (*get)(struct stp_fabric_ctx *ctx, const struct stp_target *source, void *dest,
                size_t nbytes, bool nbi);

    /* Writes an aligned element of 1, 2, 4 or 8 bytes without tearing. The value is copied. */
    void (*store)(struct stp_fabric_ctx *ctx, const struct stp_target *dest, const void *value,
                  size_t nbytes);

    /*
     * Performs an atomic on one element. The values of operand and compare are copied. If the
     * atomic fetches a value, *result is set when the function returns. If nbi is true, *result is
     * set only after quiet. If the atomic fetches no value, result is NULL, and quiet completes the
     * atomic.
     */
    void (*amo)(struct stp_fabric_ctx *ctx, const struct stp_target *dest, enum stp_fabric_amo op,
                enum stp_dtype dtype, const void *operand, const void *compare, void *result,
                bool nbi);

    /*
     * Copies data to dest and then updates a signal word on the same PE. The argument op is
     * STP_AMO_SET or STP_AMO_ADD. A thread that sees the updated signal also sees the data. If
     * nbytes is 0, dest and source are not used.
     */
    void (*put_signal)(struct stp_fabric_ctx *ctx, const struct stp_target *dest,
                       const void *source, size_t nbytes, const struct stp_target *word,
                       uint64_t signal, enum stp_fabric_amo op, bool nbi);

    /*
     * Copies nbytes > 0 bytes to dest and then updates a word on the same PE. The value of the word
     * must never decrease, and its region must never be removed. The argument value is the
     * increment (STP_AMO_ADD) or the new value (STP_AMO_SET). The word must increase by less than
     * STP_FABRIC_WORD_GROWS. A call of quiet completes the data, and the source may then be reused.
     * Quiet does not complete the update, because the PE that owns the word waits for the update
     * itself. One message can therefore carry the data and the update, whereas put_signal may have
     * to wait between them.
     */
    void (*put_notify)(struct stp_fabric_ctx *ctx, const struct stp_target *dest,
                       const void *source, size_t nbytes, const struct stp_target *word,
                       uint64_t value, enum stp_fabric_amo op);

    /* Orders the operations to each PE as the standard requires for shmem_fence. */
    void (*fence)(struct stp_fabric_ctx *ctx);
    /* Completes all operations of the context. Their data is then visible to all PEs. */
    void (*quiet)(struct stp_fabric_ctx *ctx);
    /*
     * Completes operations to these PEs only. The array pes may be unsorted and may name a PE
     * twice.
     */
    void (*quiet_pes)(struct stp_fabric_ctx *ctx, const int *pes, size_t n_pes);

    /*
     * Starts to collect small operations of the context, or stops if batch is false. The argument
     * total_ops is the expected number of operations, or SIZE_MAX if unknown. The rules of the
     * functions above also hold for collected operations. Collected operations reach their target
     * even if no thread calls the module again.
     */
    void (*session)(struct stp_fabric_ctx *ctx, bool batch, size_t total_ops);

    /*
     * Allows the targets of this context's operations to delay acknowledgements, so that their next
     * message to this PE can carry them. A thread that waits for completions of the context must
     * call quiet, because quiet asks the targets for acknowledgements that are missing.
     */
    void (*allow_delayed_ack)(struct stp_fabric_ctx *ctx);

    /*
     * Serves peers and handles completions without blocking. Every wait of the library calls this
     * function repeatedly.
     */
    void (*progress)(void);

    /*
     * Declares that the job is ending. All PEs have completed their operations, and only the flags
     * of a last sync are in flight. From now on a failed operation counts as completed, because its
     * target PE may have left after it received the data.
     */
    void (*finish)(void);

    /*
     * Sends a notice to all PEs. This PE sends it to the PEs at distances of 1, 2, 4, 8, ... from
     * itself, and the receivers pass the notice on. Notices are datagrams, which may be lost, and
     * the function does not wait. May be called between connect() and close(), from any thread or
     * signal handler, with any locks held.
     */
    void (*send_notice)(const struct stp_notice *notice);

    void (*close)(void);
};

/*
 * Opens the best provider. The caller must keep *core valid as long as the module is open. Fills
 * *fabric and returns 0. On failure, logs which providers were found and why each was refused, and
 * returns -errno. If fabric is NULL, only reports on the providers and leaves nothing open.
 */
typedef int (*stp_ofi_open_fn)(const struct stp_core *core, struct stp_fabric *fabric);
int stp_ofi_open(const struct stp_core *core, struct stp_fabric *fabric);

#endif /* STP_TRANSPORT_H */
