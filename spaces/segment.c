/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data segment: globals and statics of the executable, moved in place onto a memfd
 * before main, so that peers of the node load and store them too. Also the fork handlers
 * that give a child its own copy, as of the moment of the fork. Design: docs/design/memory.md.
 */
#include "spaces/spaces.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define SEGMENT_MAX_LOCAL 4096 /* peers whose segments one PE can have mapped */

struct stp_segment stp_segment = {.fd = -1, .why_not = "no writable segment found"};

static struct {
    char *file_end;  /* pages below it may come from the executable without having been touched */
    pthread_mutex_t forking; /* held from the prepare handler to the parent's or child's */
    char *fork_copy; /* private copy between the prepare and the parent or child handler */
    size_t page;
    pthread_mutex_t lock; /* guards mapping of peers */
    /* where the segment of each local peer is mapped; set once, read without the lock */
    char *_Atomic peers[SEGMENT_MAX_LOCAL];
} segment = {.forking = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- finding it ----------------------------------------------------------- */

static uint64_t segment_hash(uint64_t hash, const void *data, size_t nbytes)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < nbytes; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

/*
 * The executable comes first in the list. Its data segment is the last writable PT_LOAD, less
 * the pages that are read-only after relocation. Layout: all program headers and notes (build id).
 */
static int segment_find(struct dl_phdr_info *info, size_t size, void *arg)
{
    uintptr_t start = 0, end = 0, file_end = 0, relro_end = 0;
    uint64_t hash = 0xcbf29ce484222325u;

    (void)size;
    (void)arg;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + ph->p_vaddr;

        hash = segment_hash(hash, ph, sizeof *ph);
        if (ph->p_type == PT_NOTE) hash = segment_hash(hash, (void *)at, ph->p_memsz);
        if (ph->p_type == PT_GNU_RELRO) relro_end = at + ph->p_memsz;
        if (ph->p_type == PT_LOAD && (ph->p_flags & PF_W)) {
            start = at;
            end = at + ph->p_memsz;
            file_end = at + ph->p_filesz;
        }
    }
    if (end == 0) return 1;
    if (relro_end > start) start = relro_end;
    start &= ~(uintptr_t)(segment.page - 1);
    end = (end + segment.page - 1) & ~(uintptr_t)(segment.page - 1);
    stp_segment.base = (char *)start;
    stp_segment.nbytes = end - start;
    stp_segment.layout = hash;
    segment.file_end = (char *)((file_end + segment.page - 1) & ~(uintptr_t)(segment.page - 1));
    return 1;
}

/* ---- moving it ------------------------------------------------------------ */

/*
 * Copy a page. A raw loop: a sanitizer's memcpy would trap on the red zones between globals.
 */
__attribute__((no_sanitize("address", "thread", "undefined"))) static bool segment_copy_page(char *to, const char *from, size_t page)
{
    const volatile uint64_t *source = (const volatile uint64_t *)from;
    volatile uint64_t *dest = (volatile uint64_t *)to;
    uint64_t any = 0;

    for (size_t i = 0; i < page / sizeof *source; i++) any |= source[i];
    if (any == 0) return false; /* a hole reads as zeros and takes no memory */
    for (size_t i = 0; i < page / sizeof *source; i++) dest[i] = source[i];
    return true;
}

/*
 * Which pages of the bss hold something: gigabytes must not be read page by page. Fills present
 * with one entry a page; false when the kernel does not tell. Says nothing of pages that come
 * from a file: those need not be present to hold something.
 */
static bool segment_pages_present(int pagemap, size_t first, uint64_t *present, size_t n)
{
    size_t index = (uintptr_t)stp_segment.base / segment.page + first;
    ssize_t want = (ssize_t)(n * sizeof *present);

    if (pagemap < 0) return false;
    return pread(pagemap, present, (size_t)want, (off_t)(index * sizeof *present)) == want;
}

/* Before the segment is shared. */
static void segment_copy_private(char *to)
{
    enum { CHUNK = 512 };
    uint64_t present[CHUNK];
    size_t n_pages = stp_segment.nbytes / segment.page;
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

    for (size_t first = 0; first < n_pages; first += CHUNK) {
        size_t n = n_pages - first < CHUNK ? n_pages - first : CHUNK;
        bool known = segment_pages_present(pagemap, first, present, n);

        for (size_t i = 0; i < n; i++) {
            size_t at = (first + i) * segment.page;
            char *from = stp_segment.base + at;
            if (from < segment.file_end || !known || present[i] != 0)
                segment_copy_page(to + at, from, segment.page);
        }
    }
    if (pagemap >= 0) close(pagemap);
}

/*
 * Once it is shared: what the memfd holds, whoever wrote it. The descriptor's position is ours
 * alone, since peers open the file anew.
 */
static void segment_copy_shared(char *to)
{
    off_t end = (off_t)stp_segment.nbytes, from = 0;

    while (from < end && (from = lseek(stp_segment.fd, from, SEEK_DATA)) >= 0) {
        off_t hole = lseek(stp_segment.fd, from, SEEK_HOLE);
        from &= ~(off_t)(segment.page - 1);
        if (hole < 0 || hole > end) hole = end;
        for (; from < hole; from += (off_t)segment.page)
            segment_copy_page(to + from, stp_segment.base + from, segment.page);
    }
}

static size_t segment_count_tasks(void)
{
    DIR *dir = opendir("/proc/self/task");
    size_t n = 0;

    if (dir == NULL) return 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

/* Put the memfd in the place of the private pages. Nothing may write the segment meanwhile. */
static const char *segment_share(void)
{
    int prot = PROT_READ | PROT_WRITE;
    const char *why = NULL;
    void *copy;
    int fd = memfd_create("steppe-data", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

    if (fd < 0) fd = memfd_create("steppe-data", MFD_CLOEXEC);
    if (fd < 0) return "memfd_create failed";
    if (ftruncate(fd, (off_t)stp_segment.nbytes) != 0) {
        why = "cannot size its memfd";
        goto err;
    }
    copy = mmap(NULL, stp_segment.nbytes, prot, MAP_SHARED, fd, 0);
    if (copy == MAP_FAILED) {
        why = "cannot map its memfd";
        goto err;
    }
    segment_copy_private(copy);
    if (mmap(stp_segment.base, stp_segment.nbytes, prot, MAP_SHARED | MAP_FIXED, fd, 0) ==
        MAP_FAILED)
        why = "cannot map its memfd in place";
    munmap(copy, stp_segment.nbytes);
    if (why != NULL) goto err;
    stp_segment.fd = fd;
    return NULL;

err:
    close(fd);
    return why;
}

/* ---- fork ------------------------------------------------------------------ */

static void segment_fork_prepare(void)
{
    void *copy;

    pthread_mutex_lock(&segment.forking); /* two threads may fork at once */
    copy = mmap(NULL, stp_segment.nbytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (copy == MAP_FAILED)
        stp_fatal("fork", "no memory for a copy of the %zu bytes of globals and statics",
                  stp_segment.nbytes);
    segment_copy_shared(copy);
    segment.fork_copy = copy;
}

static void segment_fork_parent(void)
{
    munmap(segment.fork_copy, stp_segment.nbytes);
    segment.fork_copy = NULL;
    pthread_mutex_unlock(&segment.forking);
}

/* A MAP_PRIVATE mapping of the same file would still show the parent's later writes. */
static void segment_fork_child(void)
{
    size_t nbytes = stp_segment.nbytes;

    if (mremap(segment.fork_copy, nbytes, nbytes, MREMAP_MAYMOVE | MREMAP_FIXED,
               stp_segment.base) == MAP_FAILED)
        abort();
    segment.fork_copy = NULL;
    pthread_mutex_unlock(&segment.forking);
}

/* Before main and before any other thread: see the task count. */
__attribute__((constructor)) static void segment_init(void)
{
    segment.page = getauxval(AT_PAGESZ);
    dl_iterate_phdr(segment_find, NULL);
    if (stp_segment.nbytes == 0) return;
    if (segment_count_tasks() != 1) {
        stp_segment.why_not = "the library was loaded when the process had other threads";
        return;
    }
    if (pthread_atfork(segment_fork_prepare, segment_fork_parent, segment_fork_child) != 0) {
        stp_segment.why_not = "no memory for the fork handlers";
        return;
    }
    stp_segment.why_not = segment_share();
    if (stp_segment.why_not != NULL) stp_segment.fd = -1;
}

/* ---- peers ----------------------------------------------------------------- */

static char *segment_map_peer(int local, pid_t pid, int fd)
{
    size_t room = ((size_t)1 << stp_win.shift) - stp_window_capacity();
    char *part = stp_win.view + ((size_t)(local + 1) << stp_win.shift) - room;
    char path[64];
    int peer_fd;
    void *got;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    peer_fd = open(path, O_RDWR | O_CLOEXEC);
    if (peer_fd < 0) {
        stp_error("cannot open the globals of process %d: %s: %s", (int)pid, path,
                  strerror(errno));
        return NULL;
    }
    got = mmap(part, stp_segment.nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, peer_fd,
               0);
    close(peer_fd);
    if (got != MAP_FAILED) return got;
    stp_error("cannot map the globals of process %d: %s", (int)pid, strerror(errno));
    return NULL;
}

void *stp_segment_reach(int local, pid_t pid, int fd, size_t offset)
{
    char *part;

    if (local >= SEGMENT_MAX_LOCAL) return NULL;
    part = atomic_load_explicit(&segment.peers[local], memory_order_acquire);
    if (STP_UNLIKELY(part == NULL)) {
        pthread_mutex_lock(&segment.lock);
        part = atomic_load_explicit(&segment.peers[local], memory_order_relaxed);
        if (part == NULL) part = segment_map_peer(local, pid, fd);
        atomic_store_explicit(&segment.peers[local], part, memory_order_release);
        pthread_mutex_unlock(&segment.lock);
    }
    return part != NULL ? part + offset : NULL;
}

void stp_segment_forget_peers(void)
{
    memset((void *)segment.peers, 0, sizeof segment.peers);
}
