/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steppe's extensions to OpenSHMEM. Each exported routine shmemx_f has a profiling twin pshmemx_f.
 * This header includes shmemx_stream.h (operations on streams) and shmemx_fam.h (fabric-attached
 * memory). A program whose kernels call the library also includes shmemx_device.h.
 *
 * Routines may be called between init and finalize, unless their comments say otherwise. Errors: a
 * routine that finds a wrong argument before it has changed anything prints a line that names the
 * routine and the argument, and returns nonzero, NULL or SHMEMX_PATH_NONE. A collective routine
 * does so on all members of the team; on the calling PE where the team is SHMEM_TEAM_INVALID. Use
 * of a handle that was destroyed ends the job, and so does freeing or resizing at an address that
 * does not begin a live block.
 */
#ifndef SHMEMX_H
#define SHMEMX_H

#include <shmem.h>
#include <shmemx_stream.h>

#if defined(__GNUC__) && !defined(SHMEM_IMPL_PLAIN)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* Returns the version of this library, "0.1.0". May be called at any time, also before init. */
const char *shmemx_version(void);

/*
 * Prints a report on the library, its settings and this machine to file descriptor fd.
 *
 * section: names of sections, separated by commas; NULL for all except spaces and doctor. json:
 * nonzero for one JSON object, zero for text. May be called at any time, also before init. Between
 * init and finalize the section spaces is collective over all PEs, and PE 0 prints it. Before init
 * the section doctor is collective over the PEs that a launcher started, and the first PE of each
 * host prints it. All other sections are local. Returns 0; nonzero if a section is unknown or fd
 * cannot be written; ENODEV if the doctor found a problem that will make jobs fail.
 */
int shmemx_info_print(int fd, const char *section, int json);

/*
 * Prints a table of this PE's live spaces to file descriptor fd: number, kind, size, base,
 * provider, interface, key. Local. Returns 0, or nonzero if fd cannot be written.
 */
int shmemx_space_print(int fd);

/* ---- devices: what spaces can be made on ------------------------------------ */

/*
 * The result of shmemx_device_describe(), which fills in the first struct_size bytes. Begin with
 * SHMEMX_DEVICE_INFO_INITIALIZER, which sets struct_size. Later versions add fields at the end;
 * bytes of a longer structure that this library does not know become zero.
 */
#define SHMEMX_DEVICE_PAGES 8
#define SHMEMX_BYTES_UNKNOWN ((size_t)-1)
typedef struct {
    size_t struct_size; /* size of the caller's structure */
    shmem_device_type_t device_type;
    int device;       /* number of the device; for a GPU the value for attr->device */
    int usable;       /* 0 if spaces cannot be made on it, for the reason in why_not */
    int numa_node;    /* CPU, HBM: the value for attr->numa_node; -1: unknown */
    int distance;     /* NUMA distance from the CPUs of this process; 10: same node; -1: unknown */
    int nic_distance; /* NUMA distance from the fabric's adapter; -1: unknown, or before init */
    int n_page_sizes;
    size_t page_sizes[SHMEMX_DEVICE_PAGES]; /* ascending; large pages may have to be reserved */
    size_t nbytes;                          /* bytes of memory, or SHMEMX_BYTES_UNKNOWN */
    size_t free;                            /* bytes that are free now, or SHMEMX_BYTES_UNKNOWN */
    char bus_id[32]; /* PCI address, as in "0000:17:00.0"; "" if it has none */
    char name[96];
    char why_not[128];
} shmemx_device_info_t;

#define SHMEMX_DEVICE_INFO_INITIALIZER                                                             \
    {                                                                                              \
        sizeof(shmemx_device_info_t), SHMEM_DEVICE_CPU, -1, 0, -1, -1, -1, 0, {0}, 0, 0, "", "",   \
            ""                                                                                     \
    }

/*
 * shmemx_device_count() returns the number of devices of a kind that this process sees, or a
 * negative number if this library does not have the kind. shmemx_device_describe() fills in facts
 * about device i, from 0. CPU devices are the NUMA nodes with memory, HBM devices are those that
 * hwloc reports with high bandwidth, and the FAM device is the one that SHMEM_FAM_PATH names. Both
 * are local and may be called at any time. Neither creates a context on a GPU: free bytes come from
 * an existing context or from NVML. describe returns 0, or nonzero if there is no such device.
 */
int shmemx_device_count(shmem_device_type_t kind);
int shmemx_device_describe(shmem_device_type_t kind, int i, shmemx_device_info_t *info);

/* Sets the defaults, as shmemx_space_attr_init() does. Local, at any time. */
int shmemx_device_info_init(shmemx_device_info_t *info, size_t struct_size);

/* ---- spaces: what the proposal leaves to implementations ------------------ */

/* Required state of the name of a FAM space when the space is created. */
typedef enum {
    SHMEMX_SPACE_EITHER = 0, /* any: the space is opened, or made if none has the name */
    SHMEMX_SPACE_CREATE,     /* unused: it is an error if a space has the name */
    SHMEMX_SPACE_OPEN        /* in use: it is an error if no space has it, or the file is empty */
} shmemx_space_open_t;

/* NUMA nodes from which the pages of a space come. */
typedef enum {
    SHMEMX_NUMA_DEFAULT = 0, /* nodes that the process has set, for example by numactl */
    SHMEMX_NUMA_BIND,        /* only the node attr->numa_node */
    SHMEMX_NUMA_INTERLEAVE,  /* all nodes in turn, page by page */
    SHMEMX_NUMA_FIRST_TOUCH  /* node of the thread that touches a page first */
} shmemx_space_numa_t;

/* Flags of shmemx_space_attr_t, and of shmemx_space_info_t for an existing space. */
#define SHMEMX_SPACE_KEEP 1 /* named FAM: the space stays if the last job to leave has this flag */
#define SHMEMX_SPACE_PINNED 2  /* CPU, HBM: resident; GPUs reach it by shmemx_space_device_ptr() */
#define SHMEMX_SPACE_RESHAPE 4 /* named FAM: if there are more PEs than parts, all get new parts */

/*
 * Attributes for shmemx_space_create_attr(). Begin with SHMEMX_SPACE_ATTR_INITIALIZER, so that
 * fields of later versions keep their defaults.
 */
typedef struct {
    size_t struct_size;  /* size of this structure */
    shmem_team_t parent; /* team whose members call; all members of the space belong to it */
    int device;       /* GPU, or pinned: ordinal; -1: the library chooses; may differ between PEs */
    int flags;        /* SHMEMX_SPACE_KEEP, _PINNED and _RESHAPE, combined by |; 0: none */
    const char *name; /* FAM: name by which other jobs find the space; NULL: none */
    /* GPU: config->size bytes of the caller's; NULL: allocate; may differ between PEs */
    void *buffer;
    shmemx_space_open_t open;        /* FAM, with a name */
    shmemx_space_numa_t numa_policy; /* CPU; HBM: only default or bind; may differ between PEs */
    int numa_node; /* HBM, or CPU with SHMEMX_NUMA_BIND; -1: near this PE; may differ between PEs */
    size_t page_size; /* CPU, HBM: bytes of a page: 4096, 2 MiB, 1 GiB; 0: the system's choice */
    /* CPU, HBM: bytes to which it may grow if malloc finds no room; 0: fixed size */
    size_t max_size;
} shmemx_space_attr_t;

#define SHMEMX_SPACE_ATTR_INITIALIZER                                                              \
    {                                                                                              \
        sizeof(shmemx_space_attr_t), SHMEM_TEAM_WORLD, -1, 0, NULL, NULL, SHMEMX_SPACE_EITHER,     \
            SHMEMX_NUMA_DEFAULT, -1, 0, 0                                                          \
    }

/*
 * Sets the defaults in the first struct_size bytes of a structure, and its field struct_size, for
 * languages without initializers. Bytes that this library does not know become zero, and
 * shmemx_space_create_attr() refuses a structure in which such a byte is set. Local, at any time.
 * Returns 0, or nonzero if no such structure has this size.
 */
int shmemx_space_attr_init(shmemx_space_attr_t *attr, size_t struct_size);

/*
 * Creates a space as shmem_space_create() does, with attributes (NULL: the defaults). Collective
 * over attr->parent only. Members pass equal configs and attributes; only device, buffer,
 * numa_policy and numa_node may differ.
 *
 * A name has 1 to 63 letters, digits, dots, dashes and underscores, and does not begin with a dot.
 * Member i of the parent owns part i of a named space. The space keeps the number and the size of
 * its parts: another size is always refused, fewer PEs may open it, and more PEs only with
 * SHMEMX_SPACE_RESHAPE. Jobs may use it at the same time only if they have equal numbers of PEs.
 * Returns 0, or nonzero on all members of the parent, with both handles INVALID.
 */
int shmemx_space_create_attr(const shmem_space_config_t *config, const shmemx_space_attr_t *attr,
                             shmem_space_t *space, shmem_team_t *team);

/* Ways in which bytes travel between this PE and another PE's part of a space. */
typedef enum {
    SHMEMX_PATH_NONE = 0,   /* no path: one of the two is not a member */
    SHMEMX_PATH_LOAD_STORE, /* mapped host memory */
    SHMEMX_PATH_DEVICE,     /* device memory of this PE or of a PE of the node, copied by this PE */
    SHMEMX_PATH_FABRIC,     /* the fabric reads and writes the memory */
    SHMEMX_PATH_STAGED,     /* copies through host buffers by a thread of the owner */
    SHMEMX_PATH_PROCESS     /* private pages of another process, copied by the kernel */
} shmemx_space_path_t;

/* Returns the path to the part of PE pe (number in the world), or SHMEMX_PATH_NONE. Local. */
shmemx_space_path_t shmemx_space_path(shmem_space_t space, int pe);
/* Returns the name of a path, such as "load/store". Local, at any time. */
const char *shmemx_space_path_name(shmemx_space_path_t path);

/*
 * Returns the address at which a kernel on this PE's GPU reaches an object in the part of PE pe
 * (number in the world). addr is this PE's address of the object. The result exists in a GPU space
 * if this PE can copy that part, and in host spaces for PEs of this node if the space has
 * SHMEMX_SPACE_PINNED or is the default one with SHMEM_PIN_HEAP. Returns NULL in all other cases,
 * for a PE that is not a member, and if addr is outside the space. Local. Has not run on a device
 * yet.
 */
void *shmemx_space_device_ptr(shmem_space_t space, const void *addr, int pe);

/*
 * The performer of atomics on words of a space; kernels may perform atomics on the same words at
 * the same time only where noted. See shmem_space_get_caps(3).
 */
typedef enum {
    SHMEMX_ATOMICS_HOST = 1, /* CPUs or the fabric; not kernels */
    SHMEMX_ATOMICS_NATIVE,   /* CPUs; also kernels on the GPU for which the space is pinned */
    SHMEMX_ATOMICS_OWNER,    /* the owner, one after another; not kernels */
    SHMEMX_ATOMICS_DEVICE    /* the device, while a handle for kernels lives; also its kernels */
} shmemx_space_atomics_t;

/*
 * The result of shmemx_space_query(), which fills in the first struct_size bytes. Begin with
 * SHMEMX_SPACE_INFO_INITIALIZER, which sets struct_size. Later versions add fields at the end;
 * bytes of a longer structure that this library does not know become zero.
 */
typedef struct {
    size_t struct_size; /* size of the caller's structure; it includes all fields before kind */
    shmem_device_type_t device_type;
    int device;      /* ordinal of the device; -1 if the kind has none */
    int n_pes;       /* number of members */
    size_t nbytes;   /* bytes of each part */
    size_t used;     /* bytes of live blocks, including the heap's overhead */
    size_t n_blocks; /* number of live blocks */
    size_t largest;  /* bytes of the largest block that can be allocated now without growth */
    void *base;      /* address of this PE's part */
    shmem_space_cap_t caps;
    char kind[16];   /* for example "gpu" */
    char where[192]; /* for example "gpu 0: NVIDIA H200, 141 GiB" */
    int found;       /* 1 if the name had a space before, on all members; 0 if the space is new */
    int n_parts;     /* number of parts that shmemx_space_part() reads; 0 without a name */
    shmemx_space_numa_t numa_policy; /* policy of this PE's part if the kernel set it */
    int numa_node;                   /* node of the policy SHMEMX_NUMA_BIND; else -1 */
    size_t page_size; /* page size that this PE got for attr->page_size; 0 if not requested */
    size_t max_size;  /* bytes to which a part may grow; equal to nbytes if it may not */
    shmemx_space_atomics_t atomics; /* for words of this PE's part now; 0: older library */
    int flags;                      /* attr->flags; _PINNED also for the heap with SHMEM_PIN_HEAP */
    int in_use; /* 1; after shmemx_space_stat() 0 if no job has the space open */
} shmemx_space_info_t;

#define SHMEMX_SPACE_INFO_INITIALIZER                                                              \
    {                                                                                              \
        sizeof(shmemx_space_info_t), SHMEM_DEVICE_CPU, -1, 0, 0, 0, 0, 0, NULL, 0, "", "", 0, 0,   \
            SHMEMX_NUMA_DEFAULT, -1, 0, 0, SHMEMX_ATOMICS_HOST, 0, 0                               \
    }

/*
 * Sets the defaults, as shmemx_space_attr_init() does. struct_size must include the fields before
 * kind. Local, at any time.
 */
int shmemx_space_info_init(shmemx_space_info_t *info, size_t struct_size);

/*
 * Fills in facts about a space of which this PE is a member. Local. Returns 0, or nonzero for
 * SHMEM_SPACE_INVALID or a wrong struct_size.
 */
int shmemx_space_query(shmem_space_t space, shmemx_space_info_t *info);

/*
 * Allocate and resize a block in a space, as shmem_align() and shmem_realloc() do. Collective over
 * the members of the space. A realloc of NULL allocates; a realloc to size 0 frees. Return NULL on
 * all members if memory does not suffice or alignment is not a power of two.
 */
void *shmemx_space_align(shmem_space_t space, size_t alignment, size_t size);
void *shmemx_space_realloc(shmem_space_t space, void *ptr, size_t size);

/*
 * Makes existing memory of the program a space: nbytes at addr on each PE of team, whose members
 * become the members of the space. Collective over team. Members pass equal nbytes and flags, and
 * all or none pass a descriptor; addresses may differ. The memory must be readable, writable and in
 * no other space. addr is a multiple of 8; of 64 for GPU memory and with SHMEMX_ADOPT_HEAP. The
 * memory must stay mapped until shmem_space_destroy() returns, which does not free it.
 *
 * The space has no team of its own. It is one block, in which any address is symmetric; with
 * SHMEMX_ADOPT_HEAP it is a heap for shmem_space_malloc(). fd: descriptor of the file (memfd,
 * hugetlbfs, shm or any other) that is mapped at addr with MAP_SHARED from byte offset on. PEs of
 * the node map the file, too. fd may be closed after the call. With fd -1 the memory is private:
 * the kernel copies it between processes of a node, and a thread of its owner performs atomics,
 * signals and accesses to single elements. GPU memory is recognized; pass fd -1.
 * shmemx_space_path() reports the path in use.
 *
 * Returns 0, or nonzero on all members, with *space set to SHMEM_SPACE_INVALID.
 */
#define SHMEMX_ADOPT_HEAP 1
int shmemx_buffer_register(shmem_team_t team, void *addr, size_t nbytes, int flags, int fd,
                           size_t offset, shmem_space_t *space);

/*
 * Creates a context for objects of one space (checked under SHMEM_CHECK=1). The space cannot be
 * destroyed while the context lives. PE numbers of the operations are those of config->team, whose
 * members must all be members of the space. Local. Returns 0, or nonzero, with *ctx set to
 * SHMEM_CTX_INVALID, if the context cannot be made.
 */
typedef struct {
    shmem_team_t team;
    shmem_space_t space;
} shmemx_ctx_config_t;
int shmemx_ctx_create(long options, const shmemx_ctx_config_t *config, shmem_ctx_t *ctx);

/*
 * Complete or order the operations of ctx on objects of one space, as shmem_ctx_quiet() and
 * shmem_ctx_fence() do, fetching operations included. Other operations of ctx may be completed or
 * ordered too. ctx may be bound to this space, to another one or to none. Local. Return 0, or
 * nonzero without any effect for SHMEM_CTX_INVALID and SHMEM_SPACE_INVALID.
 */
int shmemx_ctx_space_quiet(shmem_ctx_t ctx, shmem_space_t space);
int shmemx_ctx_space_fence(shmem_ctx_t ctx, shmem_space_t space);

/*
 * Creates a team of the same members in the same order, with collectives of its own. Collective
 * over team. Returns 0, or nonzero with *new_team set to SHMEM_TEAM_INVALID, as a split does.
 */
int shmemx_team_duplicate(shmem_team_t team, shmem_team_t *new_team);

/* ---- operations that kernels begin (shmemx_device.h) ------------------------ */

#ifndef SHMEMX_DEVICE_HANDLE_T
#define SHMEMX_DEVICE_HANDLE_T
typedef struct shmemx_device_handle shmemx_device_handle_t;
#endif

/* Properties of a handle. Begin with SHMEMX_DEVICE_OPTIONS_INITIALIZER. */
typedef struct {
    size_t struct_size; /* size of this structure */
    int n_rings;        /* number of rings, 1 to 1024, that blocks use in turn */
    int n_slots;        /* number of requests that a ring holds, 2 to 65536 */
    int by_ring;        /* nonzero, for tests: no loads and stores on parts of other PEs */
    int kind;   /* SHMEM_DEVICE_GPU: for kernels; SHMEM_DEVICE_CPU: for threads of the host */
    int device; /* GPU: ordinal, may differ between PEs; -1: the library chooses */
} shmemx_device_options_t;

#define SHMEMX_DEVICE_OPTIONS_INITIALIZER                                                          \
    {                                                                                              \
        sizeof(shmemx_device_options_t), 8, 64, 0, SHMEM_DEVICE_CPU, -1                            \
    }

/* Sets the defaults, as shmemx_space_attr_init() does. Local, at any time. */
int shmemx_device_options_init(shmemx_device_options_t *options, size_t struct_size);

/*
 * Create and destroy a handle. By it, code that does not call the library reaches the memory of the
 * team's PEs through the routines of shmemx_device.h: kernels on a GPU, or host threads that act as
 * the blocks of a grid. The handle is passed by value. While it lives, a thread of this PE serves
 * its requests, and the spaces that it reaches by loads and stores cannot be destroyed. It takes a
 * space of host memory for itself, pinned if it is for a GPU. Members pass equal options except
 * device (NULL: the defaults).
 *
 * Both are collective over the team. Kernels that use the handle must have ended before destroy,
 * which completes the operations that they began. Both return 0, or nonzero with a message: create
 * on all members if the handle cannot be made, destroy if the handle is zero.
 */
int shmemx_device_handle_create(shmem_team_t team, const shmemx_device_options_t *options,
                                shmemx_device_handle_t *handle);
int shmemx_device_handle_destroy(shmemx_device_handle_t *handle);

const char *pshmemx_version(void);
int pshmemx_info_print(int fd, const char *section, int json);
int pshmemx_device_count(shmem_device_type_t kind);
int pshmemx_device_describe(shmem_device_type_t kind, int i, shmemx_device_info_t *info);
int pshmemx_device_info_init(shmemx_device_info_t *info, size_t struct_size);
int pshmemx_space_print(int fd);
int pshmemx_space_create_attr(const shmem_space_config_t *config, const shmemx_space_attr_t *attr,
                              shmem_space_t *space, shmem_team_t *team);
int pshmemx_space_attr_init(shmemx_space_attr_t *attr, size_t struct_size);
int pshmemx_space_info_init(shmemx_space_info_t *info, size_t struct_size);
shmemx_space_path_t pshmemx_space_path(shmem_space_t space, int pe);
void *pshmemx_space_device_ptr(shmem_space_t space, const void *addr, int pe);
const char *pshmemx_space_path_name(shmemx_space_path_t path);
int pshmemx_space_query(shmem_space_t space, shmemx_space_info_t *info);
void *pshmemx_space_align(shmem_space_t space, size_t alignment, size_t size);
void *pshmemx_space_realloc(shmem_space_t space, void *ptr, size_t size);
int pshmemx_buffer_register(shmem_team_t team, void *addr, size_t nbytes, int flags, int fd,
                            size_t offset, shmem_space_t *space);
int pshmemx_ctx_create(long options, const shmemx_ctx_config_t *config, shmem_ctx_t *ctx);
int pshmemx_ctx_space_quiet(shmem_ctx_t ctx, shmem_space_t space);
int pshmemx_ctx_space_fence(shmem_ctx_t ctx, shmem_space_t space);
int pshmemx_team_duplicate(shmem_team_t team, shmem_team_t *new_team);
int pshmemx_device_options_init(shmemx_device_options_t *options, size_t struct_size);
int pshmemx_device_handle_create(shmem_team_t team, const shmemx_device_options_t *options,
                                 shmemx_device_handle_t *handle);
int pshmemx_device_handle_destroy(shmemx_device_handle_t *handle);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__) && !defined(SHMEM_IMPL_PLAIN)
#pragma GCC visibility pop
#endif

#include <shmemx_fam.h>

#endif /* SHMEMX_H */
