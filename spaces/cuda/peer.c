/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPU memory of the other PEs of the node: exported as an IPC handle, opened when the space is made
 * or, with SHMEM_GPU_IPC=lazy, when somebody first wants to reach it. A refusal is no error: the
 * owner's proxy thread copies then. Design: docs/design/cuda.md.
 */
#include "cuda.h"

#include <errno.h>
#include <string.h>

/* What stp_share.bytes holds. */
struct peer_export {
    CUipcMemHandle handle; /* of the allocation that the part lies in */
    CUuuid uuid;           /* of the device */
    uint64_t offset;       /* of the part in the allocation */
    uint64_t nbytes;       /* of the part */
};
_Static_assert(sizeof(struct peer_export) <= STP_SHARE_BYTES, "a share carries it");

enum { PEER_NONE, PEER_CLOSED, PEER_REFUSED, PEER_THERE };

/* ---- the owner ----------------------------------------------------------------------- */

static CUresult peer_make_export(const struct stp_space *space, struct peer_export *export,
                                 const char **call)
{
    CUdeviceptr base = (CUdeviceptr)(uintptr_t)space->base, start;
    size_t nbytes;
    CUresult result;

    *call = "cuMemGetAddressRange";
    result = stp_cuda.api.mem_get_address_range(&start, &nbytes, base);
    if (result != CUDA_SUCCESS) return result;
    export->offset = base - start;
    *call = "cuIpcGetMemHandle";
    return stp_cuda.api.ipc_get_mem_handle(&export->handle, start);
}

void stp_cuda_peer_export(const struct stp_space *space, struct stp_share *share)
{
    const struct cuda_part *part = space->own;
    struct peer_export export = {.uuid = part->device->uuid, .nbytes = space->nbytes};
    char text[CUDA_TEXT];
    const char *call;
    CUresult result;

    share->valid = 0;
    if (stp_env.gpu_ipc == STP_IPC_OFF) {
        stp_info("gpu space %u: SHMEM_GPU_IPC is off: this PE copies for the others of the node",
                 space->number);
        return;
    }
    if (stp_cuda.api.ipc_get_mem_handle == NULL || stp_cuda.api.ipc_open_mem_handle == NULL ||
        stp_cuda.api.ipc_close_mem_handle == NULL) {
        stp_info("gpu space %u: this driver shares no memory between processes", space->number);
        return;
    }
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
        if (stp_env.gpu_ipc == STP_IPC_ON) (void)stp_cuda_peer_reach(space, local);
    }
    return 0;
}

static void peer_told(const struct stp_space *space, const struct cuda_peer *peer, CUresult result)
{
    char text[CUDA_TEXT];

    stp_info("gpu space %u: gpu %d cannot map the part of PE %d: cuIpcOpenMemHandle: %s; its "
             "owner copies",
             space->number, space->device, peer->share.pe,
             stp_cuda_text(result, text, sizeof(text)));
}

static void peer_open_locked(const struct stp_space *space, struct cuda_peer *peer)
{
    struct cuda_part *part = space->own;
    int state = PEER_REFUSED;
    struct peer_export export;
    CUdeviceptr mapping;
    CUresult result;

    memcpy(&export, peer->share.bytes, sizeof(export));
    if (stp_cuda_enter(part->device) == 0) {
        result = stp_cuda.api.ipc_open_mem_handle(&mapping, export.handle,
                                                  CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
        stp_cuda_leave();
        if (result == CUDA_SUCCESS) {
            peer->mapping = (char *)(uintptr_t)mapping;
            peer->there = peer->mapping + export.offset;
            stp_cuda_range_add(peer->there, export.nbytes, part->device, true);
            state = PEER_THERE;
        } else {
            peer_told(space, peer, result);
        }
    }
    /* Pairs with the acquire of stp_cuda_peer_reach(). */
    __atomic_store_n(&peer->state, state, __ATOMIC_RELEASE);
}

void *stp_cuda_peer_reach(struct stp_space *space, int local)
{
    struct cuda_part *part = space->own;
    struct cuda_peer *peer;
    int state;

    if (local < 0 || local >= part->n_peers) return NULL;
    peer = &part->peers[local];
    state = __atomic_load_n(&peer->state, __ATOMIC_ACQUIRE);
    if (STP_UNLIKELY(state == PEER_CLOSED)) {
        pthread_mutex_lock(&part->lock);
        if (peer->state == PEER_CLOSED) peer_open_locked(space, peer);
        state = peer->state;
        pthread_mutex_unlock(&part->lock);
    }
    return state == PEER_THERE ? peer->there : NULL;
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
        if (peer->mapping == NULL) continue;
        stp_cuda_range_remove(peer->there, true);
        if (entered)
            stp_cuda_tell(stp_cuda.api.ipc_close_mem_handle((CUdeviceptr)(uintptr_t)peer->mapping),
                          "cuIpcCloseMemHandle");
        peer->mapping = NULL;
        __atomic_store_n(&peer->state, PEER_REFUSED, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&part->lock);
    if (entered) stp_cuda_leave();
}
