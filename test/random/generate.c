/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs, the generator: chooses the next operation, its PE and its context, and ends a
 * phase. All PEs run the generator in the same way, so that it must not use anything that differs
 * between PEs.
 */
#include "random.h"

enum { PHASE_BYTES = 1 << 20 };

struct rnd_op rnd_op_new(struct rnd *r, enum rnd_kind kind, int pe, int slot)
{
    struct rnd_op op = {.kind = kind, .phase = r->phase, .type = -1, .slot = slot, .pe = pe};

    op.to = op.team = op.dest.area = op.source.area = op.sig.area = -1;
    op.dst = op.sst = 1;
    op.plain = slot == 0 && rnd_one_in(&r->rng, 2);
    return op;
}

/* What an operation ends, for itself and for others. */
static void note(struct rnd *r, const struct rnd_op *op)
{
    struct rnd_slot *slot = op->pe >= 0 ? &r->slots[op->pe][op->slot] : NULL;
    uint64_t all = r->teams[0].set;

    switch (op->kind) {
    case RND_FENCE:
    case RND_S_FENCE:
        slot->fences++;
        break;
    case RND_S_QUIET:
    case RND_QUIET:
    case RND_PE_QUIET:
    case RND_CTX_DESTROY:
        slot->quiets++, slot->fences++;
        slot->dirty = false;
        break;
    case RND_S_BARRIER:
        for (int i = 0; i < r->teams[op->team].n; i++) {
            slot = &r->slots[r->teams[op->team].members[i]][op->slot];
            slot->quiets++, slot->fences++;
            slot->dirty = false;
        }
        rnd_spread(r, op->set, op->set);
        break;
    case RND_S_SYNC:
    case RND_TEAM_SYNC:
        rnd_spread(r, r->teams[op->team].set, r->teams[op->team].set);
        break;
    case RND_BARRIER:
    case RND_MALLOC:
    case RND_REALLOC:
    case RND_FREE:
        for (int pe = 0; pe < r->n_pes; pe++) {
            r->slots[pe][0].quiets++, r->slots[pe][0].fences++;
            r->slots[pe][0].dirty = false;
        }
        rnd_spread(r, all, all);
        break;
    case RND_SPACE_QUIET:
        slot->of_quiets[op->arg]++, slot->of_fences[op->arg]++;
        break;
    case RND_SPACE_FENCE:
        slot->of_fences[op->arg]++;
        break;
    default:
        break;
    }
}

void rnd_emit(struct rnd *r, struct rnd_op *op)
{
    if (op->team >= 0) {
        op->set = r->teams[op->team].set;
        op->members = r->teams[op->team].n;
    }
    if (r->n_log == r->log_room) {
        r->log_room = r->log_room * 2 + 256;
        r->log = realloc(r->log, r->log_room * sizeof(*r->log));
    }
    r->log[r->n_log++] = *op;
    rnd_apply(r, op);
    note(r, op);
}

/* ---- draws ------------------------------------------------------------------------- */

static const size_t edges[] = {0,    1,    2,    3,     4,     7,     8,     9,     15,   16,
                               17,   31,   32,   33,    63,    64,    65,    127,   128,  129,
                               383,  384,  385,  511,   513,   1023,  1025,  4095,  4096, 4097,
                               8191, 8192, 8193, 16383, 16384, 16385, 65535, 65536, 65537};

size_t rnd_draw_bytes(struct rnd *r, size_t max)
{
    size_t n_edges = sizeof(edges) / sizeof(edges[0]), n, kind = rnd_below(&r->rng, 16);

    if (kind < 6)
        n = rnd_below(&r->rng, 65);
    else if (kind < 11)
        n = edges[rnd_below(&r->rng, n_edges)];
    else if (kind < 15)
        n = rnd_below(&r->rng, (size_t)64 << rnd_below(&r->rng, 9));
    else
        n = rnd_below(&r->rng, 300 * 1024);
    if (r->burst.on) n %= 401;
    if (n > max) n = rnd_one_in(&r->rng, 2) ? max : n % (max + 1);
    if (n > 4096 && n > r->bytes_left) n %= 4097;
    r->bytes_left -= n < r->bytes_left ? n : r->bytes_left;
    return n;
}

int rnd_draw_pe(struct rnd *r)
{
    return r->burst.on ? r->burst.pe : (int)rnd_below(&r->rng, (size_t)r->n_pes);
}

int rnd_draw_slot(struct rnd *r, int pe)
{
    int slot;

    if (r->burst.on) return r->burst.slot;
    slot = (int)rnd_below(&r->rng, RND_SLOTS);
    return r->slots[pe][slot].live ? slot : 0;
}

int rnd_draw_member(struct rnd *r, const struct rnd_team *team)
{
    return team->members[rnd_below(&r->rng, (size_t)team->n)];
}

int rnd_draw_team(struct rnd *r)
{
    if (r->burst.on) return r->burst.team;
    for (int i = 0; i < 8; i++) {
        int team = (int)rnd_below(&r->rng, RND_TEAMS);

        if (r->teams[team].live) return team;
    }
    return 0;
}

/* ---- put and get -------------------------------------------------------------------------- */

/* The two sides of a transfer by op->pe, with op->slot, to op->to. */
static void sides(const struct rnd_op *op, struct rnd_access *remote, struct rnd_access *local)
{
    bool get = rnd_is_get(op->kind);
    bool nbi = rnd_is_nbi(op->kind), stream = rnd_on_stream(op->kind);

    *remote = *local = (struct rnd_access){.pe = op->pe, .slot = op->slot};
    remote->how = get ? RND_READ : RND_WRITE;
    local->how = get ? RND_WRITE : RND_READ;
    remote->sent = get && !stream ? nbi : true;
    remote->ordered = !get || stream;
    remote->in_order = stream && get && !nbi;
    local->sent = nbi || stream;
    local->ordered = stream;
    local->in_order = stream && !nbi;
}

/* Who does it, by which context, to whom; sometimes with what it has just waited for. */
static struct rnd_op draw_actors(struct rnd *r, enum rnd_kind kind)
{
    bool hot = r->hot_pe >= 0 && !r->burst.on && rnd_one_in(&r->rng, 2);
    int pe = hot ? r->hot_pe : rnd_draw_pe(r);
    int slot = rnd_on_stream(kind)                    ? rnd_draw_stream(r)
               : kind == RND_POKE || kind == RND_PEEK ? 0
                                                      : rnd_draw_slot(r, pe);
    struct rnd_op op = rnd_op_new(r, kind, pe, slot);

    op.to = rnd_draw_member(r, &r->teams[r->slots[pe][slot].team]);
    return op;
}

/* Find and claim both ranges. */
bool rnd_place_both(struct rnd *r, struct rnd_op *op, size_t remote_bytes, size_t local_bytes)
{
    struct rnd_place *there = rnd_is_get(op->kind) ? &op->source : &op->dest;
    struct rnd_place *here = rnd_is_get(op->kind) ? &op->dest : &op->source;
    size_t align = rnd_types[op->type].size;
    struct rnd_access remote, local;
    const struct rnd_claim *why;

    sides(op, &remote, &local);
    if (!rnd_find(r, op->to, remote_bytes, align, false, &remote, there)) return false;
    *here = r->hot;
    if (r->hot_pe != op->pe || rnd_is_get(op->kind) || r->hot_n < local_bytes ||
        r->hot.at % align != 0 || !r->areas[r->hot.area].live ||
        (r->areas[r->hot.area].device && op->kind == RND_P) ||
        rnd_judge(r, r->hot, local_bytes, op->pe, &local, &why) != RND_OPEN) {
        bool found;

        r->host = op->kind == RND_P || op->kind == RND_G; /* values of variables */
        found = rnd_find(r, op->pe, local_bytes, align, true, &local, here);
        r->host = false;
        if (!found) return false;
    }
    if (op->pe == op->to && rnd_overlap(*there, remote_bytes, *here, local_bytes)) return false;
    if (!rnd_on_stream(op->kind)) remote.of = local.of = rnd_of(r, there->area);
    rnd_claim(r, *there, remote_bytes, op->to, &remote);
    rnd_claim(r, *here, local_bytes, op->pe, &local);
    return true;
}

bool rnd_generate_rma(struct rnd *r, enum rnd_kind kind)
{
    struct rnd_op op = draw_actors(r, kind);
    size_t size, nbytes;

    op.type = rnd_type_draw(&r->rng, kind == RND_POKE   ? RND_PUT
                                     : kind == RND_PEEK ? RND_GET
                                                        : kind);
    size = rnd_types[op.type].size;
    op.n = kind == RND_P || kind == RND_G ? 1 : rnd_draw_bytes(r, 300 * 1024) / size;
    nbytes = op.n * size;
    if (!rnd_place_both(r, &op, nbytes, nbytes)) return false;
    if (kind == RND_POKE || kind == RND_PEEK) op.plain = false;
    rnd_emit(r, &op);
    return true;
}

bool rnd_generate_strided(struct rnd *r, enum rnd_kind kind)
{
    bool blocks = kind == RND_IBPUT || kind == RND_IBGET;
    struct rnd_op op = draw_actors(r, kind);
    size_t size, elements, here, there, widest;

    op.type = rnd_type_draw(&r->rng, kind);
    size = rnd_types[op.type].size;
    op.bsize = blocks ? 1 + rnd_below(&r->rng, 9) : 1;
    op.dst = (ptrdiff_t)(op.bsize + rnd_below(&r->rng, 5));
    op.sst = (ptrdiff_t)(op.bsize + rnd_below(&r->rng, 5));
    widest = (size_t)(op.dst > op.sst ? op.dst : op.sst);
    elements = rnd_draw_bytes(r, 8192) / size;
    op.n = elements / widest;
    there = op.n == 0 ? 0 : ((op.n - 1) * (size_t)op.dst + op.bsize) * size;
    here = op.n == 0 ? 0 : ((op.n - 1) * (size_t)op.sst + op.bsize) * size;
    if (rnd_is_get(kind)) {
        size_t dest = there;

        there = here;
        here = dest;
    }
    if (!rnd_place_both(r, &op, there, here)) return false;
    rnd_emit(r, &op);
    return true;
}

bool rnd_generate_store(struct rnd *r)
{
    int pe = (int)rnd_below(&r->rng, (size_t)r->n_pes);
    struct rnd_op op = rnd_op_new(r, RND_STORE, pe, 0);
    struct rnd_access access = {.pe = pe, .how = RND_WRITE};

    op.n = rnd_draw_bytes(r, 16384);
    op.value = rnd_next(&r->rng);
    if (!rnd_find(r, pe, op.n, 1, true, &access, &op.dest)) return false;
    rnd_claim(r, op.dest, op.n, pe, &access);
    rnd_emit(r, &op);
    return true;
}

/* ---- a phase ------------------------------------------------------------------------------- */

static const int usual[RND_N_KINDS] = {
    [RND_PUT] = 12,
    [RND_PUT_NBI] = 12,
    [RND_GET] = 8,
    [RND_GET_NBI] = 8,
    [RND_P] = 6,
    [RND_G] = 4,
    [RND_IPUT] = 4,
    [RND_IGET] = 4,
    [RND_IBPUT] = 4,
    [RND_IBGET] = 4,
    [RND_PUT_SIGNAL] = 8,
    [RND_PUT_SIGNAL_NBI] = 8,
    [RND_BROADCAST] = 2,
    [RND_COLLECT] = 2,
    [RND_FCOLLECT] = 2,
    [RND_ALLTOALL] = 2,
    [RND_ALLTOALLS] = 2,
    [RND_MAX] = 1,
    [RND_MIN] = 1,
    [RND_SUM] = 1,
    [RND_PROD] = 1,
    [RND_AND] = 1,
    [RND_OR] = 1,
    [RND_XOR] = 1,
    [RND_INSCAN] = 1,
    [RND_EXSCAN] = 1,
    [RND_A_FETCH] = 2,
    [RND_A_SET] = 2,
    [RND_A_SWAP] = 2,
    [RND_A_CSWAP] = 2,
    [RND_A_FINC] = 2,
    [RND_A_INC] = 2,
    [RND_A_FADD] = 2,
    [RND_A_ADD] = 3,
    [RND_A_FAND] = 1,
    [RND_A_AND] = 1,
    [RND_A_FOR] = 1,
    [RND_A_OR] = 1,
    [RND_A_FXOR] = 1,
    [RND_A_XOR] = 1,
    [RND_A_FETCH_NBI] = 1,
    [RND_A_SWAP_NBI] = 1,
    [RND_A_CSWAP_NBI] = 1,
    [RND_A_FINC_NBI] = 1,
    [RND_A_FADD_NBI] = 1,
    [RND_A_FAND_NBI] = 1,
    [RND_A_FOR_NBI] = 1,
    [RND_A_FXOR_NBI] = 1,
    [RND_WAIT] = 10,
    [RND_STORE] = 5,
    [RND_POKE] = 4,
    [RND_PEEK] = 3,
    [RND_SIGNAL] = 4,
    [RND_FENCE] = 2,
    [RND_QUIET] = 2,
    [RND_PE_QUIET] = 1,
    [RND_CTX_CREATE] = 2,
    [RND_CTX_DESTROY] = 2,
    [RND_SESSION] = 1,
    [RND_TEAM_SYNC] = 1,
    [RND_TEAM_SPLIT] = 1,
    [RND_TEAM_2D] = 1,
    [RND_TEAM_DESTROY] = 1,
    [RND_BARRIER] = 1,
    [RND_MALLOC] = 1,
    [RND_REALLOC] = 1,
    [RND_FREE] = 1,
    [RND_SPACE_CREATE] = 1,
    [RND_SPACE_MALLOC] = 1,
    [RND_SPACE_FREE] = 1,
    [RND_SPACE_DESTROY] = 1,
    [RND_LOCKED_ADD] = 2,
    [RND_S_PUT] = 12,
    [RND_S_PUT_NBI] = 8,
    [RND_S_GET] = 8,
    [RND_S_GET_NBI] = 4,
    [RND_S_PUT_SIGNAL] = 12,
    [RND_S_PUT_SIGNAL_NBI] = 6,
    [RND_S_BROADCAST] = 2,
    [RND_S_SUM] = 2,
    [RND_S_SIGNAL] = 4,
    [RND_S_FENCE] = 3,
    [RND_S_QUIET] = 2,
    [RND_S_SYNC] = 1,
    [RND_S_BARRIER] = 1,
    [RND_SPACE_REALLOC] = 1,
    [RND_SPACE_FENCE] = 3,
    [RND_SPACE_QUIET] = 3,
};

/* Memory of all kinds soon, where there are some. */
static int weight(const struct rnd *r, int kind)
{
    bool makes = kind == RND_SPACE_CREATE || kind == RND_SPACE_MALLOC;

    return usual[kind] * ((r->gpu || r->all) && makes ? 6 : 1);
}

/* Each phase leaves some kinds out and does more of others. */
static void draw_weights(struct rnd *r)
{
    static const int factors[] = {0, 0, 1, 1, 1, 4};
    bool all = rnd_one_in(&r->rng, 4);

    for (int i = 0; i < RND_N_KINDS; i++)
        if ((r->gpu || !rnd_on_stream(i)) && (r->all || i < RND_SPACE_REALLOC))
            r->weights[i] = weight(r, i) * (all ? 1 : factors[rnd_below(&r->rng, 6)]);
}

static enum rnd_kind draw_kind(struct rnd *r)
{
    size_t sum = 0, x;

    for (int i = 0; i < RND_N_KINDS; i++)
        sum += (size_t)r->weights[i];
    if (sum == 0) return RND_PUT;
    x = rnd_below(&r->rng, sum);
    for (int i = 0; i < RND_N_KINDS; i++) {
        if (x < (size_t)r->weights[i]) return (enum rnd_kind)i;
        x -= (size_t)r->weights[i];
    }
    return RND_PUT;
}

/* fence, quiet, pe_quiet at any time. */
static bool generate_order(struct rnd *r, enum rnd_kind kind)
{
    int pe = (int)rnd_below(&r->rng, (size_t)r->n_pes);
    struct rnd_op op = rnd_op_new(r, kind, pe, rnd_draw_slot(r, pe));

    rnd_emit(r, &op);
    return true;
}

static bool generate_one(struct rnd *r, enum rnd_kind kind)
{
    if (kind == RND_PUT_SIGNAL || kind == RND_PUT_SIGNAL_NBI || kind == RND_SIGNAL ||
        kind == RND_S_PUT_SIGNAL || kind == RND_S_PUT_SIGNAL_NBI || kind == RND_S_SIGNAL)
        return rnd_generate_signal(r, kind);
    if (kind == RND_S_BROADCAST || kind == RND_S_SUM) return rnd_generate_coll(r, kind);
    if (kind >= RND_S_PUT && kind <= RND_S_GET_NBI) return rnd_generate_rma(r, kind);
    if (rnd_on_stream(kind)) return rnd_generate_stream(r, kind);
    if (kind == RND_SPACE_FENCE || kind == RND_SPACE_QUIET) return rnd_generate_of(r, kind);
    if (kind >= RND_IPUT && kind <= RND_IBGET) return rnd_generate_strided(r, kind);
    if (kind <= RND_IBGET || kind == RND_POKE || kind == RND_PEEK) return rnd_generate_rma(r, kind);
    if (kind >= RND_BROADCAST && kind <= RND_EXSCAN) return rnd_generate_coll(r, kind);
    if (kind >= RND_A_FETCH && kind <= RND_A_FXOR_NBI) return rnd_generate_amo(r, kind);
    if (kind == RND_WAIT) return rnd_generate_flag(r);
    if (kind == RND_STORE) return rnd_generate_store(r);
    if (kind >= RND_FENCE && kind <= RND_PE_QUIET) return generate_order(r, kind);
    if (kind >= RND_CTX_CREATE && kind <= RND_SESSION) return rnd_generate_ctx(r, kind);
    if (kind >= RND_TEAM_SYNC && kind <= RND_TEAM_DESTROY) return rnd_generate_team(r, kind);
    if ((kind >= RND_BARRIER && kind <= RND_SPACE_DESTROY) || kind == RND_SPACE_REALLOC)
        return rnd_generate_memory(r, kind);
    return rnd_generate_locked(r);
}

/*
 * Many small operations of one kind in a row, as loops of programs have them: more than there are
 * cells of a team, messages or requests under way.
 */
static void generate_burst(struct rnd *r)
{
    static const enum rnd_kind kinds[] = {
        RND_BROADCAST, RND_BROADCAST, RND_SUM,        RND_COLLECT, RND_PUT_NBI,
        RND_PUT,       RND_P,         RND_A_ADD,      RND_A_INC,   RND_A_FETCH_NBI,
        RND_GET_NBI,   RND_IPUT,      RND_A_FADD_NBI,
    };
    enum rnd_kind kind = kinds[rnd_below(&r->rng, sizeof(kinds) / sizeof(kinds[0]))];
    size_t n = 17 + rnd_below(&r->rng, kind <= RND_G ? 400 : 60);

    r->burst.pe = rnd_draw_pe(r);
    r->burst.slot = rnd_draw_slot(r, r->burst.pe);
    r->burst.team = rnd_one_in(&r->rng, 2) ? 0 : rnd_draw_team(r);
    r->burst.root = (int)rnd_below(&r->rng, (size_t)r->teams[r->burst.team].n);
    r->burst.on = true;
    for (size_t i = 0; i < n; i++)
        generate_one(r, kind);
    r->burst.on = false;
}

void rnd_generate(struct rnd *r)
{
    size_t n;

    r->phase++;
    r->hot_pe = -1;
    r->bytes_left = PHASE_BYTES;
    r->phase_start = r->n_log;
    rnd_memory_next(r);
    draw_weights(r);
    n = 1 + rnd_below(&r->rng, 1 + rnd_below(&r->rng, 24) * (size_t)(r->n_pes + 1));
    if (rnd_one_in(&r->rng, 8)) generate_burst(r);
    for (size_t i = 0; i < n; i++)
        generate_one(r, draw_kind(r));
    if (rnd_one_in(&r->rng, 16)) generate_burst(r);
}

/* One context ends what it has sent: by quiet of some form, or by its own end. */
static void end_slot(struct rnd *r, int pe, int slot)
{
    static const enum rnd_kind kinds[] = {RND_QUIET, RND_PE_QUIET, RND_CTX_DESTROY, RND_QUIET};
    enum rnd_kind kind = kinds[rnd_below(&r->rng, 4)];
    struct rnd_op op;

    if (kind == RND_CTX_DESTROY && r->slots[pe][slot].fixed) kind = RND_QUIET;
    op = rnd_op_new(r, kind, pe, slot);
    rnd_emit(r, &op);
    if (kind == RND_CTX_DESTROY) {
        r->slots[pe][slot].live = false;
        r->slots[pe][slot].retired = true;
    }
}

void rnd_generate_end(struct rnd *r, bool quiets)
{
    struct rnd_op op = rnd_op_new(r, RND_SYNC, -1, 0);

    op.team = 0;
    op.arg = rnd_sync_draw(r);
    op.value = rnd_next(&r->rng);
    for (int pe = 0; quiets && pe < r->n_pes; pe++) {
        for (int slot = 0; slot < RND_ALL_SLOTS; slot++) {
            if (!r->slots[pe][slot].live || !r->slots[pe][slot].dirty) continue;
            if (slot >= RND_SLOTS)
                rnd_emit_stream_quiet(r, pe, slot);
            else if (slot == 0 && rnd_sync_quiets(op.arg))
                r->slots[pe][slot].dirty = false;
            else
                end_slot(r, pe, slot);
        }
    }
    rnd_emit(r, &op);
}
