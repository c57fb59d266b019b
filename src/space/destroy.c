/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file destroys spaces. The destruction fails on all members if a team, context or device
 * handle of one member still uses the space. Otherwise the members sync, so that no PE uses the
 * space when its memory is freed. Design: docs/design/spaces.md.
 */
#include "space_lifecycle.h"

#include "coll/coll.h"
#include "rma/rma.h"
#include "team/team_lifecycle.h"
#include "spaces/cuda/pinned_host_and_kernel_gpu.h"

static void destroy_warn_live(const struct stp_space *space)
{
    const struct stp_team *team = space->team;
    struct stp_heap_stats stats;

    if (space->single_block) return;
    stp_heap_stats(space->heap, &stats);
    stats.n_blocks -= stp_space_named_blocks(space); /* named blocks are meant to stay */
    if (stats.n_blocks > 0 && team->rank == 0)
        stp_warn(
            "shmem_space_destroy: space %u is destroyed, but the program has not freed all of its "
            "memory (allocations that remain: %zu, bytes: %zu)",
            space->number, stats.n_blocks, stats.used);
}

/*
 * Returns true after logging if the program has unmapped an adopted buffer. Since then, peers may
 * have accessed other memory at the address of the buffer.
 */
static bool destroy_check_unmapped(const struct stp_space *space)
{
    if (!space->adopted || space->device >= 0 || !stp_private_gone(space)) return false;
    stp_error("shmem_space_destroy: the buffer of space %u, %zu bytes at %p, is no longer "
              "mapped: destroy the space before you unmap its buffer",
              space->number, space->nbytes, (void *)space->base);
    return true;
}

/* Frees the space on all members. No member uses the space any more. */
static void destroy_end(struct stp_space *space)
{
    struct stp_team *team = space->team;

    stp_space_lookup_remove(space); /* after this, lookups no longer find the space */
    stp_active_set_forget(space->base, space->nbytes);
    stp_pinned_unregister_peers(space);
    stp_kind_detach(space);
    stp_coll_sync(team); /* after this, no member has a peer's part attached */
    space->team = NULL;
    stp_space_notify_change(space, -1);
    stp_space_shut(space);
    stp_team_destroy(team); /* includes a sync, after which all parts and the name are released */
    stp_space_struct_free(space);
}

int pshmem_space_destroy(shmem_space_t handle)
{
    struct stp_space *space;
    bool destroyed;
    int64_t facts[2]; /* number of users of the space, and whether the buffer was unmapped */
    int n_local_users;

    if (stp_space_is_invalid(handle)) return 0;
    stp_check_live(__func__);
    space = stp_space_of(handle, &destroyed);
    if (space == NULL) {
        stp_error("shmem_space_destroy: space %p is not a live space: %s", handle,
                  destroyed ? "the space was destroyed" : "no routine has returned this handle");
        return 1;
    }
    if (space->permanent) {
        stp_error("shmem_space_destroy: %s cannot be destroyed",
                  handle == SHMEM_SPACE_DEFAULT ? "the default space"
                                                : "a space that SHMEM_ENABLE_<KIND> created");
        return 1;
    }
    facts[0] = n_local_users = stp_space_end_use_without_handle_if_unused(space);
    facts[1] = destroy_check_unmapped(space);
    stp_coll_agree(stp_coll_checked(space->team, __func__), facts, 2);
    if (facts[0] != 0) {
        stp_space_allow_use_without_handle(space);
        if (n_local_users > 0)
            stp_error(
                "shmem_space_destroy: space %u is in use by teams, contexts or device handles (%d "
                "in total): destroy these first",
                space->number, n_local_users);
        return 1;
    }
    destroy_warn_live(space);
    stp_active_sets_quiet();
    stp_quiet(&stp_ctx_default);
    /* Complete all operations of this PE on the space, on all contexts. */
    if (stp_rt.has_fabric) stp_rt.fabric.region_drain(space->number);
    stp_coll_sync(space->team); /* after this, no PE uses the space */
    destroy_end(space);
    return facts[1] != 0;
}
STP_PROFILED(shmem_space_destroy);
