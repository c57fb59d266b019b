/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kinds of memory, for example host memory and GPU memory. The operations of a kind are in its row,
 * a struct stp_kind. This header also declares the data by which PEs access each other's parts of a
 * space. Design: docs/design/kinds.md.
 */
#ifndef STP_KINDS_H
#define STP_KINDS_H

#include "machine.h"
#include "window.h"

/*
 * Optional attributes of a space. The field traits of a kind has a bit for each attribute that the
 * kind supports. stp_kinds_trait_is_possible() returns whether this machine supports an attribute.
 */
enum stp_trait {
    STP_TRAIT_GROWS,  /* a maximum size, up to which the space can grow */
    STP_TRAIT_PAGES,  /* a page size that the program chooses */
    STP_TRAIT_NODE,   /* a NUMA node to which the pages are bound */
    STP_TRAIT_POLICY, /* a NUMA policy other than binding to a node */
    STP_TRAIT_PINNED, /* host memory that is pinned, so that GPUs can access it */
    STP_TRAIT_NAME,   /* a name by which other jobs find the space */
    STP_TRAIT_ADOPTS, /* use of a buffer that the program has allocated */
    STP_N_TRAITS
};
#define STP_HAS(trait) (1u << (trait))

struct stp_space;
struct stp_team; /* defined in src/; this layer stores only pointers to teams */

/*
 * Whether to open or to create a named space. The values are those of the public constants, for
 * example SHMEMX_SPACE_OPEN.
 */
enum stp_open { STP_OPEN_EITHER, STP_OPEN_CREATE, STP_OPEN_FOUND, STP_N_OPENS };

/* NUMA policies. The values are those of the public constants, for example SHMEMX_NUMA_BIND. */
enum stp_numa { STP_NUMA_DEFAULT, STP_NUMA_BIND, STP_NUMA_INTERLEAVE, STP_NUMA_TOUCH, STP_N_NUMAS };

/*
 * Data for a space that adopts a buffer, which means that the buffer of the program becomes the
 * memory of the space.
 */
struct stp_adopt {
    int fd; /* descriptor of the file that is mapped in the buffer; -1 for private memory */
    uint64_t file_offset; /* offset of the buffer in the file */
    int flags;            /* flags that the program passed */
    bool heap;            /* whether the program can allocate blocks in the buffer */
};

/*
 * Parameters for the creation of a space. They come from the config and the attributes that the
 * program passed.
 */
struct stp_space_params {
    size_t nbytes;    /* size of each PE's part in bytes */
    size_t max_bytes; /* size up to which a part can grow; nbytes if it cannot grow */
    int device;       /* number of the device; -1 to let the kind choose */
    const char *name; /* name by which other jobs find the space, or NULL */
    bool keep;        /* whether a named space outlives the job */
    void *buffer;     /* buffer of the program to adopt, or NULL to allocate memory */
    int pe;           /* rank of this PE in the team that creates the space */
    int n_pes;        /* number of PEs in the team that creates the space */
    enum stp_open open;
    enum stp_numa numa;
    int numa_node; /* NUMA node for STP_NUMA_BIND; -1 for the node of this PE */
    /*
     * Name of the kind that set the NUMA policy, for messages. NULL if the program set the policy.
     */
    const char *numa_by;
    bool pinned;       /* whether to pin the memory, so that GPUs can access it */
    uint64_t token;    /* unique number of this creation; equal on all PEs */
    bool reshape;      /* whether a named space that has too few parts gets a new set of parts */
    size_t page_bytes; /* page size of host memory; 0 for the system's default */
    size_t open_bytes; /* bytes that are accessible at first; 0 for all; only the internal space */
    const struct stp_adopt *adopt; /* details of the buffer to adopt, or NULL */
};

/*
 * A PE's request for memory from a place. A place is memory that several PEs of a host share, for
 * example the memory of a NUMA node. The members of the team exchange their requests before they
 * create their parts.
 */
struct stp_capacity_request {
    int32_t pe, host;
    int32_t place;       /* number of the place, which the kind defines */
    uint64_t free_bytes; /* free bytes of the place when this PE queried it */
};

/* Properties of a named space. The space can be open or closed. */
struct stp_named {
    const struct stp_kind *kind;
    size_t nbytes; /* size of each part in bytes */
    unsigned n_parts;
    bool keep, in_use;
};

/*
 * A range in a named space to which the program has given a name. The range has the same offset in
 * all parts.
 */
#define STP_BLOCK_NAME 64
struct stp_named_block {
    char name[STP_BLOCK_NAME];
    uint64_t offset, nbytes;     /* the named range */
    uint64_t block, block_bytes; /* the allocated block that contains the named range */
};

/*
 * Allocates a zeroed structure of nbytes bytes, followed by an array with one element of peer_bytes
 * bytes for every PE of this node. Sets *n to the number of elements. Returns NULL after logging if
 * there is no memory. The message contains description, for example "a gpu space".
 */
void *stp_kind_alloc_with_peers(const char *description, size_t nbytes, size_t peer_bytes, int *n);

/*
 * Checks that the requested NUMA node exists and that this process may use it. Returns 0, or
 * -ENODEV after logging.
 */
int stp_numa_check(const struct stp_space_params *params);

/*
 * Sets the NUMA policy of the first nbytes bytes of the space's part, whose pages have not been
 * touched, and records the policy in the space. If the kernel refuses the policy, a warning is
 * logged, and the pages come from any node.
 */
void stp_numa_apply(struct stp_space *space, const struct stp_space_params *params, size_t nbytes);
/*
 * Removes the NUMA policy of a range, because the kernel keeps the policy with the file. Called
 * before another space can use the range.
 */
void stp_numa_reset_policy(void *base, size_t nbytes);

/*
 * Applies the NUMA policy of the space to the nbytes bytes at base, which the space has gained by
 * growth. Does nothing if the space has no NUMA policy.
 */
void stp_numa_extend(const struct stp_space *space, void *base, size_t nbytes);

/*
 * Data by which the other PEs of the node access this PE's part of a space, for example a file
 * descriptor or an IPC handle. Only the code of the kind interprets the field bytes.
 */
#define STP_PART_EXPORT_BYTES 112
struct stp_part_export {
    int32_t pe;
    int32_t valid; /* 1 if peers can use the data, else 0 */
    unsigned char bytes[STP_PART_EXPORT_BYTES];
};

/*
 * These functions implement create(), grow(), shrink() and destroy() of struct stp_kind for a space
 * whose page size the program chose (huge_pages.c). The space is outside the window, and
 * stp_own_file_peer() attaches the parts of peers. If the system cannot provide pages of the chosen
 * size, a warning is logged. space->page_bytes is set to the real page size.
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
 * Maps map_bytes bytes of the file fd as this PE's part of a space outside the window. The argument
 * file_offset is the position of the part in the file. Only the first open_bytes bytes are
 * accessible. The argument extra_flags has additional mmap() flags, which this PE also uses for the
 * parts of peers. The caller keeps fd open as long as the space exists. Returns 0, or -errno
 * without logging.
 */
int stp_own_file_map_own_part(struct stp_space *space, int fd, off_t file_offset, size_t map_bytes,
                              size_t open_bytes, int extra_flags, struct stp_part_export *share);
/* Creates a memfd and maps it as this PE's part. Returns 0, or -errno after logging. */
int stp_own_file_create_memory(struct stp_space *space, struct stp_part_export *share);
/*
 * Sets the path by which this PE opens the file of a peer if it cannot open the file through /proc.
 * The string must stay valid as long as the space exists.
 */
void stp_own_file_set_path(struct stp_space *space, const char *path);

/*
 * Extends this PE's file to new_nbytes bytes, a multiple of the file's page size. Makes the new
 * bytes accessible in all parts that this PE has mapped. Returns 0, or -errno without logging.
 */
int stp_own_file_grow(struct stp_space *space, size_t new_nbytes);
/*
 * Undoes stp_own_file_grow(). Reduces this PE's file to kept_nbytes bytes. Makes all later bytes
 * inaccessible in the parts that this PE has mapped.
 */
void stp_own_file_undo_grow(struct stp_space *space, size_t kept_nbytes);
/* Implements attach() of struct stp_kind for a space outside the window. */
int stp_own_file_peer(struct stp_space *space, int local, const struct stp_part_export *share);
/* Returns the address of a local PE's part, or NULL after logging. Maps the part on first use. */
void *stp_own_file_map_peer(const struct stp_space *space, int local);
void stp_own_file_unmap_peers(struct stp_space *space);
/* Unmaps all parts and frees space->shm_attach. Does nothing if space->shm_attach is NULL. */
void stp_own_file_destroy(struct stp_space *space);

/*
 * Uses a buffer of the program as this PE's part of the space. The program has mapped the buffer
 * from a file, and peers map the same file. Returns 0, or -errno after logging.
 */
int stp_own_file_share_buffer(struct stp_space *space, const struct stp_space_params *params,
                              struct stp_part_export *share);

/*
 * Returns whether addr is in a part of the space that this PE has mapped, or in the memory that the
 * part reserves for growth. Always returns false if the space is a buffer of the program. Sets
 * *local to the local index of the part's owner, or to -1 for this PE. Sets *offset to the offset
 * in the part. A signal handler may call this function.
 */
bool stp_own_file_holds(const struct stp_space *space, const void *addr, int *local,
                        size_t *offset);

extern unsigned stp_own_file_n; /* number of spaces whose field shm_attach is set */

/* State that a copy must have reached when the call returns. */
enum stp_copy_completion {
    STP_COPY_NONE,   /* the copy may use source and dest until flush() returns */
    STP_COPY_LOCAL,  /* the caller may change source; dest is complete after flush() */
    STP_COPY_REMOTE, /* dest is complete */
};

/*
 * A copy of n rows of width bytes. A pitch is the distance in bytes between the starts of two
 * consecutive rows.
 */
struct stp_strided_copy {
    size_t width, n, dest_pitch, source_pitch;
};

/* An atomic operation on a word of 4 or 8 bytes. variant is an SHMEMX_DEV_AMO_ constant. */
struct stp_word_op {
    uint32_t nbytes, variant;
    uint64_t value, compare;
};

/*
 * The sources that a reduction combines for destination i. STP_SPAN_ALL means all sources,
 * STP_SPAN_INCLUSIVE means the sources 0 to i, and STP_SPAN_EXCLUSIVE means the sources 0 to i-1.
 * For i = 0, STP_SPAN_EXCLUSIVE means no source.
 */
enum stp_reduce_span { STP_SPAN_ALL, STP_SPAN_INCLUSIVE, STP_SPAN_EXCLUSIVE };

/*
 * A reduction. It combines the elements of n sources, in the order of the array sources, and writes
 * n destinations.
 */
#define STP_REDUCTION_PARTS 64
struct stp_reduction {
    enum stp_op op;
    enum stp_reduce_span span;
    enum stp_dtype dtype;
    size_t nelems;
    int n;
    const void *sources[STP_REDUCTION_PARTS];
    void *dests[STP_REDUCTION_PARTS]; /* dests[i] may be equal to sources[i] */
};

/*
 * A queue of copies to and from memory of one kind. Each context has its own queue. The copies in a
 * queue run in order. They are complete after flush().
 */
struct stp_queue;

/* Device memory that the program has allocated itself. It does not belong to a space. */
struct stp_allocation {
    void *base;
    size_t nbytes;
    unsigned long long id; /* number that no other allocation in this process ever has */
    int device;
    /* Value that register_private() saves for unregister_private(). */
    unsigned long long sync_memops;
};

/*
 * Operations of a kind whose memory the CPU must not access. Any thread may call these operations,
 * except probe_driver(), mark_driver_missing() and start(), which are called during initialization.
 */
struct stp_device_ops {
    /*
     * Returns whether the device driver is installed on this host. Only the leader of a node calls
     * probe_driver(), because an unsuccessful search takes a hundred system calls.
     */
    bool (*probe_driver)(void);
    /*
     * Makes start() skip the search for the driver. If probe_driver() found no driver on the
     * leader, all other PEs of the node call mark_driver_missing() before start(). The argument
     * leader is the leader's world number.
     */
    void (*mark_driver_missing)(int leader);
    /*
     * Finds the devices of this machine. Creates no context on them. If this fails, a later probe()
     * reports the reason.
     */
    void (*start)(void);
    /* Unmaps the parts of peers. Called before any peer destroys its part. */
    void (*detach)(struct stp_space *space);
    /*
     * Returns the address by which this PE copies to and from the part of a local PE. The first
     * call for a PE opens its part. Returns NULL if the system refuses access. The owner's proxy
     * thread then makes the copies.
     */
    void *(*reach)(struct stp_space *space, int local);
    /*
     * Returns whether ptr points to memory of this kind, in a space or elsewhere. The check is fast
     * if ptr points to host memory.
     */
    bool (*owns)(const void *ptr);
    int (*queue_create)(struct stp_queue **queue);
    void (*queue_destroy)(struct stp_queue *queue); /* called after flush(); accepts NULL */
    /*
     * Copies nbytes bytes. At least one of source and dest is memory of this kind. The other buffer
     * can be any memory in this process that the kind or the CPU can access. Returns 0, or -errno
     * after logging the driver's error.
     */
    int (*copy)(struct stp_queue *queue, void *dest, const void *source, size_t nbytes,
                enum stp_copy_completion end);
    int (*copy_rows)(struct stp_queue *queue, void *dest, const void *source,
                     const struct stp_strided_copy *rows, enum stp_copy_completion end);
    /* Waits until all work in the queue is complete. Returns 0, or -errno after logging. */
    int (*flush)(struct stp_queue *queue);
    /*
     * Zeroes a range of this PE's part, and waits until the range is zero. Returns 0, or -errno
     * after logging.
     */
    int (*zero)(struct stp_queue *queue, struct stp_space *space, size_t offset, size_t nbytes);
    /*
     * Makes one device set *word to value, after all earlier copies of the queue on this device are
     * complete. The parameter device_ptr is any address in the memory of this device. The device
     * must be able to access the word. Returns 0, or -errno after logging.
     */
    int (*set_word)(struct stp_queue *queue, const void *device_ptr, void *word, uint64_t value);
    /*
     * Performs an atomic operation on a word of this PE's part, on the device. Sets *old to the
     * previous value. Only one thread at a time may call this operation. Returns 0, or -errno after
     * logging. Returns -ENOTSUP if atomics on the device are not enabled. GPU kernels must not
     * change words of spaces in this case, so the caller can perform the operation with copies.
     */
    int (*atomic)(struct stp_space *space, size_t offset, const struct stp_word_op *op,
                  uint64_t *old);
    /*
     * Performs a reduction on the device and waits for completion. Combines the operands in the
     * same order as stp_op_reduce(). The results are equal, except that the bits of a NaN can
     * differ. Returns 0, or -errno after logging. Returns -ENOTSUP, without writing anything, if
     * the device does not support this reduction.
     */
    int (*reduce)(struct stp_queue *queue, const struct stp_reduction *reduction);
    /*
     * Makes the driver's context of the space current in this thread. Called before another library
     * uses the driver for the space's memory, for example to register the memory. Returns false on
     * failure. In this case, pop_context() must not be called.
     */
    bool (*push_context)(const struct stp_space *space);
    /* Undoes push_context(). */
    void (*pop_context)(void);
    /*
     * Returns whether host memory can be pinned for this kind. If not, writes an error text to
     * reason.
     */
    bool (*can_pin)(char *reason, size_t len);
    /* Pins host memory, because copies to and from it are then faster. Failures are ignored. */
    void (*pin)(void *host, size_t nbytes);
    /* Undoes pin(). */
    void (*unpin)(void *host, size_t nbytes);
    /*
     * Makes data in device memory visible to the device after network adapters have written the
     * data.
     */
    void (*flush_remote)(void);
    /*
     * Returns the descriptor of a dma-buf for the nbytes bytes at base, which are memory of a
     * space. A network adapter can register the memory with this descriptor. Sets *offset to the
     * offset of base in the dma-buf. Returns -1 if the driver provides no dma-buf. Called between
     * push_context() and pop_context(). The caller closes the descriptor.
     */
    int (*dmabuf)(void *base, size_t nbytes, size_t *offset);
    /*
     * Finds the allocation of the program that contains ptr, so that a network adapter can register
     * it. Returns false if ptr is in a space. Also returns false if a network adapter cannot
     * register the whole allocation, or if the registration could become invalid while the
     * allocation exists. If owns() has queried the driver about ptr in the current operation
     * (stp_kind_operation), uses the result of that query again.
     */
    bool (*allocation)(const void *ptr, struct stp_allocation *allocation);
    /*
     * Registers the allocation with the fabric by calling add(). Passes number to add(). Returns 0,
     * or the error of add() or of the driver. After an error nothing has changed.
     */
    int (*register_private)(struct stp_allocation *allocation, unsigned number,
                            int (*add)(unsigned number, void *base, size_t nbytes, int device));
    /*
     * Restores the driver settings that register_private() changed, if the allocation still exists.
     */
    void (*unregister_private)(const struct stp_allocation *allocation);
};

/* Operations of a kind whose memory can outlive the job. Any thread may call these operations. */
struct stp_store_ops {
    /*
     * Makes nbytes bytes at offset in this PE's part durable. Returns 0, or -errno without logging.
     */
    int (*persist)(struct stp_space *space, size_t offset, size_t nbytes);
    /* Sets *root to the i-th named block. Returns false if the space has fewer named blocks. */
    bool (*named_block_at)(const struct stp_space *space, unsigned i, struct stp_named_block *root);
    /*
     * Stores the name of a block durably. If root->nbytes is 0, removes the name. All members call
     * this operation. It does nothing if another member has stored the name already. Returns 0, or
     * -errno after logging.
     */
    int (*named_block_set)(struct stp_space *space, const struct stp_named_block *root);
    /*
     * Looks up a space by name. Returns 0, -ENOENT without logging if the name does not exist, or
     * another -errno after logging.
     */
    int (*stat)(const char *name, struct stp_named *named);
    /*
     * Maps part i of the space for reading and sets *base to its address. i must be less than
     * space->n_parts. The part stays mapped until the space is destroyed, or until drop() frees the
     * part. Returns 0, or -errno after logging.
     */
    int (*part)(struct stp_space *space, unsigned i, const void **base);
    /*
     * Returns whether the space has new parts (a new generation), while its name still denotes the
     * old parts. The next three operations complete this change. All members finish one of these
     * operations before any member calls the next one.
     */
    bool (*reshaping)(const struct stp_space *space);
    /* Makes this PE's new part durable. Returns 0, or -errno after logging. */
    int (*settle)(struct stp_space *space);
    /* Makes the name denote the new parts. Returns 0, or -errno after logging. */
    int (*release)(struct stp_space *space);
    /* Frees the old parts. */
    void (*drop)(struct stp_space *space);
};

/*
 * The row of a kind of memory: its properties and its operations. An operation can be NULL only if
 * its comment says so. Any thread may call the operations, except stop() and probe().
 */
struct stp_kind {
    const char *name; /* name of the kind, for example "gpu" */
    int device_type;  /* SHMEM_DEVICE_ constant of the kind */
    bool host;        /* whether CPUs of the node may load and store the parts */
    /*
     * Whether spaces of this kind are in the window if the window has room. False if host is false.
     */
    bool in_window;
    bool owner_only;     /* whether only the owner's process and the kernel can access a part */
    unsigned traits;     /* supported attributes, as bits of enum stp_trait */
    const char *numa_by; /* name for messages if the kind sets NUMA policies, else NULL */
    const struct stp_device_ops *device; /* device operations; NULL if CPUs access the parts */
    const struct stp_store_ops *store;   /* operations for memory that outlives the job, or NULL */

    /*
     * Releases everything that start() and other operations of the kind have set up. Can be NULL.
     */
    void (*stop)(void);
    /*
     * Returns 0 if this PE has access to memory of this kind, else -errno. In both cases writes a
     * text for the user to message: a description of the memory, or the reason for the error.
     */
    int (*probe)(const struct stp_space_params *params, char *message, size_t len);
    /* Checks whether this PE can create its part. Returns 0, or -errno after logging. */
    int (*admit)(const struct stp_space_params *params);
    /*
     * Sets the fields place and free_bytes of *my_request to the place from which this PE's part
     * takes memory, and to the number of free bytes in this place. The operation is NULL if parts
     * of different PEs do not share a place.
     */
    void (*claim)(const struct stp_space_params *params, struct stp_capacity_request *my_request);
    /*
     * Checks whether the place in *my_request, this PE's request, has enough memory for all parts
     * that use this place. The array requests has the requests of the n members on this host, in
     * team order. Stores in *space the data that grow() needs. Returns 0 or -errno. Of all members
     * with this place, only the first one logs the error. The operation is NULL if claim() is NULL.
     */
    int (*admit_all)(struct stp_space *space, const struct stp_capacity_request *requests, int n,
                     const struct stp_capacity_request *my_request);
    /*
     * Creates this PE's part. Sets space->base, space->device and *share, the data for peers. If
     * the space is in the window, its offset there is space->offset. Returns 0, or -errno after
     * logging. After an error nothing has changed.
     */
    int (*create)(struct stp_space *space, const struct stp_space_params *params,
                  struct stp_part_export *share);
    /*
     * Extends this PE's part to nbytes bytes, at most space->max_bytes. Also extends the mappings
     * of the parts of local members in this process. space->nbytes does not change yet, and no PE
     * uses the new memory yet. Returns 0, or -errno after writing an error text to reason. After an
     * error nothing has changed. The operation is NULL for a kind without STP_TRAIT_GROWS.
     */
    int (*grow)(struct stp_space *space, size_t nbytes, char *reason, size_t len);
    /*
     * Undoes grow() as long as space->nbytes is unchanged. The operation is NULL for a kind without
     * STP_TRAIT_GROWS.
     */
    void (*shrink)(struct stp_space *space);
    /*
     * Attaches the part of a local member, which can be this PE. The argument local is the local
     * index of the member. If the space is in the window, the part becomes accessible in the view.
     * Otherwise the operation stores the data in *share for later use. Returns 0, or -errno after
     * logging.
     */
    int (*attach)(struct stp_space *space, int local, const struct stp_part_export *share);
    /* Undoes create() and attach(). Called when no member uses the space any more. */
    void (*destroy)(struct stp_space *space);
    /*
     * Writes one line about device i to text: its name and its memory size, as this PE sees them.
     * Returns false if device i does not exist.
     */
    bool (*describe)(int i, char *text, size_t len);
    /*
     * Returns the number of devices that this PE sees. If device i exists and device is not NULL,
     * also sets *device. Called after start() and before stop(). Creates no context on a device.
     * The operation is NULL for a kind without a SHMEM_DEVICE_ constant, because programs cannot
     * query the devices of such a kind.
     */
    int (*devices)(int i, struct stp_device *device);
};

#define STP_KINDS_MAX 8

/* The registered kinds, in the order of registration. The index of a kind is its number. */
extern const struct stp_kind *stp_kinds[STP_KINDS_MAX];
extern int stp_n_kinds;

/*
 * Registers a kind. Called before all other functions in this header. All PEs must register the
 * kinds in the same order, because they exchange the numbers of kinds.
 */
void stp_kind_register(const struct stp_kind *kind);

/* Returns the kind with this SHMEM_DEVICE_ constant, or NULL if this build has no such kind. */
const struct stp_kind *stp_kind_find(int device_type);

/*
 * Returns a bit mask of the kinds whose driver is not installed on this host. Bit i stands for
 * stp_kinds[i]. Only the leader of a node calls this function.
 */
uint32_t stp_kinds_without_driver(void);
/*
 * Calls mark_driver_missing() of each kind whose bit is set in kinds, the bit mask that the leader
 * got. The other PEs of the node call this function before stp_kinds_find_devices().
 */
void stp_kinds_mark_driver_missing(uint32_t kinds, int leader);

/* Calls start() of all kinds that have devices. */
void stp_kinds_find_devices(void);
/* Calls stop() of all kinds. */
void stp_kinds_stop(void);

/*
 * Returns the kind of the device memory at ptr, or NULL if ptr points to host memory. Called only
 * if stp_win.devices is set, because otherwise all memory is host memory.
 */
const struct stp_kind *stp_device_kind_of(const void *ptr);

/* Calls dmabuf() of the kind that owns base. Returns -1 if base points to host memory. */
int stp_kinds_dmabuf(void *base, size_t nbytes, size_t *offset);

/*
 * Number of the current operation of this thread. Within one operation, results of driver queries
 * about an address can be used again. In the next operation they are invalid, because the program
 * can have freed the memory.
 */
extern __thread unsigned stp_kind_operation __attribute__((tls_model("initial-exec")));

static inline void stp_kind_begin(void)
{
    stp_kind_operation++;
}

/* Returns whether this machine supports an attribute. If not, writes an error text to reason. */
bool stp_kinds_trait_is_possible(enum stp_trait trait, char *reason, size_t len);

/*
 * Copies rows of host memory. If there is only one row, of 1, 2, 4 or 8 bytes, and both addresses
 * are aligned, the copy is a single store.
 */
void stp_copy_host(void *dest, const void *source, const struct stp_strided_copy *rows);

/*
 * Writes 1, 2, 4 or 8 bytes by a single store, so that readers see the old or the new value. Writes
 * other sizes by memcpy().
 */
void stp_store_whole(void *dest, const void *value, size_t nbytes);

/*
 * Each function calls the operation of the same name (pin, unpin or flush_remote) of every kind
 * that has devices.
 */
void stp_kinds_pin(void *host, size_t nbytes);
void stp_kinds_unpin(void *host, size_t nbytes);
void stp_kinds_flush_remote(void);

/*
 * Returns the address at which this PE accesses a local member's part. If the kind has devices,
 * only the kind's copy operations can use the address. The first call maps the part. Returns NULL
 * if this PE cannot access the part.
 */
void *stp_kind_reach(struct stp_space *space, int local);
/* Unmaps the parts of peers. All members call this before any member destroys its part. */
void stp_kind_detach(struct stp_space *space);

#define STP_SPACE_MAGIC 0x53505445u
/* Space numbers are below this limit. The fabric has one memory region for each space number. */
#define STP_SPACE_NUMBERS 4096

#endif /* STP_KINDS_H */
