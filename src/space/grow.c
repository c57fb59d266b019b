/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A space gets more memory: in the collective call that finds no room, whose members all know that,
 * since their heaps are equal. Every member grows its own part and its ways to its peers', which
 * nobody sees yet; one reduction tells whether all could; then the new room is everybody's, or
 * nobody's. Design: docs/design/spaces.md.
 */
#include "space_lifecycle.h"

#include "coll/coll.h"
#include "spaces/cuda/pinned_host_and_kernel_gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define GROW_LEAST ((size_t)64 << 20) /* of an extent, where nothing is in the way */
#define GROW_WHY 160

/* One attempt. */
struct grow {
    struct stp_space *space;
    size_t nbytes; /* that it shall have */
    struct stp_fabric_region mine;
    bool here;          /* the kind has grown this PE's part, */
    bool registered;    /* and the fabric has it */
    char why[GROW_WHY]; /* or not */
};

/* As little as will do, in large pages. */
static size_t grow_least(const struct stp_space *space, size_t need)
{
    size_t whole = need > SIZE_MAX - STP_RANGE_ALIGN
                       ? SIZE_MAX
                       : (need + STP_RANGE_ALIGN - 1) & ~(STP_RANGE_ALIGN - 1);

    return whole < space->max_bytes ? whole : space->max_bytes;
}

/*
 * What a growth takes: twice the space, so that a space of any size is there after a few; the last
 * extent takes all there may be.
 */
static size_t grow_target(const struct stp_space *space, size_t need)
{
    size_t max = space->max_bytes, had = space->nbytes;
    size_t more = had > GROW_LEAST ? had : GROW_LEAST;

    if (space->n_extents + 1 == STP_FABRIC_EXTENTS || more > max - had) return max;
    return had + more > need ? had + more : grow_least(space, need);
}

static int grow_here(struct grow *g)
{
    struct stp_space *space = g->space;
    int rc = stp_heap_reserve_record(space->heap);

    if (rc != 0) {
        snprintf(g->why, sizeof(g->why), "no memory for a record of a heap");
        return rc;
    }
    rc = space->kind->grow(space, g->nbytes, g->why, sizeof(g->why));
    g->here = rc == 0;
    if (rc == 0 && space->pinned != NULL)
        rc = stp_pinned_register(space, stp_window_local(), space->nbytes, g->nbytes, g->why,
                                 sizeof(g->why));
    if (rc != 0 || !space->registered) return rc;
    rc = stp_rt.fabric.region_grow(space->number, g->nbytes - space->nbytes, &g->mine);
    g->registered = rc == 0;
    if (rc != 0)
        snprintf(g->why, sizeof(g->why), "%s does not register %zu bytes more: %s",
                 stp_rt.fabric.provider, g->nbytes - space->nbytes, stp_errno_text(-rc));
    return rc;
}

static void grow_undo(struct grow *g)
{
    if (g->registered) stp_rt.fabric.region_shrink(g->space->number);
    if (g->space->pinned != NULL) stp_pinned_unregister_from(g->space, g->space->nbytes);
    if (g->here) g->space->kind->shrink(g->space);
}

/*
 * Every member's descriptor of the new piece to every member, where the provider wants them and the
 * fabric reaches all parts. Where it does not, those that are registered are for own transfers.
 */
static void grow_exchange(const struct grow *g, const char *fn)
{
    struct stp_fabric_region *by_pe = NULL;

    if (!g->space->registered) return;
    if (g->space->on_fabric) by_pe = stp_space_gather_regions_if_used(g->space, &g->mine, fn);
    if (stp_rt.fabric.region_grown(g->space->number, by_pe) != 0)
        stp_fatal(fn, "no memory for %d descriptors", stp_rt.n_pes);
    free(by_pe);
}

/* The caller's routine ends with a barrier: nobody uses the room before all members have it. */
static void grow_commit(const struct grow *g, const char *fn)
{
    struct stp_space *space = g->space;

    grow_exchange(g, fn);
    stp_space_lookup_resize(space, g->nbytes);
    (void)stp_heap_grow(space->heap, g->nbytes); /* cannot fail: larger than before */
    space->n_extents++;
}

/* Pins the piece in the parts of peers, whose owners have it by now: the same on all members. */
static int grow_pin(struct grow *g)
{
    struct stp_space *space = g->space;
    int64_t failed;

    if (space->pinned == NULL) return 0;
    failed = stp_space_pin_peers(space, space->nbytes, g->nbytes, g->why, sizeof(g->why)) != 0;
    stp_coll_agree(space->team, &failed, 1);
    return failed != 0;
}

/* The same on all members: 0, or 1. */
static int grow_try(struct grow *g, const char *fn)
{
    int64_t failed = grow_here(g) != 0;

    stp_coll_agree(g->space->team, &failed, 1);
    if (failed == 0) failed = grow_pin(g);
    if (failed == 0)
        grow_commit(g, fn);
    else
        grow_undo(g);
    return failed != 0;
}

/* A program may ask again and again for what does not fit. */
STP_COLD static void grow_tell(const struct grow *g, const char *fn)
{
    struct stp_space *space = g->space;

    if (g->why[0] == '\0' || space->told_grow) return;
    space->told_grow = true;
    stp_warn("%s: space %u does not grow from %zu bytes to %zu on this PE: %s (told once; "
             "SHMEM_WARN=off: never)",
             stp_public_name(fn), space->number, space->nbytes, g->nbytes, g->why);
}

int stp_space_grow(struct stp_space *space, size_t need, const char *fn)
{
    struct grow most = {.space = space, .nbytes = grow_target(space, need)};
    struct grow least = {.space = space, .nbytes = grow_least(space, need)};

    if (need > space->max_bytes || space->n_extents == STP_FABRIC_EXTENTS) return -ENOMEM;
    if (grow_try(&most, fn) == 0) return 0;
    if (least.nbytes < most.nbytes) {
        stp_coll_sync(space->team); /* what others had taken is free again */
        if (grow_try(&least, fn) == 0) return 0;
    }
    grow_tell(least.nbytes < most.nbytes ? &least : &most, fn);
    return -ENOMEM;
}
