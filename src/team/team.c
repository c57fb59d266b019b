/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes and destroys teams, and answers queries about them. A team is a set of PEs. It is stored as
 * a start and a stride, or as a table. Splits are in split.c. Design: docs/design/teams.md.
 */
#include "team_lifecycle.h"

#include "coll/coll.h"
#include "rma/rma.h"

#include <stdlib.h>
#include <string.h>

static void team_set_members(struct stp_team *team, const struct stp_team_members *members)
{
    team->n_pes = members->n_pes;
    team->rank = members->rank;
    team->start = members->start;
    team->stride = members->stride;
    team->table = members->table;
    team->ascending = true;
    for (int rank = 1; team->table != NULL && rank < team->n_pes; rank++)
        if (team->table[rank] <= team->table[rank - 1]) team->ascending = false;
}

/*
 * Returns the lowest free slot that is not below the argument start and not below *arg. The caller
 * sets *arg above the slots that other threads took first.
 */
static size_t team_find_slot(size_t start, void *arg)
{
    size_t floor = *(const size_t *)arg;

    return stp_coll_find_slot(start > floor ? start : floor);
}

enum placed { PLACED, LOST_SLOT, NO_MEMORY };

/*
 * Tries to take a slot that was free on all PEs a moment ago, and to give its area to the team. On
 * PEs that will not be members, team is NULL. These PEs also hold the slot until all PEs agree on
 * the outcome.
 */
static enum placed team_try_slot(struct stp_team *parent, struct stp_team *team, size_t slot)
{
    bool taken = stp_coll_take_slot(slot);
    bool attached = taken && team != NULL && stp_coll_attach(team, slot) == 0;
    int64_t lost[2] = {!taken, taken && team != NULL && !attached};
    bool placed;

    stp_coll_agree(parent, lost, 2);
    placed = lost[0] == 0 && lost[1] == 0;
    if (!placed && attached) stp_coll_detach(team);
    if (taken && (!placed || team == NULL)) stp_coll_release_slot(slot);
    if (taken) stp_coll_slot_decided();
    if (placed) return PLACED;
    return lost[1] != 0 ? NO_MEMORY : LOST_SLOT;
}

/*
 * Takes a slot that is free on all PEs of the parent, and gives its area to the new team. Other
 * threads may split other parents at the same time. Returns 0 on success and 1 on failure. The
 * result is the same on all PEs.
 */
static int team_find_area(struct stp_team *parent, struct stp_team *team)
{
    struct stp_coll_index_search search;
    size_t floor = 0;

    stp_coll_index_search_begin(&search, parent, stp_coll_slots_freed_since);
    for (;;) {
        size_t slot = stp_coll_agree_index(parent, team_find_slot, &floor);
        enum placed placed;

        if (slot == SIZE_MAX) {
            if (!stp_coll_index_agree_retry(&search, floor > 0)) return 1;
            floor = 0;
            continue;
        }
        placed = team_try_slot(parent, team, slot);
        if (placed != LOST_SLOT) return placed != PLACED;
        floor = slot + stp_coll_index_retry_distance(&search);
    }
}

/*
 * The PEs of the parent agree three times. They agree on whether any PE has an error, on a free
 * slot, and on whether all areas are ready. After the last agreement all members may use the team
 * at once.
 */
int stp_team_create(struct stp_team *parent, const struct stp_team_members *members, int rc,
                    struct stp_space *space, struct stp_team **out)
{
    struct stp_team *team = rc == 0 && members->rank >= 0 ? stp_team_struct_alloc() : NULL;
    bool has_error = rc != 0 || (members->rank >= 0 && team == NULL);

    *out = NULL;
    if (team != NULL) {
        team_set_members(team, members);
        team->space = space;
    }
    if (stp_coll_any(parent, has_error) || team_find_area(parent, team) != 0) {
        if (team != NULL) {
            team->table = NULL; /* the caller owns the table again */
            stp_team_struct_free(team);
        }
        return 1;
    }
    if (team != NULL) stp_team_link(team);
    *out = team;
    return 0;
}

static void team_free(struct stp_team *team)
{
    stp_coll_detach(team);
    stp_coll_release_slot(team->slot);
    stp_team_struct_free(team);
}

void stp_team_destroy(struct stp_team *team)
{
    stp_ctx_destroy_all(team);
    /*
     * First complete this PE's messages. The last sync then shows that no PE runs a collective of
     * the team any more.
     */
    stp_quiet(&stp_ctx_coll);
    stp_quiet(&stp_ctx_small);
    stp_team_last_sync(team);
    stp_team_unlink(team);
    team_free(team);
}

/* Makes a predefined team. Its slot is 0 or 1 on all PEs, so the PEs need no agreement. */
static struct stp_team *team_predefine(const struct stp_team_members *members, size_t slot)
{
    struct stp_team *team = stp_team_struct_alloc();

    if (team == NULL) stp_fatal("shmem_init", "out of memory: cannot create the predefined teams");
    team_set_members(team, members);
    team->predefined = true;
    team->space = stp_space_at(STP_SPACE_HEAP);
    /* The handles of the predefined teams are constants, in the order of the slots. */
    team->handle = (shmem_team_t)(slot + (uintptr_t)SHMEM_TEAM_WORLD);
    (void)stp_coll_take_slot(slot);
    stp_coll_slot_decided();
    if (stp_coll_attach(team, slot) != 0)
        stp_fatal("shmem_init", "out of memory: cannot create the predefined teams");
    team->magic = STP_TEAM_MAGIC;
    return team;
}

void stp_team_init(void)
{
    struct stp_team_members world = {stp_rt.n_pes, stp_rt.pe, 0, 1, NULL};
    struct stp_team_members shared = {.rank = stp_local_of(stp_rt.pe), .stride = 1};

    stp_team_world = team_predefine(&world, 0);
    shared.n_pes = stp_win.n_view;
    shared.start = stp_local_pe(0);
    if (stp_local_pe(shared.n_pes - 1) - shared.start != shared.n_pes - 1) {
        shared.table = malloc((size_t)shared.n_pes * sizeof(*shared.table));
        if (shared.table == NULL)
            stp_fatal("shmem_init", "out of memory: cannot create SHMEM_TEAM_SHARED");
        for (int i = 0; i < shared.n_pes; i++)
            shared.table[i] = stp_local_pe(i);
    }
    stp_team_shared = team_predefine(&shared, 1);
}

void stp_team_destroy_ctxs(void)
{
    for (struct stp_team *team = stp_team_first(); team != NULL; team = team->next)
        stp_ctx_destroy_all(team);
    stp_ctx_destroy_all(stp_team_world);
    stp_ctx_destroy_all(stp_team_shared);
}

/*
 * Destroys all teams, including the teams that users made. Each PE destroys its teams alone, after
 * the last barrier.
 */
void stp_team_fini(void)
{
    struct stp_team *team;

    while ((team = stp_team_first()) != NULL) {
        stp_team_unlink(team);
        team_free(team);
    }
    team_free(stp_team_shared);
    team_free(stp_team_world);
    stp_team_shared = stp_team_world = NULL;
}

/* ---- queries ---------------------------------------------------------------- */

int pshmem_team_my_pe(shmem_team_t team)
{
    return stp_team_is_invalid(team) ? -1 : stp_team_check(team, __func__)->rank;
}
STP_PROFILED(shmem_team_my_pe);

int pshmem_team_n_pes(shmem_team_t team)
{
    return stp_team_is_invalid(team) ? -1 : stp_team_check(team, __func__)->n_pes;
}
STP_PROFILED(shmem_team_n_pes);

int pshmem_team_translate_pe(shmem_team_t src_team, int src_pe, shmem_team_t dest_team)
{
    const struct stp_team *src, *dest;

    if (stp_team_is_invalid(src_team) || stp_team_is_invalid(dest_team)) return -1;
    src = stp_team_check(src_team, __func__);
    dest = stp_team_check(dest_team, __func__);
    if (src_pe < 0 || src_pe >= src->n_pes) return -1;
    return stp_team_rank_of(dest, stp_team_pe(src, src_pe));
}
STP_PROFILED(shmem_team_translate_pe);

int pshmem_team_get_config(shmem_team_t team, long config_mask, shmem_team_config_t *config)
{
    if (stp_team_is_invalid(team)) return 1;
    if (config_mask & SHMEM_TEAM_NUM_CONTEXTS)
        config->num_contexts = stp_team_check(team, __func__)->config.num_contexts;
    return 0;
}
STP_PROFILED(shmem_team_get_config);

int pshmem_team_is_valid(shmem_team_t team)
{
    return team != SHMEM_TEAM_INVALID && stp_team_is_live(stp_team_of(team));
}
STP_PROFILED(shmem_team_is_valid);

int pshmem_team_get_space(shmem_team_t team, shmem_space_t *space)
{
    stp_check_given(space, __func__, "space");
    if (stp_team_is_invalid(team)) return 1;
    *space = stp_space_handle(stp_team_check(team, __func__)->space);
    return 0;
}
STP_PROFILED(shmem_team_get_space);

void pshmem_team_destroy(shmem_team_t team)
{
    struct stp_team *t;

    if (stp_team_is_invalid(team)) return;
    t = stp_team_check(team, __func__);
    if (t->predefined) stp_fatal(__func__, "team is a predefined team, which cannot be destroyed");
    /* Pairs with the release store in coll_end(). */
    if (t->stream_called != __atomic_load_n(&t->stream_done, __ATOMIC_ACQUIRE))
        stp_fatal(__func__, "collectives of the team are still running on streams: synchronize "
                            "these streams first");
    if (__atomic_load_n(&t->space->user_team, __ATOMIC_RELAXED) == t)
        /* Pairs with the acquire load in shmem_space_get_team(). */
        __atomic_store_n(&t->space->user_team, NULL, __ATOMIC_RELEASE);
    stp_team_destroy(stp_coll_checked(t, __func__));
}
STP_PROFILED(shmem_team_destroy);
