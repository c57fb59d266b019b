/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares the inside of the FAM kind: the path in SHMEM_FAM_PATH, the pool format of
 * files and DAX devices, and this PE's part of a space. Design: docs/design/fam.md.
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
    size_t nbytes; /* size of the file or device, or free bytes of the file system */
    bool dax;      /* true if files in the directory are mapped without a page cache */
};

#define FAM_SYSFS "/sys/dev/char"

/*
 * Examines path, which is NULL if the variable is not set. Sets *place, which keeps the pointer.
 * Writes a description, or the reason, to why. Returns 0 or -ENODEV.
 */
int stp_fam_probe_path(const char *path, struct fam_backing *place, char *why, size_t len);

/*
 * Reads the size of the DAX device major:minor from sysfs, mounted at sys. Returns 0, or -ENODEV
 * with the reason if it is no DAX device or has pages larger than FAM_ALIGN.
 */
int stp_fam_device_size(const char *sys, unsigned major, unsigned minor, size_t *nbytes, char *why,
                        size_t len);

/* Creates a file without a name in a directory. Returns a descriptor, or -errno, not logged. */
int stp_fam_temporary(const char *directory);

/* As stp_size_exact(), but cuts the fraction of a large unit, for approximate figures. */
const char *stp_fam_about(size_t nbytes, char text[STP_SIZE_TEXT]);

/* ---- durable (make_durable.c) ---------------------------------------------------- */

/*
 * Makes the content of [addr, addr + nbytes) durable, so that it survives a power failure. With
 * dax, the mapping has no page cache and needs no system call for this. Returns 0, or -errno, not
 * logged.
 */
int stp_fam_flush(const void *addr, size_t nbytes, bool dax);

/* ---- pools (pool.c) ------------------------------------------------------ */

#define FAM_ALIGN ((size_t)2 << 20)   /* alignment of parts in a pool, and size of its superblock */
#define FAM_MAGIC 0x31304d4146505453u /* "STPFAM01" */
#define FAM_VERSION 2u
#define FAM_ENTRIES 8191
#define FAM_UNITS ((size_t)8 << 20) /* units of FAM_ALIGN in the largest pool, 16 TiB */
#define FAM_NAME 64

/* Flags of an entry. Until a FAM_NEXT entry is released, its name denotes an older generation. */
enum { FAM_KEEP = 1, FAM_SETTLED = 2, FAM_NEXT = 4 };

/* One space: a head of FAM_ALIGN bytes if it has a name, and n_parts parts of part_bytes each. */
struct fam_entry {
    uint32_t valid; /* 1 if the entry is in use; stored last, with release */
    uint32_t flags;
    char name[FAM_NAME]; /* name, or "" for a space of one PE that no other PE opens */
    uint64_t offset;
    uint64_t part_bytes; /* nbytes rounded up to FAM_ALIGN */
    uint64_t nbytes;     /* bytes of a PE's part */
    uint32_t n_parts;
    uint32_t n_now;      /* number of PEs of the jobs that use the space, if any */
    uint64_t token;      /* token of the creation that made the space */
    uint64_t head_bytes; /* size of the head, after which the parts begin */
    uint32_t generation; /* generation number; the highest released one of a name counts */
    uint32_t unused;
};

/* Table of a space's named blocks. The head has two tables; the later intact one is valid. */
#define FAM_ROOTS 85
struct fam_roots {
    uint64_t checksum; /* checksum of the rest of the table */
    uint64_t serial;   /* one more than in the older table, or 0 if never written */
    uint32_t n;
    uint32_t unused[3];
    struct stp_named_block roots[FAM_ROOTS];
};

_Static_assert(sizeof(struct fam_roots) == 8192, "whole pages: one is written, one is not");

/* First 2 MiB of a pool. The layout is the same on all machines, in little endian. */
struct fam_super {
    uint64_t magic;
    uint32_t version;
    uint32_t n_entries; /* number of entries that were ever used */
    uint64_t nbytes;    /* size of the pool, including the superblock */
    uint64_t unused[5];
    struct fam_entry entries[FAM_ENTRIES];
    uint64_t more_unused[8];
    /* One bit per unit, set after the part that begins there was cleared. */
    uint8_t ready[FAM_UNITS / 8];
};

_Static_assert(sizeof(struct fam_entry) == 128, "entries are what other jobs read");
_Static_assert(sizeof(struct fam_super) == FAM_ALIGN, "the superblock is one unit");

/* Pool in a file or device, opened for one space of this PE. */
struct fam_pool {
    int fd;
    struct fam_super *super;
    size_t nbytes;     /* usable bytes, including the superblock */
    const char *path;  /* path of fd */
    const char *where; /* path or its directory, as the user named it */
    bool device;
    int patience_ms; /* longest wait for a lock that another process holds */
};

/*
 * Begins to use fd as a pool and takes its lock. Keeps path and where for messages. Returns 0, or
 * -errno, logged. The caller ends with stp_fam_pool_close(), also after a failure.
 */
int stp_fam_pool_lock_file(struct fam_pool *pool, int fd, const char *path, const char *where,
                           bool device);

/* Maps the superblock of a file or device of nbytes bytes. Returns 0, or -errno, logged. */
int stp_fam_pool_map_superblock_locked(struct fam_pool *pool, size_t nbytes);

/* Drops all locks, including those shared with forked children, and closes the pool. */
void stp_fam_pool_close(struct fam_pool *pool);

/* Locks the pool, exclusively among all processes. Returns 0, or -errno, logged. */
int stp_fam_pool_lock(struct fam_pool *pool);
void stp_fam_pool_unlock(struct fam_pool *pool);

/*
 * Checks the superblock, or writes one in an empty pool. Frees spaces that killed jobs left.
 * Returns 0, or -errno, logged.
 */
int stp_fam_pool_prepare_locked(struct fam_pool *pool);

/*
 * Returns the entry of a named space, or -1 if there is none. Of several generations it is the one
 * that was released last. Nameless spaces are never found.
 */
int stp_fam_find_locked(const struct fam_pool *pool, const char *name);

/* Describes the space with this name. Returns 0 or -ENOENT. */
int stp_fam_tell_locked(const struct fam_pool *pool, const char *name, struct stp_named *named);

/* Returns the offset of nbytes free bytes, or 0; *largest is then the largest free piece. */
size_t stp_fam_find_place_locked(const struct fam_pool *pool, size_t nbytes, size_t *largest);

/* Requested properties of a space. An existing space must have this nbytes and enough parts. */
struct fam_shape {
    const char *name; /* name, or NULL for a nameless space */
    size_t nbytes;    /* bytes of a PE's part */
    unsigned n_parts;
    bool keep;
    bool reshape; /* true if a space of fewer parts shall get a new generation */
    enum stp_open open;
    uint64_t token; /* token of the creation that asks */
};

/* Returns the bytes of the head and all parts, or 0 if no pool can hold that much. */
size_t stp_fam_space_bytes(const struct fam_shape *shape);

/*
 * Finds or makes the space, whose total is not 0, and becomes a user of it. Sets *index and *made.
 * Returns 0, or -errno, logged, if there is no room, if the name denotes a space of another shape,
 * or if shape->open does not permit a found or a new space.
 */
int stp_fam_claim_locked(struct fam_pool *pool, const struct fam_shape *shape, int *index,
                         bool *made);

/* Begin and end the use of an entry, which close ends, too. use returns 0, or -errno, logged. */
int stp_fam_use_locked(struct fam_pool *pool, int index);
void stp_fam_unuse_locked(struct fam_pool *pool, int index);

/* Return whether a claim is of a new generation, and whether that generation must be made first. */
bool stp_fam_begins_generation_locked(const struct fam_pool *pool, const struct fam_shape *shape);
bool stp_fam_needs_generation_locked(const struct fam_pool *pool, const struct fam_shape *shape);

/* Returns the entry that a FAM_NEXT entry replaces, or -1 for an entry without that flag. */
int stp_fam_previous_locked(const struct fam_pool *pool, int index);

/* Lets the name denote this next generation. Does nothing if the name already does. */
void stp_fam_publish_locked(struct fam_pool *pool, int index);

/* Returns the offset of part i of an entry. */
static inline size_t stp_fam_part_at(const struct fam_entry *entry, unsigned i)
{
    return entry->offset + entry->head_bytes + (size_t)i * entry->part_bytes;
}

/* Returns whether another process, or another space of this process, uses the entry. */
bool stp_fam_used_locked(const struct fam_pool *pool, int index);

/* Returns whether the pool holds no space. */
bool stp_fam_is_empty_locked(const struct fam_pool *pool);

/* Checks that entries lie in the pool and do not overlap. Returns 0, or -errno, logged. */
int stp_fam_table_check_locked(const struct fam_pool *pool);

/* Frees entries without users, except kept and settled ones that their name still denotes. */
void stp_fam_reclaim_locked(struct fam_pool *pool);

/* Frees an entry and its memory. */
void stp_fam_free_locked(struct fam_pool *pool, int index);

/*
 * Allocates memory for the part of nbytes at offset at. Clears it, unless that was done since its
 * space was made. Without clear, a device keeps its content. Returns 0, or -errno, logged.
 */
int stp_fam_prepare(struct fam_pool *pool, size_t at, size_t nbytes, bool clear);

/* Makes the superblock durable, or logs a warning. */
void stp_fam_superblock_persist(struct fam_pool *pool);

/* Frees memory, which then reads as zero. Returns 0, or -errno, not logged. */
int stp_fam_punch(const struct fam_pool *pool, size_t at, size_t nbytes);

/* Reserves memory of a file if the file system can. Returns 0, or -errno, not logged. */
int stp_fam_allocate(int fd, off_t at, size_t nbytes);

/* ---- this PE's part of a space (pe_part_file_or_pool.c) ------------------------------------ */

struct fam_part {
    int fd;        /* descriptor of the space; pool.fd if there is a pool */
    off_t at;      /* offset of the part in the file or device */
    char *path;    /* path of fd, or NULL for a file without a name */
    bool own_file; /* true if the file belongs to this space and is removed with it */
    bool pooled;   /* true if the part is in a pool, so that pool, index and made are valid */
    struct fam_pool pool;
    int index;              /* index of the entry */
    int old;                /* index of the generation to be replaced, also in use, or -1 */
    bool made;              /* true if this PE made the entry */
    struct fam_roots *head; /* two mapped tables, or NULL for a nameless space */
    bool found;             /* true if the space existed before this creation */
    bool keep;              /* true if this job wants to keep the space */
};

/* Returns 0, or -EINVAL after logging the rules for names. */
int stp_fam_check_space_name(const char *name);

/* Checks that a space of this shape fits or exists already. Returns 0, or -errno, logged. */
int stp_fam_check_fits(const struct fam_backing *place, const struct fam_shape *shape);

/*
 * Finds or makes the part of PE pe and backs map_bytes of it with memory. Returns 0, or -errno,
 * logged, with nothing kept.
 */
int stp_fam_part_open(struct fam_part *part, const struct fam_backing *place,
                      const struct fam_shape *shape, int pe, size_t map_bytes);

/* Sets *at to the offset of part i. Returns false, logged, if the part was not made here. */
bool stp_fam_part_is_here(const struct fam_part *part, int index, unsigned i, off_t *at);

/* Lets the name denote the generation of this part. Returns 0, or -errno, logged. */
int stp_fam_part_replace_generation(struct fam_part *part);

/* Stops using the older generation. Its last user frees its memory. */
void stp_fam_part_free_previous(struct fam_part *part);

/* Copies the named blocks of the old generation to this one. Returns 0, or -errno, logged. */
int stp_fam_block_names_inherit(struct fam_part *part);

/* Copies the i-th named block to *root. Returns false if there is none. */
bool stp_fam_root_at(const struct fam_part *part, unsigned i, struct stp_named_block *root);

/*
 * Names a block, or removes the name if nbytes is 0, durable on return. Does nothing if the table
 * would not change. Returns 0, or -errno, logged.
 */
int stp_fam_root_set(struct fam_part *part, const struct stp_named_block *root);

/* Describes the space with a valid name. Returns 0, -ENOENT, not logged, or -errno, logged. */
int stp_fam_part_stat(const struct fam_backing *place, const char *name, struct stp_named *named);

/* Marks the space as made on this node. It is kept from now on if this job wants that. */
void stp_fam_part_mark_made(struct fam_part *part);

/*
 * Stops using the part. used means that the space was created completely; otherwise its creation is
 * undone. The last user removes a space that is not to be kept.
 */
void stp_fam_part_close(struct fam_part *part, bool used);

#endif /* STP_FAM_H */
