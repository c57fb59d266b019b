/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges the blocks of all members through the leaders, which are the heads of their nodes. The
 * members of a node copy their data into the chunk of their leader. Each leader sends one message
 * to each other leader. Then the members copy their data out of the chunk of their leader. If two
 * nodes have n members each, they exchange one message in each direction instead of n * n. In a
 * chunk the data is sorted by node, in the order of team->plan.order.
 *
 * All members take the chunk in the same call, and no member returns before all members have
 * entered the call. Therefore no PE overwrites data that another PE still reads (coll_internal.h).
 * Design: docs/design/collectives.md.
 */
#include "coll_internal.h"

#include <string.h>

struct heads {
    struct stp_team *team;
    struct stp_coll_cell *cell;
    struct stp_coll_cell *leader; /* cell of this node's leader */
    char *chunk;                  /* chunk of this node's leader */
    uint64_t sequence;
    /* Chunk of this PE. A leader sends from this chunk to the chunks of other leaders. */
    char *my_chunk;
    const char *fn;
};

static struct heads heads_begin(struct stp_team *team, const char *fn)
{
    int leader = team->plan.local_pes[0];
    struct heads h = {.team = team, .fn = fn};

    h.cell = stp_coll_take_cell(team, &h.sequence);
    h.leader = stp_ptr(h.cell, leader);
    h.my_chunk = stp_coll_alternate_chunk(team);
    h.chunk = stp_ptr(h.my_chunk, leader);
    return h;
}

/*
 * Sends nbytes bytes from this PE's chunk to the chunk of another leader. The argument offset is
 * the offset in this PE's chunk, and peer_offset is the offset in the other chunk. Then adds 1 to
 * the other leader's count of messages.
 */
static void heads_send(const struct heads *h, int group, size_t peer_offset, size_t offset,
                       size_t nbytes)
{
    stp_coll_put_and_count(h->cell, COLL_RECEIVED, h->my_chunk + peer_offset, h->my_chunk + offset,
                           nbytes, h->team->plan.leaders[group], h->fn);
}

/*
 * On a leader, waits until all other members on the node have reported, and returns true. On any
 * other member, reports that the data of this PE is in the chunk, and returns false.
 */
static bool heads_arrive(const struct heads *h)
{
    const struct stp_team_hierarchy *plan = &h->team->plan;

    if (plan->local != 0) {
        stp_coll_post_node(h->team, &h->cell->flags[COLL_READY], h->sequence);
        return false;
    }
    for (int i = 1; i < plan->n_local; i++) {
        const struct stp_coll_cell *peer_cell = stp_ptr(h->cell, plan->local_pes[i]);

        stp_coll_wait_node(h->team, &peer_cell->flags[COLL_READY], h->sequence);
    }
    return true;
}

/* Waits until the data from the other nodes is in the leader's chunk. */
static void heads_wait(const struct heads *h)
{
    const struct stp_team_hierarchy *plan = &h->team->plan;

    if (plan->local != 0) {
        stp_coll_wait_node(h->team, &h->leader->flags[COLL_DONE], h->sequence);
        return;
    }
    stp_coll_wait_count(h->cell, COLL_RECEIVED, (size_t)plan->n_groups - 1);
    if (plan->n_local > 1) stp_coll_post_node(h->team, &h->cell->flags[COLL_DONE], h->sequence);
}

/* ---- gather (for collect and fcollect) ------------------------------------------------ */

static size_t gather_size(const struct stp_coll_gather *g, int rank)
{
    return g->offsets != NULL ? g->offsets[rank + 1] - g->offsets[rank] : g->nbytes;
}

/*
 * Returns the total number of bytes in the blocks of the ranks plan.order[first] to
 * plan.order[end - 1].
 */
static size_t gather_bytes(const struct stp_coll_gather *g, int first, int end)
{
    size_t sum = 0;

    if (g->offsets == NULL) return (size_t)(end - first) * g->nbytes;
    for (int place = first; place < end; place++)
        sum += gather_size(g, g->team->plan.order[place]);
    return sum;
}

static void gather_take(const struct heads *h, const struct stp_coll_gather *g)
{
    const char *block = h->chunk;

    for (int place = 0; place < g->team->n_pes; place++) {
        int rank = g->team->plan.order[place];
        size_t nbytes = gather_size(g, rank);

        if (nbytes > 0)
            memcpy((char *)g->dest +
                       (g->offsets != NULL ? g->offsets[rank] : (size_t)rank * nbytes),
                   block, nbytes);
        block += nbytes;
    }
}

static bool heads_supported(const struct stp_team *team)
{
    return team->plan.order != NULL && team->plan.n_groups > 1 && stp_coll_has_chunk(team);
}

/*
 * Returns whether the leaders should gather through their chunks. If every member is a leader, the
 * chunks would only add copies.
 */
static bool heads_gather_supports(const struct stp_team *team, const struct stp_coll_call *call)
{
    return team->plan.max_local > 1 && call->result_bytes <= COLL_CHUNK && heads_supported(team);
}

static void heads_gather(const struct stp_coll_gather *g)
{
    const struct stp_team_hierarchy *plan = &g->team->plan;
    struct heads h = heads_begin(g->team, g->fn);
    int first = plan->first[plan->group], my_index = first + plan->local;
    size_t offset = gather_bytes(g, 0, first), my_bytes = gather_size(g, g->team->rank);

    if (my_bytes > 0)
        memcpy(h.chunk + offset + gather_bytes(g, first, my_index), g->source, my_bytes);
    if (heads_arrive(&h)) {
        size_t nbytes = gather_bytes(g, first, plan->first[plan->group + 1]);

        for (int i = 1; i < plan->n_groups; i++)
            heads_send(&h, (plan->group + i) % plan->n_groups, offset, offset, nbytes);
    }
    heads_wait(&h);
    if (g->dest != NULL || my_bytes > 0) gather_take(&h, g);
}

const struct stp_coll_algorithm stp_coll_fcollect_leader = {.name = "heads",
                                                            .operation = STP_COLL_FCOLLECT,
                                                            .supports = heads_gather_supports,
                                                            .gather = heads_gather};

/* ---- alltoall --------------------------------------------------------------------------- */

/*
 * In an alltoall, a chunk has two halves. The first half holds the data that leaves the node,
 * sorted by destination node. The second half holds the data that has arrived, sorted by source
 * node. The data for one node consists of rows, one for each sending member. A row holds the blocks
 * of this member.
 */
static int group_members(const struct stp_team_hierarchy *plan, int group)
{
    return plan->first[group + 1] - plan->first[group];
}

/*
 * Returns the offset of the data that one group sends to another. The data is in the first half of
 * the sender's chunk.
 */
static size_t alltoall_out(const struct stp_team_hierarchy *plan, size_t nbytes, int from_group,
                           int to_group)
{
    return nbytes * (size_t)group_members(plan, from_group) * (size_t)plan->first[to_group];
}

/*
 * Returns the offset of the data that one group sends to another. The data arrives in the second
 * half of the receiver's chunk.
 */
static size_t alltoall_in(const struct stp_team_hierarchy *plan, size_t nbytes, int from_group,
                          int to_group)
{
    return COLL_CHUNK / 2 +
           nbytes * (size_t)group_members(plan, to_group) * (size_t)plan->first[from_group];
}

bool stp_coll_leader_alltoall_supports(const struct stp_team *team, size_t nbytes)
{
    const struct stp_team_hierarchy *plan = &team->plan;

    return heads_supported(team) && nbytes <= COLL_CHUNK / 2 &&
           nbytes * (size_t)team->n_pes * (size_t)plan->max_local <= COLL_CHUNK / 2;
}

/*
 * Copies nelems elements of size bytes. Neighbouring elements are dst elements apart in dest, and
 * sst elements apart in source.
 */
static void copy_strided(char *dest, ptrdiff_t dst, const char *source, ptrdiff_t sst, size_t size,
                         size_t nelems)
{
    if (dst == 1 && sst == 1) {
        memcpy(dest, source, nelems * size);
        return;
    }
    for (size_t i = 0; i < nelems; i++)
        memcpy(dest + i * (size_t)dst * size, source + i * (size_t)sst * size, size);
}

static void alltoall_put(const struct heads *h, const struct stp_coll_alltoall *a, size_t nbytes)
{
    const struct stp_team_hierarchy *plan = &a->team->plan;

    for (int group = 0; group < plan->n_groups; group++) {
        char *block = h->chunk + alltoall_out(plan, nbytes, plan->group, group) +
                      nbytes * (size_t)plan->local * (size_t)group_members(plan, group);

        for (int place = plan->first[group]; place < plan->first[group + 1]; place++) {
            size_t offset = (size_t)plan->order[place] * nbytes * (size_t)a->sst;

            copy_strided(block, 1, (const char *)a->source + offset, a->sst, a->size, a->nelems);
            block += nbytes;
        }
    }
}

static void alltoall_take(const struct heads *h, const struct stp_coll_alltoall *a, size_t nbytes)
{
    const struct stp_team_hierarchy *plan = &a->team->plan;
    size_t row = nbytes * (size_t)plan->n_local;

    for (int group = 0; group < plan->n_groups; group++) {
        const char *block = h->chunk + nbytes * (size_t)plan->local;

        block += group == plan->group ? alltoall_out(plan, nbytes, group, group)
                                      : alltoall_in(plan, nbytes, group, plan->group);
        for (int place = plan->first[group]; place < plan->first[group + 1]; place++) {
            size_t offset = (size_t)plan->order[place] * nbytes * (size_t)a->dst;

            copy_strided((char *)a->dest + offset, a->dst, block, 1, a->size, a->nelems);
            block += row;
        }
    }
}

void stp_coll_leader_alltoall(const struct stp_coll_alltoall *a)
{
    const struct stp_team_hierarchy *plan = &a->team->plan;
    struct heads h = heads_begin(a->team, a->fn);
    size_t nbytes = a->size * a->nelems;

    alltoall_put(&h, a, nbytes);
    if (heads_arrive(&h))
        for (int i = 1; i < plan->n_groups; i++) {
            int to_group = (plan->group + i) % plan->n_groups;

            heads_send(&h, to_group, alltoall_in(plan, nbytes, plan->group, to_group),
                       alltoall_out(plan, nbytes, plan->group, to_group),
                       nbytes * (size_t)plan->n_local * (size_t)group_members(plan, to_group));
        }
    heads_wait(&h);
    alltoall_take(&h, a, nbytes);
}

static bool heads_alltoall_supports(const struct stp_team *team, const struct stp_coll_call *call)
{
    return team->plan.max_local > 1 && stp_coll_leader_alltoall_supports(team, call->bytes);
}

const struct stp_coll_algorithm stp_coll_alltoall_leader = {.name = "heads",
                                                            .operation = STP_COLL_ALLTOALL,
                                                            .supports = heads_alltoall_supports,
                                                            .alltoall = stp_coll_leader_alltoall};
