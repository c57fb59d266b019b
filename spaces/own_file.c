/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host memory outside the window. A space uses such memory if the window has no room for the space,
 * or if the memory is a buffer that the program has mapped from a file. Each space has its own
 * mapping of this PE's part. A local peer's part is mapped when it is first used. Design:
 * docs/design/memory.md.
 */
#include "spaces/space_registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

unsigned stp_own_file_n;

/*
 * Data by which a peer opens the file of this PE's part. After opening, the peer compares the
 * device and inode numbers, dev and ino, to check that it has opened the right file.
 */
struct file_share {
    int32_t pid, fd;      /* process that has the file open, and its descriptor */
    uint64_t file_offset; /* offset of the part in the file */
    uint64_t dev, ino;
};
_Static_assert(sizeof(struct file_share) <= STP_PART_EXPORT_BYTES,
               "the struct must fit the bytes that PEs exchange");

struct own_file_peer {
    struct file_share share;
    bool known; /* whether share is set */
    char *part; /* address of the peer's part in this process, or NULL if it is not mapped */
};

/* Data of one space outside the window (space->shm_attach). */
struct stp_own_file {
    int fd;               /* descriptor of this PE's file, which peers open through /proc */
    bool own_fd;          /* whether the library closes fd when the space is destroyed */
    bool mapped;          /* whether the library mapped this PE's part and must unmap it */
    int extra_flags;      /* additional mmap() flags */
    const char *path;     /* path by which the files of peers can be opened, or NULL */
    size_t map_bytes;     /* mapped size of a part, including the memory reserved for growth */
    pthread_mutex_t lock; /* guards peers[].part and open_bytes */
    size_t open_bytes;    /* accessible size of a part */
    int n_peers;
    struct own_file_peer peers[]; /* data of each PE of this node, by local index */
};

/* ---- shares of files ---------------------------------------------------------------------- */

static int share_fill(int fd, uint64_t file_offset, struct stp_part_export *share)
{
    struct file_share own_share = {.pid = getpid(), .fd = fd, .file_offset = file_offset};
    struct stat st;

    if (fstat(fd, &st) != 0) return -errno;
    own_share.dev = st.st_dev;
    own_share.ino = st.st_ino;
    memcpy(share->bytes, &own_share, sizeof(own_share));
    share->valid = 1;
    return 0;
}

/*
 * Opens the file of a peer through /proc. If this fails and fallback_path is not NULL, opens
 * fallback_path instead. Returns a descriptor, or -errno without logging. Returns -ESTALE if the
 * opened file is not the peer's file.
 */
static int share_open(const struct file_share *share, const char *fallback_path)
{
    char path[64];
    struct stat st;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)share->pid, (int)share->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 && fallback_path != NULL) fd = open(fallback_path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return -errno;
    if (fstat(fd, &st) == 0 && st.st_dev == share->dev && st.st_ino == share->ino) return fd;
    close(fd);
    return -ESTALE;
}

/* ---- mappings --------------------------------------------------------------------------- */

/*
 * Rounds a size up to whole large pages, so that the last large page of a part contains no other
 * mapping.
 */
static size_t own_file_round_up(size_t nbytes)
{
    return (nbytes + STP_RANGE_ALIGN - 1) & ~(STP_RANGE_ALIGN - 1);
}

/*
 * Maps nbytes bytes of a file. Only the first open_bytes bytes are accessible. The address is a
 * multiple of STP_RANGE_ALIGN. If nbytes is at least STP_WINDOW_ALIGN, the address is a multiple of
 * STP_WINDOW_ALIGN, because programs can request aligned blocks in spaces. An inaccessible large
 * page follows the mapping, so that an access past the end faults. Returns NULL on failure, with
 * the error in errno.
 */
static char *own_file_map(size_t nbytes, size_t open_bytes, int fd, off_t file_offset,
                          int extra_flags)
{
    size_t align = nbytes >= STP_WINDOW_ALIGN ? STP_WINDOW_ALIGN : STP_RANGE_ALIGN;
    size_t padded = own_file_round_up(nbytes) + STP_RANGE_ALIGN, room = padded + align;
    int flags =
        (extra_flags & MAP_SYNC ? MAP_SHARED_VALIDATE : MAP_SHARED) | MAP_FIXED | extra_flags;
    char *reserved =
        mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *base, *end;

    if (reserved == MAP_FAILED) return NULL;
    base = (char *)(((uintptr_t)reserved + align - 1) & ~(align - 1));
    end = base + padded;
    if (base > reserved) munmap(reserved, (size_t)(base - reserved));
    if (end < reserved + room) munmap(end, (size_t)(reserved + room - end));
    if (mmap(base, nbytes, open_bytes < nbytes ? PROT_NONE : PROT_READ | PROT_WRITE,
             flags | MAP_NORESERVE, fd, file_offset) != MAP_FAILED &&
        (open_bytes >= nbytes || mprotect(base, open_bytes, PROT_READ | PROT_WRITE) == 0))
        return base;
    extra_flags = errno;
    munmap(base, padded);
    errno = extra_flags;
    return NULL;
}

static void own_file_unmap(char *base, size_t nbytes)
{
    munmap(base, own_file_round_up(nbytes) + STP_RANGE_ALIGN);
}

/* ---- this PE's part ----------------------------------------------------------------------- */

static struct stp_own_file *own_file_new(int fd, bool own_fd)
{
    int n;
    struct stp_own_file *file =
        stp_kind_alloc_with_peers("a space", sizeof(*file), sizeof(file->peers[0]), &n);

    if (file == NULL) return NULL;
    file->fd = fd;
    file->own_fd = own_fd;
    file->n_peers = n;
    pthread_mutex_init(&file->lock, NULL);
    return file;
}

static void own_file_delete(struct stp_own_file *file)
{
    if (file->own_fd) close(file->fd);
    pthread_mutex_destroy(&file->lock);
    free(file);
}

static void own_file_set(struct stp_space *space, struct stp_own_file *file)
{
    space->shm_attach = file;
    /*
     * No acquire load pairs with the release store of this addition. None is needed, because no
     * operation uses an address of the space until its creation is complete.
     */
    __atomic_fetch_add(&stp_own_file_n, 1, __ATOMIC_RELEASE);
}

int stp_own_file_map_own_part(struct stp_space *space, int fd, off_t file_offset, size_t map_bytes,
                              size_t open_bytes, int extra_flags, struct stp_part_export *share)
{
    struct stp_own_file *file = own_file_new(fd, false);
    int rc;

    if (file == NULL) return -ENOMEM;
    file->map_bytes = map_bytes;
    file->open_bytes = open_bytes;
    file->extra_flags = extra_flags;
    space->base = own_file_map(map_bytes, open_bytes, fd, file_offset, extra_flags);
    rc = space->base != NULL ? share_fill(fd, (uint64_t)file_offset, share) : -errno;
    if (rc == 0) {
        file->mapped = true;
        own_file_set(space, file);
        return 0;
    }
    if (space->base != NULL) own_file_unmap(space->base, map_bytes);
    own_file_delete(file);
    return rc;
}

int stp_own_file_create_memory(struct stp_space *space, struct stp_part_export *share)
{
    int fd = stp_memory_file("steppe-space");
    int rc = fd < 0 ? fd : stp_file_resize(fd, space->nbytes);

    if (rc == 0)
        rc = stp_own_file_map_own_part(space, fd, 0, space->max_bytes, space->nbytes, 0, share);
    if (rc == 0) {
        space->shm_attach->own_fd = true;
        return 0;
    }
    if (fd >= 0) close(fd);
    stp_error("cannot map %zu bytes of shared memory for a space: %s", space->max_bytes,
              stp_errno_text(-rc));
    return rc == -EEXIST ? -EINVAL : rc;
}

void stp_own_file_set_path(struct stp_space *space, const char *path)
{
    space->shm_attach->path = path;
}

int stp_own_file_share_buffer(struct stp_space *space, const struct stp_space_params *params,
                              struct stp_part_export *share)
{
    int fd = fcntl(params->adopt->fd, F_DUPFD_CLOEXEC, 0), rc = fd < 0 ? -errno : 0;
    struct stp_own_file *file = rc == 0 ? own_file_new(fd, true) : NULL;

    if (rc == 0 && file == NULL) {
        close(fd);
        return -ENOMEM;
    }
    if (rc == 0) rc = share_fill(fd, params->adopt->file_offset, share);
    if (rc == 0) {
        file->map_bytes = file->open_bytes = params->nbytes;
        space->base = params->buffer;
        own_file_set(space, file);
        return 0;
    }
    stp_error("descriptor %d cannot be shared with other PEs: %s", params->adopt->fd,
              stp_errno_text(-rc));
    if (file != NULL) own_file_delete(file);
    return rc;
}

void stp_own_file_destroy(struct stp_space *space)
{
    struct stp_own_file *file = space->shm_attach;

    if (file == NULL) return;
    stp_own_file_unmap_peers(space);
    if (file->mapped) own_file_unmap(space->base, file->map_bytes);
    space->shm_attach = NULL;
    __atomic_fetch_sub(&stp_own_file_n, 1, __ATOMIC_RELAXED);
    own_file_delete(file);
}

/* ---- peers -------------------------------------------------------------------------------- */

static void own_file_report_error(const struct file_share *share, int local, int rc)
{
    stp_error("cannot map the memory of the PE with index %d on this node (descriptor %d of "
              "process %d): %s",
              local, (int)share->fd, (int)share->pid, stp_errno_text(-rc));
}

/*
 * Opens the peer's file once and closes it again. An error is thus found during the creation, when
 * all PEs can still agree to fail. The part is mapped when it is first used.
 */
int stp_own_file_peer(struct stp_space *space, int local, const struct stp_part_export *share)
{
    struct own_file_peer *peer = &space->shm_attach->peers[local];
    int fd;

    memcpy(&peer->share, share->bytes, sizeof(peer->share));
    if (local != stp_window_local()) {
        fd = share->valid ? share_open(&peer->share, space->shm_attach->path) : -EINVAL;
        if (fd < 0) {
            own_file_report_error(&peer->share, local, fd);
            return fd;
        }
        close(fd);
    }
    peer->known = true;
    return 0;
}

static char *own_file_map_peer(const struct stp_own_file *file, const struct own_file_peer *peer,
                               int local)
{
    size_t page_offset =
        peer->share.file_offset % STP_RANGE_ALIGN; /* can be nonzero for a program's buffer */
    bool grows = file->open_bytes < file->map_bytes;
    int fd = share_open(&peer->share, file->path), rc = fd;
    char *base = NULL;

    if (fd >= 0) {
        /*
         * Map whole large pages, because hugetlbfs requires this. Pages past the end of the file do
         * no harm, because no PE accesses them.
         */
        base = own_file_map(own_file_round_up(file->map_bytes + page_offset),
                            grows ? file->open_bytes : SIZE_MAX, fd,
                            (off_t)(peer->share.file_offset - page_offset), file->extra_flags);
        rc = base != NULL ? 0 : -errno;
        close(fd);
    }
    if (rc < 0) {
        own_file_report_error(&peer->share, local, rc);
        return NULL;
    }
    madvise(base, file->map_bytes + page_offset, MADV_DONTDUMP);
    return base + page_offset;
}

void *stp_own_file_map_peer(const struct stp_space *space, int local)
{
    struct stp_own_file *file = space->shm_attach;
    struct own_file_peer *peer = &file->peers[local];
    char *part;

    if (local == stp_window_local()) return space->base;
    /* Pairs with the release store below, which another thread may have executed. */
    part = __atomic_load_n(&peer->part, __ATOMIC_ACQUIRE);
    if (STP_LIKELY(part != NULL) || !peer->known) return part;
    pthread_mutex_lock(&file->lock);
    if (peer->part == NULL)
        __atomic_store_n(&peer->part, own_file_map_peer(file, peer, local), __ATOMIC_RELEASE);
    part = peer->part;
    pthread_mutex_unlock(&file->lock);
    return part;
}

/* ---- growth ------------------------------------------------------------------------------- */

/*
 * Sets the protection of the bytes [start, end) in all parts that this PE has mapped. Returns 0 or
 * -errno. Continues after an error if prot is PROT_NONE.
 */
static int own_file_protect_locked(const struct stp_space *space, size_t start, size_t end,
                                   int prot)
{
    const struct stp_own_file *file = space->shm_attach;
    int rc = mprotect(space->base + start, end - start, prot) == 0 ? 0 : -errno;

    for (int i = 0; i < file->n_peers && (rc == 0 || prot == PROT_NONE); i++)
        if (file->peers[i].part != NULL &&
            mprotect(file->peers[i].part + start, end - start, prot) != 0)
            rc = -errno;
    return rc;
}

static void own_file_shrink_locked(struct stp_space *space, size_t old_nbytes, size_t new_nbytes)
{
    struct stp_own_file *file = space->shm_attach;

    (void)own_file_protect_locked(space, new_nbytes, old_nbytes, PROT_NONE);
    (void)stp_file_resize(file->fd, new_nbytes);
    file->open_bytes = new_nbytes;
}

int stp_own_file_grow(struct stp_space *space, size_t new_nbytes)
{
    struct stp_own_file *file = space->shm_attach;
    size_t old_nbytes;
    int rc;

    pthread_mutex_lock(&file->lock);
    old_nbytes = file->open_bytes;
    rc = stp_file_resize(file->fd, new_nbytes);
    if (rc == 0)
        rc = own_file_protect_locked(space, old_nbytes, new_nbytes, PROT_READ | PROT_WRITE);
    if (rc == 0)
        file->open_bytes = new_nbytes;
    else
        own_file_shrink_locked(space, new_nbytes, old_nbytes);
    pthread_mutex_unlock(&file->lock);
    return rc;
}

void stp_own_file_undo_grow(struct stp_space *space, size_t kept_nbytes)
{
    struct stp_own_file *file = space->shm_attach;

    pthread_mutex_lock(&file->lock);
    own_file_shrink_locked(space, file->open_bytes, kept_nbytes);
    pthread_mutex_unlock(&file->lock);
}

bool stp_own_file_holds(const struct stp_space *space, const void *addr, int *local, size_t *offset)
{
    const struct stp_own_file *file = space->shm_attach;

    if (file == NULL || !file->mapped) return false;
    *local = -1;
    *offset = (size_t)((uintptr_t)addr - (uintptr_t)space->base);
    if (*offset < file->map_bytes) return true;
    for (int i = 0; i < file->n_peers; i++) {
        /* Pairs with the release store in stp_own_file_map_peer(). */
        const char *part = __atomic_load_n(&file->peers[i].part, __ATOMIC_ACQUIRE);

        *local = i;
        *offset = (size_t)((uintptr_t)addr - (uintptr_t)part);
        if (part != NULL && *offset < file->map_bytes) return true;
    }
    return false;
}

void stp_own_file_unmap_peers(struct stp_space *space)
{
    struct stp_own_file *file = space->shm_attach;

    for (int i = 0; i < file->n_peers; i++) {
        struct own_file_peer *peer = &file->peers[i];
        size_t page_offset = peer->share.file_offset % STP_RANGE_ALIGN;

        if (peer->part != NULL)
            own_file_unmap(peer->part - page_offset, file->map_bytes + page_offset);
        peer->part = NULL;
        peer->known = false;
    }
}
