/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file shares the parts of GPU spaces between the PEs of a node. When a space is created, each
 * PE exports its part with an IPC handle, and the other PEs map the part. If the driver refuses to
 * map a part, the proxy thread of the PE that owns the part makes the copies. Such a refusal is
 * therefore no error. Design: docs/design/cuda.md.
 */
#include "cuda.h"

#include <errno.h>
#include <string.h>

/* Data that the GPU kind stores in the field bytes of struct stp_part_export. */
struct peer_export {
    CUipcMemHandle handle; /* IPC handle of the allocation that holds the part */
    CUuuid uuid;           /* UUID of the device that holds the part */
    uint64_t offset;       /* offset of the part in the allocation */
    uint64_t nbytes;       /* size of the part in bytes */
};
_Static_assert(sizeof(struct peer_export) <= STP_PART_EXPORT_BYTES,
               "the struct must fit the bytes that PEs exchange");

/* ---- the owner ----------------------------------------------------------------------- */

/*
 * Gets the IPC handle of the allocation that contains this PE's part. Fails for memory from
 * cuMemCreate(), because the driver has no IPC handles for such memory.
 */
static CUresult peer_make_export(const struct stp_space *space, struct peer_export *export,
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

void stp_cuda_peer_export(const struct stp_space *space, struct stp_part_export *share)
{
    const struct cuda_part *part = space->kind_data;
    struct peer_export export;
    char text[CUDA_TEXT];
    const char *call;
    CUresult result;

    share->valid = 0;
    if (!stp_env.gpu_ipc) {
        stp_info("gpu space %u: SHMEM_GPU_IPC is off, so this PE copies data for the other PEs of "
                 "the node",
                 space->number);
        return;
    }
    /* Zero the padding too, because all bytes are sent to peers. */
    memset(&export, 0, sizeof(export));
    export.uuid = part->device->uuid;
    export.nbytes = space->nbytes;
    result = peer_make_export(space, &export, &call);
    if (result != CUDA_SUCCESS) {
        stp_info("gpu space %u: the other PEs of the node cannot map the memory of this PE: %s: "
                 "%s%s",
                 space->number, call, stp_cuda_text(result, text, sizeof(text)),
                 part->allocated == 0 ? " (memory of cuMemCreate has no IPC handle)" : "");
        return;
    }
    memcpy(share->bytes, &export, sizeof(export));
    share->valid = 1;
}

/* ---- other members ---------------------------------------------------------------------- */

/*
 * Maps a peer's part. Returns false on failure. If the driver refuses the mapping, logs an info
 * message.
 */
static bool peer_open(const struct stp_space *space, struct cuda_peer *peer,
                      const struct peer_export *export, int pe)
{
    const struct cuda_part *part = space->kind_data;
    CUdeviceptr mapping;
    CUresult result;
    char text[CUDA_TEXT];

    if (stp_cuda_enter(part->device) != 0) return false;
    result = stp_cuda.api.ipc_open_mem_handle(&mapping, export->handle,
                                              CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    stp_cuda_leave();
    if (result != CUDA_SUCCESS) {
        stp_info("gpu space %u: gpu %d cannot map the part of PE %d: cuIpcOpenMemHandle: %s; that "
                 "PE copies the data instead",
                 space->number, space->device, pe, stp_cuda_text(result, text, sizeof(text)));
        return false;
    }
    peer->mapping = (char *)(uintptr_t)mapping;
    peer->base = peer->mapping + export->offset;
    stp_cuda_range_add(peer->base, export->nbytes, part->device, true);
    return true;
}

int stp_cuda_peer_attach(struct stp_space *space, int local, const struct stp_part_export *share)
{
    struct cuda_part *part = space->kind_data;
    struct peer_export export;
    struct cuda_peer *peer;

    if (local < 0 || local >= part->n_peers) {
        stp_error("gpu space %u: PE %d has the index %d on its node, but the indices of this "
                  "node are 0..%d",
                  space->number, share->pe, local, part->n_peers - 1);
        return -EINVAL;
    }
    peer = &part->peers[local];
    memcpy(&export, share->bytes, sizeof(export));
    peer->uuid = export.uuid;
    if (local == stp_window_local())
        peer->base = space->base;
    else if (share->valid && stp_env.gpu_ipc && peer_open(space, peer, &export, share->pe))
        stp_cuda_reduce_prepare(part->device);
    return 0;
}

void *stp_cuda_peer_reach(struct stp_space *space, int local)
{
    const struct cuda_part *part = space->kind_data;

    return local >= 0 && local < part->n_peers ? part->peers[local].base : NULL;
}

/* Unmaps all parts of peers. First waits for copies in progress, which may access these parts. */
void stp_cuda_peer_detach(struct stp_space *space)
{
    struct cuda_part *part = space->kind_data;
    bool entered;

    if (part == NULL) return;
    stp_cuda_streams_drain(part->device, false);
    entered = stp_cuda_enter(part->device) == 0;
    for (int local = 0; local < part->n_peers; local++) {
        struct cuda_peer *peer = &part->peers[local];
        if (peer->mapping == NULL) continue;
        stp_cuda_range_remove(peer->base);
        if (entered)
            stp_cuda_log_failure(
                stp_cuda.api.ipc_close_mem_handle((CUdeviceptr)(uintptr_t)peer->mapping),
                "cuIpcCloseMemHandle");
        peer->mapping = peer->base = NULL;
    }
    if (entered) stp_cuda_leave();
}
