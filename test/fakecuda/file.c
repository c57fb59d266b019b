/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake CUDA driver, a test double and never evidence about a GPU: device memory. Each allocation is
 * a memfd with two mappings. The user gets the addresses of the view, which is always PROT_NONE;
 * only the driver uses the alias. The last page lists the processes that have the memory open, so
 * that the driver notices when memory is freed while another process has it open.
 */
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAGIC UINT64_C(0x66616b6563756461)
/*
 * Where views lie: below position-independent programs and their heaps (0x555555554000 and up),
 * where also the sanitizers let programs map memory. A process starts anywhere in it and comes
 * round.
 */
#define RANGE_START UINT64_C(0x550000000000)
#define RANGE_END UINT64_C(0x555500000000)
#define POISON 0xa5                   /* what fresh memory holds: the real one is not zero either */
#define POISON_SIZE ((size_t)1 << 16) /* at the start and at the end */

enum { MAX_IMPORTERS = 256 };

/* The last page of each file. */
struct trailer {
    uint64_t magic;
    uint64_t id;
    uint64_t shift;                          /* of the first byte in the first page */
    _Atomic(pid_t) importers[MAX_IMPORTERS]; /* 0: free slot */
};

struct fake_file {
    char *view;
    char *alias;
    size_t mapped; /* bytes of each mapping, the trailer included */
    size_t nbytes;
    int fd; /* -1 in importers */
    int slot;
    struct trailer *trailer;
};

static uint64_t range_next;

/* Where memory was that was freed last, of FAKECUDA_REUSE: the next of its size is there again. */
static struct {
    char *view;
    size_t nbytes;
    size_t shift;
} freed;

static size_t page_round(size_t nbytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (nbytes + page - 1) / page * page;
}

bool fake_file_range_has(CUdeviceptr address)
{
    return address >= RANGE_START && address < RANGE_END;
}

/*
 * Map the view (fd -1: nothing) at an address not used lately (it takes 340 GiB to come round),
 * seldom at a multiple of 2 MiB. Where the system refuses our range, anywhere.
 */
static char *map_view_locked(int fd, size_t mapped)
{
    int flags = (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | MAP_NORESERVE;
    uint64_t page = page_round(1);

    if (range_next == 0)
        range_next = RANGE_START + fake_random_locked() % (RANGE_END - RANGE_START) / page * page;
    for (int i = 0; i < 8 && mapped < RANGE_END - RANGE_START; i++) {
        uint64_t at = range_next + page * (1 + fake_random_locked() % 64);
        void *view;

        if (at > RANGE_END - mapped) at = RANGE_START + page * (1 + fake_random_locked() % 64);
        view = mmap((void *)at, mapped, PROT_NONE, flags | MAP_FIXED_NOREPLACE, fd, 0);
        range_next = at + mapped;
        if (view == (void *)at) return view;
        if (view != MAP_FAILED) munmap(view, mapped);
    }
    return mmap(NULL, mapped, PROT_NONE, flags, fd, 0);
}

void *fake_range_reserve_locked(size_t nbytes, size_t alignment)
{
    size_t more = nbytes + alignment;
    char *all = more < nbytes ? MAP_FAILED : map_view_locked(-1, more);
    char *at;

    if (all == MAP_FAILED) return NULL;
    at = all + (alignment - (uintptr_t)all % alignment) % alignment;
    if (at > all) munmap(all, (size_t)(at - all));
    if (at + nbytes < all + more) munmap(at + nbytes, (size_t)(all + more - at - nbytes));
    return at;
}

static char *map_again_locked(int fd, size_t mapped, size_t nbytes)
{
    int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    char *view;

    if (freed.view == NULL || freed.nbytes != nbytes) return MAP_FAILED;
    view = mmap(freed.view, mapped, PROT_NONE, flags, fd, 0);
    if (view != MAP_FAILED && view != freed.view) {
        munmap(view, mapped);
        view = MAP_FAILED;
    }
    freed.view = NULL;
    return view;
}

static struct fake_file *map_file_locked(int fd, size_t mapped, size_t nbytes)
{
    struct fake_file *file = calloc(1, sizeof(*file));

    if (!file) return NULL;
    file->mapped = mapped;
    file->fd = fd;
    file->slot = -1;
    file->view = map_again_locked(fd, mapped, nbytes);
    if (file->view == MAP_FAILED) file->view = map_view_locked(fd, mapped);
    file->alias = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (file->view == MAP_FAILED || file->alias == MAP_FAILED) {
        if (file->view != MAP_FAILED) munmap(file->view, mapped);
        if (file->alias != MAP_FAILED) munmap(file->alias, mapped);
        free(file);
        return NULL;
    }
    file->trailer = (struct trailer *)(file->alias + mapped - page_round(sizeof(struct trailer)));
    return file;
}

struct fake_file *fake_file_create_locked(size_t nbytes)
{
    bool again = freed.view != NULL && freed.nbytes == nbytes;
    size_t shift = again ? freed.shift : fake_random_locked() % 8 * FAKE_ALIGN;
    size_t mapped = page_round(shift + nbytes) + page_round(sizeof(struct trailer));
    size_t poison = nbytes < POISON_SIZE ? nbytes : POISON_SIZE;
    int fd = memfd_create("fakecuda", MFD_CLOEXEC);
    struct fake_file *file = NULL;

    if (fd >= 0 && ftruncate(fd, (off_t)mapped) == 0) file = map_file_locked(fd, mapped, nbytes);
    if (!file) {
        if (fd >= 0) close(fd);
        return NULL;
    }
    file->nbytes = nbytes;
    file->trailer->id = fake_random_locked();
    file->trailer->shift = shift;
    file->trailer->magic = FILE_MAGIC;
    memset(fake_file_alias(file), POISON, poison);
    memset(fake_file_alias(file) + nbytes - poison, POISON, poison);
    return file;
}

/* A descriptor of its own, whose place in the file is where start lies; whole pages alone. */
int fake_file_export(const struct fake_file *file, CUdeviceptr start, size_t nbytes)
{
    size_t page = page_round(1), at = (size_t)(start - (CUdeviceptr)(uintptr_t)file->view);
    char path[64];
    int fd;

    if (file->fd < 0 || at % page != 0 || nbytes % page != 0 || at > file->mapped ||
        nbytes > file->mapped - at)
        return -1;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0) lseek(fd, (off_t)at, SEEK_SET);
    return fd;
}

/* ---- other processes -------------------------------------------------------- */

static bool take_slot(struct fake_file *file)
{
    for (int i = 0; i < MAX_IMPORTERS; i++) {
        pid_t none = 0;

        if (!atomic_compare_exchange_strong(&file->trailer->importers[i], &none, getpid()))
            continue;
        file->slot = i;
        return true;
    }
    return false;
}

/* Whether a process runs; one that waits to be reaped does not. */
static bool is_running(pid_t pid)
{
    char path[32];
    char text[512] = "";
    const char *state;
    FILE *stat;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    stat = fopen(path, "re");
    if (!stat) return false;
    if (!fgets(text, sizeof(text), stat)) text[0] = '\0';
    fclose(stat);
    state = strrchr(text, ')'); /* "pid (name) state": the name may hold anything */
    return state && state[1] == ' ' && state[2] != 'Z' && state[2] != 'X';
}

int fake_file_importer(const struct fake_file *file)
{
    for (int i = 0; i < MAX_IMPORTERS; i++) {
        pid_t pid = atomic_load(&file->trailer->importers[i]);

        if (pid != 0 && is_running(pid)) return pid;
    }
    return 0;
}

struct fake_file_key fake_file_key(const struct fake_file *file)
{
    return (struct fake_file_key){
        .pid = getpid(),
        .fd = file->fd,
        .id = file->trailer->id,
        .nbytes = file->nbytes,
    };
}

struct fake_file *fake_file_open_locked(const struct fake_file_key *key)
{
    struct fake_file *file = NULL;
    struct stat st;
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)key->pid, key->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return NULL;
    /* The descriptor may by now be something else altogether. */
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        (size_t)st.st_size >= key->nbytes + sizeof(struct trailer) &&
        (size_t)st.st_size == page_round((size_t)st.st_size))
        file = map_file_locked(fd, (size_t)st.st_size, 0);
    close(fd);
    if (!file) return NULL;
    file->fd = -1;
    file->nbytes = key->nbytes;
    if (file->trailer->magic != FILE_MAGIC || file->trailer->id != key->id || !take_slot(file)) {
        fake_file_close_locked(file);
        return NULL;
    }
    return file;
}

void fake_file_leave(struct fake_file *file)
{
    if (file->slot >= 0) atomic_store(&file->trailer->importers[file->slot], 0);
    file->slot = -1;
}

void fake_file_close_locked(struct fake_file *file)
{
    fake_file_leave(file);
    if (fake.reuses && file->fd >= 0) {
        freed.view = file->view;
        freed.nbytes = file->nbytes;
        freed.shift = file->trailer->shift;
    }
    munmap(file->view, file->mapped);
    munmap(file->alias, file->mapped);
    if (file->fd >= 0) close(file->fd);
    free(file);
}

CUdeviceptr fake_file_base(const struct fake_file *file)
{
    return (CUdeviceptr)(uintptr_t)file->view + file->trailer->shift;
}

char *fake_file_alias(const struct fake_file *file)
{
    return file->alias + file->trailer->shift;
}

uint64_t fake_file_id(const struct fake_file *file)
{
    return file->trailer->id;
}
