/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file manages the superblock, the locks and the memory of a pool. table.c manages the table
 * of the spaces, which is also in the superblock. Design: docs/design/fam.md.
 */
#include "fam.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/*
 * Offsets of the bytes in the file that serve as locks (F_OFD_SETLK of fcntl()). The content of
 * these bytes does not matter. A lock belongs to an open file description. Two spaces of one
 * process therefore count as two users, because each of them has opened the file itself. The kernel
 * releases the locks of a process that ends.
 */
#define LOCK_POOL 0 /* lock of the pool, held exclusively while the superblock changes */
/*
 * Lock of entry 0. All users of the entry share this lock. The lock of entry i is i bytes further.
 */
#define LOCK_ENTRIES 1
/*
 * Lock of the first FAM_ALIGN bytes (unit 0) of the pool. The lock of unit i is i bytes further. A
 * process holds the lock of unit i while it clears the part that begins at unit i.
 */
#define LOCK_PARTS ((off_t)FAM_ALIGN)
/*
 * Longest wait for the lock of the pool in milliseconds. Processes hold this lock only for a short
 * time.
 */
#define LOCK_TIMEOUT_MS 60000
/*
 * Factor by which a wait for the lock of a part may be longer than LOCK_TIMEOUT_MS, because
 * clearing a part takes long.
 */
#define PART_TIMEOUT_FACTOR 30

/* ---- locks ------------------------------------------------------------------- */

static int pool_try_lock(int fd, short type, off_t offset)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};

    return fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : -errno;
}

/* Polls for a lock until a timeout. A blocking call could wait forever for a stopped process. */
static int pool_lock_at(const struct fam_pool *pool, off_t offset, int lock_timeout_ms)
{
    uint64_t end = stp_now_ns() + (uint64_t)lock_timeout_ms * 1000000u;
    struct timespec nap = {0, 50000};
    int rc;

    while ((rc = pool_try_lock(pool->fd, F_WRLCK, offset)) != 0) {
        if (rc == -EINTR) continue;
        if (rc != -EAGAIN && rc != -EACCES) {
            stp_error("fam: cannot lock %s (%s), but jobs that share it must lock it: use a file "
                      "system that supports locks (F_OFD_SETLK)",
                      pool->path, strerror(-rc));
            return rc;
        }
        if (stp_now_ns() > end) {
            stp_error("fam: another process has kept %s locked for %d s: is that process stopped?",
                      pool->path, lock_timeout_ms / 1000);
            return -ETIMEDOUT;
        }
        nanosleep(&nap, NULL);
        if (nap.tv_nsec < 2000000) nap.tv_nsec *= 2;
    }
    return 0;
}

int stp_fam_pool_lock(struct fam_pool *pool)
{
    return pool_lock_at(pool, LOCK_POOL, pool->lock_timeout_ms);
}

void stp_fam_pool_unlock(struct fam_pool *pool)
{
    pool_try_lock(pool->fd, F_UNLCK, LOCK_POOL);
}

bool stp_fam_used_locked(const struct fam_pool *pool, int index)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_ENTRIES + index, .l_len = 1};

    return fcntl(pool->fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

int stp_fam_use_locked(struct fam_pool *pool, int index)
{
    int rc = pool_try_lock(pool->fd, F_RDLCK, LOCK_ENTRIES + index);

    if (rc != 0)
        stp_error("fam: cannot lock a space in %s to mark it as in use: %s", pool->path,
                  strerror(-rc));
    return rc;
}

void stp_fam_unuse_locked(struct fam_pool *pool, int index)
{
    pool_try_lock(pool->fd, F_UNLCK, LOCK_ENTRIES + index);
}

/* ---- opening ------------------------------------------------------------------- */

static int pool_too_small(const struct fam_pool *pool, size_t nbytes, size_t required)
{
    char has_text[STP_SIZE_TEXT], required_text[STP_SIZE_TEXT];

    stp_error("fam: %s %s is too small: it has %s and needs %s",
              pool->device ? "dax device" : "file", pool->path, stp_size_exact(nbytes, has_text),
              stp_size_exact(required, required_text));
    return -ENOSPC;
}

int stp_fam_pool_lock_file(struct fam_pool *pool, int fd, const char *path, const char *fam_path,
                           bool device)
{
    *pool = (struct fam_pool){.fd = fd,
                              .path = path,
                              .fam_path = fam_path,
                              .device = device,
                              .lock_timeout_ms = LOCK_TIMEOUT_MS};
    return stp_fam_pool_lock(pool);
}

static int pool_map_superblock(struct fam_pool *pool, size_t nbytes)
{
    size_t units = nbytes / FAM_ALIGN;
    void *map;

    if (units < 2) return pool_too_small(pool, nbytes, 2 * FAM_ALIGN);
    map = mmap(NULL, FAM_ALIGN, PROT_READ | PROT_WRITE, MAP_SHARED, pool->fd, 0);
    if (map == MAP_FAILED) {
        int rc = -errno;
        stp_error("fam: cannot map %s: %s", pool->path, strerror(-rc));
        return rc;
    }
    pool->super = map;
    pool->nbytes = (units < FAM_UNITS ? units : FAM_UNITS) * FAM_ALIGN;
    return 0;
}

void stp_fam_pool_close(struct fam_pool *pool)
{
    struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

    if (pool->super != NULL) munmap(pool->super, FAM_ALIGN);
    /*
     * Release the locks first. close() does not release them if a forked child has the file open,
     * too.
     */
    fcntl(pool->fd, F_OFD_SETLK, &all);
    close(pool->fd);
}

/* ---- the superblock -------------------------------------------------------------- */

/*
 * Reads bytes of a superblock. The superblock of a new file may be a hole without memory. For files
 * the function uses pread(), because a load from a mapping would allocate memory for the hole. On a
 * full tmpfs such a load would end the process with SIGBUS.
 */
static int pool_peek(const struct fam_pool *pool, size_t offset, void *bytes, size_t nbytes)
{
    if (pool->device) {
        memcpy(bytes, (const char *)pool->super + offset, nbytes);
        return 0;
    }
    return pread(pool->fd, bytes, nbytes, (off_t)offset) == (ssize_t)nbytes ? 0 : -EIO;
}

/*
 * Sets *empty to true if the magic number and all entries are 0. A new pool may then be written.
 * Other fields may be nonzero, because the magic number is written last, and a process may have
 * been killed before that. Returns 0. Returns -errno after logging an error if the file cannot be
 * read, or if it is neither empty nor a pool.
 */
static int pool_read_magic(const struct fam_pool *pool, bool *empty)
{
    const size_t first = offsetof(struct fam_super, entries);
    uint64_t magic = 0, words[512];
    int rc = pool_peek(pool, offsetof(struct fam_super, magic), &magic, sizeof(magic));

    *empty = rc == 0 && magic == 0;
    for (size_t offset = first; offset < FAM_ALIGN && *empty && rc == 0; offset += sizeof(words)) {
        size_t len = FAM_ALIGN - offset < sizeof(words) ? FAM_ALIGN - offset : sizeof(words);
        rc = pool_peek(pool, offset, words, len);
        for (size_t i = 0; i < len / sizeof(*words) && rc == 0; i++)
            if (words[i] != 0) *empty = false;
    }
    if (rc != 0) {
        stp_error("fam: cannot read %s: %s", pool->path, strerror(-rc));
    } else if (!*empty && magic != FAM_MAGIC) {
        stp_error("fam: %s is not empty and contains no FAM pool: use another path, or overwrite "
                  "its first 2 MiB with zeros if you do not need its content",
                  pool->path);
        rc = -EINVAL;
    }
    return rc;
}

static void pool_format_locked(struct fam_pool *pool)
{
    struct fam_super *super = pool->super;

    super->version = FAM_VERSION;
    super->n_entries = 0;
    super->nbytes = pool->nbytes;
    stp_fam_superblock_persist(pool);
    /*
     * Store the magic number last. After a crash, no process may find it without the fields above.
     */
    __atomic_store_n(&super->magic, FAM_MAGIC, __ATOMIC_RELEASE);
}

static int pool_check_head_locked(const struct fam_pool *pool)
{
    const struct fam_super *super = pool->super;

    if (super->version != FAM_VERSION) {
        stp_error("fam: the pool in %s has format %u, but this library supports only format %u",
                  pool->path, super->version, FAM_VERSION);
        return -EINVAL;
    }
    if (super->nbytes > pool->nbytes) return pool_too_small(pool, pool->nbytes, super->nbytes);
    if (super->n_entries > FAM_ENTRIES || super->nbytes < FAM_ALIGN) {
        stp_error("fam: the pool in %s is damaged, because its header says that it has %u spaces "
                  "in %llu bytes: overwrite its first 2 MiB with zeros to discard all its spaces",
                  pool->path, super->n_entries, (unsigned long long)super->nbytes);
        return -EUCLEAN;
    }
    return stp_fam_table_check_locked(pool);
}

int stp_fam_pool_use_locked(struct fam_pool *pool, size_t nbytes)
{
    bool empty;
    int rc = pool_map_superblock(pool, nbytes);

    if (rc == 0) rc = pool_read_magic(pool, &empty);
    if (rc != 0) return rc;
    /*
     * Allocate memory first, because a store to a hole of the file may fail. A new file or a copy
     * of a pool may have holes.
     */
    rc = pool->device ? 0 : stp_fam_allocate(pool->fd, 0, FAM_ALIGN);
    if (rc != 0) {
        stp_error("fam: cannot allocate the first 2 MiB of %s: %s", pool->path,
                  stp_errno_text(-rc));
        return rc;
    }
    if (!empty && (rc = pool_check_head_locked(pool)) != 0) return rc;
    if (empty) pool_format_locked(pool);
    pool->super->nbytes = pool->nbytes; /* the user may have extended the file */
    stp_fam_reclaim_locked(pool);
    return 0;
}

void stp_fam_superblock_persist(struct fam_pool *pool)
{
    int rc = stp_fam_flush(pool->super, FAM_ALIGN, pool->device);

    if (rc != 0)
        stp_warn("fam: changes to the table of spaces in %s may be lost after a crash: %s",
                 pool->path, strerror(-rc));
}

/* ---- memory ------------------------------------------------------------------------ */

int stp_fam_allocate(int fd, off_t offset, size_t nbytes)
{
    struct stp_sigxfsz growth;
    int rc;

    stp_sigxfsz_block(&growth);
    do
        rc = fallocate(fd, 0, offset, (off_t)nbytes);
    while (rc != 0 && errno == EINTR);
    stp_sigxfsz_unblock(&growth);
    return rc == 0 || errno == EOPNOTSUPP ? 0 : -errno;
}

int stp_fam_punch(const struct fam_pool *pool, size_t offset, size_t nbytes)
{
    int rc;

    if (pool->device) return -EOPNOTSUPP;
    rc = fallocate(pool->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                   (off_t)nbytes);
    return rc == 0 ? 0 : -errno;
}

/*
 * Maps and clears one piece at a time, because the whole range may not fit into the free address
 * space.
 */
static int pool_clear(const struct fam_pool *pool, size_t offset, size_t nbytes)
{
    const size_t piece = (size_t)256 << 20;

    for (size_t cleared = 0; cleared < nbytes; cleared += piece) {
        size_t len = nbytes - cleared < piece ? nbytes - cleared : piece;
        char *map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, pool->fd,
                         (off_t)(offset + cleared));
        if (map == MAP_FAILED) return -errno;
        memset(map, 0, len);
        /* The zeros must be durable before the ready bit of the part is set. */
        if (pool->device) stp_fam_flush(map, len, true);
        munmap(map, len);
    }
    return 0;
}

static int pool_prepare_locked(struct fam_pool *pool, size_t offset, size_t nbytes, bool clear)
{
    uint8_t *ready = &pool->super->ready[offset / FAM_ALIGN / 8];
    uint8_t bit = (uint8_t)(1u << (offset / FAM_ALIGN % 8));
    /*
     * Pairs with the release operation below. A process that sees the ready bit also sees the zeros
     * that were written to the memory.
     */
    bool dirty = !(__atomic_load_n(ready, __ATOMIC_ACQUIRE) & bit);
    bool punched = dirty && stp_fam_punch(pool, offset, nbytes) == 0;
    int rc = pool->device ? 0 : stp_fam_allocate(pool->fd, (off_t)offset, nbytes);

    if (rc != 0) return rc;
    if (dirty && !punched && (clear || !pool->device)) rc = pool_clear(pool, offset, nbytes);
    if (rc == 0) __atomic_fetch_or(ready, bit, __ATOMIC_RELEASE);
    return rc;
}

int stp_fam_prepare(struct fam_pool *pool, size_t offset, size_t nbytes, bool clear)
{
    off_t lock = LOCK_PARTS + (off_t)(offset / FAM_ALIGN);
    char text[STP_SIZE_TEXT];
    int rc = pool_lock_at(pool, lock, pool->lock_timeout_ms * PART_TIMEOUT_FACTOR);

    if (rc != 0) return rc;
    rc = pool_prepare_locked(pool, offset, nbytes, clear);
    pool_try_lock(pool->fd, F_UNLCK, lock);
    if (rc != 0)
        stp_error("fam: cannot allocate %s for a space in %s: %s", stp_size_exact(nbytes, text),
                  pool->path, stp_errno_text(-rc));
    return rc;
}
