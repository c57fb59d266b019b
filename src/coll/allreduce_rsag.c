/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduces large vectors between nodes. The vector is cut into shares, and one leader owns each
 * share. The owner reads its share from all leaders and reduces it. The order of operations is the
 * same as in the tree. Then the owner writes the result into the dest of every leader. Design:
 * docs/design/collectives.md.
 */
#include "coll_internal.h"

#include <stdlib.h>
#include <string.h>

/*
 * Maximum number of nodes. A limit is needed because each leader exchanges data with all other
 * leaders.
 */
#define SHARES_MAX_NODES 64
/* Minimum bytes of a share, unless one share holds the whole vector. */
#define SHARES_MIN_BYTES ((size_t)64 << 10)
/* Maximum bytes of the buffer in which an owner collects the data of all nodes. */
#define SHARES_BUFFER ((size_t)4 << 20)

static bool shares_supports(const struct stp_team *team, const struct stp_coll_call *call)
{
    return team->plan.n_groups <= SHARES_MAX_NODES && call->bytes > COLL_SMALL;
}

struct shares {
    const struct stp_coll_reduction *r;
    const struct stp_team_hierarchy *plan;
    char *dest;
    size_t nbytes;
    size_t n_owners; /* number of leaders that own a share */
    size_t share;    /* bytes of each share; the last share may be shorter */
    size_t block;    /* maximum bytes that an owner reads from a leader at once */
};

static size_t shares_round(size_t nbytes)
{
    return (nbytes + STP_CACHE_LINE - 1) / STP_CACHE_LINE * STP_CACHE_LINE;
}

/*
 * Cuts the vector into shares. A small vector has only a few shares, because each message has a
 * fixed cost.
 */
static void shares_cut(struct shares *s)
{
    size_t n = (size_t)s->plan->n_groups, n_owners = s->nbytes / SHARES_MIN_BYTES;
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

/*
 * Returns the number of blocks that this leader receives. They are the blocks in the shares of all
 * other leaders.
 */
static size_t shares_blocks(const struct shares *s)
{
    size_t n_blocks = 0;

    for (size_t owner = 0; owner < s->n_owners; owner++)
        if (owner != (size_t)s->plan->group)
            n_blocks += (shares_end(s, owner) - s->share * owner + s->block - 1) / s->block;
    return n_blocks;
}

/*
 * Reduces all blocks in the buffer at slots. The result replaces the first block. The buffer has
 * one block for each group, in group order. A block has nbytes bytes.
 */
static void shares_combine(const struct shares *s, char *slots, size_t nbytes)
{
    size_t n = (size_t)s->plan->n_groups;

    for (size_t mask = 1; mask < n; mask <<= 1)
        for (size_t group = 0; group + mask < n; group += 2 * mask)
            stp_op_reduce(s->r->op, s->r->dtype, slots + group * nbytes,
                          slots + (group + mask) * nbytes, nbytes / s->r->size);
}

/*
 * Reduces the nbytes bytes at the address dest of all leaders. Meanwhile no other PE reads or
 * writes these bytes. The caller may reuse the buffer at slots only after stp_coll_quiet().
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
        stp_coll_put_and_count(s->r->cell, COLL_RECEIVED, dest, slots, nbytes,
                               plan->leaders[(plan->group + i) % n], s->r->fn);
    memcpy(dest, slots, nbytes);
}

/*
 * Reduces this leader's share. Returns a buffer that the caller must free after stp_coll_quiet().
 */
static char *shares_reduce_own(const struct shares *s)
{
    size_t n = (size_t)s->plan->n_groups, owner = (size_t)s->plan->group;
    size_t end = shares_end(s, owner);
    /* Do not use a bounce buffer, because the transfers below may need the bounce buffers. */
    char *slots = malloc(n * s->block);

    if (slots == NULL)
        stp_fatal(s->r->fn, "out of memory: cannot allocate a buffer of %zu bytes", n * s->block);
    stp_coll_wait_count(s->r->cell, COLL_ARRIVED, n - 1);
    for (size_t offset = s->share * owner, nbytes; offset < end; offset += nbytes) {
        nbytes = end - offset < s->block ? end - offset : s->block;
        stp_coll_quiet(); /* wait until the previous block has been sent from slots */
        shares_block(s, s->dest + offset, nbytes, slots);
    }
    return slots;
}

/*
 * Reduces the vectors of all leaders by shares. Each leader calls this function between two syncs
 * of its node.
 */
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
            stp_coll_put_and_count(r->cell, COLL_ARRIVED, NULL, NULL, 0, plan->leaders[owner],
                                   r->fn);
    }
    if ((size_t)plan->group < s.n_owners) slots = shares_reduce_own(&s);
    /*
     * Wait until the blocks of all owners have arrived. An owner writes a block only after it has
     * read the block from all leaders. Therefore no owner reads the dest of this PE after this
     * wait.
     */
    stp_coll_wait_count(r->cell, COLL_RECEIVED, shares_blocks(&s));
    stp_coll_quiet();
    free(slots);
}

const struct stp_coll_algorithm stp_coll_reduce_rsag = {.name = "shares",
                                                        .operation = STP_COLL_REDUCE,
                                                        .supports = shares_supports,
                                                        .reduce_leaders = shares_leaders};
