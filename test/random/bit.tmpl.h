/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Template, which types.c includes for each TYPE with bitwise reductions: these reductions, and the
 * model's own.
 */

static void T(and)(struct rnd_call *c)
{
    c->rc = F(and_reduce)(c->team, c->dest, c->source, c->n);
}

static void T(or)(struct rnd_call *c)
{
    c->rc = F(or_reduce)(c->team, c->dest, c->source, c->n);
}

static void T(xor)(struct rnd_call *c)
{
    c->rc = F(xor_reduce)(c->team, c->dest, c->source, c->n);
}

static void T(reduce_bit)(int kind, void *acc, const void *source, size_t n)
{
    const TYPE *b = source;
    TYPE *a = acc;

    for (size_t i = 0; i < n; i++)
        a[i] = kind == RND_AND ? (TYPE)(a[i] & b[i])
                               : kind == RND_OR ? (TYPE)(a[i] | b[i]) : (TYPE)(a[i] ^ b[i]);
}

static void T(add_bit)(void)
{
    struct rnd_type *t = type_of(QUOTED(NAME), sizeof(TYPE));

    t->reduce_bit = T(reduce_bit);
    t->call[RND_AND] = T(and);
    t->call[RND_OR] = T(or);
    t->call[RND_XOR] = T(xor);
}
