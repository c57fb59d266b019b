/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPU memory by handles (cuMemCreate, cuMemMap): pieces of memory, mapped where addresses were
 * reserved, each with a descriptor by which the other PEs of the node map it too. Design:
 * docs/design/cuda.md.
 */
#include "cuda.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- addresses -------------------------------------------------------------------------- */

static CUresult addresses_reserve(struct cuda_addresses *addresses, size_t nbytes)
{
    CUresult result =
        stp_cuda.api.mem_address_reserve(&addresses->base, nbytes, CUDA_BASE_ALIGN, 0, 0);

    if (result == CUDA_SUCCESS) addresses->reserved = nbytes;
    return result;
}

/* Behind what is mapped already, for this device to read and write. */
static CUresult addresses_map(struct cuda_addresses *addresses, const struct cuda_device *device,
                              CUmemGenericAllocationHandle handle, size_t nbytes, const char **call)
{
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, device->ordinal},
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr at = addresses->base + addresses->nbytes;
    CUresult result;

    *call = "cuMemMap";
    if (addresses->n == CUDA_PIECES || nbytes > addresses->reserved - addresses->nbytes)
        return CUDA_ERROR_INVALID_VALUE;
    result = stp_cuda.api.mem_map(at, nbytes, 0, handle, 0);
    if (result != CUDA_SUCCESS) return result;
    *call = "cuMemSetAccess";
    result = stp_cuda.api.mem_set_access(at, nbytes, &access, 1);
    if (result != CUDA_SUCCESS) {
        stp_cuda_tell(stp_cuda.api.mem_unmap(at, nbytes), "cuMemUnmap");
        return result;
    }
    addresses->sizes[addresses->n++] = nbytes;
    /* Pairs with the acquire of stp_cuda_peer_reach(). */
    __atomic_store_n(&addresses->nbytes, addresses->nbytes + nbytes, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
}

/* As it was mapped: piece by piece. */
static void addresses_unmap_last(struct cuda_addresses *addresses)
{
    size_t nbytes = addresses->sizes[--addresses->n];

    addresses->nbytes -= nbytes;
    stp_cuda_tell(stp_cuda.api.mem_unmap(addresses->base + addresses->nbytes, nbytes),
                  "cuMemUnmap");
}

static void addresses_free(struct cuda_addresses *addresses)
{
    if (addresses->reserved == 0) return;
    while (addresses->n > 0)
        addresses_unmap_last(addresses);
    stp_cuda_tell(stp_cuda.api.mem_address_free(addresses->base, addresses->reserved),
                  "cuMemAddressFree");
    addresses->reserved = 0;
}

/* ---- the owner -------------------------------------------------------------------------- */

bool stp_cuda_pieces_known(void)
{
    const struct stp_cuda_api *api = &stp_cuda.api;

    return api->mem_granularity != NULL && api->mem_address_reserve != NULL &&
           api->mem_address_free != NULL && api->mem_create != NULL && api->mem_release != NULL &&
           api->mem_retain != NULL && api->mem_map != NULL && api->mem_unmap != NULL &&
           api->mem_set_access != NULL && api->mem_export != NULL && api->mem_import != NULL;
}

static struct cuda_pieces *pieces_new(void)
{
    struct cuda_pieces *pieces = calloc(1, sizeof(*pieces));

    if (pieces == NULL) stp_error("no memory for the records of a gpu space");
    return pieces;
}

static CUmemAllocationProp pieces_prop(const struct cuda_device *device)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, device->ordinal},
        .allocFlags.gpuDirectRDMACapable = device->rdma,
    };
}

/* Pieces begin where spaces have their borders. */
bool stp_cuda_pieces_can(const struct cuda_device *device, char *why, size_t len)
{
    CUmemAllocationProp prop = pieces_prop(device);
    size_t unit = 0;

    snprintf(why, len, "it has no memory by handles that other processes get as descriptors");
    if (!device->pieces || !stp_cuda_pieces_known()) return false;
    snprintf(why, len, "its memory by handles does not come in multiples of %zu bytes",
             CUDA_BASE_ALIGN);
    return stp_cuda.api.mem_granularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ==
               CUDA_SUCCESS &&
           unit != 0 && CUDA_BASE_ALIGN % unit == 0;
}

/* One more in the list that peers read; without a descriptor where they are not to map it. */
static CUresult pieces_export(struct cuda_pieces *pieces, CUmemGenericAllocationHandle handle,
                              size_t nbytes)
{
    CUresult result = CUDA_SUCCESS;
    int fd = -1;

    if (stp_env.gpu_ipc)
        result = stp_cuda.api.mem_export(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (result != CUDA_SUCCESS) return result;
    if (fd >= 0) (void)fcntl(fd, F_SETFD, FD_CLOEXEC); /* programs that a PE starts have no part */
    pieces->list[pieces->n++] = (struct cuda_piece){.fd = fd, .nbytes = nbytes};
    return CUDA_SUCCESS;
}

/* And no more. */
static void pieces_forget_last(struct cuda_pieces *pieces)
{
    int fd = pieces->list[--pieces->n].fd;

    if (fd >= 0) close(fd);
}

static size_t pieces_whole(size_t nbytes)
{
    return (nbytes + CUDA_BASE_ALIGN - 1) & ~(CUDA_BASE_ALIGN - 1);
}

static CUresult pieces_add(struct cuda_part *part, size_t nbytes, const char **call)
{
    struct cuda_pieces *pieces = part->pieces;
    CUmemAllocationProp prop = pieces_prop(part->device);
    CUmemGenericAllocationHandle handle;
    CUresult result;

    *call = "cuMemCreate";
    if (pieces->n == CUDA_PIECES) return CUDA_ERROR_OUT_OF_MEMORY;
    result = stp_cuda.api.mem_create(&handle, nbytes, &prop, 0);
    if (result != CUDA_SUCCESS) return result;
    result = addresses_map(&pieces->addresses, part->device, handle, nbytes, call);
    if (result == CUDA_SUCCESS) {
        *call = "cuMemExportToShareableHandle";
        result = pieces_export(pieces, handle, nbytes);
        if (result != CUDA_SUCCESS) addresses_unmap_last(&pieces->addresses);
    }
    stp_cuda_tell(stp_cuda.api.mem_release(handle), "cuMemRelease"); /* the mapping has it */
    return result;
}

int stp_cuda_pieces_create(struct cuda_part *part, size_t nbytes, size_t max_bytes,
                           CUdeviceptr *base)
{
    const char *call = "cuMemAddressReserve";
    CUresult result;
    int rc;

    part->pieces = pieces_new();
    if (part->pieces == NULL) return -ENOMEM;
    result = addresses_reserve(&part->pieces->addresses, pieces_whole(max_bytes));
    if (result == CUDA_SUCCESS && nbytes > 0)
        result = pieces_add(part, pieces_whole(nbytes), &call);
    *base = part->pieces->addresses.base;
    rc = stp_cuda_check(part->device, result, call);
    if (rc != 0) stp_cuda_pieces_drop(part);
    return rc;
}

int stp_cuda_pieces_grow(struct cuda_part *part, size_t nbytes, char *why, size_t len)
{
    size_t had = part->pieces->addresses.nbytes, whole = pieces_whole(nbytes);
    char text[CUDA_TEXT];
    const char *call;
    CUresult result = whole > had ? pieces_add(part, whole - had, &call) : CUDA_SUCCESS;

    if (result == CUDA_SUCCESS) return 0;
    snprintf(why, len, "gpu %d: %s of %zu bytes: %s", part->device->ordinal, call, whole - had,
             stp_cuda_text(result, text, sizeof(text)));
    return result == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}

void stp_cuda_pieces_shrink(struct cuda_part *part)
{
    struct cuda_pieces *pieces = part->pieces;

    pieces_forget_last(pieces);
    addresses_unmap_last(&pieces->addresses);
}

bool stp_cuda_pieces_behind(const void *base)
{
    CUmemGenericAllocationHandle handle;

    if (!stp_cuda_pieces_known() ||
        stp_cuda.api.mem_retain(&handle, (void *)(uintptr_t)base) != CUDA_SUCCESS)
        return false;
    stp_cuda_tell(stp_cuda.api.mem_release(handle), "cuMemRelease");
    return true;
}

CUresult stp_cuda_pieces_adopt(struct cuda_part *part, CUdeviceptr base, size_t *offset,
                               const char **call)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr start = 0;
    size_t nbytes = 0;
    CUresult result;

    *call = "cuMemRetainAllocationHandle";
    result = stp_cuda.api.mem_retain(&handle, (void *)(uintptr_t)base);
    if (result != CUDA_SUCCESS) return result;
    part->pieces = pieces_new();
    *call = "cuMemGetAddressRange";
    result = part->pieces != NULL ? stp_cuda.api.mem_get_address_range(&start, &nbytes, base)
                                  : CUDA_ERROR_OUT_OF_MEMORY;
    *offset = base - start;
    if (result == CUDA_SUCCESS) {
        *call = "cuMemExportToShareableHandle";
        result = pieces_export(part->pieces, handle, nbytes);
    }
    stp_cuda_tell(stp_cuda.api.mem_release(handle), "cuMemRelease");
    if (result != CUDA_SUCCESS) stp_cuda_pieces_drop(part);
    return result;
}

void stp_cuda_pieces_share(const struct cuda_part *part, struct cuda_pieces_share *share)
{
    struct cuda_pieces *pieces = part->pieces;

    stp_neighbour_me(&share->owner, pieces->secret);
    share->list = (uintptr_t)pieces->list;
    share->reserved = pieces->addresses.reserved;
    if (share->reserved == 0) share->reserved = pieces->list[0].nbytes;
}

void stp_cuda_pieces_drop(struct cuda_part *part)
{
    struct cuda_pieces *pieces = part->pieces;

    if (pieces == NULL) return;
    while (pieces->n > 0)
        pieces_forget_last(pieces);
    addresses_free(&pieces->addresses);
    free(pieces);
    part->pieces = NULL;
}

/* ---- the others ------------------------------------------------------------------------- */

static int peer_why(char *why, size_t len, const char *call, CUresult result)
{
    char text[CUDA_TEXT];

    snprintf(why, len, "%s: %s", call, stp_cuda_text(result, text, sizeof(text)));
    return -EIO;
}

static int peer_map(struct cuda_addresses *addresses, const struct cuda_device *device,
                    const struct cuda_pieces_share *share, const struct cuda_piece *piece,
                    char *why, size_t len)
{
    int fd = stp_neighbour_take(&share->owner, piece->fd);
    CUmemGenericAllocationHandle handle;
    const char *call = "cuMemImportFromShareableHandle";
    CUresult result;

    if (fd < 0) {
        snprintf(why, len, "the kernel gives no descriptor of process %d: %s",
                 (int)share->owner.pid, stp_strerror(-fd));
        return fd;
    }
    result = stp_cuda.api.mem_import(&handle, (void *)(intptr_t)fd,
                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    close(fd);
    if (result == CUDA_SUCCESS) {
        result = addresses_map(addresses, device, handle, piece->nbytes, &call);
        stp_cuda_tell(stp_cuda.api.mem_release(handle), "cuMemRelease"); /* the mapping has it */
    }
    return result == CUDA_SUCCESS ? 0 : peer_why(why, len, call, result);
}

int stp_cuda_pieces_more(struct cuda_addresses *addresses, const struct cuda_device *device,
                         const struct cuda_pieces_share *share, size_t nbytes, char *why,
                         size_t len)
{
    struct cuda_piece list[CUDA_PIECES];
    int rc = stp_neighbour_prove(&share->owner);

    if (rc == 0) rc = stp_neighbour_read(&share->owner, list, share->list, sizeof(list));
    if (rc != 0) {
        snprintf(why, len, "the kernel does not let process %d be read: %s", (int)share->owner.pid,
                 stp_strerror(-rc));
        return rc;
    }
    while (rc == 0 && addresses->nbytes < nbytes && addresses->n < CUDA_PIECES)
        rc = peer_map(addresses, device, share, &list[addresses->n], why, len);
    return rc;
}

int stp_cuda_pieces_open(struct cuda_addresses *addresses, const struct cuda_device *device,
                         const struct cuda_pieces_share *share, size_t nbytes, char *why,
                         size_t len)
{
    CUresult result;
    int rc;

    if (!stp_cuda_pieces_known()) {
        snprintf(why, len, "this driver has no memory by handles");
        return -ENOTSUP;
    }
    result = addresses_reserve(addresses, share->reserved);
    if (result != CUDA_SUCCESS) return peer_why(why, len, "cuMemAddressReserve", result);
    rc = stp_cuda_pieces_more(addresses, device, share, nbytes, why, len);
    if (rc != 0) addresses_free(addresses);
    return rc;
}

void stp_cuda_pieces_close(struct cuda_addresses *addresses)
{
    addresses_free(addresses);
}
