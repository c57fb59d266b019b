/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file creates (opens) and frees (shuts) this PE's part of a space: its memory, its heap, its
 * registration with the fabric, and its pinning for GPUs. The code by which the PEs agree on a new
 * space is in create.c. Design: docs/design/spaces.md.
 */
#include "space_lifecycle.h"

#include "coll/coll.h"
#include "spaces/cuda/pinned_host_and_kernel_gpu.h"

#include <errno.h>
#include <stdlib.h>

#define SPACE_PAGE 4096

int stp_space_register_memory(struct stp_space *space, void *base, size_t nbytes,
                              struct stp_fabric_region *region)
{
    const struct stp_device_ops *device = space->kind != NULL ? space->kind->device : NULL;
    bool entered;
    int rc;

    *region = (struct stp_fabric_region){0};
    if (!stp_rt.has_fabric) return 0;
    entered = device != NULL && device->push_context(space);
    rc = stp_rt.fabric.region_add(space->number, base, nbytes,
                                  device != NULL ? STP_MEMORY_CUDA : STP_MEMORY_HOST, space->device,
                                  region);
    if (entered) device->pop_context();
    /*
     * It is no error if the provider cannot register device memory or private pages. Transfers of
     * this memory then use staging buffers.
     */
    if (device != NULL && rc == -EOPNOTSUPP) return 0;
    if (rc != 0 && !space->host && device == NULL) return 0;
    if (rc != 0) return rc;
    space->key = region->key;
    space->registered = true;
    return 0;
}

static void space_unregister(struct stp_space *space)
{
    /* In finalize, stp_fabric_close() has already removed the regions and cleared has_fabric. */
    if (space->registered && stp_rt.has_fabric) stp_rt.fabric.region_remove(space->number);
    space->registered = false;
}

/*
 * Creates the heap of the space. If space->single_block is set, the space is a single block. This
 * block is then allocated here. The heap is larger than such a space, because the size of the block
 * is rounded up.
 */
static int space_make_heap(struct stp_space *space)
{
    size_t extra = space->single_block ? STP_HEAP_ALIGN - 1 : 0, offset;
    int rc =
        stp_heap_create(stp_space_has_no_heap(space) ? 0 : space->nbytes + extra, &space->heap);

    if (rc != 0 || !space->single_block) return rc;
    rc = stp_heap_alloc(space->heap, space->nbytes, 0, &offset);
    if (rc == 0) return 0;
    stp_heap_destroy(space->heap);
    space->heap = NULL;
    return rc;
}

int stp_space_open(struct stp_space *space, const struct stp_space_params *params, bool with_heap,
                   struct stp_part_export *share, struct stp_fabric_region *region)
{
    /* Registration by number must be first, because the fabric region uses the space number. */
    int rc = stp_space_register_by_number(space);

    *share = (struct stp_part_export){.pe = stp_rt.pe};
    *region = (struct stp_fabric_region){0};
    if (rc != 0) return rc;
    rc = space->kind->create(space, params, share);
    if (rc != 0) goto err_claim;
    if (with_heap) {
        rc = space_make_heap(space);
        if (rc != 0) goto err_kind;
        rc = stp_space_restore_named_blocks(space);
        if (rc != 0) goto err_heap;
    }
    rc = stp_space_register_memory(space, space->base, space->nbytes, region);
    if (rc != 0) goto err_heap;
    stp_space_lookup_insert(space);
    return 0;

err_heap:
    stp_heap_destroy(space->heap);
    space->heap = NULL;
err_kind:
    space->kind->destroy(space);
err_claim:
    stp_space_unregister_number(space);
    return rc;
}

void stp_space_shut(struct stp_space *space)
{
    stp_space_lookup_remove(space);
    space_unregister(space);
    stp_heap_destroy(space->heap);
    space->heap = NULL;
    stp_pinned_unregister_space(space);
    if (space->kind != NULL) space->kind->destroy(space);
    stp_space_unregister_number(space);
}

struct stp_space *stp_space_prepare(const struct stp_kind *kind, size_t nbytes)
{
    struct stp_space *space = stp_space_struct_alloc();

    if (space == NULL) return NULL;
    space->kind = kind;
    space->host = kind == NULL || kind->host;
    space->device = -1;
    space->offset = SIZE_MAX;
    space->nbytes = (nbytes + SPACE_PAGE - 1) & ~(size_t)(SPACE_PAGE - 1);
    if (space->nbytes == 0) space->nbytes = SPACE_PAGE;
    space->max_bytes = space->nbytes;
    space->n_extents = 1;
    return space;
}

void stp_space_set_max(struct stp_space *space, size_t max_bytes)
{
    max_bytes = (max_bytes + SPACE_PAGE - 1) & ~(size_t)(SPACE_PAGE - 1);
    if (max_bytes <= space->nbytes) return;
    space->max_bytes = max_bytes;
    space->may_grow = true;
}

uint64_t stp_space_caps(const struct stp_space *space, bool ident, bool world)
{
    uint64_t caps = SHMEM_SPACE_CAP_RMA | SHMEM_SPACE_CAP_COLLECTIVES | SHMEM_SPACE_CAP_ATOMICS;

    if (space->kind->device == NULL) caps |= SHMEM_SPACE_CAP_DIRECT_ACCESS;
    if (world) caps |= SHMEM_SPACE_CAP_WORLD_ACCESS;
    return ident ? caps | SHMEM_SPACE_CAP_IDENT_ADDR : caps;
}

struct stp_fabric_region *stp_space_gather_regions_if_used(
    struct stp_space *space, const struct stp_fabric_region *my_region, const char *fn)
{
    const struct stp_team *team = space->team;
    struct stp_fabric_region *regions, *by_pe;

    if (!stp_rt.fabric.peer_table) return NULL;
    regions = malloc((size_t)team->n_pes * sizeof(*regions));
    by_pe = calloc((size_t)stp_rt.n_pes, sizeof(*by_pe));
    if (regions == NULL || by_pe == NULL)
        stp_fatal(fn, "out of memory: cannot store the memory keys of a job of size %d",
                  stp_rt.n_pes);
    stp_coll_gather(space->team, regions, my_region, sizeof(*regions));
    for (int rank = 0; rank < team->n_pes; rank++)
        by_pe[stp_team_pe(team, rank)] = regions[rank];
    free(regions);
    return by_pe;
}

int stp_space_pin_peers(struct stp_space *space, size_t start, size_t end, char *reason, size_t len)
{
    const struct stp_team_hierarchy *plan = &space->team->plan;
    int rc = 0;

    for (int i = 0; i < plan->n_local && rc == 0; i++)
        if (plan->local_pes[i] != stp_rt.pe)
            rc = stp_pinned_register(space, stp_local_of(plan->local_pes[i]), start, end, reason,
                                     len);
    return rc;
}
