/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collect, fcollect and the alltoalls. Between nodes, data that fits goes through the leaders
 * (allgather_bruck.c, leader_exchange.c). Otherwise every member writes its blocks straight into
 * the dest of every member, starting with its neighbour so that the members do not all write to one
 * PE at once. A quiet and a sync follow, or between nodes a count that each block brings along. The
 * standard allows writes into a dest before its owner arrives. Active sets allow none so early
 * (docs/design/active-sets.md). They need a sync before, except for small data, which goes through
 * the cells.
 */
#include "coll_internal.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Blocks for all members, this one included. The block of a rank is at source + rank * step. */
struct collect {
    struct stp_team *team;
    char *dest; /* address on each of the members */
    const char *source;
    size_t step, nbytes; /* nbytes is 0 if this member has no block */
    const char *fn;
};

/* Syncs an active set before other members' dests are written. */
static void collect_begin(struct stp_team *team)
{
    if (STP_UNLIKELY(team->active_set)) stp_coll_sync(team);
}

/* Returns true if each member of an active set should take its blocks from the cells of all. */
static bool collect_by_cells(const struct stp_team *team, const void *dest, const void *source,
                             size_t nbytes)
{
    return STP_UNLIKELY(team->active_set) && nbytes <= COLL_SMALL && !stp_on_device(dest, source);
}

/* Returns the one algorithm for a single node and for device memory, else the table's choice. */
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
 * Stores a block on a PE of this node. Returns false if the block goes through the fabric, because
 * that PE's part is not mapped here.
 */
static bool collect_store(const struct collect *c, const char *block, int pe)
{
    char *there = c->nbytes > 0 ? stp_ptr(c->dest, pe) : NULL;

    if (c->nbytes == 0) return true;
    if (there == NULL)
        stp_put_nbi(&stp_ctx_coll, c->dest, block, c->nbytes, pe, c->fn);
    else
        stp_copy_any(there, block, c->nbytes, c->fn);
    return there != NULL;
}

/*
 * Sends blocks between nodes. Each block brings its count along, so a member knows without a sync
 * when it has all blocks. If kept is true, source does not change until the others have read it.
 */
static void collect_counted(const struct collect *c, bool kept)
{
    struct stp_team *team = c->team;
    bool quiet = !kept;
    uint64_t sequence;
    struct stp_coll_cell *cell = stp_coll_take_cell(team, &sequence);

    for (int i = 1; i <= team->n_pes; i++) {
        int rank = (team->rank + i) % team->n_pes, pe = stp_team_pe(team, rank);
        const char *block = c->source + (size_t)rank * c->step;
        if (stp_local_of(pe) < 0)
            stp_coll_put_and_count(cell, COLL_CAME, c->dest, block, c->nbytes, pe, c->fn);
        else if (!collect_store(c, block, pe))
            quiet = true;
    }
    stp_coll_wait_count(cell, COLL_CAME, (size_t)(team->n_pes - team->plan.n_local));
    if (quiet) stp_coll_quiet();
    stp_coll_node_sync(team); /* the blocks of this node have arrived */
}

/* Returns a lasting copy of nbytes, or NULL if the team has no room; alike on all members. */
static const char *collect_keep(struct stp_team *team, const char *source, size_t nbytes)
{
    char *chunk = nbytes <= COLL_CHUNK ? stp_coll_alternate_chunk(team) : NULL;

    return chunk != NULL ? memcpy(chunk, source, nbytes) : NULL;
}

/*
 * Writes the blocks of c. equal is true if all members have the same nbytes, and device if device
 * memory is in use. Both arguments are the same on all members.
 */
static void collect_direct(struct collect *c, bool equal, bool device)
{
    struct stp_team *team = c->team;
    size_t all = c->step > 0 ? c->step * (size_t)team->n_pes : c->nbytes;
    const char *copy = NULL;

    collect_begin(team);
    if (team->plan.n_groups == 1 || device) {
        collect_puts(c);
        return;
    }
    if (equal) copy = collect_keep(team, c->source, all);
    if (copy != NULL) c->source = copy;
    collect_counted(c, copy != NULL);
}

/* Writes this member's block to its place in every dest. */
static void gather_direct(const struct stp_coll_gather *g)
{
    size_t rank = (size_t)g->team->rank, at = g->at != NULL ? g->at[rank] : g->nbytes * rank;
    struct collect c = {g->team, (char *)g->dest + at, g->source, 0, g->nbytes, g->fn};

    collect_direct(&c, g->at == NULL, g->device);
}

const struct stp_coll_algorithm stp_coll_fcollect_direct = {
    .name = "direct", .what = STP_COLL_FCOLLECT, .gather = gather_direct};

int stp_coll_fcollect(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                      const char *fn)
{
    size_t all = stp_bytes(nbytes, (size_t)team->n_pes, fn);
    struct stp_coll_call call = {.what = STP_COLL_FCOLLECT, .bytes = nbytes, .all = all};
    struct stp_coll_gather g = {team, dest, source, nbytes, NULL, fn, false};
    const struct stp_coll_algorithm *how;

    if (nbytes == 0) return 0;
    stp_coll_check(team, dest, source, all, nbytes, fn);
    g.device = stp_on_device(dest, source);
    how = collect_choose(team, &call, g.device, &stp_coll_fcollect_direct);
    if (how == &stp_coll_fcollect_direct && collect_by_cells(team, dest, source, nbytes))
        stp_coll_gather(team, dest, source, nbytes);
    else
        how->gather(&g);
    return 0;
}

/* ---- collect -------------------------------------------------------------------- */

/* A block by which a member reports its number of bytes, with the data itself if it fits. */
struct collect_block {
    uint64_t nbytes;
    uint32_t whole;
    /* Whether device memory is in use, which a member without bytes and source does not know. */
    uint32_t device;
    unsigned char data[COLL_SMALL - 2 * sizeof(uint64_t)];
};

_Static_assert(sizeof(struct collect_block) == COLL_SMALL, "a block fills a cell at most");

#define COLLECT_HEAD offsetof(struct collect_block, data)
#define COLLECT_FAR (COLLECT_HEAD + 48) /* maximum bytes of a block between nodes */

/*
 * Returns the bytes of a block, the same on all members: as many as leave room for the blocks of
 * all members, but at least the head.
 */
static size_t collect_block_bytes(const struct stp_team *team)
{
    size_t most = team->plan.n_groups > 1 ? COLLECT_FAR : sizeof(struct collect_block);
    size_t room = COLL_NET / (size_t)team->n_pes / 8 * 8, nbytes = room < most ? room : most;

    return nbytes > COLLECT_HEAD ? nbytes : COLLECT_HEAD;
}

/* The blocks of all members. */
struct collect_blocks {
    size_t size;
    bool whole;  /* whether all blocks contain their data */
    bool device; /* whether any member's source or dest is device memory */
    char *first;
    size_t *at; /* n_pes + 1 offsets in dest, in one allocation with first */
};

static const struct collect_block *collect_block(const struct collect_blocks *blocks, int rank)
{
    return (const void *)(blocks->first + (size_t)rank * blocks->size);
}

/* Gathers the blocks and adds up the offsets. The caller frees blocks->at. */
static void collect_tell(const struct stp_coll_gather *g, struct collect_blocks *blocks)
{
    size_t n = (size_t)g->team->n_pes;
    struct collect_block mine = {.nbytes = g->nbytes};

    blocks->at = malloc((n + 1) * sizeof(*blocks->at) + n * blocks->size);
    if (blocks->at == NULL) stp_fatal(g->fn, "no memory for what %d PEs have", g->team->n_pes);
    blocks->first = (char *)(blocks->at + n + 1);
    mine.device = g->nbytes > 0 && stp_on_device(g->dest, g->source);
    mine.whole = g->nbytes <= blocks->size - COLLECT_HEAD &&
                 (g->nbytes == 0 || !stp_on_device(g->source, g->source));
    if (mine.whole && g->nbytes > 0) memcpy(mine.data, g->source, g->nbytes);
    stp_coll_gather(g->team, blocks->first, &mine, blocks->size);
    blocks->at[0] = 0;
    blocks->whole = true;
    blocks->device = false;
    for (int rank = 0; rank < g->team->n_pes; rank++) {
        const struct collect_block *block = collect_block(blocks, rank);

        blocks->at[rank + 1] = blocks->at[rank] + block->nbytes;
        blocks->whole = blocks->whole && block->whole;
        blocks->device = blocks->device || block->device;
    }
}

/* Copies the data, which came with the blocks. R44: a member without bytes may pass no dest. */
static void collect_take(const struct stp_coll_gather *g, const struct collect_blocks *blocks)
{
    if (STP_UNLIKELY(g->dest == NULL) && g->nbytes == 0) return;
    for (int rank = 0; rank < g->team->n_pes; rank++) {
        const struct collect_block *block = collect_block(blocks, rank);

        if (block->nbytes > 0)
            stp_copy_any((char *)g->dest + blocks->at[rank], block->data, block->nbytes, g->fn);
    }
}

/*
 * Exchanges sizes, and data that fits blocks of the given bytes. If some data does not fit, all
 * members then know all offsets, and continue like an fcollect of the mean size, or directly.
 */
static void collect_blocks(struct stp_coll_gather g, size_t block, bool direct)
{
    struct stp_coll_call call = {.what = STP_COLL_FCOLLECT, .unequal = true};
    struct collect_blocks blocks = {.size = block};

    collect_tell(&g, &blocks);
    call.all = blocks.at[g.team->n_pes];
    call.bytes = call.all / (size_t)g.team->n_pes;
    stp_coll_check(g.team, g.dest, g.source, g.nbytes > 0 ? call.all : 0, g.nbytes, g.fn);
    g.at = blocks.at;
    g.device = blocks.device;
    if (blocks.whole)
        collect_take(&g, &blocks);
    else if (direct)
        gather_direct(&g);
    else
        collect_choose(g.team, &call, g.device, &stp_coll_fcollect_direct)->gather(&g);
    free(blocks.at);
}

static bool collect_gathers_can(const struct stp_team *team, const struct stp_coll_call *call)
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
                                                          .what = STP_COLL_COLLECT,
                                                          .can = collect_gathers_can,
                                                          .gather = collect_gathers};

const struct stp_coll_algorithm stp_coll_collect_direct = {
    .name = "direct", .what = STP_COLL_COLLECT, .gather = collect_directly};

int stp_coll_collect(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                     const char *fn)
{
    struct stp_coll_call call = {.what = STP_COLL_COLLECT, .unequal = true};
    struct stp_coll_gather g = {team, dest, source, nbytes, NULL, fn, false};

    collect_choose(team, &call, false, &stp_coll_collect_bruck)->gather(&g);
    return 0;
}

/* ---- alltoall ------------------------------------------------------------------- */

/* Writes each of this member's blocks into the dest of the member for which the block is. */
static void alltoall_direct(const struct stp_coll_alltoall *a)
{
    size_t nbytes = a->nelems * a->size;
    char *mine = (char *)a->dest + nbytes * (size_t)a->team->rank;
    struct collect c = {a->team, mine, a->source, nbytes, nbytes, a->fn};

    collect_direct(&c, true, a->device);
}

const struct stp_coll_algorithm stp_coll_alltoall_direct = {
    .name = "direct", .what = STP_COLL_ALLTOALL, .alltoall = alltoall_direct};

int stp_coll_alltoall(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                      const char *fn)
{
    size_t all = stp_bytes(nbytes, (size_t)team->n_pes, fn);
    struct stp_coll_call call = {.what = STP_COLL_ALLTOALL, .bytes = nbytes, .all = all};
    struct stp_coll_alltoall a = {team, dest, source, 1, 1, 1, nbytes, fn, false};
    const struct stp_coll_algorithm *how;

    if (nbytes == 0) return 0;
    stp_coll_check(team, dest, source, all, all, fn);
    a.device = stp_on_device(dest, source);
    how = collect_choose(team, &call, a.device, &stp_coll_alltoall_direct);
    if (how == &stp_coll_alltoall_direct && collect_by_cells(team, dest, source, all))
        stp_coll_gather_part(team, dest, source, all, nbytes * (size_t)team->rank, nbytes);
    else
        how->alltoall(&a);
    return 0;
}

/*
 * Returns the bytes spanned by all members' blocks of nelems strided elements. Fatal on overflow.
 */
static size_t collect_span(const struct stp_team *team, size_t nelems, ptrdiff_t stride,
                           size_t size, const char *fn)
{
    size_t all = stp_bytes(stp_bytes(nelems, (size_t)stride, fn), (size_t)team->n_pes, fn);

    return stp_bytes(all - (size_t)stride + 1, size, fn);
}

int stp_coll_alltoalls(struct stp_team *team, void *dest, const void *source, ptrdiff_t dst,
                       ptrdiff_t sst, size_t size, size_t nelems, const char *fn)
{
    size_t mine = (size_t)team->rank * nelems * (size_t)dst * size;

    if (dst < 1 || sst < 1)
        stp_fatal(fn, "dst is %td and sst is %td: strides are at least 1", dst, sst);
    if (nelems == 0 || size == 0) return 0;
    stp_coll_check(team, dest, source, collect_span(team, nelems, dst, size, fn),
                   collect_span(team, nelems, sst, size, fn), fn);
    /* Strided elements of a block are one message through the chunks, else one message each. */
    if (stp_coll_leader_alltoall_can(team, nelems * size) && !stp_on_device(dest, source)) {
        stp_coll_leader_alltoall(
            &(struct stp_coll_alltoall){team, dest, source, dst, sst, size, nelems, fn, false});
        return 0;
    }
    collect_begin(team);
    for (int i = 1; i <= team->n_pes; i++) {
        int rank = (team->rank + i) % team->n_pes;
        const char *block = (const char *)source + (size_t)rank * nelems * (size_t)sst * size;
        stp_iput(&stp_ctx_coll, (char *)dest + mine, block, dst, sst, 1, nelems, size,
                 stp_team_pe(team, rank), fn);
    }
    collect_finish(team);
    return 0;
}
