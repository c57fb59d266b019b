/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steppe's extensions to OpenSHMEM: names begin with shmemx_, each has a pshmemx_ twin. What is for
 * streams and for fabric-attached memory alone is in shmemx_stream.h and shmemx_fam.h, which this
 * header includes; what kernels call is in shmemx_device.h, which a program includes itself.
 *
 * Errors: a wrong argument that can be seen before anything is changed makes a routine return
 * nonzero (or NULL, or SHMEMX_PATH_NONE), a collective one on all its members, with a line that
 * names the routine and the argument. Use of a handle that was destroyed, and of a pointer that the
 * routine did not give, ends the job.
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

/* Version of this library, "0.1.0". Any time, also before shmem_init(). */
const char *shmemx_version(void);

/*
 * Print what the library is, what it found and how it is set, to file descriptor fd.
 *
 * section: names of the sections to print, joined by commas, NULL for all but spaces and doctor.
 * json: nonzero for one JSON object, zero for text. Any time, also before shmem_init(); between
 * init and finalize the section spaces is collective over all PEs, and PE 0 prints it; before
 * init the section doctor is collective, and the first PE of each host prints it. Returns 0,
 * nonzero when section is unknown or fd cannot be written, ENODEV when the doctor found what will
 * make jobs fail.
 */
int shmemx_info_print(int fd, const char *section, int json);

/*
 * Print a table of this PE's live spaces to file descriptor fd: number, kind, size, base,
 * provider, interface, key. Local, between init and finalize. Returns 0, nonzero when fd cannot
 * be written.
 */
int shmemx_space_print(int fd);

/* ---- devices: what spaces can be made on ------------------------------------ */

/*
 * What shmemx_device_describe() fills in: as far as struct_size goes, which the caller sets. Begin
 * with SHMEMX_DEVICE_INFO_INITIALIZER. Later versions add fields at the end; bytes of a caller's
 * structure that this library knows nothing of become zero.
 */
#define SHMEMX_DEVICE_PAGES 8
#define SHMEMX_BYTES_UNKNOWN ((size_t)-1)
typedef struct {
    size_t struct_size; /* of this structure, or of its beginning */
    shmem_device_type_t device_type;
    int device;       /* its number; GPU: what attr->device takes */
    int usable;       /* 0: it is there and cannot be used, and why_not says why */
    int numa_node;    /* CPU, HBM: what attr->numa_node takes; -1: unknown */
    int distance;     /* from the CPUs of this process, as the kernel tells: 10: the same NUMA */
    int nic_distance; /* node, more: farther; and from what its fabric goes by; -1: unknown */
    int n_page_sizes;
    size_t page_sizes[SHMEMX_DEVICE_PAGES]; /* ascending; large ones may have to be reserved */
    size_t nbytes;                          /* of memory; SHMEMX_BYTES_UNKNOWN */
    size_t free;                            /* of it now; SHMEMX_BYTES_UNKNOWN */
    char bus_id[32];                        /* "0000:17:00.0", "" where it has none */
    char name[96];
    char why_not[128];
} shmemx_device_info_t;

#define SHMEMX_DEVICE_INFO_INITIALIZER                                                             \
    {                                                                                              \
        sizeof(shmemx_device_info_t), SHMEM_DEVICE_CPU, -1, 0, -1, -1, -1, 0, {0}, 0, 0, "", "",   \
            ""                                                                                     \
    }

/*
 * Devices of a kind that this process sees, and facts about number i of them, from 0. Of the CPU
 * each NUMA node with memory is one, of HBM each with high bandwidth, as hwloc tells; of FAM what
 * SHMEM_FAM_PATH names. Local, any time, also before shmem_init(); makes no context on a GPU: what
 * is free there is told by one that is up, or by NVML. count: negative: this library has no such
 * kind. describe: 0; nonzero when there is no such device.
 */
int shmemx_device_count(shmem_device_type_t kind);
int shmemx_device_describe(shmem_device_type_t kind, int i, shmemx_device_info_t *info);

/* As shmemx_space_attr_init(). Local, any time. */
int shmemx_device_info_init(shmemx_device_info_t *info, size_t struct_size);

/* ---- spaces: what the proposal leaves to implementations ------------------ */

/* What a name of a FAM space is to stand for when it is opened. */
typedef enum {
    SHMEMX_SPACE_EITHER = 0, /* what is there, else a new one: shmemx_space_info_t says which */
    SHMEMX_SPACE_CREATE,     /* nothing: an error if there is such a space */
    SHMEMX_SPACE_OPEN        /* a space: an error if there is none, or an empty file */
} shmemx_space_open_t;

/* Which NUMA nodes the pages of a space come from. */
typedef enum {
    SHMEMX_NUMA_DEFAULT = 0, /* as the process has it set, numactl for one */
    SHMEMX_NUMA_BIND,        /* one node alone: attr->numa_node */
    SHMEMX_NUMA_INTERLEAVE,  /* all nodes in turn, page by page */
    SHMEMX_NUMA_FIRST_TOUCH  /* the node of the thread that touches a page first */
} shmemx_space_numa_t;

/* Flags of shmemx_space_attr_t; shmemx_space_info_t tells which a space has. */
#define SHMEMX_SPACE_KEEP 1    /* FAM, with a name: the space and its contents outlive the job */
#define SHMEMX_SPACE_PINNED 2  /* CPU, HBM: resident, GPUs reach it: shmemx_space_device_ptr() */
#define SHMEMX_SPACE_RESHAPE 4 /* FAM, with a name: more PEs than it has parts get new ones */

/*
 * What shmemx_space_create_attr() adds to a config. Start with SHMEMX_SPACE_ATTR_INITIALIZER, so
 * that fields of later versions keep their defaults.
 */
typedef struct {
    size_t struct_size;  /* of this structure */
    shmem_team_t parent; /* the space is made by, and on, members of this team */
    int device; /* GPU, or pinned: ordinal of the device; -1: the library chooses; may differ */
    int flags;  /* SHMEMX_SPACE_KEEP, _PINNED and _RESHAPE, combined by |; 0: none */
    const char *name;         /* FAM: a space that other jobs find under this name; NULL: unnamed */
    void *buffer;             /* GPU: use config->size bytes of the caller's here; NULL: allocate */
    shmemx_space_open_t open; /* FAM, with a name */
    shmemx_space_numa_t numa_policy; /* CPU; HBM: default or bind; may differ per PE */
    int numa_node;    /* CPU with SHMEMX_NUMA_BIND, HBM: this one; -1: that of this PE */
    size_t page_size; /* CPU, HBM: bytes of a page: 4096, 2 MiB, 1 GiB; 0: the system's */
    size_t max_size;  /* CPU, HBM: what it may grow to when malloc finds no room; 0: never */
} shmemx_space_attr_t;

#define SHMEMX_SPACE_ATTR_INITIALIZER                                                              \
    {                                                                                              \
        sizeof(shmemx_space_attr_t), SHMEM_TEAM_WORLD, -1, 0, NULL, NULL, SHMEMX_SPACE_EITHER,     \
            SHMEMX_NUMA_DEFAULT, -1, 0, 0                                                          \
    }

/*
 * Set the defaults, for languages that have no initializers: of as much of the structure as the
 * caller has, struct_size bytes, which becomes its struct_size. What this library does not know of
 * a longer one becomes zero. Local, any time. 0; nonzero for a size that no such structure has.
 */
int shmemx_space_attr_init(shmemx_space_attr_t *attr, size_t struct_size);

/*
 * shmem_space_create() with attributes (NULL: none). Collective over attr->parent alone, whose
 * members pass equal configs, flags, names, open, page_size and max_size; the others may differ. A
 * name may hold 63 letters, digits, dots, dashes and underscores. Member i of the parent owns part
 * i of a named space, which keeps the number of parts and the size that it was made with: fewer PEs
 * may open it, more are refused, unless they reshape it, and so is another size. Jobs of different
 * numbers of PEs use it one after the other. Returns 0; nonzero on all members of the parent.
 */
int shmemx_space_create_attr(const shmem_space_config_t *config, const shmemx_space_attr_t *attr,
                             shmem_space_t *space, shmem_team_t *team);

/* How bytes travel between this PE and another one's part of a space. */
typedef enum {
    SHMEMX_PATH_NONE = 0,   /* no member */
    SHMEMX_PATH_LOAD_STORE, /* mapped host memory */
    SHMEMX_PATH_DEVICE,     /* device memory that this PE's copies reach: own, or of the node */
    SHMEMX_PATH_FABRIC,     /* the fabric reads and writes it */
    SHMEMX_PATH_STAGED,     /* through host buffers, by the proxy thread of its owner */
    SHMEMX_PATH_PROCESS     /* private pages of another process, copied by the kernel */
} shmemx_space_path_t;

/* The path to PE pe (number in the world). Local. */
shmemx_space_path_t shmemx_space_path(shmem_space_t space, int pe);
const char *shmemx_space_path_name(shmemx_space_path_t path); /* "load/store" and so on */

/*
 * What a kernel on this PE's GPU calls the object at addr in PE pe's part of the space (number in
 * the world; addr: this PE's address of it): for GPU spaces where this PE's copies reach that part,
 * for host spaces with SHMEMX_SPACE_PINNED, or SHMEM_PIN_HEAP for the default one, and PEs of this
 * node. NULL where there is no such pointer: another node, memory that is not pinned or not in the
 * space, no member. Local. Not run on a device yet.
 */
void *shmemx_space_device_ptr(shmem_space_t space, const void *addr, int pe);

/* Who does atomics on a space's words, and what kernels may do beside: shmem_space_get_caps(3). */
typedef enum {
    SHMEMX_ATOMICS_HOST = 1, /* CPUs, or the fabric: kernels' own are not atomic to them */
    SHMEMX_ATOMICS_NATIVE, /* CPUs, and kernels' own on the GPU it is pinned for are atomic, too */
    SHMEMX_ATOMICS_OWNER,  /* its owner, one after another: kernels' own are not atomic to them */
    SHMEMX_ATOMICS_DEVICE  /* its device, while a handle for kernels lives: as kernels' own */
} shmemx_space_atomics_t;

/*
 * What shmemx_space_query() fills in: as far as struct_size goes, which the caller sets. Begin with
 * SHMEMX_SPACE_INFO_INITIALIZER. Later versions add fields at the end; bytes of a caller's
 * structure that this library knows nothing of become zero.
 */
typedef struct {
    size_t struct_size; /* of this structure, or of its beginning, up to kind at least */
    shmem_device_type_t device_type;
    int device;      /* ordinal, -1: the kind has none */
    int n_pes;       /* members */
    size_t nbytes;   /* a PE */
    size_t used;     /* by live blocks, with what the heap adds to them */
    size_t n_blocks; /* live */
    size_t largest;  /* bytes of the largest block that can be allocated now, without growth */
    void *base;      /* this PE's part */
    shmem_space_cap_t caps;
    char kind[16];   /* "gpu" */
    char where[192]; /* "gpu 0: NVIDIA H200, 141 GiB" */
    int found;       /* its name stood for a space already, on all members; 0: it is new */
    int n_parts;     /* of a space with a name: those that shmemx_space_part() reads; else 0 */
    shmemx_space_numa_t numa_policy; /* of this PE's part, if the kernel set it; else DEFAULT */
    int numa_node;                   /* with SHMEMX_NUMA_BIND: that one; else -1 */
    size_t page_size;                /* of attr->page_size, what this PE got; 0: not asked */
    size_t max_size;                 /* nbytes, or what it may grow to */
    shmemx_space_atomics_t atomics;  /* on words of this PE's part, now; 0: this library is older */
    int flags;                       /* of attr; and _PINNED of the heap with SHMEM_PIN_HEAP */
    int in_use;                      /* shmemx_space_stat(): some job has it open; else 1 */
} shmemx_space_info_t;

#define SHMEMX_SPACE_INFO_INITIALIZER                                                              \
    {                                                                                              \
        sizeof(shmemx_space_info_t), SHMEM_DEVICE_CPU, -1, 0, 0, 0, 0, 0, NULL, 0, "", "", 0, 0,   \
            SHMEMX_NUMA_DEFAULT, -1, 0, 0, SHMEMX_ATOMICS_HOST, 0, 0                               \
    }

/* As shmemx_space_attr_init(). struct_size: up to kind at least. Local, any time. */
int shmemx_space_info_init(shmemx_space_info_t *info, size_t struct_size);

/* Facts about a space of which this PE is a member. Local. 0; nonzero for SHMEM_SPACE_INVALID. */
int shmemx_space_query(shmem_space_t space, shmemx_space_info_t *info);

/*
 * As shmem_align() and shmem_realloc(), in a space. Collective over its team. NULL on all members
 * for an alignment that is no power of two. A null ptr is a malloc, size 0 a free.
 */
void *shmemx_space_align(shmem_space_t space, size_t alignment, size_t size);
void *shmemx_space_realloc(shmem_space_t space, void *ptr, size_t size);

/*
 * Make memory that the program has a space: nbytes at addr on each PE of team. Collective over
 * team, whose members pass equal nbytes and flags and, all or none, a descriptor; addresses may
 * differ. The memory is readable and writable, at a multiple of 8, of 64 with SHMEMX_ADOPT_HEAP, in
 * no other space, and stays mapped until shmem_space_destroy(), which leaves it to the program.
 *
 * It is one block, which the symmetric routines take at any of its addresses; with
 * SHMEMX_ADOPT_HEAP it is a heap, for shmem_space_malloc(). fd: what is mapped there with
 * MAP_SHARED, from byte offset on (memfd, hugetlbfs, shm, a file); peers of the node map it too. It
 * can be closed after the call. With -1 the memory is private: the kernel copies it between
 * processes of a node, and single elements, atomics and signals are done by a thread of its owner.
 * GPU memory, which goes with -1, is known as such. shmemx_space_path() tells which.
 *
 * The space's members are those of team; it has no team of its own. Returns 0; nonzero, with
 * SHMEM_SPACE_INVALID, on all members.
 */
#define SHMEMX_ADOPT_HEAP 1
int shmemx_buffer_register(shmem_team_t team, void *addr, size_t nbytes, int flags, int fd,
                           size_t offset, shmem_space_t *space);

/*
 * A context that is used with objects of one space alone (checked under SHMEM_CHECK=1). While it
 * lives the space cannot be destroyed. team: PE numbers are those of it; all its members are
 * members of the space. Local. 0; nonzero, with SHMEM_CTX_INVALID, when it cannot be made.
 */
typedef struct {
    shmem_team_t team;
    shmem_space_t space;
} shmemx_ctx_config_t;
int shmemx_ctx_create(long options, const shmemx_ctx_config_t *config, shmem_ctx_t *ctx);

/*
 * As shmem_ctx_quiet() and shmem_ctx_fence() for the operations of ctx on objects of one space:
 * they are complete, or ordered, with what they fetch; others of the context may be too. ctx: any,
 * also one that is bound to another space, or to none. Local. 0; nonzero, and nothing happens, for
 * SHMEM_CTX_INVALID and SHMEM_SPACE_INVALID.
 */
int shmemx_ctx_space_quiet(shmem_ctx_t ctx, shmem_space_t space);
int shmemx_ctx_space_fence(shmem_ctx_t ctx, shmem_space_t space);

/* A team of the same members in the same order, with collectives of its own. As a split. */
int shmemx_team_duplicate(shmem_team_t team, shmem_team_t *new_team);

/* ---- operations that kernels begin (shmemx_device.h) ------------------------ */

#ifndef SHMEMX_DEVICE_HANDLE_T
#define SHMEMX_DEVICE_HANDLE_T
typedef struct shmemx_device_handle shmemx_device_handle_t;
#endif

/* How a handle is made. Begin with SHMEMX_DEVICE_OPTIONS_INITIALIZER. */
typedef struct {
    size_t struct_size; /* of this structure */
    int n_rings;        /* 1 to 1024; blocks take turns among them */
    int n_slots;        /* 2 to 65536; requests that a ring holds */
    int by_ring;        /* nonzero: no loads and stores on parts of others, for tests */
    int kind;           /* SHMEM_DEVICE_GPU: for kernels; SHMEM_DEVICE_CPU: for host threads */
    int device; /* GPU: the ordinal, which may differ between PEs; -1: the library chooses */
} shmemx_device_options_t;

#define SHMEMX_DEVICE_OPTIONS_INITIALIZER                                                          \
    {                                                                                              \
        sizeof(shmemx_device_options_t), 8, 64, 0, SHMEM_DEVICE_CPU, -1                            \
    }

/* As shmemx_space_attr_init(). Local, any time. */
int shmemx_device_options_init(shmemx_device_options_t *options, size_t struct_size);

/*
 * A handle by which code that does not call the library, kernels on a GPU or host threads that play
 * the blocks of a grid, reaches the memory of the team's PEs: shmemx_device.h, which has to be
 * included. It is passed by value. While it lives, a thread of this PE serves its requests, and
 * spaces that it has cannot be destroyed. Collective over the team; options but device are the same
 * on all its members (NULL: the defaults). Takes a space of host memory for its words, pinned where
 * it is for a GPU. destroy: collective; all that was begun by it is complete, and no kernel has it.
 * Returns 0; nonzero on all members, with a message, when it cannot be made, or is none.
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
