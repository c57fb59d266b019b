/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Using spaces: allocation in them, and what can be asked of them.
 */
#include "steppe.h"

#include "pshmem.h"

#include <stdio.h>
#include <unistd.h>

/* The live space behind a handle that is not INVALID; fatal otherwise. */
static struct stp_space *space_check(shmem_space_t handle, const char *fn)
{
    struct stp_space *space = stp_space_of(handle);

    stp_check_live(fn);
    if (handle != SHMEM_SPACE_DEFAULT && !stp_space_is_live(space))
        stp_fatal(fn, "space %p is not a live space: was it destroyed?", handle);
    return space;
}

void *pshmem_space_malloc(shmem_space_t handle, size_t size)
{
    struct stp_space *space;

    if (handle == SHMEM_SPACE_INVALID || size == 0) return NULL;
    space = space_check(handle, __func__);
    return stp_space_alloc(space, size, 0, false, __func__);
}
STP_PROFILED(shmem_space_malloc);

void *pshmem_space_calloc(shmem_space_t handle, size_t count, size_t size)
{
    struct stp_space *space;
    size_t nbytes;

    if (handle == SHMEM_SPACE_INVALID || count == 0 || size == 0) return NULL;
    space = space_check(handle, __func__);
    if (__builtin_mul_overflow(count, size, &nbytes)) nbytes = SIZE_MAX; /* fails, with barrier */
    return stp_space_alloc(space, nbytes, 0, true, __func__);
}
STP_PROFILED(shmem_space_calloc);

void pshmem_space_free(shmem_space_t handle, void *ptr)
{
    if (handle == SHMEM_SPACE_INVALID || ptr == NULL) return;
    stp_space_free(space_check(handle, __func__), ptr, __func__);
}
STP_PROFILED(shmem_space_free);

int pshmem_space_get_team(shmem_space_t handle, shmem_team_t *team)
{
    struct stp_space *space;

    if (handle == SHMEM_SPACE_INVALID) return 1;
    space = space_check(handle, __func__);
    *team = space->user_team != NULL ? stp_team_handle(space->user_team) : SHMEM_TEAM_INVALID;
    return 0;
}
STP_PROFILED(shmem_space_get_team);

int pshmem_space_get_device_type(shmem_space_t handle, shmem_device_type_t *type)
{
    if (handle == SHMEM_SPACE_INVALID) return 1;
    *type = (shmem_device_type_t)space_check(handle, __func__)->kind->device_type;
    return 0;
}
STP_PROFILED(shmem_space_get_device_type);

int pshmem_space_get_caps(shmem_space_t handle, shmem_space_cap_t *caps)
{
    if (handle == SHMEM_SPACE_INVALID) return 1;
    *caps = space_check(handle, __func__)->caps;
    return 0;
}
STP_PROFILED(shmem_space_get_caps);

int pshmem_get_space(void *ptr, shmem_space_t *handle)
{
    struct stp_space *space;
    size_t offset;

    stp_check_live(__func__);
    if (ptr == NULL) return 1;
    space = stp_space_find(ptr, &offset);
    if (space == NULL || space->number == STP_SPACE_INTERNAL) return 1;
    /* globals and statics belong to the default space */
    *handle = space->number == STP_SPACE_DATA ? SHMEM_SPACE_DEFAULT : stp_space_handle(space);
    return 0;
}
STP_PROFILED(shmem_get_space);

/* ---- the table --------------------------------------------------------------------- */

static const char *space_name(const struct stp_space *space)
{
    static const char *const fixed[] = {"internal", "globals", "default"};

    return space->number < STP_SPACE_FIRST_USER ? fixed[space->number] : "user";
}

int pshmemx_space_print(int fd)
{
    stp_check_live(__func__);
    dprintf(fd, "spaces of pe %d: node path %s, fabric %s\n", stp_rt.pe,
            stp_win.n_placed > 1 ? "load/store" : "none",
            stp_rt.has_fabric ? stp_rt.fabric.provider : "none");
    dprintf(fd, "%-3s %-9s %-5s %14s %-18s %-14s %-12s %-18s %s\n", "nr", "name", "kind", "bytes",
            "base", "provider", "iface", "key", "used");
    for (unsigned n = 0; n < STP_SPACE_NUMBERS; n++) {
        const struct stp_space *space = stp_space_at(n);
        struct stp_heap_stats stats = {0};
        char key[24] = "-";

        if (space == NULL) continue;
        if (space->heap != NULL) stp_heap_stats(space->heap, &stats);
        if (stp_rt.has_fabric)
            snprintf(key, sizeof key, "0x%llx", (unsigned long long)space->key);
        dprintf(fd, "%-3u %-9s %-5s %14zu %-18p %-14s %-12s %-18s %zu\n", n, space_name(space),
                space->kind != NULL ? space->kind->name : "cpu", space->nbytes,
                (void *)space->base, stp_rt.has_fabric ? stp_rt.fabric.provider : "load/store",
                stp_rt.has_fabric ? stp_rt.fabric.domain : "-", key, stats.used);
    }
    return 0;
}
STP_PROFILED(shmemx_space_print);
