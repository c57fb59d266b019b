/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Template, which types.c includes for each TYPE with arithmetic atomics: these atomics,
 * compare-and-swap, waits and tests.
 */

static void T(a_cswap)(struct rnd_call *c)
{
    TYPE value = VALUE(c->value), cond = VALUE(c->cond);

    *(TYPE *)c->result = c->plain ? F(atomic_compare_swap)(c->dest, cond, value, c->pe)
                                  : X(atomic_compare_swap)(c->ctx, c->dest, cond, value, c->pe);
}

static void T(a_finc)(struct rnd_call *c)
{
    *(TYPE *)c->result = c->plain ? F(atomic_fetch_inc)(c->dest, c->pe)
                                  : X(atomic_fetch_inc)(c->ctx, c->dest, c->pe);
}

static void T(a_inc)(struct rnd_call *c)
{
    if (c->plain)
        F(atomic_inc)(c->dest, c->pe);
    else
        X(atomic_inc)(c->ctx, c->dest, c->pe);
}

static void T(a_fadd)(struct rnd_call *c)
{
    *(TYPE *)c->result = c->plain ? F(atomic_fetch_add)(c->dest, VALUE(c->value), c->pe)
                                  : X(atomic_fetch_add)(c->ctx, c->dest, VALUE(c->value), c->pe);
}

static void T(a_add)(struct rnd_call *c)
{
    if (c->plain)
        F(atomic_add)(c->dest, VALUE(c->value), c->pe);
    else
        X(atomic_add)(c->ctx, c->dest, VALUE(c->value), c->pe);
}

static void T(a_cswap_nbi)(struct rnd_call *c)
{
    TYPE value = VALUE(c->value), cond = VALUE(c->cond);

    if (c->plain)
        F(atomic_compare_swap_nbi)(c->result, c->dest, cond, value, c->pe);
    else
        X(atomic_compare_swap_nbi)(c->ctx, c->result, c->dest, cond, value, c->pe);
}

static void T(a_finc_nbi)(struct rnd_call *c)
{
    if (c->plain)
        F(atomic_fetch_inc_nbi)(c->result, c->dest, c->pe);
    else
        X(atomic_fetch_inc_nbi)(c->ctx, c->result, c->dest, c->pe);
}

static void T(a_fadd_nbi)(struct rnd_call *c)
{
    if (c->plain)
        F(atomic_fetch_add_nbi)(c->result, c->dest, VALUE(c->value), c->pe);
    else
        X(atomic_fetch_add_nbi)(c->ctx, c->result, c->dest, VALUE(c->value), c->pe);
}

/* ---- waits: dest is the first of n words; value, or one for each at source, is compared ------ */

static void T(wait)(struct rnd_call *c)
{
    F(wait_until)(c->dest, c->cmp, VALUE(c->value));
}

static void T(test)(struct rnd_call *c)
{
    c->rc = F(test)(c->dest, c->cmp, VALUE(c->value));
}

static void T(wait_all)(struct rnd_call *c)
{
    if (c->vector)
        F(wait_until_all_vector)(c->dest, c->n, c->status, c->cmp, c->source);
    else
        F(wait_until_all)(c->dest, c->n, c->status, c->cmp, VALUE(c->value));
}

static void T(wait_any)(struct rnd_call *c)
{
    c->rc = (long long)(c->vector
                            ? F(wait_until_any_vector)(c->dest, c->n, c->status, c->cmp, c->source)
                            : F(wait_until_any)(c->dest, c->n, c->status, c->cmp, VALUE(c->value)));
}

static void T(wait_some)(struct rnd_call *c)
{
    c->rc = (long long)(c->vector ? F(wait_until_some_vector)(c->dest, c->n, c->indices, c->status,
                                                              c->cmp, c->source)
                                  : F(wait_until_some)(c->dest, c->n, c->indices, c->status, c->cmp,
                                                       VALUE(c->value)));
}

static void T(test_all)(struct rnd_call *c)
{
    c->rc = c->vector ? F(test_all_vector)(c->dest, c->n, c->status, c->cmp, c->source)
                      : F(test_all)(c->dest, c->n, c->status, c->cmp, VALUE(c->value));
}

static void T(test_any)(struct rnd_call *c)
{
    c->rc = (long long)(c->vector ? F(test_any_vector)(c->dest, c->n, c->status, c->cmp, c->source)
                                  : F(test_any)(c->dest, c->n, c->status, c->cmp, VALUE(c->value)));
}

static void T(test_some)(struct rnd_call *c)
{
    c->rc = (long long)(c->vector ? F(test_some_vector)(c->dest, c->n, c->indices, c->status,
                                                        c->cmp, c->source)
                                  : F(test_some)(c->dest, c->n, c->indices, c->status, c->cmp,
                                                 VALUE(c->value)));
}

static void T(add_amo)(void)
{
    struct rnd_type *t = type_of(QUOTED(NAME), sizeof(TYPE));

    t->call[RND_A_CSWAP] = T(a_cswap);
    t->call[RND_A_FINC] = T(a_finc);
    t->call[RND_A_INC] = T(a_inc);
    t->call[RND_A_FADD] = T(a_fadd);
    t->call[RND_A_ADD] = T(a_add);
    t->call[RND_A_CSWAP_NBI] = T(a_cswap_nbi);
    t->call[RND_A_FINC_NBI] = T(a_finc_nbi);
    t->call[RND_A_FADD_NBI] = T(a_fadd_nbi);
    t->call[RND_WAIT] = T(wait);
    t->call[RND_TEST] = T(test);
    t->call[RND_WAIT_ALL] = T(wait_all);
    t->call[RND_WAIT_ANY] = T(wait_any);
    t->call[RND_WAIT_SOME] = T(wait_some);
    t->call[RND_TEST_ALL] = T(test_all);
    t->call[RND_TEST_ANY] = T(test_any);
    t->call[RND_TEST_SOME] = T(test_some);
}
