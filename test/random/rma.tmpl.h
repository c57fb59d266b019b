/* SPDX-License-Identifier: BSD-3-Clause */
/* Template, which types.c includes for each TYPE: put, get, collectives, max and min. */

static void T(put)(struct rnd_call *c)
{
    if (c->plain)
        F(put)(c->dest, c->source, c->n, c->pe);
    else
        X(put)(c->ctx, c->dest, c->source, c->n, c->pe);
}

static void T(put_nbi)(struct rnd_call *c)
{
    if (c->plain)
        F(put_nbi)(c->dest, c->source, c->n, c->pe);
    else
        X(put_nbi)(c->ctx, c->dest, c->source, c->n, c->pe);
}

static void T(get)(struct rnd_call *c)
{
    if (c->plain)
        F(get)(c->dest, c->source, c->n, c->pe);
    else
        X(get)(c->ctx, c->dest, c->source, c->n, c->pe);
}

static void T(get_nbi)(struct rnd_call *c)
{
    if (c->plain)
        F(get_nbi)(c->dest, c->source, c->n, c->pe);
    else
        X(get_nbi)(c->ctx, c->dest, c->source, c->n, c->pe);
}

static void T(p)(struct rnd_call *c)
{
    TYPE value = *(const TYPE *)c->source;

    if (c->plain)
        F(p)(c->dest, value, c->pe);
    else
        X(p)(c->ctx, c->dest, value, c->pe);
}

static void T(g)(struct rnd_call *c)
{
    *(TYPE *)c->dest = c->plain ? F(g)(c->source, c->pe) : X(g)(c->ctx, c->source, c->pe);
}

static void T(iput)(struct rnd_call *c)
{
    if (c->plain)
        F(iput)(c->dest, c->source, c->dst, c->sst, c->n, c->pe);
    else
        X(iput)(c->ctx, c->dest, c->source, c->dst, c->sst, c->n, c->pe);
}

static void T(iget)(struct rnd_call *c)
{
    if (c->plain)
        F(iget)(c->dest, c->source, c->dst, c->sst, c->n, c->pe);
    else
        X(iget)(c->ctx, c->dest, c->source, c->dst, c->sst, c->n, c->pe);
}

static void T(ibput)(struct rnd_call *c)
{
    if (c->plain)
        F(ibput)(c->dest, c->source, c->dst, c->sst, c->bsize, c->n, c->pe);
    else
        X(ibput)(c->ctx, c->dest, c->source, c->dst, c->sst, c->bsize, c->n, c->pe);
}

static void T(ibget)(struct rnd_call *c)
{
    if (c->plain)
        F(ibget)(c->dest, c->source, c->dst, c->sst, c->bsize, c->n, c->pe);
    else
        X(ibget)(c->ctx, c->dest, c->source, c->dst, c->sst, c->bsize, c->n, c->pe);
}

static void T(put_signal)(struct rnd_call *c)
{
    if (c->plain)
        F(put_signal)(c->dest, c->source, c->n, c->sig, c->value, c->sig_op, c->pe);
    else
        X(put_signal)(c->ctx, c->dest, c->source, c->n, c->sig, c->value, c->sig_op, c->pe);
}

static void T(put_signal_nbi)(struct rnd_call *c)
{
    if (c->plain)
        F(put_signal_nbi)(c->dest, c->source, c->n, c->sig, c->value, c->sig_op, c->pe);
    else
        X(put_signal_nbi)(c->ctx, c->dest, c->source, c->n, c->sig, c->value, c->sig_op, c->pe);
}

static void T(s_put)(struct rnd_call *c)
{
    FS(put_on_stream)(c->dest, c->source, c->n, c->pe, c->stream);
}

static void T(s_put_nbi)(struct rnd_call *c)
{
    FS(put_nbi_on_stream)(c->dest, c->source, c->n, c->pe, c->stream);
}

static void T(s_get)(struct rnd_call *c)
{
    FS(get_on_stream)(c->dest, c->source, c->n, c->pe, c->stream);
}

static void T(s_get_nbi)(struct rnd_call *c)
{
    FS(get_nbi_on_stream)(c->dest, c->source, c->n, c->pe, c->stream);
}

static void T(broadcast)(struct rnd_call *c)
{
    c->rc = F(broadcast)(c->team, c->dest, c->source, c->n, c->root);
}

static void T(collect)(struct rnd_call *c)
{
    c->rc = F(collect)(c->team, c->dest, c->source, c->n);
}

static void T(fcollect)(struct rnd_call *c)
{
    c->rc = F(fcollect)(c->team, c->dest, c->source, c->n);
}

static void T(alltoall)(struct rnd_call *c)
{
    c->rc = F(alltoall)(c->team, c->dest, c->source, c->n);
}

static void T(alltoalls)(struct rnd_call *c)
{
    c->rc = F(alltoalls)(c->team, c->dest, c->source, c->dst, c->sst, c->n);
}

static void T(max)(struct rnd_call *c)
{
    c->rc = F(max_reduce)(c->team, c->dest, c->source, c->n);
}

static void T(min)(struct rnd_call *c)
{
    c->rc = F(min_reduce)(c->team, c->dest, c->source, c->n);
}

static void T(reduce_order)(int kind, void *acc, const void *source, size_t n)
{
    const TYPE *b = source;
    TYPE *a = acc;

    for (size_t i = 0; i < n; i++)
        if (kind == RND_MAX ? b[i] > a[i] : b[i] < a[i]) a[i] = b[i];
}

static void T(add_rma)(void)
{
    struct rnd_type *t = type_of(QUOTED(NAME), sizeof(TYPE));

    t->is_signed = (TYPE)-1 < (TYPE)1;
    t->is_real = (TYPE)0.5 != (TYPE)0;
    t->reduce_order = T(reduce_order);
    t->call[RND_PUT] = T(put);
    t->call[RND_PUT_NBI] = T(put_nbi);
    t->call[RND_GET] = T(get);
    t->call[RND_GET_NBI] = T(get_nbi);
    if (sizeof(TYPE) <= 8) { /* a long double in a register is not all of its bytes */
        t->call[RND_P] = T(p);
        t->call[RND_G] = T(g);
    } else {
        (void)T(p), (void)T(g);
    }
    t->call[RND_IPUT] = T(iput);
    t->call[RND_IGET] = T(iget);
    t->call[RND_IBPUT] = T(ibput);
    t->call[RND_IBGET] = T(ibget);
    t->call[RND_PUT_SIGNAL] = T(put_signal);
    t->call[RND_PUT_SIGNAL_NBI] = T(put_signal_nbi);
    t->call[RND_BROADCAST] = T(broadcast);
    t->call[RND_COLLECT] = T(collect);
    t->call[RND_FCOLLECT] = T(fcollect);
    t->call[RND_ALLTOALL] = T(alltoall);
    t->call[RND_ALLTOALLS] = T(alltoalls);
    t->call[RND_MAX] = T(max);
    t->call[RND_MIN] = T(min);
    t->call[RND_S_PUT] = T(s_put);
    t->call[RND_S_PUT_NBI] = T(s_put_nbi);
    t->call[RND_S_GET] = T(s_get);
    t->call[RND_S_GET_NBI] = T(s_get_nbi);
}
