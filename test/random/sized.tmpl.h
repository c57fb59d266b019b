/* SPDX-License-Identifier: BSD-3-Clause */
/* Template, which types.c includes for each SIZE in bits: put, get and their strided forms. */

static void S(put)(struct rnd_call *c)
{
    if (c->plain)
        G(put, )(c->dest, c->source, c->n, c->pe);
    else
        XG(put, )(c->ctx, c->dest, c->source, c->n, c->pe);
}

static void S(put_nbi)(struct rnd_call *c)
{
    if (c->plain)
        G(put, _nbi)(c->dest, c->source, c->n, c->pe);
    else
        XG(put, _nbi)(c->ctx, c->dest, c->source, c->n, c->pe);
}

static void S(get)(struct rnd_call *c)
{
    if (c->plain)
        G(get, )(c->dest, c->source, c->n, c->pe);
    else
        XG(get, )(c->ctx, c->dest, c->source, c->n, c->pe);
}

static void S(get_nbi)(struct rnd_call *c)
{
    if (c->plain)
        G(get, _nbi)(c->dest, c->source, c->n, c->pe);
    else
        XG(get, _nbi)(c->ctx, c->dest, c->source, c->n, c->pe);
}

static void S(iput)(struct rnd_call *c)
{
    if (c->plain)
        G(iput, )(c->dest, c->source, c->dst, c->sst, c->n, c->pe);
    else
        XG(iput, )(c->ctx, c->dest, c->source, c->dst, c->sst, c->n, c->pe);
}

static void S(iget)(struct rnd_call *c)
{
    if (c->plain)
        G(iget, )(c->dest, c->source, c->dst, c->sst, c->n, c->pe);
    else
        XG(iget, )(c->ctx, c->dest, c->source, c->dst, c->sst, c->n, c->pe);
}

static void S(ibput)(struct rnd_call *c)
{
    if (c->plain)
        G(ibput, )(c->dest, c->source, c->dst, c->sst, c->bsize, c->n, c->pe);
    else
        XG(ibput, )(c->ctx, c->dest, c->source, c->dst, c->sst, c->bsize, c->n, c->pe);
}

static void S(ibget)(struct rnd_call *c)
{
    if (c->plain)
        G(ibget, )(c->dest, c->source, c->dst, c->sst, c->bsize, c->n, c->pe);
    else
        XG(ibget, )(c->ctx, c->dest, c->source, c->dst, c->sst, c->bsize, c->n, c->pe);
}

static void S(put_signal)(struct rnd_call *c)
{
    if (c->plain)
        G(put, _signal)(c->dest, c->source, c->n, c->sig, c->value, c->sig_op, c->pe);
    else
        XG(put, _signal)(c->ctx, c->dest, c->source, c->n, c->sig, c->value, c->sig_op, c->pe);
}

static void S(put_signal_nbi)(struct rnd_call *c)
{
    if (c->plain)
        G(put, _signal_nbi)(c->dest, c->source, c->n, c->sig, c->value, c->sig_op, c->pe);
    else
        XG(put, _signal_nbi)(c->ctx, c->dest, c->source, c->n, c->sig, c->value, c->sig_op, c->pe);
}

static void S(add_sized)(void)
{
    struct rnd_type *t = type_of(QUOTED(SIZE), SIZE / 8);

    t->call[RND_PUT] = S(put);
    t->call[RND_PUT_NBI] = S(put_nbi);
    t->call[RND_GET] = S(get);
    t->call[RND_GET_NBI] = S(get_nbi);
    t->call[RND_IPUT] = S(iput);
    t->call[RND_IGET] = S(iget);
    t->call[RND_IBPUT] = S(ibput);
    t->call[RND_IBGET] = S(ibget);
    t->call[RND_PUT_SIGNAL] = S(put_signal);
    t->call[RND_PUT_SIGNAL_NBI] = S(put_signal_nbi);
}
