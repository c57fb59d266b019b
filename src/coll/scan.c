/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements scans. An inscan gives each member the sum over all ranks up to its own rank. An
 * exscan leaves out the member's own rank, and gives zeros to rank 0. On one node, a member reads
 * small vectors from the cells of the ranks before it. Between nodes, the ranks exchange small
 * vectors in rounds. The distance between sender and receiver doubles in every round. This works
 * for any placement of ranks on nodes. Large vectors are cut into shares. Each member computes the
 * results of all members for its share. A device computes the share if it can access the share on
 * all members. Design: docs/design/collectives.md.
 */
#include "coll_internal.h"

#include <stdlib.h>
#include <string.h>

/*
 * Bytes of the buffer if the team is on one node. The buffer holds blocks of several members, and
 * fits the cache.
 */
#define SCAN_NODE_BYTES ((size_t)256 << 10)
#define SCAN_INTERNODE_BYTES                                                                       \
    ((size_t)4 << 20)                  /* bytes of the buffer if the team is on several nodes */
#define SCAN_BLOCK_MIN ((size_t)16384) /* minimum bytes that are read from a member at a time */

struct scan {
    struct stp_team *team;
    enum stp_dtype dtype;
    size_t size; /* bytes of an element */
    bool exclusive;
    const char *fn;
};

static void scan_add(const struct scan *s, void *sum, const void *addend, size_t nbytes)
{
    stp_op_reduce(STP_SUM, s->dtype, sum, addend, nbytes / s->size);
}

/* ---- small data ------------------------------------------------------------- */

/*
 * Scans on one node. Adds up the vectors in the cells of the ranks before this rank, in rank order.
 * An inclusive scan also adds the vector of this rank.
 */
static void scan_cells(const struct scan *s, void *dest, const void *source, size_t nbytes)
{
    int rank = s->team->rank, n_terms = s->exclusive ? rank : rank + 1;
    _Alignas(16) unsigned char sum[COLL_SMALL] = {0};
    uint64_t sequence;
    struct stp_coll_cell *cell = stp_coll_take_cell(s->team, &sequence);

    memcpy(cell->in, source, nbytes);
    stp_coll_post_node(s->team, &cell->flags[COLL_READY], sequence);
    for (int i = 0; i < n_terms; i++) {
        struct stp_coll_cell *peer_cell = stp_ptr(cell, s->team->plan.local_pes[i]);
        stp_coll_wait_node(s->team, &peer_cell->flags[COLL_READY], sequence);
        if (i == 0)
            memcpy(sum, peer_cell->in, nbytes);
        else
            scan_add(s, sum, peer_cell->in, nbytes);
    }
    memcpy(dest, sum, nbytes);
}

static int scan_rounds(int n_pes)
{
    int n_rounds = 0;

    while (1 << n_rounds < n_pes)
        n_rounds++;
    return n_rounds;
}

/*
 * Scans on any number of nodes. In round k each rank sends a sum to the rank that is 2^k higher.
 * This sum covers the sender and the 2^k - 1 ranks before it. The data of each round arrives in a
 * separate piece of the cell.
 */
static void scan_doubling(const struct scan *s, void *dest, const void *source, size_t nbytes)
{
    int rank = s->team->rank, n = s->team->n_pes;
    _Alignas(16) unsigned char inclusive_sum[COLL_SMALL], exclusive_sum[COLL_SMALL] = {0};
    uint64_t sequence;
    struct stp_coll_cell *cell = stp_coll_take_cell(s->team, &sequence);

    memcpy(inclusive_sum, source, nbytes);
    for (int step = 1, round = 0; step < n; step <<= 1, round++) {
        unsigned char *piece = cell->in + (size_t)round * nbytes;
        uint64_t *flag = &cell->flags[COLL_CHILD + round];
        if (rank + step < n)
            stp_coll_send(piece, inclusive_sum, nbytes, flag, sequence,
                          stp_team_pe(s->team, rank + step));
        if (rank < step) continue;
        stp_coll_wait_far(flag, sequence);
        scan_add(s, inclusive_sum, piece, nbytes);
        if (round == 0)
            memcpy(exclusive_sum, piece, nbytes);
        else
            scan_add(s, exclusive_sum, piece, nbytes);
    }
    memcpy(dest, s->exclusive ? exclusive_sum : inclusive_sum, nbytes);
}

/* ---- large data ------------------------------------------------------------- */

/*
 * Scans nbytes bytes at the addresses dest and source of all members. The buffer at slots has room
 * for n_slots blocks. The first block holds the sum over all members that were scanned before. The
 * other blocks hold the data of the next members, at most n_slots - 1. All sources of these members
 * are read before any dest of these members is written. Therefore source and dest may be the same.
 */
static void scan_block(const struct scan *s, char *dest, const char *source, size_t nbytes,
                       char *slots, int n_slots)
{
    int n_pes = s->team->n_pes;

    memset(slots, 0, nbytes);
    for (int first = 0, n; first < n_pes; first += n) {
        n = n_pes - first < n_slots - 1 ? n_pes - first : n_slots - 1;
        for (int i = 0; i < n; i++)
            stp_get_nbi(&stp_ctx_coll, slots + (size_t)(i + 1) * nbytes, source, nbytes,
                        stp_team_pe(s->team, first + i), s->fn);
        stp_coll_quiet();
        /* Do not add the zeros in slots to the data of rank 0, because -0.0 would become 0.0. */
        for (int i = first == 0 ? 1 : 0; i < n; i++)
            scan_add(s, slots + (size_t)(i + 1) * nbytes, slots + (size_t)i * nbytes, nbytes);
        for (int i = 0; i < n; i++)
            stp_put_nbi(&stp_ctx_coll, dest, slots + (size_t)(s->exclusive ? i : i + 1) * nbytes,
                        nbytes, stp_team_pe(s->team, first + i), s->fn);
        stp_coll_quiet();
        memcpy(slots, slots + (size_t)n * nbytes, nbytes);
    }
}

/*
 * Returns the number of bytes in a block, which is at most the argument share. Sets *n_slots to the
 * number of blocks that fit into the buffer. If the team is on several nodes, the blocks are few
 * and large. The PE waits twice for each block there. On a busy host each of these waits may last
 * until this PE and the other PE both have a core.
 */
static size_t scan_plan(const struct stp_team *team, size_t share, int *n_slots)
{
    size_t buffer = team->plan.n_groups == 1 ? SCAN_NODE_BYTES : SCAN_INTERNODE_BYTES;
    size_t n = (size_t)team->n_pes + 1;
    size_t block = buffer / n > SCAN_BLOCK_MIN ? buffer / n : SCAN_BLOCK_MIN;

    if (buffer / block < n) n = buffer / block;
    *n_slots = (int)n;
    return block < share ? block : share;
}

static void scan_on_host(const struct scan *s, char *dest, const char *source, size_t nelems)
{
    int n_slots;
    size_t block = scan_plan(s->team, nelems * s->size, &n_slots);
    size_t room = block / s->size, nbytes = block * (size_t)n_slots;
    char *slots;

    if (nelems == 0) return;
    /* Do not use a bounce buffer, because the transfers below may need the bounce buffers. */
    slots = malloc(nbytes);
    if (slots == NULL)
        stp_fatal(s->fn, "out of memory: cannot allocate a buffer of %zu bytes", nbytes);
    for (size_t index = 0, n; index < nelems; index += n) {
        n = nelems - index < room ? nelems - index : room;
        scan_block(s, dest + index * s->size, source + index * s->size, n * s->size, slots,
                   n_slots);
    }
    free(slots);
}

static bool scan_on_device(const struct scan *s, char *dest, const char *source, size_t nelems)
{
    struct stp_coll_slice share = {.ctx = &stp_ctx_coll,
                                   .team = s->team,
                                   .op = STP_SUM,
                                   .span = s->exclusive ? STP_SPAN_EXCLUSIVE : STP_SPAN_INCLUSIVE,
                                   .dtype = s->dtype,
                                   .size = s->size,
                                   .dest = dest,
                                   .source = source,
                                   .nelems = nelems,
                                   .fn = s->fn};

    return stp_coll_slice_try_on_device(&share);
}

/* Every member computes the results of all members for its share, which no other member touches. */
static void scan_shares(const struct scan *s, char *dest, const char *source, size_t nelems)
{
    size_t n = (size_t)s->team->n_pes;
    size_t line = STP_CACHE_LINE / s->size;
    size_t share = (nelems / n + line) / line * line;
    size_t index = share * (size_t)s->team->rank;
    size_t my_nelems = index >= nelems ? 0 : nelems - index < share ? nelems - index : share;

    if (my_nelems > 0) {
        dest += index * s->size;
        source += index * s->size;
    }
    stp_coll_sync(s->team); /* after this sync every source is ready */
    if (!scan_on_device(s, dest, source, my_nelems)) scan_on_host(s, dest, source, my_nelems);
    stp_coll_sync(s->team); /* after this sync every share is written */
}

int stp_coll_scan(struct stp_team *team, enum stp_dtype dtype, void *dest, const void *source,
                  size_t nelems, bool exclusive, const char *fn)
{
    struct scan s = {team, dtype, stp_dtype_size(dtype), exclusive, fn};
    size_t nbytes = stp_bytes(nelems, s.size, fn);
    bool one_node = team->plan.n_groups == 1;

    STP_COLL_CHECK_CALL(team, fn, {"nelems", (int64_t)nelems});
    if (nelems == 0) return 0;
    if (team->n_pes > 1)
        stp_coll_check(team, dest, source, nbytes, nbytes, fn);
    else
        stp_coll_check_ends(dest, source, nbytes, nbytes, fn);
    if (team->n_pes == 1 && !exclusive) {
        stp_copy_any(dest, source, nbytes, fn);
        return 0;
    }
    if (nbytes > COLL_SMALL || stp_on_device(dest, source))
        scan_shares(&s, dest, source, nelems);
    else if (one_node)
        scan_cells(&s, dest, source, nbytes);
    else if (nbytes * (size_t)scan_rounds(team->n_pes) <= COLL_SMALL)
        scan_doubling(&s, dest, source, nbytes);
    else
        scan_shares(&s, dest, source, nelems);
    return 0;
}
