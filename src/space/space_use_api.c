/* SPDX-License-Identifier: BSD-3-Clause */
/* This file implements the public routines that allocate in spaces and that query a space. */
#include "space_lifecycle.h"

#include "pshmem.h"
#include "spaces/cuda/pinned_host_and_kernel_gpu.h"

#include <errno.h>
#include <string.h>

void *pshmem_space_malloc(shmem_space_t handle, size_t size)
{
    struct stp_space *space;

    if (stp_space_is_invalid(handle) || size == 0) return NULL;
    space = stp_space_check(handle, __func__, "space");
    return stp_space_alloc(space, size, 0, false, __func__);
}
STP_PROFILED(shmem_space_malloc);

void *pshmem_space_calloc(shmem_space_t handle, size_t count, size_t size)
{
    struct stp_space *space;
    size_t nbytes;

    if (stp_space_is_invalid(handle) || count == 0 || size == 0) return NULL;
    space = stp_space_check(handle, __func__, "space");
    /*
     * If the product overflows, use a size that no space has. The allocation then returns NULL, but
     * this PE still enters the barrier at the end of the allocation.
     */
    if (__builtin_mul_overflow(count, size, &nbytes)) nbytes = SIZE_MAX;
    return stp_space_alloc(space, nbytes, 0, true, __func__);
}
STP_PROFILED(shmem_space_calloc);

void pshmem_space_free(shmem_space_t handle, void *ptr)
{
    if (stp_space_is_invalid(handle) || ptr == NULL) return;
    stp_space_free(stp_space_check(handle, __func__, "space"), ptr, __func__);
}
STP_PROFILED(shmem_space_free);

int pshmem_space_get_team(shmem_space_t handle, shmem_team_t *team)
{
    struct stp_team *user_team;
    struct stp_space *space;

    stp_check_given(team, __func__, "team");
    if (stp_space_is_invalid(handle)) return 1;
    space = stp_space_check(handle, __func__, "space");
    /* Pairs with the release store in shmem_team_destroy() of another thread. */
    user_team = __atomic_load_n(&space->user_team, __ATOMIC_ACQUIRE);
    *team = user_team != NULL ? stp_team_handle(user_team) : SHMEM_TEAM_INVALID;
    return 0;
}
STP_PROFILED(shmem_space_get_team);

int pshmem_space_get_device_type(shmem_space_t handle, shmem_device_type_t *type)
{
    stp_check_given(type, __func__, "type");
    if (stp_space_is_invalid(handle)) return 1;
    *type = (shmem_device_type_t)stp_space_check(handle, __func__, "space")->kind->device_type;
    return 0;
}
STP_PROFILED(shmem_space_get_device_type);

int pshmem_space_get_caps(shmem_space_t handle, shmem_space_cap_t *caps)
{
    stp_check_given(caps, __func__, "caps");
    if (stp_space_is_invalid(handle)) return 1;
    *caps = stp_space_check(handle, __func__, "space")->caps;
    return 0;
}
STP_PROFILED(shmem_space_get_caps);

int pshmem_get_space(void *ptr, shmem_space_t *handle)
{
    struct stp_space *space;
    size_t offset;

    stp_check_live(__func__);
    stp_check_given(handle, __func__, "space");
    if (ptr == NULL) return 1;
    space = stp_space_lookup(ptr, &offset);
    if (space == NULL || space->number == STP_SPACE_INTERNAL) return 1;
    /* Programs see globals and statics as a part of the default space. */
    *handle = space->number == STP_SPACE_DATA ? SHMEM_SPACE_DEFAULT : stp_space_handle(space);
    return 0;
}
STP_PROFILED(shmem_get_space);

/* ---- device addresses for kernels ------------------------------------------------------- */

static bool space_rejected(shmem_space_t handle, const char *fn)
{
    return stp_space_is_invalid(handle) && stp_reject(fn, "space", STP_INVALID_SPACE) != 0;
}

void *pshmemx_space_device_ptr(shmem_space_t handle, const void *addr, int pe)
{
    struct stp_space *space;
    size_t offset;
    char *part;
    int local;

    if (space_rejected(handle, __func__)) return NULL;
    space = stp_space_check(handle, __func__, "space");
    if ((unsigned)pe >= (unsigned)stp_rt.n_pes) {
        stp_error("shmemx_space_device_ptr: pe is %d: valid PE numbers are 0..%d", pe,
                  stp_rt.n_pes - 1);
        return NULL;
    }
    offset = (size_t)((uintptr_t)addr - (uintptr_t)space->base);
    local = stp_local_of(pe);
    if (offset >= stp_space_nbytes(space) || local < 0 || stp_team_rank_of(space->team, pe) < 0)
        return NULL;
    if (space->host)
        return space->pinned != NULL ? stp_pinned_device_ptr(space, local, offset) : NULL;
    part = stp_kind_reach(space, local);
    return part != NULL ? part + offset : NULL;
}
STP_PROFILED(shmemx_space_device_ptr);

/* ---- extensions ------------------------------------------------------------------------ */

void *pshmemx_space_align(shmem_space_t handle, size_t alignment, size_t size)
{
    if (space_rejected(handle, __func__)) return NULL;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0)
        stp_error("shmemx_space_align: alignment is %zu: it must be a power of two", alignment);
    return stp_space_align(stp_space_check(handle, __func__, "space"), alignment, size, __func__);
}
STP_PROFILED(shmemx_space_align);

void *pshmemx_space_realloc(shmem_space_t handle, void *ptr, size_t size)
{
    struct stp_space *space;

    if (space_rejected(handle, __func__)) return NULL;
    space = stp_space_check(handle, __func__, "space");
    if (ptr == NULL) return size == 0 ? NULL : stp_space_alloc(space, size, 0, false, __func__);
    if (size > 0) return stp_space_resize(space, ptr, size, __func__);
    stp_space_free(space, ptr, __func__);
    return NULL;
}
STP_PROFILED(shmemx_space_realloc);

int pshmemx_space_persist(shmem_space_t handle, const void *addr, size_t nbytes)
{
    const struct stp_store_ops *store;
    struct stp_space *space;
    size_t offset;
    int rc;

    if (space_rejected(handle, __func__)) return 1;
    space = stp_space_check(handle, __func__, "space");
    if (nbytes == 0) return 0;
    offset = (size_t)((uintptr_t)addr - (uintptr_t)space->base);
    if (offset >= stp_space_nbytes(space) || nbytes > stp_space_nbytes(space) - offset) {
        stp_error("shmemx_space_persist: the %zu bytes at %p are not inside this PE's part of "
                  "space %u, which has %zu bytes at %p",
                  nbytes, addr, space->number, stp_space_nbytes(space), (void *)space->base);
        return 1;
    }
    store = space->kind->store;
    rc = store != NULL ? store->persist(space, offset, nbytes) : -EOPNOTSUPP;
    if (rc != 0)
        stp_error("shmemx_space_persist: cannot make %zu bytes of space %u (%s) durable: %s",
                  nbytes, space->number, space->kind->name, strerror(-rc));
    return rc != 0;
}
STP_PROFILED(shmemx_space_persist);
