/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large broadcasts between nodes. The root puts a share of the data to each other leader, which
 * puts the pieces of its share to the remaining leaders as they come. Every byte crosses each
 * network interface once. Design: docs/design/collectives.md.
 */
#include "coll_internal.h"

/* Maximum number of nodes, because a leader exchanges data with all others. */
#define SCATTER_MOST 64
#define SCATTER_PIECE ((size_t)128 << 10) /* minimum bytes of a piece */
#define SCATTER_PIECES 8                  /* maximum number of pieces of a share */

_Static_assert(SCATTER_PIECES <= COLL_ROUNDS, "each piece has a word");

static bool scatter_can(const struct stp_team *team, const struct stp_coll_call *call)
{
    (void)call;
    return team->plan.n_groups <= SCATTER_MOST;
}

/* Returns the bytes of a share. Every place has one except 0, the root, which has all the data. */
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

/* Finds a piece of a place's share. Returns its bytes, with the offset in *at, or 0 if none. */
static size_t scatter_find(const struct stp_coll_bcast *s, int place, size_t piece, size_t *at)
{
    size_t share = scatter_share(s), nbytes = scatter_piece(s);
    size_t begin = share * (size_t)(place - 1), end = begin + share;

    if (end > s->nbytes) end = s->nbytes;
    *at = begin + piece * nbytes;
    if (*at >= end) return 0;
    return end - *at < nbytes ? end - *at : nbytes;
}

/* Sends the root's data. Its source may be reused after stp_coll_quiet(). */
static void scatter_send(const struct stp_coll_bcast *s)
{
    int n = s->team->plan.n_groups;
    size_t at, nbytes;

    if (s->team->active_set) stp_coll_wait_count(s->cell, COLL_HERE, (size_t)n - 1);
    for (size_t piece = 0; piece < SCATTER_PIECES; piece++)
        for (int place = 1; place < n; place++)
            if ((nbytes = scatter_find(s, place, piece, &at)) > 0)
                stp_put_notify(&stp_ctx_coll, s->dest + at, s->source + at, nbytes,
                               &s->cell->flags[COLL_CHILD + piece], s->sequence, SHMEM_SIGNAL_SET,
                               stp_coll_bcast_leader(s, place), s->fn);
}

/* Receives and forwards the data on a leader other than the root. On return dest is complete. */
static void scatter_receive(const struct stp_coll_bcast *s)
{
    int n = s->team->plan.n_groups, me = stp_coll_bcast_group_from_root(s);
    size_t at, nbytes, n_others = 0;

    /* The root begins when all leaders are here, because each leader writes its pieces to all. */
    if (s->team->active_set)
        stp_coll_put_and_count(s->cell, COLL_HERE, NULL, NULL, 0, s->root_pe, s->fn);
    for (size_t piece = 0; piece < SCATTER_PIECES; piece++) {
        if ((nbytes = scatter_find(s, me, piece, &at)) > 0)
            stp_coll_wait_far(&s->cell->flags[COLL_CHILD + piece], s->sequence);
        for (int i = 1; i < n - 1; i++) {
            int place = (me - 1 + i) % (n - 1) + 1;
            size_t there;

            if (nbytes > 0)
                stp_coll_put_and_count(s->cell, COLL_CAME, s->dest + at, s->dest + at, nbytes,
                                       stp_coll_bcast_leader(s, place), s->fn);
            n_others += scatter_find(s, place, piece, &there) > 0;
        }
    }
    stp_coll_wait_count(s->cell, COLL_CAME, n_others);
}

static void scatter_bcast(const struct stp_coll_bcast *s)
{
    bool root = stp_rt.pe == s->root_pe;

    if (!root) scatter_receive(s);
    stp_coll_post_node(s->team, &s->cell->flags[COLL_READY], s->sequence);
    if (root) scatter_send(s);
}

const struct stp_coll_algorithm stp_coll_bcast_sag = {
    .name = "scatter", .what = STP_COLL_BROADCAST, .can = scatter_can, .broadcast = scatter_bcast};
