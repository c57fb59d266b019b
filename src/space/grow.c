/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file grows spaces. A space grows when a collective allocation finds no room in the heap.
 * This happens on all members in the same call, because their heaps are equal. Every member grows
 * its own part and its mappings of peers' parts. No thread uses the new memory yet. Reductions
 * determine whether all members have succeeded. If so, all members use the new memory. Otherwise
 * all members undo the growth. Design: docs/design/spaces.md.
 */
#include "space_lifecycle.h"

#include "coll/coll.h"
#include "spaces/cuda/pinned_host_and_kernel_gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Least number of bytes that a first attempt adds, unless the maximum size allows fewer. */
#define GROW_MIN_STEP ((size_t)64 << 20)
#define GROW_REASON_SIZE 160

/* State of one attempt to grow a space. */
struct grow {
    struct stp_space *space;
    size_t nbytes; /* size of each part after the growth */
    struct stp_fabric_region my_region;
    bool part_grown;               /* whether this PE's part has been grown */
    bool registered;               /* whether the fabric has registered the added memory */
    char reason[GROW_REASON_SIZE]; /* reason for a failure */
};

/* Returns `needed`, rounded up to a multiple of STP_RANGE_ALIGN, but at most the maximum size. */
static size_t grow_min_size(const struct stp_space *space, size_t needed)
{
    size_t rounded = needed > SIZE_MAX - STP_RANGE_ALIGN
                         ? SIZE_MAX
                         : (needed + STP_RANGE_ALIGN - 1) & ~(STP_RANGE_ALIGN - 1);

    return rounded < space->max_bytes ? rounded : space->max_bytes;
}

/*
 * Returns the size to try first, which is at most the maximum size. Normally the space doubles in
 * size, or grows by GROW_MIN_STEP bytes if this is more. A few growths can then reach any size. If
 * this size is not above `needed`, returns grow_min_size(). A part can have only a limited number
 * of extents (pieces). Therefore the last extent takes all memory up to the maximum size.
 */
static size_t grow_preferred_size(const struct stp_space *space, size_t needed)
{
    size_t max = space->max_bytes, old_size = space->nbytes;
    size_t added = old_size > GROW_MIN_STEP ? old_size : GROW_MIN_STEP;

    if (space->n_extents + 1 == STP_FABRIC_EXTENTS || added > max - old_size) return max;
    return old_size + added > needed ? old_size + added : grow_min_size(space, needed);
}

static int grow_part(struct grow *g)
{
    struct stp_space *space = g->space;
    int rc = stp_heap_reserve_record(space->heap);

    if (rc != 0) {
        snprintf(g->reason, sizeof(g->reason), "out of memory");
        return rc;
    }
    rc = space->kind->grow(space, g->nbytes, g->reason, sizeof(g->reason));
    g->part_grown = rc == 0;
    if (rc == 0 && space->pinned != NULL)
        rc = stp_pinned_register(space, stp_window_local(), space->nbytes, g->nbytes, g->reason,
                                 sizeof(g->reason));
    if (rc != 0 || !space->registered) return rc;
    rc = stp_rt.fabric.region_grow(space->number, g->nbytes - space->nbytes, &g->my_region);
    g->registered = rc == 0;
    if (rc != 0)
        snprintf(g->reason, sizeof(g->reason), "provider %s cannot register %zu more bytes: %s",
                 stp_rt.fabric.provider, g->nbytes - space->nbytes, stp_errno_text(-rc));
    return rc;
}

static void grow_undo(struct grow *g)
{
    if (g->registered) stp_rt.fabric.region_shrink(g->space->number);
    if (g->space->pinned != NULL) stp_pinned_unregister_from(g->space, g->space->nbytes);
    if (g->part_grown) g->space->kind->shrink(g->space);
}

/*
 * Passes the descriptors of the added memory to the fabric. The members exchange these descriptors
 * if the provider needs them and the fabric can access all parts. If the fabric cannot access all
 * parts, a member uses its registration only for its own transfers.
 */
static void grow_exchange(const struct grow *g, const char *fn)
{
    struct stp_fabric_region *by_pe = NULL;

    if (!g->space->registered) return;
    if (g->space->on_fabric) by_pe = stp_space_gather_regions_if_used(g->space, &g->my_region, fn);
    if (stp_rt.fabric.region_grown(g->space->number, by_pe) != 0)
        stp_fatal(fn, "out of memory: cannot store the memory keys of a job of size %d",
                  stp_rt.n_pes);
    free(by_pe);
}

/*
 * Adds the new memory to the heap. The caller's routine ends with a barrier, so no PE uses the
 * memory before all members have added it.
 */
static void grow_commit(const struct grow *g, const char *fn)
{
    struct stp_space *space = g->space;

    grow_exchange(g, fn);
    stp_space_lookup_resize(space, g->nbytes);
    (void)stp_heap_grow(space->heap, g->nbytes); /* cannot fail, because the size is larger */
    space->n_extents++;
}

/*
 * Pins the memory that the peers' parts have gained. All members have grown their parts by now.
 * Returns whether a member failed. The result is the same on all members.
 */
static bool grow_pin(struct grow *g)
{
    struct stp_space *space = g->space;

    return space->pinned != NULL &&
           stp_coll_any(space->team, stp_space_pin_peers(space, space->nbytes, g->nbytes, g->reason,
                                                         sizeof(g->reason)) != 0);
}

/* Makes one attempt. Returns whether a member failed. The result is the same on all members. */
static bool grow_try(struct grow *g, const char *fn)
{
    bool failed = stp_coll_any(g->space->team, grow_part(g) != 0) || grow_pin(g);

    if (failed)
        grow_undo(g);
    else
        grow_commit(g, fn);
    return failed;
}

/* Logs the failure once for each space, because a program may repeat a request that cannot fit. */
STP_COLD static void grow_log_failure(const struct grow *g, const char *fn)
{
    struct stp_space *space = g->space;

    if (g->reason[0] == '\0' || space->growth_failure_reported) return;
    space->growth_failure_reported = true;
    stp_warn("%s: space %u cannot grow from %zu to %zu bytes on this PE: %s (printed once; "
             "SHMEM_WARN=off hides it)",
             stp_public_name(fn), space->number, space->nbytes, g->nbytes, g->reason);
}

int stp_space_grow(struct stp_space *space, size_t needed, const char *fn)
{
    struct grow preferred = {.space = space, .nbytes = grow_preferred_size(space, needed)};
    struct grow minimal = {.space = space, .nbytes = grow_min_size(space, needed)};

    if (needed > space->max_bytes || space->n_extents == STP_FABRIC_EXTENTS) return -ENOMEM;
    if (!grow_try(&preferred, fn)) return 0;
    if (minimal.nbytes < preferred.nbytes) {
        stp_coll_sync(space->team); /* after this, all members have undone the first attempt */
        if (!grow_try(&minimal, fn)) return 0;
    }
    grow_log_failure(minimal.nbytes < preferred.nbytes ? &minimal : &preferred, fn);
    return -ENOMEM;
}
