/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fork handlers that give a child process its own copy of the data segment. The copy has the
 * contents and the page protections that the segment had when fork() was called. Design:
 * docs/design/memory.md.
 */
#include "spaces/data_segment_private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Initial size, in bytes, of the table of pieces, which grows on demand. */
#define FORK_TABLE ((size_t)16 << 10)

/* Adjacent pages of the segment that have the same protection. */
struct fork_piece {
    char *base;
    size_t nbytes;
    size_t file_offset; /* offset of the piece in the memfd */
    int prot;
};

/*
 * State of the fork handlers. The state is in private memory from mmap(), so that parent and child
 * have separate copies. A variable of the library would not be sufficient. If the library is linked
 * statically, its variables are in the data segment, which the child shares with its parent until
 * fork_child() has run.
 */
static struct fork_state {
    /* Held from fork_prepare() until fork_end(), because two threads can fork at the same time. */
    pthread_mutex_t lock;
    /* Copy of the segment, from fork_prepare() until fork_end(). */
    char *copy;
    /*
     * Table of the pieces of the segment. The table is allocated by mmap(), because another thread
     * can hold a lock of malloc() during fork().
     */
    struct fork_piece *pieces;
    size_t n_pieces;
    size_t table_bytes;
    struct stat file;
} * forking;

/*
 * Copies the contents of the memfd to a buffer. Reads the file instead of the segment, because the
 * program can have made pages of the segment unreadable. The calls of lseek() do not affect peers,
 * because each peer opens the file itself and has its own file position. Returns false on failure.
 */
static bool fork_copy_data(char *dest)
{
    off_t end = (off_t)stp_data_segment.nbytes, offset = 0;

    while (offset < end && (offset = lseek(stp_data_segment.fd, offset, SEEK_DATA)) >= 0) {
        off_t hole_start = lseek(stp_data_segment.fd, offset, SEEK_HOLE);

        if (hole_start < 0 || hole_start > end) hole_start = end;
        while (offset < hole_start) {
            ssize_t n =
                pread(stp_data_segment.fd, dest + offset, (size_t)(hole_start - offset), offset);

            if (n <= 0 && errno != EINTR) return false;
            if (n > 0) offset += n;
        }
    }
    return true;
}

static void fork_add_piece(const struct fork_piece *piece)
{
    if ((forking->n_pieces + 1) * sizeof(*piece) > forking->table_bytes) {
        void *table =
            mremap(forking->pieces, forking->table_bytes, 2 * forking->table_bytes, MREMAP_MAYMOVE);

        if (table == MAP_FAILED)
            stp_fatal(
                "fork",
                "out of memory: cannot extend the list of %zu mappings of globals and statics",
                forking->n_pieces);
        forking->pieces = table;
        forking->table_bytes *= 2;
    }
    forking->pieces[forking->n_pieces++] = *piece;
}

/*
 * Adds pages of a mapping to the table of pieces if the pages still belong to the segment. If the
 * program has mapped other memory over its globals, the child keeps that mapping. Returns false,
 * which ends the iteration, if the mapping is after the last part of the segment.
 */
static bool fork_add_mapping(const struct stp_mapping *mapping, void *arg)
{
    const struct stp_data_segment_part *last =
        &stp_data_segment.parts[stp_data_segment.n_parts - 1];

    (void)arg;
    if (mapping->start >= (uintptr_t)last->base + last->nbytes) return false;
    if (mapping->ino != forking->file.st_ino || mapping->dev != forking->file.st_dev) return true;
    for (unsigned i = 0; i < stp_data_segment.n_parts; i++) {
        const struct stp_data_segment_part *part = &stp_data_segment.parts[i];
        uintptr_t start = (uintptr_t)part->base, end = start + part->nbytes;

        if (mapping->start >= end || mapping->end <= start) continue;
        if (mapping->start > start) start = mapping->start;
        if (mapping->end < end) end = mapping->end;
        fork_add_piece(
            &(struct fork_piece){.base = (char *)start,
                                 .nbytes = end - start,
                                 .file_offset = mapping->file_offset + (start - mapping->start),
                                 .prot = mapping->prot});
    }
    return true;
}

static void *fork_map(size_t nbytes)
{
    void *map = mmap(NULL, nbytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (map == MAP_FAILED)
        stp_fatal("fork",
                  "out of memory: cannot copy the %zu bytes of globals and statics for the child",
                  stp_data_segment.nbytes);
    return map;
}

static void fork_prepare(void)
{
    pthread_mutex_lock(&forking->lock);
    forking->copy = fork_map(stp_data_segment.nbytes);
    forking->table_bytes = FORK_TABLE;
    forking->pieces = fork_map(forking->table_bytes);
    forking->n_pieces = 0;
    if (fstat(stp_data_segment.fd, &forking->file) != 0 || !fork_copy_data(forking->copy) ||
        !stp_proc_maps_foreach(fork_add_mapping, NULL))
        stp_fatal("fork", "cannot copy the globals and statics for the child: %s",
                  stp_errno_text(errno));
}

static void fork_end(void)
{
    /*
     * In the parent, this call unmaps the whole copy. In the child, fork_child() has moved all
     * pieces out of the copy, and this call unmaps the rest.
     */
    munmap(forking->copy, stp_data_segment.nbytes);
    munmap(forking->pieces, forking->table_bytes);
    forking->copy = NULL;
    forking->pieces = NULL;
    pthread_mutex_unlock(&forking->lock);
}

/*
 * Moves the pages of the copy over the segment. A private mapping of the memfd cannot be used
 * instead, because the child would see later writes of the parent.
 */
static void fork_child(void)
{
    for (size_t i = 0; i < forking->n_pieces; i++) {
        const struct fork_piece *piece = &forking->pieces[i];
        char *copy = forking->copy + piece->file_offset;

        if (mprotect(copy, piece->nbytes, piece->prot) != 0 ||
            mremap(copy, piece->nbytes, piece->nbytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                   piece->base) == MAP_FAILED)
            abort();
    }
    fork_end();
}

bool stp_data_segment_copy_on_fork(void)
{
    forking =
        mmap(NULL, sizeof(*forking), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (forking == MAP_FAILED) return false;
    pthread_mutex_init(&forking->lock, NULL);
    return pthread_atfork(fork_prepare, fork_end, fork_child) == 0;
}
