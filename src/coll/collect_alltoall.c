/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements collect, fcollect and the alltoalls. Between nodes, small data goes through the
 * leaders (allgather_bruck.c, leader_exchange.c). Otherwise every member writes its blocks directly
 * into the dest of every member. A member starts with its neighbour, so that the members do not all
 * write to one PE at once. On one node, the members do a quiet and a sync afterwards. Between
 * nodes, each block adds 1 to a count at its destination instead.
 *
 * The standard allows a member to write into a dest before the owner of the dest has entered the
 * call. Active sets do not allow this (docs/design/teams.md). Their members sync before they
 * write blocks. Small data needs no such sync, because it goes through the cells.
 */
#include "coll_internal.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/*
 * The blocks that this member sends to all members, including itself. The block for a rank is at
 * source + rank * step.
 */
struct collect {
    struct stp_team *team;
    char *dest; /* address of the destination on every member */
    const char *source;
    size_t step, nbytes; /* nbytes is 0 if this member sends no block */
    const char *fn;
};

/* Syncs an active set before any member writes into the dest of another member. */
static void collect_begin(struct stp_team *team)
{
    if (STP_UNLIKELY(team->active_set)) stp_coll_sync(team);
}

/* Returns true if the members of an active set should read the blocks from each other's cells. */
static bool collect_by_cells(const struct stp_team *team, const void *dest, const void *source,
                             size_t nbytes)
{
    return STP_UNLIKELY(team->active_set) && nbytes <= COLL_SMALL && !stp_on_device(dest, source);
}

/*
 * Returns the argument direct if the team is on one node or if device memory is used. Otherwise
 * returns the algorithm that the table chooses.
 */
static const struct stp_coll_algorithm *collect_choose(const struct stp_team *team,
                                                       const struct stp_coll_call *call,
                                                       bool device,
                                                       const struct stp_coll_algorithm *direct)
{
    return team->plan.n_groups > 1 && !device ? stp_coll_choose(team, call) : direct;
}

static void collect_finish(struct stp_team *team)
{
    stp_coll_quiet();
    stp_coll_sync(team);
}

static void collect_puts(const struct collect *c)
{
    struct stp_team *team = c->team;

    for (int i = 1; i <= team->n_pes && c->nbytes > 0; i++) {
        int rank = (team->rank + i) % team->n_pes, pe = stp_team_pe(team, rank);
        const char *block = c->source + (size_t)rank * c->step;
        if (pe == stp_rt.pe)
            stp_copy_any(c->dest, block, c->nbytes, c->fn);
        else
            stp_put_nbi(&stp_ctx_coll, c->dest, block, c->nbytes, pe, c->fn);
    }
    collect_finish(team);
}

/*
 * Stores a block on a PE of this node. Returns false if the block goes through the fabric instead,
 * because this PE has not mapped the dest of the other PE.
 */
static bool collect_store(const struct collect *c, const char *block, int pe)
{
    char *peer_ptr = c->nbytes > 0 ? stp_ptr(c->dest, pe) : NULL;

    if (c->nbytes == 0) return true;
    if (peer_ptr == NULL)
        stp_put_nbi(&stp_ctx_coll, c->dest, block, c->nbytes, pe, c->fn);
    else
        stp_copy_any(peer_ptr, block, c->nbytes, c->fn);
    return peer_ptr != NULL;
}

/*
 * Sends blocks to members on other nodes, and stores blocks on this node. Each block that is sent
 * adds 1 to a count at the receiver. The receiver thus knows without a sync when it has all blocks.
 * If source_is_stable is true, source stays unchanged until all members have read it.
 */
static void collect_counted(const struct collect *c, bool source_is_stable)
{
    struct stp_team *team = c->team;
    bool quiet = !source_is_stable;
    uint64_t sequence;
    struct stp_coll_cell *cell = stp_coll_take_cell(team, &sequence);

    for (int i = 1; i <= team->n_pes; i++) {
        int rank = (team->rank + i) % team->n_pes, pe = stp_team_pe(team, rank);
        const char *block = c->source + (size_t)rank * c->step;
        if (stp_local_of(pe) < 0)
            stp_coll_put_and_count(cell, COLL_RECEIVED, c->dest, block, c->nbytes, pe, c->fn);
        else if (!collect_store(c, block, pe))
            quiet = true;
    }
    stp_coll_wait_count(cell, COLL_RECEIVED, (size_t)(team->n_pes - team->plan.n_local));
    if (quiet) stp_coll_quiet();
    /* After this sync all blocks from this node have arrived. */
    stp_coll_node_sync(team);
}

/*
 * Copies nbytes bytes to a chunk. The copy stays unchanged until all members have read it. Returns
 * the copy, or NULL if there is no room. Either all members get NULL, or no member does.
 */
static const char *collect_keep(struct stp_team *team, const char *source, size_t nbytes)
{
    char *chunk = nbytes <= COLL_CHUNK ? stp_coll_alternate_chunk(team) : NULL;

    return chunk != NULL ? memcpy(chunk, source, nbytes) : NULL;
}

/*
 * Writes the blocks of c to all members. The argument equal is true if all members have the same
 * nbytes. The argument device is true if any member uses device memory. Both arguments are the same
 * on all members.
 */
static void collect_direct(struct collect *c, bool equal, bool device)
{
    struct stp_team *team = c->team;
    size_t all_bytes = c->step > 0 ? c->step * (size_t)team->n_pes : c->nbytes;
    const char *copy = NULL;

    collect_begin(team);
    if (team->plan.n_groups == 1 || device) {
        collect_puts(c);
        return;
    }
    if (equal) copy = collect_keep(team, c->source, all_bytes);
    if (copy != NULL) c->source = copy;
    collect_counted(c, copy != NULL);
}

/* Writes this member's block to its place in the dest of every member. */
static void gather_direct(const struct stp_coll_gather *g)
{
    size_t rank = (size_t)g->team->rank,
           offset = g->offsets != NULL ? g->offsets[rank] : g->nbytes * rank;
    struct collect c = {g->team, (char *)g->dest + offset, g->source, 0, g->nbytes, g->fn};

    collect_direct(&c, g->offsets == NULL, g->device);
}

const struct stp_coll_algorithm stp_coll_fcollect_direct = {
    .name = "direct", .operation = STP_COLL_FCOLLECT, .gather = gather_direct};

int stp_coll_fcollect(struct stp_team *team, void *dest, const void *source, size_t nelems,
                      size_t size, const char *fn)
{
    size_t all_bytes = stp_bytes_spanned(nelems, size, 1, team->n_pes, fn), nbytes = nelems * size;
    struct stp_coll_call call = {
        .operation = STP_COLL_FCOLLECT, .bytes = nbytes, .result_bytes = all_bytes};
    struct stp_coll_gather g = {team, dest, source, nbytes, NULL, fn, false};
    const struct stp_coll_algorithm *algorithm;

    STP_COLL_CHECK_CALL(team, fn, {"nelems", (int64_t)nelems});
    if (nbytes == 0) return 0;
    stp_coll_check(team, dest, source, all_bytes, nbytes, fn);
    g.device = stp_on_device(dest, source);
    algorithm = collect_choose(team, &call, g.device, &stp_coll_fcollect_direct);
    if (algorithm == &stp_coll_fcollect_direct && collect_by_cells(team, dest, source, nbytes))
        stp_coll_gather(team, dest, source, nbytes);
    else
        algorithm->gather(&g);
    return 0;
}

/* ---- collect -------------------------------------------------------------------- */

/*
 * A block in which a member reports its number of bytes. The block also contains the data if there
 * is room.
 */
struct collect_block {
    uint64_t nbytes;
    uint32_t whole; /* whether data contains all nbytes bytes */
    /*
     * Whether dest or source of this member is device memory. Each member learns from the blocks
     * whether any member uses device memory.
     */
    uint32_t device;
    unsigned char data[COLL_SMALL - 2 * sizeof(uint64_t)];
};

_Static_assert(sizeof(struct collect_block) == COLL_SMALL, "a block fills a cell at most");

#define COLLECT_HEAD offsetof(struct collect_block, data)
#define COLLECT_FAR (COLLECT_HEAD + 48) /* maximum bytes of a block between nodes */

/*
 * Returns the size of a block in bytes, which is the same on all members. The blocks of all members
 * together should fit a cell. However, a block always has room for its head (all fields before
 * data).
 */
static size_t collect_block_bytes(const struct stp_team *team)
{
    size_t max_bytes = team->plan.n_groups > 1 ? COLLECT_FAR : sizeof(struct collect_block);
    size_t room = COLL_NET / (size_t)team->n_pes / 8 * 8,
           nbytes = room < max_bytes ? room : max_bytes;

    return nbytes > COLLECT_HEAD ? nbytes : COLLECT_HEAD;
}

/* The blocks that this member received from all members. */
struct collect_blocks {
    size_t size;
    bool whole;  /* whether every block contains the data of its member */
    bool device; /* whether any member's source or dest is device memory */
    char *first;
    /*
     * Offsets of the members' data in dest (n_pes + 1 entries). Allocated together with the field
     * first.
     */
    size_t *offsets;
};

static const struct collect_block *collect_block(const struct collect_blocks *blocks, int rank)
{
    return (const void *)(blocks->first + (size_t)rank * blocks->size);
}

/*
 * Gathers the blocks of all members, and computes the offsets in dest. The caller frees
 * blocks->offsets.
 */
static void collect_exchange_blocks(const struct stp_coll_gather *g, struct collect_blocks *blocks)
{
    size_t n = (size_t)g->team->n_pes;
    struct collect_block my_block = {.nbytes = g->nbytes};

    blocks->offsets = malloc((n + 1) * sizeof(*blocks->offsets) + n * blocks->size);
    if (blocks->offsets == NULL)
        stp_fatal(g->fn, "out of memory: cannot allocate the block sizes of a team of size %d",
                  g->team->n_pes);
    blocks->first = (char *)(blocks->offsets + n + 1);
    my_block.device = g->nbytes > 0 && stp_on_device(g->dest, g->source);
    my_block.whole = g->nbytes <= blocks->size - COLLECT_HEAD &&
                     (g->nbytes == 0 || !stp_on_device(g->source, g->source));
    if (my_block.whole && g->nbytes > 0) memcpy(my_block.data, g->source, g->nbytes);
    stp_coll_gather(g->team, blocks->first, &my_block, blocks->size);
    blocks->offsets[0] = 0;
    blocks->whole = true;
    blocks->device = false;
    for (int rank = 0; rank < g->team->n_pes; rank++) {
        const struct collect_block *block = collect_block(blocks, rank);

        blocks->offsets[rank + 1] = blocks->offsets[rank] + block->nbytes;
        blocks->whole = blocks->whole && block->whole;
        blocks->device = blocks->device || block->device;
    }
}

/* Copies the data from the blocks to dest. A member that has no bytes may pass NULL as dest. */
static void collect_copy_out(const struct stp_coll_gather *g, const struct collect_blocks *blocks)
{
    if (STP_UNLIKELY(g->dest == NULL) && g->nbytes == 0) return;
    for (int rank = 0; rank < g->team->n_pes; rank++) {
        const struct collect_block *block = collect_block(blocks, rank);

        if (block->nbytes > 0)
            stp_copy_any((char *)g->dest + blocks->offsets[rank], block->data, block->nbytes,
                         g->fn);
    }
}

/*
 * Gathers one block from each member. The argument block is the size of a block. A block contains
 * the member's number of bytes, and also its data if there is room.
 *
 * If every block contains its data, copies the data to dest. Otherwise the members now know all
 * offsets in dest, and perform an fcollect with blocks of different sizes. If the argument direct
 * is true, the members write the data directly. Otherwise they use the algorithm that the table of
 * algorithms chooses for the mean size of the blocks.
 */
static void collect_blocks(struct stp_coll_gather g, size_t block, bool direct)
{
    struct stp_coll_call call = {.operation = STP_COLL_FCOLLECT, .unequal = true};
    struct collect_blocks blocks = {.size = block};

    collect_exchange_blocks(&g, &blocks);
    call.result_bytes = blocks.offsets[g.team->n_pes];
    call.bytes = call.result_bytes / (size_t)g.team->n_pes;
    stp_coll_check(g.team, g.dest, g.source, g.nbytes > 0 ? call.result_bytes : 0, g.nbytes, g.fn);
    g.offsets = blocks.offsets;
    g.device = blocks.device;
    if (blocks.whole)
        collect_copy_out(&g, &blocks);
    else if (direct)
        gather_direct(&g);
    else
        collect_choose(g.team, &call, g.device, &stp_coll_fcollect_direct)->gather(&g);
    free(blocks.offsets);
}

static bool collect_gathers_supports(const struct stp_team *team, const struct stp_coll_call *call)
{
    size_t nbytes = collect_block_bytes(team);

    (void)call;
    return nbytes > COLLECT_HEAD && stp_coll_gather_fits(team, nbytes);
}

static void collect_gathers(const struct stp_coll_gather *g)
{
    collect_blocks(*g, collect_block_bytes(g->team), false);
}

static void collect_directly(const struct stp_coll_gather *g)
{
    collect_blocks(*g, COLLECT_HEAD, true);
}

const struct stp_coll_algorithm stp_coll_collect_bruck = {.name = "gather",
                                                          .operation = STP_COLL_COLLECT,
                                                          .supports = collect_gathers_supports,
                                                          .gather = collect_gathers};

const struct stp_coll_algorithm stp_coll_collect_direct = {
    .name = "direct", .operation = STP_COLL_COLLECT, .gather = collect_directly};

int stp_coll_collect(struct stp_team *team, void *dest, const void *source, size_t nelems,
                     size_t size, const char *fn)
{
    struct stp_coll_call call = {.operation = STP_COLL_COLLECT, .unequal = true};
    struct stp_coll_gather g = {team, dest, source, stp_bytes(nelems, size, fn), NULL, fn, false};

    STP_COLL_CHECK_CALL(team, fn, {0}); /* because members may pass different nelems */
    collect_choose(team, &call, false, &stp_coll_collect_bruck)->gather(&g);
    return 0;
}

/* ---- alltoall ------------------------------------------------------------------- */

/* Writes each of this member's blocks into the dest of the member that is to receive the block. */
static void alltoall_direct(const struct stp_coll_alltoall *a)
{
    size_t nbytes = a->nelems * a->size;
    char *my_dest = (char *)a->dest + nbytes * (size_t)a->team->rank;
    struct collect c = {a->team, my_dest, a->source, nbytes, nbytes, a->fn};

    collect_direct(&c, true, a->device);
}

const struct stp_coll_algorithm stp_coll_alltoall_direct = {
    .name = "direct", .operation = STP_COLL_ALLTOALL, .alltoall = alltoall_direct};

int stp_coll_alltoall(struct stp_team *team, void *dest, const void *source, size_t nelems,
                      size_t size, const char *fn)
{
    size_t all_bytes = stp_bytes_spanned(nelems, size, 1, team->n_pes, fn), nbytes = nelems * size;
    struct stp_coll_call call = {
        .operation = STP_COLL_ALLTOALL, .bytes = nbytes, .result_bytes = all_bytes};
    struct stp_coll_alltoall a = {team, dest, source, 1, 1, 1, nbytes, fn, false};
    const struct stp_coll_algorithm *algorithm;

    STP_COLL_CHECK_CALL(team, fn, {"nelems", (int64_t)nelems});
    if (nbytes == 0) return 0;
    stp_coll_check(team, dest, source, all_bytes, all_bytes, fn);
    a.device = stp_on_device(dest, source);
    algorithm = collect_choose(team, &call, a.device, &stp_coll_alltoall_direct);
    if (algorithm == &stp_coll_alltoall_direct && collect_by_cells(team, dest, source, all_bytes))
        stp_coll_gather_part(team, dest, source, all_bytes, nbytes * (size_t)team->rank, nbytes);
    else
        algorithm->alltoall(&a);
    return 0;
}

/*
 * Returns the number of bytes from the first to the last element of the blocks of all members. Each
 * block has nelems elements at the given stride. Fatal on overflow.
 */
static size_t collect_span(const struct stp_team *team, size_t nelems, ptrdiff_t stride,
                           size_t size, const char *fn)
{
    return stp_bytes_spanned(nelems, size, (size_t)stride, team->n_pes, fn) -
           ((size_t)stride - 1) * size;
}

int stp_coll_alltoalls(struct stp_team *team, void *dest, const void *source, ptrdiff_t dst,
                       ptrdiff_t sst, size_t size, size_t nelems, const char *fn)
{
    size_t my_offset = (size_t)team->rank * nelems * (size_t)dst * size;

    STP_COLL_CHECK_CALL(team, fn, {"nelems", (int64_t)nelems}, {"dst", dst}, {"sst", sst});
    if (dst < 1 || sst < 1)
        stp_fatal(fn, "dst is %td and sst is %td: both strides must be at least 1", dst, sst);
    if (nelems == 0 || size == 0) return 0;
    stp_coll_check(team, dest, source, collect_span(team, nelems, dst, size, fn),
                   collect_span(team, nelems, sst, size, fn), fn);
    /*
     * Use the chunks of the leaders if possible. All elements of a block then travel in one
     * message. Without the chunks, each element would need a message of its own.
     */
    if (stp_coll_leader_alltoall_supports(team, nelems * size) && !stp_on_device(dest, source)) {
        stp_coll_leader_alltoall(
            &(struct stp_coll_alltoall){team, dest, source, dst, sst, size, nelems, fn, false});
        return 0;
    }
    collect_begin(team);
    for (int i = 1; i <= team->n_pes; i++) {
        int rank = (team->rank + i) % team->n_pes;
        const char *block = (const char *)source + (size_t)rank * nelems * (size_t)sst * size;
        stp_iput(&stp_ctx_coll, (char *)dest + my_offset, block, dst, sst, 1, nelems, size,
                 stp_team_pe(team, rank), fn);
    }
    collect_finish(team);
    return 0;
}
