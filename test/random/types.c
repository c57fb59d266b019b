/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs: the table of types. For each type the table has the routines of the standard
 * behind one signature, and the arithmetic of the model. This file is compiled so that signed
 * integers wrap.
 */
#include "random.h"

#include <complex.h>
#include <float.h>

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define QUOTED_(a) #a
#define QUOTED(a) QUOTED_(a)

/* Of the type NAME: a function of ours, a routine, its context form. */
#define T(what) PASTE(PASTE(t_, NAME), PASTE(_, what))
#define F(what) PASTE(PASTE(shmem_, NAME), PASTE(_, what))
#define FS(what) PASTE(PASTE(shmemx_, NAME), PASTE(_, what))
#define X(what) PASTE(PASTE(shmem_ctx_, NAME), PASTE(_, what))
/* Of a SIZE in bits, likewise. */
#define S(what) PASTE(PASTE(s_, SIZE), PASTE(_, what))
#define G(verb, rest) PASTE(PASTE(shmem_##verb, SIZE), rest)
#define XG(verb, rest) PASTE(PASTE(shmem_ctx_##verb, SIZE), rest)
/* The value of the type that these bits are. */
#define VALUE(bits) (*(const TYPE *)(const void *)&(bits))

struct rnd_type rnd_types[RND_TYPES];
int rnd_n_types;

static struct rnd_type *type_of(const char *name, size_t size)
{
    for (int i = 0; i < rnd_n_types; i++)
        if (strcmp(rnd_types[i].name, name) == 0) return &rnd_types[i];
    if (rnd_n_types == RND_TYPES) abort();
    rnd_types[rnd_n_types].name = name;
    rnd_types[rnd_n_types].size = size;
    return &rnd_types[rnd_n_types++];
}

#define TEMPLATE "../../../test/random/rma.tmpl.h"
#include "../../src/api/gen/types_rma.h"
#undef TEMPLATE

#define TEMPLATE "../../../test/random/sized.tmpl.h"
#include "../../src/api/gen/sizes_rma.h"
#undef TEMPLATE

#define TEMPLATE "../../../test/random/sum.tmpl.h"
#include "../../src/api/gen/types_reduce_sum.h"
#undef TEMPLATE

#define TEMPLATE "../../../test/random/bit.tmpl.h"
#include "../../src/api/gen/types_reduce_bit.h"
#undef TEMPLATE

#define TEMPLATE "../../../test/random/amo_ext.tmpl.h"
#include "../../src/api/gen/types_amo_ext.h"
#undef TEMPLATE

#define TEMPLATE "../../../test/random/amo.tmpl.h"
#include "../../src/api/gen/types_amo.h"
#undef TEMPLATE

#define TEMPLATE "../../../test/random/amo_bit.tmpl.h"
#include "../../src/api/gen/types_amo_bit.h"
#undef TEMPLATE

/* ---- bytes: routines that end in mem ------------------------------------------ */

static void mem_put(struct rnd_call *c)
{
    if (c->plain)
        shmem_putmem(c->dest, c->source, c->n, c->pe);
    else
        shmem_ctx_putmem(c->ctx, c->dest, c->source, c->n, c->pe);
}

static void mem_put_nbi(struct rnd_call *c)
{
    if (c->plain)
        shmem_putmem_nbi(c->dest, c->source, c->n, c->pe);
    else
        shmem_ctx_putmem_nbi(c->ctx, c->dest, c->source, c->n, c->pe);
}

static void mem_get(struct rnd_call *c)
{
    if (c->plain)
        shmem_getmem(c->dest, c->source, c->n, c->pe);
    else
        shmem_ctx_getmem(c->ctx, c->dest, c->source, c->n, c->pe);
}

static void mem_get_nbi(struct rnd_call *c)
{
    if (c->plain)
        shmem_getmem_nbi(c->dest, c->source, c->n, c->pe);
    else
        shmem_ctx_getmem_nbi(c->ctx, c->dest, c->source, c->n, c->pe);
}

static void mem_put_signal(struct rnd_call *c)
{
    if (c->plain)
        shmem_putmem_signal(c->dest, c->source, c->n, c->sig, c->value, c->sig_op, c->pe);
    else
        shmem_ctx_putmem_signal(c->ctx, c->dest, c->source, c->n, c->sig, c->value, c->sig_op,
                                c->pe);
}

static void mem_put_signal_nbi(struct rnd_call *c)
{
    if (c->plain)
        shmem_putmem_signal_nbi(c->dest, c->source, c->n, c->sig, c->value, c->sig_op, c->pe);
    else
        shmem_ctx_putmem_signal_nbi(c->ctx, c->dest, c->source, c->n, c->sig, c->value, c->sig_op,
                                    c->pe);
}

static void mem_broadcast(struct rnd_call *c)
{
    c->rc = shmem_broadcastmem(c->team, c->dest, c->source, c->n, c->root);
}

static void mem_collect(struct rnd_call *c)
{
    c->rc = shmem_collectmem(c->team, c->dest, c->source, c->n);
}

static void mem_fcollect(struct rnd_call *c)
{
    c->rc = shmem_fcollectmem(c->team, c->dest, c->source, c->n);
}

static void mem_alltoall(struct rnd_call *c)
{
    c->rc = shmem_alltoallmem(c->team, c->dest, c->source, c->n);
}

static void mem_alltoalls(struct rnd_call *c)
{
    c->rc = shmem_alltoallsmem(c->team, c->dest, c->source, c->dst, c->sst, c->n);
}

static void mem_s_put(struct rnd_call *c)
{
    shmemx_putmem_on_stream(c->dest, c->source, c->n, c->pe, c->stream);
}

static void mem_s_put_nbi(struct rnd_call *c)
{
    shmemx_putmem_nbi_on_stream(c->dest, c->source, c->n, c->pe, c->stream);
}

static void mem_s_get(struct rnd_call *c)
{
    shmemx_getmem_on_stream(c->dest, c->source, c->n, c->pe, c->stream);
}

static void mem_s_get_nbi(struct rnd_call *c)
{
    shmemx_getmem_nbi_on_stream(c->dest, c->source, c->n, c->pe, c->stream);
}

static void mem_s_put_signal(struct rnd_call *c)
{
    shmemx_putmem_signal_on_stream(c->dest, c->source, c->n, c->sig, c->value, c->sig_op, c->pe,
                                   c->stream);
}

static void mem_s_put_signal_nbi(struct rnd_call *c)
{
    shmemx_putmem_signal_nbi_on_stream(c->dest, c->source, c->n, c->sig, c->value, c->sig_op, c->pe,
                                       c->stream);
}

static void mem_s_broadcast(struct rnd_call *c)
{
    c->rc = shmemx_broadcastmem_on_stream(c->team, c->dest, c->source, c->n, c->root, c->stream);
}

static void add_mem(void)
{
    struct rnd_type *t = type_of("mem", 1);

    t->call[RND_PUT] = mem_put;
    t->call[RND_PUT_NBI] = mem_put_nbi;
    t->call[RND_GET] = mem_get;
    t->call[RND_GET_NBI] = mem_get_nbi;
    t->call[RND_PUT_SIGNAL] = mem_put_signal;
    t->call[RND_PUT_SIGNAL_NBI] = mem_put_signal_nbi;
    t->call[RND_BROADCAST] = mem_broadcast;
    t->call[RND_COLLECT] = mem_collect;
    t->call[RND_FCOLLECT] = mem_fcollect;
    t->call[RND_ALLTOALL] = mem_alltoall;
    t->call[RND_ALLTOALLS] = mem_alltoalls;
    t->call[RND_S_PUT] = mem_s_put;
    t->call[RND_S_PUT_NBI] = mem_s_put_nbi;
    t->call[RND_S_GET] = mem_s_get;
    t->call[RND_S_GET_NBI] = mem_s_get_nbi;
    t->call[RND_S_PUT_SIGNAL] = mem_s_put_signal;
    t->call[RND_S_PUT_SIGNAL_NBI] = mem_s_put_signal_nbi;
    t->call[RND_S_BROADCAST] = mem_s_broadcast;
}

/* ---- the table ------------------------------------------------------------------ */

#define TEMPLATE "../../../test/random/run.tmpl.h"
void rnd_types_init(void)
{
    add_mem();
#define ADD T(add_rma)
#include "../../src/api/gen/types_rma.h"
#undef ADD
#define ADD S(add_sized)
#include "../../src/api/gen/sizes_rma.h"
#undef ADD
#define ADD T(add_sum)
#include "../../src/api/gen/types_reduce_sum.h"
#undef ADD
#define ADD T(add_bit)
#include "../../src/api/gen/types_reduce_bit.h"
#undef ADD
#define ADD T(add_amo_ext)
#include "../../src/api/gen/types_amo_ext.h"
#undef ADD
#define ADD T(add_amo)
#include "../../src/api/gen/types_amo.h"
#undef ADD
#define ADD T(add_amo_bit)
#include "../../src/api/gen/types_amo_bit.h"
#undef ADD
}

int rnd_type_draw(uint64_t *rng, int kind)
{
    int first = (int)rnd_below(rng, (size_t)rnd_n_types);

    for (int i = 0; i < rnd_n_types; i++) {
        int type = (first + i) % rnd_n_types;

        if (rnd_types[type].call[kind] != NULL) return type;
    }
    return -1;
}

int rnd_type_named(const char *name)
{
    for (int i = 0; i < rnd_n_types; i++)
        if (strcmp(rnd_types[i].name, name) == 0) return i;
    return 0;
}

void rnd_type_settle(const struct rnd_type *type, void *values, size_t n)
{
    unsigned char *bytes = values;

    if (LDBL_MANT_DIG != 64 || strcmp(type->name, "longdouble") != 0) return;
    for (size_t i = 0; i < n; i++)
        memset(bytes + i * type->size + 10, 0, type->size - 10);
}

bool rnd_type_compare(const struct rnd_type *type, uint64_t a, int cmp, uint64_t b)
{
    unsigned unused = 64 - 8 * (unsigned)type->size;
    int order;

    a <<= unused;
    b <<= unused;
    if (type->is_signed)
        order = ((int64_t)a > (int64_t)b) - ((int64_t)a < (int64_t)b);
    else
        order = (a > b) - (a < b);
    switch (cmp) {
    case SHMEM_CMP_EQ:
        return order == 0;
    case SHMEM_CMP_NE:
        return order != 0;
    case SHMEM_CMP_LT:
        return order < 0;
    case SHMEM_CMP_LE:
        return order <= 0;
    case SHMEM_CMP_GT:
        return order > 0;
    default:
        return order >= 0;
    }
}
