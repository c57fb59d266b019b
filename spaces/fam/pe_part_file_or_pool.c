/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file opens and closes this PE's part of a FAM space. If SHMEM_FAM_PATH is a directory, each
 * part of a nameless space is a file without a name, and each named space has a file of its own.
 * Otherwise SHMEM_FAM_PATH is a file or DAX device that holds a pool, and all parts are in this
 * pool. A part that does not exist is created when it is opened. When the last user closes its
 * part, the space is removed unless it is to be kept. Design: docs/design/fam.md.
 */
#include "fam.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PART_SUFFIX ".fam"
/* Age in seconds. An empty file that was last changed longer ago was not made by this job. */
#define PART_MOMENT 10
#define PART_TRIES 1000 /* maximum number of attempts to open a file that other jobs remove */
#define PART_OPEN (O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

int stp_fam_check_space_name(const char *name)
{
    const char *allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t len = strlen(name);

    if (len > 0 && len < FAM_NAME && name[0] != '.' && strspn(name, allowed) == len) return 0;
    stp_error("fam: \"%.80s\" is not a valid name of a space: a name has 1 to %d letters, digits, "
              "dots, dashes and underscores, and does not begin with a dot",
              name, FAM_NAME - 1);
    return -EINVAL;
}

static char *part_path(const struct fam_backing *backing, const char *name)
{
    char *path;

    if (backing->type != FAM_DIRECTORY)
        path = strdup(backing->path);
    else if (asprintf(&path, "%s/%s" PART_SUFFIX, backing->path, name) < 0)
        path = NULL;
    if (path == NULL)
        stp_error("fam: out of memory: cannot build the path of a file in %s", backing->path);
    return path;
}

/* ---- unnamed spaces in a directory --------------------------------------------------- */

static int part_open_temporary(struct fam_part *part, const struct fam_backing *backing,
                               size_t map_bytes)
{
    char text[STP_SIZE_TEXT];
    int rc, fd = stp_fam_temporary(backing->path);

    if (fd < 0) {
        stp_error("fam: cannot create a file in %s: %s", backing->path, strerror(-fd));
        return fd;
    }
    rc = stp_fam_allocate(fd, 0, map_bytes);
    if (rc == 0) rc = stp_file_resize(fd, map_bytes);
    if (rc != 0) {
        stp_error("fam: cannot allocate %s for a space in %s: %s", stp_size_exact(map_bytes, text),
                  backing->path, stp_errno_text(-rc));
        close(fd);
        return rc;
    }
    part->fd = fd;
    return 0;
}

/* ---- spaces in a pool ---------------------------------------------------------------- */

/*
 * Refuses a file to which another user has access. In a directory to which several users can write,
 * another user can create the file before the job does. Returns 0, or -EINVAL after logging.
 */
static int part_check_access(const char *path, const struct stat *st)
{
    const char *reason = !S_ISREG(st->st_mode)               ? "is not a regular file"
                         : st->st_uid != geteuid()           ? "belongs to another user"
                         : st->st_nlink > 1                  ? "has another hard link"
                         : st->st_mode & (S_IWGRP | S_IWOTH) ? "can be written by other users"
                                                             : NULL;

    if (reason == NULL) return 0;
    stp_error("fam: %s %s (owner %u, mode %03o): remove the file, or set another SHMEM_FAM_PATH",
              path, reason, (unsigned)st->st_uid, (unsigned)st->st_mode & 0777);
    return -EINVAL;
}

/* Opens, locks, maps and checks the pool in a file or device. Closes the pool after a failure. */
static int part_open_pool(struct fam_pool *pool, const struct fam_backing *backing)
{
    int rc, fd = open(backing->path, PART_OPEN);
    size_t nbytes = backing->nbytes;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0) {
        rc = -errno;
        stp_error("fam: cannot open %s: %s", backing->path, strerror(-rc));
        if (fd >= 0) close(fd);
        return rc;
    }
    /* The administrator may have made the pool. The user chose its path and its mode. */
    if (backing->type == FAM_FILE && st.st_uid != 0 && st.st_uid != geteuid()) {
        close(fd);
        return part_check_access(backing->path, &st);
    }
    rc =
        stp_fam_pool_lock_file(pool, fd, backing->path, backing->path, backing->type == FAM_DEVICE);
    if (rc == 0 && backing->type == FAM_FILE && fstat(fd, &st) == 0) nbytes = (size_t)st.st_size;
    if (rc == 0) rc = stp_fam_pool_use_locked(pool, nbytes);
    if (rc != 0) stp_fam_pool_close(pool);
    return rc;
}

/* ---- the file of a named space ----------------------------------------------------------- */

/*
 * Opens the file of a named space. Creates the file if it does not exist and create is true. Never
 * follows a symbolic link. Returns a descriptor or -errno. Returns -ENOENT without logging if
 * another process has just removed the file.
 */
static int part_open_named(const char *path, bool create)
{
    int fd = create ? open(path, PART_OPEN | O_NOFOLLOW | O_CREAT | O_EXCL, 0600) : -1;

    if (!create || (fd < 0 && errno == EEXIST)) fd = open(path, PART_OPEN | O_NOFOLLOW);
    if (fd >= 0) return fd;
    fd = -errno;
    if (fd != -ENOENT || !create)
        stp_error("fam: cannot open %s: %s", path,
                  fd == -ELOOP ? "the file is a symbolic link" : strerror(-fd));
    return fd;
}

/*
 * Opens or creates the file of a named space and locks it. If another process removed the file
 * before the lock was taken, tries again. Sets *size to the size of the file, which is 0 if nothing
 * was written to it yet.
 */
static int part_lock_file(struct fam_pool *pool, const char *path, const char *fam_path,
                          bool create, size_t *size)
{
    struct stat st = {0};

    for (int i = 0; i < PART_TRIES; i++) {
        int rc, fd = part_open_named(path, create);
        if (fd == -ENOENT && create) continue;
        if (fd < 0) return fd;
        rc = fstat(fd, &st) == 0 ? part_check_access(path, &st) : -errno;
        if (rc != 0) {
            close(fd);
            return rc;
        }
        rc = stp_fam_pool_lock_file(pool, fd, path, fam_path, false);
        if (rc == 0 && fstat(fd, &st) != 0) rc = -errno;
        *size = (size_t)st.st_size;
        if (rc == 0 && st.st_nlink > 0) return 0;
        stp_fam_pool_close(pool);
        if (rc != 0) return rc;
    }
    stp_error("fam: cannot lock %s, because other processes removed the file each time that this "
              "PE opened it",
              path);
    return -EBUSY;
}

static int part_resize(struct fam_pool *pool, size_t nbytes)
{
    char text[STP_SIZE_TEXT];
    int rc = stp_file_resize(pool->fd, nbytes);

    if (rc != 0)
        stp_error("fam: cannot resize %s to %s: %s", pool->path, stp_size_exact(nbytes, text),
                  stp_errno_text(-rc));
    return rc;
}

/*
 * Checks whether an empty file may be used for a new space. Either a PE has just made the file and
 * has not written to it yet, or somebody has truncated the file, so that its content is lost. Logs
 * a warning if the file is old. If must_exist is true, the space must exist already, and an empty
 * file is an error.
 */
static int part_check_empty(const struct fam_pool *pool, bool must_exist)
{
    struct stat st;

    if (must_exist) {
        stp_error("fam: %s is empty and contains no space: to create a space in it, set "
                  "attr->open to SHMEMX_SPACE_EITHER or SHMEMX_SPACE_CREATE",
                  pool->path);
        return -ENOENT;
    }
    if (fstat(pool->fd, &st) == 0 && time(NULL) - st.st_mtime > PART_MOMENT)
        stp_warn("fam: %s was empty, so any earlier content of the file is lost: a new space is "
                 "created in the file",
                 pool->path);
    return 0;
}

/* Extends the file if the new generation does not fit into a free range of the file. */
static int part_grow(struct fam_pool *pool, const struct fam_shape *shape)
{
    size_t total = stp_fam_space_bytes(shape), largest;
    char text[STP_SIZE_TEXT], max_text[STP_SIZE_TEXT];
    int rc;

    if (stp_fam_find_place_locked(pool, total, &largest) != 0) return 0;
    if (total > FAM_UNITS * FAM_ALIGN - pool->nbytes) {
        stp_error("fam: %s cannot grow by %u x %s, because the file would exceed the maximum "
                  "size, %s",
                  pool->path, shape->n_parts, stp_size_exact(shape->nbytes, text),
                  stp_size_exact(FAM_UNITS * FAM_ALIGN, max_text));
        return -EFBIG;
    }
    rc = part_resize(pool, pool->nbytes + total);
    if (rc == 0) pool->nbytes = pool->super->nbytes = pool->nbytes + total;
    return rc;
}

/* Opens the file of a named space. The file is a pool that is as large as this one space needs. */
static int part_open_file(struct fam_pool *pool, const char *path, const char *fam_path,
                          const struct fam_shape *shape)
{
    size_t total = FAM_ALIGN + stp_fam_space_bytes(shape), size;
    bool must_exist = shape->open == STP_OPEN_FOUND, is_empty;
    int rc;

    if (must_exist && access(path, F_OK) != 0 && errno == ENOENT) {
        stp_error("fam: there is no space '%s' in %s: to create it, set attr->open to "
                  "SHMEMX_SPACE_EITHER or SHMEMX_SPACE_CREATE",
                  shape->name, fam_path);
        return -ENOENT;
    }
    rc = part_lock_file(pool, path, fam_path, !must_exist, &size);

    if (rc != 0) return rc;
    is_empty = size == 0;
    if (is_empty) rc = part_check_empty(pool, must_exist);
    if (rc != 0) {
        stp_fam_pool_close(pool);
        return rc;
    }
    if (is_empty) rc = part_resize(pool, total);
    if (rc == 0) rc = stp_fam_pool_use_locked(pool, is_empty ? total : size);
    if (rc == 0 && pool->nbytes != total && stp_fam_is_empty_locked(pool)) {
        /*
         * Change the size of the empty pool. The file still has the size of another space, which a
         * killed job has left.
         */
        rc = part_resize(pool, total);
        if (rc == 0) pool->nbytes = pool->super->nbytes = total;
    }
    if (rc == 0 && stp_fam_needs_generation_locked(pool, shape)) rc = part_grow(pool, shape);
    if (rc == 0) return 0;
    if (is_empty) unlink(path);
    stp_fam_pool_close(pool);
    return rc;
}

/* ---- opening and closing a part --------------------------------------------------------- */

static int part_open_pooled(struct fam_part *part, const struct fam_backing *backing,
                            const struct fam_shape *shape)
{
    int rc;

    part->own_file = backing->type == FAM_DIRECTORY;
    part->path = part_path(backing, shape->name);
    if (part->path == NULL) return -ENOMEM;
    rc = part->own_file ? part_open_file(&part->pool, part->path, backing->path, shape)
                        : part_open_pool(&part->pool, backing);
    if (rc != 0) return rc;
    part->fd = part->pool.fd;
    rc = stp_fam_claim_locked(&part->pool, shape, &part->index, &part->created);
    if (rc == 0) {
        part->previous = stp_fam_previous_locked(&part->pool, part->index);
        if (part->previous >= 0) rc = stp_fam_use_locked(&part->pool, part->previous);
    }
    if (rc != 0) {
        stp_fam_pool_close(&part->pool);
        return rc;
    }
    part->pooled = true;
    part->found =
        part->previous >= 0 || part->pool.super->entries[part->index].token != shape->token;
    stp_fam_pool_unlock(&part->pool);
    return 0;
}

static int part_check_total(const struct fam_shape *shape)
{
    char text[STP_SIZE_TEXT], max_text[STP_SIZE_TEXT];

    if (stp_fam_space_bytes(shape) != 0) return 0;
    stp_error("fam: a space of %u x %s exceeds the maximum size, %s", shape->n_parts,
              stp_size_exact(shape->nbytes, text), stp_size_exact(FAM_UNITS * FAM_ALIGN, max_text));
    return -EFBIG;
}

/* Maps the head of the space, which has the tables of named blocks. */
static int part_map_head(struct fam_part *part, const struct fam_entry *entry)
{
    int rc = stp_fam_prepare(&part->pool, entry->offset, 2 * sizeof(*part->head), true);
    void *map;

    if (rc != 0) return rc;
    map = mmap(NULL, FAM_ALIGN, PROT_READ | PROT_WRITE, MAP_SHARED, part->fd, (off_t)entry->offset);
    if (map == MAP_FAILED) {
        rc = -errno;
        stp_error("fam: cannot map the table of named blocks of a space in %s: %s", part->path,
                  strerror(-rc));
        return rc;
    }
    part->head = map;
    return 0;
}

int stp_fam_part_open(struct fam_part *part, const struct fam_backing *backing,
                      const struct fam_shape *shape, int pe, size_t map_bytes)
{
    const struct fam_entry *entry;
    int rc = part_check_total(shape);

    *part = (struct fam_part){.fd = -1, .keep = shape->keep, .previous = -1};
    if (rc != 0) return rc;
    if (backing->type == FAM_DIRECTORY && shape->name == NULL)
        return part_open_temporary(part, backing, map_bytes);
    rc = part_open_pooled(part, backing, shape);
    if (rc != 0) {
        free(part->path);
        return rc;
    }
    entry = &part->pool.super->entries[part->index];
    part->offset = (off_t)stp_fam_part_at(entry, shape->name != NULL ? (unsigned)pe : 0);
    rc = stp_fam_prepare(&part->pool, (size_t)part->offset, map_bytes, shape->name != NULL);
    if (rc == 0 && shape->name != NULL) rc = part_map_head(part, entry);
    if (rc == 0 && part->previous >= 0) rc = stp_fam_block_names_inherit(part);
    if (rc != 0) stp_fam_part_close(part, false);
    return rc;
}

/* Calls fsync() for the directory of the file, because this makes the file's name durable. */
static void part_sync_name(const struct fam_part *part)
{
    int fd = open(part->pool.fam_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0) return;
    if (fsync(fd) != 0)
        stp_warn("fam: the file %s may be lost after a crash: fsync: %s", part->path,
                 strerror(errno));
    close(fd);
}

bool stp_fam_part_is_here(const struct fam_part *part, int index, unsigned i, off_t *offset)
{
    const struct fam_super *super = part->pool.super;
    const struct fam_entry *entry = &super->entries[index];
    size_t unit = stp_fam_part_at(entry, i) / FAM_ALIGN;

    *offset = (off_t)(unit * FAM_ALIGN);
    /*
     * Pairs with the release operation in pool_prepare_locked(). A PE that sees the ready bit of a
     * part therefore also sees the zeros that were written to the part.
     */
    if (__atomic_load_n(&super->ready[unit / 8], __ATOMIC_ACQUIRE) >> unit % 8 & 1) return true;
    stp_error("fam: part %u of the space '%s' does not exist in %s on this host, because its PE "
              "ran on another host",
              i, entry->name, part->path);
    return false;
}

static void part_settle_locked(struct fam_part *part)
{
    struct fam_entry *entry = &part->pool.super->entries[part->index];
    uint32_t flags = entry->flags | FAM_SETTLED | (part->keep ? FAM_KEEP : 0);

    if (flags == entry->flags) return;
    entry->flags = flags;
    if (!part->keep) return;
    stp_fam_superblock_persist(&part->pool);
    if (part->own_file) part_sync_name(part);
}

void stp_fam_part_mark_made(struct fam_part *part)
{
    if (!part->pooled || stp_fam_pool_lock(&part->pool) != 0) return;
    part_settle_locked(part);
    stp_fam_pool_unlock(&part->pool);
}

/* Removes the file, unless its path now belongs to another file. */
static void part_unlink(const struct fam_part *part)
{
    struct stat open_file, path_file;

    if (fstat(part->fd, &open_file) != 0 || stat(part->path, &path_file) != 0) return;
    if (open_file.st_dev != path_file.st_dev || open_file.st_ino != path_file.st_ino) return;
    if (unlink(part->path) != 0) stp_warn("fam: cannot remove %s: %s", part->path, strerror(errno));
}

/*
 * Ends the use of a space. The last user removes the space unless its job wants to keep the space.
 * If used is false, the creation of the space has failed. In this case, a space that an earlier job
 * has kept is not removed.
 */
static void part_end_use_locked(struct fam_part *part, bool used)
{
    struct fam_entry *entry = &part->pool.super->entries[part->index];
    bool keep = part->keep;

    if (entry->flags & FAM_NEXT) { /* the name still denotes the previous generation */
        if (!stp_fam_used_locked(&part->pool, part->index))
            stp_fam_free_locked(&part->pool, part->index);
        return;
    }
    if (used) {
        part_settle_locked(part);
    } else {
        if (part->created) entry->flags &= ~(uint32_t)FAM_SETTLED;
        keep = entry->flags == (FAM_KEEP | FAM_SETTLED);
    }
    if (keep || stp_fam_used_locked(&part->pool, part->index)) return;
    if (part->own_file)
        part_unlink(part);
    else
        stp_fam_free_locked(&part->pool, part->index);
}

int stp_fam_part_replace_generation(struct fam_part *part)
{
    int rc = stp_fam_pool_lock(&part->pool);

    if (rc != 0) return rc;
    stp_fam_publish_locked(&part->pool, part->index);
    stp_fam_pool_unlock(&part->pool);
    return 0;
}

/* If the pool cannot be locked, the old generation stays until a process opens the pool again. */
void stp_fam_part_free_previous(struct fam_part *part)
{
    int previous = part->previous;

    part->previous = -1;
    if (stp_fam_pool_lock(&part->pool) != 0) return;
    stp_fam_unuse_locked(&part->pool, previous);
    if (!stp_fam_used_locked(&part->pool, previous)) stp_fam_free_locked(&part->pool, previous);
    stp_fam_pool_unlock(&part->pool);
}

void stp_fam_part_close(struct fam_part *part, bool used)
{
    if (part->head != NULL) munmap(part->head, FAM_ALIGN);
    if (part->pooled) {
        if (stp_fam_pool_lock(&part->pool) == 0) part_end_use_locked(part, used);
        stp_fam_pool_close(&part->pool);
    } else {
        close(part->fd);
    }
    free(part->path);
}

/* ---- checks before creation ---------------------------------------------------------------- */

static int admit_directory(const struct fam_backing *backing, const struct fam_shape *shape)
{
    char requested[STP_SIZE_TEXT], available[STP_SIZE_TEXT];
    char *path = shape->name != NULL ? part_path(backing, shape->name) : NULL;
    bool exists = path != NULL && access(path, F_OK) == 0;

    free(path);
    if (exists || shape->nbytes <= backing->nbytes) return 0;
    stp_error("fam: a space of %s per PE exceeds the free memory of %s (%s)",
              stp_size_exact(shape->nbytes, requested), backing->path,
              stp_fam_about(backing->nbytes, available));
    return -ENOSPC;
}

static int admit_pool(const struct fam_backing *backing, const struct fam_shape *shape)
{
    char requested[STP_SIZE_TEXT], available[STP_SIZE_TEXT];
    struct fam_pool pool;
    size_t largest;
    int rc = part_open_pool(&pool, backing);

    if (rc != 0) return rc;
    if ((shape->name == NULL || stp_fam_find_locked(&pool, shape->name) < 0) &&
        stp_fam_find_place_locked(&pool, stp_fam_space_bytes(shape), &largest) == 0) {
        stp_error("fam: the largest free range of %s is %s, but the space needs %u x %s",
                  backing->path, stp_size_exact(largest, available), shape->n_parts,
                  stp_size_exact(shape->nbytes, requested));
        rc = -ENOSPC;
    }
    stp_fam_pool_close(&pool);
    return rc;
}

int stp_fam_check_fits(const struct fam_backing *backing, const struct fam_shape *shape)
{
    int rc = shape->name != NULL ? stp_fam_check_space_name(shape->name) : 0;

    if (rc == 0) rc = part_check_total(shape);
    if (rc != 0) return rc;
    return backing->type == FAM_DIRECTORY ? admit_directory(backing, shape)
                                          : admit_pool(backing, shape);
}

/* ---- properties of an existing space -------------------------------------------------------- */

/*
 * Opens, locks and checks the pool that would contain the named space. If SHMEM_FAM_PATH is a
 * directory, this pool is the space's own file. Otherwise this pool is the file or device in
 * SHMEM_FAM_PATH. Returns 0, or -errno. Returns -ENOENT without logging if the file does not exist
 * or is empty.
 */
static int stat_open(struct fam_pool *pool, const struct fam_backing *backing, const char *path)
{
    size_t size;
    int rc;

    if (backing->type != FAM_DIRECTORY) return part_open_pool(pool, backing);
    if (access(path, F_OK) != 0) return -errno;
    rc = part_lock_file(pool, path, backing->path, false, &size);
    if (rc != 0) return rc;
    rc = size == 0 ? -ENOENT : stp_fam_pool_use_locked(pool, size);
    if (rc != 0) stp_fam_pool_close(pool);
    return rc;
}

int stp_fam_part_stat(const struct fam_backing *backing, const char *name, struct stp_named *named)
{
    char *path = part_path(backing, name);
    struct fam_pool pool = {.fd = -1};
    int rc = path != NULL ? stat_open(&pool, backing, path) : -ENOMEM;

    if (rc == 0) {
        rc = stp_fam_describe_locked(&pool, name, named);
        stp_fam_pool_close(&pool);
    }
    free(path);
    return rc;
}
