/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs: applies each operation to the model's copies of all memory. The model applies
 * the operations in the order in which they were generated. The generator ensures that each order
 * which OpenSHMEM allows gives the same memory.
 */
#include "random.h"

/* ---- stores and copies ------------------------------------------------------------ */

void rnd_store_bytes(const struct rnd_op *op, int pe, unsigned char *dest)
{
    uint64_t state = rnd_mix(op->value + (uint64_t)pe * 7919);
    size_t i;

    if (op->type >= 0 && rnd_types[op->type].fill != NULL) {
        const struct rnd_type *type = &rnd_types[op->type];

        type->fill(dest, op->n / type->size, state, op->arg != 0);
        return;
    }
    for (i = 0; i + 8 <= op->n; i += 8) {
        uint64_t x = rnd_next(&state);

        memcpy(dest + i, &x, 8);
    }
    for (uint64_t x = rnd_next(&state); i < op->n; i++, x >>= 8)
        dest[i] = (unsigned char)x;
}

/* put and get of any form: n blocks of bsize elements. */
static void apply_copy(struct rnd *r, const struct rnd_op *op, int dest_pe, int source_pe)
{
    const unsigned char *source = rnd_model(r, op->source, source_pe);
    unsigned char *dest = rnd_model(r, op->dest, dest_pe);
    size_t size = rnd_types[op->type].size, width = op->bsize * size;

    if (op->bsize == 0) { /* contiguous */
        memcpy(dest, source, op->n * size);
        return;
    }
    for (size_t i = 0; i < op->n; i++)
        memcpy(dest + i * (size_t)op->dst * size, source + i * (size_t)op->sst * size, width);
}

static void apply_signal(struct rnd *r, const struct rnd_op *op)
{
    unsigned char *word = rnd_model(r, op->sig, op->to);
    uint64_t value;

    memcpy(&value, word, 8);
    value = op->arg == SHMEM_SIGNAL_ADD ? value + op->value : op->value;
    memcpy(word, &value, 8);
}

/* ---- atomics ------------------------------------------------------------------------ */

static uint64_t amo_result(const struct rnd_op *op, uint64_t old, uint64_t mask)
{
    switch (op->kind) {
    case RND_A_SET:
    case RND_A_SWAP:
    case RND_A_SWAP_NBI:
        return op->value;
    case RND_A_CSWAP:
    case RND_A_CSWAP_NBI:
        return (old & mask) == (op->cond & mask) ? op->value : old;
    case RND_A_FINC:
    case RND_A_INC:
    case RND_A_FINC_NBI:
        return old + 1;
    case RND_A_FADD:
    case RND_A_ADD:
    case RND_A_FADD_NBI:
        return old + op->value;
    case RND_A_FAND:
    case RND_A_AND:
    case RND_A_FAND_NBI:
        return old & op->value;
    case RND_A_FOR:
    case RND_A_OR:
    case RND_A_FOR_NBI:
        return old | op->value;
    case RND_A_FXOR:
    case RND_A_XOR:
    case RND_A_FXOR_NBI:
        return old ^ op->value;
    default:
        return old; /* fetch */
    }
}

static void apply_amo(struct rnd *r, const struct rnd_op *op)
{
    size_t size = rnd_types[op->type].size;
    unsigned char *word = rnd_model(r, op->dest, op->to);
    uint64_t mask = size == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * size)) - 1, old = 0, next;

    memcpy(&old, word, size);
    next = amo_result(op, old, mask);
    if (op->source.area >= 0 && !op->discard) memcpy(rnd_model(r, op->source, op->pe), &old, size);
    memcpy(word, &next, size);
}

/* ---- collectives ----------------------------------------------------------------------- */

size_t rnd_collect_nelems(const struct rnd_op *op, int rank)
{
    uint64_t x = rnd_mix(op->value + (uint64_t)rank * 31);

    return x % 5 == 0 ? 0 : (x >> 8) % (op->n + 1);
}

static void apply_collect(struct rnd *r, const struct rnd_op *op, const struct rnd_team *team)
{
    size_t size = rnd_types[op->type].size, at = 0;

    for (int i = 0; i < team->n; i++) {
        size_t n = (op->kind == RND_COLLECT ? rnd_collect_nelems(op, i) : op->n) * size;

        for (int k = 0; k < team->n; k++)
            memcpy(rnd_model(r, op->dest, team->members[k]) + at,
                   rnd_model(r, op->source, team->members[i]), n);
        at += n;
    }
}

static void apply_alltoall(struct rnd *r, const struct rnd_op *op, const struct rnd_team *team)
{
    size_t size = rnd_types[op->type].size;

    for (int from = 0; from < team->n; from++) {
        for (int to = 0; to < team->n; to++) {
            const unsigned char *source = rnd_model(r, op->source, team->members[from]);
            unsigned char *dest = rnd_model(r, op->dest, team->members[to]);

            source += (size_t)to * op->n * (size_t)op->sst * size;
            dest += (size_t)from * op->n * (size_t)op->dst * size;
            for (size_t i = 0; i < op->n; i++)
                memcpy(dest + i * (size_t)op->dst * size, source + i * (size_t)op->sst * size,
                       size);
        }
    }
}

static void combine(const struct rnd_op *op, void *acc, const void *source)
{
    const struct rnd_type *type = &rnd_types[op->type];

    if (op->kind == RND_MAX || op->kind == RND_MIN)
        type->reduce_order(op->kind, acc, source, op->n);
    else if (op->kind >= RND_AND && op->kind <= RND_XOR)
        type->reduce_bit(op->kind, acc, source, op->n);
    else
        type->reduce_sum(op->kind == RND_S_SUM ? RND_SUM : (int)op->kind, acc, source, op->n);
}

static void apply_reduce(struct rnd *r, const struct rnd_op *op, const struct rnd_team *team)
{
    size_t nbytes = op->n * rnd_types[op->type].size;
    unsigned char *acc = malloc(nbytes + 1);

    memcpy(acc, rnd_model(r, op->source, team->members[0]), nbytes);
    for (int i = 1; i < team->n; i++)
        combine(op, acc, rnd_model(r, op->source, team->members[i]));
    rnd_type_settle(&rnd_types[op->type], acc, op->n);
    for (int i = 0; i < team->n; i++)
        memcpy(rnd_model(r, op->dest, team->members[i]), acc, nbytes);
    free(acc);
}

/* acc before or after adding this member's source; in place: the source is read first. */
static void apply_scan(struct rnd *r, const struct rnd_op *op, const struct rnd_team *team)
{
    size_t nbytes = op->n * rnd_types[op->type].size;
    unsigned char *acc = calloc(2, nbytes + 1), *before = acc + nbytes;

    for (int i = 0; i < team->n; i++) {
        int pe = team->members[i];

        memcpy(before, acc, nbytes);
        combine(op, acc, rnd_model(r, op->source, pe));
        rnd_type_settle(&rnd_types[op->type], acc, op->n);
        memcpy(rnd_model(r, op->dest, pe), op->kind == RND_INSCAN ? acc : before, nbytes);
    }
    free(acc);
}

static void apply_broadcast(struct rnd *r, const struct rnd_op *op, const struct rnd_team *team)
{
    size_t nbytes = op->n * rnd_types[op->type].size;

    for (int i = 0; i < team->n; i++)
        memcpy(rnd_model(r, op->dest, team->members[i]),
               rnd_model(r, op->source, team->members[op->arg]), nbytes);
}

static void apply_coll(struct rnd *r, const struct rnd_op *op)
{
    const struct rnd_team *team = &r->teams[op->team];

    switch (op->kind) {
    case RND_BROADCAST:
    case RND_S_BROADCAST:
        apply_broadcast(r, op, team);
        break;
    case RND_COLLECT:
    case RND_FCOLLECT:
        apply_collect(r, op, team);
        break;
    case RND_ALLTOALL:
    case RND_ALLTOALLS:
        apply_alltoall(r, op, team);
        break;
    case RND_INSCAN:
    case RND_EXSCAN:
        apply_scan(r, op, team);
        break;
    default:
        apply_reduce(r, op, team);
    }
}

/* ---- all ----------------------------------------------------------------------------------- */

static void apply_locked_add(struct rnd *r, const struct rnd_op *op)
{
    uint64_t value;

    memcpy(&value, rnd_model(r, op->dest, op->to), 8);
    value += op->value;
    memcpy(rnd_model(r, op->dest, op->to), &value, 8);
}

static bool is_coll(enum rnd_kind kind)
{
    return (kind >= RND_BROADCAST && kind <= RND_EXSCAN) || kind == RND_S_BROADCAST ||
           kind == RND_S_SUM;
}

void rnd_apply(struct rnd *r, const struct rnd_op *op)
{
    enum rnd_kind kind = op->kind;

    if (rnd_is_get(kind))
        apply_copy(r, op, op->pe, op->to);
    else if (rnd_is_put(kind))
        apply_copy(r, op, op->to, op->pe);
    else if (is_coll(kind))
        apply_coll(r, op);
    else if (kind >= RND_A_FETCH && kind <= RND_A_FXOR_NBI)
        apply_amo(r, op);
    else if (kind == RND_STORE)
        rnd_store_bytes(op, op->pe, rnd_model(r, op->dest, op->pe));
    else if (kind == RND_LOCKED_ADD)
        apply_locked_add(r, op);
    if (rnd_signals(kind)) apply_signal(r, op);
}

static size_t strided_span(const struct rnd_op *op, size_t size)
{
    if (op->n == 0) return 0;
    if (op->bsize == 0) return op->n * size;
    return ((op->n - 1) * (size_t)op->dst + op->bsize) * size;
}

size_t rnd_dest_span(const struct rnd_op *op, int pe)
{
    size_t size = op->type >= 0 ? rnd_types[op->type].size : 1;

    if (op->dest.area < 0) return 0;
    if (is_coll(op->kind)) {
        size_t n = op->n * size;

        if ((op->set >> pe & 1) == 0) return 0;
        if (op->kind <= RND_ALLTOALLS && op->kind != RND_BROADCAST) n *= (size_t)op->members;
        return op->kind == RND_ALLTOALLS ? n * (size_t)op->dst : n;
    }
    if (op->kind == RND_LOCKED_ADD) return pe == op->to ? 8 : 0;
    if (rnd_is_get(op->kind)) return pe == op->pe ? strided_span(op, size) : 0;
    if (op->kind >= RND_A_FETCH && op->kind <= RND_A_FXOR_NBI) return pe == op->to ? size : 0;
    if (op->kind == RND_STORE) return pe == op->pe ? op->n : 0;
    if (rnd_is_put(op->kind)) return pe == op->to ? strided_span(op, size) : 0;
    return 0;
}
