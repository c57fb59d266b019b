/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements the broadcast. The leaders of the nodes form a binomial tree. On the root's node, the
 * root itself is the leader. On each node the other members read the data from their leader. Small
 * data is sent through the cells. Large data is put directly into the dest of the leaders, and the
 * members read it there. In an active set, no PE writes into a member's dest before this member has
 * entered the same call. Design: docs/design/teams.md.
 */
#include "coll_internal.h"

#include <string.h>

int stp_coll_bcast_leader(const struct stp_coll_bcast *b, int place)
{
    const struct stp_team_hierarchy *plan = &b->team->plan;

    return place == 0 ? b->root_pe : plan->leaders[(place + b->root_group) % plan->n_groups];
}

int stp_coll_bcast_group_from_root(const struct stp_coll_bcast *b)
{
    const struct stp_team_hierarchy *plan = &b->team->plan;

    return (plan->group - b->root_group + plan->n_groups) % plan->n_groups;
}

/*
 * Returns the distance, in groups, from this leader to its first child in the tree. Returns 0 if
 * this leader has no children. The second child is half as far from this leader, and so on.
 */
static int bcast_first_below(const struct stp_coll_bcast *b)
{
    int place = stp_coll_bcast_group_from_root(b), mask = 1;

    while (mask < b->team->plan.n_groups && !(place & mask))
        mask <<= 1;
    return mask >> 1;
}

/*
 * Sends small data to the children of this leader in the tree. Sends first to the child with the
 * largest subtree.
 */
static void bcast_down(const struct stp_coll_bcast *b, void *data)
{
    int place = stp_coll_bcast_group_from_root(b);

    for (int mask = bcast_first_below(b); mask > 0; mask >>= 1)
        if (place + mask < b->team->plan.n_groups)
            stp_coll_send(data, data, b->nbytes, &b->cell->flags[COLL_RESULT], b->sequence,
                          stp_coll_bcast_leader(b, place + mask));
}

static void bcast_small(const struct stp_coll_bcast *b)
{
    struct stp_coll_cell *cell = b->cell;
    struct stp_coll_cell *leader_cell = cell;

    if (stp_rt.pe != b->leader) {
        leader_cell = stp_ptr(cell, b->leader);
        stp_coll_wait_node(b->team, &leader_cell->flags[COLL_READY], b->sequence);
    } else {
        if (stp_rt.pe == b->root_pe)
            memcpy(cell->out, b->source, b->nbytes);
        else
            stp_coll_wait_far(&cell->flags[COLL_RESULT], b->sequence);
        stp_coll_post_node(b->team, &cell->flags[COLL_READY], b->sequence);
        bcast_down(b, cell->out);
    }
    if (stp_rt.pe != b->root_pe || !b->team->active_set)
        memcpy(b->dest, leader_cell->out, b->nbytes);
}

/*
 * Waits until all other members of the node have read the data. The leader may then reuse its
 * buffer.
 */
static void bcast_wait_readers(const struct stp_coll_bcast *b)
{
    stp_coll_wait_node(b->team, &b->cell->flags[COLL_ACK], (uint64_t)b->team->plan.n_local - 1);
    /* Reset the count of acknowledgements, because the next use of the cell expects it to be 0. */
    __atomic_store_n(&b->cell->flags[COLL_ACK], 0, __ATOMIC_RELAXED);
}

static void bcast_read_from_leader(const struct stp_coll_bcast *b)
{
    struct stp_coll_cell *leader_cell = stp_ptr(b->cell, b->leader);
    const void *data = b->leader == b->root_pe ? b->source : b->dest;

    stp_coll_wait_node(b->team, &leader_cell->flags[COLL_READY], b->sequence);
    memcpy(b->dest, stp_ptr(data, b->leader), b->nbytes);
    /* Pairs with the acquire load by which the leader waits in bcast_wait_readers(). */
    __atomic_fetch_add(&leader_cell->flags[COLL_ACK], 1, __ATOMIC_RELEASE);
    stp_coll_wake(b->team);
}

/*
 * Returns the word in which a child reports its arrival. The child is mask groups further than its
 * parent in the tree.
 */
static uint64_t *bcast_arrival_word(const struct stp_coll_bcast *b, int mask)
{
    return &b->cell->flags[COLL_CHILD + __builtin_ctz((unsigned)mask)];
}

/*
 * Reports to the parent in the tree that this leader has entered the call. The parent may then
 * write this leader's dest. Not called on the root.
 */
static void bcast_report_arrival(const struct stp_coll_bcast *b)
{
    int place = stp_coll_bcast_group_from_root(b), mask = place & -place;

    stp_coll_post(bcast_arrival_word(b, mask), b->sequence, stp_coll_bcast_leader(b, place - mask));
}

static void bcast_tree(const struct stp_coll_bcast *b)
{
    int place = stp_coll_bcast_group_from_root(b);

    if (place != 0) {
        if (b->team->active_set) bcast_report_arrival(b);
        stp_coll_wait_far(&b->cell->flags[COLL_RESULT], b->sequence);
    }
    stp_coll_post_node(b->team, &b->cell->flags[COLL_READY], b->sequence);
    for (int mask = bcast_first_below(b); mask > 0; mask >>= 1) {
        if (place + mask >= b->team->plan.n_groups) continue;
        if (b->team->active_set) stp_coll_wait_far(bcast_arrival_word(b, mask), b->sequence);
        stp_put_notify(&stp_ctx_coll, b->dest, place == 0 ? b->source : b->dest, b->nbytes,
                       &b->cell->flags[COLL_RESULT], b->sequence, SHMEM_SIGNAL_SET,
                       stp_coll_bcast_leader(b, place + mask), b->fn);
    }
}

const struct stp_coll_algorithm stp_coll_bcast_tree = {
    .name = "tree", .operation = STP_COLL_BROADCAST, .broadcast = bcast_tree};

static void bcast_large(const struct stp_coll_bcast *b)
{
    struct stp_coll_call call = {
        .operation = STP_COLL_BROADCAST, .bytes = b->nbytes, .result_bytes = b->nbytes};

    if (stp_rt.pe != b->leader) {
        bcast_read_from_leader(b);
        return;
    }
    if (b->team->plan.n_groups > 1)
        stp_coll_choose(b->team, &call)->broadcast(b);
    else
        bcast_tree(b);
    if (stp_rt.pe == b->root_pe && !b->team->active_set && b->dest != b->source)
        memcpy(b->dest, b->source, b->nbytes);
    bcast_wait_readers(b);
    stp_coll_quiet(); /* wait until the puts have read their source */
}

int stp_coll_broadcast(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                       int root, const char *fn)
{
    struct stp_coll_bcast b = {
        .team = team, .dest = dest, .source = source, .nbytes = nbytes, .fn = fn};

    STP_COLL_CHECK_CALL(team, fn, {"nelems * element size", (int64_t)nbytes}, {"PE_root", root});
    if ((unsigned)root >= (unsigned)team->n_pes)
        stp_fatal(fn, "PE_root is %d: valid PE numbers in the team or active set are 0..%d", root,
                  team->n_pes - 1);
    if (nbytes == 0) return 0;
    if (team->n_pes == 1) {
        stp_coll_check_ends(dest, source, nbytes, nbytes, fn);
        if (!team->active_set) stp_copy_any(dest, source, nbytes, fn);
        return 0;
    }
    /* stp_coll_require_node_loadable() below checks the ends of large buffers in the window. */
    if (STP_UNLIKELY(stp_rt.check || stp_any_outside()))
        stp_coll_check(team, dest, source, nbytes, nbytes, fn);
    if (stp_on_device(dest, source))
        return stp_coll_device_broadcast(team, dest, source, nbytes, root, fn);
    b.cell = stp_coll_take_cell(team, &b.sequence);
    b.root_pe = stp_team_pe(team, root);
    b.root_group = stp_coll_group_of(team, root);
    b.leader = team->plan.group == b.root_group ? b.root_pe : team->plan.leaders[team->plan.group];
    if (nbytes <= COLL_SMALL) {
        bcast_small(&b);
        return 0;
    }
    stp_coll_require_node_loadable(team, dest, nbytes, fn, "dest");
    stp_coll_require_node_loadable(team, source, nbytes, fn, "source");
    bcast_large(&b);
    return 0;
}
