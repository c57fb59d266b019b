/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the FAM kind: what SHMEM_FAM_PATH names, the pool format that files and DAX devices
 * carry, and this PE's part of one space. Design: docs/design/fam.md.
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
    size_t nbytes; /* of the file or device; free bytes of the directory's file system */
    bool dax;      /* files of the directory are mapped without a page cache */
};

#define FAM_SYSFS "/sys/dev/char"

/*
 * Look at path. path: NULL when the variable is unset. Sets *place, which keeps path; why gets
 * what was found, or the reason. 0 or -ENODEV.
 */
int stp_fam_probe_path(const char *path, struct fam_backing *place, char *why, size_t len);

/*
 * Size of the DAX device major:minor, from sysfs mounted at sys. 0, or -ENODEV with the reason:
 * no DAX device, or one whose pages are larger than the ranges of the window.
 */
int stp_fam_device_size(const char *sys, unsigned major, unsigned minor, size_t *nbytes, char *why,
                        size_t len);

/* A file without a name in a directory. Descriptor or -errno, not logged. */
int stp_fam_temporary(const char *directory);

/* As stp_size_exact(), for figures that nobody counts: fractions of a large unit are cut. */
const char *stp_fam_about(size_t nbytes, char text[STP_SIZE_TEXT]);

/* ---- durable (make_durable.c) ---------------------------------------------------- */

/*
 * What is stored in [addr, addr + nbytes) survives a power failure from now on. dax: the mapping
 * has no page cache, and needs no file system to be durable. 0 or -errno, not logged.
 */
int stp_fam_flush(const void *addr, size_t nbytes, bool dax);

/* ---- pools (pool.c) ------------------------------------------------------ */

#define FAM_ALIGN ((size_t)2 << 20)   /* of parts in a pool, and the bytes of its superblock */
#define FAM_MAGIC 0x31304d4146505453u /* "STPFAM01" */
#define FAM_VERSION 2u
#define FAM_ENTRIES 8191
#define FAM_UNITS ((size_t)8 << 20) /* of FAM_ALIGN: the largest pool, 16 TiB */
#define FAM_NAME 64

/* Flags of an entry. The name of a next one stands for an older generation until it is released. */
enum { FAM_KEEP = 1, FAM_SETTLED = 2, FAM_NEXT = 4 };

/* One space: its head, FAM_ALIGN when it has a name, then n_parts parts of part_bytes each. */
struct fam_entry {
    uint32_t valid; /* stored last, with release */
    uint32_t flags;
    char name[FAM_NAME]; /* "" for a space of one PE that nobody else opens */
    uint64_t offset;
    uint64_t part_bytes; /* nbytes rounded up to FAM_ALIGN */
    uint64_t nbytes;     /* a PE */
    uint32_t n_parts;
    uint32_t n_now;      /* PEs of the jobs that use it, if any does */
    uint64_t token;      /* of the creation that made it */
    uint64_t head_bytes; /* parts begin behind them */
    uint32_t generation; /* of several with one name the highest counts */
    uint32_t unused;
};

/* Named blocks of a space. Its head has two tables: the later one that is whole counts. */
#define FAM_ROOTS 85
struct fam_roots {
    uint64_t checksum; /* of the rest */
    uint64_t serial;   /* one more than the other one's; 0: never written */
    uint32_t n;
    uint32_t unused[3];
    struct stp_named_block roots[FAM_ROOTS];
};

_Static_assert(sizeof(struct fam_roots) == 8192, "whole pages: one is written, one is not");

/* What the first 2 MiB of a pool hold: always the same on all machines, little endian. */
struct fam_super {
    uint64_t magic;
    uint32_t version;
    uint32_t n_entries; /* those from here on were never used */
    uint64_t nbytes;    /* of the pool, this included */
    uint64_t unused[5];
    struct fam_entry entries[FAM_ENTRIES];
    uint64_t more_unused[8];
    uint8_t ready[FAM_UNITS / 8]; /* a bit a unit: the part that begins there has been cleared */
};

_Static_assert(sizeof(struct fam_entry) == 128, "entries are what other jobs read");
_Static_assert(sizeof(struct fam_super) == FAM_ALIGN, "the superblock is one unit");

/* A file or device with a superblock, as one space of this PE has it open. */
struct fam_pool {
    int fd;
    struct fam_super *super;
    size_t nbytes;     /* usable, superblock included */
    const char *path;  /* of fd */
    const char *where; /* as the user named it: path, or the directory that path is in */
    bool device;
    int patience_ms; /* how long to wait for a lock that another process holds */
};

/*
 * Begin to use fd as a pool: take its lock. path, where: for messages, kept. 0 or -errno, logged.
 * From here on stp_fam_pool_close() is the end, also after failures.
 */
int stp_fam_pool_lock_file(struct fam_pool *pool, int fd, const char *path, const char *where,
                           bool device);

/* Map the superblock; the file or device holds nbytes. 0 or -errno, logged. */
int stp_fam_pool_map_superblock_locked(struct fam_pool *pool, size_t nbytes);

/* Give up every lock, also those that forked children hold with us, and close. */
void stp_fam_pool_close(struct fam_pool *pool);

/* Exclusive among all processes. 0 or -errno, logged. */
int stp_fam_pool_lock(struct fam_pool *pool);
void stp_fam_pool_unlock(struct fam_pool *pool);

/*
 * Make sure that there is a sound superblock: an empty pool gets one. Frees what killed jobs
 * left. 0 or -errno, logged.
 */
int stp_fam_pool_prepare_locked(struct fam_pool *pool);

/*
 * Entry of a named space, -1 when there is none: of several generations the last one that was
 * released. Nameless spaces are never found.
 */
int stp_fam_find_locked(const struct fam_pool *pool, const char *name);

/* What a name stands for: 0 or -ENOENT. */
int stp_fam_tell_locked(const struct fam_pool *pool, const char *name, struct stp_named *named);

/* Where nbytes fit, 0 when they do not: then *largest is the largest free piece. */
size_t stp_fam_find_place_locked(const struct fam_pool *pool, size_t nbytes, size_t *largest);

/* What a space is; two with one name must agree in it. */
struct fam_shape {
    const char *name; /* NULL: nameless */
    size_t nbytes;    /* a PE */
    unsigned n_parts;
    bool keep;
    bool reshape; /* a space of fewer parts gets a new generation */
    enum stp_open open;
    uint64_t token; /* of the creation that asks */
};

/* Bytes of head and all parts of a shape, 0 when that is more than a pool can hold. */
size_t stp_fam_space_bytes(const struct fam_shape *shape);

/*
 * Find or make the space, whose total is not 0, and be a user of it. Sets *index and *made. 0 or
 * -errno, logged: no room, the name stands for a space of another shape, or it is there and must
 * not, or the other way round.
 */
int stp_fam_claim_locked(struct fam_pool *pool, const struct fam_shape *shape, int *index,
                         bool *made);

/* Be a user of the entry until the pool is closed, or no longer. 0 or -errno, logged. */
int stp_fam_use_locked(struct fam_pool *pool, int index);
void stp_fam_unuse_locked(struct fam_pool *pool, int index);

/* Would a claim be of a new generation? And make it, since no other PE has? */
bool stp_fam_begins_generation_locked(const struct fam_pool *pool, const struct fam_shape *shape);
bool stp_fam_needs_generation_locked(const struct fam_pool *pool, const struct fam_shape *shape);

/* The generation that an entry is the next one of; -1: it is none. */
int stp_fam_previous_locked(const struct fam_pool *pool, int index);

/* From now on the name stands for this next generation; nothing when it does already. */
void stp_fam_publish_locked(struct fam_pool *pool, int index);

/* Where part i of an entry begins. */
static inline size_t stp_fam_part_at(const struct fam_entry *entry, unsigned i)
{
    return entry->offset + entry->head_bytes + (size_t)i * entry->part_bytes;
}

/* Does any other process, or other space of this one, use the entry? */
bool stp_fam_used_locked(const struct fam_pool *pool, int index);

/* Does the pool hold no space at all? */
bool stp_fam_is_empty_locked(const struct fam_pool *pool);

/* Do the entries lie in the pool, none over another? 0 or -errno, logged. */
int stp_fam_table_check_locked(const struct fam_pool *pool);

/* Free what users left who died: nameless spaces, and those that were not to stay. */
void stp_fam_reclaim_locked(struct fam_pool *pool);

/* Forget an entry and give its memory back. */
void stp_fam_free_locked(struct fam_pool *pool, int index);

/*
 * Back the part that begins at offset at with memory, nbytes of it, and clear it when nobody has
 * since its space was made. clear: false leaves what is on a device. 0 or -errno, logged.
 */
int stp_fam_prepare(struct fam_pool *pool, size_t at, size_t nbytes, bool clear);

/* Make the superblock durable. */
void stp_fam_superblock_persist(struct fam_pool *pool);

/* Give memory back, so that it reads as zero. 0 or -errno, not logged. */
int stp_fam_punch(const struct fam_pool *pool, size_t at, size_t nbytes);

/* Reserve file memory; file systems that cannot are believed. 0 or -errno, not logged. */
int stp_fam_allocate(int fd, off_t at, size_t nbytes);

/* ---- this PE's part of a space (pe_part_file_or_pool.c) ------------------------------------ */

struct fam_part {
    int fd;        /* the one descriptor of the space; pool.fd when there is a pool */
    off_t at;      /* where the part begins in it */
    char *path;    /* of fd; NULL when it has no name */
    bool own_file; /* the file is this space's alone and goes with it */
    bool pooled;   /* the rest means something */
    struct fam_pool pool;
    int index;              /* of the entry */
    int old;                /* the one that it is to follow, used too; -1: none */
    bool made;              /* by this PE, just now */
    struct fam_roots *head; /* two, mapped; NULL without a name */
    bool found;             /* it was there before any PE of this creation came */
    bool keep;              /* this job wants it to stay */
};

/* 0, or -EINVAL after logging what names may be. */
int stp_fam_check_space_name(const char *name);

/* Would a new space of this shape fit, or is it there already? 0 or -errno, logged. */
int stp_fam_check_fits(const struct fam_backing *place, const struct fam_shape *shape);

/*
 * Find or make the part of PE pe, map_bytes of it backed by memory. 0 or -errno, logged; nothing
 * kept then.
 */
int stp_fam_part_open(struct fam_part *part, const struct fam_backing *place,
                      const struct fam_shape *shape, int pe, size_t map_bytes);

/* Where part i of an entry begins; false, logged, when nobody made it in this file or device. */
bool stp_fam_part_is_here(const struct fam_part *part, int index, unsigned i, off_t *at);

/* The generation that this part is of takes over the name: 0 or -errno, logged. Then drop: */
int stp_fam_part_replace_generation(struct fam_part *part);

/* The older generation is read no more: its last user gives its memory back. */
void stp_fam_part_free_previous(struct fam_part *part);

/* A new generation begins with the named blocks of the old one. 0 or -errno, logged. */
int stp_fam_block_names_inherit(struct fam_part *part);

/* The i-th named block; false: there is none. */
bool stp_fam_root_at(const struct fam_part *part, unsigned i, struct stp_named_block *root);

/*
 * Name a block, or forget it (nbytes 0), durable on return; nothing to do when it is so already. 0
 * or -errno, logged.
 */
int stp_fam_root_set(struct fam_part *part, const struct stp_named_block *root);

/* What a good name stands for: 0, -ENOENT, not logged, or another -errno, logged. */
int stp_fam_part_stat(const struct fam_backing *place, const char *name, struct stp_named *named);

/* The space is there on this node: it stays from now on, if this job wants that. */
void stp_fam_part_mark_made(struct fam_part *part);

/*
 * Stop using the part. used: the space came to life; otherwise its creation is undone. The last
 * one to leave removes what is not to stay.
 */
void stp_fam_part_close(struct fam_part *part, bool used);

#endif /* STP_FAM_H */
