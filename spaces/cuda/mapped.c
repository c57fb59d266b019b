/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host spaces whose memory devices reach: what the heap has handed out is registered with the
 * driver, by pieces of 2 MiB, this PE's part and its view of the parts of the node's peers. Design:
 * docs/design/cuda.md.
 */
#include "cuda.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAPPED_PIECE ((size_t)2 << 20)

enum { PIECE_UNKNOWN, PIECE_REFUSED, PIECE_THERE };

/* One registration: pieces of one part that lie side by side. */
struct mapped_run {
    struct mapped_run *next;
    char *host;
    int local; /* whose part */
};

struct stp_mapped {
    struct cuda_device *device; /* a reference is held: its context keeps the registrations */
    size_t n_pieces;
    struct mapped_run *runs;
    bool told;              /* of a refusal */
    unsigned char pieces[]; /* the same for all parts; changed by collective calls alone */
};

/* Where this PE has a part of the space, which it has reached before. */
static char *mapped_part(const struct stp_space *space, int local)
{
    if (local == stp_window_local()) return space->base;
    if (space->outside != NULL) return stp_outside_reach(space, local);
    return stp_window_part(local) + space->offset;
}

static int mapped_choose(const struct stp_space_params *params, struct cuda_device **device,
                         char *why, size_t len)
{
    int rc = stp_cuda_choose(params, device, why, len);

    if (rc != 0 || stp_cuda.api.mem_host_get_device_pointer != NULL) return rc;
    snprintf(why, len, "the driver is too old");
    return -EOPNOTSUPP;
}

bool stp_mapped_can(char *why, size_t len)
{
    const struct stp_space_params wanted = {.device = -1};
    struct cuda_device *device;

    return mapped_choose(&wanted, &device, why, len) == 0;
}

int stp_mapped_create(struct stp_space *space, const struct stp_space_params *params)
{
    size_t n = (space->max_bytes + MAPPED_PIECE - 1) / MAPPED_PIECE; /* it may grow */
    struct cuda_device *device;
    struct stp_mapped *mapped;
    char text[CUDA_TEXT];
    int rc = mapped_choose(params, &device, text, sizeof(text));

    if (rc != 0) {
        stp_error("host memory cannot be pinned for GPUs: %s", text);
        return rc;
    }
    mapped = calloc(1, sizeof(*mapped) + n);
    if (mapped == NULL) {
        stp_error("no memory for the records of a pinned space of %zu bytes", space->max_bytes);
        return -ENOMEM;
    }
    rc = stp_cuda_retain(device);
    if (rc != 0) {
        free(mapped);
        return rc;
    }
    mapped->device = device;
    mapped->n_pieces = n;
    space->mapped = mapped;
    return 0;
}

static size_t mapped_first(size_t offset)
{
    return offset / MAPPED_PIECE;
}

/* Behind the last piece of nbytes at offset. */
static size_t mapped_end(size_t offset, size_t nbytes)
{
    return nbytes == 0 ? mapped_first(offset) : (offset + nbytes - 1) / MAPPED_PIECE + 1;
}

bool stp_mapped_lacks(const struct stp_space *space, size_t offset, size_t nbytes)
{
    const struct stp_mapped *mapped = space->mapped;
    bool lacks = false;

    for (size_t i = mapped_first(offset); i < mapped_end(offset, nbytes); i++)
        lacks |= mapped->pieces[i] == PIECE_UNKNOWN;
    return lacks;
}

/* The context is current. */
static int mapped_register(struct stp_space *space, int local, size_t from, size_t end)
{
    struct stp_mapped *mapped = space->mapped;
    size_t at = from * MAPPED_PIECE, stop = end * MAPPED_PIECE;
    size_t nbytes = (stop < space->nbytes ? stop : space->nbytes) - at;
    struct mapped_run *run = malloc(sizeof(*run));
    CUresult result;

    if (run == NULL) return -ENOMEM;
    *run = (struct mapped_run){mapped->runs, mapped_part(space, local) + at, local};
    result = stp_cuda.api.mem_host_register(
        run->host, nbytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (result != CUDA_SUCCESS) {
        char text[CUDA_TEXT];

        if (!mapped->told)
            stp_warn("gpu %d: %zu bytes of host memory at %p are not pinned: cuMemHostRegister: %s "
                     "(told once)",
                     mapped->device->ordinal, nbytes, (void *)run->host,
                     stp_cuda_text(result, text, sizeof(text)));
        mapped->told = true;
        free(run);
        return -EIO;
    }
    mapped->runs = run;
    return 0;
}

static bool mapped_is_peers(const struct stp_space *space, const struct mapped_run *run)
{
    (void)space;
    return run->local != stp_window_local();
}

static bool mapped_is_any(const struct stp_space *space, const struct mapped_run *run)
{
    (void)space;
    (void)run;
    return true;
}

/* Of an attempt that failed somewhere. */
static bool mapped_is_unsettled(const struct stp_space *space, const struct mapped_run *run)
{
    size_t at = (size_t)(run->host - mapped_part(space, run->local));

    return space->mapped->pieces[mapped_first(at)] == PIECE_UNKNOWN;
}

static void mapped_unregister(struct stp_space *space,
                              bool (*which)(const struct stp_space *, const struct mapped_run *))
{
    struct stp_mapped *mapped = space->mapped;
    struct mapped_run **at = &mapped->runs, *run;
    bool entered = mapped->runs != NULL && stp_cuda_enter(mapped->device) == 0;

    while ((run = *at) != NULL) {
        if (!which(space, run)) {
            at = &run->next;
            continue;
        }
        if (entered)
            stp_cuda_tell(stp_cuda.api.mem_host_unregister(run->host), "cuMemHostUnregister");
        *at = run->next;
        free(run);
    }
    if (entered) stp_cuda_leave();
}

int stp_mapped_add(struct stp_space *space, int local, size_t offset, size_t nbytes)
{
    struct stp_mapped *mapped = space->mapped;
    size_t end = mapped_end(offset, nbytes);
    bool reached = local == stp_window_local() || stp_kind_host_reach(space, local) != NULL;
    int rc = reached ? 0 : -EIO;

    if (rc == 0) rc = stp_cuda_enter(mapped->device);
    if (rc != 0) return rc;
    for (size_t i = mapped_first(offset), j; i < end && rc == 0; i = j + 1) {
        for (j = i; j < end && mapped->pieces[j] == PIECE_UNKNOWN; j++) {
        }
        if (j > i) rc = mapped_register(space, local, i, j);
    }
    stp_cuda_leave();
    return rc;
}

void stp_mapped_settle(struct stp_space *space, size_t offset, size_t nbytes, bool there)
{
    struct stp_mapped *mapped = space->mapped;

    if (!there) mapped_unregister(space, mapped_is_unsettled);
    if (!there && !space->permanent) return; /* to be tried again, with the next block */
    for (size_t i = mapped_first(offset); i < mapped_end(offset, nbytes); i++)
        if (mapped->pieces[i] == PIECE_UNKNOWN) /* Pairs with the acquire of stp_mapped_ptr(). */
            __atomic_store_n(&mapped->pieces[i], there ? PIECE_THERE : PIECE_REFUSED,
                             __ATOMIC_RELEASE);
}

void *stp_mapped_ptr(const struct stp_space *space, int local, size_t offset)
{
    const struct stp_mapped *mapped = space->mapped;
    CUdeviceptr at = 0;
    CUresult result;

    if (__atomic_load_n(&mapped->pieces[mapped_first(offset)], __ATOMIC_ACQUIRE) != PIECE_THERE ||
        stp_cuda_enter(mapped->device) != 0)
        return NULL;
    result = stp_cuda.api.mem_host_get_device_pointer(&at, mapped_part(space, local) + offset, 0);
    stp_cuda_leave();
    stp_cuda_tell(result, "cuMemHostGetDevicePointer");
    return result == CUDA_SUCCESS ? (void *)(uintptr_t)at : NULL;
}

const struct cuda_device *stp_mapped_device(const struct stp_space *space)
{
    return space->mapped->device;
}

int stp_mapped_ordinal(const struct stp_space *space)
{
    return space->mapped->device->ordinal;
}

bool stp_mapped_refused(const struct stp_space *space)
{
    const struct stp_mapped *mapped = space->mapped;

    for (size_t i = 0; i < mapped->n_pieces; i++)
        if (mapped->pieces[i] == PIECE_REFUSED) return true;
    return false;
}

void stp_mapped_detach(struct stp_space *space)
{
    if (space->mapped != NULL) mapped_unregister(space, mapped_is_peers);
}

void stp_mapped_destroy(struct stp_space *space)
{
    struct stp_mapped *mapped = space->mapped;

    if (mapped == NULL) return;
    mapped_unregister(space, mapped_is_any);
    stp_cuda_release(mapped->device);
    free(mapped);
    space->mapped = NULL;
}
