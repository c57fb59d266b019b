/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory kind "cpu", which is host memory. A space of this kind is a range of the window, or a
 * set of files outside the window (one for each PE). The kernel allocates a page when the page is
 * first touched.
 */
#include "spaces/host_memory_kind.h"
#include "spaces/adopted_private_memory_kind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct stp_kind stp_kind_cpu;

static int cpu_probe(const struct stp_space_params *params, char *message, size_t len)
{
    (void)params;
    snprintf(message, len, "host memory");
    return 0;
}

/*
 * This check is needed because the kernel accepts any size. The kernel allocates a page only when
 * the page is first touched.
 */
int stp_cpu_check_fits_ram_and_cgroup(const struct stp_space_params *params, const char *kind)
{
    size_t nbytes = params->nbytes;
    size_t total = stp_meminfo("MemTotal:");
    size_t group = stp_cgroup_memory();

    if (nbytes > total) {
        stp_error("a %s space of %zu bytes per PE exceeds this host's memory of %zu bytes", kind,
                  nbytes, total);
        return -ENOMEM;
    }
    if (nbytes > group) {
        stp_error("a %s space of %zu bytes per PE exceeds the cgroup limit of %zu bytes "
                  "(memory.max)",
                  kind, nbytes, group);
        return -ENOMEM;
    }
    return 0;
}

static int cpu_admit(const struct stp_space_params *params)
{
    if (params->adopt != NULL) return stp_private_check_buffer(params); /* nothing to allocate */
    if (stp_numa_check(params) != 0) return -ENODEV;
    return stp_cpu_check_fits_ram_and_cgroup(params, "cpu");
}

/*
 * Checks whether the part can grow to nbytes bytes. Returns 0, or -ENOMEM after writing an error
 * text to reason. The program will use the added memory at once, so the added size is also compared
 * with the host's free memory. The creation of a space does not check the free memory, because it
 * is unknown how much of the space will ever be used.
 */
static int cpu_admit_growth(const struct stp_space *space, size_t nbytes, char *reason, size_t len)
{
    size_t total = stp_meminfo("MemTotal:"), free_bytes = stp_meminfo("MemAvailable:");
    size_t swap = stp_meminfo("SwapFree:"), group = stp_cgroup_memory();
    size_t added = nbytes - space->nbytes;

    if (swap < SIZE_MAX - free_bytes) free_bytes += swap;
    if (nbytes > total)
        snprintf(reason, len, "the new size exceeds the memory of this host, %zu bytes", total);
    else if (nbytes > group)
        snprintf(reason, len, "the new size exceeds the cgroup limit of %zu bytes (memory.max)",
                 group);
    else if (added > free_bytes)
        snprintf(reason, len,
                 "the growth by %zu bytes exceeds the free memory and swap space of "
                 "this host, %zu bytes",
                 added, free_bytes);
    else
        return 0;
    return -ENOMEM;
}

int stp_cpu_grow(struct stp_space *space, size_t new_nbytes, char *reason, size_t len)
{
    int rc = cpu_admit_growth(space, new_nbytes, reason, len);

    if (rc != 0) return rc;
    if (space->page_bytes != 0)
        rc = stp_huge_pages_grow(space, new_nbytes);
    else if (space->shm_attach != NULL)
        rc = stp_own_file_grow(space, new_nbytes);
    else
        rc = stp_window_grow(space->offset, new_nbytes);
    if (rc == 0) {
        if (space->page_bytes == 0)
            stp_numa_extend(space, space->base + space->nbytes, new_nbytes - space->nbytes);
        return 0;
    }
    snprintf(reason, len, "%s%s", stp_errno_text(-rc),
             rc == -ENOMEM ? " (check the sysctls vm.max_map_count and vm.nr_hugepages)" : "");
    return rc;
}

void stp_cpu_undo_grow(struct stp_space *space)
{
    /*
     * Reset the NUMA policy of the added memory, because the kernel keeps the policy as long as the
     * file exists.
     */
    if (space->numa_is_set && space->page_bytes == 0)
        stp_numa_reset_policy(space->base + space->nbytes, space->max_bytes - space->nbytes);
    if (space->page_bytes != 0)
        stp_huge_pages_undo_grow(space);
    else if (space->shm_attach != NULL)
        stp_own_file_undo_grow(space, space->nbytes);
    else
        stp_window_undo_grow(space->offset, space->nbytes);
}

int stp_cpu_create(struct stp_space *space, const struct stp_space_params *params,
                   struct stp_part_export *share)
{
    bool outside_window = space->offset == SIZE_MAX;
    int rc;

    if (params->adopt != NULL) return stp_own_file_share_buffer(space, params, share);
    if (params->page_bytes != 0) return stp_huge_pages_create(space, params, share);
    rc = outside_window
             ? stp_own_file_create_memory(space, share)
             : stp_window_commit(space->offset,
                                 params->open_bytes != 0 ? params->open_bytes : space->nbytes,
                                 space->max_bytes);
    if (rc != 0) return rc;
    if (!outside_window) space->base = stp_window_at(space->offset);
    stp_numa_apply(space, params, space->nbytes);
    space->device = -1;
    /*
     * For a space in the window, peers need no data in *share, because they have the node's file.
     */
    share->valid = 1;
    return 0;
}

int stp_cpu_attach(struct stp_space *space, int local, const struct stp_part_export *share)
{
    if (space->shm_attach != NULL) return stp_own_file_peer(space, local, share);
    return stp_window_add_peer_range(space->offset, local);
}

void stp_cpu_destroy(struct stp_space *space)
{
    if (space->page_bytes != 0) {
        stp_huge_pages_destroy(space);
        return;
    }
    if (space->numa_is_set) stp_numa_reset_policy(space->base, space->nbytes);
    if (space->shm_attach != NULL)
        stp_own_file_destroy(space);
    else
        stp_window_release(space->offset, space->nbytes);
}

static bool cpu_describe(int i, char *text, size_t len)
{
    size_t total = stp_meminfo("MemTotal:");

    if (i != 0) return false;
    if (total == SIZE_MAX)
        snprintf(text, len, "host memory, size unknown");
    else
        snprintf(text, len, "host memory, %zu MiB", total >> 20);
    return true;
}

const struct stp_kind stp_kind_cpu = {
    .name = "cpu",
    .device_type = 0, /* SHMEM_DEVICE_CPU */
    .host = true,
    .in_window = true,
    .traits = STP_HAS(STP_TRAIT_GROWS) | STP_HAS(STP_TRAIT_PAGES) | STP_HAS(STP_TRAIT_NODE) |
              STP_HAS(STP_TRAIT_POLICY) | STP_HAS(STP_TRAIT_PINNED) | STP_HAS(STP_TRAIT_ADOPTS),
    .probe = cpu_probe,
    .admit = cpu_admit,
    .create = stp_cpu_create,
    .grow = stp_cpu_grow,
    .shrink = stp_cpu_undo_grow,
    .attach = stp_cpu_attach,
    .destroy = stp_cpu_destroy,
    .describe = cpu_describe,
    .devices = stp_numa_count_devices,
};
