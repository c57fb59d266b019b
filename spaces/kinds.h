/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kinds of memory: one row of operations each, and what spaces share to reach each other. Design:
 * docs/design/kinds.md.
 */
#ifndef STP_KINDS_H
#define STP_KINDS_H

#include "machine.h"
#include "window.h"

/*
 * What a space may be asked for besides its size. A row has the bits of those that its kind knows;
 * whether a machine has what they take is for the kind to tell (can).
 */
enum stp_trait {
    STP_TRAIT_GROWS,  /* a size that it may grow to */
    STP_TRAIT_PAGES,  /* a size of its pages */
    STP_TRAIT_NODE,   /* the NUMA node that its pages come from */
    STP_TRAIT_POLICY, /* a NUMA policy other than to be bound to a node */
    STP_TRAIT_PINNED, /* GPUs reach it */
    STP_TRAIT_NAME,   /* a name, by which other jobs find what it holds */
    STP_TRAIT_ADOPTS, /* memory of the program to be made of */
    STP_N_TRAITS
};
#define STP_HAS(trait) (1u << (trait))

struct stp_space;
struct stp_team; /* only kept for those above */

/* What a name is to stand for; as the public constants. */
enum stp_open { STP_OPEN_EITHER, STP_OPEN_CREATE, STP_OPEN_FOUND, STP_N_OPENS };

/* Where pages come from; as the public constants. */
enum stp_numa { STP_NUMA_DEFAULT, STP_NUMA_BIND, STP_NUMA_INTERLEAVE, STP_NUMA_TOUCH, STP_N_NUMAS };

/* Memory of the program's that becomes a space. */
struct stp_adopt {
    int fd; /* that is mapped there, shared, from byte at on; -1: private memory */
    uint64_t at;
    int flags; /* as the program passed them */
    bool heap; /* malloc serves from it */
};

/* What is asked of a kind when a space is made: the config and what the attributes add. */
struct stp_space_params {
    size_t nbytes;    /* a PE */
    size_t max_bytes; /* that it may grow to; nbytes: it does not */
    int device;       /* ordinal, -1: the kind chooses */
    const char *name; /* of a space that other jobs can open; NULL: nobody else's */
    bool keep;        /* a named space outlives the job */
    void *buffer;     /* adopt this memory of the caller's instead of allocating; or NULL */
    int pe;           /* this PE's number in the team that makes the space, */
    int n_pes;        /* of so many */
    enum stp_open open;
    enum stp_numa numa;
    int numa_node;       /* for STP_NUMA_BIND; -1: this PE's */
    const char *numa_by; /* who says so, where it is the kind and not the program; else NULL */
    bool pinned;         /* host memory that GPUs reach */
    uint64_t token;      /* of this creation: the same on all PEs, and no other one has it */
    bool reshape;        /* a named space of fewer parts than n_pes gets a new generation */
    size_t page_bytes;   /* host memory: of its pages; 0: what the system gives */
    const struct stp_adopt *adopt; /* the buffer is no new memory; NULL: no more than that */
};

/*
 * A place of a host that parts of several PEs take memory of, and what it had left when this PE
 * asked: each member says so before any makes its part.
 */
struct stp_capacity_request {
    int32_t pe, host;
    int32_t place; /* the kind's number of it */
    uint64_t left; /* bytes */
};

/* What a name stands for, without opening it. */
struct stp_named {
    const struct stp_kind *kind;
    size_t nbytes; /* a part */
    unsigned n_parts;
    bool keep, in_use;
};

/* A block that a named space keeps a name for; offsets are the same in every part. */
#define STP_BLOCK_NAME 64
struct stp_named_block {
    char name[STP_BLOCK_NAME];
    uint64_t offset, nbytes;     /* what the name stands for */
    uint64_t block, block_bytes; /* what was allocated around it */
};

/*
 * Allocates zeroed records of a space: nbytes, and so many more for each PE of this node, *n of
 * them. NULL: no memory, logged with what the space is.
 */
void *stp_kind_alloc_with_peers(const char *what, size_t nbytes, size_t each, int *n);

/* Is there the NUMA node that is asked for? 0, or -ENODEV, logged. */
int stp_numa_check(const struct stp_space_params *params);

/*
 * Where the pages of a range of the window come from, before they are touched. Where the kernel
 * refuses it, they come from anywhere, and a line says so. The policy is the file's, so it is
 * forgotten before another space may have the range. apply: was there anything to forget? Sets
 * *bound to the node that pages are bound to, -1: to none.
 */
bool stp_numa_apply(const struct stp_space_params *params, void *base, size_t nbytes, int *bound);
void stp_numa_reset_policy(void *base, size_t nbytes);

/* The same for a piece by which a space that has a policy grows. */
void stp_numa_extend(const struct stp_space *space, void *piece, size_t nbytes);

/*
 * What a PE tells the others of its node about its part of a space, so that they can reach it:
 * a descriptor, an IPC handle. The kind knows what the bytes mean.
 */
#define STP_PART_EXPORT_BYTES 112
struct stp_part_export {
    int32_t pe;
    int32_t valid; /* 0: this PE has nothing to share, and says so */
    unsigned char bytes[STP_PART_EXPORT_BYTES];
};

/*
 * The operations of a kind's row for a space whose program chose the page size (huge_pages.c). It
 * lies outside the window and is attached like all spaces there. When the system cannot give that
 * size, a warning is logged; space->page_bytes is the size that the system gave.
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
 * This PE's part of a space that has no range of the window: map_bytes of file fd from position at,
 * mapped where there is room, untouchable from open_bytes on. extra: flags of mmap besides
 * MAP_SHARED, here and for peers. fd stays the caller's, and open while the space lives. 0 or
 * -errno, not logged. memory: of a file made for it; logged. path: a name that leads to the file of
 * peers, too, where /proc is refused; it stays while the space lives.
 */
int stp_own_file_map_own_part(struct stp_space *space, int fd, off_t at, size_t map_bytes,
                              size_t open_bytes, int extra, struct stp_part_export *share);
int stp_own_file_create_memory(struct stp_space *space, struct stp_part_export *share);
void stp_own_file_set_path(struct stp_space *space, const char *path);

/*
 * As the ops of a kind's row, for spaces with space->shm_attach; destroy also without. grow,
 * shrink: as many bytes of the parts may be touched then, whole pages of the file. grow: 0 or
 * -errno, not logged.
 */
int stp_own_file_grow(struct stp_space *space, size_t new_nbytes);
void stp_own_file_undo_grow(struct stp_space *space, size_t kept_nbytes);
int stp_own_file_peer(struct stp_space *space, int local, const struct stp_part_export *share);
void *stp_own_file_map_peer(const struct stp_space *space, int local);
void stp_own_file_unmap_peers(struct stp_space *space);
void stp_own_file_destroy(struct stp_space *space);

/* Of memory that the program has mapped, as params say: peers map it, too. 0 or -errno, logged. */
int stp_own_file_share_buffer(struct stp_space *space, const struct stp_space_params *params,
                              struct stp_part_export *share);

/*
 * Is addr in a part of the space that is mapped here, or in what is kept for its growth? Sets
 * local, -1 for this PE's own, and offset. Also from a signal handler.
 */
bool stp_own_file_holds(const struct stp_space *space, const void *addr, int *local,
                        size_t *offset);

extern unsigned stp_own_file_n; /* such spaces there are */

/* How far a copy must be when the call returns. */
enum stp_copy_completion {
    STP_COPY_NONE,   /* source and dest may be in use until flush */
    STP_COPY_LOCAL,  /* source may be reused; dest is written by flush */
    STP_COPY_REMOTE, /* dest is written */
};

/* Rows of a strided copy: n rows of width bytes, so many bytes from row to row. */
struct stp_strided_copy {
    size_t width, n, dest_pitch, source_pitch;
};

/* An atomic on a word of 4 or 8 bytes. variant: an SHMEMX_DEV_AMO_ of shmemx_device_machine.h. */
struct stp_word_op {
    uint32_t nbytes, variant;
    uint64_t value, compare;
};

/* What a part gets of the n: all, those up to it, or those before it, which are 0 for the first. */
enum stp_reduce_span { STP_SPAN_ALL, STP_SPAN_INCLUSIVE, STP_SPAN_EXCLUSIVE };

/* Elements of n parts, in that order, to n parts; each reached from here. */
#define STP_REDUCTION_PARTS 64
struct stp_reduction {
    enum stp_op op;
    enum stp_reduce_span span;
    enum stp_dtype dtype;
    size_t nelems;
    int n;
    const void *sources[STP_REDUCTION_PARTS];
    void *dests[STP_REDUCTION_PARTS]; /* they may be the sources */
};

/* Copies of one context by one kind: they run in order, and are complete after flush. */
struct stp_queue;

/* Private memory of a device as the program allocated it. */
struct stp_allocation {
    void *base;
    size_t nbytes;
    unsigned long long id; /* that no other allocation of this process has, ever */
    int device;
    unsigned long long sync_memops; /* the kind's: what is to be taken back */
};

/*
 * What a kind does whose memory the CPU may not touch; only these operations touch it. Any of them
 * but look, missing and start may be called from any thread.
 */
struct stp_device_ops {
    /*
     * Is there a driver, as far as this PE may look? Where there is none, the search takes a
     * hundred system calls, so the leader of a node looks, and the others are told of it before
     * their start by missing.
     */
    bool (*look)(void);
    void (*missing)(int leader);
    /* Look what devices this machine has, without taking any; probe reports what it lacks. */
    void (*start)(void);
    /* Let go of the parts of peers; before any of them destroys its own. */
    void (*detach)(struct stp_space *space);
    /*
     * Where the part of the member with local index local can be copied to and from by this PE;
     * opened on first use. NULL when the system refuses: then its owner's proxy thread must do it.
     */
    void *(*reach)(struct stp_space *space, int local);
    /* Is ptr memory of this kind, symmetric or private? Quick no for the usual host memory. */
    bool (*owns)(const void *ptr);
    int (*queue_create)(struct stp_queue **queue);
    void (*queue_destroy)(struct stp_queue *queue); /* after flush; NULL is fine */
    /*
     * Copy between memory of this kind and anything that it or the host can reach here; at least
     * one side is this kind's. 0, or -errno after logging what the driver said.
     */
    int (*copy)(struct stp_queue *queue, void *dest, const void *source, size_t nbytes,
                enum stp_copy_completion end);
    int (*copy_rows)(struct stp_queue *queue, void *dest, const void *source,
                     const struct stp_strided_copy *rows, enum stp_copy_completion end);
    int (*flush)(
        struct stp_queue *queue); /* everything in the queue is done. 0 or -errno, logged */
    /* Set bytes of this PE's part to zero, done on return. 0 or -errno, logged. */
    int (*zero)(struct stp_queue *queue, struct stp_space *space, size_t offset, size_t nbytes);
    /* Set a word that devices reach, behind the copies to near that are in the queue. */
    int (*set_word)(struct stp_queue *queue, const void *near, void *word, uint64_t value);
    /*
     * Do an atomic on a word of this PE's part by what the memory is on, one at a time; old gets
     * what was there. 0; -ENOTSUP: nothing but this PE's threads changes the words, which do it
     * themselves; -errno, logged.
     */
    int (*atomic)(struct stp_space *space, size_t offset, const struct stp_word_op *op,
                  uint64_t *old);
    /*
     * Reduce by what the memory is on, in the order and with the bits of stp_op_reduce() but for
     * which NaN it is; done on return. 0; -ENOTSUP: it cannot, and nothing was written; -errno,
     * logged.
     */
    int (*reduce)(struct stp_queue *queue, const struct stp_reduction *reduction);
    /*
     * Around what others do with the memory of a space by a library that the kind's driver is known
     * to: its context is current. enter: false, when there is none to leave.
     */
    bool (*enter)(const struct stp_space *space);
    void (*leave)(void);
    /* Could a host space be pinned for devices of this kind? Else why not. */
    bool (*can_pin)(char *why, size_t len);
    /* Host memory that copies will use much: make it quick for them. Best effort; undo. */
    void (*pin)(void *host, size_t nbytes);
    void (*unpin)(void *host, size_t nbytes);
    /* A peer's adapter wrote to this PE's memory: make it visible to what the kind runs. */
    void (*flush_remote)(void);
    /*
     * A descriptor of memory of a space, between enter and leave, that an adapter can register from
     * *offset on; the caller closes it. -1: the driver has none.
     */
    int (*dmabuf)(void *base, size_t nbytes, size_t *offset);
    /*
     * The allocation that private memory of this kind is in, where adapters can be given all of it
     * until the program frees it. false: it is of a space, or cannot. Asks the driver nothing that
     * owns has not asked in this operation.
     */
    bool (*allocation)(const void *ptr, struct stp_allocation *allocation);
    /*
     * Have it registered by add, with number, for adapters to read and write; 0, or what add or
     * the driver said, and nothing is changed. unregister_private: no longer, if it is still there.
     */
    int (*register_private)(struct stp_allocation *allocation, unsigned number,
                            int (*add)(unsigned number, void *base, size_t nbytes, int device));
    void (*unregister_private)(const struct stp_allocation *allocation);
};

/* What a kind does whose memory can outlive the job. Any thread. */
struct stp_store_ops {
    /* Bytes of this PE's part survive a power failure from now on. 0 or -errno, not logged. */
    int (*persist)(struct stp_space *space, size_t offset, size_t nbytes);
    /* The i-th block with a name; false: there are no more. */
    bool (*named_block_at)(const struct stp_space *space, unsigned i, struct stp_named_block *root);
    /*
     * Name a block, durable on return; nbytes 0: forget the name. All members do it: who comes
     * after the first finds it done. 0 or -errno, logged.
     */
    int (*named_block_set)(struct stp_space *space, const struct stp_named_block *root);
    /* What a name stands for: 0, -ENOENT when it is for nothing, not logged, or -errno, logged. */
    int (*stat)(const char *name, struct stp_named *named);
    /*
     * Part i of a space, less than n_parts, to read, until the space is destroyed, or, of an old
     * generation, it is released. 0 or -errno, logged.
     */
    int (*part)(struct stp_space *space, unsigned i, const void **base);
    /*
     * Is this a new generation whose parts are filled, beside one that its name stands for still?
     * The three steps of its release, each after all members did the one before: what this PE's
     * part holds is durable; the name stands for it; the old one goes. 0 or -errno, logged.
     */
    bool (*reshaping)(const struct stp_space *space);
    int (*settle)(struct stp_space *space);
    int (*release)(struct stp_space *space);
    void (*drop)(struct stp_space *space);
};

/*
 * One row per kind of memory. An operation that may be NULL says so. Anything but stop and probe
 * may be called from any thread.
 */
struct stp_kind {
    const char *name; /* "gpu" */
    int device_type;  /* SHMEM_DEVICE_... */
    bool host;        /* CPUs load and store it: this PE's part, and those of its node */
    bool in_window;   /* its spaces lie in the window where that has room; host memory alone */
    bool owner_only;  /* nobody but the owner's loads and stores, and the kernel, reaches a part */
    unsigned traits;  /* bits of enum stp_trait */
    const char *numa_by; /* what messages call the kind that binds pages to nodes itself, or NULL */
    const struct stp_device_ops *device; /* NULL: a member's loads and stores work on its part */
    const struct stp_store_ops *store;   /* NULL: the memory goes with the job */

    /* Undo what was looked for, by start of the device or by any op; NULL: nothing. */
    void (*stop)(void);
    /*
     * Returns 0 when this PE has access to such memory, else -errno. why: a text for the user in
     * both cases, what was found or the reason.
     */
    int (*probe)(const struct stp_space_params *params, char *why, size_t len);
    /* Can this PE provide what is wished? 0 or -errno, logged. */
    int (*admit)(const struct stp_space_params *params);
    /*
     * NULL: parts ask for memory one by one. The place that this PE's part takes memory of. Then,
     * with the n claims of all members of this host in the order of their team: can it provide for
     * all that take of it? What growth needs of them is kept in the space. 0 or -errno, logged by
     * the first of those alone.
     */
    void (*claim)(const struct stp_space_params *params, struct stp_capacity_request *mine);
    int (*admit_all)(struct stp_space *space, const struct stp_capacity_request *claims, int n,
                     const struct stp_capacity_request *mine);
    /*
     * Memory for this PE's part: sets base (for kinds in the window: at its offset, and own part
     * only), device, and what peers of the node need. 0 or -errno, logged; nothing kept then.
     */
    int (*create)(struct stp_space *space, const struct stp_space_params *params,
                  struct stp_part_export *share);
    /*
     * NULL without STP_TRAIT_GROWS. This PE's part gets more memory, nbytes in all and at most
     * space->max_bytes, and this PE's ways to the parts of members of the node reach as far: as yet
     * nobody uses it, and space->nbytes is what it was. 0, or -errno with the reason as text;
     * nothing changed then. shrink undoes it while space->nbytes is what it was.
     */
    int (*grow)(struct stp_space *space, size_t nbytes, char *why, size_t len);
    void (*shrink)(struct stp_space *space);
    /*
     * A member of this node, with local index local, shared its part. Kinds in the window map it
     * into the view, the others remember it. Called for this PE's own index too. 0 or -errno,
     * logged.
     */
    int (*attach)(struct stp_space *space, int local, const struct stp_part_export *share);
    /* Undo create and what is left of attach; every member is through with the space. */
    void (*destroy)(struct stp_space *space);
    /*
     * One line about device i of this kind as this PE sees it: name, memory. Returns false when
     * there is no such device.
     */
    bool (*describe)(int i, char *text, size_t len);
    /*
     * How many devices this PE sees; device, unless NULL, gets what is known of device i, when it
     * is one of them. Between start and stop; never makes a context. NULL in a kind that no
     * constant names: nobody asks for its devices.
     */
    int (*devices)(int i, struct stp_device *device);
};

#define STP_KINDS_MAX 8

/* The kinds that have been registered, in that order. */
extern const struct stp_kind *stp_kinds[STP_KINDS_MAX];
extern int stp_n_kinds;

/* Before anything else here, and in the same order on all PEs: they tell each other numbers. */
void stp_kind_register(const struct stp_kind *kind);

/* The kind of a SHMEM_DEVICE_ constant, NULL when this build has none. */
const struct stp_kind *stp_kind_find(int device_type);

/*
 * Which kinds, a bit each by their number, have no driver on this node: the leader looks, before it
 * starts them; told to the others before they do.
 */
uint32_t stp_kinds_without_driver(void);
void stp_kinds_mark_driver_missing(uint32_t kinds, int leader);

/* Look what this machine has; undo. */
void stp_kinds_find_devices(void);
void stp_kinds_stop(void);

/*
 * The kind outside the window that ptr is memory of, NULL for host memory. For the slow path:
 * stp_win.devices says whether anything but host memory can be met at all.
 */
const struct stp_kind *stp_device_kind_of(const void *ptr);

/* As dmabuf of the kind that base is memory of; -1 also where it is host memory. */
int stp_kinds_dmabuf(void *base, size_t nbytes, size_t *offset);

/*
 * An operation of this thread begins: what a driver says of an address is good until the next one,
 * since the program may free memory in between.
 */
extern __thread unsigned stp_kind_operation __attribute__((tls_model("initial-exec")));

static inline void stp_kind_begin(void)
{
    stp_kind_operation++;
}

/* Has this PE what a trait of a row takes? Else why not. */
bool stp_kinds_trait_is_possible(enum stp_trait trait, char *why, size_t len);

/* Copy n rows of host memory at once. One row of 1, 2, 4 or 8 bytes: as stp_store_whole(). */
void stp_copy_host(void *dest, const void *source, const struct stp_strided_copy *rows);

/* One store where nbytes is 1, 2, 4 or 8: who reads it sees the old value or the new one. */
void stp_store_whole(void *there, const void *value, size_t nbytes);

/* pin, unpin and flush_remote of all kinds that have devices. */
void stp_kinds_pin(void *host, size_t nbytes);
void stp_kinds_unpin(void *host, size_t nbytes);
void stp_kinds_flush_remote(void);

/*
 * Where this PE reaches the part of the member with local index local, for copies of the kind where
 * it has devices; mapped on first use. NULL: refused. Detach lets go of the parts of peers, before
 * any of them destroys its own.
 */
void *stp_kind_reach(struct stp_space *space, int local);
void stp_kind_detach(struct stp_space *space);

#define STP_SPACE_MAGIC 0x53505445u
#define STP_SPACE_NUMBERS 4096 /* numbers name fabric regions: a contract with the module */

#endif /* STP_KINDS_H */
