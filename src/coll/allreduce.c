/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements reductions. If the team is on one node, the members put small vectors into their
 * cells. Every member reads the vectors from all cells and reduces them in rank order. Large
 * vectors are cut into shares. Each member reads its share from the sources of all members and
 * reduces it.
 *
 * If the team is on several nodes, the members of a node first compute the result of their node.
 * Then the leaders reduce the results of all nodes. They use recursive doubling
 * (allreduce_recdbl.c), shares (allreduce_rsag.c), or a binomial tree. In the tree each leader
 * reads the results of its children. Afterwards the root sends the final result down the tree. The
 * order of operations is always the same, so every member gets the same bits. Design:
 * docs/design/collectives.md.
 */
#include "coll_internal.h"

#include <stdlib.h>
#include <string.h>

/* Maximum bytes that are reduced at a time. They fit the L1 cache. */
#define REDUCE_BLOCK 8192
#define REDUCE_AHEAD ((size_t)1 << 20) /* maximum bytes that one get reads from a child */
/*
 * On a node with more members than cores, the last member to arrive reduces the vectors of all
 * members. It does so only if these vectors together have at most this number of bytes.
 */
#define REDUCE_ALONE ((size_t)64 << 10)

/* ---- small data ------------------------------------------------------------- */

/* Returns true if the team is on one node that has more members than cores. */
static bool reduce_is_crowded(const struct stp_coll_reduction *r)
{
    return r->team->plan.n_groups == 1 && !r->team->plan.flat;
}

static void reduce_local_cells(const struct stp_coll_reduction *r, void *acc, size_t nreduce,
                               bool wait)
{
    const struct stp_team_hierarchy *plan = &r->team->plan;

    for (int i = 0; i < plan->n_local; i++) {
        struct stp_coll_cell *cell = stp_ptr(r->cell, plan->local_pes[i]);
        if (wait) stp_coll_wait_node(r->team, &cell->flags[COLL_READY], r->sequence);
        if (i == 0)
            memcpy(acc, cell->in, nreduce * r->size);
        else
            stp_op_reduce(r->op, r->dtype, acc, cell->in, nreduce);
    }
}

/* The last member to arrive reduces all vectors. The other members copy the result. */
static void reduce_small_crowded(const struct stp_coll_reduction *r, void *dest, size_t nreduce)
{
    struct stp_coll_cell *first;

    if (stp_coll_arrive_last_or_wait(r->team, r->cell, r->sequence, &first)) {
        reduce_local_cells(r, first->out, nreduce, false);
        stp_coll_post_node(r->team, &first->flags[COLL_DONE], r->sequence);
    }
    memcpy(dest, first->out, nreduce * r->size);
}

static void reduce_small(const struct stp_coll_reduction *r, void *dest, const void *source,
                         size_t nreduce)
{
    const struct stp_team_hierarchy *plan = &r->team->plan;
    size_t nbytes = nreduce * r->size;
    _Alignas(16) unsigned char acc[COLL_SMALL];
    struct stp_coll_cell *leader;

    memcpy(r->cell->in, source, nbytes);
    if (reduce_is_crowded(r)) {
        reduce_small_crowded(r, dest, nreduce);
        return;
    }
    stp_coll_post_node(r->team, &r->cell->flags[COLL_READY], r->sequence);
    if (plan->n_groups == 1) {
        reduce_local_cells(r, acc, nreduce, true);
        memcpy(dest, acc, nbytes);
        return;
    }
    if (plan->local == 0) {
        reduce_local_cells(r, acc, nreduce, true);
        r->algorithm->reduce_cell(r, acc, nreduce);
        memcpy(dest, acc, nbytes);
        if (plan->n_local == 1) return;
        memcpy(r->cell->out, acc, nbytes);
        stp_coll_post_node(r->team, &r->cell->flags[COLL_DONE], r->sequence);
        return;
    }
    leader = stp_ptr(r->cell, plan->local_pes[0]);
    stp_coll_wait_node(r->team, &leader->flags[COLL_DONE], r->sequence);
    memcpy(dest, leader->out, nbytes);
}

/*
 * Reduces a small vector in pieces. With many nodes there are many rounds, and a cell has only
 * little room for each round. A whole vector may not fit this room.
 */
static void reduce_pieces(struct stp_coll_reduction *r, char *dest, const char *source,
                          size_t nreduce)
{
    size_t room = stp_coll_recdbl_cell_bytes(r->team) / r->size;

    for (size_t index = 0, n; index < nreduce; index += n) {
        n = nreduce - index < room ? nreduce - index : room;
        r->cell = stp_coll_take_cell(r->team, &r->sequence);
        reduce_small(r, dest + index * r->size, source + index * r->size, n);
    }
}

/* ---- large data ------------------------------------------------------------- */

/*
 * Returns the team's buffer of REDUCE_BLOCK bytes. The collectives of a team run one after another,
 * so one buffer is enough. It is allocated when a collective first needs it, because most teams
 * never reduce large vectors.
 */
static unsigned char *reduce_scratch(const struct stp_coll_reduction *r)
{
    struct stp_team *team = r->team;

    if (STP_LIKELY(team->scratch != NULL)) return team->scratch;
    team->scratch = aligned_alloc(STP_CACHE_LINE, REDUCE_BLOCK);
    if (team->scratch == NULL)
        stp_fatal(r->fn, "out of memory: cannot allocate a buffer of %d bytes", REDUCE_BLOCK);
    return team->scratch;
}

/*
 * Reduces n elements of the sources of all local members, in rank order. Writes the result into the
 * dests of the first n_dests local members. With more than two members, the buffer acc first
 * collects the result of all sources except the last source. This buffer is small enough for the
 * cache. The last operation includes the last source, and writes the result into the first two
 * dests at once. The other dests are copies of the first dest.
 */
static void reduce_block(const struct stp_coll_reduction *r, char *dest, const char *source,
                         size_t n, int n_dests, unsigned char *acc)
{
    const struct stp_team_hierarchy *plan = &r->team->plan;
    int last = plan->n_local - 1;
    const void *sum = stp_ptr(source, plan->local_pes[0]);
    char *first = stp_ptr(dest, plan->local_pes[0]);
    char *second = n_dests > 1 ? stp_ptr(dest, plan->local_pes[1]) : first;

    for (int i = 1; i < last; i++) {
        const void *peer_source = stp_ptr(source, plan->local_pes[i]);
        if (i == 1)
            stp_op_combine(r->op, r->dtype, acc, acc, sum, peer_source, n);
        else
            stp_op_reduce(r->op, r->dtype, acc, peer_source, n);
        sum = acc;
    }
    stp_op_combine(r->op, r->dtype, first, second, sum, stp_ptr(source, plan->local_pes[last]), n);
    for (int i = 2; i < n_dests; i++)
        memcpy(stp_ptr(dest, plan->local_pes[i]), first, n * r->size);
}

/*
 * Reduces the elements with the indices from index to end - 1, block by block. For each block,
 * first reads the sources of all local members. Then writes the result to n_dests members, which is
 * one member or all local members. The arrays source and dest may be the same. This is safe,
 * because no other member reads the block, and because all sources of a block are read before the
 * block is written.
 */
static void reduce_range(const struct stp_coll_reduction *r, char *dest, const char *source,
                         size_t index, size_t end, int n_dests)
{
    int n_local = r->team->plan.n_local;
    unsigned char *acc = n_local > 2 ? reduce_scratch(r) : NULL;
    size_t room = n_local > 2 ? REDUCE_BLOCK / r->size : end;

    for (size_t n; index < end; index += n) {
        n = end - index < room ? end - index : room;
        reduce_block(r, dest + index * r->size, source + index * r->size, n, n_dests, acc);
    }
}

/*
 * Reduces this member's share. If the argument to_all is true, writes the result to all local
 * members. Otherwise writes the result only to the first local member.
 */
static void reduce_share(const struct stp_coll_reduction *r, char *dest, const char *source,
                         size_t nreduce, bool to_all)
{
    const struct stp_team_hierarchy *plan = &r->team->plan;
    size_t line = STP_CACHE_LINE / r->size > 0 ? STP_CACHE_LINE / r->size : 1;
    size_t share = (nreduce / (size_t)plan->n_local + line) / line * line;
    size_t index = share * (size_t)plan->local;
    size_t end = index + share < nreduce ? index + share : nreduce;

    if (index < end) reduce_range(r, dest, source, index, end, to_all ? plan->n_local : 1);
}

/*
 * Returns true if one member should reduce for all members. Each member then waits only once. With
 * shares, each member would wait twice.
 */
static bool reduce_pays_alone(const struct stp_coll_reduction *r, size_t nbytes)
{
    return reduce_is_crowded(r) && nbytes <= REDUCE_ALONE / (size_t)r->team->plan.n_local;
}

static void reduce_large_crowded(const struct stp_coll_reduction *r, void *dest, const void *source,
                                 size_t nreduce)
{
    struct stp_coll_cell *first;

    if (!stp_coll_arrive_last_or_wait(r->team, r->cell, r->sequence, &first)) return;
    reduce_range(r, dest, source, 0, nreduce, r->team->plan.n_local);
    stp_coll_post_node(r->team, &first->flags[COLL_DONE], r->sequence);
}

/*
 * Reads the vector of a child in parts, and reduces each part into dest. The argument received is a
 * buffer for one part, and the argument room is the size of this buffer in bytes.
 */
static void reduce_fetched(const struct stp_coll_reduction *r, int child_pe, char *dest,
                           size_t nreduce, char *received, size_t room)
{
    room /= r->size;
    for (size_t index = 0, n; index < nreduce; index += n) {
        char *local = dest + index * r->size;
        n = nreduce - index < room ? nreduce - index : room;
        stp_get(&stp_ctx_coll, received, local, n * r->size, child_pe, r->fn);
        stp_op_reduce(r->op, r->dtype, local, received, n);
    }
}

/*
 * Reduces the vector of a child into dest. Reads the vector with few large gets. On a busy host
 * each get is slow, because it may wait until this PE and the child both have a core.
 */
static void reduce_child(const struct stp_coll_reduction *r, int child_pe, char *dest,
                         size_t nreduce)
{
    size_t nbytes = nreduce * r->size, room = nbytes < REDUCE_AHEAD ? nbytes : REDUCE_AHEAD;
    char *large_buffer = room > REDUCE_BLOCK ? malloc(room) : NULL;

    if (large_buffer != NULL)
        reduce_fetched(r, child_pe, dest, nreduce, large_buffer, room);
    else
        reduce_fetched(r, child_pe, dest, nreduce, (char *)reduce_scratch(r), REDUCE_BLOCK);
    free(large_buffer);
}

/*
 * Moves results up the tree. Reduces the results of this leader's children into dest, then notifies
 * the parent.
 */
static void reduce_up(const struct stp_coll_reduction *r, char *dest, size_t nreduce)
{
    const struct stp_team_hierarchy *plan = &r->team->plan;

    for (int mask = 1, round = 0; mask < plan->n_groups; mask <<= 1, round++) {
        uint64_t *flag = &r->cell->flags[COLL_CHILD + round];
        if (plan->group & mask) {
            stp_coll_post(flag, r->sequence, plan->leaders[plan->group & ~mask]);
            return;
        }
        if (plan->group + mask >= plan->n_groups) continue;
        stp_coll_wait_far(flag, r->sequence);
        reduce_child(r, plan->leaders[plan->group + mask], dest, nreduce);
    }
}

/*
 * Moves the final result down the tree. Each leader except the root waits for the result. Then each
 * leader sends the result to its children.
 */
static void reduce_down(const struct stp_coll_reduction *r, void *result, size_t nbytes)
{
    const struct stp_team_hierarchy *plan = &r->team->plan;
    uint64_t *flag = &r->cell->flags[COLL_RESULT];
    int mask = 1;

    if (plan->group != 0) stp_coll_wait_far(flag, r->sequence);
    while (mask < plan->n_groups && !(plan->group & mask))
        mask <<= 1;
    for (mask >>= 1; mask > 0; mask >>= 1)
        if (plan->group + mask < plan->n_groups)
            stp_put_notify(&stp_ctx_coll, result, result, nbytes, flag, r->sequence,
                           SHMEM_SIGNAL_SET, plan->leaders[plan->group + mask], r->fn);
    stp_coll_quiet();
}

/* Reduces by a binomial tree. The results go up to the root, and the final result comes down. */
static void tree_leaders(const struct stp_coll_reduction *r, void *dest, size_t nreduce)
{
    reduce_up(r, dest, nreduce);
    reduce_down(r, dest, nreduce * r->size);
}

const struct stp_coll_algorithm stp_coll_reduce_tree = {.name = "tree",
                                                        .operation = STP_COLL_REDUCE,
                                                        .reduce_leaders = tree_leaders,
                                                        .reduce_cell =
                                                            stp_coll_leader_tree_reduce_small};

void stp_coll_reduce_node(const struct stp_coll_reduction *r, void *dest, const void *source,
                          size_t nreduce)
{
    if (r->team->plan.n_local == 1)
        memcpy(dest, source, nreduce * r->size);
    else
        reduce_range(r, dest, source, 0, nreduce, 1);
}

/*
 * Lets the leaders reduce in place. At first, the dest of each leader holds the result of its node.
 * The algorithm replaces this result by the final result. The other members wait for the final
 * result and copy it.
 */
static void reduce_by_leaders(const struct stp_coll_reduction *r, void *dest, const void *source,
                              size_t nreduce)
{
    const struct stp_team_hierarchy *plan = &r->team->plan;
    size_t nbytes = nreduce * r->size;

    stp_coll_node_sync(r->team);
    if (plan->n_local > 1)
        reduce_share(r, dest, source, nreduce, false);
    else if (dest != source)
        memcpy(dest, source, nbytes);
    /* After this sync the leader's dest holds the result of its node. */
    stp_coll_node_sync(r->team);
    if (plan->local == 0) r->algorithm->reduce_leaders(r, dest, nreduce);
    /* After this sync the leader's dest holds the final result. */
    stp_coll_node_sync(r->team);
    if (plan->local != 0) memcpy(dest, stp_ptr(dest, plan->local_pes[0]), nbytes);
    /* After this sync all members have copied the final result. */
    stp_coll_node_sync(r->team);
}

static void reduce_large(const struct stp_coll_reduction *r, void *dest, const void *source,
                         size_t nreduce)
{
    if (r->algorithm != NULL) {
        if (r->algorithm->reduce != NULL)
            r->algorithm->reduce(r, dest, source, nreduce);
        else
            reduce_by_leaders(r, dest, source, nreduce);
        return;
    }
    if (reduce_pays_alone(r, nreduce * r->size)) {
        reduce_large_crowded(r, dest, source, nreduce);
        return;
    }
    stp_coll_sync(r->team); /* after this sync all sources are ready */
    reduce_share(r, dest, source, nreduce, true);
    stp_coll_sync(r->team); /* after this sync all shares are written */
}

void stp_coll_reduce_unchecked(struct stp_team *team, enum stp_op op, enum stp_dtype dtype,
                               void *dest, const void *source, size_t nreduce, const char *fn)
{
    struct stp_coll_reduction r = {.team = team, .op = op, .dtype = dtype, .fn = fn};

    struct stp_coll_call call = {.operation = STP_COLL_REDUCE};

    r.size = stp_dtype_size(dtype);
    call.bytes = call.result_bytes = nreduce * r.size;
    if (team->n_pes == 1) {
        stp_copy_any(dest, source, call.bytes, fn);
        return;
    }
    if (team->plan.n_groups > 1) r.algorithm = stp_coll_choose(team, &call);
    if (call.bytes <= COLL_SMALL) {
        reduce_pieces(&r, dest, source, nreduce);
        return;
    }
    r.cell = stp_coll_take_cell(team, &r.sequence);
    reduce_large(&r, dest, source, nreduce);
}

int stp_coll_reduce(struct stp_team *team, enum stp_op op, enum stp_dtype dtype, void *dest,
                    const void *source, size_t nreduce, const char *fn)
{
    size_t nbytes = stp_bytes(nreduce, stp_dtype_size(dtype), fn);

    STP_COLL_CHECK_CALL(team, fn, {"nreduce", (int64_t)nreduce});
    if (nreduce == 0) return 0;
    if (team->n_pes == 1)
        stp_coll_check_ends(dest, source, nbytes, nbytes, fn);
    else if (STP_UNLIKELY(stp_rt.check || stp_any_outside()))
        stp_coll_check(team, dest, source, nbytes, nbytes, fn);
    if (team->n_pes > 1 && stp_on_device(dest, source))
        return stp_coll_device_reduce(team, op, dtype, dest, source, nreduce, fn);
    if (team->n_pes > 1 && nbytes > COLL_SMALL) {
        stp_coll_require_node_loadable(team, dest, nbytes, fn, "dest");
        stp_coll_require_node_loadable(team, source, nbytes, fn, "source");
    }
    stp_coll_reduce_unchecked(team, op, dtype, dest, source, nreduce, fn);
    return 0;
}
