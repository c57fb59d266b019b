/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs, the generator: chooses the ranges of memory of an operation, and emits the
 * fences and quiets that allow a range to be used.
 */
#include "random.h"

enum { TRIES = 6 };

bool rnd_overlap(struct rnd_place a, size_t a_bytes, struct rnd_place b, size_t b_bytes)
{
    return a.area == b.area && a_bytes > 0 && b_bytes > 0 && a.at < b.at + b_bytes &&
           b.at < a.at + a_bytes;
}

static int draw_area(struct rnd *r, size_t nbytes, bool local)
{
    for (int i = 0; i < 24; i++) {
        int number = (int)rnd_below(&r->rng, (size_t)r->n_areas);
        const struct rnd_area *area = &r->areas[number];

        if (area->live && (local || rnd_is_symmetric(area)) && area->hi - area->lo >= nbytes &&
            !(r->host && area->device) && (r->within == 0 || rnd_of(r, number) == r->within))
            return number;
    }
    return -1;
}

/* Often beside or over a range that is in use: that is where mistakes are. */
static size_t draw_offset(struct rnd *r, const struct rnd_area *area, int pe, size_t nbytes,
                          size_t align)
{
    const struct rnd_claims *claims = &area->claims[pe];
    size_t last = area->hi - nbytes, at;

    if (claims->n > 0 && !rnd_one_in(&r->rng, 3)) {
        const struct rnd_claim *c = &claims->v[rnd_below(&r->rng, claims->n)];

        switch (rnd_below(&r->rng, 4)) {
        case 0:
            at = c->hi + align - 1;
            break;
        case 1:
            at = c->lo;
            break;
        case 2:
            at = c->lo >= nbytes ? c->lo - nbytes : 0;
            break;
        default:
            at = c->lo + rnd_below(&r->rng, c->hi - c->lo);
            break;
        }
    } else if (rnd_one_in(&r->rng, 8)) {
        at = rnd_one_in(&r->rng, 2) ? area->lo : last;
    } else {
        at = area->lo + rnd_below(&r->rng, last - area->lo + 1);
    }
    if (at > last) at = last;
    at -= at % align;
    return at < area->lo ? (area->lo + align - 1) / align * align : at;
}

/* Emit the fence or quiet that makes room. */
static bool make_room(struct rnd *r, enum rnd_verdict verdict, const struct rnd_claim *why)
{
    struct rnd_op op;

    if (verdict == RND_TAKEN || rnd_one_in(&r->rng, 4)) return false;
    if (!r->slots[why->by.pe][why->by.slot].live) return false;
    if (why->by.slot >= RND_SLOTS && verdict == RND_NEEDS_QUIET) {
        rnd_emit_stream_quiet(r, why->by.pe, why->by.slot);
        return true;
    }
    if (r->all && why->by.of != 0 && rnd_one_in(&r->rng, 2) &&
        rnd_emit_of(r, verdict == RND_NEEDS_FENCE ? RND_SPACE_FENCE : RND_SPACE_QUIET, why->by.pe,
                    why->by.slot, why->by.of))
        return true;
    op = rnd_op_new(r,
                    why->by.slot >= RND_SLOTS    ? RND_S_FENCE
                    : verdict == RND_NEEDS_FENCE ? RND_FENCE
                                                 : RND_QUIET,
                    why->by.pe, why->by.slot);
    rnd_emit(r, &op);
    return true;
}

bool rnd_find(struct rnd *r, int pe, size_t nbytes, size_t align, bool local,
              const struct rnd_access *access, struct rnd_place *place)
{
    for (int i = 0; i < TRIES; i++) {
        const struct rnd_claim *why = NULL;
        enum rnd_verdict verdict;
        int area;

        r->within = local || access->pe < 0 ? 0 : r->slots[access->pe][access->slot].bound;
        area = draw_area(r, nbytes + align, local);
        r->within = 0;
        if (area < 0) return false;
        place->area = area;
        place->at = draw_offset(r, &r->areas[area], pe, nbytes, align);
        for (int k = 0; k < 3; k++) {
            verdict = rnd_judge(r, *place, nbytes, pe, access, &why);
            if (verdict == RND_OPEN) return true;
            if (!make_room(r, verdict, why)) break;
        }
    }
    return false;
}

bool rnd_find_all(struct rnd *r, const struct rnd_team *team, size_t nbytes, size_t align,
                  struct rnd_access access, struct rnd_place *place)
{
    bool dest = access.pe < 0;

    for (int i = 0; i < TRIES; i++) {
        const struct rnd_claim *why;
        int area = draw_area(r, nbytes + align, false), k;

        if (area < 0) return false;
        place->area = area;
        place->at = draw_offset(r, &r->areas[area], rnd_draw_member(r, team), nbytes, align);
        for (k = 0; k < team->n; k++) {
            access.pe = dest ? -1 : team->members[k];
            if (rnd_judge(r, *place, nbytes, team->members[k], &access, &why) != RND_OPEN) break;
        }
        if (k == team->n) return true;
    }
    return false;
}
