/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduces between the leaders by recursive doubling, or by a tree with the same order of
 * operations. Each leader has a separate buffer for each round. The leader receives the data of the
 * round in this buffer, and combines the data there with its own result. In the next round the
 * leader sends the new result from this buffer. The buffers for small vectors are in the cell. The
 * buffers for larger vectors are in a chunk of the team. Design: docs/design/collectives.md.
 */
#include "coll_internal.h"

#include <string.h>

#define DOUBLING_FAN 8 /* maximum number of messages that a leader sends in a round */

static int doubling_rounds(int n_groups)
{
    int n_rounds = 0;

    while (1 << n_rounds < n_groups)
        n_rounds++;
    return n_rounds;
}

size_t stp_coll_recdbl_cell_bytes(const struct stp_team *team)
{
    size_t n_rounds = (size_t)doubling_rounds(team->plan.n_groups);
    size_t room = n_rounds > 0 ? COLL_NET / n_rounds / 16 * 16 : COLL_NET;

    return room < COLL_SMALL ? room : COLL_SMALL;
}

struct doubling {
    const struct stp_coll_reduction *r;
    const void *acc; /* result that this leader has so far */
    size_t nreduce, nbytes;
    char *pieces; /* buffers for the received data, one for each round */
    size_t piece; /* distance in bytes between the buffers of two rounds */
};

static uint64_t *doubling_flag(const struct doubling *d, int round)
{
    return &d->r->cell->flags[COLL_CHILD + round];
}

static void *doubling_piece(const struct doubling *d, int round)
{
    return d->pieces + (size_t)round * d->piece;
}

static void doubling_send(const struct doubling *d, int round, int group)
{
    stp_coll_send_kept(doubling_piece(d, round), d->acc, d->nbytes, doubling_flag(d, round),
                       d->r->sequence, d->r->team->plan.leaders[group]);
}

/*
 * Waits for the data of a round and combines the data with acc. If is_right_operand is true, the
 * data comes from higher groups and is the right operand. Otherwise the data is the left operand.
 */
static void doubling_take(struct doubling *d, int round, bool is_right_operand)
{
    void *received = doubling_piece(d, round);

    stp_coll_wait_far(doubling_flag(d, round), d->r->sequence);
    if (is_right_operand)
        stp_op_combine(d->r->op, d->r->dtype, received, received, d->acc, received, d->nreduce);
    else
        stp_op_reduce(d->r->op, d->r->dtype, received, d->acc, d->nreduce);
    d->acc = received;
}

/*
 * Reduces by recursive doubling. In round k, 2^k consecutive groups form a block. Two neighbouring
 * blocks are a pair and exchange their results. The result of the lower block is the left operand.
 * All leaders of both blocks get the combined result. The last block may have fewer groups. Each of
 * its leaders then sends to several leaders of the lower block. All leaders take part in the last
 * round, so all leaders get the final result.
 */
static void doubling_run(struct doubling *d)
{
    int n = d->r->team->plan.n_groups, my_group = d->r->team->plan.group;

    for (int mask = 1, round = 0; mask < n; mask <<= 1, round++) {
        int first = my_group & ~(2 * mask - 1), middle = first + mask;
        int n_above = n - middle < mask ? n - middle : mask;

        if (n_above <= 0) continue;
        if (my_group < middle) {
            if (my_group - first < n_above) doubling_send(d, round, my_group + mask);
            doubling_take(d, round, true);
        } else {
            for (int to_group = my_group - mask; to_group < middle; to_group += n_above)
                doubling_send(d, round, to_group);
            doubling_take(d, round, false);
        }
    }
}

/*
 * Reduces by a tree, in the same order of operations as doubling_run(). The results go up to group
 * 0. The leader of group 0 then sends the final result down the tree.
 */
static void doubling_tree(struct doubling *d)
{
    int n = d->r->team->plan.n_groups, my_group = d->r->team->plan.group, mask = 1, round = 0;

    for (; mask < n && !(my_group & mask); mask <<= 1, round++)
        if (my_group + mask < n) doubling_take(d, round, true);
    if (my_group != 0) {
        doubling_send(d, round, my_group - mask);
        stp_coll_wait_far(&d->r->cell->flags[COLL_RESULT], d->r->sequence);
        d->acc = d->r->cell->out;
    }
    for (mask >>= 1; mask > 0; mask >>= 1)
        if (my_group + mask < n)
            stp_coll_send(d->r->cell->out, d->acc, d->nbytes, &d->r->cell->flags[COLL_RESULT],
                          d->r->sequence, d->r->team->plan.leaders[my_group + mask]);
}

/* Returns the maximum number of messages that any leader sends in one round of doubling_run(). */
static int doubling_fan(int n)
{
    int fan = 1;

    for (int mask = 1; mask < n; mask <<= 1) {
        /*
         * Number of groups in the last block, if it is the upper block of a pair. Otherwise the
         * value is 0 or negative.
         */
        int n_above = n % (2 * mask) - mask;

        if (n_above > 0 && (mask + n_above - 1) / n_above > fan)
            fan = (mask + n_above - 1) / n_above;
    }
    return fan;
}

static size_t doubling_padded(size_t nbytes)
{
    return (nbytes + STP_CACHE_LINE - 1) / STP_CACHE_LINE * STP_CACHE_LINE;
}

/*
 * Returns true if no leader would send too many messages in a round, and if the vector fits. A
 * vector of up to COLL_SMALL bytes fits the cells. For a larger vector, a chunk must have room for
 * several copies: one for each round, and one for the result of the node.
 */
static bool doubling_supports(const struct stp_team *team, const struct stp_coll_call *call)
{
    size_t n_places = (size_t)doubling_rounds(team->plan.n_groups) + 1;

    if (doubling_fan(team->plan.n_groups) > DOUBLING_FAN) return false;
    if (call->bytes <= COLL_SMALL) return true;
    return stp_coll_has_chunk(team) && call->bytes <= COLL_CHUNK &&
           n_places * doubling_padded(call->bytes) <= COLL_CHUNK;
}

/* ---- small data, through the cell ----------------------------------------------------------- */

static void reduce_cell(const struct stp_coll_reduction *r, void *acc, size_t nreduce,
                        void (*run)(struct doubling *d))
{
    struct doubling d = {.r = r, .acc = acc, .nreduce = nreduce, .nbytes = nreduce * r->size};

    d.pieces = (char *)r->cell->net;
    d.piece = (d.nbytes + 15) & ~(size_t)15;
    run(&d);
    memcpy(acc, d.acc, d.nbytes);
}

static void doubling_reduce_cell(const struct stp_coll_reduction *r, void *acc, size_t nreduce)
{
    reduce_cell(r, acc, nreduce, doubling_run);
}

void stp_coll_leader_tree_reduce_small(const struct stp_coll_reduction *r, void *acc,
                                       size_t nreduce)
{
    reduce_cell(r, acc, nreduce, doubling_tree);
}

/* ---- in the chunk: first the result of this node, then one buffer for each round ----------- */

/*
 * Reduces in the chunks. Each leader reads the sources of its node's members. It keeps the final
 * result in its chunk, and the members read the result there. No leader has to wait until its
 * members have read the result.
 */
static void doubling_reduce(const struct stp_coll_reduction *r, void *dest, const void *source,
                            size_t nreduce)
{
    const struct stp_team_hierarchy *plan = &r->team->plan;
    struct doubling d = {.r = r, .nreduce = nreduce, .nbytes = nreduce * r->size};
    struct stp_coll_cell *leader = stp_ptr(r->cell, plan->local_pes[0]);
    char *chunk = stp_coll_alternate_chunk(r->team), *result;

    d.acc = chunk;
    d.piece = doubling_padded(d.nbytes);
    d.pieces = chunk + d.piece;
    result = chunk + (size_t)doubling_rounds(plan->n_groups) * d.piece;
    if (plan->local != 0) {
        stp_coll_post_node(r->team, &r->cell->flags[COLL_READY], r->sequence);
        stp_coll_wait_node(r->team, &leader->flags[COLL_DONE], r->sequence);
        memcpy(dest, stp_ptr(result, plan->local_pes[0]), d.nbytes);
        return;
    }
    for (int i = 1; i < plan->n_local; i++) {
        struct stp_coll_cell *cell = stp_ptr(r->cell, plan->local_pes[i]);
        stp_coll_wait_node(r->team, &cell->flags[COLL_READY], r->sequence);
    }
    stp_coll_reduce_node(r, chunk, source, nreduce);
    doubling_run(&d);
    stp_coll_post_node(r->team, &r->cell->flags[COLL_DONE], r->sequence);
    memcpy(dest, result, d.nbytes);
}

const struct stp_coll_algorithm stp_coll_reduce_recdbl = {.name = "doubling",
                                                          .operation = STP_COLL_REDUCE,
                                                          .supports = doubling_supports,
                                                          .reduce = doubling_reduce,
                                                          .reduce_cell = doubling_reduce_cell};
