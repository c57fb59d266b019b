/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast: a binomial tree over the nodes, with the root as leader of its own node; on each
 * node the members read from the leader. Small data travels in the cells, large data goes
 * straight into dest and is read from there. Into the dest of a member of an active set only when
 * it has come to this very call: docs/design/active-sets.md.
 */
#include "area.h"

#include <string.h>

struct bcast {
    struct stp_team *team;
    struct stp_coll_cell *cell;
    uint64_t sequence;
    int root_group;
    int root_pe;
    int leader;   /* of my node, for this broadcast */
    bool to_root; /* the root's dest is written too */
    bool ask;     /* a dest is written only after its owner said that it is here */
};

/* World number of the leader of the group that stands at place vg counted from the root's. */
static int bcast_leader(const struct bcast *b, int vg)
{
    const struct stp_plan *plan = &b->team->plan;

    return vg == 0 ? b->root_pe : plan->leaders[(vg + b->root_group) % plan->n_groups];
}

/* My group's place counted from the root's. */
static int bcast_vgroup(const struct bcast *b)
{
    const struct stp_plan *plan = &b->team->plan;

    return (plan->group - b->root_group + plan->n_groups) % plan->n_groups;
}

/* The word with which the leader below, mask places further on, says that it is here. */
static uint64_t *bcast_here(const struct bcast *b, int mask)
{
    return &b->cell->flags[COLL_CHILD + __builtin_ctz((unsigned)mask)];
}

/* Leaders but the root's, where dest will be written: my dest is free now. */
static void bcast_say_here(const struct bcast *b)
{
    int vg = bcast_vgroup(b), mask = vg & -vg;

    stp_coll_post(bcast_here(b, mask), b->sequence, bcast_leader(b, vg - mask));
}

/*
 * Leaders only: send nbytes at source to the leaders below, into to there; biggest subtree first.
 */
static void bcast_down(const struct bcast *b, void *to, const void *source, size_t nbytes)
{
    int n_groups = b->team->plan.n_groups, vg = bcast_vgroup(b), mask = 1;

    while (mask < n_groups && !(vg & mask))
        mask <<= 1;
    for (mask >>= 1; mask > 0; mask >>= 1) {
        if (vg + mask >= n_groups) continue;
        if (b->ask) stp_coll_wait_far(bcast_here(b, mask), b->sequence);
        stp_coll_send(to, source, nbytes, &b->cell->flags[COLL_RESULT], b->sequence,
                      bcast_leader(b, vg + mask));
    }
}

static void bcast_small(const struct bcast *b, void *dest, const void *source, size_t nbytes)
{
    struct stp_coll_cell *cell = b->cell;
    struct stp_coll_cell *from = cell;

    if (stp_rt.pe != b->leader) {
        from = stp_ptr(cell, b->leader);
        stp_coll_wait_node(b->team, &from->flags[COLL_READY], b->sequence);
    } else {
        if (stp_rt.pe == b->root_pe)
            memcpy(cell->out, source, nbytes);
        else
            stp_coll_wait_far(&cell->flags[COLL_RESULT], b->sequence);
        stp_coll_post_node(b->team, &cell->flags[COLL_READY], b->sequence);
        bcast_down(b, cell->out, cell->out, nbytes);
    }
    if (stp_rt.pe != b->root_pe || b->to_root) memcpy(dest, from->out, nbytes);
}

/* The leader's readers are done: its buffer is free again. */
static void bcast_wait_readers(const struct bcast *b)
{
    stp_coll_wait_node(b->team, &b->cell->flags[COLL_ACK], (uint64_t)b->team->plan.n_local - 1);
    /* as the cell was: acknowledgements are counted, not numbered */
    __atomic_store_n(&b->cell->flags[COLL_ACK], 0, __ATOMIC_RELAXED);
}

static void bcast_read_from_leader(const struct bcast *b, void *dest, const void *source,
                                   size_t nbytes)
{
    struct stp_coll_cell *there = stp_ptr(b->cell, b->leader);
    const void *data = b->leader == b->root_pe ? source : dest;

    stp_coll_wait_node(b->team, &there->flags[COLL_READY], b->sequence);
    memcpy(dest, stp_ptr(data, b->leader), nbytes);
    __atomic_fetch_add(&there->flags[COLL_ACK], 1, __ATOMIC_RELEASE);
    stp_coll_ring(b->team);
}

static void bcast_large(const struct bcast *b, void *dest, const void *source, size_t nbytes)
{
    bool root = stp_rt.pe == b->root_pe;

    if (stp_rt.pe != b->leader) {
        bcast_read_from_leader(b, dest, source, nbytes);
        return;
    }
    if (!root) {
        if (b->ask) bcast_say_here(b);
        stp_coll_wait_far(&b->cell->flags[COLL_RESULT], b->sequence);
    }
    stp_coll_post_node(b->team, &b->cell->flags[COLL_READY], b->sequence);
    bcast_down(b, dest, root ? source : dest, nbytes);
    if (root && b->to_root && dest != source) memcpy(dest, source, nbytes);
    bcast_wait_readers(b);
}

int stp_coll_broadcast(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                       int root, const char *fn)
{
    struct bcast b = {.team = team, .to_root = !team->active_set};

    if ((unsigned)root >= (unsigned)team->n_pes)
        stp_fatal(fn, "PE_root is %d: members are 0..%d", root, team->n_pes - 1);
    if (nbytes == 0) return 0;
    if (team->n_pes == 1) {
        if (b.to_root) stp_copy_any(dest, source, nbytes, fn);
        return 0;
    }
    stp_coll_check(team, dest, source, nbytes, nbytes, fn);
    if (stp_on_device(dest, source))
        return stp_coll_device_broadcast(team, dest, source, nbytes, root, fn);
    b.cell = stp_coll_take_cell(team, &b.sequence);
    b.root_pe = stp_team_pe(team, root);
    b.root_group = stp_coll_group_of(team, root);
    b.leader = team->plan.group == b.root_group ? b.root_pe : team->plan.leaders[team->plan.group];
    if (nbytes <= COLL_SMALL) {
        bcast_small(&b, dest, source, nbytes);
        return 0;
    }
    stp_coll_require(team, dest, nbytes, fn, "dest");
    stp_coll_require(team, source, nbytes, fn, "source");
    b.ask = team->active_set;
    bcast_large(&b, dest, source, nbytes);
    return 0;
}
