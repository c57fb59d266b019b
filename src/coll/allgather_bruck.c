/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gathers small blocks of all members on all members. The leaders of the nodes exchange the blocks
 * by Bruck's algorithm. In round k each leader sends all blocks that it holds so far to the leader
 * that is 2^k nodes further. In the last round it sends only the blocks that the other leader still
 * needs. A leader's cell first holds the blocks of its own node, then the blocks of the preceding
 * node, and so on. The blocks that a leader sends are therefore contiguous and need only one
 * message. Design: docs/design/collectives.md.
 */
#include "coll_internal.h"

#include <string.h>

/*
 * Returns the number of members in n consecutive groups. The argument group is the last of these
 * groups. The last group of the team precedes group 0.
 */
static size_t gather_members(const struct stp_team_hierarchy *plan, int group, int n)
{
    int first_group = group - n + 1, n_pes = plan->first[plan->n_groups];

    if (first_group >= 0) return (size_t)(plan->first[group + 1] - plan->first[first_group]);
    return (size_t)(plan->first[group + 1] + n_pes - plan->first[first_group + plan->n_groups]);
}

static void gather_internode(struct stp_team *team, struct stp_coll_cell *cell, uint64_t sequence,
                             size_t nbytes)
{
    const struct stp_team_hierarchy *plan = &team->plan;
    int n = plan->n_groups;

    for (int step = 1, round = 0; step < n; step <<= 1, round++) {
        int n_sent = step < n - step ? step : n - step, to_group = (plan->group + step) % n;
        size_t offset = nbytes * gather_members(plan, to_group, step);
        uint64_t *flag = &cell->flags[COLL_CHILD + round];

        stp_coll_send(cell->net + offset, cell->net,
                      nbytes * gather_members(plan, plan->group, n_sent), flag, sequence,
                      plan->leaders[to_group]);
        stp_coll_wait_far(flag, sequence);
    }
}

/* Copies the blocks from the cell of this node's leader to their places in dest. */
static void gather_unpack(const struct stp_team *team, const struct stp_coll_cell *leader,
                          char *dest, size_t nbytes, size_t part_offset, size_t part_bytes)
{
    const struct stp_team_hierarchy *plan = &team->plan;
    const unsigned char *block = leader->net + part_offset;

    for (int i = 0, group = plan->group; i < plan->n_groups; i++) {
        for (int index = plan->first[group]; index < plan->first[group + 1];
             index++, block += nbytes)
            memcpy(dest + part_bytes * (size_t)plan->order[index], block, part_bytes);
        group = group > 0 ? group - 1 : plan->n_groups - 1;
    }
}

bool stp_coll_gather_fits(const struct stp_team *team, size_t nbytes)
{
    return team->plan.n_groups > 1 && nbytes <= COLL_SMALL && team->plan.order != NULL &&
           nbytes * (size_t)team->n_pes <= COLL_NET;
}

static void gather_by_leaders(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                              size_t part_offset, size_t part_bytes)
{
    const struct stp_team_hierarchy *plan = &team->plan;
    uint64_t sequence;
    struct stp_coll_cell *cell = stp_coll_take_cell(team, &sequence);
    struct stp_coll_cell *leader = stp_ptr(cell, plan->local_pes[0]);

    if (plan->local == 0) {
        memcpy(cell->net, source, nbytes);
        for (int i = 1; i < plan->n_local; i++) {
            struct stp_coll_cell *peer_cell = stp_ptr(cell, plan->local_pes[i]);
            stp_coll_wait_node(team, &peer_cell->flags[COLL_READY], sequence);
            memcpy(cell->net + nbytes * (size_t)i, peer_cell->in, nbytes);
        }
        gather_internode(team, cell, sequence, nbytes);
        if (plan->n_local > 1) stp_coll_post_node(team, &cell->flags[COLL_DONE], sequence);
    } else {
        memcpy(cell->in, source, nbytes);
        stp_coll_post_node(team, &cell->flags[COLL_READY], sequence);
        stp_coll_wait_node(team, &leader->flags[COLL_DONE], sequence);
    }
    gather_unpack(team, leader, dest, nbytes, part_offset, part_bytes);
}

/* Gathers without the leaders. After a sync, every member reads the cells of all members. */
static void gather_by_cells(struct stp_team *team, char *dest, const void *source, size_t nbytes,
                            size_t part_offset, size_t part_bytes)
{
    uint64_t sequence;
    struct stp_coll_cell *cell = stp_coll_take_cell(team, &sequence);

    memcpy(cell->in, source, nbytes);
    stp_coll_sync(team);
    for (int rank = 0; rank < team->n_pes; rank++)
        stp_get_nbi(&stp_ctx_coll, dest + part_bytes * (size_t)rank, cell->in + part_offset,
                    part_bytes, stp_team_pe(team, rank), "collective");
    stp_coll_quiet();
}

void stp_coll_gather_part(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                          size_t part_offset, size_t part_bytes)
{
    if (stp_coll_gather_fits(team, nbytes))
        gather_by_leaders(team, dest, source, nbytes, part_offset, part_bytes);
    else
        gather_by_cells(team, dest, source, nbytes, part_offset, part_bytes);
}

static bool bruck_gather_supports(const struct stp_team *team, const struct stp_coll_call *call)
{
    return !call->unequal && stp_coll_gather_fits(team, call->bytes);
}

static void bruck_gather(const struct stp_coll_gather *g)
{
    stp_coll_gather_part(g->team, g->dest, g->source, g->nbytes, 0, g->nbytes);
}

const struct stp_coll_algorithm stp_coll_fcollect_bruck = {.name = "gather",
                                                           .operation = STP_COLL_FCOLLECT,
                                                           .supports = bruck_gather_supports,
                                                           .gather = bruck_gather};

/*
 * Returns whether a gather can replace the alltoall. In this gather every member receives the data
 * of all members, and keeps only its own part.
 */
static bool bruck_alltoall_supports(const struct stp_team *team, const struct stp_coll_call *call)
{
    return stp_coll_gather_fits(team, call->result_bytes);
}

static void bruck_alltoall(const struct stp_coll_alltoall *a)
{
    size_t nbytes = a->nelems * a->size;

    stp_coll_gather_part(a->team, a->dest, a->source, nbytes * (size_t)a->team->n_pes,
                         nbytes * (size_t)a->team->rank, nbytes);
}

const struct stp_coll_algorithm stp_coll_alltoall_bruck = {.name = "gather",
                                                           .operation = STP_COLL_ALLTOALL,
                                                           .supports = bruck_alltoall_supports,
                                                           .alltoall = bruck_alltoall};
