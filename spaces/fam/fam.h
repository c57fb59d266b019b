/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares the data and functions that the files in spaces/fam share: for the path in
 * SHMEM_FAM_PATH, for pools (the format of files and DAX devices that hold spaces), and for this
 * PE's part of a space. Design: docs/design/fam.md.
 */
#ifndef STP_FAM_H
#define STP_FAM_H

#include "base/base.h"
#include "spaces/space_registry.h"

/* ---- what SHMEM_FAM_PATH names (backing.c) ------------------------------- */

enum fam_type { FAM_DIRECTORY, FAM_FILE, FAM_DEVICE };

struct fam_backing {
    enum fam_type type;
    const char *path;
    size_t nbytes; /* size of the file or device; for a directory, free bytes of its file system */
    bool dax;      /* true if files in the directory can be mapped without a page cache */
};

#define FAM_SYSFS "/sys/dev/char"

/*
 * Examines the value of SHMEM_FAM_PATH. The parameter path is NULL if the variable is not set.
 * Fills in *place, which keeps this pointer. Returns 0 or -ENODEV. Writes a description of the
 * path, or the reason for the failure, to why.
 */
int stp_fam_probe_path(const char *path, struct fam_backing *place, char *why, size_t len);

/*
 * Reads the size of the DAX device with these device numbers from the sysfs directory sys. Returns
 * -ENODEV after writing the reason to why if the device is no DAX device, or if its pages are
 * larger than FAM_ALIGN. Otherwise returns 0.
 */
int stp_fam_device_size(const char *sys, unsigned major, unsigned minor, size_t *nbytes, char *why,
                        size_t len);

/* Creates a file without a name in a directory. Returns a descriptor, or -errno without logging. */
int stp_fam_temporary(const char *directory);

/* As stp_size_exact(), but rounds large sizes down to whole units, for approximate figures. */
const char *stp_fam_about(size_t nbytes, char text[STP_SIZE_TEXT]);

/* ---- durable (make_durable.c) ---------------------------------------------------- */

/*
 * Makes the bytes of [addr, addr + nbytes) durable, so that they survive a power failure. The
 * parameter dax is true if the mapping has no page cache. No system call is needed in that case.
 * Returns 0, or -errno without logging.
 */
int stp_fam_flush(const void *addr, size_t nbytes, bool dax);

/* ---- pools (pool.c) ------------------------------------------------------ */

#define FAM_ALIGN ((size_t)2 << 20)   /* size of the superblock, and alignment of all parts */
#define FAM_MAGIC 0x31304d4146505453u /* "STPFAM01" */
#define FAM_VERSION 2u
#define FAM_ENTRIES 8191
#define FAM_UNITS ((size_t)8 << 20) /* size of the largest pool (16 TiB), in units of FAM_ALIGN */
#define FAM_NAME 64

/*
 * Flags of an entry. FAM_KEEP means that the space outlives the job. FAM_SETTLED means that the
 * creation of the space has succeeded. FAM_NEXT marks a new generation as long as the name of the
 * space denotes the previous generation.
 */
enum { FAM_KEEP = 1, FAM_SETTLED = 2, FAM_NEXT = 4 };

/*
 * Entry of the pool's table for one space, or for one generation of it. In the pool, the space has
 * a head of FAM_ALIGN bytes if it has a name, and then n_parts parts of part_bytes bytes each.
 */
struct fam_entry {
    uint32_t valid; /* 1 if the entry is in use; set by a release store after all other fields */
    uint32_t flags;
    char name[FAM_NAME]; /* name of the space, or "" for a nameless space, which has one part */
    uint64_t offset;     /* offset of the space in the pool */
    uint64_t part_bytes; /* nbytes rounded up to a multiple of FAM_ALIGN */
    uint64_t nbytes;     /* size of each PE's part in bytes */
    uint32_t n_parts;
    uint32_t n_now;      /* number of PEs in each of the jobs that use the space now */
    uint64_t token;      /* unique number of the creation call that made the space */
    uint64_t head_bytes; /* size of the head; the parts follow the head */
    uint32_t generation; /* generation number; a name denotes its highest released generation */
    uint32_t unused;
};

/*
 * Table of a space's named blocks. The head of the space has two such tables. Of the tables with a
 * correct checksum, the one with the higher serial number is valid.
 */
#define FAM_ROOTS 85
struct fam_roots {
    uint64_t checksum; /* checksum of the rest of the table */
    uint64_t serial;   /* serial number of this version, or 0 if the table was never written */
    uint32_t n;
    uint32_t unused[3];
    struct stp_named_block roots[FAM_ROOTS];
};

_Static_assert(sizeof(struct fam_roots) == 8192, "whole pages: one is written, one is not");

/* Superblock: the first 2 MiB of a pool. The layout is the same on all little-endian machines. */
struct fam_super {
    uint64_t magic;
    uint32_t version;
    uint32_t n_entries; /* number of entries that are or were in use */
    uint64_t nbytes;    /* size of the pool, including the superblock */
    uint64_t unused[5];
    struct fam_entry entries[FAM_ENTRIES];
    uint64_t more_unused[8];
    /* One bit per FAM_ALIGN bytes, set by stp_fam_prepare() for the part or head that is there. */
    uint8_t ready[FAM_UNITS / 8];
};

_Static_assert(sizeof(struct fam_entry) == 128, "entries are what other jobs read");
_Static_assert(sizeof(struct fam_super) == FAM_ALIGN, "the superblock is one unit");

/* A pool in a file or device that this PE has opened for one space. */
struct fam_pool {
    int fd;
    struct fam_super *super;
    size_t nbytes;     /* number of usable bytes, including the superblock */
    const char *path;  /* path of the file or device */
    const char *where; /* value of SHMEM_FAM_PATH: this path or its directory */
    bool device;
    int patience_ms; /* longest wait for a lock that another process holds, in milliseconds */
};

/*
 * Initializes *pool for the file or device fd and locks the pool. Keeps the two string pointers for
 * messages. Returns 0, or -errno after logging an error. The caller must call stp_fam_pool_close()
 * in both cases.
 */
int stp_fam_pool_lock_file(struct fam_pool *pool, int fd, const char *path, const char *where,
                           bool device);

/*
 * Maps the superblock of the pool. The file or device has nbytes bytes. Returns 0, or -errno after
 * logging an error.
 */
int stp_fam_pool_map_superblock_locked(struct fam_pool *pool, size_t nbytes);

/* Releases all locks of the pool, even if a forked child has its file open, and closes the pool. */
void stp_fam_pool_close(struct fam_pool *pool);

/* Takes the pool's lock, which excludes all other processes. Returns 0, or -errno after logging. */
int stp_fam_pool_lock(struct fam_pool *pool);
void stp_fam_pool_unlock(struct fam_pool *pool);

/*
 * Checks the superblock. If the pool is empty, writes a superblock. Frees the spaces that killed
 * jobs have left. Returns 0, or -errno after logging an error.
 */
int stp_fam_pool_prepare_locked(struct fam_pool *pool);

/*
 * Returns the index of the entry with this name, or -1 if there is no such entry. If the space has
 * several generations, returns the one that was released last.
 */
int stp_fam_find_locked(const struct fam_pool *pool, const char *name);

/* Fills in *named with the properties of the space with this name. Returns 0 or -ENOENT. */
int stp_fam_tell_locked(const struct fam_pool *pool, const char *name, struct stp_named *named);

/*
 * Returns the offset of a free range of nbytes bytes in the pool. Returns 0 if no free range is
 * that large, and sets *largest to the size of the largest free range.
 */
size_t stp_fam_find_place_locked(const struct fam_pool *pool, size_t nbytes, size_t *largest);

/* Requested properties of a space. A space that exists must have the same nbytes. */
struct fam_shape {
    const char *name; /* name of the space, or NULL for a nameless space */
    size_t nbytes;    /* size of each PE's part in bytes */
    unsigned n_parts; /* number of parts; an existing space may have more */
    bool keep;
    bool reshape; /* true if an existing space with fewer parts gets a new generation */
    enum stp_open open;
    uint64_t token; /* unique number of this creation call, equal on all its PEs */
};

/* Returns the size of the head and all parts, or 0 if this is more than a pool can hold. */
size_t stp_fam_space_bytes(const struct fam_shape *shape);

/*
 * Finds the entry of the space or makes one, and registers this PE as a user of the entry. Sets
 * *index to the entry's index, and *made to true if it made the entry. Returns 0. Returns -errno
 * after logging an error if the pool is full, if the existing space has another shape, or if
 * shape->open does not allow the result. stp_fam_space_bytes() of the shape must not be 0.
 */
int stp_fam_claim_locked(struct fam_pool *pool, const struct fam_shape *shape, int *index,
                         bool *made);

/* Registers this PE as a user of an entry, until stp_fam_unuse_locked() or the pool is closed. */
int stp_fam_use_locked(struct fam_pool *pool, int index);
/* Ends the use of an entry by this PE. */
void stp_fam_unuse_locked(struct fam_pool *pool, int index);

/* Returns whether the shape requests a new generation, with more parts than the space has now. */
bool stp_fam_begins_generation_locked(const struct fam_pool *pool, const struct fam_shape *shape);
/* As stp_fam_begins_generation_locked(), but returns false if that generation already exists. */
bool stp_fam_needs_generation_locked(const struct fam_pool *pool, const struct fam_shape *shape);

/*
 * Returns the index of the generation that the generation at index will replace. Returns -1 if the
 * entry at index does not have FAM_NEXT.
 */
int stp_fam_previous_locked(const struct fam_pool *pool, int index);

/* Lets the name of the space denote this generation. Does nothing if the name already does this. */
void stp_fam_publish_locked(struct fam_pool *pool, int index);

/* Returns the offset in the pool of part i of an entry. */
static inline size_t stp_fam_part_at(const struct fam_entry *entry, unsigned i)
{
    return entry->offset + entry->head_bytes + (size_t)i * entry->part_bytes;
}

/* Returns whether another process, or another space of this process, uses the entry. */
bool stp_fam_used_locked(const struct fam_pool *pool, int index);

/* Returns whether the pool holds no space. */
bool stp_fam_is_empty_locked(const struct fam_pool *pool);

/* Checks that all spaces lie in the pool and do not overlap. Returns 0, or -errno after logging. */
int stp_fam_table_check_locked(const struct fam_pool *pool);

/*
 * Frees entries without users. An entry stays if it has FAM_KEEP and FAM_SETTLED and its name does
 * not denote a later generation.
 */
void stp_fam_reclaim_locked(struct fam_pool *pool);

/* Marks an entry as free and frees the memory of its space. */
void stp_fam_free_locked(struct fam_pool *pool, int index);

/*
 * Allocates memory for a part or head: nbytes bytes, beginning at offset at of the pool. Clears the
 * memory if this was not yet done for this space. Memory of a device is cleared only if clear is
 * true. Returns 0, or -errno after logging an error.
 */
int stp_fam_prepare(struct fam_pool *pool, size_t at, size_t nbytes, bool clear);

/* Makes the superblock durable. Logs a warning on failure. */
void stp_fam_superblock_persist(struct fam_pool *pool);

/*
 * Frees the memory of nbytes bytes of the pool, beginning at offset at. Later reads return zeros.
 * Returns 0, or -errno without logging.
 */
int stp_fam_punch(const struct fam_pool *pool, size_t at, size_t nbytes);

/* Allocates memory for a file range if the file system can. Returns 0, or -errno, not logged. */
int stp_fam_allocate(int fd, off_t at, size_t nbytes);

/* ---- this PE's part of a space (pe_part_file_or_pool.c) ------------------------------------ */

struct fam_part {
    int fd;        /* descriptor of the part's file or device; equal to pool.fd for a pool */
    off_t at;      /* offset of the part in the file or device */
    char *path;    /* path of the file or device, or NULL for a file without a name */
    bool own_file; /* true if the file holds only this space and is removed together with it */
    bool pooled;   /* true if the part is in a pool, so that the next four fields are valid */
    struct fam_pool pool;
    int index; /* index of the space's entry in the pool */
    /* Index of the previous generation, which this PE also uses until it is replaced, or -1. */
    int old;
    bool made; /* true if this PE has made the entry */
    /* The two tables of named blocks in the mapped head, or NULL for a nameless space. */
    struct fam_roots *head;
    bool found; /* true if the space existed before this creation */
    bool keep;  /* true if this job wants the space to outlive the job */
};

/* Checks the name of a space. Returns 0, or -EINVAL after logging the rules for names. */
int stp_fam_check_space_name(const char *name);

/* Checks that the space exists or that there is room for it. Returns 0, or -errno after logging. */
int stp_fam_check_fits(const struct fam_backing *place, const struct fam_shape *shape);

/*
 * Finds or makes the space, and allocates memory for map_bytes bytes of the part of the PE with
 * number pe in the team. Returns 0, or -errno after logging an error and undoing its steps.
 */
int stp_fam_part_open(struct fam_part *part, const struct fam_backing *place,
                      const struct fam_shape *shape, int pe, size_t map_bytes);

/*
 * Sets *at to the offset of part i of the entry at index. Returns false after logging an error if
 * the part does not exist in this pool, because it was made on another host.
 */
bool stp_fam_part_is_here(const struct fam_part *part, int index, unsigned i, off_t *at);

/* Lets the name denote the generation of this part. Returns 0, or -errno after logging an error. */
int stp_fam_part_replace_generation(struct fam_part *part);

/* Ends this PE's use of the previous generation. The last user frees the memory. */
void stp_fam_part_free_previous(struct fam_part *part);

/* Copies the table of named blocks from the previous generation. Returns 0 or -errno, logged. */
int stp_fam_block_names_inherit(struct fam_part *part);

/* Copies the i-th named block to *root. Returns false if there is no such named block. */
bool stp_fam_root_at(const struct fam_part *part, unsigned i, struct stp_named_block *root);

/*
 * Adds or changes a named block. If root->nbytes is 0, removes the name. The change is durable on
 * return. Returns 0, or -errno after logging an error.
 */
int stp_fam_root_set(struct fam_part *part, const struct stp_named_block *root);

/*
 * Fills in *named with the properties of the space with this name. Returns 0, -ENOENT without
 * logging if there is no such space, or another -errno after logging an error.
 */
int stp_fam_part_stat(const struct fam_backing *place, const char *name, struct stp_named *named);

/* Marks the space as created on this node. If this job keeps the space, also marks it as kept. */
void stp_fam_part_mark_made(struct fam_part *part);

/*
 * Ends this PE's use of the space. If used is false, the creation of the space has failed and is
 * undone. The last user removes the space unless the space is to be kept.
 */
void stp_fam_part_close(struct fam_part *part, bool used);

#endif /* STP_FAM_H */
