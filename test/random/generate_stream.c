/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs, the generator: operations on streams, which are fences and quiets, syncs of
 * teams, and waits. A stream is a slot of its PE, like a context. A blocking operation is complete
 * for later operations of the stream. It is complete for the host after the host has waited for the
 * stream after a quiet. The transfers on streams come from generate.c.
 */
#include "random.h"

int rnd_draw_stream(struct rnd *r)
{
    return RND_SLOTS + (int)rnd_below(&r->rng, RND_STREAMS);
}

void rnd_emit_stream_quiet(struct rnd *r, int pe, int slot)
{
    struct rnd_op op = rnd_op_new(r, RND_S_QUIET, pe, slot);

    rnd_emit(r, &op);
}

/* All members at once; each waits, so that the orders of different teams cannot cross. */
static void emit_team(struct rnd *r, enum rnd_kind kind, int slot)
{
    struct rnd_op op = rnd_op_new(r, kind, -1, slot);

    op.team = rnd_draw_team(r);
    rnd_emit(r, &op);
    for (int i = 0; i < op.members; i++)
        rnd_emit_stream_quiet(r, r->teams[op.team].members[i], slot);
}

bool rnd_generate_stream(struct rnd *r, enum rnd_kind kind)
{
    int pe = rnd_draw_pe(r), slot = rnd_draw_stream(r);
    struct rnd_op op = rnd_op_new(r, kind, pe, slot);

    if (kind == RND_S_SYNC || kind == RND_S_BARRIER)
        emit_team(r, kind, slot);
    else
        rnd_emit(r, &op);
    return true;
}

/* What came is put to somebody else, by the stream that waited for it. */
static void emit_passing_on(struct rnd *r, const struct rnd_op *sent, int slot)
{
    size_t nbytes = sent->n * rnd_types[sent->type].size;
    struct rnd_op op = rnd_op_new(r, RND_S_PUT, sent->to, slot);
    struct rnd_access reads = {.pe = op.pe, .slot = slot, .how = RND_READ, .sent = true};
    struct rnd_access writes = {.pe = op.pe, .slot = slot, .how = RND_WRITE, .sent = true};

    writes.ordered = reads.ordered = reads.in_order = true;
    op.to = rnd_draw_member(r, &r->teams[0]);
    op.type = sent->type;
    op.n = sent->n;
    op.source = sent->dest;
    if (rnd_types[op.type].call[RND_S_PUT] == NULL ||
        !rnd_find(r, op.to, nbytes, rnd_types[op.type].size, false, &writes, &op.dest))
        return;
    if (op.pe == op.to && rnd_overlap(op.source, nbytes, op.dest, nbytes)) return;
    rnd_claim(r, op.source, nbytes, op.pe, &reads);
    rnd_claim(r, op.dest, nbytes, op.to, &writes);
    rnd_emit(r, &op);
}

void rnd_emit_stream_wait(struct rnd *r, const struct rnd_op *sent, uint64_t old, bool once)
{
    struct rnd_op op = rnd_op_new(r, RND_S_WAIT, sent->to, rnd_draw_stream(r));
    const struct rnd_type *type = &rnd_types[rnd_type_named("uint64")];

    op.sig = sent->sig;
    memcpy(&op.value, rnd_model(r, op.sig, op.pe), sizeof(op.value));
    op.arg = once ? rnd_draw_cmp(r, type, old, op.value) : SHMEM_CMP_EQ;
    rnd_emit(r, &op);
    if (sent->dest.area >= 0 && sent->n > 0 && !rnd_one_in(&r->rng, 3))
        emit_passing_on(r, sent, op.slot);
    rnd_emit_stream_quiet(r, op.pe, op.slot);
}
