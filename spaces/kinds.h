/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kinds of memory: a row of operations for each kind, and the records by which PEs reach each
 * other's parts of a space. Design: docs/design/kinds.md.
 */
#ifndef STP_KINDS_H
#define STP_KINDS_H

#include "machine.h"
#include "window.h"

/*
 * Attributes of a space besides its size. A row has the bits of the attributes that its kind
 * supports; stp_kinds_trait_is_possible() says whether this machine supports them.
 */
enum stp_trait {
    STP_TRAIT_GROWS,  /* maximum size, up to which a space can grow */
    STP_TRAIT_PAGES,  /* page size */
    STP_TRAIT_NODE,   /* NUMA node of the pages */
    STP_TRAIT_POLICY, /* NUMA policy other than binding to a node */
    STP_TRAIT_PINNED, /* access by GPUs */
    STP_TRAIT_NAME,   /* name by which other jobs find the contents */
    STP_TRAIT_ADOPTS, /* adoption of existing memory of the program */
    STP_N_TRAITS
};
#define STP_HAS(trait) (1u << (trait))

struct stp_space;
struct stp_team; /* stored here, defined in upper layers */

/* Ways to open a name, with the values of the public constants. */
enum stp_open { STP_OPEN_EITHER, STP_OPEN_CREATE, STP_OPEN_FOUND, STP_N_OPENS };

/* NUMA policies, with the values of the public constants. */
enum stp_numa { STP_NUMA_DEFAULT, STP_NUMA_BIND, STP_NUMA_INTERLEAVE, STP_NUMA_TOUCH, STP_N_NUMAS };

/* Memory of the program that becomes a space. */
struct stp_adopt {
    int fd; /* file mapped there with MAP_SHARED; -1 for private memory */
    uint64_t at;
    int flags; /* flags that the program passed */
    bool heap; /* whether malloc takes memory from the buffer */
};

/* Parameters for the creation of a space, from its config and attributes. */
struct stp_space_params {
    size_t nbytes;    /* size per PE */
    size_t max_bytes; /* size up to which the space can grow; nbytes if it cannot */
    int device;       /* ordinal of the device; -1 if the kind chooses */
    const char *name; /* name for other jobs; NULL for a space without a name */
    bool keep;        /* whether a named space outlives the job */
    void *buffer;     /* memory of the caller to adopt, or NULL to allocate memory */
    int pe;           /* number of this PE in the creating team */
    int n_pes;        /* number of PEs in the creating team */
    enum stp_open open;
    enum stp_numa numa;
    int numa_node;       /* node for STP_NUMA_BIND; -1 for the node of this PE */
    const char *numa_by; /* kind that set the policy, for messages; NULL for the program */
    bool pinned;         /* whether GPUs access this host memory */
    uint64_t token;      /* unique number of this creation, equal on all PEs */
    bool reshape;        /* whether a named space with fewer parts gets a new generation */
    size_t page_bytes;   /* page size of host memory; 0 for the system's default */
    const struct stp_adopt *adopt; /* details of an adopted buffer, or NULL */
};

/*
 * A place of a host whose memory parts of several PEs share, and its free memory when this PE
 * asked. Members exchange these requests before they create their parts.
 */
struct stp_capacity_request {
    int32_t pe, host;
    int32_t place; /* number that the kind gives to the place */
    uint64_t left; /* free bytes */
};

/* Properties of a named space that is not open. */
struct stp_named {
    const struct stp_kind *kind;
    size_t nbytes; /* bytes per part */
    unsigned n_parts;
    bool keep, in_use;
};

/* A named block of a named space. Offsets are equal in all parts. */
#define STP_BLOCK_NAME 64
struct stp_named_block {
    char name[STP_BLOCK_NAME];
    uint64_t offset, nbytes;     /* range that has the name */
    uint64_t block, block_bytes; /* allocated block around the range */
};

/*
 * Allocates zeroed records of a space: nbytes bytes, and each bytes for each of the *n PEs of this
 * node. Returns NULL after logging if there is no memory; what names the space in the message.
 */
void *stp_kind_alloc_with_peers(const char *what, size_t nbytes, size_t each, int *n);

/* Checks that the requested NUMA node exists. Returns 0, or -ENODEV after logging. */
int stp_numa_check(const struct stp_space_params *params);

/*
 * stp_numa_apply() sets the NUMA policy of a range of host memory before its pages are touched. It
 * returns whether it set a policy, and sets *bound to the node to which pages are bound, or -1. If
 * the kernel refuses, a warning is logged and pages come from any node. The file keeps the policy,
 * so stp_numa_reset_policy() must remove it before another space uses the range.
 */
bool stp_numa_apply(const struct stp_space_params *params, void *base, size_t nbytes, int *bound);
void stp_numa_reset_policy(void *base, size_t nbytes);

/* Applies the NUMA policy of the space, if it has one, to a piece by which the space grows. */
void stp_numa_extend(const struct stp_space *space, void *piece, size_t nbytes);

/*
 * Data by which the other PEs of the node reach this PE's part of a space, for example a file
 * descriptor or an IPC handle. Only the kind interprets the bytes.
 */
#define STP_PART_EXPORT_BYTES 112
struct stp_part_export {
    int32_t pe;
    int32_t valid; /* 0 if this PE shares nothing */
    unsigned char bytes[STP_PART_EXPORT_BYTES];
};

/*
 * Operations of a kind's row for a space with a page size that the program chose (huge_pages.c).
 * The space is outside the window and attached like all such spaces. If the system cannot provide
 * the size, a warning is logged. space->page_bytes is the real page size.
 */
#define STP_PAGES_HUGE ((size_t)2 << 20)
#define STP_PAGES_GIANT ((size_t)1 << 30)
int stp_huge_pages_create(struct stp_space *space, const struct stp_space_params *params,
                          struct stp_part_export *share);
int stp_huge_pages_grow(struct stp_space *space, size_t new_nbytes);
void stp_huge_pages_undo_grow(struct stp_space *space);
void stp_huge_pages_destroy(struct stp_space *space);

/* ---- host memory outside the window (own_file.c) ---- */

/*
 * stp_own_file_map_own_part() maps this PE's part of a space outside the window: map_bytes of fd
 * from position at, inaccessible from open_bytes on. extra has mmap flags for this PE and its
 * peers. The caller keeps fd open while the space lives. Returns 0, or -errno without logging.
 * stp_own_file_create_memory() maps a new file and logs a failure. stp_own_file_set_path() sets a
 * path by which peers open the file if /proc is refused; the path must live as long as the space.
 */
int stp_own_file_map_own_part(struct stp_space *space, int fd, off_t at, size_t map_bytes,
                              size_t open_bytes, int extra, struct stp_part_export *share);
int stp_own_file_create_memory(struct stp_space *space, struct stp_part_export *share);
void stp_own_file_set_path(struct stp_space *space, const char *path);

/*
 * Operations of a kind's row for spaces with space->shm_attach; stp_own_file_destroy() also accepts
 * spaces without it. The grow functions set the accessible size of the parts, in whole pages of the
 * file. stp_own_file_grow() returns 0, or -errno without logging.
 */
int stp_own_file_grow(struct stp_space *space, size_t new_nbytes);
void stp_own_file_undo_grow(struct stp_space *space, size_t kept_nbytes);
int stp_own_file_peer(struct stp_space *space, int local, const struct stp_part_export *share);
void *stp_own_file_map_peer(const struct stp_space *space, int local);
void stp_own_file_unmap_peers(struct stp_space *space);
void stp_own_file_destroy(struct stp_space *space);

/* Shares memory that the program has mapped, so that peers map it. Returns 0 or -errno, logged. */
int stp_own_file_share_buffer(struct stp_space *space, const struct stp_space_params *params,
                              struct stp_part_export *share);

/*
 * Returns whether addr is in a mapped part of the space or in its growth room. Sets *local (-1 for
 * this PE's part) and *offset. A signal handler may call this function.
 */
bool stp_own_file_holds(const struct stp_space *space, const void *addr, int *local,
                        size_t *offset);

extern unsigned stp_own_file_n; /* number of spaces with shm_attach */

/* State that a copy must have reached when the call returns. */
enum stp_copy_completion {
    STP_COPY_NONE,   /* source and dest can be in use until flush */
    STP_COPY_LOCAL,  /* source can be reused; dest is written at flush */
    STP_COPY_REMOTE, /* dest is written */
};

/* A strided copy of n rows of width bytes. A pitch is the distance between rows in bytes. */
struct stp_strided_copy {
    size_t width, n, dest_pitch, source_pitch;
};

/* An atomic on a word of nbytes (4 or 8). variant is an SHMEMX_DEV_AMO_ constant. */
struct stp_word_op {
    uint32_t nbytes, variant;
    uint64_t value, compare;
};

/* The sources that destination i combines: all, 0 to i, or 0 to i-1 (none for the first). */
enum stp_reduce_span { STP_SPAN_ALL, STP_SPAN_INCLUSIVE, STP_SPAN_EXCLUSIVE };

/* One reduction: reads elements of n source parts in this order and writes n destination parts. */
#define STP_REDUCTION_PARTS 64
struct stp_reduction {
    enum stp_op op;
    enum stp_reduce_span span;
    enum stp_dtype dtype;
    size_t nelems;
    int n;
    const void *sources[STP_REDUCTION_PARTS];
    void *dests[STP_REDUCTION_PARTS]; /* may be equal to the sources */
};

/* Copies of one context by one kind. They run in order and are complete after flush. */
struct stp_queue;

/* Private memory of a device, as the program allocated it. */
struct stp_allocation {
    void *base;
    size_t nbytes;
    unsigned long long id; /* ID that no other allocation of this process ever has */
    int device;
    unsigned long long sync_memops; /* state of the kind, for unregister_private() */
};

/*
 * Operations of a kind whose memory the CPU must not access. Any thread may call them, except look,
 * missing and start.
 */
struct stp_device_ops {
    /*
     * look() returns whether this PE finds the driver. A search without a driver takes a hundred
     * system calls, so only the leader of a node calls look(). If it finds no driver, the other PEs
     * call missing() before start().
     */
    bool (*look)(void);
    void (*missing)(int leader);
    /* Finds the devices of this machine without using any. probe() reports a failure. */
    void (*start)(void);
    /* Unmaps the parts of peers; called before any peer destroys its part. */
    void (*detach)(struct stp_space *space);
    /*
     * Returns the address by which this PE copies to and from the part of a local PE; opens the
     * part on first use. Returns NULL if the system refuses; the owner's proxy thread then copies.
     */
    void *(*reach)(struct stp_space *space, int local);
    /* Returns whether ptr is memory of this kind, symmetric or private; fast for host memory. */
    bool (*owns)(const void *ptr);
    int (*queue_create)(struct stp_queue **queue);
    void (*queue_destroy)(struct stp_queue *queue); /* after flush; accepts NULL */
    /*
     * Copies between memory of this kind, on at least one side, and any memory that the kind or the
     * host can access here. Returns 0, or -errno after logging the driver's error.
     */
    int (*copy)(struct stp_queue *queue, void *dest, const void *source, size_t nbytes,
                enum stp_copy_completion end);
    int (*copy_rows)(struct stp_queue *queue, void *dest, const void *source,
                     const struct stp_strided_copy *rows, enum stp_copy_completion end);
    /* Completes all work in the queue. Returns 0, or -errno after logging. */
    int (*flush)(struct stp_queue *queue);
    /* Zeroes bytes of this PE's part before it returns. Returns 0, or -errno after logging. */
    int (*zero)(struct stp_queue *queue, struct stp_space *space, size_t offset, size_t nbytes);
    /* Sets a word, which devices can access, after the queued copies to near. */
    int (*set_word)(struct stp_queue *queue, const void *near, void *word, uint64_t value);
    /*
     * Performs an atomic on a word of this PE's part by the device; sets *old to the old value. One
     * caller at a time. Returns 0; -ENOTSUP if the caller must perform it, because only threads of
     * this PE change the words; or -errno after logging.
     */
    int (*atomic)(struct stp_space *space, size_t offset, const struct stp_word_op *op,
                  uint64_t *old);
    /*
     * Performs a reduction on the device, with the order and the result of stp_op_reduce() except
     * the choice of a NaN. Returns 0 when done, -ENOTSUP if the device cannot and nothing was
     * written, or -errno after logging.
     */
    int (*reduce)(struct stp_queue *queue, const struct stp_reduction *reduction);
    /*
     * Makes the driver's context of a space current while another library, which uses the driver,
     * works on its memory. enter() returns false if there is nothing to leave.
     */
    bool (*enter)(const struct stp_space *space);
    void (*leave)(void);
    /* Returns whether host spaces can be pinned for devices of this kind; if not, sets why. */
    bool (*can_pin)(char *why, size_t len);
    /* Pins host memory to speed up frequent copies, or unpins it. Failures are ignored. */
    void (*pin)(void *host, size_t nbytes);
    void (*unpin)(void *host, size_t nbytes);
    /* Makes writes of peers' adapters to this PE's memory visible to devices of this kind. */
    void (*flush_remote)(void);
    /*
     * Returns a file descriptor by which an adapter can register memory of a space, from *offset
     * on; the caller closes it. Called between enter and leave. Returns -1 if the driver has none.
     */
    int (*dmabuf)(void *base, size_t nbytes, size_t *offset);
    /*
     * Finds the allocation that holds private memory of this kind, if adapters can register all of
     * it until the program frees it. Returns false if they cannot, or if a space holds ptr. Reuses
     * the result that owns() got from the driver in this operation.
     */
    bool (*allocation)(const void *ptr, struct stp_allocation *allocation);
    /*
     * Registers the allocation through add() with this number. Returns 0, or the error of add() or
     * of the driver without effect. unregister_private() undoes it if the allocation still exists.
     */
    int (*register_private)(struct stp_allocation *allocation, unsigned number,
                            int (*add)(unsigned number, void *base, size_t nbytes, int device));
    void (*unregister_private)(const struct stp_allocation *allocation);
};

/* Operations of a kind whose memory can outlive the job. Any thread may call them. */
struct stp_store_ops {
    /* Makes bytes of this PE's part survive power failures. Returns 0, or -errno, not logged. */
    int (*persist)(struct stp_space *space, size_t offset, size_t nbytes);
    /* Gets the i-th named block. Returns false if there are fewer. */
    bool (*named_block_at)(const struct stp_space *space, unsigned i, struct stp_named_block *root);
    /*
     * Names a block durably, or forgets the name if nbytes is 0. All members call this; only the
     * first call for a part has an effect. Returns 0, or -errno after logging.
     */
    int (*named_block_set)(struct stp_space *space, const struct stp_named_block *root);
    /* Looks up a name. Returns 0, -ENOENT if it is unknown (not logged), or -errno, logged. */
    int (*stat)(const char *name, struct stp_named *named);
    /*
     * Sets *base to part i < n_parts, readable until the space is destroyed or, if the part is of
     * an old generation, until drop(). Returns 0, or -errno after logging.
     */
    int (*part)(struct stp_space *space, unsigned i, const void **base);
    /*
     * reshaping() returns whether this is a new generation and the name still denotes the old one.
     * The other operations release it in steps; all members finish a step before any begins the
     * next. settle() makes this PE's part durable, release() moves the name, and drop() frees the
     * old generation. settle() and release() return 0, or -errno after logging.
     */
    bool (*reshaping)(const struct stp_space *space);
    int (*settle)(struct stp_space *space);
    int (*release)(struct stp_space *space);
    void (*drop)(struct stp_space *space);
};

/*
 * A row per kind of memory. Only operations whose comment mentions NULL may be NULL. Any thread may
 * call an operation, except stop and probe.
 */
struct stp_kind {
    const char *name;    /* "gpu" */
    int device_type;     /* SHMEM_DEVICE_... */
    bool host;           /* whether CPUs of the node load and store the parts */
    bool in_window;      /* whether spaces use the window while it has room; host only */
    bool owner_only;     /* whether only the owner and the kernel access a part */
    unsigned traits;     /* bits of enum stp_trait */
    const char *numa_by; /* kind in messages about NUMA policies, if it sets them; or NULL */
    const struct stp_device_ops *device; /* NULL if the CPU can access the parts */
    const struct stp_store_ops *store;   /* NULL if the memory ends with the job */

    /* Undoes the device's start() and whatever other operations set up. Can be NULL. */
    void (*stop)(void);
    /*
     * Returns 0 if this PE has access to such memory, else -errno. Sets why to a text for the user
     * in both cases: the memory found or the reason for the failure.
     */
    int (*probe)(const struct stp_space_params *params, char *why, size_t len);
    /* Checks whether this PE can create the part. Returns 0, or -errno after logging. */
    int (*admit)(const struct stp_space_params *params);
    /*
     * claim() sets the place from which this PE's part takes memory. admit_all() gets the n claims
     * of the members on this host, in team order, and checks that the place can serve its claims.
     * It stores data for growth in the space. Returns 0 or -errno; only the first PE of the claims
     * logs. Both are NULL if parts need no common check.
     */
    void (*claim)(const struct stp_space_params *params, struct stp_capacity_request *mine);
    int (*admit_all)(struct stp_space *space, const struct stp_capacity_request *claims, int n,
                     const struct stp_capacity_request *mine);
    /*
     * Creates this PE's part: sets base (in the window: at the offset, own part only), device and
     * the data for peers. Returns 0, or -errno after logging and without effect.
     */
    int (*create)(struct stp_space *space, const struct stp_space_params *params,
                  struct stp_part_export *share);
    /*
     * grow() extends this PE's part to nbytes <= space->max_bytes, and its mappings of the parts of
     * local members. space->nbytes stays, and nobody uses the new memory yet. Returns 0, or -errno
     * without effect and with the reason in why. shrink() undoes grow() while space->nbytes is
     * unchanged. Both are NULL without STP_TRAIT_GROWS.
     */
    int (*grow)(struct stp_space *space, size_t nbytes, char *why, size_t len);
    void (*shrink)(struct stp_space *space);
    /*
     * Attaches the part of the local member with index local, which can be this PE. Kinds in the
     * window map the part into the view; others store the data. Returns 0, or -errno after logging.
     */
    int (*attach)(struct stp_space *space, int local, const struct stp_part_export *share);
    /* Undoes create() and attach() after all members have finished with the space. */
    void (*destroy)(struct stp_space *space);
    /*
     * Describes device i, as this PE sees it, in one line: name and memory. Returns false if there
     * is no such device.
     */
    bool (*describe)(int i, char *text, size_t len);
    /*
     * Returns the number of devices that this PE sees. Sets *device, unless device is NULL, if
     * device i exists. Called between start and stop; creates no context. NULL in a kind without a
     * public constant, because no program can query its devices.
     */
    int (*devices)(int i, struct stp_device *device);
};

#define STP_KINDS_MAX 8

/* The registered kinds, in the order of registration. */
extern const struct stp_kind *stp_kinds[STP_KINDS_MAX];
extern int stp_n_kinds;

/*
 * Registers a kind, before other calls and in equal order on all PEs, which exchange the numbers.
 */
void stp_kind_register(const struct stp_kind *kind);

/* Returns the kind of a SHMEM_DEVICE_ constant, or NULL if this build does not have the kind. */
const struct stp_kind *stp_kind_find(int device_type);

/*
 * stp_kinds_without_driver() returns a bit for each kind, by number, without a driver. Only the
 * leader of a node calls it. The other PEs pass the bits to stp_kinds_mark_driver_missing() before
 * start.
 */
uint32_t stp_kinds_without_driver(void);
void stp_kinds_mark_driver_missing(uint32_t kinds, int leader);

/* stp_kinds_find_devices() starts the kinds with devices; stp_kinds_stop() stops all kinds. */
void stp_kinds_find_devices(void);
void stp_kinds_stop(void);

/*
 * Returns the device kind that owns ptr, or NULL for host memory. The slow path calls this only if
 * stp_win.devices is set, because otherwise there is only host memory.
 */
const struct stp_kind *stp_device_kind_of(const void *ptr);

/* Calls dmabuf() of the kind that owns base. Returns -1 for host memory. */
int stp_kinds_dmabuf(void *base, size_t nbytes, size_t *offset);

/*
 * Number of the current operation of this thread. What the driver reports about an address is
 * reused within one operation only, because the program can free memory between operations.
 */
extern __thread unsigned stp_kind_operation __attribute__((tls_model("initial-exec")));

static inline void stp_kind_begin(void)
{
    stp_kind_operation++;
}

/* Returns whether this PE can provide a trait of a row; if not, sets why. */
bool stp_kinds_trait_is_possible(enum stp_trait trait, char *why, size_t len);

/* Copies n rows of host memory. A single aligned row of 1, 2, 4 or 8 bytes is one store. */
void stp_copy_host(void *dest, const void *source, const struct stp_strided_copy *rows);

/* Stores 1, 2, 4 or 8 bytes at once, so that readers see the old or the new value. */
void stp_store_whole(void *there, const void *value, size_t nbytes);

/* These functions call pin(), unpin() and flush_remote() of all kinds with devices. */
void stp_kinds_pin(void *host, size_t nbytes);
void stp_kinds_unpin(void *host, size_t nbytes);
void stp_kinds_flush_remote(void);

/*
 * stp_kind_reach() returns the address by which this PE, or the copies of the kind, access the part
 * of a local member; maps the part on first use. Returns NULL if refused. stp_kind_detach() unmaps
 * the parts of peers before any peer destroys its part.
 */
void *stp_kind_reach(struct stp_space *space, int local);
void stp_kind_detach(struct stp_space *space);

#define STP_SPACE_MAGIC 0x53505445u
#define STP_SPACE_NUMBERS 4096 /* number of fabric regions, agreed with the fabric module */

#endif /* STP_KINDS_H */
