/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Template, which types.c includes for each TYPE with sums: reductions by sum and product, scans,
 * and the model's own sums and products.
 */

static void T(sum)(struct rnd_call *c)
{
    c->rc = F(sum_reduce)(c->team, c->dest, c->source, c->n);
}

static void T(prod)(struct rnd_call *c)
{
    c->rc = F(prod_reduce)(c->team, c->dest, c->source, c->n);
}

static void T(inscan)(struct rnd_call *c)
{
    c->rc = F(sum_inscan)(c->team, c->dest, c->source, c->n);
}

static void T(exscan)(struct rnd_call *c)
{
    c->rc = F(sum_exscan)(c->team, c->dest, c->source, c->n);
}

static void T(s_sum)(struct rnd_call *c)
{
    c->rc = FS(sum_reduce_on_stream)(c->team, c->dest, c->source, c->n, c->stream);
}

static void T(reduce_sum)(int kind, void *acc, const void *source, size_t n)
{
    const TYPE *b = source;
    TYPE *a = acc;

    for (size_t i = 0; i < n; i++)
        a[i] = kind == RND_PROD ? (TYPE)(a[i] * b[i]) : (TYPE)(a[i] + b[i]);
}

static void T(fill)(void *dest, size_t n, uint64_t seed, bool product)
{
    TYPE *values = dest;

    for (size_t i = 0; i < n; i++) {
        uint64_t x = rnd_next(&seed);

        memset(&values[i], 0, sizeof(TYPE));
        values[i] = (TYPE)(product ? (x & 1) + 1 : (x & 7) + 1);
    }
}

static void T(add_sum)(void)
{
    struct rnd_type *t = type_of(QUOTED(NAME), sizeof(TYPE));

    t->is_real = (TYPE)0.5 != (TYPE)0;
    t->reduce_sum = T(reduce_sum);
    t->fill = T(fill);
    t->call[RND_SUM] = T(sum);
    if (strcmp(t->name, "longdouble") != 0) /* its unused bytes: when would they be settled? */
        t->call[RND_S_SUM] = T(s_sum);
    else
        (void)T(s_sum);
    t->call[RND_PROD] = T(prod);
    t->call[RND_INSCAN] = T(inscan);
    t->call[RND_EXSCAN] = T(exscan);
}
