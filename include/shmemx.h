/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steppe's extensions to OpenSHMEM. Each exported routine shmemx_f has a profiling twin pshmemx_f.
 * This header includes shmemx_stream.h (operations on streams) and shmemx_fam.h (fabric-attached
 * memory). A program whose kernels call the library also includes shmemx_device.h.
 *
 * Routines may be called between init and finalize, unless their comments say otherwise.
 *
 * Errors: if a routine finds a wrong argument before it has changed anything, it prints a line that
 * names the routine and the argument. It then returns nonzero, NULL or SHMEMX_PATH_NONE. A
 * collective routine returns this value on all members of the team. If the team is
 * SHMEM_TEAM_INVALID, it returns the value on the calling PE. The use of a handle that was
 * destroyed ends the job. Freeing or resizing also ends the job if the address is not the start of
 * a live block.
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

/*
 * Returns the version of this library, for example "0.1.0". May be called at any time, also before
 * init.
 */
const char *shmemx_version(void);

/*
 * Prints a report on the library, its settings and this machine to file descriptor fd.
 *
 * section is a list of names of sections, separated by commas. NULL selects all sections except
 * spaces and doctor. If json is nonzero, the report is one JSON object, otherwise text. May be
 * called at any time, also before init.
 *
 * Between init and finalize the section spaces is collective over all PEs, and PE 0 prints it.
 * Before init the section doctor is collective over the PEs that a launcher started, and the first
 * PE of each host prints it. All other sections are local.
 *
 * Returns 0. Returns ENODEV if the doctor found a problem that will make jobs fail. Returns another
 * number if a section is unknown or fd cannot be written.
 */
int shmemx_info_print(int fd, const char *section, int json);

/*
 * Prints a table of this PE's live spaces to file descriptor fd: number, kind, size, base,
 * provider, interface, key. Local. Returns 0, or nonzero if fd cannot be written.
 */
int shmemx_space_print(int fd);

/* ---- devices that can hold spaces ------------------------------------------- */

/*
 * The result of shmemx_device_describe(). Begin with SHMEMX_DEVICE_INFO_INITIALIZER, which sets
 * struct_size. The routine fills in the first struct_size bytes. Later versions add fields at the
 * end. If the structure is longer than that of this library, the additional bytes become zero.
 */
#define SHMEMX_DEVICE_PAGES 8
#define SHMEMX_BYTES_UNKNOWN ((size_t)-1)
typedef struct {
    size_t struct_size; /* size of the caller's structure */
    shmem_device_type_t device_type;
    /* Number of the device. For a GPU, shmemx_space_attr_t.device takes this number. */
    int device;
    int usable; /* 0 if the device cannot hold spaces; the field why_not has the reason */
    /*
     * NUMA node, or -1 if unknown. For CPU and HBM, shmemx_space_attr_t.numa_node takes this
     * number.
     */
    int numa_node;
    /* NUMA distance from the CPUs of this process, or -1 if unknown. 10 means the same node. */
    int distance;
    /* NUMA distance from the adapter of the fabric, or -1 if unknown and before init. */
    int nic_distance;
    int n_page_sizes;
    /* Page sizes in ascending order. Large pages may have to be reserved by the administrator. */
    size_t page_sizes[SHMEMX_DEVICE_PAGES];
    size_t nbytes;   /* bytes of memory, or SHMEMX_BYTES_UNKNOWN */
    size_t free;     /* bytes that are free now, or SHMEMX_BYTES_UNKNOWN */
    char bus_id[32]; /* PCI address, for example "0000:17:00.0"; "" if the device has none */
    char name[96];
    char why_not[128];
} shmemx_device_info_t;

#define SHMEMX_DEVICE_INFO_INITIALIZER                                                             \
    {                                                                                              \
        sizeof(shmemx_device_info_t), SHMEM_DEVICE_CPU, -1, 0, -1, -1, -1, 0, {0}, 0, 0, "", "",   \
            ""                                                                                     \
    }

/*
 * Returns the number of devices of a kind that this process sees, or a negative number if this
 * library does not have the kind. CPU devices are the NUMA nodes with memory. HBM devices are the
 * NUMA nodes that hwloc reports with high bandwidth. The FAM device is the one that SHMEM_FAM_PATH
 * names. Creates no context on a GPU. Local. May be called at any time.
 */
int shmemx_device_count(shmem_device_type_t kind);
/*
 * Sets *info to the properties of device i of a kind, counted from 0. Creates no context on a GPU.
 * The number of free bytes comes from an existing context or from NVML. Local. May be called at any
 * time. Returns 0, or nonzero if there is no such device.
 */
int shmemx_device_describe(shmem_device_type_t kind, int i, shmemx_device_info_t *info);

/* Sets the defaults, as shmemx_space_attr_init() does. Local. May be called at any time. */
int shmemx_device_info_init(shmemx_device_info_t *info, size_t struct_size);

/* ---- spaces: extensions of the proposal ------------------------------------ */

/* Whether shmemx_space_create_attr() opens the FAM space that has the name, or creates it. */
typedef enum {
    SHMEMX_SPACE_EITHER = 0, /* open the space, or create it if no space has the name */
    SHMEMX_SPACE_CREATE,     /* create the space; it is an error if a space has the name */
    /* Open the space; it is an error if no space has the name, or if the file is empty. */
    SHMEMX_SPACE_OPEN
} shmemx_space_open_t;

/* NUMA nodes from which the pages of a space come. */
typedef enum {
    SHMEMX_NUMA_DEFAULT = 0, /* nodes of the process's own policy, for example from numactl */
    SHMEMX_NUMA_BIND,        /* only the node attr->numa_node */
    SHMEMX_NUMA_INTERLEAVE,  /* all nodes in turn, page by page */
    SHMEMX_NUMA_FIRST_TOUCH  /* node of the thread that touches a page first */
} shmemx_space_numa_t;

/*
 * Flags of shmemx_space_attr_t. shmemx_space_info_t has the flags of an existing space.
 *
 * KEEP, for named FAM spaces: the space is kept if the last job that leaves it has this flag.
 * PINNED, for CPU and HBM spaces: the memory is resident. GPUs reach the memory at the addresses
 * that shmemx_space_device_ptr() returns. RESHAPE, for named FAM spaces: if there are more PEs than
 * parts, each PE gets a new part.
 */
#define SHMEMX_SPACE_KEEP 1
#define SHMEMX_SPACE_PINNED 2
#define SHMEMX_SPACE_RESHAPE 4

/*
 * Attributes for shmemx_space_create_attr(). Begin with SHMEMX_SPACE_ATTR_INITIALIZER. Fields that
 * later versions add then have their defaults.
 */
typedef struct {
    size_t struct_size; /* size of this structure */
    /* Team whose members make the call. All members of the space are members of this team. */
    shmem_team_t parent;
    /*
     * For GPU spaces and pinned spaces: ordinal of the GPU, or -1 if the library chooses. May
     * differ between PEs.
     */
    int device;
    int flags;        /* SHMEMX_SPACE_KEEP, _PINNED and _RESHAPE, combined by |, or 0 */
    const char *name; /* for FAM spaces: name by which other jobs find the space, or NULL */
    /*
     * For GPU spaces: config->size bytes of the caller's memory, or NULL if the library allocates
     * memory. May differ between PEs.
     */
    void *buffer;
    shmemx_space_open_t open; /* for FAM spaces with a name */
    /* For CPU and HBM spaces; an HBM space takes only DEFAULT and BIND. May differ between PEs. */
    shmemx_space_numa_t numa_policy;
    /*
     * For HBM spaces, and for CPU spaces with SHMEMX_NUMA_BIND: NUMA node, or -1 for a node near
     * this PE. May differ between PEs.
     */
    int numa_node;
    /*
     * For CPU and HBM spaces: bytes of a page (4096, 2 MiB or 1 GiB), or 0 if the system chooses.
     */
    size_t page_size;
    /*
     * For CPU and HBM spaces: bytes to which a part may grow when an allocation finds no room. 0
     * means that the size is fixed.
     */
    size_t max_size;
} shmemx_space_attr_t;

#define SHMEMX_SPACE_ATTR_INITIALIZER                                                              \
    {                                                                                              \
        sizeof(shmemx_space_attr_t), SHMEM_TEAM_WORLD, -1, 0, NULL, NULL, SHMEMX_SPACE_EITHER,     \
            SHMEMX_NUMA_DEFAULT, -1, 0, 0                                                          \
    }

/*
 * Sets the defaults in the first struct_size bytes of a structure, and sets its field struct_size.
 * The routine is for languages that have no initializers. Bytes after the last field that this
 * library knows become zero. shmemx_space_create_attr() refuses a structure in which such a byte is
 * not zero. Local. May be called at any time. Returns 0, or nonzero if no version of the structure
 * has this size.
 */
int shmemx_space_attr_init(shmemx_space_attr_t *attr, size_t struct_size);

/*
 * Creates a space as shmem_space_create() does, with attributes. If attr is NULL, the attributes
 * have their defaults. Collective over attr->parent only. Members pass equal configs and
 * attributes; only device, buffer, numa_policy and numa_node may differ.
 *
 * A name has 1 to 63 letters, digits, dots, dashes and underscores, and does not begin with a dot.
 * Member i of the parent owns part i of a named space. A named space keeps the number and the size
 * of its parts. A call with another size is always refused. Fewer members may open the space; more
 * members need SHMEMX_SPACE_RESHAPE. Two jobs may use the space at the same time only if they have
 * equal numbers of members.
 *
 * Returns 0. On failure returns nonzero on all members of the parent, and both handles become
 * INVALID.
 */
int shmemx_space_create_attr(const shmem_space_config_t *config, const shmemx_space_attr_t *attr,
                             shmem_space_t *space, shmem_team_t *team);

/* Paths by which data moves between this PE and another PE's part of a space. */
typedef enum {
    SHMEMX_PATH_NONE = 0,   /* no path, because one of the two PEs is not a member */
    SHMEMX_PATH_LOAD_STORE, /* mapped host memory */
    SHMEMX_PATH_DEVICE,     /* this PE copies device memory, its own or that of a PE of its node */
    SHMEMX_PATH_FABRIC,     /* the fabric reads and writes the memory */
    SHMEMX_PATH_STAGED,     /* a thread of the owner copies through host buffers */
    SHMEMX_PATH_PROCESS     /* the kernel copies private pages of another process */
} shmemx_space_path_t;

/* Returns the path to the part of PE pe (number in the world), or SHMEMX_PATH_NONE. Local. */
shmemx_space_path_t shmemx_space_path(shmem_space_t space, int pe);
/* Returns the name of a path, such as "load/store". Local. May be called at any time. */
const char *shmemx_space_path_name(shmemx_space_path_t path);

/*
 * Returns the address at which a kernel on this PE's GPU reaches an object in the part of PE pe
 * (number in the world). addr is this PE's address of the object.
 *
 * In a GPU space the address exists if this PE can copy the part. In a space in host memory the
 * address exists if PE pe is on this node and the space is pinned. A space is pinned if it has
 * SHMEMX_SPACE_PINNED; the default space is pinned if SHMEM_PIN_HEAP is set. Returns NULL in all
 * other cases, for a PE that is not a member, and if addr is outside the space. Local. The routine
 * has not run on a device yet.
 */
void *shmemx_space_device_ptr(shmem_space_t space, const void *addr, int pe);

/*
 * Where the atomics that PEs call on words of a space are performed. The comments on the
 * constants also say which kernels may perform atomics on the same words at the same time. See
 * shmem_space_get_caps(3).
 */
typedef enum {
    SHMEMX_ATOMICS_HOST = 1, /* by CPUs or the fabric; no kernels */
    /* By CPUs. Kernels on the GPU for which the space is pinned may perform atomics, too. */
    SHMEMX_ATOMICS_NATIVE,
    /* By the PE that owns the memory, one atomic after another; no kernels. */
    SHMEMX_ATOMICS_OWNER,
    /*
     * By the device that holds the memory, while a handle for kernels exists. Kernels on this
     * device may perform atomics, too.
     */
    SHMEMX_ATOMICS_DEVICE
} shmemx_space_atomics_t;

/*
 * The result of shmemx_space_query(). Begin with SHMEMX_SPACE_INFO_INITIALIZER, which sets
 * struct_size. The routine fills in the first struct_size bytes. Later versions add fields at the
 * end. If the structure is longer than that of this library, the additional bytes become zero.
 */
typedef struct {
    size_t struct_size; /* size of the caller's structure, at least all fields before kind */
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
    /* 1 if a space had the name before, 0 if the space is new. Equal on all members. */
    int found;
    int n_parts; /* number of parts that shmemx_space_part() can map; 0 without a name */
    /* NUMA policy of this PE's part, or SHMEMX_NUMA_DEFAULT if the kernel refused the policy. */
    shmemx_space_numa_t numa_policy;
    int numa_node;    /* NUMA node for SHMEMX_NUMA_BIND, else -1 */
    size_t page_size; /* page size that this PE got; 0 if attr->page_size was 0 */
    size_t max_size;  /* bytes to which a part may grow; equal to nbytes if the size is fixed */
    /*
     * Where atomics on this PE's part are performed now, or 0 if the library is older than this
     * field.
     */
    shmemx_space_atomics_t atomics;
    /*
     * Flags of the attributes. The default space has SHMEMX_SPACE_PINNED if SHMEM_PIN_HEAP is set.
     */
    int flags;
    int in_use; /* whether a job has the space open; only shmemx_space_stat() reports 0 */
} shmemx_space_info_t;

#define SHMEMX_SPACE_INFO_INITIALIZER                                                              \
    {                                                                                              \
        sizeof(shmemx_space_info_t), SHMEM_DEVICE_CPU, -1, 0, 0, 0, 0, 0, NULL, 0, "", "", 0, 0,   \
            SHMEMX_NUMA_DEFAULT, -1, 0, 0, SHMEMX_ATOMICS_HOST, 0, 0                               \
    }

/*
 * Sets the defaults, as shmemx_space_attr_init() does. struct_size must include all fields before
 * kind. Local. May be called at any time.
 */
int shmemx_space_info_init(shmemx_space_info_t *info, size_t struct_size);

/*
 * Sets *info to the properties of a space of which this PE is a member. Local. Returns 0, or
 * nonzero for SHMEM_SPACE_INVALID or a wrong struct_size.
 */
int shmemx_space_query(shmem_space_t space, shmemx_space_info_t *info);

/*
 * Allocates size bytes in a space at a multiple of alignment. Collective over the members of the
 * space. Returns NULL on all members if memory does not suffice or alignment is not a power of
 * two. The values 1, 2 and 4 are raised to sizeof(void *).
 */
void *shmemx_space_align(shmem_space_t space, size_t alignment, size_t size);
/*
 * Resizes a block of a space to size bytes, as shmem_realloc() does. Collective over the members of
 * the space. If ptr is NULL, allocates; if size is 0, frees. Returns NULL on all members if memory
 * does not suffice.
 */
void *shmemx_space_realloc(shmem_space_t space, void *ptr, size_t size);

/*
 * Creates a space from existing memory of the program, which is nbytes bytes at addr on each PE of
 * team. The members of team become the members of the space. Collective over team. Members pass
 * equal nbytes and flags; their addresses may differ. Either all members pass a file descriptor, or
 * none does. The memory must be readable and writable, and in no other space. addr is a multiple of
 * 8, or a multiple of 64 for GPU memory and with SHMEMX_ADOPT_HEAP. The memory must stay mapped
 * until shmem_space_destroy() returns. That routine does not free the memory.
 *
 * The space has no team of its own. It is one block, in which any address is symmetric. With
 * SHMEMX_ADOPT_HEAP the space is a heap for shmem_space_malloc() instead.
 *
 * fd is the descriptor of a file (memfd, hugetlbfs, shm or any other). The file must be mapped at
 * addr with MAP_SHARED; offset is the byte of the file at addr. PEs of the node map the file, too.
 * The program may close fd after the call.
 *
 * With fd -1 the memory is private to its process. The kernel copies it between processes of a
 * node. A thread of the owner performs atomics, signals and accesses to single elements. For GPU
 * memory, which the library recognizes, fd must be -1. shmemx_space_path() reports the path in use.
 *
 * Returns 0. On failure returns nonzero on all members, and sets *space to SHMEM_SPACE_INVALID.
 */
#define SHMEMX_ADOPT_HEAP 1
int shmemx_buffer_register(shmem_team_t team, void *addr, size_t nbytes, int flags, int fd,
                           size_t offset, shmem_space_t *space);

/*
 * Creates a context for objects of one space. With SHMEM_CHECK=1 the library checks that operations
 * of the context use only such objects. The space cannot be destroyed while the context exists. PE
 * numbers of the operations are those of config->team, whose members must all be members of the
 * space. Local. Returns 0. If the context cannot be made, returns nonzero and sets *ctx to
 * SHMEM_CTX_INVALID.
 */
typedef struct {
    shmem_team_t team;
    shmem_space_t space;
} shmemx_ctx_config_t;
int shmemx_ctx_create(long options, const shmemx_ctx_config_t *config, shmem_ctx_t *ctx);

/*
 * Complete or order the operations of ctx on objects of one space, as shmem_ctx_quiet() and
 * shmem_ctx_fence() do for all operations of ctx. This includes fetching operations. Operations of
 * ctx on other spaces may be completed or ordered, too. ctx may be bound to this space, to another
 * one or to none. Local. Return 0. For SHMEM_CTX_INVALID and SHMEM_SPACE_INVALID return nonzero and
 * do nothing.
 */
int shmemx_ctx_space_quiet(shmem_ctx_t ctx, shmem_space_t space);
int shmemx_ctx_space_fence(shmem_ctx_t ctx, shmem_space_t space);

/*
 * Creates a team of the same members in the same order, with collectives of its own. Collective
 * over team. Returns 0. On failure returns nonzero on all members and sets *new_team to
 * SHMEM_TEAM_INVALID.
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
    int n_rings;        /* number of rings, 1 to 1024; block i uses ring i modulo n_rings */
    int n_slots;        /* number of requests that a ring holds, 2 to 65536 */
    int by_ring;        /* for tests: if nonzero, all operations on other PEs go through rings */
    int kind;           /* SHMEM_DEVICE_GPU for kernels, SHMEM_DEVICE_CPU for threads of the host */
    int device; /* ordinal of the GPU, or -1 if the library chooses; may differ between PEs */
} shmemx_device_options_t;

#define SHMEMX_DEVICE_OPTIONS_INITIALIZER                                                          \
    {                                                                                              \
        sizeof(shmemx_device_options_t), 8, 64, 0, SHMEM_DEVICE_CPU, -1                            \
    }

/* Sets the defaults, as shmemx_space_attr_init() does. Local. May be called at any time. */
int shmemx_device_options_init(shmemx_device_options_t *options, size_t struct_size);

/*
 * Creates a handle. With the handle, code that does not call the library reaches the memory of the
 * team's PEs by the routines of shmemx_device.h. Such code is a kernel on a GPU, or a host thread
 * that acts as a block of a grid. It gets the handle by value. While the handle exists, a thread of
 * this PE serves its requests. Spaces that the handle reaches by loads and stores cannot be
 * destroyed during this time. The handle uses a space of host memory of its own, which is pinned if
 * the handle is for a GPU.
 *
 * Collective over team. Members pass equal options, except for device. If options is NULL, the
 * options have their defaults. Returns 0. If the handle cannot be made, prints a message and
 * returns nonzero on all members.
 */
int shmemx_device_handle_create(shmem_team_t team, const shmemx_device_options_t *options,
                                shmemx_device_handle_t *handle);
/*
 * Destroys a handle. Collective over the team of the handle. Kernels that use the handle must have
 * ended. Completes the operations that they began. Returns 0. If the handle is zero, prints a
 * message and returns nonzero.
 */
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
