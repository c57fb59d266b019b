/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares the data and functions that the files in spaces/fam share. They concern the
 * path in SHMEM_FAM_PATH, pools, and this PE's part of a space. A pool is a file or DAX device that
 * holds spaces. Design: docs/design/fam.md.
 */
#ifndef STP_FAM_H
#define STP_FAM_H

#include "base/base.h"
#include "spaces/space_registry.h"

/* ---- the path in SHMEM_FAM_PATH (backing.c) ------------------------------ */

enum fam_type { FAM_DIRECTORY, FAM_FILE, FAM_DEVICE };

struct fam_backing {
    enum fam_type type;
    const char *path;
    size_t nbytes; /* size of the file or device; for a directory, free bytes of its file system */
    bool dax;      /* true if files in the directory can be mapped without a page cache */
};

#define FAM_SYSFS "/sys/dev/char"

/*
 * Examines the value of SHMEM_FAM_PATH and fills in *backing. The argument path is NULL if the
 * variable is not set. The function stores the pointer path in *backing and does not copy the
 * string.
 * Returns 0, or -ENODEV if the path cannot be used. Writes a description of the path, or the reason
 * for the failure, to message.
 */
int stp_fam_probe_path(const char *path, struct fam_backing *backing, char *message, size_t len);

/*
 * Sets *nbytes to the size of the DAX device with these device numbers. Reads the size from the
 * sysfs directory "sys". Returns 0. If the device is no DAX device, or if its pages are larger than
 * FAM_ALIGN, writes an error text to reason and returns -ENODEV.
 */
int stp_fam_device_size(const char *sys, unsigned major, unsigned minor, size_t *nbytes,
                        char *reason, size_t len);

/* Creates a file without a name in a directory. Returns a descriptor, or -errno without logging. */
int stp_fam_temporary(const char *directory);

/*
 * Does the same as stp_size_exact(), but first rounds a large size down to a whole number of KiB,
 * MiB or larger units. Used for approximate sizes in messages.
 */
const char *stp_fam_about(size_t nbytes, char text[STP_SIZE_TEXT]);

/* ---- durability (make_durable.c) ------------------------------------------------- */

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
 * creation of the space has succeeded. FAM_NEXT means that the entry is a new generation, but the
 * name of the space still denotes the previous generation.
 */
enum { FAM_KEEP = 1, FAM_SETTLED = 2, FAM_NEXT = 4 };

/*
 * Entry in the table of a pool. An entry describes one generation of a space. A space gets a new
 * generation when it gets more parts. In the pool, a named space begins with a head of FAM_ALIGN
 * bytes. A nameless space has no head. The n_parts parts follow the head. Each part has part_bytes
 * bytes.
 */
struct fam_entry {
    /* 1 if the entry is in use. A release store sets this field after all other fields. */
    uint32_t valid;
    uint32_t flags;
    char name[FAM_NAME]; /* name of the space, or "" for a nameless space, which has one part */
    uint64_t offset;     /* offset of the space in the pool */
    uint64_t part_bytes; /* nbytes rounded up to a multiple of FAM_ALIGN */
    uint64_t nbytes;     /* size of each PE's part in bytes */
    uint32_t n_parts;
    /*
     * Number of PEs of the job that uses the space now. All jobs that use a space at the same time
     * have the same number of PEs.
     */
    uint32_t n_job_pes;
    uint64_t token;      /* unique number of the creation call that made the space */
    uint64_t head_bytes; /* size of the head in bytes, or 0 for a nameless space */
    /* Generation number. The name denotes the highest generation without the flag FAM_NEXT. */
    uint32_t generation;
    uint32_t unused;
};

/*
 * Table of a space's named blocks. The head of the space has two such tables. A table with a wrong
 * checksum is not valid. If both checksums are correct, the table with the higher serial number is
 * valid.
 */
#define FAM_ROOTS 85
struct fam_roots {
    uint64_t checksum; /* checksum of the rest of the table */
    uint64_t serial;   /* serial number of this version, or 0 if the table was never written */
    uint32_t n;
    uint32_t unused[3];
    struct stp_named_block roots[FAM_ROOTS];
};

_Static_assert(sizeof(struct fam_roots) == 8192, "the table must consist of whole pages");

/* Superblock: the first 2 MiB of a pool. The layout is the same on all little-endian machines. */
struct fam_super {
    uint64_t magic;
    uint32_t version;
    /*
     * Number of entries at the start of the table that are or were in use. All later entries were
     * never used.
     */
    uint32_t n_entries;
    uint64_t nbytes; /* size of the pool, including the superblock */
    uint64_t unused[5];
    struct fam_entry entries[FAM_ENTRIES];
    uint64_t more_unused[8];
    /*
     * Bitmap with one bit for each FAM_ALIGN bytes of the pool. Only the bit for the first bytes of
     * a part or head is used. stp_fam_prepare() sets this bit when the memory of the part or head
     * is ready for use.
     */
    uint8_t ready[FAM_UNITS / 8];
};

_Static_assert(sizeof(struct fam_entry) == 128, "the size of an entry is part of the format");
_Static_assert(sizeof(struct fam_super) == FAM_ALIGN, "the superblock must be one unit");

/* A pool in a file or device that this PE has opened for one space. */
struct fam_pool {
    int fd;
    struct fam_super *super;
    size_t nbytes;        /* number of usable bytes, including the superblock */
    const char *path;     /* path of the file or device */
    const char *fam_path; /* value of SHMEM_FAM_PATH: equal to path, or the directory of the file */
    bool device;
    int lock_timeout_ms; /* longest wait for a lock that another process holds, in milliseconds */
};

/*
 * Initializes *pool for the file or device fd, and locks the pool. Stores the pointers path and
 * fam_path in *pool and does not copy the strings. Returns 0, or -errno after logging an error. The
 * caller must call stp_fam_pool_close() after success and after failure.
 */
int stp_fam_pool_lock_file(struct fam_pool *pool, int fd, const char *path, const char *fam_path,
                           bool device);

/*
 * Maps and checks the superblock of the pool. The file or device has nbytes bytes. If the pool is
 * empty, writes a superblock. Frees the spaces that killed jobs have left. Returns 0, or -errno
 * after logging an error.
 */
int stp_fam_pool_use_locked(struct fam_pool *pool, size_t nbytes);

/*
 * Releases all locks of the pool and closes its file. The locks are released even if a forked child
 * still has the file open.
 */
void stp_fam_pool_close(struct fam_pool *pool);

/* Takes the pool's lock, which excludes all other processes. Returns 0, or -errno after logging. */
int stp_fam_pool_lock(struct fam_pool *pool);
void stp_fam_pool_unlock(struct fam_pool *pool);

/*
 * Returns the index of the entry with this name, or -1 if there is no such entry. If the space has
 * several generations, returns the index of the generation that the name denotes.
 */
int stp_fam_find_locked(const struct fam_pool *pool, const char *name);

/* Fills in *named with the properties of the space with this name. Returns 0 or -ENOENT. */
int stp_fam_describe_locked(const struct fam_pool *pool, const char *name, struct stp_named *named);

/*
 * Returns the offset of a free range of nbytes bytes in the pool, or 0 if no free range is that
 * large. In the latter case sets *largest to the size of the largest free range.
 */
size_t stp_fam_find_place_locked(const struct fam_pool *pool, size_t nbytes, size_t *largest);

/* Requested properties of a space. A space that exists must have the same nbytes. */
struct fam_shape {
    const char *name; /* name of the space, or NULL for a nameless space */
    size_t nbytes;    /* size of each PE's part in bytes */
    unsigned n_parts; /* number of parts; an existing space may have more */
    bool keep;        /* true if the space outlives the job */
    bool reshape;     /* true if an existing space with fewer parts gets a new generation */
    enum stp_open open;
    uint64_t token; /* unique number of this creation call, equal on all its PEs */
};

/* Returns the size of the head and all parts, or 0 if this is more than a pool can hold. */
size_t stp_fam_space_bytes(const struct fam_shape *shape);

/*
 * Finds the entry of the space, or makes a new entry. Registers this PE as a user of the entry.
 * Sets *index to the entry's index. Sets *created to true if the entry is new. Returns 0, or -errno
 * after logging an error. Fails if the pool is full, if the existing space has another shape, or if
 * shape->open forbids opening or creating the space. The caller has checked that
 * stp_fam_space_bytes() of the shape is not 0.
 */
int stp_fam_claim_locked(struct fam_pool *pool, const struct fam_shape *shape, int *index,
                         bool *created);

/*
 * Registers this PE as a user of an entry. The registration ends when stp_fam_unuse_locked() is
 * called or the pool is closed.
 */
int stp_fam_use_locked(struct fam_pool *pool, int index);
/* Ends the use of an entry by this PE. */
void stp_fam_unuse_locked(struct fam_pool *pool, int index);

/* Returns whether the shape requests a new generation, with more parts than the space has now. */
bool stp_fam_begins_generation_locked(const struct fam_pool *pool, const struct fam_shape *shape);
/* Returns whether the shape requests a new generation that does not exist yet. */
bool stp_fam_needs_generation_locked(const struct fam_pool *pool, const struct fam_shape *shape);

/*
 * Returns the index of the previous generation, which the entry with this index will replace.
 * Returns -1 if the entry with this index does not have the flag FAM_NEXT.
 */
int stp_fam_previous_locked(const struct fam_pool *pool, int index);

/*
 * Makes the name of the space denote the generation with this index. Does nothing if the name
 * already denotes it.
 */
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
 * Frees the entries that have no users. Keeps an entry that has FAM_KEEP and FAM_SETTLED, unless
 * its name denotes a later generation.
 */
void stp_fam_reclaim_locked(struct fam_pool *pool);

/* Marks an entry as free and frees the memory of its space. */
void stp_fam_free_locked(struct fam_pool *pool, int index);

/*
 * Allocates memory for a part or head of nbytes bytes, which begins at the given offset in the
 * pool. Clears the memory if this was not yet done for this space. Memory of a device is cleared
 * only if clear is true. Returns 0, or -errno after logging an error.
 */
int stp_fam_prepare(struct fam_pool *pool, size_t offset, size_t nbytes, bool clear);

/* Makes the superblock durable. Logs a warning on failure. */
void stp_fam_superblock_persist(struct fam_pool *pool);

/*
 * Frees the memory of nbytes bytes that begin at the given offset in the pool. Later reads return
 * zeros. Returns 0, or -errno without logging. Returns -EOPNOTSUPP for a device.
 */
int stp_fam_punch(const struct fam_pool *pool, size_t offset, size_t nbytes);

/*
 * Allocates memory for a range of a file. Does nothing if the file system does not support this.
 * Returns 0, or -errno without logging.
 */
int stp_fam_allocate(int fd, off_t offset, size_t nbytes);

/* ---- this PE's part of a space (pe_part_file_or_pool.c) ------------------------------------ */

struct fam_part {
    /* Descriptor of the part's file or device. Equal to pool.fd if the part is in a pool. */
    int fd;
    off_t offset;  /* offset of the part in the file or device */
    char *path;    /* path of the file or device, or NULL for a file without a name */
    bool own_file; /* true if the file holds only this space and is removed together with it */
    bool pooled;   /* true if the part is in a pool, so that the next four fields are valid */
    struct fam_pool pool;
    int index; /* index of the space's entry in the pool */
    /*
     * Index of the previous generation, or -1 if there is no previous generation. This PE also uses
     * the previous generation until the new one replaces it.
     */
    int previous;
    bool created; /* true if this PE has made the entry */
    /* The two tables of named blocks in the mapped head, or NULL for a nameless space. */
    struct fam_roots *head;
    bool found; /* true if the file of the space existed before this call */
    bool keep;  /* true if this job wants the space to outlive the job */
};

/* Checks the name of a space. Returns 0, or -EINVAL after logging the rules for names. */
int stp_fam_check_space_name(const char *name);

/* Checks that the space exists or that there is room for it. Returns 0, or -errno after logging. */
int stp_fam_check_fits(const struct fam_backing *backing, const struct fam_shape *shape);

/*
 * Finds or makes the space. Allocates map_bytes bytes of memory for the part of this PE, which has
 * the number pe in the team. Returns 0. After an error, undoes its steps, logs the error and
 * returns -errno.
 */
int stp_fam_part_open(struct fam_part *part, const struct fam_backing *backing,
                      const struct fam_shape *shape, int pe, size_t map_bytes);

/*
 * Sets *offset to the offset of part i of the entry with this index. Returns false after logging an
 * error if this pool does not have the part. Such a part was made on another host.
 */
bool stp_fam_part_is_here(const struct fam_part *part, int index, unsigned i, off_t *offset);

/*
 * Makes the name of the space denote the generation of this part. Returns 0, or -errno after
 * logging an error.
 */
int stp_fam_part_replace_generation(struct fam_part *part);

/* Ends this PE's use of the previous generation. The last user frees the memory. */
void stp_fam_part_free_previous(struct fam_part *part);

/*
 * Copies the table of named blocks from the previous generation. Returns 0, or -errno after logging
 * an error.
 */
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
int stp_fam_part_stat(const struct fam_backing *backing, const char *name, struct stp_named *named);

/* Marks the space as created on this node. If this job keeps the space, also marks it as kept. */
void stp_fam_part_mark_made(struct fam_part *part);

/*
 * Ends this PE's use of the space. If used is false, the creation of the space has failed and is
 * undone. The last user removes the space unless the space is to be kept.
 */
void stp_fam_part_close(struct fam_part *part, bool used);

#endif /* STP_FAM_H */
