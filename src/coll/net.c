/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between nodes: words, and small data in one message with the word that tells of it; waits for
 * words of other nodes; and reductions of small vectors between the leaders by doubling.
 * Design: docs/design/collectives.md.
 */
#include "area.h"

#include <string.h>

#define NET_FAN 8      /* messages of a leader in a round of doubling, at most */
#define NET_PACKED 768 /* bytes that the fabric may collect in a message */

/* ---- sending and waiting --------------------------------------------------------- */

/* What leaves as one message, where the fabric packs such. */
static bool is_packed(const uint64_t *word, size_t nbytes, int pe)
{
    return nbytes <= NET_PACKED && stp_ctx_small.fabric != NULL &&
           stp_ptr_inline(word, pe, STP_USE_ATOMIC) == NULL;
}

/*
 * A session of one operation: the fabric packs data and word into a message, whose items the target
 * does in order, and sends it when the session ends. Without such messages the session changes
 * nothing. On a context of its own: what else collectives send shall not be collected. Without the
 * session a word would be collected behind the last one, whose answer may come only with the word
 * that is waited for next: for somebody to look whether it lies there, and for the wait to send it,
 * the queue would be read, and the answers of this PE would leave alone.
 */
static void send_packed(void *dest, const void *source, size_t nbytes, uint64_t *word,
                        uint64_t value, int op, int pe, const char *fn)
{
    struct stp_fabric_ctx *fabric = stp_ctx_small.fabric;

    stp_rt.fabric.session(fabric, true, SIZE_MAX);
    stp_put_signal(&stp_ctx_small, dest, source, nbytes, word, value, op, false, pe, fn);
    stp_rt.fabric.session(fabric, false, SIZE_MAX);
}

void stp_coll_post_far(uint64_t *word, uint64_t value, int pe)
{
    if (is_packed(word, 0, pe))
        send_packed(NULL, NULL, 0, word, value, SHMEM_SIGNAL_SET, pe, "collective");
    else
        stp_store_slow(&stp_ctx_coll, word, &value, sizeof(value), pe, "collective");
}

void stp_coll_send(void *dest, const void *source, size_t nbytes, uint64_t *word, uint64_t value,
                   int pe)
{
    if (nbytes > 0 && is_packed(word, nbytes, pe))
        send_packed(dest, source, nbytes, word, value, SHMEM_SIGNAL_SET, pe, "collective");
    else
        stp_put_signal(&stp_ctx_coll, dest, source, nbytes, word, value, SHMEM_SIGNAL_SET, false,
                       pe, "collective");
}

void stp_coll_send_count(struct stp_coll_cell *cell, int count, void *dest, const void *source,
                         size_t nbytes, int pe, const char *fn)
{
    uint64_t *word = &cell->flags[count];

    if (nbytes == 0 && is_packed(word, 0, pe))
        send_packed(NULL, NULL, 0, word, 1, SHMEM_SIGNAL_ADD, pe, fn);
    else
        stp_put_signal(&stp_ctx_coll, dest, source, nbytes, word, 1, SHMEM_SIGNAL_ADD, true, pe,
                       fn);
}

/* Out of line, so that a word that is there costs a load and a compare. */
static __attribute__((noinline)) void wait_far_slow(const uint64_t *word, uint64_t value)
{
    struct stp_wait wait = {0};

    for (;;) {
        if (STP_LIKELY(stp_rt.has_fabric)) stp_rt.fabric.progress();
        if (__atomic_load_n(word, __ATOMIC_ACQUIRE) >= value) break;
        stp_wait_yield();
        if (STP_UNLIKELY(stp_hang_turn(&wait))) stp_coll_show(&wait, word);
        if (__atomic_load_n(word, __ATOMIC_ACQUIRE) >= value) break;
    }
    stp_wait_end(&wait);
}

void stp_coll_wait_far(const uint64_t *word, uint64_t value)
{
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value) wait_far_slow(word, value);
}

/* ---- reductions ------------------------------------------------------------------ */

static int net_rounds(int n_groups)
{
    int n_rounds = 0;

    while (1 << n_rounds < n_groups)
        n_rounds++;
    return n_rounds;
}

size_t stp_coll_net_room(const struct stp_team *team)
{
    size_t n_rounds = (size_t)net_rounds(team->plan.n_groups);
    size_t room = n_rounds > 0 ? COLL_NET / n_rounds / 16 * 16 : COLL_NET;

    return room < COLL_SMALL ? room : COLL_SMALL;
}

struct net_reduce {
    struct stp_team *team;
    struct stp_coll_cell *cell;
    uint64_t sequence;
    enum stp_op op;
    enum stp_dtype dtype;
    void *acc;
    size_t nreduce, nbytes;
    size_t piece; /* bytes between the pieces of two rounds */
};

static uint64_t *net_flag(const struct net_reduce *r, int round)
{
    return &r->cell->flags[COLL_CHILD + round];
}

static void *net_piece(const struct net_reduce *r, int round)
{
    return r->cell->net + (size_t)round * r->piece;
}

static void net_send(const struct net_reduce *r, int round, int group)
{
    stp_coll_send(net_piece(r, round), r->acc, r->nbytes, net_flag(r, round), r->sequence,
                  r->team->plan.leaders[group]);
}

/* Take in what comes in a round: of groups above mine, or below. */
static void net_take(const struct net_reduce *r, int round, bool above)
{
    void *theirs = net_piece(r, round);

    stp_coll_wait_far(net_flag(r, round), r->sequence);
    if (above) {
        stp_op_reduce(r->op, r->dtype, r->acc, theirs, r->nreduce);
    } else {
        stp_op_reduce(r->op, r->dtype, theirs, r->acc, r->nreduce);
        memcpy(r->acc, theirs, r->nbytes);
    }
}

/*
 * Blocks of mask groups meet, the lower on the left: each tells its result to the other, and all
 * that are in them have that of both. The last block may be short. Then its leaders tell several of
 * the block below.
 */
static void net_doubling(const struct net_reduce *r)
{
    int n = r->team->plan.n_groups, me = r->team->plan.group;

    for (int mask = 1, round = 0; mask < n; mask <<= 1, round++) {
        int first = me & ~(2 * mask - 1), middle = first + mask;
        int n_above = n - middle < mask ? n - middle : mask;

        if (n_above <= 0) continue;
        if (me < middle) {
            if (me - first < n_above) net_send(r, round, me + mask);
            net_take(r, round, true);
        } else {
            for (int to = me - mask; to < middle; to += n_above)
                net_send(r, round, to);
            net_take(r, round, false);
        }
    }
}

/* The same order of operations by a tree: up to group 0, and the result down. */
static void net_tree(const struct net_reduce *r)
{
    int n = r->team->plan.n_groups, me = r->team->plan.group, mask = 1, round = 0;

    for (; mask < n && !(me & mask); mask <<= 1, round++)
        if (me + mask < n) net_take(r, round, true);
    if (me != 0) {
        net_send(r, round, me - mask);
        stp_coll_wait_far(&r->cell->flags[COLL_RESULT], r->sequence);
        memcpy(r->acc, r->cell->out, r->nbytes);
    }
    for (mask >>= 1; mask > 0; mask >>= 1)
        if (me + mask < n)
            stp_coll_send(r->cell->out, r->acc, r->nbytes, &r->cell->flags[COLL_RESULT],
                          r->sequence, r->team->plan.leaders[me + mask]);
}

/* Messages that a leader sends in the last round, where the upper block may be short. */
static int net_fan(int n)
{
    int fan = 1;

    for (int mask = 1; mask < n; mask <<= 1) {
        int n_above = n % (2 * mask) - mask; /* of the last two blocks */

        if (n_above > 0 && (mask + n_above - 1) / n_above > fan)
            fan = (mask + n_above - 1) / n_above;
    }
    return fan;
}

bool stp_coll_doubling_can(const struct stp_team *team)
{
    return net_fan(team->plan.n_groups) <= NET_FAN;
}

void stp_coll_net_reduce(struct stp_team *team, struct stp_coll_cell *cell, uint64_t sequence,
                         enum stp_op op, enum stp_dtype dtype, void *acc, size_t nreduce,
                         bool doubling)
{
    struct net_reduce r = {.team = team,
                           .cell = cell,
                           .sequence = sequence,
                           .op = op,
                           .dtype = dtype,
                           .acc = acc,
                           .nreduce = nreduce};

    r.nbytes = nreduce * stp_dtype_size(dtype);
    r.piece = (r.nbytes + 15) & ~(size_t)15;
    if (doubling)
        net_doubling(&r);
    else
        net_tree(&r);
}
