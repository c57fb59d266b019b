/* SPDX-License-Identifier: BSD-3-Clause */
/* Template, which types.c includes for each TYPE with bitwise atomics: these atomics. */

static void T(a_fand)(struct rnd_call *c)
{
    *(TYPE *)c->result = c->plain ? F(atomic_fetch_and)(c->dest, VALUE(c->value), c->pe)
                                  : X(atomic_fetch_and)(c->ctx, c->dest, VALUE(c->value), c->pe);
}

static void T(a_and)(struct rnd_call *c)
{
    if (c->plain)
        F(atomic_and)(c->dest, VALUE(c->value), c->pe);
    else
        X(atomic_and)(c->ctx, c->dest, VALUE(c->value), c->pe);
}

static void T(a_for)(struct rnd_call *c)
{
    *(TYPE *)c->result = c->plain ? F(atomic_fetch_or)(c->dest, VALUE(c->value), c->pe)
                                  : X(atomic_fetch_or)(c->ctx, c->dest, VALUE(c->value), c->pe);
}

static void T(a_or)(struct rnd_call *c)
{
    if (c->plain)
        F(atomic_or)(c->dest, VALUE(c->value), c->pe);
    else
        X(atomic_or)(c->ctx, c->dest, VALUE(c->value), c->pe);
}

static void T(a_fxor)(struct rnd_call *c)
{
    *(TYPE *)c->result = c->plain ? F(atomic_fetch_xor)(c->dest, VALUE(c->value), c->pe)
                                  : X(atomic_fetch_xor)(c->ctx, c->dest, VALUE(c->value), c->pe);
}

static void T(a_xor)(struct rnd_call *c)
{
    if (c->plain)
        F(atomic_xor)(c->dest, VALUE(c->value), c->pe);
    else
        X(atomic_xor)(c->ctx, c->dest, VALUE(c->value), c->pe);
}

static void T(a_fand_nbi)(struct rnd_call *c)
{
    if (c->plain)
        F(atomic_fetch_and_nbi)(c->result, c->dest, VALUE(c->value), c->pe);
    else
        X(atomic_fetch_and_nbi)(c->ctx, c->result, c->dest, VALUE(c->value), c->pe);
}

static void T(a_for_nbi)(struct rnd_call *c)
{
    if (c->plain)
        F(atomic_fetch_or_nbi)(c->result, c->dest, VALUE(c->value), c->pe);
    else
        X(atomic_fetch_or_nbi)(c->ctx, c->result, c->dest, VALUE(c->value), c->pe);
}

static void T(a_fxor_nbi)(struct rnd_call *c)
{
    if (c->plain)
        F(atomic_fetch_xor_nbi)(c->result, c->dest, VALUE(c->value), c->pe);
    else
        X(atomic_fetch_xor_nbi)(c->ctx, c->result, c->dest, VALUE(c->value), c->pe);
}

static void T(add_amo_bit)(void)
{
    struct rnd_type *t = type_of(QUOTED(NAME), sizeof(TYPE));

    t->call[RND_A_FAND] = T(a_fand);
    t->call[RND_A_AND] = T(a_and);
    t->call[RND_A_FOR] = T(a_for);
    t->call[RND_A_OR] = T(a_or);
    t->call[RND_A_FXOR] = T(a_fxor);
    t->call[RND_A_XOR] = T(a_xor);
    t->call[RND_A_FAND_NBI] = T(a_fand_nbi);
    t->call[RND_A_FOR_NBI] = T(a_for_nbi);
    t->call[RND_A_FXOR_NBI] = T(a_fxor_nbi);
}
