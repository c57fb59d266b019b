/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs, the generator: atomics on words that one PE uses, or that several PEs change by
 * operations that commute. Also signals and flags, and the waits for them, after which the waiting
 * PE may use the data that was sent.
 */
#include "random.h"

/* ---- atomics ------------------------------------------------------------------ */

static bool is_nbi(enum rnd_kind kind)
{
    return kind >= RND_A_FETCH_NBI && kind <= RND_A_FXOR_NBI;
}

static bool is_fetching(enum rnd_kind kind)
{
    switch (kind) {
    case RND_A_SET:
    case RND_A_INC:
    case RND_A_ADD:
    case RND_A_AND:
    case RND_A_OR:
    case RND_A_XOR:
        return false;
    default:
        return true;
    }
}

/* Kinds of one family commute; 0: with nothing. */
static int family_of(enum rnd_kind kind)
{
    switch (kind) {
    case RND_A_FINC:
    case RND_A_INC:
    case RND_A_FADD:
    case RND_A_ADD:
    case RND_A_FINC_NBI:
    case RND_A_FADD_NBI:
        return 1;
    case RND_A_FAND:
    case RND_A_AND:
    case RND_A_FAND_NBI:
        return 2;
    case RND_A_FOR:
    case RND_A_OR:
    case RND_A_FOR_NBI:
        return 3;
    case RND_A_FXOR:
    case RND_A_XOR:
    case RND_A_FXOR_NBI:
        return 4;
    default:
        return 0;
    }
}

static struct rnd_access amo_access(const struct rnd_op *op, bool shared)
{
    bool reads = op->kind == RND_A_FETCH || op->kind == RND_A_FETCH_NBI;
    struct rnd_access access = {.pe = op->pe, .slot = op->slot, .amo = true};

    access.how = shared ? RND_MERGE : reads ? RND_READ : RND_WRITE;
    access.family = 1 + op->type * 8 + family_of(op->kind);
    access.sent = op->kind != RND_A_FETCH;
    access.ordered = !reads;
    access.fetched = is_fetching(op->kind) && !is_nbi(op->kind);
    return access;
}

/* Room for a value that the program itself reads or writes. */
static bool find_variable(struct rnd *r, int pe, size_t size, const struct rnd_access *access,
                          struct rnd_place *place)
{
    bool found;

    r->host = true;
    found = rnd_find(r, pe, size, size, true, access, place);
    r->host = false;
    return found;
}

/* Where the old value goes: a word of the issuer, or nowhere that anyone looks. */
static bool place_result(struct rnd *r, struct rnd_op *op, bool shared)
{
    size_t size = rnd_types[op->type].size;
    struct rnd_access access = {.pe = op->pe, .slot = op->slot, .how = RND_WRITE};

    if (!is_fetching(op->kind)) return true;
    if (shared) {
        op->discard = true;
        return true;
    }
    access.sent = is_nbi(op->kind);
    access.of = rnd_of(r, op->dest.area);
    if (!find_variable(r, op->pe, size, &access, &op->source)) return false;
    if (op->pe == op->to && rnd_overlap(op->source, size, op->dest, size)) return false;
    rnd_claim(r, op->source, size, op->pe, &access);
    return true;
}

static uint64_t current_word(const struct rnd *r, struct rnd_place place, int pe, size_t size)
{
    uint64_t value = 0;

    memcpy(&value, rnd_model(r, place, pe), size);
    return value;
}

bool rnd_generate_amo(struct rnd *r, enum rnd_kind kind)
{
    int pe = rnd_draw_pe(r), slot = rnd_draw_slot(r, pe);
    struct rnd_op op = rnd_op_new(r, kind, pe, slot);
    bool shared = family_of(kind) != 0 && rnd_one_in(&r->rng, 2);
    struct rnd_access access;
    size_t size;

    op.to = rnd_draw_member(r, &r->teams[r->slots[pe][slot].team]);
    op.type = rnd_type_draw(&r->rng, kind);
    size = rnd_types[op.type].size;
    op.value = rnd_next(&r->rng);
    access = amo_access(&op, shared);
    if (!rnd_find(r, op.to, size, size, false, &access, &op.dest)) return false;
    if (!place_result(r, &op, shared)) return false;
    op.cond = rnd_one_in(&r->rng, 3) ? rnd_next(&r->rng) : current_word(r, op.dest, op.to, size);
    access.of = rnd_of(r, op.dest.area);
    rnd_claim(r, op.dest, size, op.to, &access);
    rnd_emit(r, &op);
    return true;
}

/* ---- waits ------------------------------------------------------------------------ */

int rnd_draw_cmp(struct rnd *r, const struct rnd_type *type, uint64_t old, uint64_t now)
{
    for (int i = 0; i < 20; i++) {
        int cmp = SHMEM_CMP_EQ + (int)rnd_below(&r->rng, 6);

        if (rnd_type_compare(type, now, cmp, now) && !rnd_type_compare(type, old, cmp, now))
            return cmp;
    }
    return SHMEM_CMP_EQ;
}

/*
 * PE pe waits until its word, which was old, is what the model has now. once: it is written once in
 * the phase, so that any comparison that tells old from now will do.
 */
static void emit_wait(struct rnd *r, int pe, struct rnd_place word, int type, uint64_t old,
                      bool once)
{
    static const enum rnd_kind kinds[] = {RND_WAIT,      RND_TEST,     RND_WAIT_ALL, RND_WAIT_ANY,
                                          RND_WAIT_SOME, RND_TEST_ALL, RND_TEST_ANY, RND_TEST_SOME};
    struct rnd_op op = rnd_op_new(r, kinds[rnd_below(&r->rng, 8)], pe, 0);

    if (rnd_types[type].size == 8 && !rnd_types[type].is_signed && rnd_one_in(&r->rng, 2))
        op.kind = RND_SIGNAL_WAIT;
    op.type = type;
    op.sig = word;
    op.n = 1;
    op.value = current_word(r, word, pe, rnd_types[type].size);
    op.arg = once ? rnd_draw_cmp(r, &rnd_types[type], old, op.value) : SHMEM_CMP_EQ;
    if (once && rnd_one_in(&r->rng, 4)) {
        op.value = old;
        op.arg = SHMEM_CMP_NE;
    }
    op.arg2 = (int)rnd_below(&r->rng, 2); /* the vector form */
    rnd_emit(r, &op);
}

/* Has nobody written to the word in this phase? */
static bool is_fresh(const struct rnd *r, struct rnd_place word, size_t size, int pe)
{
    struct rnd_access nobody = {.pe = -1, .who = UINT64_MAX, .how = RND_READ};
    const struct rnd_claim *why;

    return rnd_judge(r, word, size, pe, &nobody, &why) == RND_OPEN;
}

/* A word of op->to that op's context may signal; it differs from what it was afterwards. */
static bool place_signal(struct rnd *r, struct rnd_op *op, struct rnd_access *access, uint64_t *old)
{
    *access = (struct rnd_access){.pe = op->pe, .slot = op->slot, .how = RND_WRITE};
    access->sent = access->ordered = true;
    if (!rnd_find(r, op->to, 8, 8, false, access, &op->sig)) return false;
    access->of = rnd_of(r, op->sig.area);
    *old = current_word(r, op->sig, op->to, 8);
    op->arg = rnd_one_in(&r->rng, 2) ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD;
    op->value = rnd_one_in(&r->rng, 2) ? rnd_next(&r->rng) : 1 + rnd_below(&r->rng, 255);
    if (op->arg == SHMEM_SIGNAL_SET && op->value == *old) op->value++;
    return true;
}

/* The claim just made on memory of the PE that waited is over for it. */
static void tell(struct rnd *r, struct rnd_place place, int pe)
{
    struct rnd_claims *claims = &r->areas[place.area].claims[pe];

    claims->v[claims->n - 1].known |= rnd_bit(pe);
}

/*
 * The word was written by access->pe and read by its owner until it was: nobody may change it now.
 */
static void claim_flag(struct rnd *r, struct rnd_place word, size_t size, int owner,
                       const struct rnd_access *access)
{
    struct rnd_access reads = {.pe = owner, .how = RND_READ};

    rnd_claim(r, word, size, owner, access);
    tell(r, word, owner);
    rnd_claim(r, word, size, owner, &reads);
}

/* dest of put_signal and its source; then both are claimed. */
static bool place_data(struct rnd *r, struct rnd_op *op, const struct rnd_access *there)
{
    size_t size = rnd_types[op->type].size, nbytes = op->n * size;
    struct rnd_access here = {.pe = op->pe, .slot = op->slot, .how = RND_READ}, data = *there;

    here.sent = rnd_is_nbi(op->kind) || rnd_on_stream(op->kind);
    here.ordered = rnd_on_stream(op->kind);
    here.in_order = rnd_on_stream(op->kind) && !rnd_is_nbi(op->kind);
    if (!rnd_find(r, op->to, nbytes, size, false, there, &op->dest) ||
        rnd_overlap(op->dest, nbytes, op->sig, 8) ||
        !rnd_find(r, op->pe, nbytes, size, true, &here, &op->source))
        return false;
    if (op->pe == op->to && (rnd_overlap(op->dest, nbytes, op->source, nbytes) ||
                             rnd_overlap(op->sig, 8, op->source, nbytes)))
        return false;
    here.of = data.of = rnd_on_stream(op->kind) ? 0 : rnd_of(r, op->dest.area);
    rnd_claim(r, op->source, nbytes, op->pe, &here);
    rnd_claim(r, op->dest, nbytes, op->to, &data);
    return true;
}

/* The owner copies what has come at once: too early a signal shows before the data is complete. */
static void emit_look(struct rnd *r, const struct rnd_op *sent)
{
    struct rnd_op op = rnd_op_new(r, RND_PEEK, sent->to, 0);
    struct rnd_access reads = {.pe = sent->to, .how = RND_READ};
    struct rnd_access writes = {.pe = sent->to, .how = RND_WRITE};
    size_t size = rnd_types[sent->type].size, nbytes = sent->n * size;

    if (!rnd_find(r, op.pe, nbytes, size, true, &writes, &op.dest)) return;
    if (rnd_overlap(op.dest, nbytes, sent->dest, nbytes)) return;
    op.to = sent->to;
    op.type = sent->type;
    op.n = sent->n;
    op.plain = false;
    op.source = sent->dest;
    rnd_claim(r, op.source, nbytes, op.pe, &reads);
    rnd_claim(r, op.dest, nbytes, op.pe, &writes);
    rnd_emit(r, &op);
}

/* put with signal, or a signal alone; mostly the target waits for it. */
bool rnd_generate_signal(struct rnd *r, enum rnd_kind kind)
{
    int pe = (int)rnd_below(&r->rng, (size_t)r->n_pes);
    int slot = rnd_on_stream(kind) ? rnd_draw_stream(r) : rnd_draw_slot(r, pe);
    struct rnd_op op = rnd_op_new(r, kind, pe, slot);
    bool data = kind != RND_SIGNAL && kind != RND_S_SIGNAL;
    struct rnd_access there;
    uint64_t old;
    bool once;

    op.to = rnd_draw_member(r, &r->teams[r->slots[pe][slot].team]);
    if (data) op.type = rnd_type_draw(&r->rng, kind);
    if (data) op.n = rnd_draw_bytes(r, 200 * 1024) / rnd_types[op.type].size;
    if (!place_signal(r, &op, &there, &old)) return false;
    once = is_fresh(r, op.sig, 8, op.to);
    if (data && !place_data(r, &op, &there)) return false;
    if (data && op.n > 0 && rnd_one_in(&r->rng, 6)) {
        rnd_claim(r, op.sig, 8, op.to, &there);
        rnd_emit(r, &op);
        return true;
    }
    rnd_emit(r, &op);
    if (r->gpu && rnd_one_in(&r->rng, 2))
        rnd_emit_stream_wait(r, &op, old, once);
    else
        emit_wait(r, op.to, op.sig, rnd_type_named("uint64"), old, once);
    if (data && op.n > 0) {
        tell(r, op.dest, op.to);
        r->hot = op.dest;
        r->hot_pe = op.to;
        r->hot_n = op.n * rnd_types[op.type].size;
    }
    claim_flag(r, op.sig, 8, op.to, &there);
    rnd_spread_fenced(r, op.pe, op.slot, op.to, rnd_of(r, op.sig.area));
    if (data && op.n > 0 && !rnd_one_in(&r->rng, 3)) emit_look(r, &op);
    return true;
}

/* ---- flags: fence or quiet, then a word that says so ------------------------------------- */

static const enum rnd_kind flag_kinds[] = {RND_A_SET,  RND_A_SWAP, RND_A_ADD, RND_A_INC,
                                           RND_A_FADD, RND_P,      RND_A_XOR, RND_A_CSWAP};

static bool flag_changes(struct rnd *r, struct rnd_op *op)
{
    size_t size = rnd_types[op->type].size;
    uint64_t mask = size == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * size)) - 1;

    op->value = (rnd_next(&r->rng) | 1) & mask;
    op->cond = current_word(r, op->dest, op->to, size);
    if (op->value == op->cond) op->value ^= 2;
    return op->kind != RND_A_CSWAP || op->value != op->cond;
}

/* p reads its value from memory: a store into the issuer's own first. */
static bool place_value(struct rnd *r, struct rnd_op *op)
{
    size_t size = rnd_types[op->type].size;
    struct rnd_access access = {.pe = op->pe, .how = RND_WRITE};
    struct rnd_op store = rnd_op_new(r, RND_STORE, op->pe, 0);
    uint64_t value = 0;

    if (op->kind != RND_P) return place_result(r, op, true);
    op->n = 1;
    store.n = size;
    store.value = rnd_next(&r->rng);
    if (!find_variable(r, op->pe, size, &access, &store.dest)) return false;
    if (op->pe == op->to && rnd_overlap(store.dest, size, op->dest, size)) return false;
    rnd_claim(r, store.dest, size, op->pe, &access);
    rnd_emit(r, &store);
    memcpy(&value, rnd_model(r, store.dest, op->pe), size);
    op->source = store.dest;
    return value != op->cond;
}

bool rnd_generate_flag(struct rnd *r)
{
    int pe = (int)rnd_below(&r->rng, (size_t)r->n_pes), slot = rnd_draw_slot(r, pe);
    struct rnd_op order = rnd_op_new(r, RND_FENCE, pe, slot), op;
    struct rnd_access access = {.pe = pe, .slot = slot, .how = RND_WRITE, .amo = true};
    size_t size;
    bool once, quiet = rnd_one_in(&r->rng, 2);

    if (quiet) order.kind = RND_QUIET;
    op = rnd_op_new(r, flag_kinds[rnd_below(&r->rng, 8)], pe, slot);
    op.to = rnd_draw_member(r, &r->teams[r->slots[pe][slot].team]);
    do
        op.type = rnd_type_draw(&r->rng, op.kind);
    while (rnd_types[op.type].call[RND_WAIT_ALL] == NULL);
    size = rnd_types[op.type].size;
    access.sent = access.ordered = true;
    access.amo = op.kind != RND_P;
    if (!rnd_find(r, op.to, size, size, false, &access, &op.dest)) return false;
    once = is_fresh(r, op.dest, size, op.to);
    if (!flag_changes(r, &op) || !place_value(r, &op)) return false;
    access.of = rnd_of(r, op.dest.area);
    if (!r->all || rnd_one_in(&r->rng, 2) ||
        !rnd_emit_of(r, quiet ? RND_SPACE_QUIET : RND_SPACE_FENCE, pe, slot, access.of))
        rnd_emit(r, &order);
    rnd_emit(r, &op);
    emit_wait(r, op.to, op.dest, op.type, op.cond, once);
    claim_flag(r, op.dest, size, op.to, &access);
    if (quiet) rnd_spread(r, rnd_bit(pe), rnd_bit(op.to));
    rnd_spread_fenced(r, pe, slot, op.to, access.of);
    return true;
}
