/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collect, fcollect and the alltoalls. Between nodes what fits goes by the leaders
 * (allgather_bruck.c, leader_exchange.c). Else everyone writes its blocks straight into the dest of
 * every member, starting with its neighbour so that no one is hit by all at once; then quiet and
 * sync, or between nodes a count that each block brings along. Writing into a dest before its owner
 * arrives is the standard's right; of active sets nobody's memory is touched so early
 * (docs/design/active-sets.md), which costs those a sync before, or for small data nothing, since
 * it goes through the cells.
 */
#include "coll_internal.h"
#include "algorithm_table.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Blocks for all members, me included: that of a rank lies at source + rank * step. */
struct collect {
    struct stp_team *team;
    char *dest; /* on each of them */
    const char *source;
    size_t step, nbytes; /* 0: I have none */
    const char *fn;
};

/* Before other members' dests are written. */
static void collect_begin(struct stp_team *team)
{
    if (STP_UNLIKELY(team->active_set)) stp_coll_sync(team);
}

/* Of what an active set moves: each member shall take its blocks from the cells of all. */
static bool collect_by_cells(const struct stp_team *team, const void *dest, const void *source,
                             size_t nbytes)
{
    return STP_UNLIKELY(team->active_set) && nbytes <= COLL_SMALL && !stp_on_device(dest, source);
}

/* Between nodes, where device memory goes other ways than the rest. */
static bool collect_on_device(const struct stp_team *team, const void *dest, const void *source)
{
    return team->plan.n_groups > 1 && stp_on_device(dest, source);
}

/* Between nodes: all members get nbytes of each through the cells of the leaders. */
static bool collect_gathers(const struct stp_team *team, size_t nbytes, bool device)
{
    return !device && stp_coll_gather_fits(team, nbytes);
}

/* Which algorithm, of direct and what else can do it. block: bytes that the table is asked for. */
static enum stp_coll_algorithm collect_choose(const struct stp_team *team,
                                              enum stp_coll_operation what, size_t block,
                                              bool gather, bool heads)
{
    unsigned can = STP_COLL_CAN(STP_COLL_DIRECT);

    if (!gather && !heads) return STP_COLL_DIRECT;
    if (gather) can |= STP_COLL_CAN(STP_COLL_GATHER);
    if (heads) can |= STP_COLL_CAN(STP_COLL_HEADS);
    return stp_coll_choose(team, what, block, can);
}

/*
 * Between nodes, in the leaders' chunks: what makes all bytes of a result. Where each member is a
 * leader that is copies for nothing.
 */
static bool collect_by_heads(const struct stp_team *team, size_t all, bool device)
{
    return !device && team->plan.most_local > 1 && stp_coll_leader_allgather_can(team, all);
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

/* To a PE of this node; false: through the fabric, since its part is not mapped here. */
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
 * Between nodes: a block brings its count along, and who has them all knows it, so that no sync has
 * to tell. kept: source stays as it is until the others have read it.
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
            stp_coll_send_count(cell, COLL_CAME, c->dest, block, c->nbytes, pe, c->fn);
        else if (!collect_store(c, block, pe))
            quiet = true;
    }
    stp_coll_wait_count(cell, COLL_CAME, (size_t)(team->n_pes - team->plan.n_local));
    if (quiet) stp_coll_quiet();
    stp_coll_node_sync(team); /* the blocks of this node */
}

/* A copy of nbytes that stays, where the team has room for one; the same on all members. */
static const char *collect_keep(struct stp_team *team, const char *source, size_t nbytes)
{
    char *chunk = nbytes <= COLL_CHUNK ? stp_coll_next_chunk(team) : NULL;

    return chunk != NULL ? memcpy(chunk, source, nbytes) : NULL;
}

/* equal: nbytes is that of all members; device: of device memory, on all. */
static void collect_all(struct collect *c, bool equal, bool device)
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

int stp_coll_fcollect(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                      const char *fn)
{
    size_t all = stp_bytes(nbytes, (size_t)team->n_pes, fn);
    enum stp_coll_algorithm how;
    bool device;

    if (nbytes == 0) return 0;
    stp_coll_check(team, dest, source, all, nbytes, fn);
    device = collect_on_device(team, dest, source);
    how = collect_choose(team, STP_COLL_FCOLLECT, nbytes, collect_gathers(team, nbytes, device),
                         collect_by_heads(team, all, device));
    if (how == STP_COLL_GATHER || collect_by_cells(team, dest, source, nbytes)) {
        stp_coll_gather(team, dest, source, nbytes);
        return 0;
    }
    if (how == STP_COLL_HEADS) {
        stp_coll_leader_allgather(&(struct stp_coll_gather){team, dest, source, nbytes, NULL, fn});
        return 0;
    }
    collect_all(
        &(struct collect){team, (char *)dest + nbytes * (size_t)team->rank, source, 0, nbytes, fn},
        true, device);
    return 0;
}

/* ---- collect -------------------------------------------------------------------- */

/* What a member tells the others: how much it has, and that itself when it fits the block. */
struct collect_block {
    uint64_t nbytes;
    uint32_t whole;
    uint32_t device; /* a member without bytes may pass no source, and cannot tell by itself */
    unsigned char data[COLL_SMALL - 2 * sizeof(uint64_t)];
};

_Static_assert(sizeof(struct collect_block) == COLL_SMALL, "a block fills a cell at most");

#define COLLECT_HEAD offsetof(struct collect_block, data)
#define COLLECT_FAR (COLLECT_HEAD + 48) /* bytes of a block between nodes at most */

/*
 * Bytes of each block, the same on all members: as many as leave room for those of all, or the head
 * alone.
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
    bool whole;  /* all of them */
    bool device; /* somebody's data is in device memory, or goes there */
    char *first;
    size_t *at; /* n_pes + 1 offsets in dest, in the same memory */
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

/* All data has come with the blocks. R44: a member without bytes may pass no dest; it gets none. */
static void collect_take(const struct stp_coll_gather *g, const struct collect_blocks *blocks)
{
    if (STP_UNLIKELY(g->dest == NULL) && g->nbytes == 0) return;
    for (int rank = 0; rank < g->team->n_pes; rank++) {
        const struct collect_block *block = collect_block(blocks, rank);

        if (block->nbytes > 0)
            stp_copy_any((char *)g->dest + blocks->at[rank], block->data, block->nbytes, g->fn);
    }
}

/* All members know all offsets: as fcollect of the mean, or direct. */
static void collect_parts(const struct stp_coll_gather *g, bool direct, bool device)
{
    struct stp_team *team = g->team;
    size_t sum = g->at[team->n_pes], mean = sum / (size_t)team->n_pes;
    bool heads = !direct && collect_by_heads(team, sum, device);

    if (collect_choose(team, STP_COLL_FCOLLECT, mean, false, heads) == STP_COLL_HEADS)
        stp_coll_leader_allgather(g);
    else
        collect_all(&(struct collect){team, (char *)g->dest + g->at[team->rank], g->source, 0,
                                      g->nbytes, g->fn},
                    false, device);
}

int stp_coll_collect(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                     const char *fn)
{
    struct stp_coll_gather g = {team, dest, source, nbytes, NULL, fn};
    struct collect_blocks blocks = {.size = collect_block_bytes(team)};
    bool gather = stp_coll_gather_fits(team, blocks.size) && blocks.size > COLLECT_HEAD;
    bool direct = team->plan.n_groups > 1 &&
                  collect_choose(team, STP_COLL_COLLECT, 0, gather, false) == STP_COLL_DIRECT;

    if (direct) blocks.size = COLLECT_HEAD;
    collect_tell(&g, &blocks);
    stp_coll_check(team, dest, source, nbytes > 0 ? blocks.at[team->n_pes] : 0, nbytes, fn);
    g.at = blocks.at;
    if (blocks.whole)
        collect_take(&g, &blocks);
    else
        collect_parts(&g, direct, blocks.device);
    free(blocks.at);
    return 0;
}

/* ---- alltoall ------------------------------------------------------------------- */

/* nbytes is one block. The source is in the cell before a dest that may be the same is written. */
static void alltoall_by_cells(struct stp_team *team, char *dest, const void *source, size_t nbytes)
{
    uint64_t sequence;
    struct stp_coll_cell *cell = stp_coll_take_cell(team, &sequence);
    const unsigned char *mine = cell->in + nbytes * (size_t)team->rank;

    memcpy(cell->in, source, nbytes * (size_t)team->n_pes);
    stp_coll_sync(team);
    for (int rank = 0; rank < team->n_pes; rank++)
        stp_get_nbi(&stp_ctx_coll, dest + nbytes * (size_t)rank, mine, nbytes,
                    stp_team_pe(team, rank), "collective");
    stp_coll_quiet();
}

static bool alltoall_by_heads(const struct stp_team *team, size_t nbytes, bool device)
{
    return !device && team->plan.most_local > 1 && stp_coll_leader_alltoall_can(team, nbytes);
}

int stp_coll_alltoall(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                      const char *fn)
{
    size_t all = stp_bytes(nbytes, (size_t)team->n_pes, fn);
    char *mine = (char *)dest + nbytes * (size_t)team->rank;
    enum stp_coll_algorithm how;
    bool device;

    if (nbytes == 0) return 0;
    stp_coll_check(team, dest, source, all, all, fn);
    device = collect_on_device(team, dest, source);
    how = collect_choose(team, STP_COLL_ALLTOALL, nbytes, collect_gathers(team, all, device),
                         alltoall_by_heads(team, nbytes, device));
    if (how == STP_COLL_HEADS) {
        stp_coll_leader_alltoall(
            &(struct stp_coll_alltoall){team, dest, source, 1, 1, 1, nbytes, fn});
        return 0;
    }
    if (how == STP_COLL_GATHER) {
        stp_coll_gather_part(team, dest, source, all, nbytes * (size_t)team->rank, nbytes);
        return 0;
    }
    if (collect_by_cells(team, dest, source, all)) {
        alltoall_by_cells(team, dest, source, nbytes);
        return 0;
    }
    collect_all(&(struct collect){team, mine, source, nbytes, nbytes, fn}, true, device);
    return 0;
}

/* Bytes that n blocks of nelems elements at a stride span, checked for overflow. */
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
    /* Elements that lie apart are one message that way, else one each. */
    if (stp_coll_leader_alltoall_can(team, nelems * size) && !stp_on_device(dest, source)) {
        stp_coll_leader_alltoall(
            &(struct stp_coll_alltoall){team, dest, source, dst, sst, size, nelems, fn});
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
