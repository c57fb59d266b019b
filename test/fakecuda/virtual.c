/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake CUDA driver, a test double and never evidence about a GPU: memory by handles. Separate calls
 * reserve addresses, create memory, map the memory there, and give devices access.
 */
#include "fake.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define GRANULARITY ((size_t)2 << 20)
/* Never freed, so that the use of a released handle is seen. */
struct fake_physical {
    CUmemGenericAllocationHandle handle;
    size_t nbytes;
    int device;
    int fd; /* -1 once the memory is gone */
    int n_handles;
    int n_maps;
    struct fake_physical *next;
};

struct reservation {
    CUdeviceptr base;
    size_t nbytes;
    char *alias; /* as long, where it is for us: what lies behind each other hangs together */
    struct reservation *next;
};

static struct fake_physical *physicals;
static struct reservation *reservations;
static CUmemGenericAllocationHandle last_handle = 0x6d656d00;

long fake_physical_count_locked(void)
{
    long count = 0;

    for (struct fake_physical *at = physicals; at; at = at->next)
        count += at->fd >= 0;
    return count;
}

long fake_reservation_count_locked(void)
{
    long count = 0;

    for (struct reservation *at = reservations; at; at = at->next)
        count++;
    return count;
}

static bool is_multiple(size_t nbytes)
{
    return nbytes != 0 && nbytes % GRANULARITY == 0;
}

/* ---- memory ------------------------------------------------------------------- */

static bool is_prop_valid(const CUmemAllocationProp *prop)
{
    return prop && prop->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
           prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
           fake_device_valid(prop->location.id) &&
           (prop->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == 0;
}

static struct fake_physical *add_physical_locked(int fd, size_t nbytes, int device)
{
    struct fake_physical *physical = calloc(1, sizeof(*physical));

    if (!physical) return NULL;
    physical->handle = ++last_handle;
    physical->nbytes = nbytes;
    physical->device = device;
    physical->fd = fd;
    physical->n_handles = 1;
    physical->next = physicals;
    physicals = physical;
    return physical;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t nbytes,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    CUresult result = fake_begin(FAKE_cuMemCreate);
    struct fake_physical *physical;
    int device;
    int fd;

    if (result != CUDA_SUCCESS) return result;
    if (!handle || !is_prop_valid(prop) || flags != 0 || !is_multiple(nbytes))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    device = prop->location.id;
    if (nbytes > fake.memory - fake.used[device]) return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    fd = memfd_create("fakecuda-handle", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)nbytes) != 0) {
        close(fd);
        fd = -1;
    }
    physical = fd >= 0 ? add_physical_locked(fd, nbytes, device) : NULL;
    if (!physical) {
        if (fd >= 0) close(fd);
        return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    }
    fake.used[device] += nbytes;
    *handle = physical->handle;
    return fake_end(CUDA_SUCCESS);
}

/* The memory of a handle, which has not been released. */
static struct fake_physical *find_physical(CUmemGenericAllocationHandle handle)
{
    struct fake_physical *physical = physicals;

    while (physical && physical->handle != handle)
        physical = physical->next;
    if (!physical) fake_die("0x%llx is not a handle of memory", handle);
    if (physical->n_handles == 0) fake_die("handle 0x%llx was released", handle);
    return physical;
}

/* The memory ends with the last of handle and mappings. */
static void end_unused_locked(struct fake_physical *physical)
{
    if (physical->n_handles > 0 || physical->n_maps > 0) return;
    fake.used[physical->device] -= physical->nbytes;
    close(physical->fd);
    physical->fd = -1;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    CUresult result = fake_begin(FAKE_cuMemRelease);
    struct fake_physical *physical;

    if (result != CUDA_SUCCESS) return result;
    physical = find_physical(handle);
    physical->n_handles--;
    end_unused_locked(physical);
    return fake_end(CUDA_SUCCESS);
}

/* ---- addresses ---------------------------------------------------------------- */

CUresult cuMemAddressReserve(CUdeviceptr *address, size_t nbytes, size_t alignment,
                             CUdeviceptr wanted, unsigned long long flags)
{
    CUresult result = fake_begin(FAKE_cuMemAddressReserve);
    struct reservation *made;
    void *range;

    (void)wanted; /* a wish, which the driver need not grant: it never does */
    if (result != CUDA_SUCCESS) return result;
    if (!address || flags != 0 || !is_multiple(nbytes) || (alignment & (alignment - 1)) != 0)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    made = calloc(1, sizeof(*made));
    range =
        made ? fake_range_reserve_locked(nbytes, alignment > GRANULARITY ? alignment : GRANULARITY)
             : NULL;
    if (!range) {
        free(made);
        return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    }
    made->alias = mmap(NULL, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made->alias == MAP_FAILED) {
        munmap(range, nbytes);
        free(made);
        return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    }
    made->base = (CUdeviceptr)(uintptr_t)range;
    made->nbytes = nbytes;
    made->next = reservations;
    reservations = made;
    *address = made->base;
    return fake_end(CUDA_SUCCESS);
}

/* A mapping that touches the range, or NULL. */
static struct fake_block *find_mapping_locked(CUdeviceptr base, size_t nbytes)
{
    for (struct fake_block *block = fake.blocks; block; block = block->next)
        if (block->kind == FAKE_MAPPED && base < block->base + block->nbytes &&
            block->base < base + nbytes)
            return block;
    return NULL;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t nbytes)
{
    CUresult result = fake_begin(FAKE_cuMemAddressFree);
    struct reservation **at = &reservations;
    struct reservation *found;

    if (result != CUDA_SUCCESS) return result;
    while (*at && ((*at)->base != address || (*at)->nbytes != nbytes))
        at = &(*at)->next;
    found = *at;
    if (!found) return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (find_mapping_locked(address, nbytes))
        fake_die("addresses from 0x%llx are freed while memory is mapped there", address);
    *at = found->next;
    munmap((void *)(uintptr_t)address, nbytes);
    munmap(found->alias, nbytes);
    free(found);
    return fake_end(CUDA_SUCCESS);
}

/* Where a range that is reserved is for us; NULL: it is not. */
static char *find_reserved_locked(CUdeviceptr base, size_t nbytes)
{
    for (struct reservation *at = reservations; at; at = at->next)
        if (base >= at->base && base - at->base <= at->nbytes &&
            nbytes <= at->nbytes - (base - at->base))
            return at->alias + (base - at->base);
    return NULL;
}

/* The place stays reserved. */
static void unmap(char *alias, size_t nbytes)
{
    (void)mmap(alias, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
               -1, 0);
}

CUresult cuMemMap(CUdeviceptr address, size_t nbytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    CUresult result = fake_begin(FAKE_cuMemMap);
    struct fake_physical *physical;
    struct fake_block *block;
    char *alias;

    if (result != CUDA_SUCCESS) return result;
    physical = find_physical(handle);
    alias = find_reserved_locked(address, nbytes);
    if (flags != 0 || offset != 0 || !is_multiple(nbytes) || address % GRANULARITY != 0 ||
        nbytes > physical->nbytes || !alias || find_mapping_locked(address, nbytes))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (mmap(alias, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
             physical->fd, 0) == MAP_FAILED)
        return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    block = fake_block_add_locked(FAKE_MAPPED, address, nbytes, NULL);
    if (!block) {
        unmap(alias, nbytes);
        return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    }
    block->alias = alias;
    block->device = physical->device;
    block->physical = physical;
    physical->n_maps++;
    return fake_end(CUDA_SUCCESS);
}

void fake_physical_unmap_locked(struct fake_block *block)
{
    unmap(block->alias, block->nbytes);
    block->physical->n_maps--;
    end_unused_locked(block->physical);
}

/* Whether mappings fill the range, each of them whole. */
static bool is_filled_locked(CUdeviceptr address, size_t nbytes)
{
    CUdeviceptr end = address + nbytes;

    while (address < end) {
        struct fake_block *block = fake_block_find_locked(address);

        if (!block || block->kind != FAKE_MAPPED || block->base != address) return false;
        address += block->nbytes;
    }
    return address == end;
}

CUresult cuMemUnmap(CUdeviceptr address, size_t nbytes)
{
    CUresult result = fake_begin(FAKE_cuMemUnmap);
    struct fake_block *block;

    if (result != CUDA_SUCCESS) return result;
    if (nbytes == 0 || !is_filled_locked(address, nbytes))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    while ((block = find_mapping_locked(address, nbytes)) != NULL)
        fake_block_drop_locked(block); /* dies when work on it is under way */
    return fake_end(CUDA_SUCCESS);
}

static bool is_access_valid(const CUmemAccessDesc *access)
{
    return access->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
           fake_device_valid(access->location.id) &&
           (access->flags == 0 || access->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
            access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t nbytes, const CUmemAccessDesc *access,
                        size_t count)
{
    CUresult result = fake_begin(FAKE_cuMemSetAccess);

    if (result != CUDA_SUCCESS) return result;
    if (!access || count == 0 || nbytes == 0 || !is_filled_locked(address, nbytes))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++)
        if (!is_access_valid(&access[i])) return fake_end(CUDA_ERROR_INVALID_VALUE);
    for (struct fake_block *block = fake.blocks; block; block = block->next) {
        if (block->kind != FAKE_MAPPED || block->base < address || block->base >= address + nbytes)
            continue;
        for (size_t i = 0; i < count; i++) {
            block->access[access[i].location.id] = (unsigned char)access[i].flags;
        }
    }
    return fake_end(CUDA_SUCCESS);
}
