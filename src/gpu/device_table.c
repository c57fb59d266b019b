/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file fills the table in which the kernels of a handle find the addresses of objects. The
 * table has a row for each space that the kernels (or host threads) can load from and store to. A
 * row has an address for each PE of the team. Design: docs/design/streams.md.
 */
#include "device_handle_host_side.h"

#include "rma/rma.h"
#include "space/space_lifecycle.h"

#include <errno.h>

/* ---- spaces that have a row ----------------------------------------------------------------- */

/*
 * Returns whether the space gets a row in the table. If host threads use the handle, each space in
 * host memory gets a row. If kernels use the handle, each space in the memory of their GPU gets a
 * row. A space in pinned host memory also gets a row, but only if the GPU and the host use the same
 * addresses. With different addresses, the GPU could see the pieces that growth adds at unrelated
 * addresses. A row has only one base address for all pieces.
 */
static bool table_has_row_for(const struct stp_device_handle *handle, const struct stp_space *space)
{
    if (!handle->on_gpu) return space->host;
    if (space->host) return space->pinned != NULL && handle->gpu.host_pointers;
    return !stp_space_is_private(space) && space->device == handle->gpu.device;
}

/*
 * Adds a user to a space and stores the space's address in the variable at arg. Does nothing if the
 * space is incomplete, is being destroyed or belongs to a handle. The caller holds the registry's
 * lock.
 */
static void table_add_user(const struct stp_space *const_space, void *arg)
{
    struct stp_space *space = (struct stp_space *)const_space, **result = arg;
    bool usable;

    pthread_mutex_lock(&stp_rt.lock);
    usable = space->usable;
    if (usable) {
        space->n_users++;
        *result = space;
    }
    pthread_mutex_unlock(&stp_rt.lock);
}

/*
 * Returns the space with this number after adding a user to it. Returns NULL if the space does not
 * exist or gets no row.
 */
static struct stp_space *table_take(const struct stp_device_handle *handle, unsigned number)
{
    struct stp_space *space = NULL;

    (void)stp_space_with_locked(number, table_add_user, &space);
    if (space == NULL || table_has_row_for(handle, space)) return space;
    stp_space_use(space, -1);
    return NULL;
}

/*
 * Returns the next space that gets a row, after adding a user to it. Returns NULL at the end. The
 * argument `previous` is the previous result, or NULL. The data segment can have several parts with
 * the same space number. These parts are not freed before shmem_finalize, so
 * `previous->next_part` stays valid.
 */
static struct stp_space *table_next(const struct stp_device_handle *handle, unsigned *number,
                                    struct stp_space *previous)
{
    struct stp_space *space = NULL;

    if (previous != NULL && *number == STP_SPACE_DATA) space = previous->next_part;
    if (space != NULL) stp_space_use(space, 1);
    while (space == NULL && *number + 1 < STP_SPACE_NUMBERS)
        space = table_take(handle, ++*number);
    return space;
}

#define FOR_EACH_ROW(handle, space, number)                                                        \
    for (struct stp_space *space =                                                                 \
             (number = STP_SPACE_INTERNAL, table_next(handle, &number, NULL));                     \
         space != NULL; space = table_next(handle, &number, space))

size_t stp_device_handle_count_eligible(const struct stp_device_handle *handle)
{
    unsigned number;
    size_t n = 0;

    FOR_EACH_ROW(handle, space, number)
    {
        stp_space_use(space, -1);
        n++;
    }
    return n;
}

/* ---- contents ------------------------------------------------------------------------------- */

/*
 * Returns the GPU's address of pe's part of the handle's own space. Returns 0 if the GPU cannot
 * access this part.
 */
static uint64_t table_words(const struct stp_device_handle *handle, int pe)
{
    struct stp_space *words = handle->words;
    size_t offset = (size_t)((char *)handle->view.sync - words->base);
    int local = stp_local_of(pe);
    void *gpu_addr = local >= 0 ? stp_pinned_device_ptr(words, local, offset) : NULL;

    return gpu_addr != NULL ? (uint64_t)(uintptr_t)gpu_addr - offset : 0;
}

/* Returns the address by which kernels access pe's part of a space, or 0 if they must use rings. */
static uint64_t table_part(const struct stp_device_handle *handle, struct stp_space *space, int pe)
{
    int local = stp_local_of(pe);

    if (space->team != NULL && stp_team_rank_of(space->team, pe) < 0) return 0;
    if (pe != stp_rt.pe && handle->by_ring) return 0;
    if (handle->on_gpu && space == handle->words) return table_words(handle, pe);
    if (pe == stp_rt.pe) return (uint64_t)(uintptr_t)space->base;
    if (space->host) return (uint64_t)(uintptr_t)stp_ptr(space->base, pe);
    return local >= 0 ? (uint64_t)(uintptr_t)stp_kind_reach(space, local) : 0;
}

/*
 * Returns how kernels may change words in pe's part, as an SHMEMX_DEV_BY_ constant. Each allowed
 * change is atomic with respect to the accesses of PEs. If handle->kernel_atomics is not set, only
 * the PE that owns a word in device memory changes this word. If handle->kernel_atomics is set,
 * devices perform the atomics of PEs, so kernels may change the words, too. Stores by kernels are
 * then atomic with respect to atomics of CPUs and of other devices. For atomics by kernels, this is
 * only true if the bus supports atomics.
 */
static uint64_t table_access(const struct stp_device_handle *handle, struct stp_space *space,
                             int pe)
{
    if (!space->host && !handle->kernel_atomics) return SHMEMX_DEV_BY_COPY;
    if (!space->host)
        return stp_gpu_atomics_reach(space, stp_local_of(pe)) ? SHMEMX_DEV_BY_ATOMIC
                                                              : SHMEMX_DEV_BY_STORE;
    if (stp_access_path_to(space, pe, STP_USE_ATOMIC) != STP_PATH_HOST) return SHMEMX_DEV_BY_COPY;
    return handle->on_gpu && !handle->gpu.native_atomics ? SHMEMX_DEV_BY_STORE
                                                         : SHMEMX_DEV_BY_ATOMIC;
}

/*
 * Adds row n for a space. The caller has added a user to the space. The row has two arrays. The
 * first array has the address of each PE's part. The second array has the allowed accesses. Kernels
 * access the handle's own space at other addresses than the host. These addresses are higher by
 * handle->shift.
 */
static void table_add(struct stp_device_handle *handle, struct stp_space *space, size_t n,
                      uint64_t *tables)
{
    size_t n_pes = (size_t)handle->view.n_pes;
    uint64_t *parts = tables + 2 * n * n_pes, *atomic = parts + n_pes;
    uint64_t shift = space == handle->words ? handle->shift : 0;

    for (size_t i = 0; i < n_pes; i++) {
        parts[i] = table_part(handle, space, handle->pes[i]);
        atomic[i] =
            parts[i] != 0 ? table_access(handle, space, handle->pes[i]) : SHMEMX_DEV_BY_COPY;
    }
    handle->view.spaces[n] = (struct stp_dev_space){
        .base = (uint64_t)(uintptr_t)space->base + shift,
        .nbytes = space->max_bytes, /* includes memory that growth may add */
        .parts = (uint64_t)(uintptr_t)parts + handle->shift,
        .atomic = (uint64_t)(uintptr_t)atomic + handle->shift,
    };
    handle->row_spaces[n] = space;
    handle->bases[n] = space->base;
}

/* The first row is for the handle's own space. There is always room for this row. */
void stp_device_handle_fill_tables(struct stp_device_handle *handle, uint64_t *tables)
{
    size_t n = 1;
    unsigned number;

    stp_space_use(handle->words, 1);
    table_add(handle, handle->words, 0, tables);
    FOR_EACH_ROW(handle, space, number)
    {
        if (n < handle->view.n_spaces)
            table_add(handle, space, n++, tables);
        else
            stp_space_use(space, -1); /* no row is left for this new space, so kernels use rings */
    }
    handle->view.n_spaces = (uint32_t)n;
}

int stp_device_handle_find_gpu_words(struct stp_device_handle *handle)
{
    uint64_t gpu_addr;

    if (!handle->on_gpu) return 0;
    gpu_addr = table_words(handle, stp_rt.pe);
    if (gpu_addr == 0) return -EFAULT;
    handle->shift = gpu_addr - (uint64_t)(uintptr_t)handle->words->base;
    return 0;
}

static void *table_shifted(const struct stp_device_handle *handle, const void *words)
{
    return (void *)((uintptr_t)words + handle->shift);
}

shmemx_device_handle_t stp_device_handle_view(const struct stp_device_handle *handle)
{
    shmemx_device_handle_t view = handle->view;

    view.spaces = table_shifted(handle, view.spaces);
    view.rings = table_shifted(handle, view.rings);
    view.slots = table_shifted(handle, view.slots);
    view.sync = table_shifted(handle, view.sync);
    return view;
}
