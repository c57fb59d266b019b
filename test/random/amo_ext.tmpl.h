/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Template, which types.c includes for each TYPE with atomics, floating types too: fetch, set and
 * swap.
 */

static void T(a_fetch)(struct rnd_call *c)
{
    *(TYPE *)c->result =
        c->plain ? F(atomic_fetch)(c->dest, c->pe) : X(atomic_fetch)(c->ctx, c->dest, c->pe);
}

static void T(a_set)(struct rnd_call *c)
{
    if (c->plain)
        F(atomic_set)(c->dest, VALUE(c->value), c->pe);
    else
        X(atomic_set)(c->ctx, c->dest, VALUE(c->value), c->pe);
}

static void T(a_swap)(struct rnd_call *c)
{
    *(TYPE *)c->result = c->plain ? F(atomic_swap)(c->dest, VALUE(c->value), c->pe)
                                  : X(atomic_swap)(c->ctx, c->dest, VALUE(c->value), c->pe);
}

static void T(a_fetch_nbi)(struct rnd_call *c)
{
    if (c->plain)
        F(atomic_fetch_nbi)(c->result, c->dest, c->pe);
    else
        X(atomic_fetch_nbi)(c->ctx, c->result, c->dest, c->pe);
}

static void T(a_swap_nbi)(struct rnd_call *c)
{
    if (c->plain)
        F(atomic_swap_nbi)(c->result, c->dest, VALUE(c->value), c->pe);
    else
        X(atomic_swap_nbi)(c->ctx, c->result, c->dest, VALUE(c->value), c->pe);
}

static void T(add_amo_ext)(void)
{
    struct rnd_type *t = type_of(QUOTED(NAME), sizeof(TYPE));

    t->call[RND_A_FETCH] = T(a_fetch);
    t->call[RND_A_SET] = T(a_set);
    t->call[RND_A_SWAP] = T(a_swap);
    t->call[RND_A_FETCH_NBI] = T(a_fetch_nbi);
    t->call[RND_A_SWAP_NBI] = T(a_swap_nbi);
}
