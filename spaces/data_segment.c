/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves the data segment (globals and statics of the executable) to a memfd before main(), so that
 * other PEs of the node can load and store it. The variables keep their addresses, because the
 * memfd is mapped over the original pages. data_segment_fork.c handles fork(). Design:
 * docs/design/memory.md.
 */
#include "spaces/data_segment_private.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

/* Maximum number of PEs of one node whose data segments a PE can map. */
#define SEGMENT_MAX_LOCAL 4096

_Static_assert(STP_SEGMENT_PARTS == 64, "a message contains this number");

struct stp_data_segment stp_data_segment = {
    .fd = -1, .private_reason = "no writable segment of the executable was found"};

static struct {
    size_t page;
    pthread_mutex_t lock; /* held by a thread that is mapping a peer's segment */
    /* Address of each local PE's segment, or NULL if it is not mapped. The lock guards writes. */
    char *peers[SEGMENT_MAX_LOCAL];
} segment = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- search --------------------------------------------------------------- */

/* The pages of one mapping that are in a writable ELF segment of the executable. */
struct segment_piece {
    char *base;
    size_t nbytes;
    size_t file_offset;
    int prot;
    /*
     * Whether the mapping is backed by the executable file. If not, a page that was never touched
     * contains only zeros.
     */
    bool from_file;
};

/* The writable ELF segments of the executable, and the pieces of memory that are mapped there. */
struct segment_plan {
    uintptr_t bias; /* load address minus link address */
    struct {
        uintptr_t start, end;
    } loads[STP_SEGMENT_PARTS]; /* page ranges of the writable ELF segments, ascending */
    unsigned n_loads;
    struct segment_piece pieces[STP_SEGMENT_PARTS];
    unsigned n_pieces;
    bool too_many;
};

static void segment_add_load(struct segment_plan *plan, uintptr_t start, uintptr_t end)
{
    uintptr_t mask = ~(uintptr_t)(segment.page - 1);
    uintptr_t previous_end = plan->n_loads > 0 ? plan->loads[plan->n_loads - 1].end : 0;

    start &= mask;
    end = (end + segment.page - 1) & mask;
    if (start < previous_end) start = previous_end; /* two ELF segments can share a page */
    if (start >= end) return;
    plan->too_many = plan->too_many || plan->n_loads == STP_SEGMENT_PARTS;
    if (plan->too_many) return;
    plan->loads[plan->n_loads].start = start;
    plan->loads[plan->n_loads++].end = end;
}

/*
 * Finds the writable ELF segments of the executable. Also computes a hash of the program headers
 * and the ELF notes, which include the build ID. Returns 1 to stop the iteration after the first
 * object, which is the executable.
 */
static int segment_find_loads(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct segment_plan *plan = arg;
    uint64_t hash = STP_HASH_EMPTY;

    (void)size;
    plan->bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t addr = info->dlpi_addr + ph->p_vaddr;

        hash = stp_hash(hash, ph, sizeof(*ph));
        if (ph->p_type == PT_NOTE) hash = stp_hash(hash, (void *)addr, ph->p_memsz);
        if (ph->p_type == PT_LOAD && (ph->p_flags & PF_W))
            segment_add_load(plan, addr, addr + ph->p_memsz);
    }
    stp_data_segment.layout = hash;
    return 1;
}

static void segment_add_piece(struct segment_plan *plan, const struct segment_piece *piece)
{
    if (plan->n_pieces == STP_SEGMENT_PARTS)
        plan->too_many = true;
    else
        plan->pieces[plan->n_pieces++] = *piece;
}

/*
 * Adds to the plan all pages of a mapping that are in the executable's writable ELF segments. Skips
 * a mapping that is read-only now (for example RELRO) or that the program itself has mapped with
 * MAP_SHARED. Skipped mappings stay as they are.
 */
static bool segment_find_pieces(const struct stp_mapping *mapping, void *arg)
{
    struct segment_plan *plan = arg;

    if (mapping->shared || !(mapping->prot & PROT_WRITE)) return true;
    for (unsigned i = 0; i < plan->n_loads; i++) {
        uintptr_t start = plan->loads[i].start, end = plan->loads[i].end;

        if (start < mapping->start) start = mapping->start;
        if (end > mapping->end) end = mapping->end;
        if (start >= end) continue;
        segment_add_piece(plan, &(struct segment_piece){.base = (char *)start,
                                                        .nbytes = end - start,
                                                        .prot = mapping->prot,
                                                        .from_file = mapping->ino != 0});
    }
    return true;
}

/*
 * Joins adjacent pieces into parts and chooses the offset of each part in the memfd. Leaves an
 * unused page between two parts, so that an access past the end of a part faults.
 */
static void segment_lay_out(struct segment_plan *plan)
{
    struct stp_data_segment_part *part = NULL;

    stp_data_segment.shape = stp_hash(STP_HASH_EMPTY, &segment.page, sizeof(segment.page));
    for (unsigned i = 0; i < plan->n_pieces; i++) {
        struct segment_piece *piece = &plan->pieces[i];
        uintptr_t shape[2] = {(uintptr_t)piece->base - plan->bias, piece->nbytes};

        if (part == NULL || part->base + part->nbytes != piece->base) {
            part = &stp_data_segment.parts[stp_data_segment.n_parts++];
            *part = (struct stp_data_segment_part){
                .base = piece->base,
                .file_offset = i > 0 ? stp_data_segment.nbytes + segment.page : 0,
            };
        }
        piece->file_offset = part->file_offset + part->nbytes;
        part->nbytes += piece->nbytes;
        stp_data_segment.nbytes = part->file_offset + part->nbytes;
        stp_data_segment.shape = stp_hash(stp_data_segment.shape, shape, sizeof(shape));
    }
}

static const char *segment_find(struct segment_plan *plan)
{
    dl_iterate_phdr(segment_find_loads, plan);
    if (plan->n_loads == 0) return "no writable segment of the executable was found";
    if (!stp_proc_maps_foreach(segment_find_pieces, plan)) return "/proc/self/maps cannot be read";
    if (plan->too_many) return "the writable memory of the executable is in more than 64 pieces";
    segment_lay_out(plan);
    return plan->n_pieces > 0 ? NULL : "no writable pages of the executable were found";
}

/* ---- move to shared memory ------------------------------------------------ */

/*
 * Copies a page by a plain loop. Does not call memcpy(), because the memcpy() of a sanitizer would
 * report the red zones between variables as errors.
 */
__attribute__((no_sanitize("address", "thread", "undefined"))) static void segment_copy_page(
    char *dest_page, const char *source_page, size_t page)
{
    const volatile uint64_t *source = (const volatile uint64_t *)source_page;
    volatile uint64_t *dest = (volatile uint64_t *)dest_page;
    uint64_t bits = 0;

    for (size_t i = 0; i < page / sizeof(*source); i++)
        bits |= source[i];
    if (bits == 0) return; /* a hole in the memfd reads as zeros and takes no memory */
    for (size_t i = 0; i < page / sizeof(*source); i++)
        dest[i] = source[i];
}

/*
 * Reads the pagemap entries of n pages into present. The entry of a page that was never touched is
 * 0. The caller does not read pages whose entry is 0, because a large bss would take long. Returns
 * false if the kernel does not report the entries.
 */
static bool segment_pages_present(int pagemap, const char *first, uint64_t *present, size_t n)
{
    size_t index = (uintptr_t)first / segment.page;
    ssize_t nbytes = (ssize_t)(n * sizeof(*present));

    if (pagemap < 0) return false;
    return pread(pagemap, present, (size_t)nbytes, (off_t)(index * sizeof(*present))) == nbytes;
}

static void segment_copy_piece(char *copy, const struct segment_piece *piece, int pagemap)
{
    enum { CHUNK = 512 };
    uint64_t present[CHUNK];
    size_t n_pages = piece->nbytes / segment.page;

    for (size_t first = 0; first < n_pages; first += CHUNK) {
        size_t n = n_pages - first < CHUNK ? n_pages - first : CHUNK;
        const char *source = piece->base + first * segment.page;
        bool known = !piece->from_file && segment_pages_present(pagemap, source, present, n);

        for (size_t i = 0; i < n; i++)
            if (!known || present[i] != 0)
                segment_copy_page(copy + (first + i) * segment.page, source + i * segment.page,
                                  segment.page);
    }
}

static size_t segment_count_tasks(void)
{
    DIR *dir = opendir("/proc/self/task");
    size_t n = 0;

    if (dir == NULL) return 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

/*
 * Returns whether this process has one thread only. Waits about 16 ms for other threads to end,
 * because the system may still list a thread that pthread_join() has returned. UCX, which MPI
 * libraries use, starts and joins a thread when it is loaded.
 */
static bool segment_is_one_thread(void)
{
    for (int tries = 0; segment_count_tasks() != 1; tries++) {
        if (tries == 100) return false;
        usleep(100);
    }
    return true;
}

static const char *segment_create_file(int *fd)
{
    int rc;

    *fd = stp_memory_file("steppe-data");
    if (*fd < 0) return "memfd_create for the globals and statics failed";
    rc = stp_file_resize(*fd, stp_data_segment.nbytes);
    if (rc == -EFBIG)
        return "the globals and statics are larger than the limit on file sizes (ulimit -f)";
    return rc == 0 ? NULL
                   : "the file in memory (memfd) for the globals and statics cannot be "
                     "resized";
}

/*
 * If the piece is executable, checks that the system allows executable shared mappings. Returns
 * NULL, or the reason for a failure.
 */
static const char *segment_try(const struct segment_piece *piece, int fd)
{
    void *map;

    if (!(piece->prot & PROT_EXEC)) return NULL;
    map = mmap(NULL, piece->nbytes, piece->prot, MAP_SHARED, fd, (off_t)piece->file_offset);
    if (map == MAP_FAILED)
        return "the globals and statics are in executable memory, and this system does not allow "
               "sharing such memory";
    munmap(map, piece->nbytes);
    return NULL;
}

/*
 * Maps the memfd over the private pages, with the protection that these pages have. Returns NULL,
 * or the reason if the first piece cannot be mapped. A later failure is fatal, because some pieces
 * are then shared already.
 */
static const char *segment_map_in_place(const struct segment_plan *plan, int fd)
{
    for (unsigned i = 0; i < plan->n_pieces; i++) {
        const struct segment_piece *piece = &plan->pieces[i];

        if (mmap(piece->base, piece->nbytes, piece->prot, MAP_SHARED | MAP_FIXED, fd,
                 (off_t)piece->file_offset) != MAP_FAILED)
            continue;
        if (i == 0)
            return "shared memory cannot be mapped at the addresses of the globals and statics";
        stp_fatal(NULL, "cannot map the globals and statics at %p to shared memory: %s",
                  (void *)piece->base, strerror(errno));
    }
    return NULL;
}

/*
 * Moves the pieces of the segment to a memfd. Returns NULL, or the reason for a failure. No other
 * thread may write to the segment during the call.
 */
static const char *segment_share(const struct segment_plan *plan)
{
    const char *reason;
    char *copy;
    int fd = -1, pagemap;

    reason = segment_create_file(&fd);
    for (unsigned i = 0; i < plan->n_pieces && reason == NULL; i++)
        reason = segment_try(&plan->pieces[i], fd);
    if (reason != NULL) goto err;
    copy = mmap(NULL, stp_data_segment.nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (copy == MAP_FAILED) {
        reason = "the file in memory (memfd) for the globals and statics cannot be mapped";
        goto err;
    }
    pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    for (unsigned i = 0; i < plan->n_pieces; i++)
        segment_copy_piece(copy + plan->pieces[i].file_offset, &plan->pieces[i], pagemap);
    if (pagemap >= 0) close(pagemap);
    reason = segment_map_in_place(plan, fd);
    munmap(copy, stp_data_segment.nbytes);
    if (reason != NULL) goto err;
    stp_data_segment.fd = fd;
    return NULL;

err:
    if (fd >= 0) close(fd);
    return reason;
}

/*
 * Runs before main(), and moves the segment to the memfd. The segment stays private if the process
 * has other threads, or if a step fails. In this case, only its first part is symmetric, because
 * the fabric can register only one contiguous range of a private segment.
 */
__attribute__((constructor)) static void segment_init(void)
{
    struct segment_plan plan = {0};

    segment.page = getauxval(AT_PAGESZ);
    stp_data_segment.private_reason = segment_find(&plan);
    if (stp_data_segment.private_reason == NULL && !segment_is_one_thread())
        stp_data_segment.private_reason =
            "the process already had other threads when the library was "
            "loaded";
    if (stp_data_segment.private_reason == NULL)
        stp_data_segment.private_reason = segment_share(&plan);
    if (stp_data_segment.private_reason == NULL && !stp_data_segment_copy_on_fork())
        stp_fatal(NULL, "out of memory: cannot register the fork handlers that copy the globals "
                        "and statics");
    if (stp_data_segment.private_reason == NULL || stp_data_segment.n_parts <= 1) return;
    stp_data_segment.n_parts = 1;
    stp_data_segment.nbytes = stp_data_segment.parts[0].nbytes;
    stp_data_segment.shape = 0;
}

/* ---- peers ----------------------------------------------------------------- */

/* Returns the address that is reserved in the view for the segment of a local PE. */
static char *segment_in_view(int local)
{
    return stp_window_part(local) + stp_window_bytes_for_spaces();
}

/* Maps the parts of a peer's segment. The pages between parts stay inaccessible. */
static bool segment_map_parts(char *base, int fd)
{
    for (unsigned i = 0; i < stp_data_segment.n_parts; i++) {
        const struct stp_data_segment_part *part = &stp_data_segment.parts[i];

        if (mmap(base + part->file_offset, part->nbytes, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_FIXED, fd, (off_t)part->file_offset) == MAP_FAILED)
            return false;
    }
    return true;
}

static char *segment_map_peer(int local, pid_t pid, int fd)
{
    char *base = segment_in_view(local);
    char path[64];
    int peer_fd;
    bool mapped;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
    peer_fd = open(path, O_RDWR | O_CLOEXEC);
    if (peer_fd < 0) {
        stp_error("cannot open the globals and statics of process %d of this node: open(%s): %s",
                  (int)pid, path, strerror(errno));
        return NULL;
    }
    mapped = segment_map_parts(base, peer_fd);
    if (!mapped)
        stp_error("cannot map the globals and statics of process %d of this node: %s", (int)pid,
                  strerror(errno));
    close(peer_fd);
    if (!mapped) return NULL;
    madvise(base, stp_data_segment.nbytes, MADV_DONTDUMP);
    return base;
}

char *stp_data_segment_alias_whole(void)
{
    char *base;

    if (stp_data_segment.n_parts == 1) return stp_data_segment.parts[0].base;
    base = segment_in_view(stp_window_local());
    if (mmap(base, stp_data_segment.nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             stp_data_segment.fd, 0) == MAP_FAILED) {
        stp_error("cannot map the %zu bytes of globals and statics a second time: %s",
                  stp_data_segment.nbytes, strerror(errno));
        return NULL;
    }
    madvise(base, stp_data_segment.nbytes, MADV_DONTDUMP);
    return base;
}

void *stp_data_segment_reach(int local, pid_t pid, int fd, size_t offset)
{
    char *part;

    if (local >= SEGMENT_MAX_LOCAL) return NULL;
    /* Pairs with the release store below, which another thread may have executed. */
    part = __atomic_load_n(&segment.peers[local], __ATOMIC_ACQUIRE);
    if (STP_UNLIKELY(part == NULL)) {
        pthread_mutex_lock(&segment.lock);
        part = __atomic_load_n(&segment.peers[local], __ATOMIC_RELAXED);
        if (part == NULL) part = segment_map_peer(local, pid, fd);
        /* Pairs with the acquire load above. */
        __atomic_store_n(&segment.peers[local], part, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&segment.lock);
    }
    return part != NULL ? part + offset : NULL;
}

void stp_data_segment_reset_peer_maps(void)
{
    memset((void *)segment.peers, 0, sizeof(segment.peers));
}
