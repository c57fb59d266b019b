/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake CUDA driver, a test double and never evidence about a GPU: the list of all memory that the
 * driver knows, and the calls that allocate, free and register memory.
 */
#include "fake.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N_GRAVES = 1024 };

/* The latest pieces that were freed, closed or unregistered. */
static struct {
    CUdeviceptr base;
    size_t nbytes;
    enum fake_kind kind;
} graves[N_GRAVES];
static size_t n_graves;             /* ever dug */
static unsigned long long n_blocks; /* ever added */

static const char *const how_ended[FAKE_N_KINDS] = {"freed", "closed",       "freed",
                                                    "freed", "unregistered", "unmapped"};

/* ---- the books -------------------------------------------------------------- */

struct fake_block *fake_block_find_locked(CUdeviceptr address)
{
    for (struct fake_block *block = fake.blocks; block; block = block->next)
        if (address >= block->base && address - block->base < block->nbytes) return block;
    return NULL;
}

static bool is_host(const struct fake_block *block)
{
    return block->kind == FAKE_HOST || block->kind == FAKE_REGISTERED;
}

struct fake_block *fake_block_of_device_locked(CUdeviceptr *address)
{
    CUdeviceptr at = *address - fake.host_shift;
    struct fake_block *block = fake_block_find_locked(*address);

    if (fake.host_shift == 0 || (block && !is_host(block))) return block;
    block = fake_block_find_locked(at);
    if (!block || !is_host(block)) return NULL;
    *address = at;
    return block;
}

static struct fake_block *find_base_locked(CUdeviceptr base)
{
    struct fake_block *block = fake_block_find_locked(base);

    return block && block->base == base ? block : NULL;
}

struct fake_block *fake_block_next_locked(const struct fake_block *block, CUdeviceptr end)
{
    CUdeviceptr behind = block->base + block->nbytes;
    struct fake_block *next;

    if (block->kind != FAKE_MAPPED || behind >= end) return NULL;
    next = find_base_locked(behind);
    return next && next->kind == FAKE_MAPPED ? next : NULL;
}

long fake_block_count_locked(enum fake_kind kind)
{
    long count = 0;

    for (struct fake_block *block = fake.blocks; block; block = block->next)
        count += block->kind == kind;
    return count;
}

struct fake_block *fake_block_add_locked(enum fake_kind kind, CUdeviceptr base, size_t nbytes,
                                         CUcontext ctx)
{
    struct fake_block *block = calloc(1, sizeof(*block));

    if (!block) return NULL;
    block->kind = kind;
    block->base = base;
    block->nbytes = nbytes;
    block->alias = (char *)(uintptr_t)base;
    block->ctx = ctx;
    block->device = ctx ? ctx->device : -1; /* of a mapping the caller knows it */
    block->number = ++n_blocks;
    block->next = fake.blocks;
    fake.blocks = block;
    return block;
}

static size_t accounted(size_t nbytes)
{
    return (nbytes + FAKE_ALIGN - 1) / FAKE_ALIGN * FAKE_ALIGN;
}

static size_t pages(size_t nbytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (nbytes + page - 1) / page * page;
}

static void release_memory_locked(struct fake_block *block)
{
    switch (block->kind) {
    case FAKE_DEVICE:
        fake.used[block->device] -= accounted(block->nbytes);
        fake_file_close_locked(block->file);
        break;
    case FAKE_IPC:
        fake_file_close_locked(block->file);
        break;
    case FAKE_MANAGED:
    case FAKE_HOST:
        munmap(block->alias, pages(block->nbytes));
        break;
    case FAKE_MAPPED:
        fake_physical_unmap_locked(block);
        break;
    default: /* registered memory is the user's */
        break;
    }
}

void fake_block_drop_locked(struct fake_block *block)
{
    struct fake_block **at = &fake.blocks;
    int importer = block->kind == FAKE_DEVICE ? fake_file_importer(block->file) : 0;

    if (block->n_pending > 0)
        fake_die("memory 0x%llx is %s while %d operations on it are under way", block->base,
                 how_ended[block->kind], block->n_pending);
    if (importer != 0)
        fake_die("memory 0x%llx is freed while process %d has it open", block->base, importer);
    while (*at != block)
        at = &(*at)->next;
    *at = block->next;
    graves[n_graves % N_GRAVES].base = block->base;
    graves[n_graves % N_GRAVES].nbytes = block->nbytes;
    graves[n_graves++ % N_GRAVES].kind = block->kind;
    release_memory_locked(block);
    free(block);
}

void fake_block_check_access_locked(const struct fake_block *block, bool writes)
{
    int device = fake_ctx_current()->device;
    int wanted = writes ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ;

    if (block->kind == FAKE_MAPPED && (block->access[device] & wanted) != wanted)
        fake_die("memory 0x%llx is mapped, but device %d was not given access to %s it",
                 block->base, device, writes ? "write" : "read");
}

void fake_blocks_drop_of_locked(CUcontext ctx)
{
    struct fake_block *next;

    for (struct fake_block *block = fake.blocks; block; block = next) {
        next = block->next;
        if (block->ctx != ctx) continue;
        fake.n_lost++;
        fake_block_drop_locked(block);
    }
}

/* Only addresses of our range: others may have become memory of somebody else. */
void fake_block_check_stale_locked(CUdeviceptr address)
{
    if (!fake_file_range_has(address)) return;
    for (size_t i = 0; i < N_GRAVES && i < n_graves; i++)
        if (address >= graves[i].base && address - graves[i].base < graves[i].nbytes)
            fake_die("address 0x%llx was %s", address, how_ended[graves[i].kind]);
}

/* Dies when base is what ended, as this kind, before. */
static void check_twice_locked(enum fake_kind kind, CUdeviceptr base)
{
    for (size_t i = 0; i < N_GRAVES && i < n_graves; i++)
        if (base == graves[i].base && graves[i].kind == kind)
            fake_die("memory 0x%llx was %s already", base, how_ended[kind]);
}

/* A process's end closes what it opened, as with the real driver. */
__attribute__((destructor)) static void close_imports(void)
{
    if (fake.pid != getpid()) return;
    pthread_mutex_lock(&fake.lock);
    for (struct fake_block *block = fake.blocks; block; block = block->next)
        if (block->kind == FAKE_IPC) fake_file_leave(block->file);
    pthread_mutex_unlock(&fake.lock);
}

/* ---- device memory ---------------------------------------------------------- */

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuMemGetInfo_v2, &ctx);

    if (result != CUDA_SUCCESS) return result;
    *free_bytes = fake.memory - fake.used[ctx->device];
    *total = fake.memory;
    return fake_end(CUDA_SUCCESS);
}

static CUresult alloc_locked(CUcontext ctx, size_t nbytes, CUdeviceptr *address)
{
    struct fake_file *file;
    struct fake_block *block;

    if (nbytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (nbytes > fake.memory || accounted(nbytes) > fake.memory - fake.used[ctx->device])
        return CUDA_ERROR_OUT_OF_MEMORY;
    file = fake_file_create_locked(nbytes);
    if (!file) return CUDA_ERROR_OUT_OF_MEMORY;
    block = fake_block_add_locked(FAKE_DEVICE, fake_file_base(file), nbytes, ctx);
    if (!block) {
        fake_file_close_locked(file);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    block->file = file;
    block->alias = fake_file_alias(file);
    fake.used[ctx->device] += accounted(nbytes);
    *address = block->base;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t nbytes)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuMemAlloc_v2, &ctx);

    if (result != CUDA_SUCCESS) return result;
    if (!address) return fake_end(CUDA_ERROR_INVALID_VALUE);
    return fake_end(alloc_locked(ctx, nbytes, address));
}

/* As the real one, waits for the work on the memory. */
CUresult cuMemFree_v2(CUdeviceptr address)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuMemFree_v2, &ctx);
    struct fake_block *block;

    if (result != CUDA_SUCCESS) return result;
    block = find_base_locked(address);
    if (!block) check_twice_locked(FAKE_DEVICE, address);
    if (!block || (block->kind != FAKE_DEVICE && block->kind != FAKE_MANAGED))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    fake_stream_drain_block_locked(block);
    if (find_base_locked(address) != block) fake_die("two threads free 0x%llx at once", address);
    fake_block_drop_locked(block);
    return fake_end(CUDA_SUCCESS);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *nbytes, CUdeviceptr address)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuMemGetAddressRange_v2, &ctx);
    struct fake_block *block;

    if (result != CUDA_SUCCESS) return result;
    block = fake_block_find_locked(address);
    if (!block) return fake_end(CUDA_ERROR_NOT_FOUND);
    if (base) *base = block->base;
    if (nbytes) *nbytes = block->nbytes;
    return fake_end(CUDA_SUCCESS);
}

/* The range begins where a page does, which may be before the block. */
CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr address, size_t nbytes,
                                       CUmemRangeHandleType type, unsigned long long flags)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuMemGetHandleForAddressRange, &ctx);
    struct fake_block *block = NULL;
    int fd = -1;

    if (result != CUDA_SUCCESS) return result;
    if (type == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD && flags == 0 && nbytes > 0)
        block = fake_block_find_locked(address + pages(1) - 1);
    if (block && block->kind == FAKE_DEVICE) fd = fake_file_export(block->file, address, nbytes);
    if (!handle || fd < 0) return fake_end(CUDA_ERROR_INVALID_VALUE);
    *(int *)handle = fd;
    return fake_end(CUDA_SUCCESS);
}

/* ---- memory that hosts may touch ------------------------------------------ */

static CUresult map_host_locked(enum fake_kind kind, CUcontext ctx, size_t nbytes, void **address)
{
    void *memory;

    if (nbytes == 0 || nbytes > SIZE_MAX / 2) return CUDA_ERROR_INVALID_VALUE;
    memory = mmap(NULL, pages(nbytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!fake_block_add_locked(kind, (CUdeviceptr)(uintptr_t)memory, nbytes, ctx)) {
        munmap(memory, pages(nbytes));
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *address = memory;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t nbytes, unsigned int flags)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuMemAllocManaged, &ctx);
    void *memory;

    if (result != CUDA_SUCCESS) return result;
    if (flags != CU_MEM_ATTACH_GLOBAL) return fake_end(CUDA_ERROR_INVALID_VALUE);
    result = map_host_locked(FAKE_MANAGED, ctx, nbytes, &memory);
    if (result == CUDA_SUCCESS) *address = (CUdeviceptr)(uintptr_t)memory;
    return fake_end(result);
}

CUresult cuMemHostAlloc(void **address, size_t nbytes, unsigned int flags)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuMemHostAlloc, &ctx);

    if (result != CUDA_SUCCESS) return result;
    if (flags & ~(unsigned int)(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    return fake_end(map_host_locked(FAKE_HOST, ctx, nbytes, address));
}

/* End what starts at address, of this kind; wrong is the answer when nothing does. */
static CUresult drop_host_locked(enum fake_kind kind, void *address, CUresult wrong)
{
    CUdeviceptr base = (CUdeviceptr)(uintptr_t)address;
    struct fake_block *block = find_base_locked(base);

    if (!block) check_twice_locked(kind, base);
    if (!block || block->kind != kind) return wrong;
    fake_block_drop_locked(block);
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *address)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuMemFreeHost, &ctx);

    if (result != CUDA_SUCCESS) return result;
    return fake_end(drop_host_locked(FAKE_HOST, address, CUDA_ERROR_INVALID_VALUE));
}

/* Whether something is mapped in every page of the range. */
static bool is_mapped(const void *address, size_t nbytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)address / page * page;

    return msync((void *)first, (uintptr_t)address + nbytes - first, MS_ASYNC) == 0;
}

static bool overlaps_locked(CUdeviceptr base, size_t nbytes)
{
    for (struct fake_block *block = fake.blocks; block; block = block->next)
        if (base < block->base + block->nbytes && block->base < base + nbytes) return true;
    return false;
}

CUresult cuMemHostRegister_v2(void *address, size_t nbytes, unsigned int flags)
{
    CUdeviceptr base = (CUdeviceptr)(uintptr_t)address;
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuMemHostRegister_v2, &ctx);

    if (result != CUDA_SUCCESS) return result;
    if (!address || nbytes == 0 || base + nbytes < base || flags & ~0xfu ||
        !is_mapped(address, nbytes))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (overlaps_locked(base, nbytes)) return fake_end(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    if (!fake_block_add_locked(FAKE_REGISTERED, base, nbytes, ctx))
        return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    return fake_end(CUDA_SUCCESS);
}

CUresult cuMemHostUnregister(void *address)
{
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuMemHostUnregister, &ctx);

    if (result != CUDA_SUCCESS) return result;
    return fake_end(
        drop_host_locked(FAKE_REGISTERED, address, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED));
}

/* Where a device finds host memory: at its own address, as with unified addressing, or not. */
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *host, unsigned int flags)
{
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)host;
    CUcontext ctx;
    CUresult result = fake_begin_ctx(FAKE_cuMemHostGetDevicePointer_v2, &ctx);
    struct fake_block *block;

    if (result != CUDA_SUCCESS) return result;
    block = fake_block_find_locked(at);
    if (!address || flags != 0 || !block || !is_host(block))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    *address = at + fake.host_shift;
    return fake_end(CUDA_SUCCESS);
}
