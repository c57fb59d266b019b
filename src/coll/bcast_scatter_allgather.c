/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcasts large data between nodes. The root puts one share of the data to each other leader, in
 * pieces. A leader forwards each piece of its share to the other leaders as soon as the piece
 * arrives. Each leader, including the root, therefore sends at most about as many bytes as the data
 * has. Design: docs/design/collectives.md.
 */
#include "coll_internal.h"

/*
 * Maximum number of nodes. A limit is needed because each leader exchanges data with all other
 * leaders.
 */
#define SCATTER_MAX_NODES 64
#define SCATTER_PIECE ((size_t)128 << 10) /* minimum bytes of a piece */
#define SCATTER_PIECES 8                  /* maximum number of pieces of a share */

_Static_assert(SCATTER_PIECES <= COLL_ROUNDS, "one flag word for each piece");

static bool scatter_supports(const struct stp_team *team, const struct stp_coll_call *call)
{
    (void)call;
    return team->plan.n_groups <= SCATTER_MAX_NODES;
}

/*
 * Returns the number of bytes in a share. Every leader except the root has one share. The root has
 * all the data.
 */
static size_t scatter_share(const struct stp_coll_bcast *s)
{
    size_t n = (size_t)s->team->plan.n_groups - 1;

    return (s->nbytes / n + STP_CACHE_LINE) / STP_CACHE_LINE * STP_CACHE_LINE;
}

static size_t scatter_piece(const struct stp_coll_bcast *s)
{
    size_t nbytes =
        (scatter_share(s) / SCATTER_PIECES + STP_CACHE_LINE) / STP_CACHE_LINE * STP_CACHE_LINE;

    return nbytes > SCATTER_PIECE ? nbytes : SCATTER_PIECE;
}

/*
 * Returns the number of bytes in one piece of a share, or 0 if the share has no such piece. The
 * share belongs to the leader whose group is place groups after the group of the root. Sets *offset
 * to the offset of the piece in the data.
 */
static size_t scatter_find(const struct stp_coll_bcast *s, int place, size_t piece, size_t *offset)
{
    size_t share = scatter_share(s), nbytes = scatter_piece(s);
    size_t begin = share * (size_t)(place - 1), end = begin + share;

    if (end > s->nbytes) end = s->nbytes;
    *offset = begin + piece * nbytes;
    if (*offset >= end) return 0;
    return end - *offset < nbytes ? end - *offset : nbytes;
}

/* Sends all shares from the root. The data at source may change only after stp_coll_quiet(). */
static void scatter_send(const struct stp_coll_bcast *s)
{
    int n = s->team->plan.n_groups;
    size_t offset, nbytes;

    if (s->team->active_set) stp_coll_wait_count(s->cell, COLL_ARRIVED, (size_t)n - 1);
    for (size_t piece = 0; piece < SCATTER_PIECES; piece++)
        for (int place = 1; place < n; place++)
            if ((nbytes = scatter_find(s, place, piece, &offset)) > 0)
                stp_put_notify(&stp_ctx_coll, s->dest + offset, s->source + offset, nbytes,
                               &s->cell->flags[COLL_CHILD + piece], s->sequence, SHMEM_SIGNAL_SET,
                               stp_coll_bcast_leader(s, place), s->fn);
}

/* Receives all data on a leader other than the root, and forwards the share of this leader. */
static void scatter_receive(const struct stp_coll_bcast *s)
{
    int n = s->team->plan.n_groups, my_place = stp_coll_bcast_group_from_root(s);
    size_t offset, nbytes, n_others = 0;

    /*
     * Report to the root that this leader has entered the call. The root sends nothing before all
     * leaders have reported. Otherwise a leader could forward its share to a leader that has not
     * entered the call.
     */
    if (s->team->active_set)
        stp_coll_put_and_count(s->cell, COLL_ARRIVED, NULL, NULL, 0, s->root_pe, s->fn);
    for (size_t piece = 0; piece < SCATTER_PIECES; piece++) {
        if ((nbytes = scatter_find(s, my_place, piece, &offset)) > 0)
            stp_coll_wait_far(&s->cell->flags[COLL_CHILD + piece], s->sequence);
        for (int i = 1; i < n - 1; i++) {
            int place = (my_place - 1 + i) % (n - 1) + 1;
            size_t unused;

            if (nbytes > 0)
                stp_coll_put_and_count(s->cell, COLL_RECEIVED, s->dest + offset, s->dest + offset,
                                       nbytes, stp_coll_bcast_leader(s, place), s->fn);
            n_others += scatter_find(s, place, piece, &unused) > 0;
        }
    }
    stp_coll_wait_count(s->cell, COLL_RECEIVED, n_others);
}

static void scatter_bcast(const struct stp_coll_bcast *s)
{
    bool root = stp_rt.pe == s->root_pe;

    if (!root) scatter_receive(s);
    stp_coll_post_node(s->team, &s->cell->flags[COLL_READY], s->sequence);
    if (root) scatter_send(s);
}

const struct stp_coll_algorithm stp_coll_bcast_sag = {.name = "scatter",
                                                      .operation = STP_COLL_BROADCAST,
                                                      .supports = scatter_supports,
                                                      .broadcast = scatter_bcast};
