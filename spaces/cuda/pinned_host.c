/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file lets GPUs access spaces in host memory. It registers this PE's part with the CUDA
 * driver. It also registers the peers' parts that this PE has mapped. When a part grows, the new
 * memory of the part is registered separately. Design: docs/design/cuda.md.
 */
#include "cuda.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * A range of a part that was registered with one driver call. The range is the initial memory of
 * the part, or memory that was added when the part grew.
 */
struct mapped_piece {
    struct mapped_piece *next;
    char *host;
    int local;     /* local index of the PE that owns the part */
    size_t offset; /* offset of the piece in the part */
};

struct stp_pinned {
    /*
     * Device in whose context the pieces are registered. This structure holds a reference to the
     * context.
     */
    struct cuda_device *device;
    struct mapped_piece *pieces;
};

/* Returns the address of a part. Maps the part first if necessary. Returns NULL if this fails. */
static char *mapped_part(struct stp_space *space, int local)
{
    if (local == stp_window_local()) return space->base;
    return local >= 0 ? stp_kind_reach(space, local) : NULL;
}

static int mapped_choose(const struct stp_space_params *params, struct cuda_device **device,
                         char *reason, size_t len)
{
    int rc = stp_cuda_choose(params, device, reason, len);

    if (rc != 0 || stp_cuda.api.mem_host_get_device_pointer != NULL) return rc;
    return stp_reason(-EOPNOTSUPP, reason, len, "the CUDA driver has no cuMemHostGetDevicePointer");
}

bool stp_pinned_is_possible(char *reason, size_t len)
{
    const struct stp_space_params params = {.device = -1};
    struct cuda_device *device;

    return mapped_choose(&params, &device, reason, len) == 0;
}

static int mapped_new(struct stp_space *space, const struct stp_space_params *params, char *reason,
                      size_t len)
{
    struct cuda_device *device;
    int rc = mapped_choose(params, &device, reason, len);

    if (rc != 0) return rc;
    space->pinned = calloc(1, sizeof(*space->pinned));
    if (space->pinned == NULL)
        return stp_reason(-ENOMEM, reason, len, "this process is out of memory");
    rc = stp_cuda_context_ref(device);
    if (rc == 0) {
        space->pinned->device = device;
        return 0;
    }
    snprintf(reason, len, "gpu %d cannot be used (an earlier message gives the reason)",
             device->ordinal);
    free(space->pinned);
    space->pinned = NULL;
    return rc;
}

int stp_pinned_register_space(struct stp_space *space, const struct stp_space_params *params)
{
    char reason[2 * CUDA_TEXT];
    int rc = mapped_new(space, params, reason, sizeof(reason));

    if (rc == 0) {
        rc = stp_pinned_register(space, stp_window_local(), 0, space->nbytes, reason,
                                 sizeof(reason));
        if (rc != 0) stp_pinned_unregister_space(space);
    }
    if (rc != 0) stp_error("cannot pin host memory for GPUs: %s", reason);
    return rc;
}

/*
 * Registers a piece and adds it to the list. The caller has made the device's context current.
 * Returns 0. On failure, writes an error text to reason and returns -errno.
 */
static int mapped_register(struct stp_pinned *mapped, const struct mapped_piece *piece,
                           size_t nbytes, char *reason, size_t len)
{
    struct mapped_piece *entry = malloc(sizeof(*entry));
    char text[CUDA_TEXT];
    CUresult result;

    if (entry == NULL) return stp_reason(-ENOMEM, reason, len, "this process is out of memory");
    result = stp_cuda.api.mem_host_register(
        piece->host, nbytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (result != CUDA_SUCCESS) {
        snprintf(reason, len, "gpu %d: cuMemHostRegister of %zu bytes failed: %s",
                 mapped->device->ordinal, nbytes, stp_cuda_text(result, text, sizeof(text)));
        free(entry);
        return -EIO;
    }
    *entry = *piece;
    entry->next = mapped->pieces;
    mapped->pieces = entry;
    return 0;
}

int stp_pinned_register(struct stp_space *space, int local, size_t start, size_t end, char *reason,
                        size_t len)
{
    struct stp_pinned *mapped = space->pinned;
    char *part = mapped_part(space, local);
    struct mapped_piece piece = {.host = part + start, .local = local, .offset = start};
    int rc = part != NULL ? stp_cuda_enter(mapped->device) : -EIO;

    if (rc != 0)
        return stp_reason(rc, reason, len,
                          part != NULL
                              ? "gpu %d cannot be used (an earlier message gives the reason)"
                              : "this PE has not mapped the memory that gpu %d would use",
                          mapped->device->ordinal);
    if (end > start) rc = mapped_register(mapped, &piece, end - start, reason, len);
    stp_cuda_leave();
    return rc;
}

/*
 * Unregisters the pieces that begin at or after the offset start. If include_own is false, pieces
 * of this PE's own part stay registered.
 */
static void mapped_unregister(struct stp_pinned *mapped, bool include_own, size_t start)
{
    struct mapped_piece **link = &mapped->pieces, *piece;
    bool entered = mapped->pieces != NULL && stp_cuda_enter(mapped->device) == 0;

    while ((piece = *link) != NULL) {
        if (piece->offset < start || (!include_own && piece->local == stp_window_local())) {
            link = &piece->next;
            continue;
        }
        if (entered)
            stp_cuda_log_failure(stp_cuda.api.mem_host_unregister(piece->host),
                                 "cuMemHostUnregister");
        *link = piece->next;
        free(piece);
    }
    if (entered) stp_cuda_leave();
}

void stp_pinned_unregister_from(struct stp_space *space, size_t start)
{
    mapped_unregister(space->pinned, true, start);
}

void stp_pinned_unregister_peers(struct stp_space *space)
{
    if (space->pinned != NULL) mapped_unregister(space->pinned, false, 0);
}

void stp_pinned_unregister_space(struct stp_space *space)
{
    struct stp_pinned *mapped = space->pinned;

    if (mapped == NULL) return;
    mapped_unregister(mapped, true, 0);
    stp_cuda_context_unref(mapped->device);
    free(mapped);
    space->pinned = NULL;
}

void *stp_pinned_device_ptr(struct stp_space *space, int local, size_t offset)
{
    const struct stp_pinned *mapped = space->pinned;
    char *part = mapped_part(space, local);
    CUdeviceptr addr = 0;
    CUresult result;

    if (part == NULL || stp_cuda_enter(mapped->device) != 0) return NULL;
    result = stp_cuda.api.mem_host_get_device_pointer(&addr, part + offset, 0);
    stp_cuda_leave();
    stp_cuda_log_failure(result, "cuMemHostGetDevicePointer");
    return result == CUDA_SUCCESS ? (void *)(uintptr_t)addr : NULL;
}

bool stp_pinned_has_native_atomics(const struct stp_space *space)
{
    return stp_cuda_attribute(space->pinned->device,
                              CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED) != 0;
}

int stp_pinned_device_ordinal(const struct stp_space *space)
{
    return space->pinned->device->ordinal;
}
