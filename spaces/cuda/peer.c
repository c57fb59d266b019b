/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPU memory of the other PEs of the node: exported as an IPC handle, or as a list of descriptors,
 * opened when the space is made or, with SHMEM_GPU_IPC=lazy, when somebody first wants to reach it.
 * A refusal is no error: the owner's proxy thread copies then. Design: docs/design/cuda.md.
 */
#include "cuda.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What stp_share.bytes holds. */
struct peer_export {
    union {
        CUipcMemHandle handle; /* of the allocation that the part lies in, */
        struct cuda_pieces_share pieces;
    };
    CUuuid uuid;     /* of the device */
    uint64_t offset; /* of the part in the allocation, or in the first piece */
    uint64_t nbytes; /* of the part, or that it may grow to */
    bool by_pieces;
};
_Static_assert(sizeof(struct peer_export) <= STP_SHARE_BYTES, "a share carries it");

enum { PEER_NONE, PEER_CLOSED, PEER_REFUSED, PEER_THERE };

/* ---- the owner ----------------------------------------------------------------------- */

/* Memory by handles has no IPC handle, and the rest no handle. */
static CUresult peer_export_pieces(const struct stp_space *space, struct peer_export *export,
                                   const char **call)
{
    struct cuda_part *part = space->own;
    CUdeviceptr base = (CUdeviceptr)(uintptr_t)space->base;
    size_t offset = 0;
    CUresult result = CUDA_SUCCESS;

    if (part->pieces == NULL) result = stp_cuda_pieces_adopt(part, base, &offset, call);
    if (result != CUDA_SUCCESS) return result;
    export->offset = offset;
    export->by_pieces = true;
    stp_cuda_pieces_share(part, &export->pieces);
    return CUDA_SUCCESS;
}

static CUresult peer_export_ipc(const struct stp_space *space, struct peer_export *export,
                                const char **call)
{
    CUdeviceptr base = (CUdeviceptr)(uintptr_t)space->base, start;
    size_t nbytes;
    CUresult result;

    *call = "cuIpcGetMemHandle";
    if (stp_cuda.api.ipc_get_mem_handle == NULL || stp_cuda.api.ipc_open_mem_handle == NULL ||
        stp_cuda.api.ipc_close_mem_handle == NULL)
        return CUDA_ERROR_NOT_SUPPORTED;
    *call = "cuMemGetAddressRange";
    result = stp_cuda.api.mem_get_address_range(&start, &nbytes, base);
    if (result != CUDA_SUCCESS) return result;
    export->offset = base - start;
    *call = "cuIpcGetMemHandle";
    return stp_cuda.api.ipc_get_mem_handle(&export->handle, start);
}

static CUresult peer_make_export(const struct stp_space *space, struct peer_export *export,
                                 const char **call)
{
    const struct cuda_part *part = space->own;

    if (part->pieces != NULL || (part->allocated == 0 && stp_cuda_pieces_behind(space->base)))
        return peer_export_pieces(space, export, call);
    return peer_export_ipc(space, export, call);
}

void stp_cuda_peer_export(const struct stp_space *space, struct stp_share *share)
{
    const struct cuda_part *part = space->own;
    struct peer_export export;
    char text[CUDA_TEXT];
    const char *call;
    CUresult result;

    share->valid = 0;
    if (stp_env.gpu_ipc == STP_IPC_OFF) {
        stp_info("gpu space %u: SHMEM_GPU_IPC is off: this PE copies for the others of the node",
                 space->number);
        return;
    }
    memset(&export, 0, sizeof(export)); /* all of it goes to the others */
    export.uuid = part->device->uuid;
    export.nbytes = space->max_bytes; /* as many addresses */
    result = peer_make_export(space, &export, &call);
    if (result != CUDA_SUCCESS) {
        stp_info("gpu space %u: the others of the node cannot map it: %s: %s", space->number, call,
                 stp_cuda_text(result, text, sizeof(text)));
        return;
    }
    memcpy(share->bytes, &export, sizeof(export));
    share->valid = 1;
}

/* ---- the others ------------------------------------------------------------------------- */

int stp_cuda_peer_attach(struct stp_space *space, int local, const struct stp_share *share)
{
    struct cuda_part *part = space->own;

    if (local < 0 || local >= part->n_peers) {
        stp_error("gpu space %u: PE %d has local index %d on a node of %d PEs", space->number,
                  share->pe, local, part->n_peers);
        return -EINVAL;
    }
    part->peers[local].share = *share;
    if (local == stp_window_local()) {
        part->peers[local].there = space->base;
        part->peers[local].state = PEER_THERE;
    } else {
        part->peers[local].state =
            share->valid && stp_env.gpu_ipc != STP_IPC_OFF ? PEER_CLOSED : PEER_REFUSED;
        if (stp_env.gpu_ipc == STP_IPC_ON && stp_cuda_peer_reach(space, local) != NULL)
            stp_cuda_reduce_prepare(part->device);
    }
    return 0;
}

static void peer_told(const struct stp_space *space, const struct cuda_peer *peer, const char *why)
{
    stp_info("gpu space %u: gpu %d cannot map the part of PE %d: %s; its owner copies",
             space->number, space->device, peer->share.pe, why);
}

/* 0, or -errno with the reason. The context is current. */
static int peer_open_ipc(struct cuda_peer *peer, const struct peer_export *export, char *why,
                         size_t len)
{
    CUdeviceptr mapping;
    CUresult result = stp_cuda.api.ipc_open_mem_handle(&mapping, export->handle,
                                                       CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    char text[CUDA_TEXT];

    if (result != CUDA_SUCCESS) {
        snprintf(why, len, "cuIpcOpenMemHandle: %s", stp_cuda_text(result, text, sizeof(text)));
        return -EIO;
    }
    peer->mapping = (char *)(uintptr_t)mapping;
    peer->there = peer->mapping + export->offset;
    return 0;
}

/* The same of pieces. */
static int peer_open_pieces(const struct stp_space *space, struct cuda_peer *peer,
                            const struct peer_export *export, char *why, size_t len)
{
    const struct cuda_part *part = space->own;
    int rc;

    peer->addresses = calloc(1, sizeof(*peer->addresses));
    if (peer->addresses == NULL) {
        snprintf(why, len, "no memory for the records of it");
        return -ENOMEM;
    }
    rc = stp_cuda_pieces_open(peer->addresses, part->device, &export->pieces,
                              export->offset + stp_space_nbytes(space), why, len);
    peer->there = (char *)(uintptr_t)peer->addresses->base + export->offset;
    if (rc == 0) return 0;
    free(peer->addresses);
    peer->addresses = NULL;
    return rc;
}

static void peer_open_locked(const struct stp_space *space, struct cuda_peer *peer)
{
    struct cuda_part *part = space->own;
    int state = PEER_REFUSED;
    struct peer_export export;
    char why[2 * CUDA_TEXT];
    int rc;

    memcpy(&export, peer->share.bytes, sizeof(export));
    if (stp_cuda_enter(part->device) == 0) {
        rc = export.by_pieces ? peer_open_pieces(space, peer, &export, why, sizeof(why))
                              : peer_open_ipc(peer, &export, why, sizeof(why));
        stp_cuda_leave();
        if (rc == 0) {
            stp_cuda_range_add(peer->there, export.nbytes, part->device, true);
            state = PEER_THERE;
        } else {
            peer_told(space, peer, why);
        }
    }
    /* Pairs with the acquire of stp_cuda_peer_reach(). */
    __atomic_store_n(&peer->state, state, __ATOMIC_RELEASE);
}

/*
 * Is some of what all members have by now not mapped here? The piece of an owner is there before
 * the space has its size.
 */
static bool peer_lacks(const struct stp_space *space, const struct cuda_peer *peer)
{
    const struct cuda_addresses *addresses = peer->addresses;

    return addresses != NULL &&
           (size_t)(peer->there - (char *)(uintptr_t)addresses->base) + stp_space_nbytes(space) >
               __atomic_load_n(&addresses->nbytes, __ATOMIC_ACQUIRE);
}

/* If there is no more, the owner copies from now on; what is mapped stays so, for who is at it. */
static void peer_grow_locked(const struct stp_space *space, struct cuda_peer *peer)
{
    struct cuda_part *part = space->own;
    size_t into = (size_t)(peer->there - (char *)(uintptr_t)peer->addresses->base);
    struct peer_export export;
    char why[2 * CUDA_TEXT] = "its context is lost";
    int rc = stp_cuda_enter(part->device);

    memcpy(&export, peer->share.bytes, sizeof(export));
    if (rc == 0) {
        rc = stp_cuda_pieces_more(peer->addresses, part->device, &export.pieces,
                                  into + stp_space_nbytes(space), why, sizeof(why));
        stp_cuda_leave();
    }
    if (rc == 0) return;
    peer_told(space, peer, why);
    __atomic_store_n(&peer->state, PEER_REFUSED, __ATOMIC_RELEASE);
}

void *stp_cuda_peer_reach(struct stp_space *space, int local)
{
    struct cuda_part *part = space->own;
    struct cuda_peer *peer;
    int state;

    if (local < 0 || local >= part->n_peers) return NULL;
    peer = &part->peers[local];
    state = __atomic_load_n(&peer->state, __ATOMIC_ACQUIRE);
    if (STP_UNLIKELY(state == PEER_CLOSED || (state == PEER_THERE && peer_lacks(space, peer)))) {
        pthread_mutex_lock(&part->lock);
        if (peer->state == PEER_CLOSED) peer_open_locked(space, peer);
        if (peer->state == PEER_THERE && peer_lacks(space, peer)) peer_grow_locked(space, peer);
        state = peer->state;
        pthread_mutex_unlock(&part->lock);
    }
    return state == PEER_THERE ? peer->there : NULL;
}

const CUuuid *stp_cuda_peer_uuid(const struct cuda_peer *peer)
{
    return (const CUuuid *)(const void *)(peer->share.bytes + offsetof(struct peer_export, uuid));
}

/* Copies that nobody waited for must not run into memory that is gone. */
void stp_cuda_peer_detach(struct stp_space *space)
{
    struct cuda_part *part = space->own;
    bool entered;

    if (part == NULL) return;
    stp_cuda_streams_drain(part->device, false);
    entered = stp_cuda_enter(part->device) == 0;
    pthread_mutex_lock(&part->lock);
    for (int local = 0; local < part->n_peers; local++) {
        struct cuda_peer *peer = &part->peers[local];
        if (peer->state == PEER_CLOSED) peer->state = PEER_REFUSED;
        if (peer->mapping == NULL && peer->addresses == NULL) continue;
        stp_cuda_range_remove(peer->there, true);
        if (peer->addresses != NULL)
            stp_cuda_pieces_close(peer->addresses);
        else if (entered)
            stp_cuda_tell(stp_cuda.api.ipc_close_mem_handle((CUdeviceptr)(uintptr_t)peer->mapping),
                          "cuIpcCloseMemHandle");
        free(peer->addresses);
        peer->addresses = NULL;
        peer->mapping = NULL;
        __atomic_store_n(&peer->state, PEER_REFUSED, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&part->lock);
    if (entered) stp_cuda_leave();
}
