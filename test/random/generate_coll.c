/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs, the generator: collectives over random teams. The library may write dest as soon
 * as any member has entered the collective, so that nobody uses dest earlier in the phase. A source
 * belongs to its owner until the owner enters.
 */
#include "random.h"

enum { COLL_BYTES = 160 * 1024 };

static bool is_reduction(enum rnd_kind kind)
{
    return (kind >= RND_MAX && kind <= RND_EXSCAN) || kind == RND_S_SUM;
}

static size_t draw_nelems(struct rnd *r, enum rnd_kind kind, size_t size, int members)
{
    size_t most = COLL_BYTES / size;

    if (!is_reduction(kind) && kind != RND_BROADCAST && kind != RND_S_BROADCAST)
        most /= (size_t)members;
    if (is_reduction(kind)) most /= 2;
    return rnd_draw_bytes(r, most * size) / size;
}

/* Bytes of dest and of source of a member. */
static void extents(const struct rnd_op *op, int members, size_t *dest, size_t *source)
{
    size_t n = op->n * rnd_types[op->type].size, all = n * (size_t)members;

    *dest = *source = n;
    if (op->kind == RND_COLLECT || op->kind == RND_FCOLLECT) *dest = all;
    if (op->kind != RND_ALLTOALL && op->kind != RND_ALLTOALLS) return;
    *dest = all * (size_t)op->dst;
    *source = all * (size_t)op->sst;
}

/* Real numbers that do not round, into the source of each member. */
static void emit_fills(struct rnd *r, const struct rnd_op *coll, const struct rnd_team *team,
                       size_t nbytes)
{
    uint64_t value = rnd_next(&r->rng);

    for (int i = 0; i < team->n; i++) {
        struct rnd_op op = rnd_op_new(r, RND_STORE, team->members[i], 0);

        op.type = coll->type;
        op.dest = coll->source;
        op.n = nbytes;
        op.value = value;
        op.arg = coll->kind == RND_PROD;
        rnd_emit(r, &op);
    }
}

static void emit_team_sync(struct rnd *r, int team)
{
    struct rnd_op op = rnd_op_new(r, RND_TEAM_SYNC, -1, 0);

    op.team = team;
    rnd_emit(r, &op);
}

static void claim_all(struct rnd *r, const struct rnd_team *team, struct rnd_place place,
                      size_t nbytes, struct rnd_access access, bool dest)
{
    for (int i = 0; i < team->n; i++) {
        access.pe = dest ? -1 : team->members[i];
        rnd_claim(r, place, nbytes, team->members[i], &access);
    }
}

static bool place_coll(struct rnd *r, struct rnd_op *op, const struct rnd_team *team, bool fill)
{
    struct rnd_access to = {.pe = -1, .who = team->set, .how = RND_WRITE};
    struct rnd_access from = {.how = fill ? RND_WRITE : RND_READ};
    size_t align = rnd_types[op->type].size, dest, source;
    bool in_place = is_reduction(op->kind) && rnd_one_in(&r->rng, 3);

    extents(op, team->n, &dest, &source);
    if (!rnd_find_all(r, team, dest, align, to, &op->dest)) return false;
    if (in_place) {
        op->source = op->dest;
    } else if (!rnd_find_all(r, team, source, align, from, &op->source) ||
               rnd_overlap(op->dest, dest, op->source, source)) {
        return false;
    }
    if (fill) emit_fills(r, op, team, source);
    if (fill && in_place) emit_team_sync(r, op->team);
    if (!in_place) claim_all(r, team, op->source, source, from, false);
    claim_all(r, team, op->dest, dest, to, true);
    return true;
}

bool rnd_generate_coll(struct rnd *r, enum rnd_kind kind)
{
    int slot = rnd_on_stream(kind) ? rnd_draw_stream(r) : 0;
    struct rnd_op op = rnd_op_new(r, kind, -1, slot);
    const struct rnd_team *team;
    bool fill;

    op.type = rnd_type_draw(&r->rng, kind);
    if (op.type < 0) return false;
    op.team = rnd_draw_team(r);
    team = &r->teams[op.team];
    op.arg = r->burst.on ? r->burst.root : (int)rnd_below(&r->rng, (size_t)team->n);
    op.value = rnd_next(&r->rng);
    if (kind == RND_ALLTOALLS) {
        op.dst = 1 + (ptrdiff_t)rnd_below(&r->rng, 4);
        op.sst = 1 + (ptrdiff_t)rnd_below(&r->rng, 4);
    }
    op.n = draw_nelems(
        r, kind, rnd_types[op.type].size * (size_t)(op.dst > op.sst ? op.dst : op.sst), team->n);
    fill = is_reduction(kind) && rnd_types[op.type].is_real;
    if (!place_coll(r, &op, team, fill)) return false;
    rnd_emit(r, &op);
    for (int i = 0; rnd_on_stream(kind) && i < team->n; i++)
        rnd_emit_stream_quiet(r, team->members[i], slot);
    return true;
}
