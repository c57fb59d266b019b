/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file creates the spaces that exist from the start: the internal space, the data segment, the
 * default heap, and the spaces that the environment requests. It also frees all spaces at the end.
 * Design: docs/design/spaces.md.
 */
#include "space_lifecycle.h"

#include "coll/coll.h"
#include "rma/rma.h"
#include "spaces/cuda/pinned_host_and_kernel_gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SPACE_REASON_SIZE 256           /* size of a buffer for the reason of a failure */
#define SPACE_DUMPED ((size_t)16 << 20) /* bytes of the internal space that core dumps include */

/*
 * Finds a range of the window for the space and sets space->offset. All PEs find the same offset,
 * because at this time all PEs have the same free ranges.
 */
static void space_find_first(struct stp_space *space, bool with_heap)
{
    if (!space->kind->in_window) return;
    /*
     * Align the base of the heap to a large power of two if possible. The library cannot return
     * blocks with a larger alignment than that of the base.
     */
    space->offset =
        stp_window_find(space->max_bytes, with_heap ? STP_WINDOW_ALIGN : STP_RANGE_ALIGN, 0);
    if (space->offset == SIZE_MAX)
        space->offset = stp_window_find(space->max_bytes, STP_RANGE_ALIGN, 0);
    if (space->offset == SIZE_MAX)
        stp_fatal("shmem_init",
                  "a space of %zu bytes does not fit into the address range for spaces: raise "
                  "SHMEM_WINDOW_SIZE",
                  space->max_bytes);
}

static struct stp_space_params space_params(size_t nbytes)
{
    return (struct stp_space_params){.nbytes = nbytes,
                                     .max_bytes = nbytes,
                                     .device = -1,
                                     .numa_node = -1,
                                     .pe = stp_rt.pe,
                                     .n_pes = stp_rt.n_pes};
}

static void space_init_internal(struct stp_fabric_region *region)
{
    size_t nbytes = stp_coll_lay_out_internal(stp_window_bytes_for_spaces());
    struct stp_space_params params = space_params(nbytes);
    struct stp_space *space = stp_space_prepare(stp_kind_find(SHMEM_DEVICE_CPU), nbytes);
    struct stp_part_export share;

    if (space == NULL)
        stp_fatal("shmem_init", "out of memory: cannot create the symmetric memory of this PE");
    space->number = STP_SPACE_INTERNAL;
    params.open_bytes = stp_coll_accessible_bytes(0, nbytes);
    space_find_first(space, false);
    if (stp_space_open(space, &params, false, &share, region) != 0)
        stp_fatal("shmem_init", "cannot create the internal memory of the library (%zu bytes)",
                  space->nbytes);
    /* Exclude the rest of the space from core dumps, because most programs do not use it. */
    if (space->nbytes > SPACE_DUMPED)
        madvise(space->base + SPACE_DUMPED, space->nbytes - SPACE_DUMPED, MADV_DONTDUMP);
}

static struct stp_space *space_prepare_part(const struct stp_data_segment_part *part)
{
    struct stp_space *space = stp_space_prepare(NULL, part->nbytes);

    if (space == NULL)
        stp_fatal("shmem_init", "out of memory: cannot create the symmetric memory of this PE");
    space->number = STP_SPACE_DATA;
    space->base = part->base;
    space->region_offset = part->file_offset;
    stp_space_allow_use_without_handle(space);
    return space;
}

/*
 * Turns the data segment into a space. The space has neither a heap nor a kind of memory, because
 * the library did not create the memory. All its parts are one region of the fabric, but each part
 * has its own entry in the registry.
 */
static void space_init_data(struct stp_fabric_region *region)
{
    struct stp_space *first, *last;
    char *whole_alias = NULL;

    if (stp_data_segment.n_parts == 0) return;
    first = last = space_prepare_part(&stp_data_segment.parts[0]);
    (void)stp_space_register_by_number(first); /* succeeds, as no other thread takes numbers yet */
    if (stp_rt.has_fabric) whole_alias = stp_data_segment_alias_whole();
    if ((stp_rt.has_fabric && whole_alias == NULL) ||
        stp_space_register_memory(first, whole_alias, stp_data_segment.nbytes, region) != 0)
        stp_fatal("shmem_init", "cannot register the global and static variables with libfabric");
    stp_space_lookup_insert(first);
    for (unsigned i = 1; i < stp_data_segment.n_parts; i++) {
        last->next_part = space_prepare_part(&stp_data_segment.parts[i]);
        last = last->next_part;
        last->registered = first->registered;
        last->key = first->key;
        stp_space_lookup_insert(last);
    }
}

static void space_fini_parts(struct stp_space *first)
{
    while (first->next_part != NULL) {
        struct stp_space *part = first->next_part;

        first->next_part = part->next_part;
        stp_space_lookup_remove(part);
        stp_space_struct_free(part);
    }
}

/*
 * Creates the default heap of the standard. If SHMEM_SYMMETRIC_SIZE is 0, creates a page of host
 * memory instead. If this PE fails, it writes the reason to its PE info. After the exchange of PE
 * infos, the job then ends on all PEs.
 */
static void space_init_heap(struct stp_pe_info *pe_info)
{
    int type = stp_env.symmetric.max == 0 ? SHMEM_DEVICE_CPU : stp_env.default_space;
    const struct stp_kind *kind = stp_kind_find(type);
    struct stp_space_params params = space_params(stp_env.symmetric.size);
    struct stp_space *space;

    if (kind->probe(&params, pe_info->no_heap, sizeof(pe_info->no_heap)) != 0) return;
    pe_info->no_heap[0] = '\0';
    if (stp_env.symmetric.max > stp_env.symmetric.size &&
        (kind->traits & STP_HAS(STP_TRAIT_GROWS)) == 0) {
        snprintf(pe_info->no_heap, sizeof(pe_info->no_heap),
                 "SHMEM_SYMMETRIC_SIZE has two sizes, but memory of kind %s cannot grow: give "
                 "one size",
                 kind->name);
        return;
    }
    space = stp_space_prepare(kind, stp_env.symmetric.size);
    if (space == NULL)
        stp_fatal("shmem_init", "out of memory: cannot create the symmetric memory of this PE");
    space->number = STP_SPACE_HEAP;
    space->handle = SHMEM_SPACE_DEFAULT;
    space->permanent = true;
    stp_space_set_max(space, stp_env.symmetric.max);
    params.nbytes = space->nbytes;
    params.max_bytes = space->max_bytes;
    space_find_first(space, true);
    if (space->kind->admit(&params) != 0 ||
        stp_space_open(space, &params, true, &pe_info->heap_share,
                       &pe_info->regions[STP_SPACE_HEAP]) != 0) {
        snprintf(pe_info->no_heap, sizeof(pe_info->no_heap),
                 "SHMEM_SYMMETRIC_SIZE of %zu bytes could not be allocated", space->nbytes);
        stp_space_struct_free(space);
        return;
    }
    pe_info->heap_registered = space->registered;
}

static void (*space_on_change)(const struct stp_space *space, int change);

void stp_space_make_internal_data_heap(struct stp_pe_info *pe_info,
                                       void (*on_change)(const struct stp_space *space, int change))
{
    space_on_change = on_change;
    space_init_internal(&pe_info->regions[STP_SPACE_INTERNAL]);
    space_init_data(&pe_info->regions[STP_SPACE_DATA]);
    space_init_heap(pe_info);
}

void stp_space_notify_change(const struct stp_space *space, int change)
{
    space_on_change(space, change);
}

/*
 * Attaches the parts of PEs on this node. Every PE has a heap by now. A PE without a heap would
 * have ended the job in the exchange of PE infos.
 */
void stp_space_attach(void)
{
    struct stp_space *internal = stp_space_at(STP_SPACE_INTERNAL);
    struct stp_space *heap = stp_space_at(STP_SPACE_HEAP);

    heap->on_fabric = stp_rt.has_fabric && stp_boot_heap_registered();
    internal->on_fabric = stp_rt.has_fabric;
    for (int local = 0; local < stp_win.n_view; local++) {
        const struct stp_pe_info *pe_info = stp_boot_local_pe_info(stp_local_pe(local));
        struct stp_part_export no_export = {.pe = pe_info->pe};
        if (internal->kind->attach(internal, local, &no_export) != 0 ||
            heap->kind->attach(heap, local, &pe_info->heap_share) != 0)
            stp_fatal("shmem_init", "cannot open the symmetric memory of PE %d", pe_info->pe);
    }
}

/*
 * Sets the heap's capabilities and its base_align, the largest power of two that divides the
 * address of every PE's part.
 */
static void space_measure_heap(struct stp_space *heap)
{
    int64_t base_align = (int64_t)((uintptr_t)heap->base & -(uintptr_t)heap->base);
    int64_t facts[3] = {-base_align, (int64_t)(uintptr_t)heap->base,
                        -(int64_t)(uintptr_t)heap->base};

    if (heap->kind->in_window) {
        size_t offset_align = heap->offset & -heap->offset;
        heap->base_align = offset_align < STP_WINDOW_ALIGN ? offset_align : STP_WINDOW_ALIGN;
        heap->caps = stp_space_caps(heap, stp_rt.ident_addr, true);
        return;
    }
    stp_coll_agree(stp_team_world, facts, 3);
    heap->base_align = (size_t)-facts[0];
    heap->caps = stp_space_caps(heap, facts[1] == -facts[2], true);
}

/*
 * Pins the heap for GPUs if SHMEM_PIN_HEAP is set. The setting is equal on all PEs. If one PE
 * cannot pin its heap, the heap stays unpinned on all PEs, and the program continues.
 */
static void space_pin_heap(struct stp_space *heap)
{
    struct stp_space_params params = space_params(heap->nbytes);
    char reason[SPACE_REASON_SIZE] = "";

    if (!stp_env.pin_heap || !heap->host || stp_space_has_no_heap(heap)) return;
    if (!stp_coll_any(stp_team_world, stp_pinned_register_space(heap, &params) != 0) &&
        !stp_coll_any(stp_team_world,
                      stp_space_pin_peers(heap, 0, heap->nbytes, reason, sizeof(reason)) != 0))
        return;
    if (reason[0] != '\0') stp_error("cannot pin host memory for GPUs: %s", reason);
    stp_pinned_unregister_peers(heap);
    stp_pinned_unregister_space(heap);
    if (stp_rt.pe == 0)
        stp_warn("shmem_init: SHMEM_PIN_HEAP is on, but the default heap cannot "
                 "be pinned: the job continues without pinning");
}

/*
 * Checks whether this host has enough memory for the heaps of all its PEs. No page of these heaps
 * has been used yet. Fatal if one host does not have enough memory.
 */
static void space_admit_heap(struct stp_space *heap)
{
    struct stp_space_params params = space_params(heap->nbytes);
    bool failed = stp_space_check_host_fit(heap, stp_team_world, &params, "shmem_init") != 0;

    if (heap->kind->claim != NULL && stp_coll_any(stp_team_world, failed))
        stp_fatal(
            "shmem_init",
            "SHMEM_SYMMETRIC_SIZE is %zu bytes per PE, but at least one host does not have enough "
            "memory for all its PEs: lower the variable, or run fewer PEs per host",
            heap->nbytes);
}

void stp_space_finish_heap_setup(void)
{
    struct stp_space *heap = stp_space_at(STP_SPACE_HEAP);

    heap->team = heap->user_team = stp_team_world;
    space_admit_heap(heap);
    space_measure_heap(heap);
    space_pin_heap(heap);
    stp_space_allow_use_without_handle(heap);
    stp_space_notify_change(heap, 1);
    if (heap->host) return;
    if (heap->on_fabric) __atomic_store_n(&stp_rt.remote_flush, true, __ATOMIC_RELAXED);
    if (stp_rt.n_pes > 1) stp_stage_server_start();
    stp_bounce_preallocate();
}

void stp_space_detach_all(void)
{
    for (unsigned n = 0; n < STP_SPACE_NUMBERS; n++) {
        struct stp_space *space = stp_space_at(n);
        if (space == NULL || space->kind == NULL) continue;
        stp_pinned_unregister_peers(space);
        stp_kind_detach(space);
    }
}

void stp_space_fini(void)
{
    for (unsigned n = STP_SPACE_NUMBERS; n-- > 0;) {
        struct stp_space *space = stp_space_at(n);
        if (space == NULL) continue;
        space_fini_parts(space);
        stp_space_shut(space);
        stp_space_struct_free(space);
    }
    stp_space_forget_constants();
}

/* ---- the environment ------------------------------------------------------------------ */

void stp_space_create_env(void)
{
    for (int type = 0; type < STP_N_DEVICE_TYPES; type++) {
        shmem_space_config_t config = {(shmem_device_type_t)type, stp_env.kind_size[type],
                                       SHMEM_SPACE_FLAG_DEFAULT};
        struct stp_space *space;
        struct stp_team *team;

        if (!stp_env.kind_enabled[type]) continue;
        if (stp_space_make(&config, NULL, false, &space, &team, "shmem_init") != 0)
            stp_fatal("shmem_init",
                      "SHMEM_ENABLE_%s is on, but its space of %zu bytes per PE "
                      "(SHMEM_%s_SYMMETRIC_SIZE) cannot be created",
                      stp_space_type_name(type), config.size, stp_space_type_name(type));
        if (space == NULL) continue;
        stp_space_allow_use_without_handle(space);
        space->permanent = true;
        team->predefined = true;
        team->handle = (shmem_team_t)((uintptr_t)SHMEM_TEAM_CPU + (uintptr_t)type);
        stp_space_set_constant(type, space);
    }
}
