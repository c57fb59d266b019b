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
    int32_t pid, fd; /* process that has the file open, and its descriptor */
    uint64_t at;     /* offset of the part in the file */
    uint64_t dev, ino;
};
_Static_assert(sizeof(struct file_share) <= STP_PART_EXPORT_BYTES,
               "the struct must fit the bytes that PEs exchange");

struct outside_peer {
    struct file_share share;
    bool known; /* whether share is set */
    char *part; /* address of the peer's part in this process, or NULL if it is not mapped */
};

/* Data of one space outside the window (space->shm_attach). */
struct stp_own_file {
    int fd;               /* descriptor of this PE's file, which peers open through /proc */
    bool own_fd;          /* whether the library closes fd when the space is destroyed */
    bool mapped;          /* whether the library mapped this PE's part and must unmap it */
    int extra;            /* additional mmap() flags */
    const char *path;     /* path by which the files of peers can be opened, or NULL */
    size_t map_bytes;     /* mapped size of a part, including the memory reserved for growth */
    pthread_mutex_t lock; /* guards peers[].part and open_bytes */
    size_t open_bytes;    /* accessible size of a part */
    int n_peers;
    struct outside_peer peers[]; /* data of each PE of this node, by local index */
};

/* ---- shares of files ---------------------------------------------------------------------- */

static int share_fill(int fd, uint64_t at, struct stp_part_export *share)
{
    struct file_share mine = {.pid = getpid(), .fd = fd, .at = at};
    struct stat st;

    if (fstat(fd, &st) != 0) return -errno;
    mine.dev = st.st_dev;
    mine.ino = st.st_ino;
    memcpy(share->bytes, &mine, sizeof(mine));
    share->valid = 1;
    return 0;
}

/*
 * Opens the file of a peer through /proc. If this fails, opens the second path of the file. This
 * path is the argument otherwise, which can be NULL. Returns a descriptor, or -errno without
 * logging. Returns -ESTALE if the opened file is not the peer's file.
 */
static int share_open(const struct file_share *share, const char *otherwise)
{
    char path[64];
    struct stat st;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)share->pid, (int)share->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 && otherwise != NULL) fd = open(otherwise, O_RDWR | O_CLOEXEC);
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
static size_t outside_whole(size_t nbytes)
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
static char *outside_map(size_t nbytes, size_t open_bytes, int fd, off_t at, int extra)
{
    size_t align = nbytes >= STP_WINDOW_ALIGN ? STP_WINDOW_ALIGN : STP_RANGE_ALIGN;
    size_t whole = outside_whole(nbytes) + STP_RANGE_ALIGN, room = whole + align;
    int flags = (extra & MAP_SYNC ? MAP_SHARED_VALIDATE : MAP_SHARED) | MAP_FIXED | extra;
    char *all = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *base, *end;

    if (all == MAP_FAILED) return NULL;
    base = (char *)(((uintptr_t)all + align - 1) & ~(align - 1));
    end = base + whole;
    if (base > all) munmap(all, (size_t)(base - all));
    if (end < all + room) munmap(end, (size_t)(all + room - end));
    if (mmap(base, nbytes, open_bytes < nbytes ? PROT_NONE : PROT_READ | PROT_WRITE,
             flags | MAP_NORESERVE, fd, at) != MAP_FAILED &&
        (open_bytes >= nbytes || mprotect(base, open_bytes, PROT_READ | PROT_WRITE) == 0))
        return base;
    extra = errno;
    munmap(base, whole);
    errno = extra;
    return NULL;
}

static void outside_unmap(char *base, size_t nbytes)
{
    munmap(base, outside_whole(nbytes) + STP_RANGE_ALIGN);
}

/* ---- this PE's part ----------------------------------------------------------------------- */

static struct stp_own_file *outside_new(int fd, bool own_fd)
{
    int n;
    struct stp_own_file *outside =
        stp_kind_alloc_with_peers("a space", sizeof(*outside), sizeof(outside->peers[0]), &n);

    if (outside == NULL) return NULL;
    outside->fd = fd;
    outside->own_fd = own_fd;
    outside->n_peers = n;
    pthread_mutex_init(&outside->lock, NULL);
    return outside;
}

static void outside_delete(struct stp_own_file *outside)
{
    if (outside->own_fd) close(outside->fd);
    pthread_mutex_destroy(&outside->lock);
    free(outside);
}

static void outside_use(struct stp_space *space, struct stp_own_file *outside)
{
    space->shm_attach = outside;
    /*
     * No acquire load pairs with the release store of this addition. None is needed, because no
     * operation uses an address of the space until its creation is complete.
     */
    __atomic_fetch_add(&stp_own_file_n, 1, __ATOMIC_RELEASE);
}

int stp_own_file_map_own_part(struct stp_space *space, int fd, off_t at, size_t map_bytes,
                              size_t open_bytes, int extra, struct stp_part_export *share)
{
    struct stp_own_file *outside = outside_new(fd, false);
    int rc;

    if (outside == NULL) return -ENOMEM;
    outside->map_bytes = map_bytes;
    outside->open_bytes = open_bytes;
    outside->extra = extra;
    space->base = outside_map(map_bytes, open_bytes, fd, at, extra);
    rc = space->base != NULL ? share_fill(fd, (uint64_t)at, share) : -errno;
    if (rc == 0) {
        outside->mapped = true;
        outside_use(space, outside);
        return 0;
    }
    if (space->base != NULL) outside_unmap(space->base, map_bytes);
    outside_delete(outside);
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
    struct stp_own_file *outside = rc == 0 ? outside_new(fd, true) : NULL;

    if (rc == 0 && outside == NULL) {
        close(fd);
        return -ENOMEM;
    }
    if (rc == 0) rc = share_fill(fd, params->adopt->at, share);
    if (rc == 0) {
        outside->map_bytes = outside->open_bytes = params->nbytes;
        space->base = params->buffer;
        outside_use(space, outside);
        return 0;
    }
    stp_error("descriptor %d cannot be shared with other PEs: %s", params->adopt->fd,
              stp_errno_text(-rc));
    if (outside != NULL) outside_delete(outside);
    return rc;
}

void stp_own_file_destroy(struct stp_space *space)
{
    struct stp_own_file *outside = space->shm_attach;

    if (outside == NULL) return;
    stp_own_file_unmap_peers(space);
    if (outside->mapped) outside_unmap(space->base, outside->map_bytes);
    space->shm_attach = NULL;
    __atomic_fetch_sub(&stp_own_file_n, 1, __ATOMIC_RELAXED);
    outside_delete(outside);
}

/* ---- peers -------------------------------------------------------------------------------- */

static void outside_tell(const struct file_share *share, int local, int rc)
{
    stp_error("cannot map the memory of local PE %d of this node (descriptor %d of process %d): %s",
              local, (int)share->fd, (int)share->pid, stp_errno_text(-rc));
}

/*
 * Opens the peer's file once and closes it again. An error is thus found during the creation, when
 * all PEs can still agree to fail. The part is mapped when it is first used.
 */
int stp_own_file_peer(struct stp_space *space, int local, const struct stp_part_export *share)
{
    struct outside_peer *peer = &space->shm_attach->peers[local];
    int fd;

    memcpy(&peer->share, share->bytes, sizeof(peer->share));
    if (local != stp_window_local()) {
        fd = share->valid ? share_open(&peer->share, space->shm_attach->path) : -EINVAL;
        if (fd < 0) {
            outside_tell(&peer->share, local, fd);
            return fd;
        }
        close(fd);
    }
    peer->known = true;
    return 0;
}

static char *outside_map_peer(const struct stp_own_file *outside, const struct outside_peer *peer,
                              int local)
{
    size_t into = peer->share.at % STP_RANGE_ALIGN; /* can be nonzero for a program's buffer */
    bool grows = outside->open_bytes < outside->map_bytes;
    int fd = share_open(&peer->share, outside->path), rc = fd;
    char *base = NULL;

    if (fd >= 0) {
        /*
         * Map whole large pages, because hugetlbfs requires this. Pages past the end of the file do
         * no harm, because no PE accesses them.
         */
        base = outside_map(outside_whole(outside->map_bytes + into),
                           grows ? outside->open_bytes : SIZE_MAX, fd,
                           (off_t)(peer->share.at - into), outside->extra);
        rc = base != NULL ? 0 : -errno;
        close(fd);
    }
    if (rc < 0) {
        outside_tell(&peer->share, local, rc);
        return NULL;
    }
    madvise(base, outside->map_bytes + into, MADV_DONTDUMP);
    return base + into;
}

void *stp_own_file_map_peer(const struct stp_space *space, int local)
{
    struct stp_own_file *outside = space->shm_attach;
    struct outside_peer *peer = &outside->peers[local];
    char *part;

    if (local == stp_window_local()) return space->base;
    /* Pairs with the release store below, which another thread may have executed. */
    part = __atomic_load_n(&peer->part, __ATOMIC_ACQUIRE);
    if (STP_LIKELY(part != NULL) || !peer->known) return part;
    pthread_mutex_lock(&outside->lock);
    if (peer->part == NULL)
        __atomic_store_n(&peer->part, outside_map_peer(outside, peer, local), __ATOMIC_RELEASE);
    part = peer->part;
    pthread_mutex_unlock(&outside->lock);
    return part;
}

/* ---- growth ------------------------------------------------------------------------------- */

/*
 * Sets the protection of the bytes [from, to) in all parts that this PE has mapped. Returns 0 or
 * -errno. Continues after an error if prot is PROT_NONE.
 */
static int outside_protect_locked(const struct stp_space *space, size_t from, size_t to, int prot)
{
    const struct stp_own_file *outside = space->shm_attach;
    int rc = mprotect(space->base + from, to - from, prot) == 0 ? 0 : -errno;

    for (int i = 0; i < outside->n_peers && (rc == 0 || prot == PROT_NONE); i++)
        if (outside->peers[i].part != NULL &&
            mprotect(outside->peers[i].part + from, to - from, prot) != 0)
            rc = -errno;
    return rc;
}

static void outside_shrink_locked(struct stp_space *space, size_t from, size_t to)
{
    struct stp_own_file *outside = space->shm_attach;

    (void)outside_protect_locked(space, to, from, PROT_NONE);
    (void)stp_file_resize(outside->fd, to);
    outside->open_bytes = to;
}

int stp_own_file_grow(struct stp_space *space, size_t new_nbytes)
{
    struct stp_own_file *outside = space->shm_attach;
    size_t had;
    int rc;

    pthread_mutex_lock(&outside->lock);
    had = outside->open_bytes;
    rc = stp_file_resize(outside->fd, new_nbytes);
    if (rc == 0) rc = outside_protect_locked(space, had, new_nbytes, PROT_READ | PROT_WRITE);
    if (rc == 0)
        outside->open_bytes = new_nbytes;
    else
        outside_shrink_locked(space, new_nbytes, had);
    pthread_mutex_unlock(&outside->lock);
    return rc;
}

void stp_own_file_undo_grow(struct stp_space *space, size_t kept_nbytes)
{
    struct stp_own_file *outside = space->shm_attach;

    pthread_mutex_lock(&outside->lock);
    outside_shrink_locked(space, outside->open_bytes, kept_nbytes);
    pthread_mutex_unlock(&outside->lock);
}

bool stp_own_file_holds(const struct stp_space *space, const void *addr, int *local, size_t *offset)
{
    const struct stp_own_file *outside = space->shm_attach;

    if (outside == NULL || !outside->mapped) return false;
    *local = -1;
    *offset = (size_t)((uintptr_t)addr - (uintptr_t)space->base);
    if (*offset < outside->map_bytes) return true;
    for (int i = 0; i < outside->n_peers; i++) {
        /* Pairs with the release store in stp_own_file_map_peer(). */
        const char *part = __atomic_load_n(&outside->peers[i].part, __ATOMIC_ACQUIRE);

        *local = i;
        *offset = (size_t)((uintptr_t)addr - (uintptr_t)part);
        if (part != NULL && *offset < outside->map_bytes) return true;
    }
    return false;
}

void stp_own_file_unmap_peers(struct stp_space *space)
{
    struct stp_own_file *outside = space->shm_attach;

    for (int i = 0; i < outside->n_peers; i++) {
        struct outside_peer *peer = &outside->peers[i];
        size_t into = peer->share.at % STP_RANGE_ALIGN;

        if (peer->part != NULL) outside_unmap(peer->part - into, outside->map_bytes + into);
        peer->part = NULL;
        peer->known = false;
    }
}
