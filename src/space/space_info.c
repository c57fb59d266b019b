/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file implements queries that extend the OpenSHMEM proposal for spaces. They return the
 * properties of a space or the path to its parts, or print a table of all spaces.
 */
#include "space_lifecycle.h"

#include "core/versioned_struct.h"
#include "pshmem.h"
#include "rma/rma.h"
#include "spaces/cuda/pinned_host_and_kernel_gpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- paths -------------------------------------------------------------------------- */

static shmemx_space_path_t info_path(struct stp_space *space, int pe)
{
    static const shmemx_space_path_t paths[] = {
        [STP_PATH_HOST] = SHMEMX_PATH_LOAD_STORE, [STP_PATH_DEVICE] = SHMEMX_PATH_DEVICE,
        [STP_PATH_FABRIC] = SHMEMX_PATH_FABRIC,   [STP_PATH_STAGED] = SHMEMX_PATH_STAGED,
        [STP_PATH_CMA] = SHMEMX_PATH_PROCESS,
    };

    if (space->team != NULL && stp_team_rank_of(space->team, pe) < 0) return SHMEMX_PATH_NONE;
    return paths[stp_access_path_to(space, pe, STP_USE_COPY)];
}

shmemx_space_path_t pshmemx_space_path(shmem_space_t handle, int pe)
{
    stp_check_live(__func__);
    if (stp_space_is_invalid(handle)) {
        (void)stp_reject(__func__, "space", STP_INVALID_SPACE);
        return SHMEMX_PATH_NONE;
    }
    if (pe >= 0 && pe < stp_rt.n_pes)
        return info_path(stp_space_check(handle, __func__, "space"), pe);
    stp_error("shmemx_space_path: pe is %d: valid PE numbers are 0..%d", pe, stp_rt.n_pes - 1);
    return SHMEMX_PATH_NONE;
}
STP_PROFILED(shmemx_space_path);

const char *pshmemx_space_path_name(shmemx_space_path_t path)
{
    static const char *const names[] = {
        [SHMEMX_PATH_NONE] = "none",     [SHMEMX_PATH_LOAD_STORE] = "load/store",
        [SHMEMX_PATH_DEVICE] = "device", [SHMEMX_PATH_FABRIC] = "fabric",
        [SHMEMX_PATH_STAGED] = "staged", [SHMEMX_PATH_PROCESS] = "process",
    };

    return (unsigned)path < STP_COUNT(names) ? names[path] : "unknown";
}
STP_PROFILED(shmemx_space_path_name);

/* ---- properties ---------------------------------------------------------------------- */

/* Returns how atomics on this PE's part of the space are performed. */
static shmemx_space_atomics_t info_atomics(const struct stp_space *space)
{
    if (space->kind->device == NULL)
        return space->pinned != NULL && stp_win.cpu_atomics && stp_pinned_has_native_atomics(space)
                   ? SHMEMX_ATOMICS_NATIVE
                   : SHMEMX_ATOMICS_HOST;
    return stp_stage_amo_by_gpu_enabled(space) ? SHMEMX_ATOMICS_DEVICE : SHMEMX_ATOMICS_OWNER;
}

static void info_fill(const struct stp_space *space, shmemx_space_info_t *info)
{
    const struct stp_team *team = space->team;
    struct stp_heap_stats stats;

    stp_heap_stats(space->heap, &stats);
    *info = (shmemx_space_info_t){
        .struct_size = info->struct_size,
        .device_type = (shmem_device_type_t)space->kind->device_type,
        .device = space->device,
        .n_pes = team->n_pes,
        .nbytes = stp_space_nbytes(space),
        .max_size = space->max_bytes,
        .used = stats.used,
        .n_blocks = stats.n_blocks,
        .largest = stats.largest_free,
        .base = space->base,
        .caps = space->caps,
        .found = space->found,
        .n_parts = (int)space->n_parts,
        .numa_policy = (shmemx_space_numa_t)space->numa,
        .numa_node = space->numa_is_set ? space->numa_node : -1,
        .page_size = space->page_bytes,
        .atomics = info_atomics(space),
        .flags = space->attr_flags | (space->pinned != NULL ? SHMEMX_SPACE_PINNED : 0),
        .in_use = 1,
    };
    snprintf(info->kind, sizeof(info->kind), "%s", space->kind->name);
    if (!space->kind->describe(space->device > 0 ? space->device : 0, info->where,
                               sizeof(info->where)))
        info->where[0] = '\0';
}

int pshmemx_space_query(shmem_space_t handle, shmemx_space_info_t *info)
{
    size_t nbytes;
    shmemx_space_info_t result;

    if (info == NULL) return stp_reject(__func__, "info", "a null pointer");
    nbytes = info->struct_size;
    if (!stp_struct_known(nbytes, STP_SPACE_INFO_MIN, STP_STRUCT_MAX, "info", "SPACE_INFO",
                          __func__))
        return 1;
    if (stp_space_is_invalid(handle)) return stp_reject(__func__, "space", STP_INVALID_SPACE);
    result.struct_size = nbytes;
    info_fill(stp_space_check(handle, __func__, "space"), &result);
    stp_struct_copy_versioned(info, nbytes, &result, sizeof(result));
    return 0;
}
STP_PROFILED(shmemx_space_query);

/* Asks each kind for a named space. Returns 0, -ENOENT if no kind has the space, or -errno. */
static int info_stat_named(const char *name, struct stp_named *named)
{
    int rc = -ENOENT;

    for (int i = 0; i < stp_n_kinds && rc == -ENOENT; i++)
        if (stp_kinds[i]->store != NULL) {
            rc = stp_kinds[i]->store->stat(name, named);
            named->kind = stp_kinds[i];
        }
    return rc;
}

int pshmemx_space_stat(const char *name, shmemx_space_info_t *info)
{
    shmemx_space_info_t result = SHMEMX_SPACE_INFO_INITIALIZER;
    struct stp_named named;
    size_t nbytes;
    int rc;

    stp_check_live(__func__);
    if (name == NULL || info == NULL) {
        (void)stp_reject(__func__, name == NULL ? "name" : "info", "a null pointer");
        return EINVAL;
    }
    nbytes = info->struct_size;
    if (!stp_struct_known(nbytes, STP_SPACE_INFO_MIN, STP_STRUCT_MAX, "info", "SPACE_INFO",
                          __func__))
        return EINVAL;
    stp_log_routine = "shmemx_space_stat";
    rc = info_stat_named(name, &named);
    stp_log_routine = NULL;
    if (rc != 0) return -rc;
    result.struct_size = nbytes;
    result.device_type = (shmem_device_type_t)named.kind->device_type;
    result.nbytes = named.nbytes;
    result.found = 1;
    result.n_parts = (int)named.n_parts;
    result.flags = named.keep ? SHMEMX_SPACE_KEEP : 0;
    result.in_use = named.in_use;
    snprintf(result.kind, sizeof(result.kind), "%s", named.kind->name);
    stp_struct_copy_versioned(info, nbytes, &result, sizeof(result));
    return 0;
}
STP_PROFILED(shmemx_space_stat);

/* ---- the table --------------------------------------------------------------------------- */

static const char *info_name(const struct stp_space *space)
{
    static const char *const fixed[] = {"internal", "globals", "default"};

    return space->number < STP_SPACE_FIRST_USER ? fixed[space->number] : "user";
}

/* Row of the table, with copies of a space's fields, because the space may be freed meanwhile. */
struct info_row {
    const char *name, *kind;
    bool copies, registered;
    int n_pes;
    size_t nbytes, used;
    void *base;
    uint64_t key;
    const struct stp_space *next_part;
};

static void fill_row(const struct stp_space *space, void *arg)
{
    const struct stp_team *team = space->team;
    struct stp_heap_stats stats = {0};

    if (space->heap != NULL) stp_heap_stats(space->heap, &stats);
    *(struct info_row *)arg = (struct info_row){
        .name = info_name(space),
        .kind = space->kind != NULL ? space->kind->name : "cpu",
        .copies = !space->host,
        .registered = space->registered,
        .n_pes = team != NULL ? team->n_pes : stp_rt.n_pes,
        .nbytes = stp_space_nbytes(space),
        .used = stats.used,
        .base = space->base,
        .key = space->key,
        .next_part = space->next_part,
    };
}

/*
 * Fills the row with the next part of the data segment. The parts exist until finalize. Returns
 * false if there is no next part.
 */
static bool info_next(struct info_row *row)
{
    const struct stp_space *part = row->next_part;

    if (part != NULL) fill_row(part, row);
    return part != NULL;
}

static bool info_print_row(int fd, unsigned number, const struct info_row *row)
{
    char key[24] = "-";

    if (row->registered) snprintf(key, sizeof(key), "0x%llx", (unsigned long long)row->key);
    return dprintf(fd, "%-3u %-9s %-5s %5d %14zu %-18p %-14s %-12s %-18s %zu\n", number, row->name,
                   row->kind, row->n_pes, row->nbytes, row->base,
                   row->registered ? stp_rt.fabric.provider
                   : row->copies   ? "copies"
                                   : "load/store",
                   row->registered ? stp_rt.fabric.domain : "-", key, row->used) >= 0;
}

int pshmemx_space_print(int fd)
{
    struct info_row row;
    bool written;

    stp_check_live(__func__);
    written = dprintf(fd, "spaces of pe %d: node path %s, fabric %s%s%s\n", stp_rt.pe,
                      stp_win.n_view > 1 ? "load/store" : "none",
                      stp_rt.has_fabric ? stp_rt.fabric.provider : "none",
                      stp_rt.has_fabric ? " on " : "",
                      stp_rt.has_fabric ? stp_rt.fabric.network : "") >= 0 &&
              dprintf(fd, "%-3s %-9s %-5s %5s %14s %-18s %-14s %-12s %-18s %s\n", "nr", "name",
                      "kind", "pes", "bytes", "base", "provider", "iface", "key", "used") >= 0;
    for (unsigned n = 0; written && n < STP_SPACE_NUMBERS; n++)
        for (bool has_row = stp_space_with_locked(n, fill_row, &row); has_row;
             has_row = info_next(&row))
            written = info_print_row(fd, n, &row) && written;
    if (written) return 0;
    stp_error("shmemx_space_print: cannot write to fd %d: %s", fd, strerror(errno));
    return 1;
}
STP_PROFILED(shmemx_space_print);
