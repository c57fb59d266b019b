/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large reductions between nodes. The vector is cut into shares, and each share has a leader that
 * owns it. The owner reads the share from all leaders, reduces it in the order of the tree, and
 * writes the result into every leader's dest. Design: docs/design/collectives.md.
 */
#include "coll_internal.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of nodes, because a leader exchanges data with all others. */
#define SHARES_MOST 64
#define SHARES_LEAST ((size_t)64 << 10) /* minimum bytes of a share, if there are several */
#define SHARES_BUFFER ((size_t)4 << 20) /* bytes that an owner holds at once, of all nodes */

static bool shares_can(const struct stp_team *team, const struct stp_coll_call *call)
{
    return team->plan.n_groups <= SHARES_MOST && call->bytes > COLL_SMALL;
}

struct shares {
    const struct stp_coll_reduction *r;
    const struct stp_team_hierarchy *plan;
    char *dest;
    size_t nbytes;
    size_t n_owners; /* number of leaders that own a share */
    size_t share;    /* bytes of each share except the last */
    size_t block;    /* bytes of each node that an owner holds at once */
};

static size_t shares_round(size_t nbytes)
{
    return (nbytes + STP_CACHE_LINE - 1) / STP_CACHE_LINE * STP_CACHE_LINE;
}

/* Cuts the vector. A small one has few owners, because a message costs more than its bytes. */
static void shares_cut(struct shares *s)
{
    size_t n = (size_t)s->plan->n_groups, n_owners = s->nbytes / SHARES_LEAST;
    size_t room = SHARES_BUFFER / n / STP_CACHE_LINE * STP_CACHE_LINE;

    if (n_owners > n) n_owners = n;
    if (n_owners == 0) n_owners = 1;
    s->share = shares_round((s->nbytes + n_owners - 1) / n_owners);
    s->n_owners = (s->nbytes + s->share - 1) / s->share;
    s->block = s->share < room ? s->share : room;
}

static size_t shares_end(const struct shares *s, size_t owner)
{
    size_t end = s->share * (owner + 1);

    return end < s->nbytes ? end : s->nbytes;
}

/* Returns the number of blocks in the shares that other leaders own. */
static size_t shares_blocks(const struct shares *s)
{
    size_t n_blocks = 0;

    for (size_t owner = 0; owner < s->n_owners; owner++)
        if (owner != (size_t)s->plan->group)
            n_blocks += (shares_end(s, owner) - s->share * owner + s->block - 1) / s->block;
    return n_blocks;
}

/* Reduces slots, which holds one block of each group in group order, into the first block. */
static void shares_combine(const struct shares *s, char *slots, size_t nbytes)
{
    size_t n = (size_t)s->plan->n_groups;

    for (size_t mask = 1; mask < n; mask <<= 1)
        for (size_t group = 0; group + mask < n; group += 2 * mask)
            stp_op_reduce(s->r->op, s->r->dtype, slots + group * nbytes,
                          slots + (group + mask) * nbytes, nbytes / s->r->size);
}

/*
 * Reduces nbytes at the dest of all leaders, which no other PE reads or writes meanwhile. slots
 * stays in use until stp_coll_quiet().
 */
static void shares_block(const struct shares *s, char *dest, size_t nbytes, char *slots)
{
    const struct stp_team_hierarchy *plan = s->plan;
    int n = plan->n_groups;

    for (int i = 1; i < n; i++) {
        int group = (plan->group + i) % n;
        stp_get_nbi(&stp_ctx_coll, slots + (size_t)group * nbytes, dest, nbytes,
                    plan->leaders[group], s->r->fn);
    }
    memcpy(slots + (size_t)plan->group * nbytes, dest, nbytes);
    stp_coll_quiet();
    shares_combine(s, slots, nbytes);
    for (int i = 1; i < n; i++)
        stp_coll_put_and_count(s->r->cell, COLL_CAME, dest, slots, nbytes,
                               plan->leaders[(plan->group + i) % n], s->r->fn);
    memcpy(dest, slots, nbytes);
}

/* Reduces the share of this leader. Returns the buffer, for the caller to free after a quiet. */
static char *shares_own(const struct shares *s)
{
    size_t n = (size_t)s->plan->n_groups, owner = (size_t)s->plan->group;
    size_t end = shares_end(s, owner);
    char *slots = malloc(n * s->block); /* not a bounce buffer: transfers may need those */

    if (slots == NULL) stp_fatal(s->r->fn, "no memory for a buffer of %zu bytes", n * s->block);
    stp_coll_wait_count(s->r->cell, COLL_HERE, n - 1);
    for (size_t at = s->share * owner, k; at < end; at += k) {
        k = end - at < s->block ? end - at : s->block;
        stp_coll_quiet(); /* the previous block has been sent from its slot */
        shares_block(s, s->dest + at, k, slots);
    }
    return slots;
}

/* The leaders reduce the shares, each its own for all, between two syncs of their nodes. */
static void shares_leaders(const struct stp_coll_reduction *r, void *dest, size_t nreduce)
{
    const struct stp_team_hierarchy *plan = &r->team->plan;
    struct shares s = {.r = r, .plan = plan, .dest = dest, .nbytes = nreduce * r->size};
    size_t n = (size_t)plan->n_groups;
    char *slots = NULL;

    shares_cut(&s);
    for (size_t i = 1; i < n; i++) {
        size_t owner = ((size_t)plan->group + i) % n;
        if (owner < s.n_owners)
            stp_coll_put_and_count(r->cell, COLL_HERE, NULL, NULL, 0, plan->leaders[owner], r->fn);
    }
    if ((size_t)plan->group < s.n_owners) slots = shares_own(&s);
    /* Owners write a block after reading it. Once all blocks are here, no PE reads this dest. */
    stp_coll_wait_count(r->cell, COLL_CAME, shares_blocks(&s));
    stp_coll_quiet();
    free(slots);
}

const struct stp_coll_algorithm stp_coll_reduce_rsag = {
    .name = "shares", .what = STP_COLL_REDUCE, .can = shares_can, .reduce_leaders = shares_leaders};
